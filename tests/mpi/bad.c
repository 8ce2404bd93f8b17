/*
 * bad.c: what ends a program, or a rank of it. bad.sh starts it, and looks at what it says.
 *
 *     mpi_bad_... TEST      one of them in a process; those of a rank that dies with two or more
 */
#define RANKS_MAY_LEAK /* tasks that wait to the end hold what they have */
#include "support/ranks.h"

#include <poll.h>
#include <sys/syscall.h>

static ranks w;

/* ---- MPI_Finalize ---- */

static int receives(void *arg) {
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
    rig_go(&w.r, receives, NULL);
    dump_until(w.r.sched, "MPI receive from ");
    exit(0); /* ranks_finalize */
}

static int probes(void *arg) {
    (void)arg;
    return thrum_mpi_probe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

TEST(finalize_several) {
    /* The line counts all that wait, of whatever kind. */
    ranks_begin(&w);
    rig_go(&w.r, probes, NULL);
    rig_go(&w.r, receives, NULL);
    rig_go(&w.r, receives, NULL);
    ranks_until_pending(3);
    exit(0);
}

static int finalizes(void *arg) {
    (void)arg;
    return MPI_Finalize();
}

static int finalizes_on_its_thread(void *arg) {
    return thrum_mpi_call(finalizes, arg);
}

TEST(finalize_called) {
    /* MPI_Finalize in a call that everybody else's calls wait for: the same line. */
    ranks_begin(&w);
    rig_go(&w.r, receives, NULL);
    rig_go(&w.r, probes, NULL);
    ranks_until_pending(2);
    if (w.level == MPI_THREAD_FUNNELED) {
        rig_run(&w.r, finalizes_on_its_thread, NULL); /* handed over by a task */
    } else {
        finalizes_on_its_thread(NULL);
    }
    _exit(0);
}

TEST(finalized) {
    /* When nobody waits, MPI_Finalize is let be, and calls that come later say so. */
    MPI_Request request = MPI_REQUEST_NULL;
    int value = 0;
    ranks_begin(&w);
    ranks_finalize();
    CHECK_EQ(thrum_mpi_wait(&request, MPI_STATUS_IGNORE), -ESHUTDOWN);
    CHECK_EQ(thrum_mpi_send(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD), -ESHUTDOWN);
    CHECK_EQ(thrum_mpi_barrier(MPI_COMM_WORLD), -ESHUTDOWN);
    CHECK_EQ(thrum_mpi_stop(), 0);
    CHECK_EQ(thrum_mpi_start(w.r.sched), -EPERM);
    CHECK_EQ(thrum_mpi_workers(), 1);
    rig_stop(&w.r);
    printf("after MPI_Finalize\n");
    fflush(stdout);
    _exit(0); /* MPI is finalized */
}

TEST(uninitialized) {
    /* Before MPI_Init no call ends the program. */
    rig_init(&w.r);
    rig_start(&w.r);
    CHECK_EQ(thrum_mpi_workers(), 1);
    CHECK_EQ(thrum_mpi_start(w.r.sched), -EPERM);
    CHECK_EQ(thrum_mpi_stop(), -ESRCH);
#if MPI_VERSION >= 4 /* a session does not count */
    MPI_Session session;
    CHECK_EQ(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), MPI_SUCCESS);
    CHECK_EQ(thrum_mpi_workers(), 1);
    CHECK_EQ(thrum_mpi_start(w.r.sched), -EPERM);
    CHECK_EQ(MPI_Session_finalize(&session), MPI_SUCCESS);
#endif
    rig_stop(&w.r);
    printf("before MPI_Init\n");
}

/* ---- a wait in a call ---- */

static int calls_receives(void *arg) {
    int value = 0;
    (void)arg;
    return thrum_mpi_recv_until(&value, 1, MPI_INT, w.rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE,
                                soon());
}

static int waits_in_a_call(void *arg) {
    return thrum_mpi_call(calls_receives, arg);
}

TEST(waits_in_a_call) {
    /* At FUNNELED nobody else could make the calls that end it, at SERIALIZED none may. */
    ranks_begin(&w);
    CHECK_EQ(rig_run(&w.r, waits_in_a_call, NULL), -ETIMEDOUT);
    printf("the wait in a call is over\n");
    fflush(stdout);
    _exit(0);
}

static int calls_stop(void *arg) {
    (void)arg;
    return thrum_mpi_stop();
}

static int stops_in_a_call(void *arg) {
    return thrum_mpi_call(calls_stop, arg);
}

TEST(stops_in_a_call) {
    /* At FUNNELED likewise. */
    ranks_begin(&w);
    CHECK_EQ(rig_run(&w.r, stops_in_a_call, NULL), 0);
    _exit(0);
}

/* ---- a rank that dies ---- */

/* The last rank dies by SIGKILL, once all others say that it may. */
static void last_dies(void) {
    const int pid = (int)getpid();
    int word;
    for (int i = 0; i < w.size - 1; i++) {
        CHECK_EQ(thrum_mpi_send(&pid, 1, MPI_INT, i, 8, MPI_COMM_WORLD), 0);
        CHECK_EQ(thrum_mpi_recv(&word, 1, MPI_INT, i, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE), 0);
    }
    raise(SIGKILL);
}

/* What the others do: a task waits, then the last rank may die; a descriptor that tells its end. */
static int lets_last_die(void) {
    int pid = 0, word = 1;
    CHECK_EQ(thrum_mpi_recv(&pid, 1, MPI_INT, w.size - 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE), 0);
    const int end = (int)syscall(SYS_pidfd_open, pid, 0);
    CHECK(end >= 0);
    CHECK_EQ(thrum_mpi_send(&word, 1, MPI_INT, w.size - 1, 8, MPI_COMM_WORLD), 0);
    return end;
}

static void dies(void) {
    thrum_handle *task = NULL;
    thrum_attr attr = rig_attr(&w.r);
    if (w.rank == w.size - 1) {
        last_dies();
    }
    CHECK_EQ(thrum_spawn_with(&task, &attr, receives, NULL), 0);
    dump_until(w.r.sched, "MPI receive from ");
    close(lets_last_die());
    CHECK_EQ(thrum_join(task, NULL), 0);
    _exit(0);
}

TEST(dies) {
    /* Under MPI's own error handler, while tasks of all other ranks wait for it. */
    ranks_begin(&w);
    dies();
}

TEST(dies_returning) {
    /* Under MPI_ERRORS_RETURN: mpirun ends the others, or MPI tells the wait, which then ends. */
    ranks_begin(&w);
    CHECK_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), MPI_SUCCESS);
    dies();
}

/* What has come of an operation, as a line says it. */
static void tell(const char *what, int code) {
    char text[MPI_MAX_ERROR_STRING] = "is over";
    int length;
    if (code > 0) {
        CHECK_EQ(MPI_Error_string(code, text, &length), MPI_SUCCESS);
    }
    text[strcspn(text, "\n")] = '\0';
    printf("rank %d goes on: %s: %s%s\n", w.rank, what, code > 0 ? "MPI: " : "",
           code < 0 ? thrum_strerror(code) : text);
    fflush(stdout);
}

static int begins_long_send(void *arg) {
    static char bytes[1 << 22];
    return MPI_Isend(bytes, sizeof bytes, MPI_BYTE, w.size - 1, 9, MPI_COMM_WORLD, arg);
}

TEST(survives) {
    /*
     * Where mpirun lets the others live: whether MPI tells or not, waits for the dead end, at their
     * deadline at the latest, and so do the library and the scheduler.
     */
    static MPI_Request sending = MPI_REQUEST_NULL;
    int value = 0;
    signal(SIGUSR1, SIG_IGN); /* by this MPICH's mpirun tells the others */
    ranks_begin(&w);
    CHECK_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), MPI_SUCCESS);
    if (w.rank == w.size - 1) {
        last_dies();
    }
    struct pollfd end = {.fd = lets_last_die(), .events = POLLIN};
    CHECK_EQ(poll(&end, 1, -1), 1);
    const int received = thrum_mpi_recv_until(&value, 1, MPI_INT, w.size - 1, 7, MPI_COMM_WORLD,
                                              MPI_STATUS_IGNORE, soon());
    int sent = thrum_mpi_call(begins_long_send, &sending);
    sent = sent ? sent : thrum_mpi_wait_until(&sending, MPI_STATUS_IGNORE, soon());
    tell("receive", received);
    tell("long send", sent);
    CHECK(received > 0 || received == -ETIMEDOUT);
    CHECK(sent >= 0 || sent == -ETIMEDOUT); /* MPICH's may be over without a word */
    CHECK_EQ(thrum_mpi_stop(), 0);
    rig_stop(&w.r);
    printf("rank %d has stopped\n", w.rank);
    fflush(stdout);
    _exit(0); /* MPI_Finalize would wait for the dead */
}

/* ---- what MPI ends ---- */

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
    rig_run(&w.r, receives, NULL);
    _exit(0);
}

static MPI_Comm comm; /* of the failing messages */

static int begins_short_receive(void *arg) {
    static int value;
    return MPI_Irecv(&value, 1, MPI_INT, w.size - 1, 9, comm, arg);
}

static int waits_for_too_much(void *arg) {
    MPI_Request request;
    (void)arg;
    CHECK_EQ(thrum_mpi_call(begins_short_receive, &request), MPI_SUCCESS);
    CHECK_EQ(thrum_mpi_barrier(MPI_COMM_WORLD), 0);
    return thrum_mpi_wait(&request, MPI_STATUS_IGNORE);
}

static int sends_too_much(void *arg) {
    static const int two[2];
    CHECK_EQ(thrum_mpi_barrier(MPI_COMM_WORLD), 0);
    CHECK_EQ(thrum_mpi_send(two, 2, MPI_INT, 0, 9, comm), 0);
    (void)arg;
    return thrum_mpi_barrier(MPI_COMM_WORLD); /* nobody comes */
}

TEST(fails) {
    /* A wait that fails under MPI's own error handler: MPI's words, and the end. */
    ranks_begin(&w);
    CHECK_EQ(w.size, 2);
    comm = MPI_COMM_WORLD;
    rig_run(&w.r, w.rank == 0 ? waits_for_too_much : sends_too_much, NULL);
    printf("rank %d goes on\n", w.rank);
    _exit(0);
}

TEST(fails_in_a_communicator) {
    /*
     * A wait that fails in a communicator with MPI_ERRORS_RETURN, where MPI_COMM_WORLD has not:
     * MPI's code. MPICH calls the handler of MPI_COMM_WORLD, also in MPI_Test of a plain program.
     */
    ranks_begin(&w);
    CHECK_EQ(w.size, 2);
    CHECK_EQ(MPI_Comm_dup(MPI_COMM_WORLD, &comm), MPI_SUCCESS);
    CHECK_EQ(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), MPI_SUCCESS);
    if (w.rank == 0) {
        tell("short receive", rig_run(&w.r, waits_for_too_much, NULL));
        _exit(0); /* mpirun ends the other */
    }
    rig_run(&w.r, sends_too_much, NULL);
}
