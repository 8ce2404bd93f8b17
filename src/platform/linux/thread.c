/*
 * thread.c: threads on Linux beyond POSIX: names, numbers, CPUs, the files below /proc, a fence of
 * all threads, the slack of timers, stacks.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/faults.h"
#include "platform/unix/interrupted.h"

void th_system_thread_name(const char *name) {
    pthread_setname_np(pthread_self(), name);
}

/* Ties the thread to the CPUs before it runs. */
int th_system_thread_create_on(pthread_t *id, void *(*entry)(void *), void *arg,
                               const th_os_cpuset *set) {
    const cpu_set_t *cpus = (const cpu_set_t *)(const void *)set;
#ifdef __GLIBC__
    pthread_attr_t attr;
    int code = pthread_attr_init(&attr);
    if (code != 0) {
        return code;
    }
    code = pthread_attr_setaffinity_np(&attr, sizeof(th_os_cpuset), cpus);
    if (code == 0) {
        code = pthread_create(id, &attr, entry, arg);
    }
    pthread_attr_destroy(&attr);
    return code;
#else
    /* Other C libraries have no such attribute, so the thread inherits the caller's CPUs, which are
     * set for this moment. */
    th_os_cpuset own;
    cpu_set_t *mine = (cpu_set_t *)(void *)&own;
    if (sched_getaffinity(0, sizeof own, mine) != 0 ||
        sched_setaffinity(0, sizeof(th_os_cpuset), cpus) != 0) {
        return errno;
    }
    int code = pthread_create(id, NULL, entry, arg);
    sched_setaffinity(0, sizeof own, mine);
    return code;
#endif
}

/* ---- the state of a thread ---- */

uint64_t th_os_thread_number(void) {
    return (uint64_t)syscall(SYS_gettid);
}

/* Reads a file of the thread's below /proc as a text; false: it can't be read. */
static bool read_about(uint64_t number, const char *name, char text[], size_t size) {
    TH_KEEPS_ERRNO;
    snprintf(text, size, "/proc/self/task/%llu/%s", (unsigned long long)number, name);
    int file = open(text, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, size - 1);
    if (file >= 0) {
        close(file);
    }
    text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

/* "123 (name) S ...": the name may hold anything; the state is after its last parenthesis. */
static char state_of(uint64_t number) {
    char text[128];
    const char *end = read_about(number, "stat", text, sizeof text) ? strrchr(text, ')') : NULL;
    return end && end[1] == ' ' ? end[2] : '\0';
}

bool th_os_thread_waits(uint64_t number) {
    const char state = state_of(number);
    return state && state != 'R';
}

bool th_os_thread_runs(uint64_t number) {
    return state_of(number) == 'R';
}

/* "35 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffc12345678 0x7f1234567890", or "running": the last but one. */
uintptr_t th_os_thread_pointer(uint64_t number) {
    char text[256];
    unsigned long long pointer;
    if (!read_about(number, "syscall", text, sizeof text) ||
        sscanf(text, "%*d %*x %*x %*x %*x %*x %*x %llx", &pointer) != 1) {
        return 0;
    }
    return (uintptr_t)pointer;
}

/* ---- ordering all threads ---- */

/* The kernel's, whose headers not every C library finds: MEMBARRIER_CMD_[REGISTER_]... */
#define PRIVATE_EXPEDITED 8
#define REGISTER_PRIVATE_EXPEDITED 16

static bool membarrier(int command) {
    return !th_os_fails(TH_OS_FAULT_BARRIER) && RETRY(syscall(SYS_membarrier, command, 0, 0)) == 0;
}

int th_os_barrier_start(void) {
    return membarrier(REGISTER_PRIVATE_EXPEDITED) ? 0 : -ENOSYS;
}

bool th_os_barrier(void) {
    return membarrier(PRIVATE_EXPEDITED);
}

unsigned long th_os_timer_slack(unsigned long ns) {
    TH_KEEPS_ERRNO;
    int was = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    if (was > 0) {
        prctl(PR_SET_TIMERSLACK, ns, 0, 0, 0);
    }
    return was > 0 ? (unsigned long)was : 0;
}

/* ---- the thread's own stack ---- */

/* The main thread's stack grows into a gap of at least twice this, where nothing else is mapped. */
#define MAIN_STACK_MAX ((uintptr_t)64 << 20)

/*
 * For the main thread's stack the C library would read a file. The address of the random bytes that
 * the kernel has put above the first frame also shows the beginning of the stack.
 */
void th_os_stack(uintptr_t *low, uintptr_t *high) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    pthread_attr_t attr;
    void *bottom = NULL;
    size_t size = 0;
    TH_KEEPS_ERRNO;
    *low = 0;
    *high = 0;
    if (syscall(SYS_gettid) == getpid()) {
        *high = (uintptr_t)getauxval(AT_RANDOM);
        *low = *high > MAIN_STACK_MAX ? *high - MAIN_STACK_MAX : 0;
    } else if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        if (pthread_attr_getstack(&attr, &bottom, &size) == 0) {
            *low = (uintptr_t)bottom;
            *high = *low + size;
        }
        pthread_attr_destroy(&attr);
    }
    if (here < *low || here >= *high) { /* the thread is on another stack */
        *low = 0;
        *high = 0;
    }
}
