/*
 * ranks.h: common parts of tests of libthrum-mpi. They run under mpirun, with one or several ranks,
 * each of which calls the same tests in the same order (tests/mpi/run.sh).
 *
 *   ranks    a scheduler, and MPI at the level that CHECK_MPI_LEVEL names (multiple, serialized,
 *            funneled), with the main thread bound at the last
 */
#ifndef RANKS_H
#define RANKS_H

/* All tests of a program run in one process: MPI can begin only once in one. */
#define CHECK_IN_PLACE

#include "support/support.h"
#include "support/times.h"

#include <thrum/dump.h>
#include <thrum/mpi.h>

/* MPICH's collectives need more than the 128 KiB that a task has by default. */
#define RANKS_STACK (256 * 1024 * SLOWNESS)

typedef struct ranks {
    rig r;
    int rank, size;
    int level;
} ranks;

static int ranks_level(void) {
    const char *name = getenv("CHECK_MPI_LEVEL");
    name = name ? name : "multiple";
    return strcmp(name, "funneled") == 0     ? MPI_THREAD_FUNNELED
           : strcmp(name, "serialized") == 0 ? MPI_THREAD_SERIALIZED
                                             : MPI_THREAD_MULTIPLE;
}

#if UNDER_ASAN
#include <sanitizer/lsan_interface.h>
#endif

/* Its useless plugins are unloaded, and their leaks have no name. */
static void ranks_mpi_init(int *level) {
#if UNDER_ASAN
    __lsan_disable();
#endif
    CHECK_EQ(MPI_Init_thread(NULL, NULL, ranks_level(), level), MPI_SUCCESS);
#if UNDER_ASAN
    __lsan_enable();
#endif
}

/*
 * Leaks are searched for while the other plugins are still there: their own leaks are known by
 * name.
 */
static void ranks_finalize(void) {
#if UNDER_ASAN && !defined RANKS_MAY_LEAK
    if (__lsan_do_recoverable_leak_check()) {
        fprintf(stderr, "leaks, before MPI_Finalize\n");
        _exit(1);
    }
#endif
    MPI_Finalize();
}

/* MPI can be initialized once in a process; the requested level is the one used. */
static void ranks_init(ranks *w) {
    int flag = 0, level = 0;
    CHECK_EQ(MPI_Initialized(&flag), MPI_SUCCESS);
    if (!flag) {
        ranks_mpi_init(&level);
        atexit(ranks_finalize);
    }
    CHECK_EQ(MPI_Query_thread(&w->level), MPI_SUCCESS);
    CHECK_EQ(MPI_Comm_rank(MPI_COMM_WORLD, &w->rank), MPI_SUCCESS);
    CHECK_EQ(MPI_Comm_size(MPI_COMM_WORLD, &w->size), MPI_SUCCESS);
}

static void ranks_start(ranks *w) {
    rig_start(&w->r);
    if (w->level == MPI_THREAD_FUNNELED) {
        CHECK_EQ(thrum_sched_bind(w->r.sched), 0);
    }
    CHECK_EQ(thrum_mpi_start(w->r.sched), 0);
}

CHECK_UNUSED static void ranks_begin(ranks *w) {
    ranks_init(w);
    rig_init(&w->r);
    w->r.config.stack_size = RANKS_STACK;
    ranks_start(w);
}

/*
 * The same for tests in which receives are cancelled beside their message. Open MPI's MPI_Cancel
 * may not be called while another thread calls MPI: it then reports "cancelled" for received
 * messages, or crashes, even in a plain program (4.1.4). So one worker makes all calls there.
 */
CHECK_UNUSED static void ranks_begin_cancelling(ranks *w) {
    ranks_init(w);
    rig_init(&w->r);
    w->r.config.stack_size = RANKS_STACK;
#ifdef OPEN_MPI
    if (w->level == MPI_THREAD_MULTIPLE) {
        w->r.config.workers = 1;
    }
#endif
    ranks_start(w);
}

CHECK_UNUSED static void ranks_end(ranks *w) {
    CHECK_EQ(thrum_mpi_stop(), 0);
    rig_stop(&w->r);
    CHECK_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
}

/* Calls of MPI's own, in the way of the level. */
typedef struct plain_call {
    void *buffer;
    int count, peer, tag;
    bool sends;
    MPI_Request *request;
} plain_call;

static int plain_begin(void *arg) {
    plain_call *c = arg;
    return c->sends ? MPI_Isend(c->buffer, c->count, MPI_INT, c->peer, c->tag, MPI_COMM_WORLD,
                                c->request)
                    : MPI_Irecv(c->buffer, c->count, MPI_INT, c->peer, c->tag, MPI_COMM_WORLD,
                                c->request);
}

CHECK_UNUSED static void isend(int *from, int to, int tag, MPI_Request *request) {
    plain_call c = {from, 1, to, tag, true, request};
    CHECK_EQ(thrum_mpi_call(plain_begin, &c), MPI_SUCCESS);
}

CHECK_UNUSED static void irecv(int *to, int from, int tag, MPI_Request *request) {
    plain_call c = {to, 1, from, tag, false, request};
    CHECK_EQ(thrum_mpi_call(plain_begin, &c), MPI_SUCCESS);
}

/* Until so many waits are queued. */
CHECK_UNUSED static void ranks_until_pending(uint64_t n) {
    for (thrum_mpi_metrics m = THRUM_MPI_METRICS_INIT; m.pending != n;) {
        CHECK_EQ(thrum_mpi_metrics_read(&m), 0);
        if (m.pending != n) {
            nap();
        }
    }
}

/* While something waits: until MPI was asked for all that wait now. */
CHECK_UNUSED static void ranks_until_asked(void) {
    thrum_mpi_metrics m = THRUM_MPI_METRICS_INIT;
    CHECK_EQ(thrum_mpi_metrics_read(&m), 0);
    for (const uint64_t before = m.asked; m.asked < before + 2;) { /* the last one may go on */
        nap();
        CHECK_EQ(thrum_mpi_metrics_read(&m), 0);
    }
}

/*
 * Dumps until the dump shows this, by a task or a thread: the waiter is about to wait. A bound
 * thread makes the calls of others meanwhile.
 */
CHECK_UNUSED static void dump_until(const thrum_sched *sched, const char *part) {
    for (bool told = false; !told;) {
        char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);
        CHECK(out != NULL);
        CHECK_EQ(thrum_dump(sched, out, THRUM_TEXT), 0);
        fclose(out);
        told = strstr(text, part) != NULL;
        free(text);
        if (!told) {
            nap();
        }
    }
}

#endif
