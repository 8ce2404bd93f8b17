/*
 * signal.h: the part of the platform's contract that is about signals of the process. Included by
 * platform.h.
 */
#ifndef TH_SIGNAL_H
#define TH_SIGNAL_H

#include "base/cc.h"

/* Numbers of signals are below this. */
#define TH_OS_SIGNALS 65

/*
 * From now on `caught(number)` is called when a thread takes the signal, in its handler, and then
 * the handler that was there before, if it was one; what the signal does by default it does not do.
 * `caught` is the same in all calls, and uses only what is safe in a handler. The calls for one
 * signal are made one at a time. -EINVAL: no signal, or one that cannot be caught; -EBUSY: the
 * program has put handlers before ours too often.
 */
int th_os_signal_catch(int number, void (*caught)(int number));
/* As it was before, unless the program has set another handler meanwhile: that stays. */
void th_os_signal_release(int number);
/* Whether the signal's handler is ours: the program has set no other one since. */
bool th_os_signal_is_ours(int number);
/* In `caught`: what the signal does by default, if that is what it did before, and the handler is
 * ours. */
void th_os_signal_default(int number);

/* "SIGTERM", "SIGRTMIN+2", or "signal 7" for one that is seldom waited for. */
#define TH_OS_SIGNAL_TEXT 24u
void th_os_signal_name(int number, char text[TH_OS_SIGNAL_TEXT]);

#endif
