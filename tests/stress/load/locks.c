/*
 * locks.c: storms on mutexes, conditions and semaphores, by fibers and plain threads together.
 */
/* matrix: policy workers */
#include "support/support.h"

/* ---- counters ---- */

typedef struct counters {
    thrum_mutex mutexes[4];
    long values[4]; /* each protected by its mutex */
    int rounds;
    bool yields;
} counters;

static void count(counters *c, unsigned seed) {
    for (int i = 0; i < c->rounds; i++) {
        const unsigned k = (seed + (unsigned)i) % 4;
        if (i % 3 != 0 || thrum_mutex_try_lock(&c->mutexes[k]) != 0) {
            thrum_mutex_lock(&c->mutexes[k]);
        }
        const long old = c->values[k];
        if (c->yields && i % 8 == 0) {
            thrum_yield(); /* the owner moves to another worker with the mutex */
        }
        c->values[k] = old + 1;
        thrum_mutex_unlock(&c->mutexes[k]);
    }
}

static int count_in_fiber(void *arg) {
    counters *c = arg;
    count(c, (unsigned)(uintptr_t)&c >> 7);
    return 0;
}

static void *count_in_thread(void *seat) {
    count(((crew_seat *)seat)->arg, (unsigned)((crew_seat *)seat)->index);
    return NULL;
}

static void check_counters(int fibers, int threads, int rounds, bool yields) {
    rig r;
    crew others;
    counters c = {.rounds = rounds, .yields = yields};
    long sum = 0;
    for (int i = 0; i < 4; i++) {
        thrum_mutex_init(&c.mutexes[i]);
    }
    rig_begin(&r, 0);
    for (int i = 0; i < fibers; i++) {
        rig_go(&r, count_in_fiber, &c);
    }
    crew_start(&others, threads, count_in_thread, &c);
    crew_join(&others);
    rig_stop(&r);
    for (int i = 0; i < 4; i++) {
        sum += c.values[i];
        CHECK_EQ(thrum_mutex_destroy(&c.mutexes[i]), 0);
    }
    CHECK_EQ(sum, (long)(fibers + threads) * rounds);
}

TEST(fibers_count_under_a_mutex) {
    /* No increment is lost. */
    check_counters(64, 0, SCALED(4000), false);
}

TEST(owners_suspend_with_the_mutex_held) {
    /* No increment is lost when the owner yields in between and goes on elsewhere. */
    check_counters(32, 0, SCALED(3000), true);
}

TEST(fibers_and_threads_count_under_a_mutex) {
    /* No increment is lost between fibers and threads. */
    check_counters(32, 4, SCALED(3000), true);
}

/* ---- bounded queues ---- */

#define SLOTS 4

typedef struct queue {
    thrum_mutex mutex;
    thrum_cond not_full, not_empty;
    int slots[SLOTS];
    int head, count;
    int to_put, to_take;
    long long put_sum, taken_sum;
    bool broadcast;
} queue;

static void wake(queue *q, thrum_cond *cond) {
    if (q->broadcast) {
        thrum_cond_broadcast(cond);
    } else {
        thrum_cond_signal(cond);
    }
}

static void put_all(queue *q) {
    thrum_mutex_lock(&q->mutex);
    while (q->to_put > 0) {
        const int value = q->to_put--;
        q->put_sum += value;
        while (q->count == SLOTS) {
            CHECK_EQ(thrum_cond_wait(&q->not_full, &q->mutex), 0);
        }
        q->slots[(q->head + q->count) % SLOTS] = value;
        q->count++;
        wake(q, &q->not_empty);
        if (value % 64 == 0) {
            thrum_mutex_unlock(&q->mutex);
            thrum_mutex_lock(&q->mutex);
        }
    }
    thrum_mutex_unlock(&q->mutex);
}

static void take_all(queue *q) {
    thrum_mutex_lock(&q->mutex);
    while (q->to_take > 0) {
        q->to_take--;
        while (q->count == 0) {
            CHECK_EQ(thrum_cond_wait(&q->not_empty, &q->mutex), 0);
        }
        q->taken_sum += q->slots[q->head];
        q->head = (q->head + 1) % SLOTS;
        q->count--;
        wake(q, &q->not_full);
    }
    thrum_mutex_unlock(&q->mutex);
}

static int put_in_fiber(void *arg) {
    put_all(arg);
    return 0;
}

static int take_in_fiber(void *arg) {
    take_all(arg);
    return 0;
}

static void *work_in_thread(void *seat) {
    const crew_seat *s = seat;
    if (s->index % 2 == 0) {
        put_all(s->arg);
    } else {
        take_all(s->arg);
    }
    return NULL;
}

static void check_queue(int fibers, int threads, bool broadcast) {
    rig r;
    crew c;
    const int items = SCALED(60000);
    queue q = {.mutex = THRUM_MUTEX_INIT,
               .not_full = THRUM_COND_INIT,
               .not_empty = THRUM_COND_INIT,
               .to_put = items,
               .to_take = items,
               .broadcast = broadcast};
    rig_begin(&r, 0);
    for (int i = 0; i < fibers; i++) {
        rig_go(&r, take_in_fiber, &q);
        rig_go(&r, put_in_fiber, &q);
    }
    crew_start(&c, threads, work_in_thread, &q);
    crew_join(&c);
    rig_stop(&r);
    CHECK_EQ(q.count, 0);
    CHECK_EQ(q.put_sum, (long long)items * (items + 1) / 2);
    CHECK_EQ(q.taken_sum, q.put_sum);
    CHECK_EQ(thrum_cond_destroy(&q.not_full), 0);
    CHECK_EQ(thrum_cond_destroy(&q.not_empty), 0);
    CHECK_EQ(thrum_mutex_destroy(&q.mutex), 0);
}

TEST(bounded_queue_with_signals) {
    /* Each producer wakes one consumer, and each consumer one producer. */
    check_queue(8, 0, false);
}

TEST(bounded_queue_with_broadcasts) {
    /* All are woken, and test the queue again. */
    check_queue(8, 0, true);
}

TEST(bounded_queue_between_fibers_and_threads) {
    /* Fibers and threads wait on the same conditions. */
    check_queue(6, 4, false);
}

/* ---- semaphores ---- */

typedef struct room {
    thrum_sem places;
    atomic_int inside, most, visits;
    int rounds, size;
} room;

static void visit(room *m) {
    for (int i = 0; i < m->rounds; i++) {
        if (i % 4 != 0 || thrum_sem_try_wait(&m->places) != 0) {
            CHECK_EQ(thrum_sem_wait(&m->places), 0);
        }
        CHECK(atomic_fetch_add(&m->inside, 1) < m->size);
        if (i % 16 == 0) {
            thrum_yield();
        }
        atomic_fetch_sub(&m->inside, 1);
        atomic_fetch_add(&m->visits, 1);
        thrum_sem_post(&m->places);
    }
}

static int visit_in_fiber(void *arg) {
    visit(arg);
    return 0;
}

static void *visit_in_thread(void *seat) {
    visit(((crew_seat *)seat)->arg);
    return NULL;
}

TEST(room_with_three_places) {
    /* There are never more inside than the semaphore allows, and all get in. */
    rig r;
    crew c;
    room m = {.places = THRUM_SEM_INIT(3), .size = 3, .rounds = SCALED(3000)};
    rig_begin(&r, 0);
    for (int i = 0; i < 40; i++) {
        rig_go(&r, visit_in_fiber, &m);
    }
    crew_start(&c, 3, visit_in_thread, &m);
    crew_join(&c);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&m.visits), 43 * m.rounds);
    CHECK_EQ(thrum_sem_destroy(&m.places), 0);
}

/* ---- everything at once ---- */

typedef struct mix {
    thrum_mutex mutex;
    thrum_cond cond;
    thrum_sem sem;
    thrum_event event;
    thrum_waitgroup group;
    long value; /* protected by mutex */
    int rounds;
} mix;

static int add_one(void *arg) {
    mix *m = arg;
    thrum_mutex_lock(&m->mutex);
    m->value++;
    thrum_cond_signal(&m->cond);
    thrum_mutex_unlock(&m->mutex);
    thrum_waitgroup_done(&m->group);
    return 0;
}

static void mix_steps(mix *m, unsigned random, bool inside) {
    for (int i = 0; i < m->rounds; i++) {
        random = random * 1103515245u + 12345u;
        switch ((random >> 16) % 6) {
        case 0:
            thrum_mutex_lock(&m->mutex);
            m->value++;
            thrum_mutex_unlock(&m->mutex);
            break;
        case 1:
            thrum_sem_post(&m->sem);
            CHECK_EQ(thrum_sem_wait(&m->sem), 0);
            break;
        case 2:
            thrum_event_signal(&m->event);
            break;
        case 3:
            thrum_mutex_lock(&m->mutex);
            thrum_cond_broadcast(&m->cond);
            thrum_mutex_unlock(&m->mutex);
            thrum_yield();
            break;
        case 4:
            if (inside) {
                thrum_waitgroup_add(&m->group, 1);
                CHECK_EQ(thrum_go(add_one, m), 0);
            }
            break;
        default:
            if (thrum_event_test(&m->event)) {
                thrum_event_signal(&m->event);
            }
            break;
        }
    }
}

static int mix_fiber(void *arg) {
    mix *m = arg;
    mix_steps(m, (unsigned)(uintptr_t)&m, true);
    thrum_waitgroup_done(&m->group);
    return 0;
}

static void *mix_thread(void *seat) {
    const crew_seat *s = seat;
    mix *m = s->arg;
    mix_steps(m, 99u + (unsigned)s->index, false);
    thrum_waitgroup_done(&m->group);
    return NULL;
}

TEST(every_primitive_at_once) {
    /* Fibers and threads take random steps; all of them come to the end. */
    rig r;
    crew c;
    mix m = {.mutex = THRUM_MUTEX_INIT,
             .cond = THRUM_COND_INIT,
             .sem = THRUM_SEM_INIT(1),
             .event = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false),
             .group = THRUM_WAITGROUP_INIT(19),
             .rounds = SCALED(4000)};
    rig_begin(&r, 0);
    for (int i = 0; i < 16; i++) {
        rig_go(&r, mix_fiber, &m);
    }
    crew_start(&c, 3, mix_thread, &m);
    CHECK_EQ(thrum_waitgroup_wait(&m.group), 0);
    crew_join(&c);
    rig_stop(&r);
}
