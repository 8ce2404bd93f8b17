/*
 * times.h: how tests read the clock and let time pass (tools/check/timing-allow lists the
 * exceptions).
 *
 * A test fails only for a bug in the library, so no test asserts how long something takes. It may
 * pass one of three deadlines, depending on the wait that the test expects:
 *
 *   past()     has passed already: the call looks once and does not wait
 *   soon()     passes while nothing else ends the wait: the outcome is -ETIMEDOUT, however late
 *   far_off()  never passes within a test: something else ends the wait, however slowly
 *
 * A wait that may end either way takes soon() and accepts both outcomes.
 */
#ifndef TIMES_H
#define TIMES_H

#include <thrum.h>

#include "check.h"

CHECK_UNUSED static thrum_time past(void) {
    return thrum_now() - 1;
}

CHECK_UNUSED static thrum_time soon(void) {
    return thrum_after(1000000);
}

CHECK_UNUSED static thrum_time far_off(void) {
    return thrum_after(INT64_C(1000) * 3600 * 1000000000);
}

/* Checks that a deadline has passed: no wait may report -ETIMEDOUT earlier. */
#define CHECK_PASSED(deadline)                                                                     \
    do {                                                                                           \
        const thrum_time deadline_ = (deadline);                                                   \
        CHECK(thrum_now() >= deadline_);                                                           \
    } while (0)

/* Spins until a deadline has passed. */
CHECK_UNUSED static void await_passed(thrum_time deadline) {
    while (thrum_now() < deadline) {
    }
}

/* Suspends the calling task until a timer wakes it. Nothing may depend on how long that takes. */
CHECK_UNUSED static void nap(void) {
    CHECK_EQ(thrum_sleep(100000), 0);
}

/* Suspends the calling task until it is cancelled; the code of the sleep. */
CHECK_UNUSED static int sleep_until_cancelled(void) {
    return thrum_sleep_until(far_off());
}

#endif
