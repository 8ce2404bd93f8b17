/*
 * races.h: a wake against a cancel, or against a deadline, on each kind of wait. Some fibers wait,
 * each on an object of its own; one thread wakes them, in order, while another cancels them in the
 * same order (or their deadline comes). Each wait has one outcome, and an object that it did not
 * take is still there.
 */
#ifndef RACES_H
#define RACES_H

#include "support/support.h"
#include "support/times.h"

typedef enum race_kind {
    RACE_SEM,
    RACE_EVENT,
    RACE_ANY,
    RACE_GROUP,
    RACE_COND,
    RACE_RECV,
    RACE_SEND,
    RACE_SELECT,
    RACE_TICKET,
    RACE_POOL,
    RACE_JOIN,
    RACE_WRITE, /* only with a deadline: it is no point of cancellation */
    RACE_KINDS
} race_kind;

enum { RACE_BATCH = 32 };

typedef struct race_object {
    struct race *race;
    thrum_sem sem;
    thrum_event events[2];
    thrum_waitgroup group;
    thrum_mutex mutex;
    thrum_cond cond;
    bool ready; /* protected by mutex */
    thrum_chan *chans[2];
    thrum_tickets tickets;
    thrum_ticket ticket[2];
    thrum_pool *pool;
    void *item;
    thrum_handle *target;
    thrum_rwlock lock;
    thrum_handle *victim;
    int result;
} race_object;

typedef struct race {
    rig r;
    race_kind kind;
    bool timed;
    thrum_time deadline;
    unsigned seed;
    atomic_int round;  /* the round that the helper may do */
    atomic_int helped; /* the round that it has done */
    atomic_bool ends;
    long taken, ended; /* how often which outcome came */
    race_object objects[RACE_BATCH];
} race;

static inline int race_target(void *arg) {
    return thrum_sem_wait(&((race_object *)arg)->sem) == 0 ? 5 : 6;
}

static inline void race_setup(race_object *o) {
    const race_kind kind = o->race->kind;
    const long old = 1;
    thrum_sem_init(&o->sem, 0);
    thrum_event_init(&o->events[0], THRUM_EVENT_AUTO, false);
    thrum_event_init(&o->events[1], THRUM_EVENT_AUTO, false);
    thrum_waitgroup_init(&o->group, 1);
    thrum_mutex_init(&o->mutex);
    thrum_cond_init(&o->cond);
    thrum_rwlock_init(&o->lock);
    o->ready = false;
    if (kind == RACE_RECV || kind == RACE_SEND || kind == RACE_SELECT) {
        CHECK_EQ(thrum_chan_create(&o->chans[0], sizeof(long), 1), 0);
        CHECK_EQ(thrum_chan_create(&o->chans[1], sizeof(long), 1), 0);
    }
    if (kind == RACE_SEND) {
        CHECK_EQ(thrum_chan_send(o->chans[0], &old), 0);
    }
    if (kind == RACE_TICKET) {
        thrum_tickets_init(&o->tickets);
        thrum_tickets_take_n(&o->tickets, o->ticket, 2);
    }
    if (kind == RACE_POOL) {
        thrum_pool_config config = THRUM_POOL_CONFIG_INIT;
        config.item_size = 8;
        config.capacity = 1;
        CHECK_EQ(thrum_pool_create(&o->pool, &config), 0);
        CHECK_EQ(thrum_pool_borrow(o->pool, &o->item), 0);
    }
    if (kind == RACE_JOIN) {
        const thrum_attr attr = rig_attr(&o->race->r);
        CHECK_EQ(thrum_spawn_with(&o->target, &attr, race_target, o), 0);
    }
    if (kind == RACE_WRITE) {
        thrum_rwlock_rdlock(&o->lock);
    }
}

static inline int race_cond(race_object *o, thrum_time t) {
    int result = 0;
    thrum_mutex_lock(&o->mutex);
    while (!o->ready && result == 0) {
        result = t == THRUM_FOREVER ? thrum_cond_wait(&o->cond, &o->mutex)
                                    : thrum_cond_wait_until(&o->cond, &o->mutex, t);
    }
    thrum_mutex_unlock(&o->mutex); /* this aborts unless the mutex is ours */
    return result;
}

static inline int race_select(race_object *o, thrum_time t) {
    long got[2] = {0, 0};
    thrum_case cases[] = {THRUM_RECV_CASE(o->chans[0], &got[0]),
                          THRUM_RECV_CASE(o->chans[1], &got[1])};
    int which = thrum_select(cases, 2, t);
    CHECK(which < 0 || (which == 1 && cases[1].status == 0));
    CHECK_EQ(got[1], which < 0 ? 0 : 2);
    return which < 0 ? which : 0;
}

/* Uses forms without a deadline where there are some: they wait in another way. */
static inline int race_wait(race_object *o, thrum_time t) {
    const bool plain = t == THRUM_FOREVER;
    thrum_event *both[] = {&o->events[0], &o->events[1]};
    const long mine = 3;
    long got = 0;
    void *item = NULL;
    int value = 0, result;
    switch (o->race->kind) {
    case RACE_SEM:
        return plain ? thrum_sem_wait(&o->sem) : thrum_sem_wait_until(&o->sem, t);
    case RACE_EVENT:
        return plain ? thrum_event_wait(&o->events[1]) : thrum_event_wait_until(&o->events[1], t);
    case RACE_ANY:
        result = thrum_event_wait_any(both, 2, t);
        return result == 1 ? 0 : result;
    case RACE_GROUP:
        return plain ? thrum_waitgroup_wait(&o->group) : thrum_waitgroup_wait_until(&o->group, t);
    case RACE_COND:
        return race_cond(o, t);
    case RACE_RECV:
        result = plain ? thrum_chan_recv(o->chans[0], &got)
                       : thrum_chan_recv_until(o->chans[0], &got, t);
        CHECK_EQ(got, result == 0 ? 2 : 0);
        return result;
    case RACE_SEND:
        return plain ? thrum_chan_send(o->chans[0], &mine)
                     : thrum_chan_send_until(o->chans[0], &mine, t);
    case RACE_SELECT:
        return race_select(o, t);
    case RACE_TICKET:
        return plain ? thrum_ticket_wait(&o->ticket[1]) : thrum_ticket_wait_until(&o->ticket[1], t);
    case RACE_POOL:
        result =
            plain ? thrum_pool_borrow(o->pool, &item) : thrum_pool_borrow_until(o->pool, &item, t);
        if (result == 0) {
            thrum_pool_give_back(o->pool, item);
        }
        return result;
    case RACE_JOIN:
        result = plain ? thrum_join(o->target, &value) : thrum_join_until(o->target, &value, t);
        CHECK_EQ(value, result == 0 ? 5 : 0);
        return result;
    default:
        result = thrum_rwlock_wrlock_until(&o->lock, t);
        if (result == 0) {
            thrum_rwlock_unlock(&o->lock);
        }
        return result;
    }
}

static inline void race_wake(race_object *o) {
    const long two = 2;
    long got = 0;
    switch (o->race->kind) {
    case RACE_SEM:
    case RACE_JOIN:
        thrum_sem_post(&o->sem);
        break;
    case RACE_EVENT:
    case RACE_ANY:
        thrum_event_signal(&o->events[1]);
        break;
    case RACE_GROUP:
        thrum_waitgroup_done(&o->group);
        break;
    case RACE_COND:
        thrum_mutex_lock(&o->mutex);
        o->ready = true;
        thrum_mutex_unlock(&o->mutex);
        thrum_cond_signal(&o->cond);
        break;
    case RACE_RECV:
        CHECK_EQ(thrum_chan_try_send(o->chans[0], &two), 0);
        break;
    case RACE_SEND:
        CHECK_EQ(thrum_chan_try_recv(o->chans[0], &got), 0);
        CHECK_EQ(got, 1);
        break;
    case RACE_SELECT:
        CHECK_EQ(thrum_chan_try_send(o->chans[1], &two), 0);
        break;
    case RACE_TICKET:
        thrum_ticket_done(&o->ticket[0]);
        break;
    case RACE_POOL:
        thrum_pool_give_back(o->pool, o->item);
        break;
    default:
        thrum_rwlock_unlock(&o->lock);
    }
}

/* An object that was not taken is there, a taken one is not, and no waiter is left in a list. */
static inline void race_check(race_object *o) {
    const bool taken = o->result == 0;
    long got = 0;
    void *item;
    switch (o->race->kind) {
    case RACE_SEM:
        CHECK_EQ(thrum_sem_try_wait(&o->sem), taken ? -EAGAIN : 0);
        break;
    case RACE_EVENT:
    case RACE_ANY:
        CHECK_EQ(thrum_event_test(&o->events[1]), !taken);
        CHECK(!thrum_event_test(&o->events[0]));
        break;
    case RACE_RECV:
        CHECK_EQ(thrum_chan_try_recv(o->chans[0], &got), taken ? -EAGAIN : 0);
        break;
    case RACE_SEND:
        CHECK_EQ(thrum_chan_try_recv(o->chans[0], &got), taken ? 0 : -EAGAIN);
        CHECK_EQ(got, taken ? 3 : 0);
        break;
    case RACE_SELECT:
        CHECK_EQ(thrum_chan_try_recv(o->chans[1], &got), taken ? -EAGAIN : 0);
        break;
    case RACE_TICKET:
        CHECK(thrum_ticket_is_called(&o->ticket[1]));
        thrum_ticket_done(&o->ticket[1]);
        CHECK_EQ(thrum_tickets_destroy(&o->tickets), 0);
        break;
    case RACE_POOL:
        CHECK_EQ(thrum_pool_try_borrow(o->pool, &item), 0);
        thrum_pool_give_back(o->pool, item);
        CHECK_EQ(thrum_pool_destroy(o->pool), 0);
        break;
    case RACE_JOIN:
        if (!taken) {
            CHECK_EQ(thrum_join(o->target, NULL), 0);
        }
        break;
    default:
        break;
    }
    if (o->race->kind == RACE_RECV || o->race->kind == RACE_SEND || o->race->kind == RACE_SELECT) {
        CHECK_EQ(thrum_chan_destroy(o->chans[0]), 0);
        CHECK_EQ(thrum_chan_destroy(o->chans[1]), 0);
    }
    CHECK_EQ(thrum_sem_destroy(&o->sem), 0);
    CHECK_EQ(thrum_event_destroy(&o->events[0]) | thrum_event_destroy(&o->events[1]), 0);
    CHECK_EQ(thrum_waitgroup_destroy(&o->group), 0);
    CHECK_EQ(thrum_mutex_destroy(&o->mutex) | thrum_cond_destroy(&o->cond), 0);
    CHECK_EQ(thrum_rwlock_destroy(&o->lock), 0);
}

/* ---- rounds ---- */

static inline int race_victim(void *arg) {
    race_object *o = arg;
    const thrum_time t = o->race->timed ? o->race->deadline : THRUM_FOREVER;
    const int result = race_wait(o, t);
    CHECK(result == 0 || result == (o->race->timed ? -ETIMEDOUT : -ECANCELED));
    if (result == -ETIMEDOUT) {
        CHECK_PASSED(t);
    }
    o->result = result;
    return 0;
}

/* Wakes all of them, once a round. */
static inline void *race_helper(void *arg) {
    race *x = arg;
    for (int round = 1;; round++) {
        while (atomic_load(&x->round) < round) {
            if (atomic_load(&x->ends)) {
                return NULL;
            }
            sched_yield();
        }
        if (x->timed) {
            await_passed(x->deadline - 2000);
        }
        for (int i = 0; i < RACE_BATCH; i++) {
            race_wake(&x->objects[i]);
        }
        atomic_store(&x->helped, round);
    }
}

static inline void race_round(race *x, int round) {
    const thrum_attr attr = rig_attr(&x->r);
    x->seed = x->seed * 1664525u + 1013904223u;
    const unsigned us = 30 + (x->seed >> 16) % 100; /* not long after the waits begin */
    x->deadline = thrum_after_us(us);
    for (int i = 0; i < RACE_BATCH; i++) {
        race_object *o = &x->objects[i];
        o->race = x;
        race_setup(o);
        CHECK_EQ(thrum_spawn_with(&o->victim, &attr, race_victim, o), 0);
    }
    if ((x->seed >> 8) % 4 != 0) { /* otherwise some have not even begun to wait */
        CHECK(thrum_sched_wait_idle(x->r.sched, x->timed ? x->deadline : THRUM_FOREVER) <= 0);
    }
    atomic_store(&x->round, round);
    for (unsigned spin = (x->seed >> 10) % 64; spin > 0; spin--) {
        sched_yield();
    }
    for (int i = 0; !x->timed && i < RACE_BATCH; i++) {
        CHECK_EQ(thrum_cancel(x->objects[i].victim), 0);
    }
    for (int i = 0; i < RACE_BATCH; i++) {
        CHECK_EQ(thrum_join(x->objects[i].victim, NULL), 0);
    }
    SPIN_UNTIL(atomic_load(&x->helped) == round);
    for (int i = 0; i < RACE_BATCH; i++) {
        x->taken += x->objects[i].result == 0;
        x->ended += x->objects[i].result != 0;
        race_check(&x->objects[i]);
    }
}

/* Runs that many races of a kind. */
static inline void race_run(race_kind kind, bool timed, int races) {
    race *x = calloc(1, sizeof(*x));
    pthread_t helper;
    CHECK(x != NULL);
    x->kind = kind;
    x->timed = timed;
    x->seed = (unsigned)kind * 77 + 1;
    rig_begin(&x->r, 0);
    CHECK_EQ(pthread_create(&helper, NULL, race_helper, x), 0);
    /* In many races both outcomes come sooner or later: otherwise nothing would race. */
    const bool both = races >= 10000;
    for (int round = 1;
         round <= races / RACE_BATCH + 1 || (both && (x->taken == 0 || x->ended == 0)); round++) {
        race_round(x, round);
    }
    atomic_store(&x->ends, true);
    CHECK_EQ(pthread_join(helper, NULL), 0);
    rig_stop(&x->r);
    free(x);
}

#endif
