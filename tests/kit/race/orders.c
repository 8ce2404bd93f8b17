/*
 * orders.c: each way in which calls of the library and locks order the accesses of two tasks. The
 * corrected kernel has no race, so it must pass; the other one writes after the step that orders
 * the two.
 */
#include "orders.h"

#include <pthread.h>

static void says_nothing(void) {
}

/* ---- starts and ends ---- */

static int only_reads(void *arg) {
    (void)arg;
    reads();
    return 0;
}

KERNEL(by_spawn, "race") {
    if (fixed) {
        writes();
    }
    go(only_reads, NULL);
    if (!fixed) {
        writes();
    }
    join_all();
    return 0;
}

KERNEL(by_join, "race") {
    begin(says_nothing);
    if (fixed) {
        join_all();
        reads();
        return 0;
    }
    return read_and_join();
}

static int result_of_scope(void *arg) {
    (void)arg;
    writes();
    return 0;
}

KERNEL(by_scope, "race") {
    thrum_scope scope;
    MUST(thrum_scope_open(&scope, THRUM_FOREVER));
    MUST(thrum_scope_go(&scope, result_of_scope, NULL));
    if (!fixed) {
        reads();
    }
    MUST(thrum_scope_join(&scope));
    reads();
    return 0;
}

static void thread_writes(void *arg) {
    (void)arg;
    writes();
}

KERNEL(by_thread, "race") {
    thrum_test_thread thread;
    memset(data, 0, sizeof data);
    MUST(thrum_test_thread_start(&thread, thread_writes, NULL));
    if (!fixed) {
        reads();
    }
    thrum_test_thread_join(&thread);
    reads();
    return 0;
}

static int blocking_writes(void *arg) {
    (void)arg;
    writes();
    return 0;
}

static int calls_blocking(void *arg) {
    (void)arg;
    return thrum_blocking(blocking_writes, NULL, NULL);
}

KERNEL(by_blocking, "race") {
    go(calls_blocking, NULL);
    if (!fixed) {
        reads();
    }
    join_all();
    reads();
    return 0;
}

static void range_adds(size_t from, size_t to, void *ctx) {
    int *counts = ctx;
    for (size_t i = from; i < to; i++) {
        counts[fixed ? i : 0]++;
    }
}

KERNEL(by_parallel_for, "race") {
    int counts[16] = {0};
    MUST(thrum_parallel_for(0, 16, 1, range_adds, counts));
    THRUM_TEST(!fixed || (counts[0] == 1 && counts[15] == 1));
    return 0;
}

KERNEL(by_fork, "race") {
    thrum_fork fork;
    thrum_fork_start(&fork, result_of_scope, NULL);
    thrum_yield();
    if (!fixed) {
        reads();
    }
    thrum_fork_join(&fork);
    reads();
    return 0;
}

static int node_writes(void *arg) {
    (void)arg;
    writes();
    return 0;
}

static int node_reads(void *arg) {
    (void)arg;
    reads();
    return 0;
}

KERNEL(by_graph, "race") {
    thrum_dag *dag;
    MUST(thrum_dag_create(&dag));
    const int before = thrum_dag_node(dag, node_writes, NULL);
    const int after = thrum_dag_node(dag, node_reads, NULL);
    THRUM_TEST(before >= 0 && after >= 0);
    if (fixed) {
        MUST(thrum_dag_edge(dag, before, after));
    }
    MUST(thrum_dag_run(dag));
    reads();
    return thrum_dag_destroy(dag);
}

/* Runs of one task: serial ones come one after another. */
static thrum_task task;
static thrum_event ran = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);

static void task_writes(thrum_task *self, void *arg) {
    (void)self, (void)arg;
    if (fixed) {
        writes();
    }
    thrum_event_signal(&ran);
    if (!fixed) {
        writes();
    }
}

KERNEL(by_posted_task, "race") {
    thrum_task_init(&task, task_writes, NULL);
    for (int i = 0; i < 3; i++) {
        writes();
        MUST(thrum_task_post(thrum_sched_current(), &task));
        if (!fixed) {
            reads();
        }
        MUST(thrum_event_wait(&ran));
        reads();
        thrum_test_settle();
    }
    return 0;
}

/* Objects of a pool go from one task to the next; tickets are called in their order. */
static thrum_pool *pool;
static thrum_tickets tickets = THRUM_TICKETS_INIT;

static int borrows(void *arg) {
    int *item;
    thrum_ticket ticket;
    (void)arg;
    thrum_tickets_take(&tickets, &ticket);
    MUST(thrum_pool_borrow(pool, (void **)&item));
    item[0]++;
    thrum_pool_give_back(pool, item);
    if (fixed) {
        MUST(thrum_ticket_wait(&ticket));
    }
    writes();
    thrum_ticket_done(&ticket);
    return 0;
}

KERNEL(by_pool_and_tickets, "race") {
    thrum_pool_config config = THRUM_POOL_CONFIG_INIT;
    config.item_size = sizeof(int);
    config.capacity = 2;
    MUST(thrum_pool_create(&pool, &config));
    for (int i = 0; i < 4; i++) {
        go(borrows, NULL);
    }
    join_all();
    return thrum_pool_destroy(pool);
}

/* ---- locks ---- */

static thrum_mutex mutex = THRUM_MUTEX_INIT;
static thrum_rwlock rwlock = THRUM_RWLOCK_INIT;

static int adds_under_mutex(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        if (fixed) {
            thrum_mutex_lock(&mutex);
        }
        total++;
        if (fixed) {
            thrum_mutex_unlock(&mutex);
        }
    }
    return 0;
}

KERNEL(by_mutex, "race") {
    go(adds_under_mutex, NULL);
    go(adds_under_mutex, NULL);
    join_all();
    return 0;
}

static int adds_under_rwlock(void *arg) {
    (void)arg;
    thrum_rwlock_rdlock(&rwlock);
    const int before = total;
    thrum_rwlock_unlock(&rwlock);
    if (fixed) {
        thrum_rwlock_wrlock(&rwlock);
    } else {
        thrum_rwlock_rdlock(&rwlock);
    }
    total += before >= 0;
    thrum_rwlock_unlock(&rwlock);
    return 0;
}

KERNEL(by_rwlock, "race") {
    go(adds_under_rwlock, NULL);
    go(adds_under_rwlock, NULL);
    join_all();
    return 0;
}

/* Of the C library. */
static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t plain_rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t plain_once = PTHREAD_ONCE_INIT;

static int adds_under_pthread(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        if (fixed) {
            THRUM_TEST(pthread_mutex_lock(&plain) == 0);
        }
        total++;
        if (fixed) {
            THRUM_TEST(pthread_mutex_unlock(&plain) == 0);
        }
    }
    return 0;
}

KERNEL(by_pthread_mutex, "race") {
    go(adds_under_pthread, NULL);
    go(adds_under_pthread, NULL);
    go(adds_under_pthread, NULL);
    join_all();
    THRUM_TEST(total == 6);
    return 0;
}

static int adds_under_pthread_rwlock(void *arg) {
    (void)arg;
    THRUM_TEST(pthread_rwlock_rdlock(&plain_rw) == 0);
    const int before = total;
    THRUM_TEST(pthread_rwlock_unlock(&plain_rw) == 0);
    THRUM_TEST((fixed ? pthread_rwlock_wrlock : pthread_rwlock_rdlock)(&plain_rw) == 0);
    total += before >= 0;
    THRUM_TEST(pthread_rwlock_unlock(&plain_rw) == 0);
    return 0;
}

KERNEL(by_pthread_rwlock, "race") {
    go(adds_under_pthread_rwlock, NULL);
    go(adds_under_pthread_rwlock, NULL);
    join_all();
    return 0;
}

static void begins_once(void) {
    writes();
}

static int reads_after_once(void *arg) {
    (void)arg;
    if (fixed) {
        (void)pthread_once(&plain_once, begins_once);
    } else if (data[0] == 0) {
        begins_once();
    }
    reads();
    return 0;
}

KERNEL(by_pthread_once, "race") {
    go(reads_after_once, NULL);
    go(reads_after_once, NULL);
    join_all();
    return 0;
}

/* ---- waits ---- */

static thrum_cond cond = THRUM_COND_INIT;
static bool told;

static void signals_cond(void) {
    thrum_mutex_lock(&mutex);
    told = true;
    thrum_mutex_unlock(&mutex);
    thrum_cond_signal(&cond);
}

KERNEL(by_cond, "race") {
    begin(signals_cond);
    thrum_mutex_lock(&mutex);
    while (!told) {
        MUST(thrum_cond_wait(&cond, &mutex));
    }
    thrum_mutex_unlock(&mutex);
    return read_and_join();
}

static thrum_event event = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);

static void signals_event(void) {
    thrum_event_signal(&event);
}

KERNEL(by_event, "race") {
    begin(signals_event);
    MUST(thrum_event_wait(&event));
    return read_and_join();
}

KERNEL(by_event_with_deadline, "race") {
    begin(signals_event);
    MUST(thrum_event_wait_until(&event, thrum_after(THRUM_S(1))));
    return read_and_join();
}

static thrum_sem sem;

static void posts(void) {
    thrum_sem_post(&sem);
}

KERNEL(by_sem, "race") {
    thrum_sem_init(&sem, 0);
    begin(posts);
    MUST(thrum_sem_wait(&sem));
    return read_and_join();
}

static thrum_barrier barrier;

static void arrives(void) {
    const int last = thrum_barrier_wait(&barrier);
    THRUM_TEST(last >= 0);
}

KERNEL(by_barrier, "race") {
    thrum_barrier_init(&barrier, 2);
    begin(arrives);
    arrives();
    return read_and_join();
}

static thrum_waitgroup group;

static void is_done(void) {
    thrum_waitgroup_done(&group);
}

KERNEL(by_waitgroup, "race") {
    thrum_waitgroup_init(&group, 1);
    begin(is_done);
    MUST(thrum_waitgroup_wait(&group));
    return read_and_join();
}

static thrum_once once;

static int writes_once(void *arg) {
    (void)arg;
    writes();
    return 0;
}

static int reads_once(void *arg) {
    (void)arg;
    MUST(fixed ? thrum_once_run(&once, writes_once, NULL) : writes_once(NULL));
    reads();
    return 0;
}

KERNEL(by_once, "race") {
    thrum_once_init(&once);
    go(reads_once, NULL);
    go(reads_once, NULL);
    join_all();
    return 0;
}

KERNEL(by_settle, "race") {
    begin(says_nothing);
    if (fixed) {
        thrum_test_settle();
    }
    return read_and_join();
}

static void sleeps(void) {
    MUST(thrum_sleep(THRUM_MS(5)));
}

KERNEL(by_sleep_and_join, "race") {
    begin(sleeps);
    sleeps();
    if (fixed) {
        join_all();
        reads();
        return 0;
    }
    return read_and_join();
}
