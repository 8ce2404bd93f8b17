/*
 * barrier.c: the barrier, by fibers and by plain threads.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"
#include "support/times.h"

#define PARTIES_MAX 64

typedef struct stage {
    thrum_barrier barrier;
    int plain[PARTIES_MAX]; /* index: the thread; the round that it is in */
    int parties, rounds;
    atomic_int lasts, late, passed, cancelled;
} stage;

static stage *stage_new(unsigned n) {
    stage *s = calloc(1, sizeof(*s));
    CHECK(s != NULL);
    thrum_barrier_init(&s->barrier, n);
    s->parties = (int)n;
    return s;
}

TEST(one_alone_does_not_wait) {
    /* One alone is always the last, also with a deadline in the past. */
    thrum_barrier barrier = THRUM_BARRIER_INIT(1);
    CHECK_EQ(thrum_barrier_wait(&barrier), 1);
    CHECK_EQ(thrum_barrier_wait(&barrier), 1);
    CHECK_EQ(thrum_barrier_wait_until(&barrier, 0), 1);
    CHECK_EQ(thrum_barrier_destroy(&barrier), 0);
}

TEST(static_initializer_is_init) {
    /* Both make the same bytes. */
    static thrum_barrier by_text = THRUM_BARRIER_INIT(5);
    thrum_barrier by_call;
    thrum_barrier_init(&by_call, 5);
    CHECK(memcmp(&by_text, &by_call, sizeof(by_call)) == 0);
}

static void init_none(void *arg) {
    thrum_barrier_init(arg, 0);
}

static void init_beyond(void *arg) {
    thrum_barrier_init(arg, THRUM_BARRIER_MAX + 1u);
}

TEST(a_number_out_of_range_aborts) {
    /* A line names the call. */
    thrum_barrier barrier;
    const char *line = "thrum_barrier_init: not from 1 to THRUM_BARRIER_MAX participants";
    check_dies(init_none, &barrier, line);
    check_dies(init_beyond, &barrier, line);
}

/* ---- rounds ---- */

static int go_round(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    for (int round = 1; round <= s->rounds; round++) {
        s->plain[a->index] = round;
        int result = thrum_barrier_wait(&s->barrier);
        CHECK(result == 0 || result == 1);
        atomic_fetch_add(&s->lasts, result);
        for (int i = 0; i < s->parties; i++) {
            CHECK_EQ(s->plain[i], round);
        }
        CHECK(thrum_barrier_wait(&s->barrier) >= 0);
    }
    return 0;
}

TEST(all_see_what_all_wrote) {
    /* Fibers and threads come round after round; one in each is the last. */
    rig r;
    rig_begin(&r, 0);
    static const int fibers[] = {2, 0, 8, 20, 4};
    static const int threads[] = {0, 2, 4, 0, 1};
    for (size_t i = 0; i < COUNT_OF(fibers); i++) {
        cast *c = cast_new(&r);
        stage *s = stage_new((unsigned)(fibers[i] + threads[i]));
        s->rounds = SCALED(200);
        cast_add_mixed(c, fibers[i], threads[i], go_round, s);
        cast_join(c);
        CHECK_EQ(atomic_load(&s->lasts), s->rounds);
        CHECK_EQ(thrum_barrier_destroy(&s->barrier), 0);
        free(s);
    }
    rig_stop(&r);
}

static int come(void *arg) {
    stage *s = ((actor *)arg)->arg;
    int result = thrum_barrier_wait(&s->barrier);
    CHECK(result == 0 || result == 1);
    atomic_fetch_add(&s->lasts, result);
    atomic_fetch_add(&s->passed, 1);
    return 0;
}

TEST(a_crowd_goes_on_together) {
    /* A thousand fibers wait: none goes on before the last comes, then all do. */
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    const int n = SCALED(1000) + 1;
    stage *s = stage_new((unsigned)n);
    for (int i = 0; i < n - 1; i++) {
        cast_add(c, true, come, s);
    }
    SPIN_UNTIL(BARRIER_WAITING(&s->barrier) == n - 1);
    CHECK_EQ(atomic_load(&s->passed), 0);
    CHECK_EQ(thrum_barrier_wait(&s->barrier), 1);
    cast_join(c);
    CHECK_EQ(atomic_load(&s->passed), n - 1);
    CHECK_EQ(atomic_load(&s->lasts), 0);
    free(s);
    rig_stop(&r);
}

/* ---- late waits ---- */

static int come_late(void *arg) {
    stage *s = ((actor *)arg)->arg;
    thrum_time until = soon();
    CHECK_EQ(thrum_barrier_wait_until(&s->barrier, 0), -ETIMEDOUT);
    CHECK_EQ(thrum_barrier_wait_until(&s->barrier, until), -ETIMEDOUT);
    CHECK_PASSED(until);
    atomic_fetch_add(&s->late, 1);
    return 0;
}

TEST(a_late_wait_has_not_arrived) {
    /* It is as if it had never come: the others wait for one more. */
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    stage *s = stage_new(12);
    cast_add_mixed(c, 5, 5, come_late, s);
    cast_join(c);
    CHECK_EQ(BARRIER_WAITING(&s->barrier), 0);
    c = cast_new(&r);
    cast_add_mixed(c, 6, 5, come, s);
    SPIN_UNTIL(BARRIER_WAITING(&s->barrier) == 11);
    CHECK_EQ(thrum_barrier_wait_until(&s->barrier, far_off()), 1);
    cast_join(c);
    CHECK_EQ(atomic_load(&s->passed), 11);
    CHECK_EQ(thrum_barrier_destroy(&s->barrier), 0);
    free(s);
    rig_stop(&r);
}

/* Waits often, each time briefly: each wait is let through with others, or is late. */
static int come_briefly(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    for (int i = 0; i < s->rounds; i++) {
        const int us = (a->index * 7 + i) % 60;
        int result = thrum_barrier_wait_until(&s->barrier, thrum_after_us(us));
        CHECK(result == 0 || result == 1 || result == -ETIMEDOUT);
        atomic_fetch_add(&s->lasts, result == 1);
        atomic_fetch_add(result < 0 ? &s->late : &s->passed, 1);
    }
    return 0;
}

TEST(as_many_pass_as_there_are_places) {
    /*
     * Deadlines race with the last to come: the passes are a multiple of the places, and each
     * opening has one last.
     */
    rig r;
    rig_begin(&r, 0);
    for (unsigned n = 2; n <= 4; n++) {
        cast *c = cast_new(&r);
        stage *s = stage_new(n);
        s->rounds = SCALED(300);
        cast_add_mixed(c, 6, 3, come_briefly, s);
        cast_join(c);
        CHECK_EQ(atomic_load(&s->passed), (int)n * atomic_load(&s->lasts));
        CHECK_EQ(atomic_load(&s->passed) + atomic_load(&s->late), 9 * s->rounds);
        CHECK_EQ(thrum_barrier_destroy(&s->barrier), 0);
        free(s);
    }
    rig_stop(&r);
}

static int come_and_be_cancelled(void *arg) {
    stage *s = arg;
    CHECK_EQ(thrum_barrier_wait(&s->barrier), -ECANCELED);
    CHECK_EQ(thrum_barrier_wait_until(&s->barrier, far_off()), -ECANCELED);
    atomic_fetch_add(&s->cancelled, 1);
    return 0;
}

TEST(a_cancelled_wait_has_not_arrived) {
    /* It is as if it had never come, and the barrier is good for others. */
    enum { N = 20 };
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new(N + 1);
    for (int i = 0; i < N; i++) {
        rig_go(&r, come_and_be_cancelled, s);
    }
    SPIN_UNTIL(BARRIER_WAITING(&s->barrier) == N);
    CHECK_EQ(thrum_sched_stop_until(r.sched, past()), -ETIMEDOUT);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&s->cancelled), N);
    CHECK_EQ(thrum_barrier_wait_until(&s->barrier, 0), -ETIMEDOUT);
    CHECK_EQ(thrum_barrier_destroy(&s->barrier), 0);
    free(s);
}

/* ---- the end ---- */

TEST(destroy_is_refused_while_waited_for) {
    /* -EBUSY changes nothing: the last one still opens it. */
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    stage *s = stage_new(3);
    cast_add_mixed(c, 1, 1, come, s);
    SPIN_UNTIL(BARRIER_WAITING(&s->barrier) == 2);
    const thrum_barrier before = s->barrier;
    CHECK_EQ(thrum_barrier_destroy(&s->barrier), -EBUSY);
    CHECK(memcmp(&before, &s->barrier, sizeof(before)) == 0);
    CHECK_EQ(thrum_barrier_wait(&s->barrier), 1);
    cast_join(c);
    CHECK_EQ(thrum_barrier_destroy(&s->barrier), 0);
    free(s);
    rig_stop(&r);
}

/* One thread makes it, waits and frees it; the other comes and opens it. */
typedef struct handover {
    _Atomic(thrum_barrier *) barrier;
    int rounds;
} handover;

static int free_after_wait(void *arg) {
    handover *h = ((actor *)arg)->arg;
    for (int i = 0; i < h->rounds; i++) {
        thrum_barrier *barrier = malloc(sizeof(*barrier));
        CHECK(barrier != NULL);
        thrum_barrier_init(barrier, 2);
        atomic_store(&h->barrier, barrier);
        if (thrum_barrier_wait(barrier) == 0) {
            memset(barrier, 0xee, sizeof(*barrier));
            free(barrier);
        }
    }
    return 0;
}

static int open_it(void *arg) {
    handover *h = ((actor *)arg)->arg;
    for (int i = 0; i < h->rounds; i++) {
        thrum_barrier *barrier;
        YIELD_UNTIL((barrier = atomic_exchange(&h->barrier, NULL)) != NULL);
        if (thrum_barrier_wait(barrier) == 0) {
            memset(barrier, 0xee, sizeof(*barrier));
            free(barrier);
        }
    }
    return 0;
}

TEST(freed_by_a_woken_waiter) {
    /* The last to come does not touch the barrier after another may go on (address sanitizer). */
    rig r;
    rig_begin(&r, 0);
    for (int kinds = 0; kinds < 4; kinds++) {
        cast *c = cast_new(&r);
        handover h = {.rounds = SCALED(kinds == 3 ? 3000 : 150)};
        cast_add(c, (kinds & 1) != 0, free_after_wait, &h);
        cast_add(c, (kinds & 2) != 0, open_it, &h);
        cast_join(c);
    }
    rig_stop(&r);
}
