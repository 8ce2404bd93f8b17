/*
 * signal.c: signals of the process, as far as Windows has some: a console's events, and what the
 * program raises itself.
 *
 *   SIGINT    Control-C, unless the program was started to ignore it
 *   SIGBREAK  Control-Break
 *   SIGTERM   the console is closed, the user logs off, the system ends; for which the system gives
 *             the program some seconds, until it kills it
 *
 * The system calls its handlers on a thread of their own, which is in no fiber. The C library's
 * raise calls a handler on the thread itself, and takes it away before that; so it is put back.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "base/atomic.h"
#include "platform/platform.h"
#include "platform/windows/nt.h"

typedef void (*handler)(int number);

static void (*xcaught[TH_OS_CATCHERS])(int number);
static uint32_t xcatching[TH_OS_SIGNALS]; /* bits of catchers */
static handler xbefore[TH_OS_SIGNALS];    /* what the C library had */

static bool can_be_caught(int number) {
    return number == SIGINT || number == SIGTERM || number == SIGBREAK;
}

static bool is_function(handler h) {
    return h != SIG_DFL && h != SIG_IGN && h != SIG_ERR && h != SIG_SGE;
}

/* True: somebody has caught it. */
static bool call_catchers(int number) {
    /* pairs: th_os_signal_catch; the function, and what was there before */
    const uint32_t bits = th_load_acquire(&xcatching[number]);
    for (unsigned i = 0; i < TH_OS_CATCHERS; i++) {
        if (bits >> i & 1) {
            th_load_relaxed (&xcaught[i])(number); /* relaxed: behind the bits */
        }
    }
    return bits != 0;
}

/* Of the C library's. */
static void on_raised(int number) {
    (void)signal(number, on_raised);
    (void)call_catchers(number);
    const handler before = th_load_relaxed(&xbefore[number]); /* relaxed: behind the bits */
    if (is_function(before)) {
        before(number);
    }
}

static BOOL WINAPI on_event(DWORD event) {
    const int number = event == CTRL_C_EVENT       ? SIGINT
                       : event == CTRL_BREAK_EVENT ? SIGBREAK
                                                   : SIGTERM;
    if (!call_catchers(number)) {
        return FALSE;
    }
    if (number == SIGTERM) {
        Sleep(INFINITE); /* the process ends when this returns, or when it has ended itself */
    }
    return TRUE;
}

static BOOL CALLBACK begin(INIT_ONCE *once, void *arg, void **context) {
    (void)once;
    (void)arg;
    (void)context;
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
    int saved = th_os_errno_get();
    const handler now = signal(number, on_raised);
    if (now != on_raised) {
        th_store_relaxed(&xbefore[number], now); /* relaxed: the bit publishes it */
    }
    th_store_relaxed(&xcaught[catcher], caught); /* relaxed: likewise */
    /* pairs: call_catchers; the function, and what was there before */
    (void)th_or_release(&xcatching[number], 1u << catcher);
    th_os_errno_set(saved);
    return 0;
}

bool th_os_signal_is_ours(int number) {
    int saved = th_os_errno_get();
    const handler now = signal(number, SIG_GET);
    th_os_errno_set(saved);
    return now == on_raised;
}

void th_os_signal_release(int number, th_os_catcher catcher) {
    const uint32_t bit = 1u << catcher;
    /* relaxed: what is read of a catcher stays valid */
    if (th_and_relaxed(&xcatching[number], ~bit) == bit && th_os_signal_is_ours(number)) {
        int saved = th_os_errno_get();
        (void)signal(number, th_load_relaxed(&xbefore[number])); /* relaxed: one call at a time */
        th_os_errno_set(saved);
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
