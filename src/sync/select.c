/*
 * select.c: one of several sends and receives.
 *
 * A select first looks at its cases without locks, and tries the one that it chose with that
 * channel's lock alone. If no case can proceed it takes the locks of all its channels, in the order
 * of their addresses, looks once more, and queues on every list a part of one wait before it gives
 * the locks up. So no thread ever finds a select half queued; and a caller that makes a transfer
 * with a waiting select holds the lock of a channel where that is queued, and claims its wait. A
 * select that makes a transfer while it holds all its locks is not on any list itself and cannot be
 * claimed, so two selects that could meet need one claim, not two. sync/README.md has the argument.
 */
#include "core/wait/wait.h"
#include "platform/platform.h"
#include "sync/among.h"
#include "sync/cases.h"

/* Does one case that can proceed at once. Returns its number, -EAGAIN or -ENOMEM. */
static int try_some(thrum_case cases[], size_t n) {
    int found;
    while ((found = th_cases_look(cases, n)) >= 0) { /* lock-free: a failure is another's success */
        thrum_case *c = &cases[found];
        int result = c->kind == THRUM_CASE_SEND ? thrum_chan_try_send(c->chan, c->from)
                                                : thrum_chan_try_recv(c->chan, c->to);
        if (result == -ENOMEM) {
            return result;
        }
        if (result != -EAGAIN) {
            c->status = result;
            return found;
        }
    }
    return -EAGAIN;
}

/* ---- waiting ---- */

static int select_on(thrum_case cases[], size_t n, thrum_time deadline, th_place places[]) {
    th_waiter me;
    size_t channels = th_cases_sort(cases, n, places);
    for (;;) {
        th_transfer transfer;
        th_cases_lock(places, channels);
        int found = th_cases_transfer(cases, n, &transfer);
        if (found == -EAGAIN) {
            break;
        }
        size_t elem_size = found >= 0 ? cases[found].chan->elem_size : 0;
        th_cases_unlock(places, channels);
        if (found >= 0) {
            th_chan_conclude(&transfer, elem_size);
            return found;
        }
        /* a segment is needed, which is not allocated with locks held */
        if ((found = try_some(cases, n)) != -EAGAIN) {
            return found;
        }
    }
    th_waiter_init(&me, TH_ON_SELECT, n ? cases[0].chan : NULL);
    me.timed = true;
    th_cases_stand(cases, n, places, &me);
    th_cases_unlock(places, channels);
    uint32_t outcome = th_waiter_wait_until(&me, deadline);
    int happened = outcome == TH_WAIT_WOKEN ? me.value : -1;
    th_cases_leave(cases, n, places, happened);
    if (happened < 0) {
        return th_waiter_result(outcome);
    }
    cases[happened].status = places[happened].op.status;
    return happened;
}

static TH_NOINLINE int select_few(thrum_case cases[], size_t n, thrum_time deadline) {
    th_place places[TH_CASES_FEW];
    return select_on(cases, n, deadline, places);
}

static TH_NOINLINE int select_many(thrum_case cases[], size_t n, thrum_time deadline) {
    th_place places[THRUM_SELECT_FRAME];
    return select_on(cases, n, deadline, places);
}

static TH_NOINLINE int select_crowd(thrum_case cases[], size_t n, thrum_time deadline) {
    th_place *places = th_os_alloc(n * sizeof *places);
    if (!places) {
        return -ENOMEM;
    }
    int result = select_on(cases, n, deadline, places);
    th_os_free(places);
    return result;
}

int thrum_select(thrum_case cases[], size_t n, thrum_time deadline) {
    if ((n > 0 && !cases) || n > INT32_MAX / sizeof(th_place)) {
        return -EINVAL;
    }
    for (size_t i = 0; i < n; i++) {
        if (cases[i].kind != THRUM_CASE_SEND && cases[i].kind != THRUM_CASE_RECV) {
            return th_select_among(cases, n, deadline);
        }
    }
    int result = try_some(cases, n);
    if (result != -EAGAIN) {
        return result;
    }
    if (deadline != THRUM_FOREVER && deadline <= th_os_now()) {
        return -ETIMEDOUT;
    }
    return n <= TH_CASES_FEW         ? select_few(cases, n, deadline)
           : n <= THRUM_SELECT_FRAME ? select_many(cases, n, deadline)
                                     : select_crowd(cases, n, deadline);
}
