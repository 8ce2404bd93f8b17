/*
 * event.c: the event, auto and manual (src/sync/COUNTERS.md, "Event"): the absorbed signal, signal
 * against wait, signal against free.
 */
#include <thrum/event.h>

#include "base/atomic.h"
#include "crew.h"
#include "sync/wordlock.h"

static thrum_event *event;
static int data; /* plain: published by the signal */
static unsigned counter;
static uint32_t xleft;
static uint32_t xitems;
static uint32_t xgo;

static void make(thrum_event_mode mode, bool signaled) {
    event = sim_alloc(sizeof *event);
    thrum_event_init(event, mode, signaled);
}

static void make_auto(void) {
    make(THRUM_EVENT_AUTO, false);
}

static void make_manual(void) {
    make(THRUM_EVENT_MANUAL, false);
    xleft = 2;
}

static void make_manual_signaled(void) {
    make(THRUM_EVENT_MANUAL, true);
}

static void make_auto_signaled(void) {
    make(THRUM_EVENT_AUTO, true);
}

static void end(void) {
    thrum_event *gone = event;
    sim_check(thrum_event_destroy(gone) == 0);
    sim_free(gone);
    crew_scrub();
}

static void signal_once(void *unused) {
    (void)unused;
    data = 1;
    thrum_event_signal(event);
}

/* ---- one waiter, which frees it at once ---- */

static void wait_and_free(void *unused) {
    (void)unused;
    sim_check(thrum_event_wait(event) == 0);
    sim_check(data == 1);
    end();
}

/* The signal must have touched the event for the last time when the wait returns. */
static const crew_play auto_handover = {make_auto, NULL, 2, {wait_and_free, signal_once}};
CREW_WORLDS(event_auto_handover, auto_handover, .exhaustive = true)
CREW_WORLD_SCHED(event_auto_handover, auto_handover)

static const crew_play manual_handover = {make_manual, NULL, 2, {wait_and_free, signal_once}};
CREW_WORLDS(event_manual_handover, manual_handover, .exhaustive = true)

static void test_and_free(void *unused) {
    (void)unused;
    crew_until(thrum_event_test(event));
    sim_check(data == 1);
    end();
}

static void look_and_free(void *unused) {
    (void)unused;
    crew_until(thrum_event_is_signaled(event));
    sim_check(data == 1);
    end();
}

/* The same for threads that never wait: each kind of look acquires. */
static const crew_play auto_tested = {make_auto, NULL, 2, {test_and_free, signal_once}};
CREW_WORLDS(event_auto_tested, auto_tested, .exhaustive = true)

static const crew_play manual_tested = {make_manual, NULL, 2, {test_and_free, signal_once}};
CREW_WORLDS(event_manual_tested, manual_tested, .exhaustive = true)

static const crew_play looked_at = {make_manual, NULL, 2, {look_and_free, signal_once}};
CREW_WORLDS(event_looked_at, looked_at, .exhaustive = true)

/* Until the waiter is on the list, a pulse wakes nobody. */
static void pulse_until_gone(void *unused) {
    (void)unused;
    data = 1;
    /* relaxed: a waiter that is on the list does not leave it by itself */
    crew_until((th_load_relaxed(&event->reserved_word) & TH_WORD_WAITERS) != 0);
    thrum_event_pulse(event);
}

/* The pulse must have touched the event for the last time when the wait returns. */
static const crew_play auto_pulse = {make_auto, NULL, 2, {wait_and_free, pulse_until_gone}};
CREW_WORLDS(event_auto_pulse, auto_pulse, .exhaustive = true)
CREW_WORLD_SCHED(event_auto_pulse, auto_pulse)

/* ---- several ---- */

static void wait_last_frees(void *unused) {
    (void)unused;
    sim_check(thrum_event_wait(event) == 0);
    sim_check(data == 1);
    crew_scrub();
    if (th_sub_acq_rel(&xleft, 1u) == 1) {
        end();
    }
}

/* A manual event lets all through; the last of them frees it while the signal may be under way. */
static const crew_play manual_all = {
    make_manual, NULL, 3, {wait_last_frees, wait_last_frees, signal_once}};
CREW_WORLDS(event_manual_all, manual_all, .exhaustive = true)
CREW_WORLD_SCHED(event_manual_all, manual_all)

static void enter(void *unused) {
    (void)unused;
    sim_check(thrum_event_wait(event) == 0);
    counter++; /* plain: an auto event lets one through */
    thrum_event_signal(event);
    crew_scrub();
}

static void three_entered(void) {
    sim_check(counter == 3);
    sim_check(thrum_event_test(event));
    sim_check(!thrum_event_is_signaled(event));
    end();
}

/* The signal of an auto event goes round like a token. */
static const crew_play token = {make_auto_signaled, three_entered, 3, {enter, enter, enter}};
CREW_WORLDS(event_token, token, .exhaustive = true)
CREW_WORLD_SCHED(event_token, token)

/* ---- the absorbed signal ---- */

/* Signals announce items; some of them find the event signaled already. */
static void produce(void *unused) {
    (void)unused;
    for (uint32_t i = 1; i <= 2; i++) {
        th_store_relaxed(&xitems, i);
        thrum_event_signal(event);
    }
}

static void consume_cleared(void *unused) {
    (void)unused;
    for (;;) {
        thrum_event_clear(event);
        if (th_load_relaxed(&xitems) == 2) {
            return;
        }
        sim_check(thrum_event_wait(event) == 0);
    }
}

static void consume_auto(void *unused) {
    (void)unused;
    while (th_load_relaxed(&xitems) != 2) {
        sim_check(thrum_event_wait(event) == 0);
    }
}

/* Clear, look, wait: an item that was not seen has its signal after the clear. */
static const crew_play absorbed = {make_manual_signaled, end, 2, {consume_cleared, produce}};
CREW_WORLDS(event_absorbed, absorbed, .exhaustive = true)

/* The same with an auto event, which the wait clears, or the clear. */
static const crew_play absorbed_auto = {make_auto_signaled, end, 2, {consume_auto, produce}};
CREW_WORLDS(event_absorbed_auto, absorbed_auto, .exhaustive = true)

static const crew_play absorbed_auto_cleared = {
    make_auto_signaled, end, 2, {consume_cleared, produce}};
CREW_WORLDS(event_absorbed_auto_cleared, absorbed_auto_cleared, .exhaustive = true)

/* ---- destroying ---- */

static bool is_waited_for(void) {
    return (th_load_relaxed(&event->reserved_word) & TH_WORD_WAITERS) != 0;
}

static void wait_only(void *unused) {
    (void)unused;
    sim_check(thrum_event_wait(event) == 0);
    crew_scrub();
}

static void signal_when_told(void *unused) {
    crew_until(th_load_relaxed(&xgo) == 1);
    signal_once(unused);
}

static void destroy_when_free(void *unused) {
    (void)unused;
    crew_until(is_waited_for());
    sim_check(thrum_event_destroy(event) == -EBUSY);
    th_store_relaxed(&xgo, 1);
    crew_until(thrum_event_destroy(event) == 0);
    sim_free(event);
}

/* It is destroyed as soon as no thread waits: the list belongs to the destroyer. */
static const crew_play destroyed = {
    make_auto, NULL, 3, {destroy_when_free, wait_only, signal_when_told}};
CREW_WORLDS(event_destroyed, destroyed, .exhaustive = true)
