/*
 * signal.c: handlers of the process's signals, before those that the program has set.
 *
 * A handler that the program sets while ours is there may call ours, the one before it. When the
 * signal is caught again, ours must come before that handler, and must not be the one that it
 * calls, or the two would call each other for ever. So there are several of ours, *links*: a link
 * that a handler of the program's may call stays as it is, and only the newest counts. Behind the
 * newest are all that catch the signal, the *catchers*.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <signal.h>

#include "base/atomic.h"

#define LINKS 3

static struct sigaction before[TH_OS_SIGNALS][LINKS];
static bool displaced[TH_OS_SIGNALS][LINKS]; /* a handler of the program's may call it */
static int xnewest[TH_OS_SIGNALS];
static uint32_t xcatching[TH_OS_SIGNALS]; /* a bit for each catcher */
static void (*xcaught[TH_OS_CATCHERS])(int number);

__thread unsigned th_handlers_depth;

static void call_catchers(int number) {
    /* pairs: th_os_signal_catch; the functions */
    uint32_t catching = th_load_acquire(&xcatching[number]);
    for (int i = 0; i < TH_OS_CATCHERS; i++) {
        if (catching >> i & 1) {
            void (*caught)(int) = th_load_relaxed(&xcaught[i]); /* relaxed: as above */
            caught(number);
        }
    }
}

/* Whether it calls a function: by the value, as the system does, regardless of the flags. */
static bool is_function(const struct sigaction *action) {
    return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

static TH_NO_TSAN void handle(int link, int number, siginfo_t *info, void *context) {
    int saved = th_os_errno_get();
    th_handlers_depth++;
    /* pairs: set_link; the handler before */
    if (th_load_acquire(&xnewest[number]) == link) {
        call_catchers(number);
    }
    const struct sigaction *old = &before[number][link];
    if (is_function(old) && old->sa_flags & SA_SIGINFO) {
        old->sa_sigaction(number, info, context);
    } else if (is_function(old)) {
        old->sa_handler(number);
    }
    th_handlers_depth--;
    th_os_errno_set(saved);
}

static void handle_0(int number, siginfo_t *info, void *context) {
    handle(0, number, info, context);
}

static void handle_1(int number, siginfo_t *info, void *context) {
    handle(1, number, info, context);
}

static void handle_2(int number, siginfo_t *info, void *context) {
    handle(2, number, info, context);
}

static void (*const handlers[LINKS])(int, siginfo_t *, void *) = {handle_0, handle_1, handle_2};

/*
 * The program's flags stay. A signal that had no handler interrupts no call, and needs no room on
 * the stack of a fiber; children whose end is ignored leave nothing behind.
 */
static int flags_over(const struct sigaction *old) {
    const int kept = SA_RESTART | SA_ONSTACK | SA_NODEFER | SA_NOCLDSTOP | SA_NOCLDWAIT;
    int flags = SA_SIGINFO | (old->sa_flags & kept);
    if (!is_function(old)) {
        flags |= SA_RESTART | SA_ONSTACK;
        flags |= old->sa_handler == SIG_IGN ? SA_NOCLDWAIT : 0;
    }
    return flags;
}

/* Which of ours an action is, or -1. */
static int link_of(const struct sigaction *action) {
    for (int i = 0; i < LINKS && action->sa_flags & SA_SIGINFO; i++) {
        if (action->sa_sigaction == handlers[i]) {
            return i;
        }
    }
    return -1;
}

/* A link that nothing else may call, or -EBUSY. */
static int free_link(int number) {
    for (int i = 0; i < LINKS; i++) {
        if (!displaced[number][i]) {
            return i;
        }
    }
    return -EBUSY;
}

/* Sets a link before the handler that is there. */
static int set_link(int number, int link, const struct sigaction *now) {
    struct sigaction ours = {
        .sa_sigaction = handlers[link], .sa_mask = now->sa_mask, .sa_flags = flags_over(now)};
    before[number][link] = *now;
    th_store_release(&xnewest[number], link); /* pairs: handle; the handler before */
    return sigaction(number, &ours, NULL) < 0 ? -th_os_errno_get() : 0;
}

/* Puts ours before the program's action, unless it is there. `again`: it was there before. */
static int install(int number, bool again) {
    struct sigaction now;
    if (sigaction(number, NULL, &now) < 0) {
        return -th_os_errno_get();
    }
    int link = link_of(&now);
    if (link >= 0) { /* it is there, or the program has put it back */
        displaced[number][link] = false;
        th_store_release(&xnewest[number], link); /* pairs: handle; the handler before */
        return 0;
    }
    if (again) {
        displaced[number][xnewest[number]] = true; /* the handler that is there may call it */
    }
    link = free_link(number);
    return link < 0 ? link : set_link(number, link, &now);
}

int th_os_signal_catch(int number, th_os_catcher catcher, void (*caught)(int number)) {
    if (number <= 0 || number >= TH_OS_SIGNALS || number == SIGKILL || number == SIGSTOP) {
        return -EINVAL;
    }
    const uint32_t bit = 1u << catcher;
    TH_KEEPS_ERRNO;
    th_store_relaxed(&xcaught[catcher], caught); /* relaxed: the bit publishes it */
    /* pairs: call_catchers; the function */
    uint32_t others = th_or_release(&xcatching[number], bit);
    int code = install(number, others != 0);
    if (code) {
        (void)th_and_relaxed(&xcatching[number], ~bit); /* relaxed: it takes nothing with it */
    }
    return code;
}

bool th_os_signal_is_ours(int number) {
    struct sigaction now;
    TH_KEEPS_ERRNO;
    return sigaction(number, NULL, &now) == 0 && link_of(&now) >= 0;
}

/* The process goes on after these: a handler of ours may as well stay. */
static bool is_ignored_by_default(int number) {
    return number == SIGCHLD || number == SIGCONT || number == SIGURG || number == SIGWINCH;
}

void th_os_signal_default(int number, th_os_catcher catcher) {
    /* relaxed: the handler, which calls this, has acquired it */
    const struct sigaction *old = &before[number][th_load_relaxed(&xnewest[number])];
    /* relaxed: another catcher that comes or goes at this moment may be seen or not */
    const bool alone = th_load_relaxed(&xcatching[number]) == 1u << catcher;
    if (!alone || old->sa_handler != SIG_DFL || is_ignored_by_default(number) ||
        !th_os_signal_is_ours(number)) {
        return;
    }
    if (number == SIGTSTP || number == SIGTTIN || number == SIGTTOU) {
        (void)raise(SIGSTOP);
        return;
    }
    (void)sigaction(number, old, NULL);
    (void)raise(number); /* it ends the process, once the handler has returned */
}

void th_os_signal_release(int number, th_os_catcher catcher) {
    struct sigaction now;
    TH_KEEPS_ERRNO;
    /* relaxed: a handler that runs now may still call it */
    uint32_t all = th_and_relaxed(&xcatching[number], ~(1u << catcher));
    bool is_last = all == 1u << catcher;
    if (is_last && sigaction(number, NULL, &now) == 0) {
        int link = link_of(&now);
        if (link >= 0) {
            sigaction(number, &before[number][link], NULL);
        } else {
            displaced[number][xnewest[number]] = true; /* written by the caller's kind alone */
        }
    }
}

/* ---- kinds of signals ---- */

static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
static const int own_doing[] = {SIGPIPE, SIGXFSZ, SIGSYS};

static bool is_among(int signal, const int signals[], size_t count) {
    size_t i = 0;
    while (i < count && signals[i] != signal) {
        i++;
    }
    return i < count;
}

bool th_os_signal_asks(int number) {
    bool real_time = number >= SIGRTMIN && number <= SIGRTMAX;
    return ((number > 0 && number < 32) || real_time) && number != SIGKILL && number != SIGSTOP &&
           !is_among(number, faults, sizeof faults / sizeof faults[0]) &&
           !is_among(number, own_doing, sizeof own_doing / sizeof own_doing[0]);
}

void th_system_thread_mask(sigset_t *set, const sigset_t *starters) {
    sigfillset(set);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        sigdelset(set, faults[i]);
    }
    for (size_t i = 0; i < sizeof own_doing / sizeof own_doing[0]; i++) {
        if (sigismember(starters, own_doing[i]) == 0) {
            sigdelset(set, own_doing[i]);
        }
    }
}
