/*
 * process.c: starting programs, and waiting for their end.
 *
 * The child shares the memory of the process (CLONE_VM), and the thread that starts it sleeps until
 * the program is loaded (CLONE_VFORK): no page tables are copied, however large the process is, and
 * no handlers of forks run. The child reports a failure in that memory. Emulators and valgrind make
 * a copy all the same: the first start finds that out, and from then on a pipe reports it.
 *
 * Until it executes its program, the child sends no signal at its end (the low byte of the flags is
 * 0), so that callers that wait for any child do not see a failed start.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "platform/faults.h"
#include "platform/unix/interrupted.h"
#include "platform/linux/process_child.h"
#include "platform/unix/process_end.h"

#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x00001000
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef __WALL
#define __WALL 0x40000000
#endif

#define TO_GROUP 4u /* PIDFD_SIGNAL_PROCESS_GROUP; since Linux 6.9 */

#define STACK_SIZE ((size_t)64 * 1024) /* the child's: more than it needs in any build */
#define MASK_BYTES 8                   /* of the system's set of signals */

#if TH_TSAN && defined(__GLIBC__)
/* That sanitizer would take the child for another process, with a state of its own. */
extern TH_FOREIGN int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);
#define clone __clone
#endif

static const char *const steps[] = {"process", "folder", "limit", "descriptor", "program"};

/* Answers that stay the same once they are known. */
enum { UNKNOWN, YES, NO };
static uint32_t xhas_fd;
static uint32_t xshared;

/* ---- starting ---- */

bool th_os_process_has_fd(void) {
    uint32_t has = th_load_relaxed(&xhas_fd); /* relaxed: each thread may find out for itself */
    TH_OS_MAY_FAIL(TH_OS_FAULT_PROCESS_FD, false);
    if (has == UNKNOWN) {
        int64_t fd = RETRY(syscall(SYS_pidfd_open, (long)getpid(), 0L));
        has = fd >= 0 || fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM ? YES : NO;
        if (fd >= 0) {
            (void)th_os_io_close((int)fd);
        }
        th_store_relaxed(&xhas_fd, has); /* relaxed: as above */
    }
    return has == YES;
}

/* One clone: the child's number or a code. */
static int clone_once(th_child *child, char *stack, int flags, int *fd) {
    pid_t pid = clone(th_child_main, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | flags, child, fd);
    return pid < 0 ? -th_os_errno_get() : pid;
}

/* With all signals blocked: clones, as an emulator likes it if need be. */
static int clone_child(th_child *child, char *stack, int *fd) {
    const bool has_fd = child->program->has_fd;
    int pid = th_os_fails(TH_OS_FAULT_PROCESS_SHARED)
                  ? -EINVAL
                  : clone_once(child, stack, has_fd ? CLONE_PIDFD : 0, fd);
    if (pid != -EINVAL) {
        return pid;
    }
    *fd = -1;
    pid = clone_once(child, stack, SIGCHLD, NULL);
    if (pid > 0 && has_fd) { /* the number is ours until it is asked for */
        *fd = (int)RETRY(syscall(SYS_pidfd_open, (long)pid, 0L));
        *fd = *fd == -1 ? -ENOSYS : *fd; /* -1: it is to have none */
    }
    return pid;
}

static int clone_masked(th_child *child, int *fd) {
    const uint64_t all = UINT64_MAX;
    uint64_t before;
    char *stack = th_os_alloc(STACK_SIZE);
    if (!stack) {
        return -ENOMEM;
    }
    (void)syscall(SYS_rt_sigprocmask, (long)SIG_SETMASK, &all, &before, (long)MASK_BYTES);
    int pid = clone_child(child, stack, fd);
    (void)syscall(SYS_rt_sigprocmask, (long)SIG_SETMASK, &before, NULL, (long)MASK_BYTES);
    th_os_free(stack);
    return pid;
}

/* Whether the child has given up; it reports that in memory, or by the pipe. */
static th_child_told ask_child(const th_child *child, const int ends[2]) {
    th_child_told told = {child->told.code, child->told.step};
    if (ends[1] >= 0) {
        (void)th_os_io_close(ends[1]);
        /* relaxed: each thread may find out for itself */
        th_store_relaxed(&xshared, (uint32_t)(child->began ? YES : NO));
    }
    if (!child->began && RETRY(read(ends[0], &told, sizeof told)) != (int64_t)sizeof told) {
        told.code = 0; /* the program is loaded, which has closed the other end */
    }
    return told;
}

/* Makes the child, and the pipe where it needs one; 0 or a code. */
static int make_child(th_child *child, th_os_process *out, th_child_told *told) {
    int ends[2] = {-1, -1};
    /* relaxed: as above */
    int code = th_load_relaxed(&xshared) == YES ? 0 : th_os_pipe(ends, 1);
    if (code) {
        return code;
    }
    child->tell = ends[1];
    out->fd = -1;
    out->pid = clone_masked(child, &out->fd);
    *told = out->pid < 0 ? (th_child_told){out->pid, TH_CHILD_PROCESS} : ask_child(child, ends);
    if (ends[1] >= 0 && out->pid < 0) {
        (void)th_os_io_close(ends[1]);
    }
    if (ends[0] >= 0) {
        (void)th_os_io_close(ends[0]);
    }
    return told->code;
}

/* Drops a child that has not executed its program, or that cannot be waited for. */
static void drop_child(th_os_process *process, bool runs) {
    if (process->pid > 0) {
        if (runs) {
            (void)kill(process->pid, SIGKILL);
        }
        (void)RETRY(waitpid(process->pid, NULL, __WALL));
    }
    if (process->fd >= 0) {
        (void)th_os_io_close(process->fd);
    }
}

static void set_up(th_child *child, const th_os_program *program) {
    *child = (th_child){.program = program, .tell = -1};
    for (int i = 1; i < TH_OS_SIGNALS; i++) {
        child->stays_ignored[i] = th_process_keeps_ignoring(i);
    }
    if (program->as_main) {
        child->cpus_size =
            syscall(SYS_sched_getaffinity, (long)getpid(), (long)sizeof child->cpus, &child->cpus);
    }
}

int th_os_process_start(th_os_process *out, const th_os_program *program, const char **failed) {
    th_child child;
    th_child_told told = {0, TH_CHILD_PROCESS};
    *failed = steps[TH_CHILD_PROCESS];
    TH_OS_MAY_FAIL(TH_OS_FAULT_PROCESS, -EAGAIN);
    int code = th_process_can_be_awaited(failed);
    if (code) {
        return code;
    }
    TH_KEEPS_ERRNO;
    set_up(&child, program);
    code = make_child(&child, out, &told);
    if (code) {
        *failed = steps[told.step];
        drop_child(out, false);
    } else if (out->fd < -1) {
        code = out->fd;
        drop_child(out, true);
    }
    return code;
}

/* ---- signals ---- */

int th_os_process_signal(const th_os_process *process, int number, bool group) {
    if (number < 0 || number >= TH_OS_SIGNALS) {
        return -EINVAL;
    }
    int64_t code = -EINVAL;
    if (process->fd >= 0) {
        code = RETRY(syscall(SYS_pidfd_send_signal, (long)process->fd, (long)number, NULL,
                             group ? (long)TO_GROUP : 0L));
    }
    if (!code || code == -ESRCH) {
        return (int)code;
    }
    /* A sandbox refuses that one with any code, and may let the other one pass. */
    const int by_number = th_process_signal_by_number(process, number, group);
    return by_number && code == -EPERM ? -EPERM : by_number;
}
