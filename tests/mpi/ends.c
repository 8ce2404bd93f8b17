/*
 * ends.c: where calls have nothing to go on with: in the child of a fork; without memory; while the
 * scheduler stops.
 */
/* wrap: thrum_source_open thrum_go_with malloc calloc */
#include "support/ranks.h"

#include <pthread.h>
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
        if (codes[i] != -ESHUTDOWN) {
            return i + 1;
        }
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
    if (*child == 0) {
        alarm(30);
    }
    return *child == 0 ? 7 : 0;
}

static int calls_what_forks(void *arg) {
    pid_t child = -1;
    int status = -1;
    (void)arg;
    const int code = thrum_mpi_call(forks_and_returns, &child);
    if (child == 0) {
        _exit(code);
    }
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

static void run_in_task(thrum_fn fn) {
    ranks_begin(&w);
    CHECK_EQ(rig_run(&w.r, fn, NULL), 0);
    ranks_end(&w);
}

/* ---- without memory ---- */

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
    if (w.level == MPI_THREAD_FUNNELED) {
        CHECK_EQ(thrum_sched_bind(w.r.sched), 0);
    }
    CHECK_EQ(start_lacking(A_SOURCE), -ENOMEM);
    if (w.level == MPI_THREAD_FUNNELED) { /* the task that makes the calls */
        CHECK_EQ(start_lacking(A_TASK), -ENOMEM);
    }
    CHECK_EQ(thrum_mpi_start(w.r.sched), 0);
    CHECK_EQ(rig_run(&w.r, forks_beside_a_wait, NULL), 0);
    ranks_end(&w);
}

/* What our side asks for; MPI is a library of its own. */
static atomic_int granted = -1; /* so many are left; -1: all */
static atomic_int refused;      /* how often */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);

static bool is_refused(void) {
    int left = atomic_load(&granted);
    while (left > 0 && !atomic_compare_exchange_weak(&granted, &left, left - 1)) {
    }
    if (left == 0) {
        atomic_fetch_add(&refused, 1);
    }
    return left == 0;
}

void *__wrap_malloc(size_t size) {
    return is_refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size) {
    return is_refused() ? NULL : __real_calloc(n, size);
}

static int without_memory(void *arg) {
    MPI_Request request, sent;
    int value = -1, in = -1, out = 8, code = 0;
    (void)arg;
    irecv(&value, w.rank, 50, &request);
    for (int n = 0; n < 5; n++) { /* a table takes five */
        atomic_store(&granted, n);
        code = thrum_mpi_wait(&request, MPI_STATUS_IGNORE);
        atomic_store(&granted, -1);
        CHECK_EQ(code, -ENOMEM);
    }
    atomic_store(&granted, 0);
    code = thrum_mpi_recv(&in, 1, MPI_INT, w.rank, 51, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    atomic_store(&granted, -1);
    CHECK_EQ(code, -ENOMEM);
    isend(&out, w.rank, 50, &sent);
    CHECK_EQ(thrum_mpi_wait(&sent, MPI_STATUS_IGNORE), 0);
    CHECK_EQ(thrum_mpi_wait(&request, MPI_STATUS_IGNORE), 0);
    CHECK_EQ(value, 8);
    return 0;
}

TEST(without_memory_nothing_is_lost) {
    /* The wait says so; the request can be waited for later. */
    run_in_task(without_memory);
}

enum { LONG = 100000 }; /* ints: under way until they are received */

static int sends_long(void *arg) {
    static int out[LONG];
    return thrum_mpi_send(out, LONG, MPI_INT, w.rank, (int)(intptr_t)arg, MPI_COMM_WORLD);
}

static int receives_long(int tag) {
    static int in[LONG];
    return thrum_mpi_recv(in, LONG, MPI_INT, w.rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int sends_without_memory(void *arg) {
    atomic_store(&granted, 0);
    return sends_long(arg);
}

static int send_without_memory(void *arg) {
    thrum_handle *task = NULL;
    int code = -1;
    (void)arg;
    atomic_store(&refused, 0);
    CHECK_EQ(thrum_spawn(&task, sends_without_memory, (void *)52), 0);
    while (!atomic_load(&refused)) {
        nap();
    }
    atomic_store(&granted, -1);
    CHECK_EQ(receives_long(52), 0);
    CHECK_EQ(thrum_join(task, &code), 0);
    CHECK_EQ(code, 0);
    return 0;
}

TEST(a_send_ends_without_memory) {
    /* Nobody else can end it: it looks itself until it is over. */
    run_in_task(send_without_memory);
}

/* ---- while the scheduler stops ---- */

static thrum_event released = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
static thrum_event thread_is_over = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);

/* What a stop waits for, also past its deadline. */
static int stays(void *arg) {
    (void)arg;
    thrum_shield_begin();
    CHECK_EQ(thrum_event_wait(&released), 0);
    thrum_shield_end();
    return 0;
}

static void *plain_thread(void *arg) {
    MPI_Request request;
    int in = -1, out = 4;
    (void)arg;
    irecv(&in, w.rank, 54, &request);
    CHECK_EQ(thrum_mpi_wait(&request, MPI_STATUS_IGNORE), -ESHUTDOWN);
    CHECK_EQ(thrum_mpi_send(&out, 1, MPI_INT, w.rank, 54, MPI_COMM_WORLD), 0);
    int code;
    do {
        code = thrum_mpi_wait(&request, MPI_STATUS_IGNORE);
    } while (code == -ESHUTDOWN);
    CHECK(code == 0 && in == 4);
    thrum_event_signal(&thread_is_over);
    return NULL;
}

TEST(a_plain_thread_while_the_scheduler_stops) {
    /* A wait that would be queued is refused, and leaves its request; what must end does. */
    pthread_t thread;
    thrum_handle *task = NULL;
    ranks_begin(&w);
    const thrum_attr attr = rig_attr(&w.r);
    CHECK_EQ(thrum_spawn_with(&task, &attr, stays, NULL), 0);
    CHECK_EQ(thrum_sched_stop_until(w.r.sched, past()), -ETIMEDOUT);
    thrum_shield_begin(); /* at FUNNELED this thread's own waits are cancelled, too */
    CHECK_EQ(pthread_create(&thread, NULL, plain_thread, NULL), 0);
    CHECK_EQ(thrum_event_wait(&thread_is_over), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    thrum_event_signal(&released);
    CHECK_EQ(thrum_join(task, NULL), 0);
    thrum_shield_end();
    CHECK_EQ(thrum_mpi_stop(), 0);
    rig_stop(&w.r);
    CHECK_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
}
