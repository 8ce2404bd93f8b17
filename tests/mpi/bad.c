/*
 * bad.c: what ends a program, or a rank of it. bad.sh starts it, and looks at what it says.
 *
 *     mpi_bad_... finalize | dies | abort
 */
#include "support/ranks.h"

static ranks w;

static int waits(void *arg) {
    int value = 0;
    const int code =
        thrum_mpi_recv(&value, 1, MPI_INT, w.size - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    (void)arg;
    printf("the wait has ended: %s\n", code > 0 ? "with a code of MPI's" : thrum_strerror(code));
    fflush(stdout);
    return 0;
}

TEST(finalize) {
    /* MPI_Finalize while a task waits: a line that says so. */
    ranks_begin(&w);
    rig_go(&w.r, waits, NULL);
    dump_until(w.r.sched, "MPI receive from ");
    exit(0); /* ranks_finalize */
}

TEST(dies) {
    /* The last rank ends without a word; the others wait for it, until MPI tells, or ends them. */
    ranks_begin(&w);
    CHECK_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), MPI_SUCCESS);
    if (w.rank == w.size - 1) {
        raise(SIGKILL);
    }
    rig_run(&w.r, waits, NULL);
    _exit(0);
}

static int aborts(void *arg) {
    (void)arg;
    return MPI_Abort(MPI_COMM_WORLD, 3);
}

TEST(abort) {
    /* A task of one rank ends all of them, while the others wait. */
    ranks_begin(&w);
    if (w.rank == w.size - 1) {
        CHECK_EQ(thrum_mpi_call(aborts, NULL), MPI_SUCCESS);
    }
    rig_run(&w.r, waits, NULL);
    _exit(0);
}
