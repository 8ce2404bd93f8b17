/*
 * found_elsewhere.c: faults that a predecessor of this library had, each a test here: two signals
 * that hit one and the same waiter, and a wait that says it was late although it took the signal.
 * That waiters are served in order, and that borrowing several does not deadlock, is tested with
 * each primitive and with the pool.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"
#include "support/times.h"

enum { WAITERS = 8 };

typedef struct stage {
    rig r;
    thrum_event event;
    thrum_sem sem;
    thrum_mutex mutex;
    thrum_cond cond;
    int tokens; /* protected by the mutex */
    atomic_int woken;
    atomic_int taken, late;
    atomic_bool over;
    int rounds;
} stage;

static stage *stage_new(void) {
    stage *s = calloc(1, sizeof(*s));
    CHECK(s != NULL);
    thrum_event_init(&s->event, THRUM_EVENT_AUTO, false);
    thrum_sem_init(&s->sem, 0);
    thrum_mutex_init(&s->mutex);
    thrum_cond_init(&s->cond);
    rig_begin(&s->r, 0);
    return s;
}

static void stage_end(stage *s) {
    CHECK_EQ(thrum_event_destroy(&s->event), 0);
    CHECK_EQ(thrum_sem_destroy(&s->sem), 0);
    CHECK_EQ(thrum_cond_destroy(&s->cond), 0);
    CHECK_EQ(thrum_mutex_destroy(&s->mutex), 0);
    rig_stop(&s->r);
    free(s);
}

/* ---- two quick signals ---- */

static int on_event(void *arg) {
    stage *s = ((actor *)arg)->arg;
    bool timed = ((actor *)arg)->index % 4 == 1;
    CHECK_EQ(timed ? thrum_event_wait_until(&s->event, far_off()) : thrum_event_wait(&s->event), 0);
    atomic_fetch_add(&s->woken, 1);
    return 0;
}

static int on_sem(void *arg) {
    stage *s = ((actor *)arg)->arg;
    bool timed = ((actor *)arg)->index % 4 == 1;
    CHECK_EQ(timed ? thrum_sem_wait_until(&s->sem, far_off()) : thrum_sem_wait(&s->sem), 0);
    atomic_fetch_add(&s->woken, 1);
    return 0;
}

static int on_cond(void *arg) {
    stage *s = ((actor *)arg)->arg;
    bool timed = ((actor *)arg)->index % 4 == 1;
    thrum_mutex_lock(&s->mutex);
    CHECK_EQ(timed ? thrum_cond_wait_until(&s->cond, &s->mutex, far_off())
                   : thrum_cond_wait(&s->cond, &s->mutex),
             0);
    thrum_mutex_unlock(&s->mutex);
    atomic_fetch_add(&s->woken, 1);
    return 0;
}

TEST(two_quick_signals_of_an_event_wake_two) {
    /* The signals follow each other before any waiter has run: each is for another waiter. */
    stage *s = stage_new();
    cast *c = cast_new(&s->r);
    cast_add_mixed(c, WAITERS / 2, WAITERS / 2, on_event, s);
    SPIN_UNTIL(EVENT_WAITING(&s->event) == WAITERS);
    for (int i = 2; i <= WAITERS; i += 2) {
        thrum_event_signal(&s->event);
        thrum_event_signal(&s->event);
        CHECK_EQ(EVENT_WAITING(&s->event), WAITERS - i);
        SPIN_UNTIL(atomic_load(&s->woken) == i);
    }
    cast_join(c);
    CHECK(!thrum_event_is_signaled(&s->event));
    stage_end(s);
}

TEST(two_quick_posts_of_a_semaphore_wake_two) {
    /* The same holds for posts. */
    stage *s = stage_new();
    cast *c = cast_new(&s->r);
    cast_add_mixed(c, WAITERS / 2, WAITERS / 2, on_sem, s);
    SPIN_UNTIL(SEM_WAITING(&s->sem) == WAITERS);
    for (int i = 2; i <= WAITERS; i += 2) {
        thrum_sem_post(&s->sem);
        thrum_sem_post(&s->sem);
        CHECK_EQ(SEM_WAITING(&s->sem), WAITERS - i);
        SPIN_UNTIL(atomic_load(&s->woken) == i);
    }
    cast_join(c);
    CHECK_EQ(thrum_sem_try_wait(&s->sem), -EAGAIN);
    stage_end(s);
}

TEST(two_quick_signals_of_a_cond_wake_two) {
    /* The same holds with the mutex held, so that no waiter can have come back in between. */
    stage *s = stage_new();
    cast *c = cast_new(&s->r);
    cast_add_mixed(c, WAITERS / 2, WAITERS / 2, on_cond, s);
    SPIN_UNTIL(COND_WAITING(&s->cond) == WAITERS);
    for (int i = 2; i <= WAITERS; i += 2) {
        thrum_mutex_lock(&s->mutex);
        thrum_cond_signal(&s->cond);
        thrum_cond_signal(&s->cond);
        CHECK_EQ(COND_WAITING(&s->cond), WAITERS - i);
        thrum_mutex_unlock(&s->mutex);
        SPIN_UNTIL(atomic_load(&s->woken) == i);
    }
    cast_join(c);
    stage_end(s);
}

/* ---- late, and yet it took the signal ---- */

static thrum_time briefly(int i) {
    return thrum_after_us(i % 40);
}

static int take_signals(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; !atomic_load(&s->over); i++) {
        int result = thrum_event_wait_until(&s->event, briefly(i));
        CHECK(result == 0 || result == -ETIMEDOUT);
        atomic_fetch_add(result ? &s->late : &s->taken, 1);
    }
    return 0;
}

TEST(a_signal_is_taken_by_the_wait_that_reports_it) {
    /*
     * There is one signal at a time, and waits are late all the time: each signal is reported by
     * one of them. If a late one had taken it, this would wait for ever.
     */
    stage *s = stage_new();
    s->rounds = SCALED(3000);
    cast *c = cast_new(&s->r);
    cast_add_mixed(c, 4, 2, take_signals, s);
    for (int i = 0; i < s->rounds; i++) {
        thrum_event_signal(&s->event);
        SPIN_UNTIL(atomic_load(&s->taken) == i + 1);
        CHECK(!thrum_event_is_signaled(&s->event));
    }
    atomic_store(&s->over, true);
    cast_join(c);
    CHECK_EQ(atomic_load(&s->taken), s->rounds);
    stage_end(s);
}

static int take_units(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; !atomic_load(&s->over); i++) {
        int result = thrum_sem_wait_until(&s->sem, briefly(i));
        CHECK(result == 0 || result == -ETIMEDOUT);
        atomic_fetch_add(result ? &s->late : &s->taken, 1);
    }
    return 0;
}

TEST(a_unit_is_taken_by_the_wait_that_reports_it) {
    /* The same holds for posts of several units at a time. */
    stage *s = stage_new();
    s->rounds = SCALED(3000);
    cast *c = cast_new(&s->r);
    cast_add_mixed(c, 4, 2, take_units, s);
    int posted = 0;
    for (int i = 0; i < s->rounds; i++) {
        for (int j = 0; j <= i % 3; j++) {
            thrum_sem_post(&s->sem);
            posted++;
        }
        SPIN_UNTIL(atomic_load(&s->taken) == posted);
    }
    atomic_store(&s->over, true);
    cast_join(c);
    CHECK_EQ(atomic_load(&s->taken), posted);
    CHECK_EQ(thrum_sem_try_wait(&s->sem), -EAGAIN);
    stage_end(s);
}

/* Has no use for tokens: passes on each signal that its wait reports. */
static int pass_signals_on(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; !atomic_load(&s->over); i++) {
        thrum_mutex_lock(&s->mutex);
        int result = thrum_cond_wait_until(&s->cond, &s->mutex, briefly(i));
        CHECK(result == 0 || result == -ETIMEDOUT);
        if (!result) {
            thrum_cond_signal(&s->cond);
        }
        atomic_fetch_add(&s->late, result != 0);
        thrum_mutex_unlock(&s->mutex);
    }
    return 0;
}

static int take_tokens(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; i < s->rounds; i++) {
        thrum_mutex_lock(&s->mutex);
        while (s->tokens == 0) {
            CHECK_EQ(thrum_cond_wait(&s->cond, &s->mutex), 0);
        }
        s->tokens--;
        thrum_mutex_unlock(&s->mutex);
        atomic_fetch_add(&s->taken, 1);
    }
    return 0;
}

TEST(a_cond_signal_is_passed_on_by_the_wait_that_reports_it) {
    /*
     * One waits for ever, others briefly: in the end that one has the signal. If a late one had
     * taken it, this would wait for ever.
     */
    stage *s = stage_new();
    s->rounds = SCALED(2000);
    cast *c = cast_new(&s->r);
    cast_add_mixed(c, 3, 2, pass_signals_on, s);
    cast_add(c, true, take_tokens, s);
    for (int i = 0; i < s->rounds; i++) {
        thrum_mutex_lock(&s->mutex);
        s->tokens++;
        thrum_cond_signal(&s->cond);
        thrum_mutex_unlock(&s->mutex);
        SPIN_UNTIL(atomic_load(&s->taken) == i + 1);
    }
    atomic_store(&s->over, true);
    cast_join(c);
    stage_end(s);
}
