/*
 * everything.h: one program that uses everything: tasks and fibers of several stack sizes, every
 * primitive, channels, select, scopes, timers, cancels, pools, graphs, forks, blocking calls,
 * values under keys, a bound thread, stop. A call that may fail for want of memory or threads fails
 * with the code that its header names, and operations that were not begun are not waited for;
 * everything else succeeds regardless of refusals.
 */
#ifndef EVERYTHING_H
#define EVERYTHING_H

#include "support/support.h"
#include "support/times.h"

typedef struct everything {
    rig *r;
    int refused; /* calls that failed, as they may */
    thrum_sem sem;
    thrum_mutex mutex;
    thrum_cond cond;
    thrum_event event;
    thrum_rwlock lock;
    thrum_barrier barrier;
    thrum_waitgroup group;
    thrum_tickets tickets;
    thrum_once once;
    thrum_key key;
    bool flag; /* protected by the mutex */
    atomic_int ran;
} everything;

/* Returns whether it succeeded; otherwise it was refused with `code`. */
static inline bool granted(everything *e, int result, int code) {
    if (result >= 0) {
        return true;
    }
    CHECK_EQ(result, code);
    e->refused++; /* changed by the program's own fiber, or by main while that does not run */
    return false;
}

static inline int every_ran(void *arg) {
    everything *e = arg;
    atomic_fetch_add(&e->ran, 1);
    return 7;
}

static inline int every_once(void *arg) {
    (void)arg;
    thrum_yield();
    return 0;
}

/* Waits at one thing of each kind, in turn; there is a fiber for each turn. */
static inline int every_waits(void *arg) {
    everything *e = arg;
    thrum_ticket ticket;
    const int code = thrum_key_set(e->key, e);
    CHECK(code == 0 || code == -ENOMEM);
    CHECK_EQ(thrum_sem_wait(&e->sem), 0);
    thrum_mutex_lock(&e->mutex);
    while (!e->flag) {
        CHECK_EQ(thrum_cond_wait(&e->cond, &e->mutex), 0);
    }
    thrum_mutex_unlock(&e->mutex);
    CHECK_EQ(thrum_event_wait(&e->event), 0);
    CHECK_EQ(thrum_once_run(&e->once, every_once, e), 0);
    thrum_rwlock_rdlock(&e->lock);
    thrum_yield();
    thrum_rwlock_unlock(&e->lock);
    thrum_rwlock_wrlock(&e->lock);
    thrum_rwlock_unlock(&e->lock);
    thrum_tickets_take(&e->tickets, &ticket);
    CHECK_EQ(thrum_ticket_wait(&ticket), 0);
    thrum_ticket_done(&ticket);
    const int last = thrum_barrier_wait_until(&e->barrier, soon());
    CHECK(last == 0 || last == 1 || last == -ETIMEDOUT);
    nap();
    thrum_waitgroup_done(&e->group);
    return 0;
}

static inline void every_fiber(everything *e) {
    for (int i = 0; i < 12; i++) {
        thrum_attr attr = THRUM_ATTR_INIT;
        attr.name = "every";
        attr.stack_size = i % 3 == 0 ? 512u << 10 : 0;
        thrum_waitgroup_add(&e->group, 1);
        if (!granted(e, thrum_go_with(&attr, every_waits, e), -ENOMEM)) {
            thrum_waitgroup_done(&e->group);
        }
    }
    thrum_yield();
    for (int i = 0; i < 12; i++) {
        thrum_sem_post(&e->sem);
    }
    thrum_mutex_lock(&e->mutex);
    e->flag = true;
    thrum_cond_broadcast(&e->cond);
    thrum_mutex_unlock(&e->mutex);
    thrum_event_signal(&e->event);
    CHECK_EQ(thrum_waitgroup_wait(&e->group), 0);
}

static inline int every_receives(void *arg) {
    thrum_chan **chans = arg;
    long got = 0, sum = 0;
    for (int which = 0; which != -EPIPE;) {
        thrum_case cases[] = {THRUM_RECV_CASE(chans[0], &got), THRUM_RECV_CASE(chans[1], &got)};
        which = thrum_select(cases, 2, THRUM_FOREVER);
        CHECK(which == 0 || which == 1);
        if (cases[which].status == 0) {
            sum += got;
        } else {
            which = -EPIPE;
        }
    }
    return (int)sum;
}

static inline void every_chan(everything *e) {
    thrum_chan *chans[2];
    thrum_handle *handle;
    long sent = 0;
    int sum = 0;
    if (!granted(e, thrum_chan_create(&chans[0], sizeof(long), 0), -ENOMEM)) {
        return;
    }
    if (!granted(e, thrum_chan_create(&chans[1], sizeof(long), THRUM_UNBOUNDED), -ENOMEM)) {
        CHECK_EQ(thrum_chan_destroy(chans[0]), 0);
        return;
    }
    const bool runs = granted(e, thrum_spawn(&handle, every_receives, chans), -ENOMEM);
    for (long i = 1; i <= 100; i++) {
        const bool here = i % 3 == 0 && runs;
        if (here) {
            CHECK_EQ(thrum_chan_send(chans[0], &i), 0);
        }
        if (here || granted(e, thrum_chan_send(chans[1], &i), -ENOMEM)) {
            sent += i;
        }
    }
    while (runs && thrum_chan_len(chans[1]) > 0) {
        thrum_yield();
    }
    CHECK_EQ(thrum_chan_close(chans[0]), 0);
    if (runs) {
        CHECK_EQ(thrum_join(handle, &sum), 0);
        CHECK_EQ(sum, sent);
    }
    CHECK_EQ(thrum_chan_destroy(chans[0]), 0);
    CHECK_EQ(thrum_chan_destroy(chans[1]), 0);
}

static inline int every_child(void *arg) {
    CHECK_EQ(thrum_sem_wait(arg), -ECANCELED);
    return 0;
}

static inline void every_scope(everything *e) {
    thrum_scope scope;
    thrum_sem never = THRUM_SEM_INIT(0);
    bool bad = false;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    for (int i = 0; i < 20; i++) {
        bad |= !granted(e, thrum_scope_go(&scope, every_child, &never), -ENOMEM);
    }
    thrum_scope_cancel(&scope);
    CHECK_EQ(thrum_scope_join(&scope), bad ? -ENOMEM : -ECANCELED);
    CHECK_EQ(thrum_scope_open(&scope, soon()), 0);
    bad = !granted(e, thrum_scope_go(&scope, every_child, &never), -ENOMEM);
    CHECK_EQ(thrum_scope_join(&scope), bad ? -ENOMEM : -ETIMEDOUT);
}

static inline void every_task_runs(thrum_task *self, void *arg) {
    (void)self;
    thrum_waitgroup_done(&((everything *)arg)->group);
}

static inline void every_timer(everything *e) {
    thrum_task tasks[40];
    for (int i = 0; i < 40; i++) {
        thrum_task_init(&tasks[i], every_task_runs, e);
        thrum_waitgroup_add(&e->group, 1);
        if (i % 4 == 3) {
            CHECK_EQ(thrum_task_post_wait(e->r->sched, &tasks[i]), 0);
        } else {
            CHECK_EQ(thrum_task_post_after(e->r->sched, &tasks[i], i * 2000), 0);
        }
    }
    for (int i = 3; i < 40; i += 4) {
        thrum_task_wakeup(&tasks[i]);
    }
    CHECK_EQ(thrum_waitgroup_wait(&e->group), 0);
}

static inline void every_pool(everything *e) {
    for (size_t capacity = 0; capacity < 5; capacity += 4) {
        thrum_pool_config config = THRUM_POOL_CONFIG_INIT;
        thrum_pool *pool;
        void *items[3];
        config.item_size = 100;
        config.capacity = capacity;
        config.ctx = e->r;
        config.alloc = rig_alloc;
        config.free = rig_free;
        if (!granted(e, thrum_pool_create(&pool, &config), -ENOMEM)) {
            continue;
        }
        if (granted(e, thrum_pool_borrow_n(pool, items, 3), -ENOMEM)) {
            for (int i = 0; i < 3; i++) {
                thrum_pool_give_back(pool, items[i]);
            }
        }
        CHECK_EQ(thrum_pool_destroy(pool), 0);
    }
}

static inline void every_bcast(everything *e) {
    thrum_bcast *bcast;
    thrum_bcast_receiver receiver;
    int value = 5;
    if (!granted(e, thrum_bcast_create(&bcast, sizeof(int), 4), -ENOMEM)) {
        return;
    }
    thrum_bcast_subscribe(bcast, &receiver);
    CHECK_EQ(thrum_bcast_send(bcast, &value), 0);
    CHECK_EQ(thrum_bcast_recv(&receiver, &value), 0);
    CHECK_EQ(thrum_bcast_destroy(bcast), 0);
}

static inline int every_node(void *arg) {
    atomic_fetch_add((atomic_int *)arg, 1);
    thrum_yield();
    return 0;
}

static inline void every_dag(everything *e) {
    thrum_dag *dag;
    atomic_int ran = 0;
    int nodes = 0;
    if (!granted(e, thrum_dag_create(&dag), -ENOMEM)) {
        return;
    }
    for (int i = 0; i < 20; i++) {
        nodes += granted(e, thrum_dag_node(dag, every_node, &ran), -ENOMEM);
        if (nodes > 2) {
            (void)granted(e, thrum_dag_edge(dag, nodes - 3, nodes - 1), -ENOMEM);
        }
    }
    const bool done = granted(e, thrum_dag_run(dag), -ENOMEM);
    CHECK_EQ(atomic_load(&ran), done ? nodes : 0);
    CHECK_EQ(thrum_dag_destroy(dag), 0);
}

static inline int every_forks(void *arg) {
    thrum_fork left;
    const intptr_t depth = (intptr_t)arg;
    if (depth == 0) {
        return 1;
    }
    thrum_fork_start(&left, every_forks, (void *)(depth - 1));
    const int right = every_forks((void *)(depth - 1));
    thrum_yield();
    return right + thrum_fork_join(&left);
}

static inline void every_call(everything *e) {
    for (int i = 0; i < 3; i++) {
        int result = 0;
        const int code = thrum_blocking(every_ran, e, &result);
        CHECK(code == 0 || code == -EAGAIN || code == -ENOMEM);
        if (granted(e, code, code)) {
            CHECK_EQ(result, 7);
        }
    }
}

static inline int every_victim(void *arg) {
    CHECK_EQ(thrum_sem_wait(arg), -ECANCELED);
    return 3;
}

static inline void every_cancel(everything *e) {
    thrum_sem never = THRUM_SEM_INIT(0);
    for (int i = 0; i < 5; i++) {
        thrum_handle *handle;
        int result = 0;
        if (!granted(e, thrum_spawn(&handle, every_victim, &never), -ENOMEM)) {
            continue;
        }
        if (i % 2 == 0) {
            thrum_yield();
        }
        CHECK_EQ(thrum_cancel(handle), 0);
        CHECK_EQ(thrum_join(handle, &result), 0);
        CHECK_EQ(result, 3);
    }
}

static inline int every_main(void *arg) {
    everything *e = arg;
    every_fiber(e);
    every_chan(e);
    every_scope(e);
    every_timer(e);
    every_pool(e);
    every_bcast(e);
    every_dag(e);
    CHECK_EQ(every_forks((void *)(intptr_t)6), 64);
    every_call(e);
    every_cancel(e);
    return 0;
}

/* Binds a thread, on the caller's own. */
static inline void every_bound(everything *e) {
    const thrum_attr attr = {.size = sizeof(attr), .flags = THRUM_PINNED, .worker = -1};
    thrum_handle *handle;
    int result = 0;
    if (!granted(e, thrum_sched_bind(e->r->sched), -ENOMEM)) {
        return;
    }
    if (granted(e, thrum_spawn_with(&handle, &attr, every_ran, e), -ENOMEM)) {
        CHECK_EQ(thrum_join(handle, &result), 0);
        CHECK_EQ(result, 7);
    }
    CHECK_EQ(thrum_sched_unbind(), 0);
}

/*
 * Does all of it once, on a plain thread, in a running scheduler. Returns how many calls were
 * refused.
 */
static inline int everything_in(rig *r) {
    everything *e = calloc(1, sizeof(*e));
    thrum_handle *handle;
    CHECK(e != NULL);
    e->r = r;
    thrum_sem_init(&e->sem, 0);
    thrum_mutex_init(&e->mutex);
    thrum_cond_init(&e->cond);
    thrum_event_init(&e->event, THRUM_EVENT_MANUAL, false);
    thrum_rwlock_init(&e->lock);
    thrum_barrier_init(&e->barrier, 3);
    thrum_waitgroup_init(&e->group, 0);
    thrum_tickets_init(&e->tickets);
    thrum_once_init(&e->once);
    CHECK_EQ(thrum_key_create(&e->key, NULL), 0);
    const thrum_attr attr = rig_attr(r);
    if (granted(e, thrum_spawn_with(&handle, &attr, every_main, e), -ENOMEM)) {
        CHECK_EQ(thrum_join(handle, NULL), 0);
    }
    every_bound(e);
    rig_wait_done(r);
    CHECK_EQ(thrum_sem_destroy(&e->sem) | thrum_mutex_destroy(&e->mutex), 0);
    CHECK_EQ(thrum_cond_destroy(&e->cond) | thrum_event_destroy(&e->event), 0);
    CHECK_EQ(thrum_rwlock_destroy(&e->lock) | thrum_barrier_destroy(&e->barrier), 0);
    CHECK_EQ(thrum_waitgroup_destroy(&e->group) | thrum_tickets_destroy(&e->tickets), 0);
    CHECK_EQ(thrum_once_destroy(&e->once), 0);
    CHECK_EQ(thrum_key_delete(e->key), 0);
    const int refused = e->refused;
    free(e);
    return refused;
}

#endif
