/*
 * ends.c: what calls do in the child of a fork, and when the scheduler is stopped around waits.
 */
#include "support/ranks.h"

#include <sys/wait.h>

static ranks w;

/* ---- the child of a fork ---- */

static int nothing(void *arg) {
    (void)arg;
    return 7;
}

/* 0, or the number of the first call that does not say -ESHUTDOWN. */
static int calls_of_a_child(void) {
    thrum_mpi_metrics metrics = THRUM_MPI_METRICS_INIT;
    MPI_Request request = MPI_REQUEST_NULL;
    int value = 0;
    const int codes[] = {
        thrum_mpi_call(nothing, NULL),
        thrum_mpi_wait(&request, MPI_STATUS_IGNORE),
        thrum_mpi_waitall(1, &request, MPI_STATUSES_IGNORE),
        thrum_mpi_send(&value, 1, MPI_INT, w.rank, 5, MPI_COMM_WORLD),
        thrum_mpi_recv(&value, 1, MPI_INT, w.rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
        thrum_mpi_probe(w.rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
        thrum_mpi_barrier(MPI_COMM_WORLD),
        thrum_mpi_metrics_read(&metrics),
        thrum_mpi_stop(),
        thrum_mpi_start(w.r.sched),
    };
    for (int i = 0; i < (int)(sizeof codes / sizeof *codes); i++) {
        if (codes[i] != -ESHUTDOWN)
            return i + 1;
    }
    return thrum_mpi_workers() == 1 ? 0 : 99;
}

/* By a task, or a plain thread. */
static int forks(void *arg) {
    int status = -1;
    const pid_t child = fork();
    (void)arg;
    if (child == 0) {
        alarm(30); /* nobody would end it if it hung */
        _exit(calls_of_a_child());
    }
    CHECK(child > 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    return 0;
}

static int waits(void *arg) {
    return thrum_mpi_wait(arg, MPI_STATUS_IGNORE);
}

/* While a task of the parent waits, which goes on as ever. */
static int forks_beside_a_wait(void *arg) {
    MPI_Request request, sent;
    thrum_handle *task;
    int in = -1, out = 3, code = -1;
    irecv(&in, w.rank, 6, &request);
    CHECK_EQ(thrum_spawn(&task, waits, &request), 0);
    ranks_until_pending(1);
    CHECK_EQ(forks(arg), 0);
    isend(&out, w.rank, 6, &sent);
    CHECK_EQ(thrum_mpi_wait(&sent, MPI_STATUS_IGNORE), 0);
    CHECK_EQ(thrum_join(task, &code), 0);
    CHECK(code == 0 && in == 3);
    return 0;
}

TEST(the_child_of_a_fork_is_told) {
    /* Whoever forked, at each level: nothing hangs, and the parent goes on. */
    ranks_begin(&w);
    CHECK_EQ(forks(NULL), 0);
    CHECK_EQ(rig_run(&w.r, forks_beside_a_wait, NULL), 0);
    ranks_end(&w);
}
