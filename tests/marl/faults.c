/*
 * faults.c: what was seen to be wrong in marl, and must not be here.
 * unit/ready/found_elsewhere.c goes deeper into the first three, over the policies.
 */
/* matrix: bound */
#include "support/sync/bound.h"

#include "support/sync/actors.h"
#include "support/times.h"

typedef struct stand {
    rig r; /* first: the allocator's ctx */
    thrum_sem sem;
    thrum_event event;
    thrum_event other;
    thrum_mutex mutex;
    thrum_cond cond;
    thrum_rwlock lock;
    thrum_pool *pool;
    thrum_chan *chan;
    atomic_int passed, late, next;
    int tokens; /* under the mutex */
} stand;

static stand *stand_new(void) {
    stand *s = calloc(1, sizeof(*s));
    CHECK(s != NULL);
    bound_begin(&s->r);
    thrum_event_init(&s->event, THRUM_EVENT_AUTO, false);
    thrum_event_init(&s->other, THRUM_EVENT_AUTO, false);
    thrum_sem_init(&s->sem, 0);
    thrum_mutex_init(&s->mutex);
    thrum_cond_init(&s->cond);
    thrum_rwlock_init(&s->lock);
    return s;
}

static void stand_end(stand *s) {
    bound_end(&s->r);
    free(s);
}

/* ---- two quick notifies that hit the same waiter ---- */

static int takes_a_unit(void *arg) {
    stand *s = arg;
    CHECK_EQ(thrum_sem_wait(&s->sem), 0);
    atomic_fetch_add(&s->passed, 1);
    return 0;
}

static int takes_a_signal(void *arg) {
    stand *s = arg;
    CHECK_EQ(thrum_event_wait(&s->event), 0);
    atomic_fetch_add(&s->passed, 1);
    return 0;
}

static int takes_a_cond(void *arg) {
    stand *s = arg;
    thrum_mutex_lock(&s->mutex);
    CHECK_EQ(thrum_cond_wait(&s->cond, &s->mutex), 0);
    thrum_mutex_unlock(&s->mutex);
    atomic_fetch_add(&s->passed, 1);
    return 0;
}

TEST(two_quick_notifies_wake_two) {
    /* The second notify comes before the first waiter has run: it wakes the other one. */
    static const thrum_fn takers[] = {takes_a_unit, takes_a_signal, takes_a_cond};
    for (int kind = 0; kind < 3; kind++) {
        for (int round = 0; round < 20; round++) {
            stand *s = stand_new();
            for (int i = 0; i < 2; i++) {
                rig_go(&s->r, takers[kind], s);
            }
            bound_settle(&s->r);
            for (int i = 0; i < 2; i++) {
                if (kind == 0) {
                    thrum_sem_post(&s->sem);
                } else if (kind == 1) {
                    thrum_event_signal(&s->event);
                } else {
                    thrum_cond_signal(&s->cond);
                }
            }
            rig_wait_done(&s->r);
            CHECK_EQ(atomic_load(&s->passed), 2);
            stand_end(s);
        }
    }
}

/* ---- a timed wait that is late though it took the signal ---- */

static int takes_in_time_or_not(void *arg) {
    stand *s = arg;
    const int spread = atomic_fetch_add(&s->next, 1) % 200; /* round about as long as a nap */
    const int code = thrum_event_wait_until(&s->event, thrum_after_us(spread));
    CHECK(code == 0 || code == -ETIMEDOUT);
    atomic_fetch_add(code ? &s->late : &s->passed, 1);
    return 0;
}

TEST(a_late_waiter_has_not_taken_the_signal) {
    /* A signal comes just when a wait gives up: the wait has taken it, or it is still there. */
    stand *s = stand_new();
    const int n = SCALED(300);
    for (int i = 0; i < n; i++) {
        const int before = atomic_load(&s->passed);
        const thrum_attr attr = rig_attr(&s->r);
        thrum_handle *handle;
        CHECK_EQ(thrum_spawn_with(&handle, &attr, takes_in_time_or_not, s), 0);
        nap();
        thrum_event_signal(&s->event);
        CHECK_EQ(thrum_join(handle, NULL), 0);
        const int taken = atomic_load(&s->passed) - before;
        CHECK_EQ(thrum_event_test(&s->event), taken == 0);
    }
    CHECK_EQ(atomic_load(&s->passed) + atomic_load(&s->late), n);
    stand_end(s);
}

/* ---- a dependency that each wait for any leaks ---- */

static int waits_for_any_again_and_again(void *arg) {
    stand *s = arg;
    thrum_event *const both[] = {&s->event, &s->other};
    for (int i = 0; i < 1000; i++) {
        thrum_event_signal(&s->other);
        CHECK_EQ(thrum_event_wait_any(both, 2, THRUM_FOREVER), 1);
        CHECK_EQ(thrum_event_wait_any(both, 2, past()), -ETIMEDOUT);
        CHECK_EQ(EVENT_WAITING(&s->event), 0);
        CHECK_EQ(EVENT_WAITING(&s->other), 0);
    }
    return 0;
}

static int signals_the_other(void *arg) {
    stand *s = arg;
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(thrum_sem_wait(&s->sem), 0);
        thrum_event_signal(&s->other);
    }
    return 0;
}

TEST(waiting_for_any_leaves_nothing_behind) {
    /* Neither memory nor a waiter is left at an event that was not signaled, nor by real waits. */
    stand *s = stand_new();
    thrum_event *const both[] = {&s->event, &s->other};
    rig_go(&s->r, signals_the_other, s);
    bound_settle(&s->r);
    const long live = atomic_load(&s->r.live);
    const long calls = atomic_load(&s->r.calls);
    CHECK_EQ(waits_for_any_again_and_again(s), 0);
    for (int i = 0; i < 100; i++) {
        thrum_sem_post(&s->sem);
        CHECK_EQ(thrum_event_wait_any(both, 2, THRUM_FOREVER), 1);
        CHECK_EQ(EVENT_WAITING(&s->event), 0);
    }
    CHECK_EQ(atomic_load(&s->r.calls), calls);
    CHECK_EQ(atomic_load(&s->r.live), live);
    CHECK_EQ(rig_run(&s->r, waits_for_any_again_and_again, s), 0);
    CHECK_EQ(thrum_event_destroy(&s->event), 0);
    CHECK_EQ(thrum_event_destroy(&s->other), 0);
    stand_end(s);
}

/* ---- borrowing several one by one into a deadlock ---- */

static int borrows_most(void *arg) {
    stand *s = arg;
    void *items[7];
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(thrum_pool_borrow_n(s->pool, items, 7), 0);
        thrum_yield();
        for (int k = 0; k < 7; k++) {
            thrum_pool_give_back(s->pool, items[k]);
            if (k % 2 == 0) {
                thrum_yield(); /* a part of what others need is free */
            }
        }
    }
    return 0;
}

TEST(borrowers_of_several_never_wait_for_each_other) {
    /* Twenty tasks and the thread need seven of ten each, and all get them. */
    stand *s = stand_new();
    thrum_pool_config config = THRUM_POOL_CONFIG_INIT;
    config.item_size = 8;
    config.capacity = 10;
    CHECK_EQ(thrum_pool_create(&s->pool, &config), 0);
    for (int i = 0; i < 20; i++) {
        rig_go(&s->r, borrows_most, s);
    }
    CHECK_EQ(borrows_most(s), 0);
    rig_wait_done(&s->r);
    CHECK_EQ(thrum_pool_destroy(s->pool), 0);
    stand_end(s);
}

/* ---- a blocking call that holds its worker ---- */

static int blocks_its_thread(void *arg) {
    stand *s = arg;
    CHECK(thrum_sched_current() == NULL);
    return thrum_sem_wait(&s->sem);
}

static int calls(void *arg) {
    int result = 1;
    CHECK_EQ(thrum_blocking(blocks_its_thread, arg, &result), 0);
    atomic_fetch_add(&((stand *)arg)->passed, 1);
    return result;
}

static int lets_them_go(void *arg) {
    stand *s = arg;
    for (int i = 0; i < 70; i++) {
        thrum_sem_post(&s->sem);
    }
    return 0;
}

TEST(a_blocking_call_holds_no_worker) {
    /* More calls than workers wait for a task that comes behind them; so does one of the thread. */
    stand *s = stand_new();
    for (int i = 0; i < 70; i++) {
        rig_go(&s->r, calls, s);
    }
    rig_go(&s->r, lets_them_go, s);
    rig_wait_done(&s->r);
    CHECK_EQ(atomic_load(&s->passed), 70);
    if (bound_cell()) {
        rig_go(&s->r, lets_them_go, s);
        CHECK_EQ(calls(s), 0);
    }
    stand_end(s);
}

/* ---- waiters that are served last come, first served ---- */

enum { QUEUE = 20 };

typedef struct line {
    stand *s;
    order log;
    thrum_sem seen; /* one a log entry */
    int kind, next;
} line;

typedef struct place {
    line *l;
    int number;
} place;

static void wait_at(line *l, int number) {
    stand *s = l->s;
    void *item = NULL;
    int got;
    switch (l->kind) {
    case 0:
        CHECK_EQ(thrum_sem_wait(&s->sem), 0);
        break;
    case 1:
        CHECK_EQ(thrum_event_wait(&s->event), 0);
        break;
    case 2:
        thrum_mutex_lock(&s->mutex);
        CHECK_EQ(thrum_cond_wait(&s->cond, &s->mutex), 0);
        thrum_mutex_unlock(&s->mutex);
        break;
    case 3:
        thrum_rwlock_wrlock(&s->lock);
        break;
    case 4:
        CHECK_EQ(thrum_pool_borrow(s->pool, &item), 0);
        break;
    case 5:
        CHECK_EQ(thrum_chan_recv(s->chan, &got), 0);
        CHECK_EQ(got, number);
        break;
    default:
        thrum_mutex_lock(&s->mutex);
        break;
    }
    order_add(&l->log, number);
    thrum_sem_post(&l->seen);
    if (l->kind == 3) {
        thrum_rwlock_unlock(&s->lock); /* the next one gets its turn */
    } else if (l->kind == 4) {
        thrum_pool_give_back(s->pool, item);
    } else if (l->kind > 5) {
        thrum_mutex_unlock(&s->mutex);
    }
}

static int stands_in_line(void *arg) {
    place *p = arg;
    wait_at(p->l, p->number);
    return 0;
}

static void serve(line *l, int number) {
    stand *s = l->s;
    switch (l->kind) {
    case 0:
        thrum_sem_post(&s->sem);
        break;
    case 1:
        thrum_event_signal(&s->event);
        break;
    case 2:
        thrum_cond_signal(&s->cond);
        break;
    case 5:
        CHECK_EQ(thrum_chan_send(s->chan, &number), 0);
        break;
    default:
        break;
    }
}

TEST(the_longest_waiter_is_served_first) {
    /* Semaphore, event, cond, writers, pool, channel, mutex serve in the order of arrival. */
    for (int kind = 0; kind < 7; kind++) {
        static line l;
        place places[QUEUE];
        thrum_pool_config config = THRUM_POOL_CONFIG_INIT;
        void *item = NULL;
        l = (line){.s = stand_new(), .seen = THRUM_SEM_INIT(0), .kind = kind};
        stand *s = l.s;
        config.item_size = 8;
        config.capacity = 1;
        CHECK_EQ(thrum_pool_create(&s->pool, &config), 0);
        CHECK_EQ(thrum_pool_borrow(s->pool, &item), 0);
        CHECK_EQ(thrum_chan_create(&s->chan, sizeof(int), 0), 0);
        thrum_rwlock_wrlock(&s->lock);
        if (kind > 5) {
            thrum_mutex_lock(&s->mutex);
        }
        for (int i = 0; i < QUEUE; i++) {
            places[i] = (place){&l, i};
            rig_go(&s->r, stands_in_line, &places[i]);
            bound_settle(&s->r);
        }
        thrum_rwlock_unlock(&s->lock);
        thrum_pool_give_back(s->pool, item);
        if (kind > 5) {
            thrum_mutex_unlock(&s->mutex);
        }
        for (int i = 0; i < QUEUE; i++) {
            serve(&l, i);
            CHECK_EQ(thrum_sem_wait(&l.seen), 0);
        }
        rig_wait_done(&s->r);
        order_check_counts_up(&l.log, QUEUE);
        CHECK_EQ(thrum_pool_destroy(s->pool), 0);
        CHECK_EQ(thrum_chan_destroy(s->chan), 0);
        stand_end(s);
    }
}
