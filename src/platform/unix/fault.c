/*
 * fault.c: SIGSEGV and SIGBUS, for the report of a stack that overflowed; these and the other
 * signals of crashes, for crash reports.
 *
 * The library's handler runs on the alternate stack and asks core whether it knows the address. If
 * not, it behaves as if it were not there: the action that was installed before is carried out as
 * the kernel would have done it, with two exceptions. A previous handler that did not ask for an
 * alternate stack runs on it nevertheless, and the mask of this handler holds until the previous
 * one's is set.
 *
 * A crash is reported if the action from before is the default one: so the program's own handler,
 * which may go on, is never disturbed. Then that action is put back and the signal comes again, so
 * a core shows the place of the fault.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/atomic.h"

#ifndef SI_KERNEL
#define SI_KERNEL INT32_MAX /* a code of Linux: no other system has one like it */
#endif

#define SIGNALS 5
#define FAULTS 2            /* those of them by which an overflow shows */
#define PATIENCE 5000000000 /* ns that a second thread's crash waits for the first one's report */

static const int signals[SIGNALS] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
static const char *const names[SIGNALS] = {"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT"};
static struct sigaction
    previous[SIGNALS];           /* written under install_lock before the handler is installed */
static uint32_t xspent[SIGNALS]; /* 1: the previous handler was to run only once, and has run */
static th_os_fault_fn xask;
static th_os_crash_fn xtell;
static uint32_t xcrashed;       /* the thread that reports a crash, or has; 0: none */
static pid_t teller;            /* the process whose crash is reported; written while it is alone,
                                 * or before `xtell` */
static bool installed[SIGNALS]; /* protected by install_lock */
static pthread_mutex_t install_lock = PTHREAD_MUTEX_INITIALIZER;

static void pass_on(int index, siginfo_t *info, void *ucontext);

static void handle(int signal, siginfo_t *info, void *ucontext) {
    int saved = th_os_errno_get();
    int index = 0;
    while (index < SIGNALS - 1 && signals[index] != signal) {
        index++;
    }
    /* Codes above 0 come from the kernel; SI_KERNEL is a fault whose address it does not know. */
    if (index < FAULTS && info->si_code > 0 && info->si_code != SI_KERNEL) {
        th_os_fault_fn ask =
            th_load_acquire(&xask); /* pairs: th_os_fault_catch; the function's data */
        if (ask && ask((uintptr_t)info->si_addr)) {
            th_os_abort();
        }
    }
    th_os_errno_set(saved);
    pass_on(index, info, ucontext);
}

/*
 * Reports a crash, if that is wanted: then the process must end, since the report's resources are
 * never released. A thread that crashes while it reports goes on to its end; another thread that
 * crashes meanwhile waits, since its own end would be the end of the process.
 */
static bool tell_crash(int index, const siginfo_t *info) {
    th_os_crash_fn tell = th_load_acquire(&xtell); /* pairs: th_os_crash_catch; its data */
    uint32_t self = (uint32_t)th_os_thread_number();
    uint32_t first = 0;
    if (!tell ||
        getpid() != teller) { /* a child by vfork has this memory and is no crash of ours */
        return false;
    }
    /* relaxed: only which thread is first counts */
    if (!th_cas_relaxed(&xcrashed, &first, self)) {
        if (first != self) {
            int64_t until = th_os_now() + PATIENCE;
            while (th_os_futex_wait(&xcrashed, first, until) == -EINTR) {
            }
        }
        return true;
    }
    bool known = index < SIGNALS - 1 && info->si_code > 0 && info->si_code != SI_KERNEL;
    uintptr_t address = (uintptr_t)info->si_addr;
    tell(names[index], known ? &address : NULL);
    return true;
}

/*
 * Puts `action` back in place of this handler, and lets the signal come again, now to that.
 * GCOVR_EXCL_START: mostly the end of the process, counts and all (fault/signal/overflow.c)
 */
static void give_back(int signal, const struct sigaction *action, const siginfo_t *info,
                      bool must) {
    sigaction(signal, action, NULL);
    /*
     * If the process must end, the signal is sent anew with the first one's data: a fault need not
     * repeat, since its page may be there by now. It comes before the next instruction.
     */
    if (must || info->si_code <= 0) { /* a process has sent it */
        th_system_signal_again(signal, must ? info : NULL);
    }
} /* GCOVR_EXCL_STOP */

static void add_both(sigset_t *out, const sigset_t *a, const sigset_t *b) {
    *out = *a;
    for (int number = 1; number < TH_OS_SIGNALS; number++) {
        if (sigismember(b, number) == 1) {
            sigaddset(out, number);
        }
    }
}

/* Carries out the previous action. */
static void pass_on(int index, siginfo_t *info, void *ucontext) {
    int signal = signals[index];
    struct sigaction old = previous[index];
    if (old.sa_handler == SIG_IGN && info->si_code <= 0) {
        return;
    }
    /* relaxed: only the exchange's own outcome counts */
    if ((old.sa_flags & (int)SA_RESETHAND) && th_xchg_relaxed(&xspent[index], 1) != 0) {
        old.sa_handler = SIG_DFL;
    }
    if (old.sa_handler == SIG_DFL || old.sa_handler == SIG_IGN) {
        const bool told = tell_crash(index, info);
        /* A fault mostly repeats on return; the kernel kills the process also if it is ignored. */
        give_back(signal, &old, info, told); /* GCOVR_EXCL_LINE: as give_back */
        return;                              /* GCOVR_EXCL_LINE: likewise */
    }

    /* The mask that the kernel would have set; on return it restores the interrupted one itself. */
    sigset_t mask;
    add_both(&mask, &((ucontext_t *)ucontext)->uc_sigmask, &old.sa_mask);
    if (!(old.sa_flags & SA_NODEFER)) {
        sigaddset(&mask, signal);
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    if (old.sa_flags & SA_SIGINFO) {
        old.sa_sigaction(signal, info, ucontext);
    } else {
        old.sa_handler(signal);
    }
}

void th_os_fault_lock(void) {
    pthread_mutex_lock(&install_lock);
}

void th_os_fault_unlock(void) {
    pthread_mutex_unlock(&install_lock);
}

/* With the lock. Installs the handler over any action, or only over the default action. */
static int install(int index, bool over_any) {
    struct sigaction ours = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigaction now;
    if (installed[index]) {
        return 0;
    }
    sigemptyset(&ours.sa_mask);
    /* Writes in the handler must not end the process by another signal. */
    sigaddset(&ours.sa_mask, SIGPIPE);
    sigaddset(&ours.sa_mask, SIGXFSZ);
    if (sigaction(signals[index], NULL, &now) != 0) {
        return -th_os_errno_get();
    }
    if (!over_any && ((now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL)) {
        return 0;
    }
    previous[index] = now; /* it must be known before the handler can run */
    if (sigaction(signals[index], &ours, NULL) != 0) {
        return -th_os_errno_get();
    }
    installed[index] = true;
    return 0;
}

int th_os_fault_catch(th_os_fault_fn ask) {
    int code = 0;
    TH_KEEPS_ERRNO;
    pthread_mutex_lock(&install_lock);
    th_store_release(&xask, ask); /* pairs: handle; the function's data */
    for (int i = 0; i < FAULTS && code == 0; i++) {
        code = install(i, true);
    }
    pthread_mutex_unlock(&install_lock);
    return code;
}

void th_os_crash_catch(th_os_crash_fn tell) {
    TH_KEEPS_ERRNO;
    pthread_mutex_lock(&install_lock);
    if (teller != getpid()) { /* a handler may read it */
        teller = getpid();
    }
    /* pairs: tell_crash; the function's data, and `teller` */
    th_store_release(&xtell, tell);
    for (int i = 0; i < SIGNALS; i++) {
        (void)install(i, false);
    }
    pthread_mutex_unlock(&install_lock);
}

void th_os_crash_in_child(void) {
    th_store_relaxed(&xcrashed, 0u); /* relaxed: this thread is alone */
    teller = getpid();
}

/* Room for the kernel's frame with all vector registers, a report, and a previous handler. */
static size_t altstack_size(void) {
    size_t page = th_os_page_size();
    size_t size = 65536 + th_system_signal_frame();
    return (size + page - 1) & ~(page - 1);
}

int th_os_fault_thread_enter(void **altstack) {
    *altstack = NULL;
    TH_KEEPS_ERRNO;
    int code = 0;
    stack_t now;
    if (sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_DISABLE)) {
        stack_t ours = {.ss_sp = th_os_map(altstack_size()), .ss_size = altstack_size()};
        if (!ours.ss_sp) {
            code = -ENOMEM;
        } else if (sigaltstack(&ours, NULL) != 0) {
            code = -th_os_errno_get();
            th_os_unmap(ours.ss_sp, ours.ss_size);
        } else {
            *altstack = ours.ss_sp;
        }
    }
    return code;
}

void th_os_fault_thread_leave(void *altstack) {
    if (!altstack) {
        return;
    }
    TH_KEEPS_ERRNO;
    stack_t now;
    if (sigaltstack(NULL, &now) == 0 && now.ss_sp == altstack) {
        stack_t off = {.ss_flags = SS_DISABLE};
        sigaltstack(&off, NULL);
    }
    th_os_unmap(altstack, altstack_size());
}
