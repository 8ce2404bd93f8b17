/*
 * thrum/signal.h: tasks that wait for signals of the process.
 *
 * A signal that is caught is counted, and the handler that the program had set for it is called;
 * the default action is not taken. Signal masks stay as they are: workers block all signals except
 * a few (docs/fork.md), so one of the program's own threads takes the signal. At least one of them
 * must not block it.
 */
#ifndef THRUM_SIGNAL_H
#define THRUM_SIGNAL_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * Catches a signal, and releases it. It is caught from the first thrum_signal_catch on, until
 * thrum_signal_release was called as often. So no signal is missed between two waits.
 *
 * If the program sets another handler meanwhile, that handler stays, and a later thrum_signal_catch
 * is put before it. In the child of a fork, signals that the parent caught are no longer caught.
 *
 * Parameters:
 *   signal  the number of the signal, such as SIGTERM
 * Returns: 0, or a negative error code with nothing changed.
 * Errors:
 *   -EINVAL           it is no signal or cannot be caught; thrum_signal_release: it is not caught
 *   -EBUSY            thrum_signal_catch: the program has set another handler for the third time
 *   -EMFILE, -ENFILE  thrum_signal_catch: the system has no descriptor left
 *   -ENOMEM           thrum_signal_catch: there is no memory
 *   -ENOSYS           thrum_signal_catch: in a sandbox without eventfd
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    int err = thrum_signal_catch(SIGHUP);
 * See also: thrum_signal_wait
 */
THRUM_API THRUM_NODISCARD int thrum_signal_catch(int signal);
THRUM_API int thrum_signal_release(int signal);

/*
 * Waits for one of n signals, and catches all of them while it waits. If a signal came k times
 * while it was caught, k waits get it. A signal that has come already is taken even past the
 * deadline or by a cancelled caller.
 *
 * Parameters:
 *   signals   the numbers of the signals; the array is used until the call returns
 *   n         how many there are, at least 1
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: the number of the signal, or a negative error code with no signal taken.
 * Errors:
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -EINVAL           signals is NULL, n is 0, or one is no signal or cannot be caught
 *   -EBUSY            the program has set another handler for one of them for the third time
 *   -EMFILE, -ENFILE  the system has no descriptor left
 *   -ENOMEM           there is no memory
 *   -ENOSYS           in a sandbox without epoll or eventfd
 *   -ENOSPC           the system's limit of watched descriptors is reached
 * Context: any thread; may suspend; cancellable.
 * Ordering: the writes, before the signal, of the thread that took it are visible.
 * Example: examples/jobs.c
 * See also: thrum_signal_catch
 */
THRUM_API THRUM_NODISCARD int thrum_signal_wait(const int *signals, unsigned n,
                                                thrum_time deadline);

THRUM_END_DECLS

#endif
