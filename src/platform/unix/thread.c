/*
 * thread.c: threads, and the one pointer that each of them has.
 *
 * Threads start with every signal blocked except those that a thread itself causes. Faults are
 * never blocked; SIGPIPE, SIGXFSZ and SIGSYS are as the starter has them: otherwise a write to a
 * closed pipe would fail for ever where the program expects to be ended by it. The starter blocks
 * the rest around the creation, since the new thread inherits its mask and must never run without
 * it.
 *
 * A process that such a thread forks is to be like any other: in the child the mask is that of the
 * program's thread that started the first of these threads, unless the task has changed its own.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "platform/faults.h"

/* A new thread's arguments; the thread frees them. */
typedef struct start {
    void (*entry)(void *);
    void *arg;
    char name[16]; /* the kernel keeps 15 bytes */
    sigset_t theirs;
} start;

/* Whether the library started this thread, and the mask of the program's thread behind it. */
static __thread bool ours __attribute__((tls_model("initial-exec")));
static __thread sigset_t theirs __attribute__((tls_model("initial-exec")));
static __thread int admitted __attribute__((tls_model("initial-exec"))); /* for probes; or 0 */
static __thread bool reports __attribute__((tls_model("initial-exec"))); /* it runs no task */

/* Hidden from the thread sanitizer, since tasks on the thread read these variables at a fork. */
static TH_NO_TSAN void keep_mask(const start *s) {
    theirs = s->theirs;
    ours = true;
}

static void *thread_main(void *ptr) {
    start s = *(start *)ptr;
    free(ptr);
    keep_mask(&s);
    th_system_thread_name(s.name);
    s.entry(s.arg);
    return NULL;
}

static void block_for_start(sigset_t *old) {
    sigset_t set;
    pthread_sigmask(SIG_SETMASK, NULL, old);
    th_system_thread_mask(&set, old);
    pthread_sigmask(SIG_SETMASK, &set, NULL);
}

/* Compares two masks without the numbers between the two ranges, which are the C library's own. */
static bool is_same_mask(const sigset_t *a, const sigset_t *b) {
    for (int signal = 1; signal <= SIGRTMAX; signal++) {
        bool fixed = signal == SIGKILL || signal == SIGSTOP || (signal >= 32 && signal < SIGRTMIN);
        if (!fixed && sigismember(a, signal) != sigismember(b, signal)) {
            return false;
        }
    }
    return true;
}

static void add_ends_of_writers(sigset_t *set) {
    sigaddset(set, SIGPIPE);
    sigaddset(set, SIGXFSZ);
}

/* In the child of a fork: sets the program's mask, unless the task has changed the thread's. */
static TH_NO_TSAN void give_mask_back(void) {
    sigset_t now;
    sigset_t set;
    if (!ours) {
        return;
    }
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    th_system_thread_mask(&set, &theirs);
    if (admitted != 0) {
        sigdelset(&set, admitted);
    }
    if (reports) {
        add_ends_of_writers(&set);
    }
    if (is_same_mask(&now, &set)) {
        pthread_sigmask(SIG_SETMASK, &theirs, NULL);
    }
}

/* Here, since the child of a fork compares the mask. Hidden from the sanitizer as keep_mask is. */
TH_NO_TSAN void th_os_probe_admit(int number) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    admitted = number;
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void th_os_thread_reports(void) {
    sigset_t set;
    sigemptyset(&set);
    add_ends_of_writers(&set);
    reports = true;
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static int create(pthread_t *id, start *s, const th_os_cpuset *cpus) {
    return !cpus ? pthread_create(id, NULL, thread_main, s)
                 : th_system_thread_create_on(id, thread_main, s, cpus);
}

/* The program's mask for a new thread: its starter's, or the mask kept by the starter. */
static TH_NO_TSAN const sigset_t *mask_of_program(const sigset_t *starters) {
    return ours ? &theirs : starters;
}

int th_os_thread_start_on(th_os_thread *thread, const char *name, void (*entry)(void *), void *arg,
                          const th_os_cpuset *cpus) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_THREAD, -EAGAIN);
    TH_KEEPS_ERRNO;
    start *s = malloc(sizeof *s);
    if (!s) {
        return -ENOMEM;
    }
    *s = (start){.entry = entry, .arg = arg};
    if (name) {
        memcpy(s->name, name, strnlen(name, sizeof s->name - 1));
    }

    sigset_t old;
    pthread_t id;
    block_for_start(&old);
    s->theirs = *mask_of_program(&old);
    int code = create(&id, s, cpus);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (code == 0) {
        thread->handle = (uintptr_t)id;
    } else {
        free(s);
    }
    return -code;
}

void th_os_thread_join(th_os_thread thread) {
    pthread_join((pthread_t)thread.handle, NULL);
}

int64_t th_os_thread_ran(th_os_thread thread) {
    clockid_t clock;
    struct timespec t;
    if (th_os_fails(TH_OS_FAULT_RAN) ||
        pthread_getcpuclockid((pthread_t)thread.handle, &clock) != 0) {
        return -1;
    }
    TH_KEEPS_ERRNO;
    return clock_gettime(clock, &t) ? -1 : (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void th_os_thread_detach(th_os_thread thread) {
    pthread_detach((pthread_t)thread.handle);
}

static void (*core_before)(void); /* these three are written before the handlers are registered */
static void (*core_in_parent)(void);
static void (*core_in_child)(void);

static void before_fork(void) {
    core_before();
    th_os_fault_lock();
    th_os_probe_lock();
    th_os_code_lock(); /* the last: it is taken under other locks, but no lock under it */
}

static void after_fork_in_parent(void) {
    th_os_code_unlock();
    th_os_probe_unlock();
    th_os_fault_unlock();
    core_in_parent();
}

static void after_fork_in_child(void) {
    th_os_code_unlock();
    th_os_probe_forked();
    th_os_probe_unlock();
    th_os_fault_unlock();
    core_in_child();
    give_mask_back();
}

int th_os_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void)) {
    static uint32_t xdone;
    uint32_t no = 0;
    /* relaxed: the word publishes nothing; the first caller registers */
    if (!th_cas_relaxed(&xdone, &no, 1u)) {
        return 0;
    }
    core_before = before;
    core_in_parent = in_parent;
    core_in_child = in_child;
    int code = -pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    if (code) {
        th_store_relaxed(&xdone, 0u); /* relaxed: as above */
    }
    return code;
}

void th_os_thread_yield(void) {
    sched_yield();
}

/* ---- the thread's pointer ---- */

/*
 * initial-exec: it is read by one instruction, in the shared library too; the C library keeps room
 * for such variables of libraries that are loaded late.
 */
static __thread void *self __attribute__((tls_model("initial-exec")));

static pthread_once_t exit_once = PTHREAD_ONCE_INIT;
static pthread_key_t exit_key;
static bool exit_key_made; /* written under exit_once, before any pointer is set */
static void (*exit_callback)(void *);

/*
 * The empty assembly keeps the compiler from merging two calls into one, since it would otherwise
 * be a pure function. Hidden from the thread sanitizer, as errno is (errno.c).
 */
TH_NOINLINE TH_NO_TSAN void *th_os_self_get(void) {
    __asm__ volatile("" ::: "memory");
    return self;
}

TH_NOINLINE TH_NO_TSAN int th_os_self_set(void *value) {
    __asm__ volatile("" ::: "memory");
    if (exit_key_made) {
        int code = pthread_setspecific(exit_key, value);
        if (code != 0) {
            return -code;
        }
    }
    self = value;
    return 0;
}

/* The C library has cleared the key's value already; th_os_self_get still works. */
static void thread_ends(void *value) {
    th_load_relaxed (&exit_callback)(value); /* relaxed: set before any thread's pointer */
    if (self == value) {
        self = NULL;
    }
}

static void make_exit_key(void) {
    exit_key_made = pthread_key_create(&exit_key, thread_ends) == 0;
}

int th_os_self_on_exit(void (*on_exit)(void *self)) {
    th_store_relaxed(&exit_callback, on_exit); /* relaxed: always the same function */
    pthread_once(&exit_once, make_exit_key);
    return exit_key_made ? 0 : -EAGAIN;
}

#if TH_OS_SELF_INLINE
/* Only assembly names it, which clang does not see when it links with LTO. */
__attribute__((used)) __thread char th_os_self_bytes[TH_OS_SELF_BYTES];
#else
static __thread char storage[TH_OS_SELF_BYTES]
    __attribute__((aligned(16), tls_model("initial-exec")));

TH_NOINLINE void *th_os_self_storage(void) {
    __asm__ volatile("" ::: "memory");
    return storage;
}
#endif

/* ---- C++ state of each thread ---- */

/* Defined if the program has a C++ run time anyway: the weak reference links none. */
extern TH_FOREIGN void *__cxa_get_globals(void) __attribute__((weak));

th_os_exceptions *th_os_exceptions_at(void) {
    return __cxa_get_globals ? __cxa_get_globals() : NULL;
}
