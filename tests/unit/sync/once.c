/*
 * once.c: done once, by fibers and by plain threads.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"
#include "support/times.h"

typedef struct stage {
    thrum_once once;
    thrum_sem go; /* what a function waits for, in some tests */
    order log;
    atomic_int began, ended, calls, late;
    int fails; /* how many calls fail first */
    int plain; /* written by the functions, seen by all whose call returned 0 */
} stage;

static stage *stage_new(int fails) {
    stage *s = calloc(1, sizeof(*s));
    CHECK(s != NULL);
    thrum_once_init(&s->once);
    thrum_sem_init(&s->go, 0);
    s->fails = fails;
    return s;
}

static int set_it(void *arg) {
    stage *s = arg;
    atomic_fetch_add(&s->calls, 1);
    s->plain++;
    return s->plain <= s->fails ? -EIO : 3;
}

TEST(it_is_done_once) {
    /* The first call does it; 0 or more is success; destroying makes it anew. */
    stage *s = stage_new(0);
    CHECK(!thrum_once_is_done(&s->once));
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(thrum_once_run(&s->once, set_it, s), 0);
        CHECK(thrum_once_is_done(&s->once));
        CHECK_EQ(s->plain, 1);
    }
    CHECK_EQ(thrum_once_run_until(&s->once, set_it, s, 0), 0);
    CHECK_EQ(thrum_once_destroy(&s->once), 0);
    CHECK(!thrum_once_is_done(&s->once));
    CHECK_EQ(thrum_once_run_until(&s->once, set_it, s, 0), 0);
    CHECK_EQ(s->plain, 2);
    free(s);
}

TEST(a_failure_is_told_and_tried_again) {
    /* Each caller gets its own failure; the next one tries, until it is done. */
    stage *s = stage_new(2);
    CHECK_EQ(thrum_once_run(&s->once, set_it, s), -EIO);
    CHECK(!thrum_once_is_done(&s->once));
    CHECK_EQ(thrum_once_run(&s->once, set_it, s), -EIO);
    CHECK_EQ(thrum_once_run(&s->once, set_it, s), 0);
    CHECK_EQ(thrum_once_run(&s->once, set_it, s), 0);
    CHECK_EQ(s->plain, 3);
    CHECK_EQ(thrum_once_run(&s->once, NULL, s), 0);
    CHECK_EQ(thrum_once_destroy(&s->once), 0);
    CHECK_EQ(thrum_once_run(&s->once, NULL, s), -EINVAL);
    free(s);
}

TEST(static_initializer_is_init) {
    /* Both make the same bytes. */
    static thrum_once by_text = THRUM_ONCE_INIT;
    thrum_once by_call;
    thrum_once_init(&by_call);
    CHECK(memcmp(&by_text, &by_call, sizeof(by_call)) == 0);
}

/* ---- several ---- */

static int set_when_told(void *arg) {
    stage *s = arg;
    atomic_fetch_add(&s->began, 1);
    CHECK_EQ(thrum_sem_wait(&s->go), 0);
    return set_it(s);
}

static int run_and_see(void *arg) {
    stage *s = ((actor *)arg)->arg;
    CHECK_EQ(thrum_once_run(&s->once, set_when_told, s), 0);
    CHECK_EQ(s->plain, 1);
    atomic_fetch_add(&s->ended, 1);
    return 0;
}

TEST(others_wait_until_it_is_done) {
    /* The function blocks; fibers and threads wait for it, and see what it wrote. */
    rig r;
    rig_begin(&r, 0);
    for (int first = 0; first < 2; first++) {
        cast *c = cast_new(&r);
        stage *s = stage_new(0);
        cast_add(c, first != 0, run_and_see, s);
        SPIN_UNTIL(atomic_load(&s->began) == 1);
        cast_add_mixed(c, 20, 6, run_and_see, s);
        SPIN_UNTIL(ONCE_WAITING(&s->once) == 26);
        CHECK_EQ(atomic_load(&s->ended), 0);
        CHECK(!thrum_once_is_done(&s->once));
        thrum_sem_post(&s->go);
        cast_join(c);
        CHECK_EQ(atomic_load(&s->calls), 1);
        CHECK_EQ(thrum_once_destroy(&s->once), 0);
        free(s);
    }
    rig_stop(&r);
}

static int fail_and_log(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    order_add(&s->log, a->index);
    return set_when_told(s);
}

static int run_and_log(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    int result = thrum_once_run(&s->once, fail_and_log, a);
    CHECK_EQ(result, a->index < s->fails ? -EIO : 0);
    return 0;
}

TEST(the_longest_waiter_tries_next) {
    /*
     * Each failure hands the turn to the first that waits; those behind the one that succeeds are
     * not called.
     */
    enum { N = 12, FAILS = 7 };
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    stage *s = stage_new(FAILS);
    for (int i = 0; i < N; i++) {
        cast_add(c, i % 3 != 0, run_and_log, s);
        SPIN_UNTIL(atomic_load(&s->began) == 1 && ONCE_WAITING(&s->once) == i);
    }
    for (int i = 0; i <= FAILS; i++) {
        SPIN_UNTIL(atomic_load(&s->began) == i + 1);
        CHECK_EQ(ONCE_WAITING(&s->once), N - 1 - i);
        thrum_sem_post(&s->go);
    }
    cast_join(c);
    CHECK_EQ(atomic_load(&s->log.count), FAILS + 1);
    for (int i = 0; i <= FAILS; i++) {
        CHECK_EQ(s->log.seen[i], i);
    }
    CHECK(thrum_once_is_done(&s->once));
    free(s);
    rig_stop(&r);
}

static int run_quietly(void *arg) {
    stage *s = ((actor *)arg)->arg;
    int result = thrum_once_run(&s->once, set_it, s);
    CHECK(result == 0 || result == -EIO);
    if (!result) {
        CHECK_EQ(s->plain, s->fails + 1);
    }
    atomic_fetch_add(&s->late, result != 0);
    return 0;
}

TEST(a_crowd_comes_at_once) {
    /* There are as many failures as were told; then it is done, once. */
    rig r;
    rig_begin(&r, 0);
    for (int round = 0; round < 20; round++) {
        cast *c = cast_new(&r);
        stage *s = stage_new(round % 4);
        cast_add_mixed(c, 30, 4, run_quietly, s);
        cast_join(c);
        CHECK_EQ(atomic_load(&s->late), s->fails);
        CHECK_EQ(s->plain, s->fails + 1);
        CHECK_EQ(thrum_once_destroy(&s->once), 0);
        free(s);
    }
    rig_stop(&r);
}

/* ---- from within ---- */

static int run_again(void *arg) {
    stage *s = arg;
    CHECK_EQ(thrum_once_run(&s->once, set_it, s), -EDEADLK);
    CHECK_EQ(thrum_once_run_until(&s->once, set_it, s, THRUM_FOREVER), -EDEADLK);
    thrum_yield();
    CHECK_EQ(thrum_once_run(&s->once, set_it, s), -EDEADLK);
    return 0;
}

static int recur(void *arg) {
    CHECK_EQ(thrum_once_run(&((stage *)arg)->once, run_again, arg), 0);
    return 0;
}

TEST(a_call_from_within_is_a_deadlock) {
    /* It is -EDEADLK for the same task or thread, and changes nothing. */
    stage *s = stage_new(0);
    rig_do(0, recur, s);
    CHECK(thrum_once_is_done(&s->once));
    CHECK_EQ(thrum_once_destroy(&s->once), 0);
    CHECK_EQ(recur(s), 0);
    CHECK_EQ(s->plain, 0);
    free(s);
}

/* ---- with a deadline ---- */

static int run_in_vain(void *arg) {
    stage *s = ((actor *)arg)->arg;
    thrum_time until = soon();
    CHECK_EQ(thrum_once_run_until(&s->once, set_it, s, 0), -ETIMEDOUT);
    CHECK_EQ(thrum_once_run_until(&s->once, set_it, s, until), -ETIMEDOUT);
    CHECK_PASSED(until);
    atomic_fetch_add(&s->late, 1);
    return 0;
}

TEST(a_late_caller_is_not_called) {
    /* The others wait on; nothing of the late ones is left behind. */
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    stage *s = stage_new(0);
    cast_add(c, true, run_and_see, s);
    SPIN_UNTIL(atomic_load(&s->began) == 1);
    cast_add_mixed(c, 4, 4, run_in_vain, s);
    cast_add_mixed(c, 3, 3, run_and_see, s);
    SPIN_UNTIL(atomic_load(&s->late) == 8 && ONCE_WAITING(&s->once) == 6);
    thrum_sem_post(&s->go);
    cast_join(c);
    CHECK_EQ(atomic_load(&s->calls), 1);
    CHECK_EQ(thrum_once_destroy(&s->once), 0);
    free(s);
    rig_stop(&r);
}

/* ---- the end ---- */

TEST(destroy_is_refused_while_it_runs) {
    /* -EBUSY changes nothing. */
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    stage *s = stage_new(0);
    cast_add(c, true, run_and_see, s);
    SPIN_UNTIL(atomic_load(&s->began) == 1);
    CHECK_EQ(thrum_once_destroy(&s->once), -EBUSY);
    cast_add_mixed(c, 1, 1, run_and_see, s);
    SPIN_UNTIL(ONCE_WAITING(&s->once) == 2);
    const thrum_once before = s->once;
    CHECK_EQ(thrum_once_destroy(&s->once), -EBUSY);
    CHECK(memcmp(&before, &s->once, sizeof(before)) == 0);
    thrum_sem_post(&s->go);
    cast_join(c);
    CHECK_EQ(thrum_once_destroy(&s->once), 0);
    free(s);
    rig_stop(&r);
}

static int keeps_waiting(void *arg) {
    stage *s = arg;
    CHECK_EQ(thrum_once_run(&s->once, set_it, s), 0);
    CHECK_EQ(s->plain, 1);
    atomic_fetch_add(&s->ended, 1);
    return 0;
}

static void *run_in_thread(void *arg) {
    stage *s = arg;
    CHECK_EQ(thrum_once_run(&s->once, set_when_told, s), 0);
    return NULL;
}

TEST(waiting_for_it_is_not_cancelled) {
    /* Fibers that wait when everything is cancelled go on when it is done. */
    enum { N = 20 };
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new(0);
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, run_in_thread, s), 0);
    SPIN_UNTIL(atomic_load(&s->began) == 1);
    for (int i = 0; i < N; i++) {
        rig_go(&r, keeps_waiting, s);
    }
    SPIN_UNTIL(ONCE_WAITING(&s->once) == N);
    CHECK_EQ(thrum_sched_stop_until(r.sched, past()), -ETIMEDOUT);
    CHECK_EQ(ONCE_WAITING(&s->once), N);
    thrum_sem_post(&s->go);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&s->ended), N);
    free(s);
}
