/*
 * waits.c: every primitive against every other; cancels and deadlines against wakes; objects
 * freed right after the wait.
 */
#include "storm.h"

/* ---- every primitive, used by all ---- */

enum { ACTORS = 16, STEPS = SLOWNESS > 3 ? 10 : 40, PLACES = 3 };

typedef struct set {
    thrum_mutex mutex;
    thrum_cond cond;
    thrum_rwlock lock;
    thrum_sem sem;
    thrum_event events[2];
    thrum_barrier barrier;
    thrum_tickets tickets;
    thrum_pool *pool;
    thrum_bcast *bcast;
    long counted, value, twin, turns;
    atomic_int inside, borrowed, passed, lasts;
    atomic_long counts;
} set;

typedef struct actor {
    set *s;
    uint32_t seed;
} actor;

static bool served(int result) {
    REQUIRE(result == 0 || result == -ETIMEDOUT);
    return result == 0;
}

static thrum_time soon(actor *a) {
    return thrum_after_us(storm_random(&a->seed) % 60);
}

static void maybe_yield(actor *a) {
    if (storm_random(&a->seed) % 2 == 0) {
        thrum_yield();
    }
}

static void use_mutex(actor *a) {
    set *s = a->s;
    thrum_mutex_lock(&s->mutex);
    const long old = s->counted++;
    maybe_yield(a);
    REQUIRE_EQ(s->counted, old + 1);
    atomic_fetch_add(&s->counts, 1);
    thrum_cond_signal(&s->cond);
    if (storm_random(&a->seed) % 4 == 0) {
        (void)served(thrum_cond_wait_until(&s->cond, &s->mutex, soon(a)));
    }
    thrum_mutex_unlock(&s->mutex);
}

static void use_rwlock(actor *a) {
    set *s = a->s;
    if (storm_random(&a->seed) % 3 == 0) {
        if (served(thrum_rwlock_wrlock_until(&s->lock, soon(a)))) {
            s->value++;
            maybe_yield(a);
            s->twin++;
            thrum_rwlock_unlock(&s->lock);
        }
    } else {
        thrum_rwlock_rdlock(&s->lock);
        REQUIRE_EQ(s->value, s->twin);
        maybe_yield(a);
        REQUIRE_EQ(s->value, s->twin);
        thrum_rwlock_unlock(&s->lock);
    }
}

static void use_sem(actor *a) {
    set *s = a->s;
    if (served(thrum_sem_wait_until(&s->sem, soon(a)))) {
        REQUIRE(atomic_fetch_add(&s->inside, 1) < PLACES);
        maybe_yield(a);
        atomic_fetch_sub(&s->inside, 1);
        thrum_sem_post(&s->sem);
    }
}

static void use_events(actor *a) {
    set *s = a->s;
    thrum_event *both[] = {&s->events[0], &s->events[1]};
    thrum_event_signal(&s->events[storm_random(&a->seed) % 2]);
    const int which = thrum_event_wait_any(both, 2, soon(a));
    REQUIRE(which == 0 || which == 1 || which == -ETIMEDOUT);
    if (which == 1) {
        thrum_event_clear(&s->events[1]);
    }
}

static void use_barrier(actor *a) {
    set *s = a->s;
    const int result = thrum_barrier_wait_until(&s->barrier, soon(a));
    if (result == 1) {
        atomic_fetch_add(&s->lasts, 1);
    }
    if (result == 1 || served(result)) {
        atomic_fetch_add(&s->passed, 1);
    }
}

static void use_tickets(actor *a) {
    thrum_ticket t[2];
    thrum_tickets_take_n(&a->s->tickets, t, 2);
    REQUIRE_EQ(thrum_ticket_wait_until(&t[1], soon(a)), -ETIMEDOUT);
    REQUIRE_EQ(thrum_ticket_wait(&t[0]), 0);
    a->s->turns++;
    thrum_ticket_done(&t[0]);
    thrum_ticket_done(&t[1]);
}

static void use_pool(actor *a) {
    set *s = a->s;
    void *items[PLACES];
    const int n = 1 + (int)(storm_random(&a->seed) % PLACES);
    if (!served(thrum_pool_borrow_n_until(s->pool, items, (size_t)n, soon(a)))) {
        return;
    }
    REQUIRE(atomic_fetch_add(&s->borrowed, n) + n <= PLACES);
    for (int i = 0; i < n; i++) {
        memset(items[i], i, 24);
    }
    maybe_yield(a);
    atomic_fetch_sub(&s->borrowed, n);
    for (int i = 0; i < n; i++) {
        thrum_pool_give_back(s->pool, items[i]);
    }
}

static void use_bcast(actor *a) {
    thrum_bcast_receiver receiver;
    uint32_t pair[2];
    thrum_bcast_subscribe(a->s->bcast, &receiver);
    pair[0] = pair[1] = storm_random(&a->seed);
    REQUIRE_EQ(thrum_bcast_send(a->s->bcast, pair), 0);
    for (int i = 0; i < 3; i++) {
        const int code = thrum_bcast_recv_until(&receiver, pair, soon(a));
        REQUIRE(code == -EOVERFLOW || !served(code) || pair[0] == pair[1]);
    }
}

static void (*const uses[])(actor *) = {use_mutex,   use_rwlock,  use_sem,  use_events,
                                        use_barrier, use_tickets, use_pool, use_bcast};

static int acts(void *arg) {
    actor *a = arg;
    for (int i = 0; i < STEPS; i++) {
        uses[storm_random(&a->seed) % (sizeof(uses) / sizeof(uses[0]))](a);
    }
    return 0;
}

static void *acts_external(void *arg) {
    acts(arg);
    return NULL;
}

static void set_init(set *s) {
    thrum_pool_config config = THRUM_POOL_CONFIG_INIT;
    memset(s, 0, sizeof(*s));
    thrum_mutex_init(&s->mutex);
    thrum_cond_init(&s->cond);
    thrum_rwlock_init(&s->lock);
    thrum_sem_init(&s->sem, PLACES);
    thrum_event_init(&s->events[0], THRUM_EVENT_AUTO, false);
    thrum_event_init(&s->events[1], THRUM_EVENT_MANUAL, false);
    thrum_barrier_init(&s->barrier, 3);
    thrum_tickets_init(&s->tickets);
    config.item_size = 24;
    config.capacity = PLACES;
    REQUIRE_EQ(thrum_pool_create(&s->pool, &config), 0);
    REQUIRE_EQ(thrum_bcast_create(&s->bcast, 2 * sizeof(uint32_t), 4), 0);
}

static void set_destroy(set *s) {
    REQUIRE_EQ(s->counted, atomic_load(&s->counts));
    REQUIRE_EQ(s->value, s->twin);
    REQUIRE_EQ(atomic_load(&s->passed), 3 * atomic_load(&s->lasts));
    REQUIRE_EQ(thrum_mutex_destroy(&s->mutex), 0);
    REQUIRE_EQ(thrum_cond_destroy(&s->cond), 0);
    REQUIRE_EQ(thrum_rwlock_destroy(&s->lock), 0);
    REQUIRE_EQ(thrum_sem_destroy(&s->sem), 0);
    REQUIRE_EQ(thrum_event_destroy(&s->events[0]), 0);
    REQUIRE_EQ(thrum_event_destroy(&s->events[1]), 0);
    REQUIRE_EQ(thrum_barrier_destroy(&s->barrier), 0);
    REQUIRE_EQ(thrum_tickets_destroy(&s->tickets), 0);
    REQUIRE_EQ(thrum_pool_destroy(s->pool), 0);
    REQUIRE_EQ(thrum_bcast_destroy(s->bcast), 0);
    memset(s, 0xdd, sizeof(*s)); /* a later access finds nonsense */
}

void round_primitives(lane *l) {
    set *s = malloc(sizeof(*s));
    actor actors[ACTORS];
    thrum_handle *handles[ACTORS];
    REQUIRE(s != NULL);
    set_init(s);
    for (int i = 0; i < ACTORS; i++) {
        actors[i] = (actor){s, storm_random(&l->seed)};
        handles[i] = world_spawn(l->w, acts, &actors[i]);
    }
    for (int i = 0; i < ACTORS; i++) {
        world_join(handles[i]);
    }
    set_destroy(s);
    free(s);
    storm_did(l, ACTORS * STEPS);
}

/* Uses them from fibers and from new threads; its lane is a thread. */
void round_threads(lane *l) {
    set *s = malloc(sizeof(*s));
    actor actors[7];
    thrum_handle *handles[4];
    pthread_t threads[3];
    REQUIRE(s != NULL);
    set_init(s);
    for (int i = 0; i < 7; i++) {
        actors[i] = (actor){s, storm_random(&l->seed)};
        if (i < 4) {
            handles[i] = world_spawn(l->w, acts, &actors[i]);
        } else {
            REQUIRE_EQ(pthread_create(&threads[i - 4], NULL, acts_external, &actors[i]), 0);
        }
    }
    for (int i = 0; i < 4; i++) {
        world_join(handles[i]);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    set_destroy(s);
    free(s);
    storm_did(l, 7 * STEPS);
}

/* ---- each wait has one outcome: woken, cancelled, or late ---- */

enum { VICTIMS = 48 };

typedef struct victim {
    thrum_sem *sem;
    uint32_t seed;
    bool timed;
    int result;
} victim;

static int suffers(void *arg) {
    victim *v = arg;
    if (v->timed) {
        const thrum_time t = thrum_after_us(storm_random(&v->seed) % 200);
        v->result = thrum_sem_wait_until(v->sem, t);
        REQUIRE(v->result != -ETIMEDOUT || thrum_now() >= t);
    } else {
        v->result = thrum_sem_wait(v->sem);
    }
    return 0;
}

void round_cancels(lane *l) {
    victim victims[VICTIMS];
    thrum_handle *handles[VICTIMS];
    thrum_sem sem;
    int posted = 0, taken = 0;
    thrum_sem_init(&sem, 0);
    for (int i = 0; i < VICTIMS; i++) {
        victims[i] = (victim){&sem, storm_random(&l->seed), i % 2 == 0, 1};
        handles[i] = world_spawn(l->w, suffers, &victims[i]);
    }
    if (storm_random(&l->seed) % 4 != 0) {
        thrum_yield();
    }
    for (int i = 0; i < VICTIMS; i++) {
        if (storm_random(&l->seed) % 2 == 0) {
            thrum_sem_post(&sem);
            posted++;
        }
        if (i % 2 != 0) {
            REQUIRE_EQ(thrum_cancel(handles[i]), 0);
        }
    }
    for (int i = 0; i < VICTIMS; i++) {
        world_join(handles[i]);
        const int result = victims[i].result;
        REQUIRE(result == 0 || result == (victims[i].timed ? -ETIMEDOUT : -ECANCELED));
        taken += result == 0;
    }
    for (; thrum_sem_try_wait(&sem) == 0; taken++) {
    }
    REQUIRE_EQ(taken, posted);
    REQUIRE_EQ(thrum_sem_destroy(&sem), 0);
    storm_did(l, VICTIMS);
}

/* ---- freed right after the wait ---- */

typedef struct box {
    thrum_sem sem;
    thrum_event event;
    thrum_waitgroup group;
    thrum_mutex mutex;
    int kind;
} box;

static int wakes(void *arg) {
    box *b = arg;
    switch (b->kind) {
    case 0:
        thrum_sem_post(&b->sem);
        break;
    case 1:
        thrum_event_signal(&b->event);
        break;
    case 2:
        thrum_waitgroup_done(&b->group);
        break;
    default:
        thrum_mutex_lock(&b->mutex);
        thrum_sem_post(&b->sem);
        thrum_mutex_unlock(&b->mutex); /* the next owner may free it */
    }
    return 0;
}

void round_destroy(lane *l) {
    for (int i = 0; i < 40; i++) {
        box *b = malloc(sizeof(*b));
        const thrum_attr attr = world_attr(l->w);
        REQUIRE(b != NULL);
        b->kind = i % 4;
        thrum_sem_init(&b->sem, 0);
        thrum_event_init(&b->event, THRUM_EVENT_AUTO, false);
        thrum_waitgroup_init(&b->group, 1);
        thrum_mutex_init(&b->mutex);
        REQUIRE_EQ(thrum_go_with(&attr, wakes, b), 0);
        if (b->kind == 1) {
            REQUIRE_EQ(thrum_event_wait(&b->event), 0);
        } else if (b->kind == 2) {
            REQUIRE_EQ(thrum_waitgroup_wait(&b->group), 0);
        } else {
            REQUIRE_EQ(thrum_sem_wait(&b->sem), 0);
        }
        if (b->kind == 3) {
            thrum_mutex_lock(&b->mutex);
            thrum_mutex_unlock(&b->mutex);
        }
        memset(b, 0xdd, sizeof(*b));
        free(b);
    }
    storm_did(l, 40);
}
