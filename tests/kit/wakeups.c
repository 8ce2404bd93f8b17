/*
 * wakeups.c: kernels about waits that nobody ends: conditions, events, and elements that another
 * task receives.
 */
#include <stdatomic.h>

#include "kernels.h"

static thrum_mutex lock = THRUM_MUTEX_INIT;
static thrum_cond cond = THRUM_COND_INIT;
static thrum_chan *chan;
static atomic_bool ready;
static int value;

/* ---- the flag changes without the lock, between the look and the wait ---- */

static int waits_for_flag(void *arg) {
    (void)arg;
    thrum_mutex_lock(&lock);
    while (!ready) {
        MUST(thrum_cond_wait(&cond, &lock));
    }
    thrum_mutex_unlock(&lock);
    return 0;
}

static int sets_flag(void *arg) {
    (void)arg;
    if (fixed) {
        thrum_mutex_lock(&lock);
    }
    ready = true;
    thrum_cond_broadcast(&cond);
    if (fixed) {
        thrum_mutex_unlock(&lock);
    }
    return 0;
}

KERNEL(flag_without_lock, "deadlock") {
    go(waits_for_flag, NULL);
    go(sets_flag, NULL);
    join_all();
    return 0;
}

/* ---- the broadcast comes before the change, and the lock is free in between ---- */

static int announces(void *arg) {
    (void)arg;
    if (!fixed) {
        thrum_cond_broadcast(&cond);
    }
    thrum_mutex_lock(&lock);
    ready = true;
    if (fixed) {
        thrum_cond_broadcast(&cond);
    }
    thrum_mutex_unlock(&lock);
    return 0;
}

KERNEL(broadcast_before_change, "deadlock") {
    go(waits_for_flag, NULL);
    go(announces, NULL);
    join_all();
    return 0;
}

/* ---- one condition for two kinds of waiters, and a signal that wakes the wrong kind ---- */

static void wake(void) {
    if (fixed) {
        thrum_cond_broadcast(&cond);
    } else {
        thrum_cond_signal(&cond);
    }
}

static int fills(void *arg) {
    (void)arg;
    thrum_mutex_lock(&lock);
    while (value == 1) {
        MUST(thrum_cond_wait(&cond, &lock));
    }
    value = 1;
    wake();
    thrum_mutex_unlock(&lock);
    return 0;
}

static int empties(void *arg) {
    (void)arg;
    thrum_mutex_lock(&lock);
    while (value == 0) {
        MUST(thrum_cond_wait(&cond, &lock));
    }
    value = 0;
    wake();
    thrum_mutex_unlock(&lock);
    return 0;
}

KERNEL(signal_to_the_wrong_waiter, "deadlock") {
    go(empties, NULL);
    go(empties, NULL);
    go(fills, NULL);
    go(fills, NULL);
    join_all();
    return 0;
}

/* ---- two signals of an auto event become one ---- */

static thrum_event added = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);

static int adds_two(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        thrum_mutex_lock(&lock);
        value++;
        thrum_mutex_unlock(&lock);
        thrum_event_signal(&added);
    }
    return 0;
}

static int takes_one(void *arg) {
    (void)arg;
    MUST(thrum_event_wait(&added));
    thrum_mutex_lock(&lock);
    const bool more = --value > 0;
    thrum_mutex_unlock(&lock);
    if (more && fixed) {
        thrum_event_signal(&added);
    }
    return 0;
}

KERNEL(auto_event_for_two, "deadlock") {
    go(takes_one, NULL);
    go(takes_one, NULL);
    go(adds_two, NULL);
    join_all();
    return 0;
}

/* ---- an event that is cleared after the look, with what came meanwhile ---- */

static thrum_event changed = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);

static int changes(void *arg) {
    (void)arg;
    thrum_mutex_lock(&lock);
    value++;
    thrum_mutex_unlock(&lock);
    thrum_event_signal(&changed);
    return 0;
}

static int looks(void *arg) {
    int seen = 0;
    (void)arg;
    while (seen < 2) {
        MUST(thrum_event_wait(&changed));
        if (fixed) {
            thrum_event_clear(&changed);
        }
        thrum_mutex_lock(&lock);
        seen = value;
        thrum_mutex_unlock(&lock);
        if (!fixed) {
            thrum_event_clear(&changed);
        }
    }
    return 0;
}

KERNEL(cleared_after_the_look, "deadlock") {
    go(looks, NULL);
    go(changes, NULL);
    go(changes, NULL);
    join_all();
    return 0;
}

/* ---- an element that is there at the look, and received by another task ---- */

static int receives_if_any(void *arg) {
    int number;
    (void)arg;
    if (fixed) {
        (void)!thrum_chan_try_recv(chan, &number);
    } else if (thrum_chan_len(chan) > 0) {
        MUST(thrum_chan_recv(chan, &number));
    }
    return 0;
}

KERNEL(len_then_receive, "deadlock") {
    const int one = 1;
    MUST(thrum_chan_create(&chan, sizeof(int), 2));
    MUST(thrum_chan_send(chan, &one));
    go(receives_if_any, NULL);
    go(receives_if_any, NULL);
    join_all();
    return thrum_chan_destroy(chan);
}

/* ---- a select of a channel that does not exist yet ---- */

static _Atomic(thrum_chan *) results;

static void make_results(void) {
    MUST(thrum_chan_create(&chan, sizeof(int), 1));
    results = chan;
}

static int sends_result(void *arg) {
    const int one = 1;
    (void)arg;
    if (!fixed) {
        make_results();
    }
    return thrum_chan_send(results, &one);
}

static int selects_result(void *arg) {
    int number;
    (void)arg;
    thrum_case cases[1] = {THRUM_RECV_CASE(results, &number)};
    return thrum_select(cases, 1, THRUM_FOREVER);
}

KERNEL(channel_made_late, "deadlock") {
    if (fixed) {
        make_results();
    }
    go(sends_result, NULL);
    go(selects_result, NULL);
    join_all();
    return thrum_chan_destroy(results);
}
