/*
 * engine.c: the beginning and the end; the figures; how many workers beside how many ranks.
 */
#include "mpi/engine.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- MPI_Finalize ---- */

/*
 * MPI calls it at the beginning of MPI_Finalize, which ends everything attached to
 * MPI_COMM_SELF.
 */
static int at_finalize(MPI_Comm comm, int keyval, void *value, void *extra) {
    char what[TH_MPI_WHAT];
    (void)comm, (void)keyval, (void)value, (void)extra;
    if (!th_mpi.is_on || th_mpi.is_stopping || th_mpi.is_forked) {
        return MPI_SUCCESS;
    }
    const uint64_t waiting = th_mpi_waiting(what);
    if (waiting) {
        fprintf(stderr, "thrum: MPI_Finalize while %" PRIu64 " %s for MPI; one waits for %s\n",
                waiting, waiting == 1 ? "task waits" : "tasks wait", what);
        abort();
    }
    th_mpi.is_finalized = true;
    return MPI_SUCCESS;
}

static int watch_finalize(void *arg) {
    (void)arg;
    int code = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &th_mpi.keyval, NULL);
    if (!code && (code = MPI_Comm_set_attr(MPI_COMM_SELF, th_mpi.keyval, &th_mpi)) != 0) {
        (void)MPI_Comm_free_keyval(&th_mpi.keyval);
    }
    return code ? -ENOMEM : 0;
}

static int unwatch_finalize(void *arg) {
    (void)arg;
    int keyval = th_mpi.keyval;
    (void)MPI_Comm_delete_attr(MPI_COMM_SELF, keyval);
    return MPI_Comm_free_keyval(&keyval);
}

/* ---- a fork ---- */

/*
 * Neither the tasks of this library nor MPI's connections are the child's: all calls return
 * that.
 */
static void in_child(void) {
    th_mpi.is_forked = true;
}

static int watch_forks(void) {
    static bool is_watched; /* once in a process; starts do not come beside each other */
    const int code = is_watched ? 0 : -pthread_atfork(NULL, NULL, in_child);
    is_watched = !code;
    return code;
}

/* 0, or why there is nothing to stop, or to read. */
static int started(void) {
    return th_mpi.is_forked ? -ESHUTDOWN : !th_mpi.is_on ? -ESRCH : 0;
}

/* ---- the beginning and the end ---- */

/* Whether MPI may be called: it is initialized, and not finalized. */
static bool is_there(void) {
    int flag = 0;
    return !th_mpi.is_forked && MPI_Initialized(&flag) == MPI_SUCCESS && flag &&
           MPI_Finalized(&flag) == MPI_SUCCESS && !flag;
}

/* The level that MPI has granted, or -EPERM. */
static int level_of_mpi(const thrum_sched *sched) {
    int flag = 0, level = MPI_THREAD_SINGLE;
    if (!is_there() || MPI_Query_thread(&level) != MPI_SUCCESS || level < MPI_THREAD_FUNNELED) {
        return -EPERM;
    }
    if (level == MPI_THREAD_FUNNELED &&
        (MPI_Is_thread_main(&flag) != MPI_SUCCESS || !flag || thrum_sched_current() != sched)) {
        return -EPERM;
    }
    return level;
}

static void forget(void) {
    th_mpi_table_free(th_mpi.table);
    th_mpi_table_free(th_mpi.larger);
    th_mpi.table = th_mpi.larger = NULL;
    th_mpi.capacity = 0;
    th_mpi.is_on = th_mpi.is_finalized = th_mpi.is_stopping = false;
}

int thrum_mpi_start(thrum_sched *sched) {
    sched = sched ? sched : thrum_sched_current();
    if (!sched) {
        return -EINVAL;
    }
    if (th_mpi.is_forked) {
        return -ESHUTDOWN;
    }
    if (th_mpi.is_on) {
        return -EALREADY;
    }
    const int level = level_of_mpi(sched);
    if (level < 0) {
        return level;
    }
    th_mpi.level = level;
    th_mpi.workers = thrum_sched_parallelism(sched);
    th_mpi.patience = 0;
    th_mpi.doubted = th_mpi.doubt = 0;
    th_mpi.incoming_last = &th_mpi.incoming;
    th_mpi.metrics = (thrum_mpi_metrics)THRUM_MPI_METRICS_INIT;
    int code = watch_forks();
    code = code ? code : thrum_source_open(&th_mpi.source, sched, th_mpi_ask, NULL);
    if (code) {
        return code;
    }
    code = th_mpi_do(watch_finalize, NULL);
    if (!code && level == MPI_THREAD_FUNNELED && (code = th_mpi_calls_begin()) != 0) {
        th_mpi.is_stopping = true;
        (void)unwatch_finalize(NULL);
    }
    if (code) {
        (void)thrum_source_close(th_mpi.source);
        forget();
        return code;
    }
    th_mpi.is_on = true;
    return 0;
}

static bool is_waited(void) {
    thrum_mutex_lock(&th_mpi.gate);
    const bool is = th_mpi.metrics.pending != 0;
    thrum_mutex_unlock(&th_mpi.gate);
    return is;
}

int thrum_mpi_stop(void) {
    int code = started();
    if (!code && th_mpi_is_serving()) {
        th_mpi_refuse("calls thrum_mpi_stop");
    }
    /* While somebody waits, the source may be in one long call, for which its close would wait. */
    if (code || (code = is_waited() ? -EBUSY : thrum_source_close(th_mpi.source)) != 0) {
        return code;
    }
    th_mpi.is_stopping = true;
    if (!th_mpi.is_finalized) {
        (void)th_mpi_do(unwatch_finalize, NULL);
    }
    if (th_mpi.level == MPI_THREAD_FUNNELED) {
        th_mpi_calls_end();
    }
    forget();
    return 0;
}

/* ---- figures ---- */

int thrum_mpi_metrics_read(thrum_mpi_metrics *out) {
    if (!out || out->size != sizeof *out) {
        return -EINVAL;
    }
    const int code = started();
    if (code) {
        return code;
    }
    thrum_mutex_lock(&th_mpi.gate);
    *out = th_mpi.metrics;
    thrum_mutex_unlock(&th_mpi.gate);
    thrum_mutex_lock(&th_mpi.queueing);
    out->calls = th_mpi.calls_made;
    thrum_mutex_unlock(&th_mpi.queueing);
    return 0;
}

/* ---- workers beside ranks ---- */

#define WHOLE ((uint64_t)1 << 32) /* one processor: shares are parts of it */

/* This rank's share of its processors; 0: MPI fails, or a rank cannot read its processors. */
static uint64_t share_of(MPI_Comm machine) {
    cpu_set_t mine[THRUM_CPUS_MAX / CPU_SETSIZE];
    uint16_t ranks[THRUM_CPUS_MAX + 1]; /* of each processor; the last: that cannot read theirs */
    const bool is_known = sched_getaffinity(0, sizeof mine, mine) == 0;
    uint64_t share = 0;
    unsigned count = 0;
    for (unsigned i = 0; i < THRUM_CPUS_MAX; i++) {
        ranks[i] = is_known && CPU_ISSET_S(i, sizeof mine, mine);
    }
    ranks[THRUM_CPUS_MAX] = !is_known;
    if (MPI_Allreduce(MPI_IN_PLACE, ranks, THRUM_CPUS_MAX + 1, MPI_UINT16_T, MPI_SUM, machine) !=
            MPI_SUCCESS ||
        ranks[THRUM_CPUS_MAX]) {
        return 0;
    }
    for (unsigned i = 0; i < THRUM_CPUS_MAX; i++) {
        if (CPU_ISSET_S(i, sizeof mine, mine)) {
            share += (WHOLE + ranks[i] - 1) / ranks[i]; /* n parts are at least the whole */
            count++;
        }
    }
    /* A quota counts as a part of each processor, so ranks that share processors share it, too. */
    const unsigned granted = thrum_cpus_granted();
    return granted < count ? share * granted / count : share;
}

unsigned thrum_mpi_workers(void) {
    const int before = errno;
    uint64_t share = 0;
    MPI_Comm machine;
    if (is_there() && MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                                          &machine) == MPI_SUCCESS) {
        share = share_of(machine);
        (void)MPI_Comm_free(&machine);
    }
    errno = before;
    return share < WHOLE ? 1 : (unsigned)(share / WHOLE);
}
