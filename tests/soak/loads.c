/*
 * loads.c: the rounds of the loads that compute, wait for each other, and wait for time.
 */
#include "soak.h"

static thrum_handle *spawn(thrum_fn fn, void *arg) {
    thrum_handle *handle = NULL;
    REQUIRE_EQ(thrum_spawn(&handle, fn, arg), 0);
    return handle;
}

static void join(thrum_handle *handle) {
    int result = -1;
    REQUIRE_EQ(thrum_join(handle, &result), 0);
    REQUIRE_EQ(result, 0);
}

/* ---- timers: sleeps; never early ---- */

void round_timers(lane *l) {
    const int64_t ns = 1000000 + (int64_t)(soak_random(&l->seed) % 40000) * 1000;
    const thrum_time due = thrum_after(ns);
    REQUIRE_EQ(thrum_sleep_until(due), 0);
    const thrum_time now = thrum_now();
    REQUIRE(now >= due);
    soak_late(LATE_TIMER, now - due);
}

/* ---- deadlines: tasks with a deadline, some woken or cancelled; each runs once, not early ---- */

enum { DUE = 300 };

typedef struct due {
    thrum_task task;
    thrum_time when;
    int fate; /* 0: it expires; 1: it is woken; 2: it is cancelled */
    atomic_int runs;
    thrum_waitgroup *left;
} due;

static void due_runs(thrum_task *self, void *arg) {
    due *d = arg;
    const thrum_time now = thrum_now();
    REQUIRE_EQ(atomic_fetch_add(&d->runs, 1), 0);
    REQUIRE(d->fate != 0 || now >= d->when);
    REQUIRE(d->fate == 2 || !thrum_task_is_cancelled(self));
    if (d->fate == 0) {
        soak_late(LATE_TIMER, now - d->when);
    }
    thrum_waitgroup_done(d->left);
}

void round_deadlines(lane *l) {
    due *all = calloc(DUE, sizeof(*all));
    thrum_waitgroup left;
    REQUIRE(all != NULL);
    thrum_waitgroup_init(&left, DUE);
    for (int i = 0; i < DUE; i++) {
        const uint32_t r = soak_random(&l->seed);
        thrum_task_init(&all[i].task, due_runs, &all[i]);
        all[i].fate = (int)(r % 3);
        all[i].left = &left;
        all[i].when = thrum_after_us(1000 + r / 3 % 20000);
        REQUIRE_EQ(thrum_task_post_until(thrum_sched_current(), &all[i].task, all[i].when), 0);
    }
    for (int i = 0; i < DUE; i++) {
        if (all[i].fate == 1) {
            thrum_task_wakeup(&all[i].task);
        } else if (all[i].fate == 2) {
            (void)thrum_task_cancel(&all[i].task);
        }
    }
    REQUIRE_EQ(thrum_waitgroup_wait(&left), 0);
    for (int i = 0; i < DUE; i++) {
        REQUIRE_EQ(atomic_load(&all[i].runs), 1);
    }
    REQUIRE_EQ(thrum_waitgroup_destroy(&left), 0);
    free(all);
}

/* ---- forks: Fibonacci's numbers ---- */

typedef struct number {
    unsigned n;
    long value;
} number;

static int fib(void *arg) {
    number *f = arg;
    if (f->n < 2) {
        f->value = f->n;
        return 0;
    }
    number a = {f->n - 1, 0}, b = {f->n - 2, 0};
    thrum_fork fork;
    thrum_fork_start(&fork, fib, &a);
    (void)fib(&b);
    REQUIRE_EQ(thrum_fork_join(&fork), 0);
    f->value = a.value + b.value;
    return 0;
}

void round_forks(lane *l) {
    static const long values[] = {610, 987, 1597, 2584, 4181, 6765};
    const unsigned i = soak_random(&l->seed) % 6;
    number f = {15 + i, 0};
    (void)fib(&f);
    REQUIRE_EQ(f.value, values[i]);
}

/* ---- trees: each node spawns three, and joins them ---- */

typedef struct node {
    int depth;
    long below;
} node;

static int tree(void *arg) {
    node *t = arg;
    node kids[3];
    thrum_handle *handles[3];
    t->below = 1;
    if (t->depth == 0) {
        return 0;
    }
    for (int i = 0; i < 3; i++) {
        kids[i] = (node){t->depth - 1, 0};
        handles[i] = spawn(tree, &kids[i]);
    }
    for (int i = 0; i < 3; i++) {
        join(handles[i]);
        t->below += kids[i].below;
    }
    return 0;
}

void round_trees(lane *l) {
    node t = {4, 0};
    (void)l;
    (void)tree(&t);
    REQUIRE_EQ(t.below, 121);
}

/* ---- cancels: children that wait for ever, and for long ---- */

enum { CHILDREN = 60 };

typedef struct family {
    thrum_sem never;
    atomic_int begun, ended;
} family;

static int waits_for_ever(void *arg) {
    family *f = arg;
    atomic_fetch_add(&f->begun, 1);
    REQUIRE_EQ(thrum_sem_wait(&f->never), -ECANCELED);
    atomic_fetch_add(&f->ended, 1);
    return 0;
}

static int sleeps_long(void *arg) {
    family *f = arg;
    atomic_fetch_add(&f->begun, 1);
    REQUIRE_EQ(thrum_sleep(THRUM_S(100000)), -ECANCELED);
    atomic_fetch_add(&f->ended, 1);
    return 0;
}

void round_cancels(lane *l) {
    family f;
    thrum_scope scope;
    thrum_sem_init(&f.never, 0);
    atomic_init(&f.begun, 0);
    atomic_init(&f.ended, 0);
    const bool by_deadline = soak_random(&l->seed) % 4 == 0;
    const thrum_time ends = thrum_after_ms(5);
    REQUIRE_EQ(thrum_scope_open(&scope, by_deadline ? ends : THRUM_FOREVER), 0);
    for (int i = 0; i < CHILDREN; i++) {
        REQUIRE_EQ(thrum_scope_go(&scope, i % 2 ? sleeps_long : waits_for_ever, &f), 0);
    }
    if (soak_random(&l->seed) % 2 == 0) {
        (void)!thrum_sleep(1000000);
    }
    const thrum_time began = by_deadline ? ends : thrum_now();
    if (!by_deadline) {
        thrum_scope_cancel(&scope);
    }
    REQUIRE_EQ(thrum_scope_join(&scope), by_deadline ? -ETIMEDOUT : -ECANCELED);
    soak_late(LATE_CANCEL, thrum_now() - began);
    REQUIRE_EQ(atomic_load(&f.begun), CHILDREN);
    REQUIRE_EQ(atomic_load(&f.ended), CHILDREN);
    REQUIRE_EQ(thrum_sem_destroy(&f.never), 0);
}

/* ---- stalls: a task that holds its worker up, by blocking the thread or by computing ---- */

void round_stalls(lane *l) {
    const struct timespec nap = {0, 40000000};
    if (soak_random(&l->seed) % 2 == 0) {
        (void)nanosleep(&nap, NULL);
    } else {
        for (const thrum_time end = thrum_after_ms(40); thrum_now() < end;) {
        }
    }
}

/* ---- channels: what is sent is received, and select ---- */

enum { SENT = 200, FLOWS = 3 };

typedef struct flow {
    thrum_chan *chans[2];
    atomic_long sent, received;
} flow;

static int sends(void *arg) {
    flow *f = arg;
    for (long i = 1; i <= SENT; i++) {
        thrum_case cases[] = {THRUM_SEND_CASE(f->chans[0], &i), THRUM_SEND_CASE(f->chans[1], &i)};
        const int which = i % 3 == 0 ? thrum_select(cases, 2, THRUM_FOREVER) : (int)(i % 2);
        if (i % 3 != 0) {
            REQUIRE_EQ(thrum_chan_send(f->chans[which], &i), 0);
        } else {
            REQUIRE(which >= 0 && cases[which].status == 0);
        }
        atomic_fetch_add(&f->sent, i);
    }
    return 0;
}

static int receives(void *arg) {
    flow *f = arg;
    for (int closed = 0; closed != 3;) {
        long got[2] = {0, 0};
        thrum_case cases[2];
        for (int i = 0; i < 2; i++) {
            cases[i] = THRUM_RECV_CASE((closed >> i & 1) != 0 ? NULL : f->chans[i], &got[i]);
        }
        const int which = thrum_select(cases, 2, THRUM_FOREVER);
        REQUIRE(which >= 0);
        if (cases[which].status == 0) {
            atomic_fetch_add(&f->received, got[which]);
        } else {
            closed |= 1 << which;
        }
    }
    return 0;
}

void round_channels(lane *l) {
    flow f;
    thrum_handle *senders[FLOWS], *receivers[FLOWS];
    atomic_init(&f.sent, 0);
    atomic_init(&f.received, 0);
    REQUIRE_EQ(thrum_chan_create(&f.chans[0], sizeof(long), 0), 0);
    REQUIRE_EQ(thrum_chan_create(&f.chans[1], sizeof(long), 1 + soak_random(&l->seed) % 8), 0);
    for (int i = 0; i < FLOWS; i++) {
        receivers[i] = spawn(receives, &f);
        senders[i] = spawn(sends, &f);
    }
    for (int i = 0; i < FLOWS; i++) {
        join(senders[i]);
    }
    for (int i = 0; i < 2; i++) {
        REQUIRE_EQ(thrum_chan_close(f.chans[i]), 0);
    }
    for (int i = 0; i < FLOWS; i++) {
        join(receivers[i]);
    }
    REQUIRE_EQ(atomic_load(&f.received), atomic_load(&f.sent));
    REQUIRE_EQ(atomic_load(&f.sent), FLOWS * SENT * (SENT + 1) / 2);
    for (int i = 0; i < 2; i++) {
        REQUIRE_EQ(thrum_chan_destroy(f.chans[i]), 0);
    }
}

/* ---- locks: exclusion, and a condition that is met ---- */

enum { LOCKERS = 6, LOCKED = 100 };

typedef struct locked {
    thrum_mutex mutex;
    thrum_cond cond;
    thrum_rwlock rwlock;
    long count, pair[2]; /* plain */
} locked;

static int locks(void *arg) {
    locked *s = arg;
    for (int i = 0; i < LOCKED; i++) {
        thrum_mutex_lock(&s->mutex);
        const long old = s->count++;
        if (i % 16 == 0) {
            thrum_yield();
        }
        REQUIRE_EQ(s->count, old + 1);
        thrum_cond_broadcast(&s->cond);
        thrum_mutex_unlock(&s->mutex);
        if (i % 8 == 0) {
            thrum_rwlock_wrlock(&s->rwlock);
            s->pair[0]++;
            s->pair[1]++;
        } else {
            thrum_rwlock_rdlock(&s->rwlock);
            REQUIRE_EQ(s->pair[0], s->pair[1]);
        }
        thrum_rwlock_unlock(&s->rwlock);
    }
    return 0;
}

void round_locks(lane *l) {
    locked s = {.count = 0};
    thrum_handle *handles[LOCKERS];
    (void)l;
    thrum_mutex_init(&s.mutex);
    thrum_cond_init(&s.cond);
    thrum_rwlock_init(&s.rwlock);
    for (int i = 0; i < LOCKERS; i++) {
        handles[i] = spawn(locks, &s);
    }
    thrum_mutex_lock(&s.mutex);
    while (s.count < LOCKERS * LOCKED) {
        REQUIRE_EQ(thrum_cond_wait(&s.cond, &s.mutex), 0);
    }
    thrum_mutex_unlock(&s.mutex);
    for (int i = 0; i < LOCKERS; i++) {
        join(handles[i]);
    }
    REQUIRE_EQ(s.count, LOCKERS * LOCKED);
    REQUIRE_EQ(thrum_mutex_destroy(&s.mutex), 0);
    REQUIRE_EQ(thrum_cond_destroy(&s.cond), 0);
    REQUIRE_EQ(thrum_rwlock_destroy(&s.rwlock), 0);
}
