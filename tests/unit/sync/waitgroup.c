/*
 * waitgroup.c: the waitgroup, by fibers and by plain threads.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"

TEST(nothing_to_wait_for) {
    /* At 0 a wait returns at once, also after the count went up and down. */
    thrum_waitgroup wg = THRUM_WAITGROUP_INIT(0);
    CHECK_EQ(thrum_waitgroup_wait(&wg), 0);
    thrum_waitgroup_add(&wg, 3);
    thrum_waitgroup_done(&wg);
    thrum_waitgroup_add(&wg, -2);
    CHECK_EQ(thrum_waitgroup_wait(&wg), 0);
    thrum_waitgroup_add(&wg, 0);
    CHECK_EQ(thrum_waitgroup_wait(&wg), 0);
    CHECK_EQ(thrum_waitgroup_destroy(&wg), 0);
}

TEST(static_initializer_is_init) {
    /* Both make the same bytes. */
    static thrum_waitgroup by_text = THRUM_WAITGROUP_INIT(5);
    thrum_waitgroup by_call;
    thrum_waitgroup_init(&by_call, 5);
    CHECK(memcmp(&by_text, &by_call, sizeof(by_call)) == 0);
}

static void below(void *arg) {
    thrum_waitgroup_init(arg, 1);
    thrum_waitgroup_done(arg);
    thrum_waitgroup_done(arg);
}

static void below_by_many(void *arg) {
    thrum_waitgroup_init(arg, 2);
    thrum_waitgroup_add(arg, -3);
}

static void beyond(void *arg) {
    thrum_waitgroup_init(arg, THRUM_WAITGROUP_MAX);
    thrum_waitgroup_add(arg, 1);
}

static void init_beyond(void *arg) {
    thrum_waitgroup_init(arg, (unsigned)THRUM_WAITGROUP_MAX + 1);
}

TEST(count_out_of_its_range_aborts) {
    /* It is below zero or beyond the maximum, and a line names the call. */
    thrum_waitgroup wg;
    check_dies(below, &wg, "thrum_waitgroup_add: count below zero");
    check_dies(below_by_many, &wg, "thrum_waitgroup_add: count below zero");
    check_dies(beyond, &wg, "thrum_waitgroup_add: count beyond THRUM_WAITGROUP_MAX");
    check_dies(init_beyond, &wg, "thrum_waitgroup_init: count beyond THRUM_WAITGROUP_MAX");
}

TEST(the_whole_range_can_be_counted) {
    /* It goes up to the maximum and back, in steps and at once. */
    thrum_waitgroup wg;
    thrum_waitgroup_init(&wg, THRUM_WAITGROUP_MAX - 1);
    thrum_waitgroup_add(&wg, 1);
    thrum_waitgroup_add(&wg, -THRUM_WAITGROUP_MAX);
    CHECK_EQ(thrum_waitgroup_wait(&wg), 0);
    thrum_waitgroup_add(&wg, THRUM_WAITGROUP_MAX);
    thrum_waitgroup_add(&wg, -THRUM_WAITGROUP_MAX);
    CHECK_EQ(thrum_waitgroup_wait(&wg), 0);
}

#define WORKERS_MAX 512

typedef struct stage {
    thrum_waitgroup wg;
    atomic_int passed;
    int rounds;
    int plain[WORKERS_MAX]; /* index: the worker; each writes before its done */
} stage;

static stage *stage_new(unsigned n) {
    stage *s = calloc(1, sizeof(*s));
    CHECK(s != NULL);
    thrum_waitgroup_init(&s->wg, n);
    return s;
}

static int work_then_done(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    if (a->index % 3 == 0) {
        thrum_yield();
    }
    s->plain[a->index] = a->index + 1;
    thrum_waitgroup_done(&s->wg);
    return 0;
}

static int wait_and_look(void *arg) {
    stage *s = ((actor *)arg)->arg;
    CHECK_EQ(thrum_waitgroup_wait(&s->wg), 0);
    for (int i = 0; i < s->rounds; i++) {
        CHECK_EQ(s->plain[i], i + 1);
    }
    atomic_fetch_add(&s->passed, 1);
    return 0;
}

TEST(waiters_see_what_was_written_before_every_done) {
    /* There are workers of both kinds, several waiters of both kinds, early and late ones. */
    rig r;
    rig_begin(&r, 0);
    for (int round = 0; round < SCALED(50); round++) {
        stage *s = stage_new(24);
        cast *workers = cast_new(&r);
        cast *waiters = cast_new(&r);
        s->rounds = 24;
        cast_add_mixed(waiters, 2, round % 2, wait_and_look, s);
        cast_add_mixed(workers, 22, 2, work_then_done, s);
        cast_add_mixed(waiters, 2, 1 - round % 2, wait_and_look, s);
        CHECK_EQ(thrum_waitgroup_wait(&s->wg), 0);
        cast_join(workers);
        cast_join(waiters);
        CHECK_EQ(atomic_load(&s->passed), 5);
        CHECK_EQ(thrum_waitgroup_destroy(&s->wg), 0);
        free(s);
    }
    rig_stop(&r);
}

TEST(no_waiter_passes_before_the_last_done) {
    /* All waiters stay until the count is 0, and then all go on. */
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new(2);
    cast *c = cast_new(&r);
    cast_add_mixed(c, 100, 3, wait_and_look, s);
    YIELD_UNTIL(WAITGROUP_WAITING(&s->wg) == 103);
    thrum_waitgroup_done(&s->wg);
    CHECK_EQ(WAITGROUP_WAITING(&s->wg), 103);
    thrum_waitgroup_add(&s->wg, 4); /* the count goes up again while they wait */
    thrum_waitgroup_add(&s->wg, -4);
    CHECK_EQ(WAITGROUP_WAITING(&s->wg), 103);
    CHECK_EQ(atomic_load(&s->passed), 0);
    thrum_waitgroup_done(&s->wg);
    cast_join(c);
    CHECK_EQ(atomic_load(&s->passed), 103);
    free(s);
    rig_stop(&r);
}

static int bump(void *arg) {
    stage *s = arg;
    CHECK(s->plain[0] < s->rounds); /* a plain read: ordered after the add by the spawn */
    thrum_waitgroup_done(&s->wg);
    return 0;
}

static int fan_out_again_and_again(void *arg) {
    stage *s = arg;
    for (int i = 0; i < s->rounds; i++) {
        for (int k = 0; k < 10; k++) {
            thrum_waitgroup_add(&s->wg, 1);
            CHECK_EQ(thrum_go(bump, s), 0);
        }
        CHECK_EQ(thrum_waitgroup_wait(&s->wg), 0);
        s->plain[0]++;
    }
    return 0;
}

TEST(used_again_round_after_round) {
    /* One waitgroup for many fan-outs, counted up while the tasks before count down. */
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new(0);
    s->rounds = SCALED(1000);
    CHECK_EQ(rig_run(&r, fan_out_again_and_again, s), 0);
    CHECK_EQ(s->plain[0], s->rounds);
    CHECK_EQ(thrum_waitgroup_destroy(&s->wg), 0);
    free(s);
    rig_stop(&r);
}

/* ---- the end of a waitgroup ---- */

TEST(destroy_is_refused_while_waited_for) {
    /*
     * It is -EBUSY and changes nothing; afterwards it is zero. A count alone does not prevent it.
     */
    static const thrum_waitgroup zero;
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new(1);
    cast *c = cast_new(&r);
    cast_add_mixed(c, 1, 1, wait_and_look, s);
    YIELD_UNTIL(WAITGROUP_WAITING(&s->wg) == 2);
    const thrum_waitgroup before = s->wg;
    CHECK_EQ(thrum_waitgroup_destroy(&s->wg), -EBUSY);
    CHECK(memcmp(&before, &s->wg, sizeof(before)) == 0);
    thrum_waitgroup_done(&s->wg);
    cast_join(c);
    thrum_waitgroup_add(&s->wg, 5);
    CHECK_EQ(thrum_waitgroup_destroy(&s->wg), 0);
    CHECK(memcmp(&zero, &s->wg, sizeof(zero)) == 0);
    free(s);
    rig_stop(&r);
}

/* The waiter makes the waitgroup and frees it as soon as its wait has returned. */
#define HELPERS 3

typedef struct handover {
    _Atomic(thrum_waitgroup *) wg[HELPERS];
    int waiters; /* in all, of which the first makes and frees it */
    int rounds;
} handover;

static int free_after_wait(void *arg) {
    handover *h = ((actor *)arg)->arg;
    for (int i = 0; i < h->rounds; i++) {
        thrum_waitgroup *wg = malloc(sizeof(*wg));
        CHECK(wg != NULL);
        thrum_waitgroup_init(wg, HELPERS);
        for (int k = 0; k < HELPERS; k++) {
            atomic_store(&h->wg[k], wg);
        }
        for (int k = 0; k < i % 40; k++) { /* this meets the dones at various places */
            th_backoff(&(unsigned){0});
        }
        CHECK_EQ(thrum_waitgroup_wait(wg), 0);
        memset(wg, 0xee, sizeof(*wg));
        free(wg);
    }
    return 0;
}

static int done_to_freed(void *arg) {
    actor *a = arg;
    handover *h = a->arg;
    for (int i = 0; i < h->rounds; i++) {
        thrum_waitgroup *wg;
        YIELD_UNTIL((wg = atomic_exchange(&h->wg[a->index - 1], NULL)) != NULL);
        thrum_waitgroup_done(wg);
    }
    return 0;
}

TEST(freed_as_soon_as_the_wait_returned) {
    /* The last done, and those before, do not touch it after the waiter may go on. */
    rig r;
    rig_begin(&r, 0);
    for (int kinds = 0; kinds < 4; kinds++) {
        cast *c = cast_new(&r);
        handover h = {.rounds = SCALED(kinds == 3 ? 1000 : 100)};
        cast_add(c, (kinds & 1) != 0, free_after_wait, &h);
        for (int k = 0; k < HELPERS; k++) {
            cast_add(c, (kinds & 2) != 0, done_to_freed, &h);
        }
        cast_join(c);
    }
    rig_stop(&r);
}

/* Two waiters: the second one to return frees it. */
typedef struct pair {
    thrum_waitgroup wg;
    atomic_int users;
} pair;

typedef struct doubles {
    _Atomic(pair *) slot[3]; /* the other waiter's, and one for each of two helpers */
    int rounds;
} doubles;

static void wait_and_leave(pair *p) {
    CHECK_EQ(thrum_waitgroup_wait(&p->wg), 0);
    if (atomic_fetch_sub(&p->users, 1) == 1) {
        memset(p, 0xee, sizeof(*p));
        free(p);
    }
}

static int first_waiter(void *arg) {
    doubles *d = ((actor *)arg)->arg;
    for (int i = 0; i < d->rounds; i++) {
        pair *p = malloc(sizeof(*p));
        CHECK(p != NULL);
        thrum_waitgroup_init(&p->wg, 2);
        atomic_init(&p->users, 2);
        for (int k = 0; k < 3; k++) {
            atomic_store(&d->slot[k], p);
        }
        wait_and_leave(p);
        for (int k = 0; k < 3; k++) {
            YIELD_UNTIL(atomic_load(&d->slot[k]) == NULL);
        }
    }
    return 0;
}

static int other_player(void *arg) {
    actor *a = arg;
    doubles *d = a->arg;
    for (int i = 0; i < d->rounds; i++) {
        pair *p;
        YIELD_UNTIL((p = atomic_exchange(&d->slot[a->index - 1], NULL)) != NULL);
        if (a->index == 1) {
            wait_and_leave(p);
        } else {
            thrum_waitgroup_done(&p->wg);
        }
    }
    return 0;
}

TEST(freed_by_the_last_of_two_waiters) {
    /* One may be queueing while the count falls to 0 and the other waits already. */
    rig r;
    rig_begin(&r, 0);
    for (int kinds = 0; kinds < 3; kinds++) {
        cast *c = cast_new(&r);
        doubles d = {.rounds = SCALED(kinds == 0 ? 1000 : 100)};
        cast_add(c, kinds != 1, first_waiter, &d);
        for (int k = 0; k < 3; k++) {
            cast_add(c, kinds == 0 || (kinds == 2 && k == 1), other_player, &d);
        }
        cast_join(c);
    }
    rig_stop(&r);
}
