/* forked.c: a process that a task forks: the child has one thread and no worker. */
/* POSIX: fork */
/* matrix: policy workers */
#include "support/sync/actors.h"
#include "support/sync/emptied.h"
#include "support/times.h"

#include <sys/mman.h>

/* In the child, one that hangs ends with a status of its own. */
static pid_t fork_now(void) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        check_end_in_time();
    }
    return child;
}

static int status_of(pid_t child) {
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    return status;
}

/* Runs fn(arg) in a child and returns waitpid's status; fn may return. */
static int status_of_child(void (*fn)(void *), void *arg) {
    const pid_t child = fork_now();
    if (child == 0) {
        fn(arg);
        _exit(0);
    }
    return status_of(child);
}

/* ---- nothing of the parent's runs ---- */

enum { QUEUED = 500 };

typedef struct counts {
    pid_t parent;
    atomic_int in_parent;
    atomic_int in_child;
    thrum_waitgroup left;
    thrum_task tasks[QUEUED];
} counts;

static counts *shared;

static void count(void) {
    atomic_fetch_add(getpid() == shared->parent ? &shared->in_parent : &shared->in_child, 1);
    thrum_waitgroup_done(&shared->left);
}

static int count_here(void *arg) {
    (void)arg;
    count();
    return 0;
}

static void count_task(thrum_task *self, void *arg) {
    (void)self, (void)arg;
    count();
}

static void waits_in_all_ways(void *arg) {
    thrum_event event = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);
    (void)arg;
    for (int i = 0; i < 200; i++) {
        thrum_yield();
    }
    CHECK_EQ(sleep_until_cancelled(), -ESHUTDOWN);
    CHECK_EQ(thrum_event_wait(&event), -ESHUTDOWN);
}

static int queue_and_fork(void *arg) {
    thrum_sched *sched = thrum_sched_current();
    (void)arg;
    thrum_waitgroup_add(&shared->left, 2 * QUEUED);
    for (int i = 0; i < QUEUED; i++) {
        CHECK_EQ(thrum_go(count_here, NULL), 0);
        thrum_task_init(&shared->tasks[i], count_task, NULL);
        CHECK_EQ(thrum_task_post(sched, &shared->tasks[i]), 0);
    }
    CHECK_EQ(status_of_child(waits_in_all_ways, NULL), 0);
    CHECK_EQ(thrum_waitgroup_wait(&shared->left), 0);
    return 0;
}

TEST(nothing_of_the_parents_runs_in_the_child) {
    /* A thousand tasks are queued when the process forks: each runs once, in the parent. */
    void *memory =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    shared = memory;
    shared->parent = getpid();
    thrum_waitgroup_init(&shared->left, 0);
    rig_do(0, queue_and_fork, NULL);
    CHECK_EQ(atomic_load(&shared->in_parent), 2 * QUEUED);
    CHECK_EQ(atomic_load(&shared->in_child), 0);
}

/* ---- calls that would wait ---- */

typedef struct things {
    thrum_mutex held; /* held by another task */
    thrum_rwlock written;
    thrum_mutex own; /* held by the task that forks */
    thrum_cond cond;
    thrum_once once; /* another task runs its function */
    thrum_sem sem;
    thrum_sem let_go;
    thrum_barrier barrier;
    thrum_waitgroup group;
    thrum_tickets tickets;
    thrum_chan *chan;
    thrum_bcast *bcast;
    emptied empty;
    thrum_handle *other;
    thrum_key key;
    thrum_sched *sched;
    atomic_bool holds;
} things;

static int hold_on(void *arg) {
    things *t = arg;
    atomic_store(&t->holds, true);
    return thrum_sem_wait(&t->let_go);
}

static int hold_all(void *arg) {
    things *t = arg;
    thrum_mutex_lock(&t->held);
    thrum_rwlock_wrlock(&t->written);
    thrum_sem_post(&t->sem);
    CHECK_EQ(thrum_once_run(&t->once, hold_on, t), 0);
    thrum_rwlock_unlock(&t->written);
    thrum_mutex_unlock(&t->held);
    return 5;
}

static void begin_things(things *t) {
    memset(t, 0, sizeof *t);
    t->sched = thrum_sched_current();
    thrum_waitgroup_init(&t->group, 1);
    thrum_barrier_init(&t->barrier, 2);
    CHECK_EQ(thrum_chan_create(&t->chan, sizeof(int), 0), 0);
    CHECK_EQ(thrum_bcast_create(&t->bcast, sizeof(int), 1), 0);
    emptied_begin(&t->empty);
    CHECK_EQ(thrum_spawn(&t->other, hold_all, t), 0);
    CHECK_EQ(thrum_sem_wait(&t->sem), 0);
    YIELD_UNTIL(atomic_load(&t->holds));
    CHECK_EQ(thrum_sched_current() == t->sched, true);
    thrum_mutex_lock(&t->own);
}

static void end_things(things *t) {
    int result = 0;
    thrum_mutex_unlock(&t->own);
    thrum_sem_post(&t->let_go);
    CHECK_EQ(thrum_join(t->other, &result), 0);
    CHECK_EQ(result, 5);
    thrum_chan_destroy(t->chan);
    CHECK_EQ(thrum_bcast_destroy(t->bcast), 0);
    emptied_end(&t->empty);
}

static void child_waits(void *arg) {
    things *t = arg;
    const thrum_time later = far_off();
    thrum_event event = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
    thrum_ticket first;
    thrum_ticket second;
    thrum_bcast_receiver receiver;
    void *item;
    int value = 1;
    CHECK_EQ(thrum_sem_wait(&t->sem), -ESHUTDOWN);
    CHECK_EQ(thrum_sem_wait_until(&t->sem, later), -ESHUTDOWN);
    CHECK_EQ(thrum_sem_wait_until(&t->sem, 0), -ETIMEDOUT); /* this does not wait */
    CHECK_EQ(thrum_event_wait(&event), -ESHUTDOWN);
    CHECK_EQ(thrum_event_wait_until(&event, later), -ESHUTDOWN);
    CHECK_EQ(thrum_cond_wait(&t->cond, &t->own), -ESHUTDOWN);
    CHECK_EQ(thrum_cond_wait_until(&t->cond, &t->own, later), -ESHUTDOWN);
    CHECK_EQ(thrum_mutex_lock_until(&t->held, later), -ESHUTDOWN);
    CHECK_EQ(thrum_rwlock_rdlock_until(&t->written, later), -ESHUTDOWN);
    CHECK_EQ(thrum_rwlock_wrlock_until(&t->written, later), -ESHUTDOWN);
    CHECK_EQ(thrum_once_run(&t->once, hold_on, t), -ESHUTDOWN);
    CHECK_EQ(thrum_once_run_until(&t->once, hold_on, t, later), -ESHUTDOWN);
    CHECK_EQ(thrum_barrier_wait(&t->barrier), -ESHUTDOWN);
    CHECK_EQ(thrum_barrier_wait_until(&t->barrier, later), -ESHUTDOWN);
    CHECK_EQ(thrum_waitgroup_wait(&t->group), -ESHUTDOWN);
    CHECK_EQ(thrum_waitgroup_wait_until(&t->group, later), -ESHUTDOWN);
    thrum_tickets_take(&t->tickets, &first);
    thrum_tickets_take(&t->tickets, &second);
    CHECK_EQ(thrum_ticket_on_call(&second, hold_on, t), -ESHUTDOWN);
    CHECK_EQ(thrum_ticket_wait(&second), -ESHUTDOWN);
    CHECK_EQ(thrum_ticket_wait_until(&second, later), -ESHUTDOWN);
    CHECK_EQ(thrum_chan_send(t->chan, &value), -ESHUTDOWN);
    CHECK_EQ(thrum_chan_recv(t->chan, &value), -ESHUTDOWN);
    CHECK_EQ(thrum_chan_recv_until(t->chan, &value, later), -ESHUTDOWN);
    thrum_bcast_subscribe(t->bcast, &receiver);
    CHECK_EQ(thrum_bcast_recv(&receiver, &value), -ESHUTDOWN);
    CHECK_EQ(thrum_bcast_recv_latest_until(&receiver, &value, later), -ESHUTDOWN);
    CHECK_EQ(thrum_pool_borrow(t->empty.pool, &item), -ESHUTDOWN);
    CHECK_EQ(thrum_pool_borrow_until(t->empty.pool, &item, later), -ESHUTDOWN);
    CHECK_EQ(thrum_join(t->other, NULL), -ESHUTDOWN);
    CHECK_EQ(thrum_join_until(t->other, NULL, later), -ESHUTDOWN);
    CHECK_EQ(sleep_until_cancelled(), -ESHUTDOWN);
    CHECK_EQ(thrum_sched_wait_idle(t->sched, THRUM_FOREVER), -ESHUTDOWN);
    CHECK_EQ(thrum_sched_wait_done(t->sched, THRUM_FOREVER), -ESHUTDOWN);
    CHECK_EQ(thrum_sched_stop(t->sched), -ESHUTDOWN);
    thrum_yield();
    thrum_mutex_unlock(&t->own); /* it still belongs to the task */
    thrum_mutex_lock(&t->own);
    CHECK(thrum_key_get(t->key) == t);
}

static int fork_that_waits(void *arg) {
    things t;
    (void)arg;
    begin_things(&t);
    CHECK_EQ(thrum_key_create(&t.key, NULL), 0);
    CHECK_EQ(thrum_key_set(t.key, &t), 0);
    CHECK_EQ(status_of_child(child_waits, &t), 0);
    CHECK(thrum_key_get(t.key) == &t);
    CHECK_EQ(thrum_key_delete(t.key), 0);
    end_things(&t);
    return 0;
}

TEST(calls_that_would_wait_fail_in_the_child) {
    /* Calls of every kind fail; one that need not wait succeeds. */
    rig_do(0, fork_that_waits, NULL);
}

static void locks_mutex(void *arg) {
    thrum_mutex_lock(&((things *)arg)->held);
}

static void locks_to_read(void *arg) {
    thrum_rwlock_rdlock(&((things *)arg)->written);
}

static void locks_to_write(void *arg) {
    thrum_rwlock_wrlock(&((things *)arg)->written);
}

static int fork_that_locks(void *arg) {
    things t;
    (void)arg;
    begin_things(&t);
    check_dies(locks_mutex, &t, "thrum_mutex_lock: it would wait for ever");
    check_dies(locks_to_read, &t, "thrum_rwlock_rdlock: it would wait for ever");
    check_dies(locks_to_write, &t, "thrum_rwlock_wrlock: it would wait for ever");
    end_things(&t);
    return 0;
}

TEST(locks_that_others_hold_end_the_child) {
    /* A lock has nothing to return: it prints one line and aborts. */
    rig_do(0, fork_that_locks, NULL);
}

/* ---- starting things ---- */

static int never(void *arg) {
    (void)arg;
    CHECK(false);
    return 0;
}

static void never_task(thrum_task *self, void *arg) {
    (void)self, (void)arg;
    CHECK(false);
}

typedef struct started {
    thrum_sched *sched;
    thrum_scope scope;
    thrum_task waiting; /* a task of the parent's */
    atomic_bool ran;
} started;

static int adds(void *arg) {
    return ++*(int *)arg;
}

static void child_starts(void *arg) {
    started *s = arg;
    thrum_handle *handle;
    thrum_task task;
    thrum_task *batch[1] = {&task};
    thrum_scope scope;
    thrum_fork call;
    thrum_attr attr = {.size = sizeof attr, .sched = s->sched, .worker = -1};
    int n = 0;
    thrum_task_init(&task, never_task, NULL);
    CHECK_EQ(thrum_go(never, NULL), -ESHUTDOWN);
    CHECK_EQ(thrum_spawn(&handle, never, NULL), -ESHUTDOWN);
    CHECK_EQ(thrum_go_with(&attr, never, NULL), -ESHUTDOWN);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, never, NULL), -ESHUTDOWN);
    CHECK_EQ(thrum_set_name("child"), -ESHUTDOWN);
    CHECK_EQ(thrum_task_post(s->sched, &task), -ESHUTDOWN);
    CHECK_EQ(thrum_task_post_after(s->sched, &task, 1), -ESHUTDOWN);
    CHECK_EQ(thrum_task_post_batch(s->sched, batch, 1), -ESHUTDOWN);
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), -ESHUTDOWN);
    CHECK_EQ(thrum_scope_go(&s->scope, never, NULL), -ESHUTDOWN);
    thrum_scope_cancel(&s->scope);
    CHECK_EQ(thrum_scope_join(&s->scope), -ESHUTDOWN);
    CHECK_EQ(thrum_sched_bind(s->sched), -ESHUTDOWN);
    CHECK_EQ(thrum_sched_unbind(), -ESHUTDOWN);
    thrum_task_wakeup(&s->waiting); /* nothing is told */
    thrum_fork_start(&call, adds, &n);
    CHECK_EQ(thrum_fork_join(&call), 1); /* the caller itself makes the call */
    CHECK(thrum_sched_current() == NULL);
    CHECK_EQ(thrum_worker_id(), -1);
}

static void sets_ran(thrum_task *self, void *arg) {
    (void)self;
    atomic_store(&((started *)arg)->ran, true);
}

static int fork_that_starts(void *arg) {
    started s = {.sched = thrum_sched_current()};
    (void)arg;
    thrum_task_init(&s.waiting, sets_ran, &s);
    CHECK_EQ(thrum_task_post_wait(s.sched, &s.waiting), 0);
    CHECK_EQ(thrum_scope_open(&s.scope, THRUM_FOREVER), 0);
    CHECK_EQ(status_of_child(child_starts, &s), 0);
    CHECK_EQ(thrum_scope_join(&s.scope), 0);
    CHECK(!atomic_load(&s.ran));
    thrum_task_wakeup(&s.waiting);
    YIELD_UNTIL(atomic_load(&s.ran));
    return 0;
}

TEST(starting_fails_in_the_child) {
    /* What is woken there stays as it was; a call that can be made at once is made. */
    rig_do(0, fork_that_starts, NULL);
}

/* ---- a body that returns ---- */

/* Returns in the child, which its status shows, and in the parent. */
static int fork_and_return(void *arg) {
    const pid_t child = fork_now();
    if (child == 0) {
        return 7;
    }
    const int status = status_of(child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), *(int *)arg);
    return 0;
}

typedef struct forking {
    thrum_task task;
    thrum_sem done;
    int status;
} forking;

static int go_body(void *arg) {
    forking *f = arg;
    const int result = fork_and_return(&f->status);
    if (result == 0) {
        thrum_sem_post(&f->done);
    }
    return result;
}

static int returns(void *arg) {
    forking f = {.status = 7};
    thrum_handle *handle;
    thrum_scope scope;
    int result = 1;
    (void)arg;
    thrum_sem_init(&f.done, 0);
    CHECK_EQ(thrum_spawn(&handle, fork_and_return, &f.status), 0);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, 0);
    CHECK_EQ(thrum_go(go_body, &f), 0);
    CHECK_EQ(thrum_sem_wait(&f.done), 0);
    CHECK_EQ(thrum_blocking(fork_and_return, &f.status, &result), 0);
    CHECK_EQ(result, 0);
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_go(&scope, fork_and_return, &f.status), 0);
    CHECK_EQ(thrum_scope_join(&scope), 0);
    return 0;
}

TEST(a_body_that_returns_ends_the_child) {
    /* Its result is the status, as main's would be. */
    rig_do(0, returns, NULL);
}

static void returns_from_task(thrum_task *self, void *arg) {
    forking *f = arg;
    (void)self;
    const pid_t child = fork_now();
    if (child == 0) {
        return;
    }
    CHECK_EQ(status_of(child), 0);
    thrum_sem_post(&f->done);
}

static int returns_from_tasks(void *arg) {
    forking f = {.status = 0};
    (void)arg;
    thrum_sem_init(&f.done, 0);
    thrum_task_init(&f.task, returns_from_task, &f);
    CHECK_EQ(thrum_task_post(thrum_sched_current(), &f.task), 0);
    return thrum_sem_wait(&f.done);
}

TEST(the_body_of_a_task_that_returns_ends_the_child) {
    /* It has no result: the status is 0. */
    rig_do(0, returns_from_tasks, NULL);
}

/* A node whose children end with it; the graph goes on in the parent alone. */
typedef struct graph {
    thrum_dag *dag;
    atomic_int *ran; /* shared between all processes */
} graph;

static int forking_node(void *arg) {
    graph *g = arg;
    const pid_t child = fork_now();
    if (child == 0) {
        return 0;
    }
    CHECK_EQ(status_of(child), 0);
    atomic_fetch_add(g->ran, 1);
    return 0;
}

static int runs_graph(void *arg) {
    graph *g = arg;
    CHECK_EQ(thrum_dag_create(&g->dag), 0);
    for (int i = 0; i < 8; i++) {
        CHECK_EQ(thrum_dag_node(g->dag, forking_node, g), i);
    }
    for (int i = 1; i < 8; i++) {
        CHECK_EQ(thrum_dag_edge(g->dag, (i - 1) / 2, i), 0);
    }
    CHECK_EQ(thrum_dag_run(g->dag), 0);
    thrum_dag_destroy(g->dag);
    return 0;
}

TEST(a_node_that_returns_ends_the_child) {
    /* Each node runs once in all processes together. */
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    graph g = {.ran = memory};
    rig_do(0, runs_graph, &g);
    CHECK_EQ(atomic_load(g.ran), 8);
}

/* ---- forks that were started before ---- */

static void joins(void *arg) {
    thrum_fork_join(arg);
}

static int forks_then_joins(void *arg) {
    thrum_fork first;
    thrum_fork second;
    int n = 0, m = 0;
    (void)arg;
    thrum_fork_start(&first, adds, &n);
    thrum_fork_start(&second, adds, &m);
    check_dies(joins, &second, "thrum_fork_join: ");
    check_dies(joins, &first, "thrum_fork_join: ");
    CHECK_EQ(thrum_fork_join(&second), 1);
    CHECK_EQ(thrum_fork_join(&first), 1);
    return 0;
}

TEST(forks_of_the_parents_are_not_joined_in_the_child) {
    /* With one worker none has made the call before: it is made once, in the parent. */
    rig_do(1, forks_then_joins, NULL);
}

/* ---- a scheduler of the child's own ---- */

static int seven(void *arg) {
    thrum_yield();
    thrum_waitgroup_done(arg);
    return 7;
}

static int forks_to_start(void *arg) {
    (void)arg;
    const pid_t child = fork_now();
    if (child == 0) {
        rig r;
        thrum_handle *handle;
        thrum_waitgroup group = THRUM_WAITGROUP_INIT(0);
        int result = 0;
        rig_begin(&r, 0);
        const thrum_attr attr = rig_attr(&r);
        thrum_waitgroup_add(&group, 1);
        CHECK_EQ(thrum_spawn_with(&handle, &attr, seven, &group), 0);
        CHECK_EQ(thrum_waitgroup_wait(&group), 0); /* it may wait again */
        CHECK_EQ(thrum_join(handle, &result), 0);
        CHECK_EQ(result, 7);
        nap();
        CHECK_EQ(thrum_sched_bind(r.sched), 0);
        thrum_waitgroup_add(&group, 1);
        CHECK_EQ(thrum_go(seven, &group), 0);
        CHECK_EQ(thrum_waitgroup_wait(&group), 0);
        CHECK_EQ(thrum_sched_unbind(), 0);
        CHECK_EQ(thrum_sched_stop(r.sched), 0);
        rig_check_freed(&r);
        return 3; /* its body is the parent's, and ends the process */
    }
    const int status = status_of(child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 3);
    return 0;
}

TEST(the_child_of_a_task_starts_its_own) {
    /* From then on the thread is a plain one, and waits wait. */
    if (UNDER_TSAN) {
        CHECK_SKIP("the sanitizer takes no threads after a fork of threads");
    }
    if (UNDER_ASAN) {
        CHECK_SKIP("the sanitizer's allocator may be locked in the child, by a thread not there");
    }
    rig_do(0, forks_to_start, NULL);
}

/* ---- from a plain thread ---- */

static void plain_child(void *arg) {
    things *t = arg;
    thrum_task task;
    thrum_task_init(&task, never_task, NULL);
    CHECK_EQ(thrum_task_post(t->sched, &task), -ESHUTDOWN);
    CHECK_EQ(thrum_join(t->other, NULL), -ESHUTDOWN);
    CHECK_EQ(thrum_join_until(t->other, NULL, far_off()), -ESHUTDOWN);
    CHECK_EQ(thrum_cancel(t->other), 0); /* nothing is told */
    CHECK_EQ(thrum_go(never, NULL), -ESRCH);
    nap(); /* it is a plain thread, as before */
    thrum_sem_post(&t->let_go);
}

TEST(the_child_of_a_plain_thread) {
    /* Joins of the parent's tasks fail; its own waits work. */
    rig r;
    things t;
    memset(&t, 0, sizeof t);
    rig_begin(&r, 0);
    t.sched = r.sched;
    const thrum_attr attr = rig_attr(&r);
    CHECK_EQ(thrum_spawn_with(&t.other, &attr, hold_on, &t), 0);
    SPIN_UNTIL(SEM_WAITING(&t.let_go) == 1); /* its lock is free: the child has a copy */
    CHECK_EQ(status_of_child(plain_child, &t), 0);
    thrum_sem_post(&t.let_go);
    CHECK_EQ(thrum_join(t.other, NULL), 0);
    rig_stop(&r);
}
