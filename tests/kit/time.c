/*
 * time.c: kernels about deadlines, sleeps, timers and cancels.
 */
#include "kernels.h"

static thrum_mutex lock = THRUM_MUTEX_INIT;
static thrum_chan *chan, *replies;
static int value;

static void create(thrum_chan **out, size_t elem_size, size_t capacity) {
    MUST(thrum_chan_create(out, elem_size, capacity));
}

/* ---- a ticker that is not there to hear that it shall stop ---- */

static int ticks(void *arg) {
    int number;
    (void)arg;
    while (thrum_chan_recv_until(chan, &number, thrum_after_ms(100)) == -ETIMEDOUT) {
        thrum_mutex_lock(&lock);
        value++;
        thrum_mutex_unlock(&lock);
    }
    return 0;
}

KERNEL(ticker_never_stopped, "leak") {
    const int stop = 1;
    create(&chan, sizeof(int), 0);
    MUST(thrum_go(ticks, NULL));
    MUST(thrum_sleep(THRUM_MS(300)));
    if (fixed) {
        MUST(thrum_chan_close(chan));
    } else {
        (void)!thrum_chan_try_send(chan, &stop);
    }
    thrum_test_settle();
    thrum_chan_destroy(chan); /* -EBUSY while the ticker uses it */
    return 0;
}

/* ---- a timer that is forgotten if the result comes first ---- */

static thrum_event timeout = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);

static int times_out(void *arg) {
    (void)arg;
    if (thrum_sleep(THRUM_MS(100)) == 0) {
        thrum_event_signal(&timeout);
    }
    return 0;
}

static int computes(void *arg) {
    const int result = 1;
    (void)arg;
    MUST(thrum_sleep(THRUM_MS(100)));
    return thrum_chan_send(chan, &result);
}

KERNEL(timer_not_cancelled, "leak") {
    int result;
    thrum_handle *timer;
    create(&chan, sizeof(int), 1);
    go(computes, NULL);
    MUST(thrum_spawn(&timer, times_out, NULL));
    thrum_case cases[2] = {THRUM_RECV_CASE(chan, &result), THRUM_EVENT_CASE(&timeout)};
    const int which = thrum_select(cases, 2, THRUM_FOREVER);
    if (which == 1 || fixed) {
        thrum_cancel(timer);
        MUST(thrum_join(timer, NULL));
    }
    join_all();
    return thrum_chan_destroy(chan);
}

/* ---- a lock held over a sleep, and an urgent task with a deadline ---- */

static int backs_up(void *arg) {
    (void)arg;
    thrum_mutex_lock(&lock);
    value++;
    if (fixed) {
        thrum_mutex_unlock(&lock);
    }
    MUST(thrum_sleep(THRUM_MS(100)));
    if (!fixed) {
        thrum_mutex_unlock(&lock);
    }
    return 0;
}

static int is_urgent(void *arg) {
    (void)arg;
    THRUM_TEST(thrum_mutex_lock_until(&lock, thrum_after_ms(50)) == 0);
    value++;
    thrum_mutex_unlock(&lock);
    return 0;
}

KERNEL(sleep_with_lock, "check") {
    go(is_urgent, NULL);
    go(backs_up, NULL);
    join_all();
    return 0;
}

/* ---- an inner wait with a deadline of its own, later than the one around it ---- */

static int answers_under_lock(void *arg) {
    const int one = 1;
    (void)arg;
    thrum_mutex_lock(&lock);
    MUST(thrum_chan_send(replies, &one));
    thrum_mutex_unlock(&lock);
    return 0;
}

static int sleeps_under_lock(void *arg) {
    (void)arg;
    thrum_mutex_lock(&lock);
    MUST(thrum_sleep(THRUM_MS(300)));
    thrum_mutex_unlock(&lock);
    return 0;
}

static int asks(void *arg) {
    int answer;
    (void)arg;
    thrum_shield_begin(); /* a question that is asked is waited for */
    const int err =
        thrum_chan_recv_until(replies, &answer, fixed ? thrum_deadline() : thrum_after_ms(200));
    thrum_shield_end();
    return err;
}

KERNEL(deadline_not_passed_on, "check") {
    create(&replies, sizeof(int), 1);
    go(answers_under_lock, NULL);
    go(sleeps_under_lock, NULL);
    const thrum_time began = thrum_now();
    (void)!thrum_with_deadline(thrum_after_ms(100), asks, NULL, NULL);
    THRUM_TEST(thrum_now() - began < THRUM_MS(150));
    join_all();
    return thrum_chan_destroy(replies);
}

/* ---- a retry of a message that has arrived, but is not acknowledged yet ---- */

static int pays(void *arg) {
    int number, last = 0;
    (void)arg;
    while (thrum_chan_recv(chan, &number) == 0) {
        thrum_mutex_lock(&lock);
        if (number != last || !fixed) {
            value++;
        }
        last = number;
        thrum_mutex_unlock(&lock);
        MUST(thrum_chan_send(replies, &number));
    }
    return 0;
}

KERNEL(retry_duplicates, "check") {
    const int number = 7;
    int answer;
    create(&chan, sizeof(int), 3);
    create(&replies, sizeof(int), 3);
    go(pays, NULL);
    go(sleeps_under_lock, NULL);
    for (int i = 0; i < 3; i++) {
        MUST(thrum_chan_send(chan, &number));
        if (thrum_chan_recv_until(replies, &answer, thrum_after_ms(100)) == 0) {
            break;
        }
    }
    MUST(thrum_chan_close(chan));
    join_all();
    THRUM_TEST(value == 1);
    MUST(thrum_chan_destroy(replies));
    return thrum_chan_destroy(chan);
}

/* ---- a reply to a question that was given up is taken for the next one's ---- */

typedef struct question {
    int number;
    thrum_chan *reply;
} question;

static int replies_under_lock(void *arg) {
    question q;
    (void)arg;
    while (thrum_chan_recv(chan, &q) == 0) {
        thrum_mutex_lock(&lock);
        MUST(thrum_chan_send(q.reply, &q.number));
        thrum_mutex_unlock(&lock);
    }
    return 0;
}

KERNEL(stale_reply, "check") {
    create(&chan, sizeof(question), 0);
    create(&replies, sizeof(int), 2);
    go(replies_under_lock, NULL);
    go(sleeps_under_lock, NULL);
    for (int number = 1; number <= 2; number++) {
        int answer = 0, err;
        MUST(thrum_chan_send(chan, &(question){number, replies}));
        do {
            err = thrum_chan_recv_until(replies, &answer, thrum_after_ms(100));
        } while (fixed && err == 0 && answer != number);
        THRUM_TEST(err != 0 || answer == number);
    }
    MUST(thrum_chan_close(chan));
    join_all();
    MUST(thrum_chan_destroy(replies));
    return thrum_chan_destroy(chan);
}

/* ---- a cancelled task keeps its permit ---- */

static thrum_sem permits = THRUM_SEM_INIT(1);

static int works_with_permit(void *arg) {
    (void)arg;
    int err = thrum_sem_wait(&permits);
    if (err != 0) {
        return err;
    }
    err = thrum_sleep(THRUM_MS(100));
    if (err == 0 || fixed) {
        thrum_sem_post(&permits);
    }
    return err;
}

KERNEL(permit_lost_on_cancel, "deadlock") {
    thrum_handle *one;
    go(works_with_permit, NULL);
    MUST(thrum_spawn(&one, works_with_permit, NULL));
    MUST(thrum_sleep(THRUM_MS(50)));
    thrum_cancel(one);
    MUST(thrum_join(one, NULL));
    join_all();
    return thrum_sem_wait(&permits);
}

/* ---- a participant of a barrier that gives up, and is not replaced ---- */

static thrum_barrier barrier = THRUM_BARRIER_INIT(3);

static int is_patient(void *arg) {
    (void)arg;
    THRUM_TEST(thrum_barrier_wait(&barrier) >= 0);
    return 0;
}

static int is_impatient(void *arg) {
    (void)arg;
    const int err = thrum_barrier_wait_until(&barrier, fixed ? THRUM_FOREVER : thrum_after_ms(100));
    THRUM_TEST(err >= 0 || err == -ETIMEDOUT);
    return 0;
}

static int is_slow(void *arg) {
    (void)arg;
    MUST(thrum_sleep(THRUM_MS(100)));
    return is_patient(arg);
}

KERNEL(barrier_left_early, "deadlock") {
    go(is_slow, NULL);
    go(is_patient, NULL);
    go(is_impatient, NULL);
    join_all();
    return 0;
}
