/*
 * probe.c: see probe.h.
 *
 * There is one place for a question. Its word has a state, and above that the question's number,
 * which the signal brings along: so a signal that comes late, or from another process, answers
 * nothing.
 *
 *     IDLE -> CLAIMED     by an asker, which then writes the question
 *     CLAIMED -> ASKED    by the asker, which then sends the signal
 *     ASKED -> ANSWERING  by the handler, which then writes the answer
 *     ANSWERING -> ANSWERED  by the handler
 *     ASKED, ANSWERED -> IDLE  by the asker: it has waited long enough, or has copied the answer
 *
 * The stack is read by the thread that is on it. The question names the stack's bounds, and a word
 * that changes when the thread leaves it: so the handler touches nothing that may be gone.
 */
#define _GNU_SOURCE
#include "platform/probe.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/annotate.h"
#include "base/atomic.h"
#include "platform/platform.h"

enum { IDLE, CLAIMED, ASKED, ANSWERING, ANSWERED };
#define STATE_BITS 3u
#define STATE ((1u << STATE_BITS) - 1)

static uint32_t xword;
static th_os_question question; /* the asker's until ASKED, then the handler's */
static th_os_answer answer;     /* the handler's, from ANSWERED on the asker's */
static bool found;              /* likewise: there is an answer */

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned users[TH_OS_SIGNALS]; /* under open_lock: how often each number is taken */

/* ---- registers ---- */

typedef struct registers {
    uintptr_t at;
    uintptr_t after;
    uintptr_t pointer;
} registers;

#if defined(__x86_64__) && defined(__LP64__)
#define READS_REGISTERS 1
static TH_NO_TSAN registers registers_of(const ucontext_t *context) {
    const greg_t *all = context->uc_mcontext.gregs;
    return (registers){(uintptr_t)all[REG_RIP], 0, (uintptr_t)all[REG_RSP]};
}
#elif defined(__aarch64__)
#define READS_REGISTERS 1
static TH_NO_TSAN registers registers_of(const ucontext_t *context) {
    const mcontext_t *all = &context->uc_mcontext;
    return (registers){(uintptr_t)all->pc, (uintptr_t)all->regs[30], (uintptr_t)all->sp};
}
#elif defined(__riscv)
#define READS_REGISTERS 1
static TH_NO_TSAN registers registers_of(const ucontext_t *context) {
    const unsigned long *all = context->uc_mcontext.__gregs;
    return (registers){all[0], all[1], all[2]}; /* pc, ra, sp */
}
#else
#define READS_REGISTERS 0
static registers registers_of(const ucontext_t *context) {
    (void)context;
    return (registers){0, 0, 0};
}
#endif

/* ---- the handler ---- */

/* Not shown to the sanitizers: it reads between variables, and on whichever fiber the thread is. */
static TH_NO_TSAN TH_NO_ASAN bool see(const ucontext_t *context) {
    const registers now = registers_of(context);
    uintptr_t from = now.pointer & ~(uintptr_t)(sizeof(uintptr_t) - 1);
    /* relaxed: only whether it has changed, on the thread that changes it */
    if ((uint64_t)syscall(SYS_gettid) != question.number ||
        th_load_relaxed(question.xtick) != question.tick || from < question.low ||
        from >= question.high) {
        return false;
    }
    size_t count = (question.high - from) / sizeof(uintptr_t);
    count = count < TH_OS_PROBE_WORDS ? count : TH_OS_PROBE_WORDS;
    for (size_t i = 0; i < count; i++) {
        th_tsan_unseen();
        answer.words[i] = ((const volatile uintptr_t *)from)[i];
    }
    answer.at = now.at;
    answer.after = now.after;
    answer.count = count;
    return true;
}

static TH_NO_TSAN TH_NO_ASAN void handle(int number, siginfo_t *info, void *context) {
    (void)number;
    int saved = th_os_errno_get();
    const uint32_t asked = (uint32_t)(uintptr_t)info->si_value.sival_ptr;
    uint32_t word = asked;
    /* pairs: th_os_probe; the question */
    if (info->si_code == SI_QUEUE && (asked & STATE) == ASKED &&
        th_cas_acquire(&xword, &word, (asked & ~STATE) | ANSWERING)) {
        found = see(context);
        /* pairs: th_os_probe; the answer */
        th_store_release(&xword, (asked & ~STATE) | ANSWERED);
        th_os_futex_wake(&xword, INT32_MAX); /* other askers sleep on it, too */
    }
    th_os_errno_set(saved);
}

static bool is_ours(const struct sigaction *action) {
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == handle;
}

/* ---- taking a signal ---- */

/* With the lock: takes this number, if the program has not. */
static int take(int number) {
    struct sigaction now;
    struct sigaction ours = {.sa_sigaction = handle,
                             .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&ours.sa_mask);
    if (sigaction(number, NULL, &now) != 0) {
        return -th_os_errno_get();
    }
    const bool free = now.sa_handler == SIG_DFL; /* regardless of the flags */
    if (!is_ours(&now) && !free) {
        return -EBUSY;
    }
    if (!is_ours(&now) && sigaction(number, &ours, NULL) != 0) {
        return -th_os_errno_get();
    }
    users[number]++;
    return number;
}

/*
 * The highest one but the last, which tools keep for themselves. A number that the caller blocks is
 * passed over: perhaps a thread of the program's waits for it.
 */
static int take_any(int but) {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    for (int number = SIGRTMAX - 1; number >= SIGRTMIN; number--) {
        if (number != but && (users[number] > 0 || sigismember(&blocked, number) == 0)) {
            int code = take(number);
            if (code > 0) {
                return code;
            }
        }
    }
    return -EBUSY;
}

static bool is_fit(int number) {
    static const int unfit[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE,
                                SIGILL,  SIGTRAP, SIGABRT, SIGSYS, SIGPIPE};
    for (size_t i = 0; i < sizeof unfit / sizeof unfit[0]; i++) {
        if (number == unfit[i]) {
            return false;
        }
    }
    return number >= 0 && number < TH_OS_SIGNALS;
}

int th_os_probe_open(int number, int but) {
    if (!READS_REGISTERS) {
        return -ENOSYS;
    }
    if (!is_fit(number)) {
        return -EINVAL;
    }
    TH_KEEPS_ERRNO;
    pthread_mutex_lock(&open_lock);
    int code = number ? take(number) : take_any(but);
    pthread_mutex_unlock(&open_lock);
    return code;
}

/* With the lock. If the program has replaced the handler, its action stays. */
static void give_back(int number) {
    struct sigaction now;
    if (sigaction(number, NULL, &now) == 0 && is_ours(&now)) {
        struct sigaction none = {.sa_handler = SIG_DFL};
        sigaction(number, &none, NULL);
    }
}

void th_os_probe_close(int number) {
    TH_KEEPS_ERRNO;
    pthread_mutex_lock(&open_lock);
    if (--users[number] == 0) {
        give_back(number);
    }
    pthread_mutex_unlock(&open_lock);
}

/* ---- asking ---- */

/* Makes the caller the asker; returns the question's number in its place, or 0. */
static uint32_t claim(int64_t deadline) {
    for (;;) {
        uint32_t word = th_load_relaxed(&xword); /* relaxed: the exchange decides */
        if ((word & STATE) == IDLE) {
            uint32_t next = word + (1u << STATE_BITS);
            next = next ? next : 1u << STATE_BITS;
            /* pairs: give_up, th_os_probe; the last question is over */
            if (th_cas_acquire(&xword, &word, next | CLAIMED)) {
                return next;
            }
        } else if (th_os_futex_wait(&xword, word, deadline) == -ETIMEDOUT) {
            return 0;
        }
    }
}

static void let_go(uint32_t number) {
    /* pairs: claim; the question and the answer are free */
    th_store_release(&xword, number | IDLE);
    th_os_futex_wake(&xword, INT32_MAX);
}

/* Nobody answers. False: the handler has begun to, and ends by itself. */
static bool give_up(uint32_t number) {
    uint32_t word = number | ASKED;
    /* pairs: claim; the handler has not touched the question, and will not */
    return th_cas_release(&xword, &word, number | CLAIMED);
}

static int send(int number, uint64_t thread, uint32_t value) {
    struct sigaction now;
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = (void *)(uintptr_t)value;
    if (sigaction(number, NULL, &now) != 0 || !is_ours(&now)) {
        return -EBUSY;
    }
    return syscall(SYS_rt_tgsigqueueinfo, getpid(), (long)thread, number, &info) != 0
               ? -th_os_errno_get()
               : 0;
}

/* Waits for the answer. */
static int await(uint32_t number, int64_t deadline) {
    for (;;) {
        /* pairs: handle; the answer */
        uint32_t word = th_load_acquire(&xword);
        if (word == (number | ANSWERED)) {
            return found ? 0 : -ESRCH;
        }
        const bool answering = word == (number | ANSWERING);
        int code = th_os_futex_wait(&xword, word, answering ? TH_FOREVER : deadline);
        if (code == -ETIMEDOUT && give_up(number)) {
            return -ETIMEDOUT;
        }
    }
}

static void copy(th_os_answer *out) {
    out->at = answer.at;
    out->after = answer.after;
    out->count = answer.count;
    memcpy(out->words, answer.words, answer.count * sizeof answer.words[0]);
}

int th_os_probe(int number, const th_os_question *asked, int64_t deadline, th_os_answer *out) {
    TH_KEEPS_ERRNO;
    uint32_t turn = claim(deadline);
    if (!turn) {
        return -ETIMEDOUT;
    }
    question = *asked;
    /* pairs: handle; the question */
    th_store_release(&xword, turn | ASKED);
    int code = send(number, asked->number, turn | ASKED);
    code = code ? code : await(turn, deadline);
    if (!code) {
        copy(out);
    }
    let_go(turn);
    return code;
}

/* ---- forks ---- */

void th_os_probe_lock(void) {
    pthread_mutex_lock(&open_lock);
}

void th_os_probe_unlock(void) {
    pthread_mutex_unlock(&open_lock);
}

/* No asker is left in the child, and no thread that could answer. */
void th_os_probe_forked(void) {
    TH_KEEPS_ERRNO;
    for (int number = 1; number < TH_OS_SIGNALS; number++) {
        if (users[number] > 0) {
            give_back(number);
            users[number] = 0;
        }
    }
    th_store_relaxed(&xword, 0u); /* relaxed: the child has one thread */
}
