/*
 * signal.c: handlers of the process's signals, before those that the program has set.
 *
 * A handler that the program sets while ours is there may call ours, the one before it. When the
 * signal is caught again, ours must come before that handler, and must not be the one that it
 * calls, or the two would call each other for ever. So there are several of ours, *links*: one that
 * a handler of the program's may call stays as it is, and only the newest counts.
 */
#define _GNU_SOURCE
#include "platform/platform.h"

#include <errno.h>
#include <signal.h>

#include "base/atomic.h"

#define LINKS 3

static struct sigaction before[TH_OS_SIGNALS][LINKS];
static bool displaced[TH_OS_SIGNALS][LINKS]; /* a handler of the program's may call it */
static int xnewest[TH_OS_SIGNALS];
static void (*xcaught)(int number);

static void handle(int link, int number, siginfo_t *info, void *context) {
    int saved = th_os_errno_get();
    /* pairs: th_os_signal_catch; the function, and the handler before */
    if (th_load_acquire(&xnewest[number]) == link) {
        /* relaxed: as above */
        void (*caught)(int) = th_load_relaxed(&xcaught);
        caught(number);
    }
    const struct sigaction *old = &before[number][link];
    if (old->sa_flags & SA_SIGINFO) {
        old->sa_sigaction(number, info, context);
    } else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
        old->sa_handler(number);
    }
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
 * What the program has asked for stays. A signal without a handler of its own interrupts no call,
 * and needs no room on the stack of a fiber; children whose end is ignored leave nothing behind.
 */
static int flags_over(const struct sigaction *old) {
    const int kept = SA_RESTART | SA_ONSTACK | SA_NODEFER | SA_NOCLDSTOP | SA_NOCLDWAIT;
    int flags = SA_SIGINFO | (old->sa_flags & kept);
    if (!(old->sa_flags & SA_SIGINFO) &&
        (old->sa_handler == SIG_DFL || old->sa_handler == SIG_IGN)) {
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

/* One that nothing else may call, or -EBUSY. */
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

int th_os_signal_catch(int number, void (*caught)(int number)) {
    struct sigaction now;
    if (number <= 0 || number >= TH_OS_SIGNALS || number == SIGKILL || number == SIGSTOP) {
        return -EINVAL;
    }
    int saved = th_os_errno_get();
    int code = sigaction(number, NULL, &now) < 0 ? -th_os_errno_get() : 0;
    if (!code) {
        int link = link_of(&now);
        th_store_relaxed(&xcaught, caught); /* relaxed: the store of xnewest publishes it */
        if (link >= 0) {                    /* the program has put it back */
            displaced[number][link] = false;
            th_store_release(&xnewest[number], link); /* pairs: handle; the function */
        } else {
            code = link = free_link(number);
            code = link < 0 ? code : set_link(number, link, &now);
        }
    }
    th_os_errno_set(saved);
    return code;
}

bool th_os_signal_is_ours(int number) {
    struct sigaction now;
    int saved = th_os_errno_get();
    bool ours = sigaction(number, NULL, &now) == 0 && link_of(&now) >= 0;
    th_os_errno_set(saved);
    return ours;
}

/* The process goes on after these: a handler of ours may as well stay. */
static bool is_ignored_by_default(int number) {
    return number == SIGCHLD || number == SIGCONT || number == SIGURG || number == SIGWINCH;
}

void th_os_signal_default(int number) {
    /* relaxed: the handler, which calls this, has acquired it */
    const struct sigaction *old = &before[number][th_load_relaxed(&xnewest[number])];
    if (old->sa_flags & SA_SIGINFO || old->sa_handler != SIG_DFL || is_ignored_by_default(number) ||
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

void th_os_signal_release(int number) {
    struct sigaction now;
    int saved = th_os_errno_get();
    if (sigaction(number, NULL, &now) == 0) {
        int link = link_of(&now);
        if (link >= 0) {
            sigaction(number, &before[number][link], NULL);
        } else {
            displaced[number][xnewest[number]] = true; /* written by the caller's kind alone */
        }
    }
    th_os_errno_set(saved);
}
