/*
 * thread.c: threads, and their own variables.
 *
 * The compilers' __thread would be a call that allocates (gcc emulates it here). Ours lies where
 * the loader keeps such variables of each module: in the section .tls, of which each thread has a
 * copy from its beginning, found by three loads. It is there in threads that others have started
 * too, and in a DLL that was loaded later.
 *
 * A callback in the same table (DLL_THREAD_DETACH) reports the end of a thread, under the loader's
 * lock; the end of the process is no end of a thread. It also reports that the module is loaded.
 */
#include "platform/platform.h"
#include "platform/windows/system/nt.h"

#include <errno.h>
#include <process.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "platform/faults.h"

#define NAME_BYTES 64

/* ---- the thread's own ---- */

typedef struct own {
    char storage[TH_OS_SELF_BYTES];
    th_nt_own_words words;
    void *self;
} own;

/* Each thread has a copy. Capital letters: the section must come before the last one, .tls$ZZZ. */
__attribute__((section(".tls$THRUM"), aligned(16), used)) own th_nt_own_bytes = {.self = NULL};

/* The address is asked for anew at each call: a fiber may have moved to another thread. */
static TH_ALWAYS_INLINE own *own_at(void) {
    own *at;
    uint64_t index;
    __asm__ volatile("movl _tls_index(%%rip), %k1\n\t"
                     "movq %%gs:0x58, %0\n\t"
                     "movq (%0,%1,8), %0\n\t"
                     "leaq th_nt_own_bytes@SECREL32(%0), %0"
                     : "=&r"(at), "=&r"(index));
    return at;
}

TH_NOINLINE th_nt_own_words *th_nt_own(void) {
    return &own_at()->words;
}

TH_NOINLINE void *th_os_self_storage(void) {
    return own_at()->storage;
}

TH_NOINLINE void *th_os_self_get(void) {
    return own_at()->self;
}

TH_NOINLINE int th_os_self_set(void *self) {
    own_at()->self = self;
    return 0;
}

static void (*exit_callback)(void *self);

int th_os_self_on_exit(void (*on_exit)(void *self)) {
    th_store_relaxed(&exit_callback, on_exit); /* relaxed: always the same function */
    return 0;
}

/*
 * The library stays, however often it is unloaded: callbacks that it has left with the process call
 * into it later (core/control/STOP.md), and its own threads have no end.
 */
static void stay(const void *inside) {
    HMODULE module;
    (void)GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                             inside, &module);
}

static void NTAPI on_thread(void *module, DWORD reason, void *reserved) {
    (void)reserved;
    if (reason == DLL_PROCESS_ATTACH) {
        stay(module);
    }
    if (reason != DLL_THREAD_DETACH) {
        return;
    }
    own *mine = own_at();
    void (*call)(void *) = th_load_relaxed(&exit_callback); /* relaxed: set before the pointer */
    if (mine->self && call) {
        call(mine->self);
        mine->self = NULL;
    }
    if (mine->words.slack) {
        (void)th_os_timer_slack(ULONG_MAX);
    }
}

/* The C library's start collects these in the table that the loader reads. */
__attribute__((section(".CRT$XLT"), used)) PIMAGE_TLS_CALLBACK th_nt_on_thread = on_thread;

/* ---- how exact sleeps are ---- */

#define SLACK_DEFAULT 15625000ul /* the period of the system's timer, unless somebody shortens it */
#define RESOLUTION 5000u         /* the shortest that it takes, in units of 100 ns */

/*
 * The system's timer is the process's, and not the thread's: it ticks fast as long as a thread
 * wants that. The value is only the thread's last request.
 */
unsigned long th_os_timer_slack(unsigned long ns) {
    static uint32_t xwanted; /* threads that want exact sleeps */
    unsigned long *mine = &th_nt_own()->slack;
    unsigned long before = *mine ? *mine : SLACK_DEFAULT;
    bool had = before < SLACK_DEFAULT;
    bool wants = ns < SLACK_DEFAULT;
    ULONG now;
    *mine = ns;
    if (!th_nt()->set_timer_resolution) {
        return 0;
    }
    /* relaxed: a request that is late or early makes a sleep less exact, nothing more */
    if (wants && !had && th_add_relaxed(&xwanted, 1u) == 0) {
        th_nt()->set_timer_resolution(RESOLUTION, TRUE, &now);
    } else if (!wants && had && th_sub_relaxed(&xwanted, 1u) == 1) { /* relaxed: likewise */
        th_nt()->set_timer_resolution(RESOLUTION, FALSE, &now);
    }
    return before;
}

/* ---- threads ---- */

/* A new thread's arguments; the thread frees them. */
typedef struct start {
    void (*entry)(void *);
    void *arg;
    char name[NAME_BYTES];
} start;

static unsigned __stdcall thread_main(void *ptr) {
    start s = *(start *)ptr;
    wchar_t name[NAME_BYTES];
    free(ptr);
    if (s.name[0] && th_nt()->set_thread_name && th_nt_wide(s.name, name, NAME_BYTES)) {
        th_nt()->set_thread_name(GetCurrentThread(), name);
    }
    s.entry(s.arg);
    return 0;
}

/*
 * Ties a thread to the CPUs before it runs. A thread is in one group of 64 of them: in the first of
 * which the set has some. False: the system refuses.
 */
static bool tie(HANDLE thread, const th_os_cpuset *cpus) {
    for (WORD group = 0; group < TH_OS_CPUS_MAX / 64; group++) {
        if (cpus->bits[group]) {
            GROUP_AFFINITY affinity = {.Mask = cpus->bits[group], .Group = group};
            return SetThreadGroupAffinity(thread, &affinity, NULL);
        }
    }
    SetLastError(ERROR_INVALID_PARAMETER);
    return false;
}

/* Returns 0 or a code. */
static int begin(th_os_thread *thread, start *s, const th_os_cpuset *cpus) {
    unsigned flags = cpus ? CREATE_SUSPENDED : 0;
    HANDLE handle = (HANDLE)_beginthreadex(NULL, 0, thread_main, s, flags, NULL);
    if (!handle) {
        return -EAGAIN;
    }
    if (cpus && !tie(handle, cpus)) {
        int code = -th_nt_errno(GetLastError());
        TerminateThread(handle, 0); /* it has not run an instruction */
        CloseHandle(handle);
        return code;
    }
    if (cpus) {
        ResumeThread(handle);
    }
    thread->handle = (uintptr_t)handle;
    return 0;
}

int th_os_thread_start_on(th_os_thread *thread, const char *name, void (*entry)(void *), void *arg,
                          const th_os_cpuset *cpus) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_THREAD, -EAGAIN);
    TH_KEEPS_ERRNO;
    int code = -ENOMEM;
    start *s = malloc(sizeof *s);
    if (s) {
        *s = (start){.entry = entry, .arg = arg};
        if (name) {
            memcpy(s->name, name, strnlen(name, sizeof s->name - 1));
        }
        code = begin(thread, s, cpus);
        if (code) {
            free(s);
        }
    }
    return code;
}

void th_os_thread_join(th_os_thread thread) {
    WaitForSingleObject((HANDLE)thread.handle, INFINITE);
    CloseHandle((HANDLE)thread.handle);
}

void th_os_thread_detach(th_os_thread thread) {
    CloseHandle((HANDLE)thread.handle);
}

void th_os_thread_reports(void) {
    /* no signal ends the program for a write that nobody reads */
}

uint64_t th_os_thread_number(void) {
    return GetCurrentThreadId();
}

static int64_t ns_of(const FILETIME *time) {
    return (int64_t)((uint64_t)time->dwHighDateTime << 32 | time->dwLowDateTime) * 100;
}

int64_t th_os_thread_ran(th_os_thread thread) {
    FILETIME created, ended, kernel, user;
    if (th_os_fails(TH_OS_FAULT_RAN) ||
        !GetThreadTimes((HANDLE)thread.handle, &created, &ended, &kernel, &user)) {
        return -1;
    }
    return ns_of(&kernel) + ns_of(&user);
}

int th_os_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void)) {
    (void)before, (void)in_parent, (void)in_child;
    return 0; /* no process forks here */
}

void th_os_thread_yield(void) {
    SwitchToThread();
}

/* ---- ordering all threads ---- */

/* Wine's FlushProcessWriteBuffers does nothing, without an error. */
int th_os_barrier_start(void) {
    return th_os_fails(TH_OS_FAULT_BARRIER) || th_nt()->is_wine ? -ENOSYS : 0;
}

bool th_os_barrier(void) {
    if (th_os_fails(TH_OS_FAULT_BARRIER) || th_nt()->is_wine) {
        return false;
    }
    FlushProcessWriteBuffers();
    return true;
}

/* ---- the thread's own stack ---- */

void th_os_stack(uintptr_t *low, uintptr_t *high) {
    ULONG_PTR from, to;
    GetCurrentThreadStackLimits(&from, &to);
    *low = from;
    *high = to;
}
