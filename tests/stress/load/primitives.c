/*
 * primitives.c: storms on once, barrier, rwlock, tickets, pool and broadcast channel, by fibers and
 * plain threads: deadlines that race with wakes, and the object destroyed right after.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"

enum { FIBERS = 10, THREADS = 3, ALL = FIBERS + THREADS };

/* One round's objects: made by the first to come into it, freed by the last to leave. */
typedef struct set {
    thrum_once once;
    thrum_barrier barrier;
    thrum_rwlock lock;
    thrum_tickets tickets;
    thrum_pool *pool;
    thrum_bcast *bcast;
    int calls;       /* of the once's function */
    int value, twin; /* under the lock; equal */
    int turn;        /* in a ticket's turn */
    atomic_int in_pool, left, lasts, passed;
} set;

typedef struct storm {
    rig r;
    _Atomic(set *) current;
    atomic_int round;
    int rounds;
    atomic_int late;
} storm;

static set *make(storm *st) {
    set *s = calloc(1, sizeof(*s));
    CHECK(s != NULL);
    thrum_once_init(&s->once);
    thrum_barrier_init(&s->barrier, 4);
    thrum_rwlock_init(&s->lock);
    thrum_tickets_init(&s->tickets);
    thrum_pool_config config = THRUM_POOL_CONFIG_INIT;
    config.item_size = 24;
    config.capacity = 3;
    config.ctx = &st->r;
    config.alloc = rig_alloc;
    config.free = rig_free;
    CHECK_EQ(thrum_pool_create(&s->pool, &config), 0);
    CHECK_EQ(thrum_bcast_create(&s->bcast, 2 * sizeof(unsigned), 4), 0);
    atomic_store(&s->left, ALL);
    return s;
}

static void unmake(set *s) {
    CHECK_EQ(s->value, s->twin);
    CHECK_EQ(atomic_load(&s->passed), 4 * atomic_load(&s->lasts));
    CHECK_EQ(thrum_once_destroy(&s->once), 0);
    CHECK_EQ(thrum_barrier_destroy(&s->barrier), 0);
    CHECK_EQ(thrum_rwlock_destroy(&s->lock), 0);
    CHECK_EQ(thrum_tickets_destroy(&s->tickets), 0);
    CHECK_EQ(thrum_pool_destroy(s->pool), 0);
    CHECK_EQ(thrum_bcast_destroy(s->bcast), 0);
    memset(s, 0xdd, sizeof(*s)); /* a later access finds nonsense */
    free(s);
}

static thrum_time shortly(unsigned *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    const unsigned us = (*seed >> 16) % 50;
    return thrum_after_us(us);
}

static int fails_twice(void *arg) {
    set *s = arg;
    s->calls++;
    if (s->calls % 2 == 0) {
        thrum_yield();
    }
    return s->calls <= 2 ? -EIO : 0;
}

static bool is_late(storm *st, int result) {
    CHECK(result == 0 || result == -ETIMEDOUT);
    atomic_fetch_add(&st->late, result != 0);
    return result != 0;
}

static void use_once(storm *st, set *s, unsigned *seed) {
    int result = thrum_once_run_until(&s->once, fails_twice, s, shortly(seed));
    if (result != -EIO && !is_late(st, result)) {
        CHECK_EQ(s->calls, 3);
    }
}

static void use_barrier(storm *st, set *s, unsigned *seed) {
    int result = thrum_barrier_wait_until(&s->barrier, shortly(seed));
    if (result == 1) {
        atomic_fetch_add(&s->lasts, 1);
        result = 0;
    }
    if (!is_late(st, result)) {
        atomic_fetch_add(&s->passed, 1);
    }
}

static void use_lock(storm *st, set *s, unsigned *seed) {
    if (*seed % 3 == 0) {
        if (!is_late(st, thrum_rwlock_wrlock_until(&s->lock, shortly(seed)))) {
            int old = s->value++;
            if (*seed % 2 == 0) {
                thrum_yield();
            }
            s->twin++;
            CHECK_EQ(s->value, old + 1);
            if (*seed % 4 == 0) {
                thrum_rwlock_downgrade(&s->lock);
                CHECK_EQ(s->value, old + 1);
            }
            thrum_rwlock_unlock(&s->lock);
        }
    } else if (!is_late(st, thrum_rwlock_rdlock_until(&s->lock, shortly(seed)))) {
        CHECK_EQ(s->value, s->twin);
        if (*seed % 2 == 0) {
            thrum_yield();
        }
        CHECK_EQ(s->value, s->twin);
        thrum_rwlock_unlock(&s->lock);
    }
}

static void use_tickets(storm *st, set *s, unsigned *seed) {
    thrum_ticket t[2];
    thrum_tickets_take_n(&s->tickets, t, 2);
    if (!is_late(st, thrum_ticket_wait_until(&t[1], shortly(seed)))) {
        CHECK(false); /* the first ticket, its own, is not done */
    }
    CHECK_EQ(thrum_ticket_wait(&t[0]), 0);
    s->turn++; /* plain: only one thread has the turn */
    thrum_ticket_done(&t[0]);
    thrum_ticket_done(&t[1]); /* dropped, or in its turn */
}

static void use_pool(storm *st, set *s, unsigned *seed) {
    void *items[3];
    size_t n = 1 + *seed % 3;
    if (!is_late(st, thrum_pool_borrow_n_until(s->pool, items, n, shortly(seed)))) {
        CHECK(atomic_fetch_add(&s->in_pool, (int)n) + (int)n <= 3);
        for (size_t i = 0; i < n; i++) {
            memset(items[i], (int)i, 24);
        }
        if (*seed % 2 == 0) {
            thrum_yield();
        }
        atomic_fetch_sub(&s->in_pool, (int)n);
        for (size_t i = 0; i < n; i++) {
            thrum_pool_give_back(s->pool, items[i]);
        }
    }
}

/* Sends equal numbers, and receives some of those of others. */
static void use_bcast(storm *st, set *s, unsigned *seed) {
    thrum_bcast_receiver receiver;
    unsigned pair[2] = {*seed, *seed};
    thrum_bcast_subscribe(s->bcast, &receiver);
    CHECK_EQ(thrum_bcast_send(s->bcast, pair), 0);
    for (int i = 0; i < 3; i++) {
        int code = i % 2 ? thrum_bcast_recv_latest_until(&receiver, pair, shortly(seed))
                         : thrum_bcast_recv_until(&receiver, pair, shortly(seed));
        CHECK(code == -EOVERFLOW || is_late(st, code) || pair[0] == pair[1]);
    }
}

static void (*const uses[])(storm *, set *, unsigned *) = {use_once,    use_barrier, use_lock,
                                                           use_tickets, use_pool,    use_bcast};

static int storm_in(void *arg) {
    actor *a = arg;
    storm *st = a->arg;
    unsigned seed = (unsigned)a->index * 2654435761u + 1;
    for (int round = 0; round < st->rounds; round++) {
        YIELD_UNTIL(atomic_load(&st->round) == round);
        set *s = atomic_load(&st->current);
        for (int i = 0; i < 20; i++) {
            seed = seed * 1664525u + 1013904223u;
            uses[(seed >> 20) % COUNT_OF(uses)](st, s, &seed);
        }
        if (atomic_fetch_sub(&s->left, 1) == 1) {
            unmake(s);
            atomic_store(&st->current, make(st));
            atomic_store(&st->round, round + 1);
        }
    }
    return 0;
}

TEST(late_or_served_and_destroyed_right_after) {
    /* All use everything in no order, with short deadlines; the last one of each round destroys it
     * all. */
    storm *st = calloc(1, sizeof(*st));
    CHECK(st != NULL);
    st->rounds = SCALED(150);
    rig_begin(&st->r, 0);
    atomic_store(&st->current, make(st));
    cast *c = cast_new(&st->r);
    cast_add_mixed(c, FIBERS, THREADS, storm_in, st);
    cast_join(c);
    unmake(atomic_load(&st->current));
    rig_stop(&st->r);
    free(st);
}

/* ---- a writer's data, many readers ---- */

typedef struct table {
    thrum_rwlock lock;
    long rows[16]; /* equal */
    atomic_int writers;
    int rounds;
} table;

static int reads(void *arg) {
    table *t = ((actor *)arg)->arg;
    while (atomic_load(&t->writers) > 0) {
        thrum_rwlock_rdlock(&t->lock);
        long first = t->rows[0];
        for (int i = 1; i < 16; i++) {
            CHECK_EQ(t->rows[i], first);
        }
        thrum_rwlock_unlock(&t->lock);
        thrum_yield();
    }
    return 0;
}

static int writes(void *arg) {
    table *t = ((actor *)arg)->arg;
    for (int round = 0; round < t->rounds; round++) {
        thrum_rwlock_wrlock(&t->lock);
        for (int i = 0; i < 16; i++) {
            t->rows[i]++;
        }
        thrum_rwlock_unlock(&t->lock);
        if (round % 8 == 0) {
            thrum_yield();
        }
    }
    atomic_fetch_sub(&t->writers, 1);
    return 0;
}

TEST(many_readers_and_some_writers) {
    /* No reader sees half of a change, and no change is lost. */
    rig r;
    rig_begin(&r, 0);
    table t = {.lock = THRUM_RWLOCK_INIT, .rounds = SCALED(3000)};
    atomic_store(&t.writers, 4);
    cast *c = cast_new(&r);
    cast_add_mixed(c, 3, 1, writes, &t);
    cast_add_mixed(c, 40, 3, reads, &t);
    cast_join(c);
    CHECK_EQ(t.rows[0], 4L * t.rounds);
    CHECK_EQ(thrum_rwlock_destroy(&t.lock), 0);
    rig_stop(&r);
}

/* ---- ordered output ---- */

typedef struct piece {
    thrum_ticket ticket;
    struct writer *w;
    int number;
} piece;

typedef struct writer {
    thrum_tickets tickets;
    int next; /* plain: used in a turn */
    int count;
    int made; /* under the mutex */
    thrum_mutex mutex;
} writer;

static int write_piece(void *arg) {
    piece *p = arg;
    writer *w = p->w;
    CHECK_EQ(thrum_ticket_wait(&p->ticket), 0);
    CHECK_EQ(w->next, p->number);
    w->next++;
    thrum_ticket_done(&p->ticket);
    free(p);
    return 0;
}

/* Takes the next piece, works on it, and has it written in its turn: waiting, or on call. */
static int work(void *arg) {
    writer *w = ((actor *)arg)->arg;
    for (;;) {
        thrum_mutex_lock(&w->mutex);
        piece *p = NULL;
        if (w->made < w->count) {
            p = calloc(1, sizeof(*p));
            CHECK(p != NULL);
            p->w = w;
            p->number = w->made++;
            thrum_tickets_take(&w->tickets, &p->ticket);
        }
        thrum_mutex_unlock(&w->mutex);
        if (!p) {
            return 0;
        }
        for (int i = p->number % 5; i > 0; i--) {
            thrum_yield();
        }
        if (p->number % 3 != 0 || thrum_ticket_on_call(&p->ticket, write_piece, p) != 0) {
            CHECK_EQ(write_piece(p), 0);
        }
    }
}

TEST(pieces_are_written_in_order) {
    /* Fibers and threads write the pieces in order; some wait for the turn, some are called. */
    rig r;
    rig_begin(&r, 0);
    writer w = {.tickets = THRUM_TICKETS_INIT, .mutex = THRUM_MUTEX_INIT, .count = SCALED(20000)};
    cast *c = cast_new(&r);
    cast_add_mixed(c, 12, 3, work, &w);
    cast_join(c);
    rig_wait_done(&r);
    CHECK_EQ(w.next, w.count);
    CHECK_EQ(thrum_tickets_destroy(&w.tickets), 0);
    rig_stop(&r);
}
