/*
 * ends.c: where calls have nothing to go on with: in the child of a fork; a start without memory.
 */
/* wrap: thrum_source_open thrum_go_with */
#include "support/ranks.h"

#include <sys/wait.h>
#include <thrum/poll.h>

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

static int forks_and_returns(void *arg) {
    pid_t *child = arg;
    *child = fork();
    if (*child == 0)
        alarm(30);
    return *child == 0 ? 7 : 0;
}

static int calls_what_forks(void *arg) {
    pid_t child = -1;
    int status = -1;
    (void)arg;
    const int code = thrum_mpi_call(forks_and_returns, &child);
    if (child == 0)
        _exit(code);
    CHECK_EQ(code, 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    return 0;
}

TEST(the_child_of_a_fork_in_a_call_ends) {
    /* On MPI's thread the caller is not there: what the call returns is the child's status. */
    ranks_begin(&w);
    CHECK_EQ(rig_run(&w.r, calls_what_forks, NULL), 0);
    CHECK_EQ(rig_run(&w.r, forks_beside_a_wait, NULL), 0);
    ranks_end(&w);
}

/* ---- a start without memory ---- */

enum { NOTHING, A_SOURCE, A_TASK };
static atomic_int lacking;

int __real_thrum_source_open(thrum_source **out, thrum_sched *sched, void (*ask)(void *arg),
                             void *arg);
int __wrap_thrum_source_open(thrum_source **out, thrum_sched *sched, void (*ask)(void *arg),
                             void *arg);
int __real_thrum_go_with(const thrum_attr *attr, thrum_fn fn, void *arg);
int __wrap_thrum_go_with(const thrum_attr *attr, thrum_fn fn, void *arg);

int __wrap_thrum_source_open(thrum_source **out, thrum_sched *sched, void (*ask)(void *arg),
                             void *arg) {
    return atomic_load(&lacking) == A_SOURCE ? -ENOMEM
                                             : __real_thrum_source_open(out, sched, ask, arg);
}

int __wrap_thrum_go_with(const thrum_attr *attr, thrum_fn fn, void *arg) {
    return atomic_load(&lacking) == A_TASK ? -ENOMEM : __real_thrum_go_with(attr, fn, arg);
}

static int start_lacking(int what) {
    atomic_store(&lacking, what);
    const int code = thrum_mpi_start(w.r.sched);
    atomic_store(&lacking, NOTHING);
    return code;
}

TEST(a_start_without_memory) {
    /* It says so, nothing of it stays, and a later one works. */
    ranks_init(&w);
    rig_init(&w.r);
    w.r.config.stack_size = RANKS_STACK;
    rig_start(&w.r);
    if (w.level == MPI_THREAD_FUNNELED)
        CHECK_EQ(thrum_sched_bind(w.r.sched), 0);
    CHECK_EQ(start_lacking(A_SOURCE), -ENOMEM);
    if (w.level == MPI_THREAD_FUNNELED) /* the task that makes the calls */
        CHECK_EQ(start_lacking(A_TASK), -ENOMEM);
    CHECK_EQ(thrum_mpi_start(w.r.sched), 0);
    CHECK_EQ(rig_run(&w.r, forks_beside_a_wait, NULL), 0);
    ranks_end(&w);
}
