/*
 * pollset.c: sets of descriptors by epoll, and wake-ups by eventfd.
 *
 * Descriptors are edge-triggered, for both directions at once, so that each is added once and never
 * changed. The wake-up is level-triggered: a thread that looks at another one's set must not take
 * the wake away from the set's owner.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "platform/faults.h"
#include "platform/unix/above.h"
#include "platform/unix/interrupted.h"

_Static_assert(sizeof(struct epoll_event) <= sizeof(th_os_event),
               "th_os_pollset_wait has both in one place");

/* The kernel's own layout of a time, regardless of the C library's. */
typedef struct kernel_time {
    int64_t s;
    int64_t ns;
} kernel_time;

/* The kernel's own layout of a timer's setting. */
typedef struct kernel_timer {
    kernel_time interval;
    kernel_time value;
} kernel_timer;

/* The calls whose times are the kernel's own. */
#ifdef SYS_ppoll_time64
#define CALL_PPOLL SYS_ppoll_time64
#else
#define CALL_PPOLL SYS_ppoll
#endif
#ifdef SYS_timerfd_settime64
#define CALL_TIMERFD_SETTIME SYS_timerfd_settime64
#else
#define CALL_TIMERFD_SETTIME SYS_timerfd_settime
#endif

/* Whether epoll_pwait2 is missing here, or a sandbox refuses it, with whichever code. */
static bool xold;

/* ---- wake-ups ---- */

int th_os_wakeup_open(void) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_EVENTFD, -EMFILE);
    TH_KEEPS_ERRNO;
    return above_standard(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
}

void th_os_wakeup_close(int wakeup) {
    TH_KEEPS_ERRNO;
    close(wakeup);
}

/*
 * Workers call these two in their own context, on the stack of a task: so the thread sanitizer must
 * see no access to a local there (base/annotate.h).
 */
static int set_wakeup(int wakeup) {
    static const uint64_t one = 1;
    /* EAGAIN: the counter is full, so it is set */
    return RETRY(write(wakeup, &one, sizeof one)) == -EBADF ? -EBADF : 0;
}

void th_os_wakeup_set(int wakeup) {
    (void)set_wakeup(wakeup);
}

void th_os_wakeup_take(int wakeup) {
    uint64_t count;
    (void)RETRY(syscall(SYS_read, wakeup, &count, sizeof count));
}

/* ---- sets ---- */

static int control(int set, int what, int fd, uint32_t events, uint64_t key) {
    struct epoll_event event = {.events = events, .data.u64 = key};
    return (int)RETRY(epoll_ctl(set, what, fd, &event));
}

int th_os_pollset_open(th_os_pollset *out) {
    TH_KEEPS_ERRNO;
    *out = (th_os_pollset){.set = -1, .wake = -1};
    int code = th_os_fails(TH_OS_FAULT_POLLSET) ? -EMFILE : 0;
    if (!code) {
        out->set = above_standard(epoll_create1(EPOLL_CLOEXEC));
        code = out->set < 0 ? out->set : 0;
    }
    if (!code) {
        out->wake = th_os_wakeup_open();
        code = out->wake < 0 ? out->wake : 0;
    }
    if (!code) {
        code = control(out->set, EPOLL_CTL_ADD, out->wake, EPOLLIN, TH_OS_WAKE);
    }
    if (!code) { /* a set that cannot be waited for is none */
        th_os_event none;
        const int n = th_os_pollset_wait(out, &none, 1, 0);
        code = n < 0 && n != -EINTR ? n : 0;
    }
    if (code) {
        th_os_pollset_close(out);
    }
    return code;
}

void th_os_pollset_close(th_os_pollset *set) {
    TH_KEEPS_ERRNO;
    if (set->wake >= 0) {
        close(set->wake);
    }
    if (set->set >= 0) {
        close(set->set);
    }
    *set = (th_os_pollset){.set = -1, .wake = -1};
}

int th_os_pollset_add(const th_os_pollset *set, int fd, uint64_t key) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_POLLSET_ADD, -ENOMEM);
    return control(set->set, EPOLL_CTL_ADD, fd,
                   EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET, key);
}

int th_os_pollset_add_set(const th_os_pollset *set, const th_os_pollset *other, uint64_t key) {
    return control(set->set, EPOLL_CTL_ADD, other->set, EPOLLIN, key);
}

int th_os_pollset_remove(const th_os_pollset *set, int fd) {
    return control(set->set, EPOLL_CTL_DEL, fd, 0, 0);
}

/* ---- alarms ---- */

#ifndef EPOLLEXCLUSIVE
#define EPOLLEXCLUSIVE (1u << 28)
#endif

int th_os_alarm_open(void) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_EVENTFD, -EMFILE);
    TH_KEEPS_ERRNO;
    return above_standard(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
}

void th_os_alarm_close(int alarm) {
    th_os_wakeup_close(alarm);
}

/*
 * Setting it takes its event away. The local may lie on the stack of a task, and the thread
 * sanitizer would note a read of it inside the C library's call: so the system is called itself.
 */
TH_NO_TSAN void th_os_alarm_set(int alarm, int64_t at) {
    kernel_timer timer = {{0, 0}, {0, 0}};
    int saved = th_os_errno_get();
    if (at != TH_FOREVER) {
        at = at > 0 ? at : 1; /* zeros would turn it off */
        timer.value = (kernel_time){at / 1000000000, at % 1000000000};
    }
    (void)syscall(CALL_TIMERFD_SETTIME, alarm, TFD_TIMER_ABSTIME, &timer, NULL);
    th_os_errno_set(saved);
}

int th_os_pollset_add_alarm(const th_os_pollset *set, int alarm) {
    return control(set->set, EPOLL_CTL_ADD, alarm, EPOLLIN | EPOLLEXCLUSIVE, TH_OS_ALARM);
}

/* ---- waiting ---- */

static uint32_t bits_of(uint32_t events) {
    uint32_t bits = events & EPOLLIN ? TH_OS_IN : 0;
    bits |= events & EPOLLOUT ? TH_OS_OUT : 0;
    if (events & (EPOLLRDHUP | EPOLLPRI)) {
        bits |= TH_OS_IN | TH_OS_ODD;
    }
    if (events & (EPOLLHUP | EPOLLERR)) {
        bits |= TH_OS_IN | TH_OS_OUT | TH_OS_ODD;
    }
    return bits;
}

/*
 * Workers look on the stack of the task that is about to wait, in a context of their own: their
 * writes there are hidden from the thread sanitizer (base/annotate.h).
 */

/* The time until the deadline; false: it has passed, or there is none to be waited for. */
static TH_NO_TSAN bool time_left(int64_t deadline, kernel_time *left) {
    int64_t ns = deadline ? deadline - th_os_now() : 0;
    ns = ns > 0 ? ns : 0;
    *left = (kernel_time){ns / 1000000000, ns % 1000000000};
    return ns > 0;
}

/* The same in whole milliseconds, rounded up: not before the deadline. */
static int whole_ms(const kernel_time *left) {
    int64_t ms = left->s > 1000000 ? 1000000000 : left->s * 1000 + (left->ns + 999999) / 1000000;
    return (int)ms;
}

/* A sandbox may know only one of the two. */
static TH_NO_TSAN long wait_ms(int set, struct epoll_event *events, int max, int ms) {
    const int n = epoll_wait(set, events, max, ms);
    return n >= 0 || th_os_errno_get() == EINTR ? n : epoll_pwait(set, events, max, ms, NULL);
}

static TH_NO_TSAN long wait_once(int set, struct epoll_event *events, int max, int64_t deadline) {
    kernel_time left;
    if (deadline == TH_FOREVER) {
        return wait_ms(set, events, max, -1);
    }
    if (!time_left(deadline, &left)) {
        return wait_ms(set, events, max, 0);
    }
#ifdef SYS_epoll_pwait2
    if (!th_load_relaxed(&xold) && !th_os_fails(TH_OS_FAULT_PWAIT2)) { /* relaxed: a hint */
        long n = syscall(SYS_epoll_pwait2, set, events, max, &left, NULL, 0);
        if (n >= 0 || th_os_errno_get() == EINTR) {
            return n;
        }
        th_store_relaxed(&xold, true); /* relaxed: each thread may find out for itself */
    }
#endif
    return wait_ms(set, events, max, whole_ms(&left));
}

TH_NO_TSAN int th_os_pollset_wait(const th_os_pollset *set, th_os_event events[], unsigned max,
                                  int64_t deadline) {
    /* The system's events have the place of ours, since the stack may be a task's. The last ones
     * are translated first: into room that is not read again. */
    struct epoll_event *got = (struct epoll_event *)(void *)events;
    int saved = th_os_errno_get();
    long n = wait_once(set->set, got, (int)max, deadline);
    int code = n < 0 ? -th_os_errno_get() : (int)n;
    th_os_errno_set(saved);
    for (int i = code; i-- > 0;) {
        struct epoll_event one;
        memcpy(&one, &got[i], sizeof one);
        events[i] = (th_os_event){one.data.u64, bits_of(one.events)};
    }
    return code;
}

TH_NO_TSAN int th_os_pollset_wait_any(const th_os_pollset *const sets[], unsigned n,
                                      int64_t deadline) {
    struct pollfd fds[TH_OS_SETS_MAX];
    kernel_time left;
    for (unsigned i = 0; i < n; i++) {
        fds[i].fd = sets[i]->set;
        fds[i].events = POLLIN;
        fds[i].revents = 0;
    }
    const bool ever = deadline == TH_FOREVER;
    if (!ever) {
        (void)time_left(deadline, &left);
    }
    int saved = th_os_errno_get();
    long got = syscall(CALL_PPOLL, fds, (long)n, ever ? NULL : &left, NULL, 0L);
    int code = got < 0 ? -th_os_errno_get() : 0;
    th_os_errno_set(saved);
    for (unsigned i = 0; i < n && got > 0; i++) {
        code |= fds[i].revents ? 1 << i : 0;
    }
    return code;
}

bool th_os_pollset_is_ready(const th_os_pollset *set) {
    struct pollfd one = {.fd = set->set, .events = POLLIN};
    return RETRY(th_system_poll(&one, 1, 0)) > 0;
}

int th_os_pollset_wake(const th_os_pollset *set) {
    return set_wakeup(set->wake);
}

void th_os_pollset_wake_take(const th_os_pollset *set) {
    th_os_wakeup_take(set->wake);
}

/* ---- without a set ---- */

int th_system_poll(struct pollfd fds[], unsigned n, int64_t deadline) {
    kernel_time left;
    struct timespec timeout = {0};
    if (deadline != TH_FOREVER && time_left(deadline, &left)) {
        timeout = (struct timespec){.tv_sec = (time_t)left.s, .tv_nsec = (long)left.ns};
    }
    return ppoll(fds, n, deadline == TH_FOREVER ? NULL : &timeout, NULL);
}

bool th_os_pollset_shows(void) {
    return true;
}
