/*
 * signal.h: the part of the platform's contract that is about signals of the process. Included by
 * platform.h.
 */
#ifndef TH_SIGNAL_H
#define TH_SIGNAL_H

#include "base/cc.h"

/* Numbers of signals are below this. */
#define TH_OS_SIGNALS 65

/* The parts of the library that catch signals. Several may catch the same one. */
typedef enum {
    TH_OS_CATCH_WAITS, /* io: tasks wait for it */
    TH_OS_CATCH_DUMPS, /* core: it asks for a dump */
    TH_OS_CATCHERS
} th_os_catcher;

/*
 * From now on `caught(number)` is called when a thread takes the signal, in its handler, and then
 * the handler that was there before, if any; the signal's default action is not taken. `caught` is
 * the same in all calls of one catcher, and makes only calls that are safe in a handler. Calls of
 * this and the next are made one at a time (core/basis/caught.h). -EINVAL: no signal, or one that
 * cannot be caught; -EBUSY: the program has put handlers before ours too often.
 */
int th_os_signal_catch(int number, th_os_catcher catcher, void (*caught)(int number));
/*
 * When no catcher is left it is as it was before, unless the program has set another handler
 * meanwhile: that stays. A call of `caught` that has begun on another thread may go on.
 */
void th_os_signal_release(int number, th_os_catcher catcher);
/* Whether the signal's handler is ours: the program has set no other one since. */
bool th_os_signal_is_ours(int number);
/*
 * In `caught` of a catcher: takes the signal's default action, if that was its action before, the
 * handler is ours, and no other catcher has it.
 */
void th_os_signal_default(int number, th_os_catcher catcher);

/*
 * Whether it may be sent as a request: it can be caught, it is no fault, and a thread does not
 * cause it itself.
 */
bool th_os_signal_asks(int number);

/* "SIGTERM", "SIGRTMIN+2", or "signal 7" for a rare one. */
#define TH_OS_SIGNAL_TEXT 24u
void th_os_signal_name(int number, char text[TH_OS_SIGNAL_TEXT]);

#endif
