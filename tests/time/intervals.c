/*
 * intervals.c: intervals: when their ticks come, alone and in a select, and what a late one does to
 * those behind it.
 */
/* matrix: policy workers */
#include "time/hours.h"

/* Runs a test in a task and on a plain thread. */
static void on_both(void (*fn)(void *arg)) {
    fn(NULL);
    on_thread(fn, NULL);
}

static void ticks_on_time(void *arg) {
    (void)arg;
    for (int missed = THRUM_MISSED_BURST; missed <= THRUM_MISSED_SKIP; missed++) {
        thrum_interval interval;
        const thrum_time began = thrum_now();
        thrum_interval_init(&interval, began + HOUR, 2 * HOUR, (thrum_missed)missed);
        for (int i = 0; i < 5; i++) {
            const thrum_time due = interval.next;
            CHECK_EQ(thrum_interval_wait(&interval), 0);
            CHECK_NOW(due);
#ifdef TIME_IS_VIRTUAL
            CHECK_EQ(interval.next, began + HOUR + (i + 1) * 2 * HOUR);
#endif
        }
    }
}

TEST(ticks_come_once_a_period) {
    /* They do not drift. */
    on_both(ticks_on_time);
}

/* A tick that is taken so many hours after it was due; then the distance of the next one. */
static thrum_time next_after(thrum_missed missed, thrum_time late, uint64_t skipped) {
    thrum_interval interval;
    const thrum_time first = thrum_now();
    thrum_interval_init(&interval, first, 2 * HOUR, missed);
    CHECK_EQ(thrum_sleep_until(first + late), 0);
    CHECK_EQ(thrum_interval_wait(&interval), 0);
#ifdef TIME_IS_VIRTUAL
    CHECK_NOW(first + late);
    CHECK_EQ(interval.skipped, skipped);
#else
    CHECK(interval.skipped >= skipped);
#endif
    return interval.next - first;
}

#ifdef TIME_IS_VIRTUAL
#define CHECK_NEXT(next, hours) CHECK_EQ(next, (hours)*HOUR)
#else
#define CHECK_NEXT(next, hours) CHECK((next) >= (hours)*HOUR)
#endif

static void ticks_late(void *arg) {
    (void)arg;
    CHECK_EQ(next_after(THRUM_MISSED_BURST, 7 * HOUR, 0), 2 * HOUR); /* due already: a burst */
    CHECK_NEXT(next_after(THRUM_MISSED_DELAY, 7 * HOUR, 0), 9);
    CHECK_NEXT(next_after(THRUM_MISSED_SKIP, 7 * HOUR, 3), 8);
    CHECK_NEXT(next_after(THRUM_MISSED_SKIP, 4 * HOUR, 2), 6); /* not the present instant */
    CHECK_NEXT(next_after(THRUM_MISSED_SKIP, HOUR, 0), 2);
}

TEST(a_late_tick_decides_when_the_next_is_due) {
    /* It follows at once, a period later, or at the next multiple of the period. */
    on_both(ticks_late);
}

static void ticks_until(void *arg) {
    thrum_interval interval;
    (void)arg;
    const thrum_time began = thrum_now();
    thrum_interval_init(&interval, began + AMPLE(4), HOUR, THRUM_MISSED_BURST);
    CHECK(!thrum_interval_test(&interval));
    CHECK_EQ(thrum_interval_wait_until(&interval, began + HOUR), -ETIMEDOUT);
    CHECK_NOW(began + HOUR);
    CHECK_EQ(thrum_interval_wait_until(&interval, 0), -ETIMEDOUT);
    CHECK_EQ(interval.next, began + AMPLE(4));
    interval.next = began;
    CHECK_EQ(thrum_interval_wait_until(&interval, 0),
             0); /* it is due, so the deadline is no matter */
    CHECK_EQ(interval.next, began + HOUR);
    CHECK(thrum_interval_test(&interval));
    CHECK_EQ(interval.next, began + 2 * HOUR);
}

TEST(a_deadline_leaves_the_tick_for_later) {
    /* A wait in vain changes nothing, and a tick that is due is taken in any case. */
    on_both(ticks_until);
}

static void ticks_once(void *arg) {
    thrum_interval interval;
    (void)arg;
    thrum_interval_init(&interval, thrum_now(), THRUM_FOREVER, THRUM_MISSED_DELAY);
    CHECK_EQ(thrum_interval_wait(&interval), 0);
    CHECK_EQ(interval.next, THRUM_FOREVER);
    CHECK(!thrum_interval_test(&interval));
    CHECK_EQ(thrum_interval_wait_until(&interval, past()), -ETIMEDOUT);
    thrum_case cases[] = {THRUM_TICK_CASE(&interval), THRUM_TICK_CASE(NULL)};
    CHECK_EQ(thrum_select(cases, 2, past()), -ETIMEDOUT);
    /* From the beginning of time. */
    thrum_interval_init(&interval, INT64_MIN, THRUM_FOREVER, THRUM_MISSED_SKIP);
    CHECK(thrum_interval_test(&interval));
    CHECK_EQ(interval.skipped, 1);
    CHECK_EQ(interval.next, THRUM_FOREVER);
}

TEST(an_interval_for_ever_ticks_once) {
    /* No sum of instants overflows. */
    on_both(ticks_once);
}

/* ---- in a select ---- */

static void selects_ticks(void *arg) {
    (void)arg;
    thrum_interval slow;
    thrum_interval fast;
    thrum_event event = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);
    thrum_chan *chan;
    int value = 0;
    CHECK_EQ(thrum_chan_create(&chan, sizeof value, 1), 0);
    const thrum_time began = thrum_now();
    thrum_interval_init(&slow, began + AMPLE(300), AMPLE(300), THRUM_MISSED_BURST);
    thrum_interval_init(&fast, began + AMPLE(300), 2 * HOUR, THRUM_MISSED_BURST);
    thrum_case cases[] = {THRUM_TICK_CASE(&slow), THRUM_RECV_CASE(chan, &value),
                          THRUM_EVENT_CASE(&event), THRUM_TICK_CASE(&fast)};
    CHECK_EQ(thrum_select(cases, 4, began + HOUR), -ETIMEDOUT);
    CHECK_NOW(began + HOUR);
    fast.next = began + 2 * HOUR;
    cases[3].status = 7;
    CHECK_EQ(thrum_select(cases, 4, THRUM_FOREVER), 3);
    CHECK_NOW(began + 2 * HOUR);
    CHECK_EQ(cases[3].status, 0);
    CHECK_EQ(thrum_select(cases, 4, began + 4 * HOUR), 3); /* due at the deadline itself */
    fast.next = thrum_after(AMPLE(300));
    thrum_event_signal(&event);
    CHECK_EQ(thrum_select(cases, 4, THRUM_FOREVER), 2);
    CHECK_EQ(thrum_chan_send(chan, &value), 0);
    CHECK_EQ(thrum_select(cases, 4, THRUM_FOREVER), 1);
    slow.next = began;
    CHECK_EQ(thrum_select(cases, 1, 0), 0); /* late, but a tick is due */
    CHECK_EQ(slow.next, began + AMPLE(300));
    CHECK_EQ(thrum_chan_destroy(chan), 0);
}

TEST(a_tick_is_a_case_of_a_select) {
    /* It ends the wait when it is due; other cases leave it as it is. */
    on_both(selects_ticks);
}

TEST(ticks_and_elements_take_turns) {
    /* Neither a tick nor an element that is always there keeps the other from happening. */
    enum { ROUNDS = 400 };
    int got[2] = {0};
    int value = 0;
    thrum_interval interval;
    thrum_chan *chan;
    CHECK_EQ(thrum_chan_create(&chan, sizeof value, 1), 0);
    thrum_interval_init(&interval, thrum_now() - ROUNDS, 1, THRUM_MISSED_BURST);
    CHECK_EQ(thrum_chan_send(chan, &value), 0);
    thrum_case cases[] = {THRUM_RECV_CASE(chan, &value), THRUM_TICK_CASE(&interval)};
    for (int i = 0; i < ROUNDS; i++) {
        int which = thrum_select(cases, 2, THRUM_FOREVER);
        CHECK(which == 0 || which == 1);
        got[which]++;
        if (which == 0) {
            CHECK_EQ(thrum_chan_send(chan, &value), 0);
        }
    }
    CHECK(got[0] > ROUNDS / 4);
    CHECK(got[1] > ROUNDS / 4);
    CHECK_EQ(thrum_chan_destroy(chan), 0);
}

static thrum_chan *numbers;

static int sends_in_time(void *arg) {
    const thrum_time began = *(const thrum_time *)arg;
    for (int i = 1; i <= 4; i++) {
        CHECK_EQ(thrum_sleep_until(began + i * 3 * HOUR), 0);
        CHECK_EQ(thrum_chan_send(numbers, &i), 0);
    }
    return 0;
}

TEST(elements_that_come_between_ticks_are_received) {
    /* A select of both, again and again: nothing is lost, and each comes at its time. */
    thrum_interval interval;
    int value = 0;
    int ticks = 0;
    int elements = 0;
    thrum_time began = thrum_now();
    thrum_handle *handle;
    CHECK_EQ(thrum_chan_create(&numbers, sizeof value, 0), 0);
    thrum_interval_init(&interval, began + 2 * HOUR, 2 * HOUR, THRUM_MISSED_BURST);
    CHECK_EQ(thrum_spawn(&handle, sends_in_time, &began), 0);
    while (ticks < 7 || elements < 4) {
        thrum_case cases[] = {THRUM_TICK_CASE(&interval), THRUM_RECV_CASE(numbers, &value)};
        int which = thrum_select(cases, 2, THRUM_FOREVER);
        if (which == 0) {
            CHECK_NOW(began + ++ticks * 2 * HOUR);
        } else {
            CHECK_EQ(which, 1);
            CHECK_EQ(value, ++elements);
            CHECK_ABOUT(began + value * 3 * HOUR);
        }
    }
    CHECK_EQ(thrum_join(handle, NULL), 0);
    CHECK_EQ(thrum_chan_destroy(numbers), 0);
}

/* ---- cancelled ---- */

static int ticks_until_cancelled(void *arg) {
    int64_t ticks = 0;
    int err;
    while ((err = thrum_interval_wait(arg)) == 0) {
        ticks++;
    }
    CHECK_EQ(err, -ECANCELED);
    thrum_interval *interval = arg;
    interval->next = thrum_now();
    CHECK_EQ(thrum_interval_wait(interval), -ECANCELED); /* one that is due, too */
    thrum_shield_begin();
    CHECK_EQ(thrum_interval_wait(interval), 0);
    CHECK_EQ(thrum_interval_wait(interval), 0); /* after a period */
    thrum_shield_end();
    return ticks > INT32_MAX ? INT32_MAX : (int)ticks;
}

TEST(a_cancel_ends_a_wait_for_a_tick) {
    /* It also ends a loop that is always late, but no wait behind a shield. */
    thrum_interval interval;
    thrum_handle *handle;
    int ticks = 0;
    const thrum_time began = thrum_now();
    thrum_interval_init(&interval, began + 2 * HOUR, 2 * HOUR, THRUM_MISSED_SKIP);
    CHECK_EQ(thrum_spawn(&handle, ticks_until_cancelled, &interval), 0);
    CHECK_EQ(thrum_sleep_until(began + 7 * HOUR), 0);
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(thrum_join(handle, &ticks), 0);
#ifdef TIME_IS_VIRTUAL
    CHECK_EQ(ticks, 3);
#endif
}

/* ---- without a stack ---- */

static thrum_interval beat;
static thrum_event last = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
static int beats;

static void on_beat(thrum_task *self, void *arg) {
    (void)arg;
    CHECK(thrum_interval_test(&beat));
    if (++beats == 3) {
        thrum_event_signal(&last);
        return;
    }
    CHECK_EQ(thrum_task_post_until(thrum_sched_current(), self, beat.next), 0);
}

TEST(a_task_without_a_stack_ticks) {
    /* It posts itself until the next tick. */
    thrum_task task;
    const thrum_time began = thrum_now();
    beats = 0;
    thrum_event_clear(&last);
    thrum_interval_init(&beat, began + HOUR, HOUR, THRUM_MISSED_BURST);
    thrum_task_init(&task, on_beat, NULL);
    CHECK_EQ(thrum_task_post_until(thrum_sched_current(), &task, beat.next), 0);
    CHECK_EQ(thrum_event_wait(&last), 0);
    CHECK_ABOUT(began + 3 * HOUR);
}
