/*
 * wait_any.c: a wait on several lists (core/wait/WAITING.md) by way of events: against signals,
 * timeouts and another such wait. An event that it reports as consumed is consumed, the rest is
 * still there, and the waiter may free its objects.
 */
#include <errno.h>

#include <thrum/chan.h>
#include <thrum/event.h>

#include "crew.h"

#define LATER 1000000

static thrum_event *events[2];
static int data[2]; /* plain: published by each signal */
static int got[2];  /* results of the waits */

static void make(thrum_event_mode mode) {
    for (unsigned i = 0; i < 2; i++) {
        events[i] = sim_alloc(sizeof *events[i]);
        thrum_event_init(events[i], mode, false);
    }
}

static void make_auto(void) {
    make(THRUM_EVENT_AUTO);
}

static void make_manual(void) {
    make(THRUM_EVENT_MANUAL);
}

static void drop(unsigned i) {
    sim_check(thrum_event_destroy(events[i]) == 0);
    sim_free(events[i]);
}

static void signal(unsigned i) {
    data[i] = 1;
    thrum_event_signal(events[i]);
}

static void signal_a(void *unused) {
    (void)unused;
    signal(0);
}

static void signal_b(void *unused) {
    (void)unused;
    signal(1);
}

static int wait_any(thrum_event *const list[], size_t n, thrum_time deadline) {
    int result = thrum_event_wait_any(list, n, deadline);
    crew_scrub(); /* the parts were there */
    return result;
}

/* ---- one wait, two signals ---- */

static void wait_for_one(void *unused) {
    (void)unused;
    got[0] = wait_any(events, 2, THRUM_FOREVER);
    sim_check(got[0] == 0 || got[0] == 1);
    sim_check(data[got[0]] == 1);
}

static void other_is_left(void) {
    sim_check(!thrum_event_test(events[got[0]]));
    sim_check(thrum_event_test(events[1 - got[0]]));
    drop(0);
    drop(1);
}

/* One of two signals is consumed, the other stays. */
static const crew_play one_of_two = {
    make_auto, other_is_left, 3, {wait_for_one, signal_a, signal_b}};
CREW_WORLDS(wait_any_one, one_of_two)
CREW_WORLD_SCHED(wait_any_one, one_of_two)

static void wait_and_free(void *unused) {
    wait_for_one(unused);
    drop(0);
    drop(1);
}

/* The signal has touched the event, and the parts, for the last time when the wait returns. */
static const crew_play freed = {make_auto, NULL, 2, {wait_and_free, signal_b}};
CREW_WORLDS(wait_any_freed, freed, .exhaustive = true)
CREW_WORLD_SCHED(wait_any_freed, freed)

static const crew_play freed_manual = {make_manual, NULL, 2, {wait_and_free, signal_b}};
CREW_WORLDS(wait_any_freed_manual, freed_manual, .exhaustive = true)

/* ---- one event in two places ---- */

static void wait_for_twice(void *unused) {
    (void)unused;
    thrum_event *const list[] = {events[1], events[0], events[1]};
    int result = wait_any(list, 3, THRUM_FOREVER);
    sim_check(result == 0 || result == 2);
    sim_check(data[1] == 1);
    drop(0);
    drop(1);
}

static const crew_play twice = {make_auto, NULL, 2, {wait_for_twice, signal_b}};
CREW_WORLDS(wait_any_twice, twice, .exhaustive = true)

static const crew_play twice_manual = {make_manual, NULL, 2, {wait_for_twice, signal_b}};
CREW_WORLDS(wait_any_twice_manual, twice_manual, .exhaustive = true)

/* ---- against the deadline ---- */

static void wait_late(void *unused) {
    (void)unused;
    got[0] = wait_any(events, 2, thrum_after(LATER));
    sim_check(got[0] == 0 || got[0] == 1 || got[0] == -ETIMEDOUT);
    sim_check(got[0] < 0 || data[got[0]] == 1);
}

static void both_accounted_for(void) {
    for (int i = 0; i < 2; i++) {
        sim_check(thrum_event_test(events[i]) == (got[0] != i));
        drop((unsigned)i);
    }
}

/* A wait that may be late meets two signals: an event that it did not report as taken is there. */
static const crew_play late = {make_auto, both_accounted_for, 3, {wait_late, signal_a, signal_b}};
CREW_WORLDS(wait_any_late, late, .exhaustive = true, .timers_max = 2)
CREW_WORLD_SCHED(wait_any_late, late)

/* ---- two waits ---- */

static void wait_backwards(void *unused) {
    (void)unused;
    thrum_event *const list[] = {events[1], events[0]};
    int result = wait_any(list, 2, THRUM_FOREVER);
    sim_check(result == 0 || result == 1);
    got[1] = 1 - result;
    sim_check(data[got[1]] == 1);
}

static void each_has_one(void) {
    sim_check(got[0] != got[1]);
    for (unsigned i = 0; i < 2; i++) {
        sim_check(!thrum_event_test(events[i]));
        drop(i);
    }
}

/* Two waits on the same two events, in different orders, meet a signal each. */
static const crew_play two_waits = {
    make_auto, each_has_one, 4, {wait_for_one, wait_backwards, signal_a, signal_b}};
CREW_WORLDS(wait_any_two, two_waits)

/* ---- beside a plain wait that is late ---- */

static void wait_plain_late(void *unused) {
    (void)unused;
    got[1] = thrum_event_wait_until(events[1], thrum_after(LATER));
    crew_scrub();
    sim_check(got[1] == 0 || got[1] == -ETIMEDOUT);
}

static void signal_b_then_a(void *unused) {
    signal_b(unused);
    signal_a(unused);
}

static void passed_on(void) {
    unsigned taken = (unsigned)(got[0] == 0) + (unsigned)(got[0] == 1) + (unsigned)(got[1] == 0);
    unsigned left = (unsigned)thrum_event_test(events[0]) + (unsigned)thrum_event_test(events[1]);
    sim_check(taken + left == 2);
    drop(0);
    drop(1);
}

/* A signal that meets a waiter that is late, or woken elsewhere, goes on to the next or stays. */
static const crew_play passing = {
    make_auto, passed_on, 3, {wait_late, wait_plain_late, signal_b_then_a}};
CREW_WORLDS(wait_any_passed, passing, .exhaustive = true, .timers_max = 3)

/* ---- a deadline in the past ---- */

/* The first is signaled before the play. */
static void make_first(thrum_event_mode mode) {
    make(mode);
    signal(0);
}

static void make_first_auto(void) {
    make_first(THRUM_EVENT_AUTO);
}

static void make_first_manual(void) {
    make_first(THRUM_EVENT_MANUAL);
}

static void look_once(void *unused) {
    (void)unused;
    thrum_event *const list[] = {events[1], events[0]}; /* the first look goes the other way */
    int result = wait_any(list, 2, 0);
    sim_check(result == 0 || result == 1);
    sim_check(data[1 - result] == 1);
}

static void select_once(void *unused) {
    (void)unused;
    thrum_case cases[] = {THRUM_EVENT_CASE(events[1]), THRUM_EVENT_CASE(events[0])};
    int result = thrum_select(cases, 2, 0);
    crew_scrub();
    sim_check(result == 0 || result == 1);
    sim_check(data[1 - result] == 1);
}

static void signal_b_then_clear_a(void *unused) {
    signal_b(unused);
    thrum_event_clear(events[0]);
}

static void signal_b_then_take_a(void *unused) {
    signal_b(unused);
    sim_check(thrum_event_test(events[0]) || got[0] >= 0);
}

static void drop_both(void) {
    drop(0);
    drop(1);
}

/* One of two events is signaled at every moment: a late wait for both finds one. */
static const crew_play always_one = {
    make_first_manual, drop_both, 2, {look_once, signal_b_then_clear_a}};
CREW_WORLDS(wait_any_past, always_one, .exhaustive = true)

static const crew_play always_one_auto = {
    make_first_auto, drop_both, 2, {look_once, signal_b_then_take_a}};
CREW_WORLDS(wait_any_past_auto, always_one_auto, .exhaustive = true)

/* The same for a select of events. */
static const crew_play always_case = {
    make_first_auto, drop_both, 2, {select_once, signal_b_then_take_a}};
CREW_WORLDS(select_events_past, always_case)
