/*
 * process_wait.c: the end of a started process.
 */
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/unix/interrupted.h"
#include "platform/unix/system.h"

#define WAIT_BY_FD 3 /* P_PIDFD, of waitid */
#ifndef __WALL
#define __WALL 0x40000000
#endif

/* The system's record of a process that has been reaped; since Linux 6.15. */
typedef struct info {
    uint64_t mask;
    uint64_t group;
    uint32_t numbers[11];
    int32_t status;
} info;
#define INFO_EXIT 8u
#define GET_INFO _IOWR(0xFF, 11, info)

/* Decodes wait's status word. */
static void tell_status(int status, th_os_ended *ended) {
    *ended = (th_os_ended){WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                           WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                           WIFSIGNALED(status) && WCOREDUMP(status)};
}

/* For a process that the system has forgotten, except for its descriptor. */
int th_system_forgotten(const th_os_process *process, th_os_ended *ended) {
    info i = {.mask = INFO_EXIT};
    if (process->fd < 0 || RETRY(syscall(SYS_ioctl, (long)process->fd, (long)GET_INFO, &i)) < 0 ||
        !(i.mask & INFO_EXIT)) {
        return -ECHILD;
    }
    tell_status(i.status, ended);
    return 1;
}

/*
 * A child that is killed before it has executed its program sends no signal at its end, and only
 * __WALL waits for such children; before Linux 4.7 waitid refuses that word.
 */
static int64_t wait_once(idtype_t kind, id_t number, siginfo_t *said, int options) {
    const int64_t code = RETRY(waitid(kind, number, said, options | __WALL));
    return code != -EINVAL ? code : RETRY(waitid(kind, number, said, options));
}

/* waitid for it, by its descriptor where the system can. */
int64_t th_system_wait(const th_os_process *process, siginfo_t *said, int options) {
    *said = (siginfo_t){0};
    int64_t code = -EINVAL;
    if (process->fd >= 0) {
        code = wait_once((idtype_t)WAIT_BY_FD, (id_t)process->fd, said, options);
    }
    return code != -EINVAL ? code : wait_once(P_PID, (id_t)process->pid, said, options);
}
