/*
 * select.c: one of several sends and receives.
 *
 * A select first looks at its cases without locks, and tries the one that it chose with that
 * channel's lock alone. If no case can proceed it takes the locks of all its channels, in the order
 * of their addresses, looks once more, and queues on every list a part of one wait before it gives
 * the locks up. So no thread ever finds a select half queued; and a caller that makes a transfer
 * with a waiting select holds the lock of a channel on which that is queued, and claims its wait. A
 * select that makes a transfer while it holds all its locks is not on any list itself and cannot be
 * claimed, so two selects that could meet need one claim, not two. sync/CHANNELS.md has the
 * argument. Here is the first look; the rest is in among.c.
 */
#include "core/wait/wait.h"
#include "platform/platform.h"
#include "select/among.h"
#include "select/cases.h"

int thrum_select(thrum_case cases[], size_t n, thrum_time deadline) {
    if ((n > 0 && !cases) || n > INT32_MAX / sizeof(th_place)) {
        return -EINVAL;
    }
    for (size_t i = 0; i < n; i++) {
        if (cases[i].kind != THRUM_CASE_SEND && cases[i].kind != THRUM_CASE_RECV) {
            return th_select_among(cases, n, false, deadline);
        }
    }
    int result = th_cases_transfer(cases, n, false, NULL);
    return result != -EAGAIN ? result : th_select_wait(cases, n, deadline);
}

int thrum_select_ordered(thrum_case cases[], size_t n, thrum_time deadline) {
    if ((n > 0 && !cases) || n > INT32_MAX / sizeof(th_place)) {
        return -EINVAL;
    }
    return th_select_among(cases, n, true, deadline);
}
