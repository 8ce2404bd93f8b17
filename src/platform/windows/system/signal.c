/*
 * signal.c: signals of the process, as far as Windows has some: a console's events, and signals
 * that the program raises itself.
 *
 *   SIGINT    Control-C, unless the program was started to ignore it
 *   SIGBREAK  Control-Break
 *   SIGTERM   the console is closed, for which the system gives the program some seconds, until it
 *             kills it; to a service also: a user logs off, the system ends
 *
 * The system calls its handlers on a thread of their own, which is in no fiber. The C library's
 * raise calls a handler on the thread itself, and takes it away before that; so it is put back.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "base/atomic.h"
#include "platform/platform.h"
#include "platform/windows/system/nt.h"

typedef void (*handler)(int number);

static void (*xcaught[TH_OS_CATCHERS])(int number);
static uint32_t xcatching[TH_OS_SIGNALS]; /* bits of catchers */
static handler xbefore[TH_OS_SIGNALS];    /* the C library's previous one */
static SRWLOCK handlers = SRWLOCK_INIT;   /* held while the C library is asked for one */

static bool can_be_caught(int number) {
    return number == SIGINT || number == SIGTERM || number == SIGBREAK;
}

static bool is_function(handler h) {
    return h != SIG_DFL && h != SIG_IGN && h != SIG_ERR && h != SIG_SGE;
}

/* True: somebody has caught it. */
static bool call_catchers(int number) {
    /* pairs: th_os_signal_catch; the function, and the previous handler */
    const uint32_t bits = th_load_acquire(&xcatching[number]);
    for (unsigned i = 0; i < TH_OS_CATCHERS; i++) {
        if (bits >> i & 1) {
            th_load_relaxed (&xcaught[i])(number); /* relaxed: behind the bits */
        }
    }
    return bits != 0;
}

/* Calls the previous handler, too, if it is a function. Returns it. */
static handler call_before(int number) {
    const handler before = th_load_relaxed(&xbefore[number]); /* relaxed: behind the bits */
    if (is_function(before)) {
        before(number);
    }
    return before;
}

/* Replaces the C library's handler; returns the previous one. */
static handler exchange(int number, handler h) {
    TH_HOLDS(&handlers);
    return signal(number, h);
}

/* The C library's handler. Wine's takes SIG_GET for a handler, as it does any number. */
static handler handler_of(int number) {
    TH_HOLDS(&handlers);
    const handler now = signal(number, SIG_GET);
    if (signal(number, SIG_GET) == SIG_GET) {
        (void)signal(number, now);
    }
    return now;
}

/*
 * The C library's handler. A release at this moment may have left it there, since the C library had
 * taken it away: then the signal takes its default action. A handler of the program's that puts
 * itself back, as it has to there, does not take this one's place.
 */
static void on_raised(int number) {
    (void)exchange(number, on_raised);
    const bool caught = call_catchers(number);
    const handler before = call_before(number);
    if (before == SIG_DFL && !caught) {
        (void)exchange(number, SIG_DFL);
        (void)raise(number);
    } else if (caught && is_function(before) && handler_of(number) == before) {
        (void)exchange(number, on_raised);
    }
}

/* The program may have set another handler for these two meanwhile, which the C library calls. */
static BOOL WINAPI on_event(DWORD event) {
    const int number = event == CTRL_C_EVENT       ? SIGINT
                       : event == CTRL_BREAK_EVENT ? SIGBREAK
                                                   : SIGTERM;
    if ((number != SIGTERM && handler_of(number) != on_raised) || !call_catchers(number)) {
        return FALSE;
    }
    (void)call_before(number);
    if (number == SIGTERM) {
        Sleep(INFINITE); /* the process ends when this returns, or when it has ended itself */
    }
    return TRUE;
}

/*
 * The handler set last is called first. The C library sets its own when one of the two is
 * requested; it would report everything but Control-C as SIGBREAK, and the program would end at
 * once if that is caught.
 */
static BOOL CALLBACK begin(INIT_ONCE *once, void *arg, void **context) {
    (void)once, (void)arg, (void)context;
    (void)handler_of(SIGINT);
    return SetConsoleCtrlHandler(on_event, TRUE);
}

int th_os_signal_catch(int number, th_os_catcher catcher, void (*caught)(int number)) {
    static INIT_ONCE once = INIT_ONCE_STATIC_INIT;
    if (number <= 0 || number >= TH_OS_SIGNALS || !can_be_caught(number)) {
        return -EINVAL;
    }
    if (!InitOnceExecuteOnce(&once, begin, NULL, NULL)) {
        return -ENOMEM;
    }
    TH_KEEPS_ERRNO;
    const handler now = handler_of(number);
    if (now != on_raised) {
        th_store_relaxed(&xbefore[number], now); /* relaxed: the bit publishes it */
    }
    if (now == SIG_ERR || exchange(number, on_raised) == SIG_ERR) {
        return -EINVAL;
    }
    th_store_relaxed(&xcaught[catcher], caught); /* relaxed: likewise */
    /* pairs: call_catchers; the function, and the previous handler */
    (void)th_or_release(&xcatching[number], 1u << catcher);
    return 0;
}

bool th_os_signal_is_ours(int number) {
    TH_KEEPS_ERRNO;
    const handler now = handler_of(number);
    return now == on_raised;
}

void th_os_signal_release(int number, th_os_catcher catcher) {
    const uint32_t bit = 1u << catcher;
    /* relaxed: a catcher's data stays valid */
    if (th_and_relaxed(&xcatching[number], ~bit) == bit && th_os_signal_is_ours(number)) {
        TH_KEEPS_ERRNO;
        /* relaxed: one call at a time */
        (void)exchange(number, th_load_relaxed(&xbefore[number]));
    }
}

void th_os_signal_default(int number, th_os_catcher catcher) {
    /* relaxed: both may be changed by others meanwhile */
    if (th_load_relaxed(&xcatching[number]) == 1u << catcher &&
        th_load_relaxed(&xbefore[number]) == SIG_DFL && th_os_signal_is_ours(number)) {
        TerminateProcess(GetCurrentProcess(), number == SIGTERM ? 3 : (UINT)STATUS_CONTROL_C_EXIT);
    }
}

bool th_os_signal_asks(int number) {
    return can_be_caught(number);
}

void th_os_signal_name(int number, char text[TH_OS_SIGNAL_TEXT]) {
    const char *name = number == SIGINT     ? "SIGINT"
                       : number == SIGTERM  ? "SIGTERM"
                       : number == SIGBREAK ? "SIGBREAK"
                                            : NULL;
    if (name) {
        (void)snprintf(text, TH_OS_SIGNAL_TEXT, "%s", name);
    } else {
        (void)snprintf(text, TH_OS_SIGNAL_TEXT, "signal %d", number);
    }
}
