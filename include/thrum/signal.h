/*
 * thrum/signal.h: tasks that wait for signals of the process.
 *
 * A signal that is caught is counted, and calls the handler that the program had set for it; it
 * does not do what it does by default. Masks stay as they are: workers have all signals blocked
 * (docs/fork.md has the few that are not), and it is one of the program's own threads that takes
 * the signal. At least one of them must have it unblocked.
 */
#ifndef THRUM_SIGNAL_H
#define THRUM_SIGNAL_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * Catches a signal from now on, until thrum_signal_release was called as often: so none is missed
 * between two waits. Any thread may call them. They never suspend. They return 0, or -EINVAL for
 * what is no signal or cannot be caught, and thrum_signal_release for one that is not caught;
 * thrum_signal_catch also -EMFILE, -ENFILE or -ENOMEM. When the program has set another handler
 * meanwhile, that stays, and a later catch comes before it; when it has done so for the third time:
 * -EBUSY. In the child of a fork nothing is caught.
 */
THRUM_API THRUM_NODISCARD int thrum_signal_catch(int signal);
THRUM_API int thrum_signal_release(int signal);

/*
 * Waits for one of n signals, which it catches as long as it waits, and returns its number. Of a
 * signal that came k times, caught, k waits get one each. Any thread may call it. It may suspend.
 * Errors: -ETIMEDOUT, -ECANCELED, -ENOSPC, those of thrum_signal_catch.
 */
THRUM_API THRUM_NODISCARD int thrum_signal_wait(const int *signals, unsigned n,
                                                thrum_time deadline);

THRUM_END_DECLS

#endif
