/*
 * process.c: starting programs by posix_spawn.
 *
 * Options without an action in POSIX.1-2008 are refused: a folder, limits, a separate session. If
 * other descriptors are to be closed, the ones closed are those open when the start begins.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include "platform/faults.h"
#include "platform/unix/process_end.h"

#define OPEN_GUESS 1024

bool th_os_process_has_fd(void) {
    return false;
}

/* ---- descriptors ---- */

/* EINVAL: no number so high may be had. */
static int copy_above(int fd, int lowest) {
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, lowest);
    const int code = copy < 0 ? th_os_errno_get() : 0;
    return copy < 0 ? -(code == EINVAL ? EMFILE : code) : copy;
}

/* Copies descriptors whose numbers others need; 0 or a code. They are closed afterwards. */
static int move_up(const th_os_program *p) {
    int code = 0;
    for (unsigned i = 0; i < p->fds_count; i++) {
        p->scratch[i] = -1;
    }
    for (unsigned i = 0; i < p->fds_count && !code; i++) {
        if (p->fds[i] != TH_OS_FD_SAME) {
            p->scratch[i] = copy_above(p->fds[i], (int)p->fds_count);
            code = p->scratch[i] < 0 ? p->scratch[i] : 0;
        }
    }
    return code;
}

static void drop_moved(const th_os_program *p) {
    for (unsigned i = 0; i < p->fds_count; i++) {
        if (p->scratch[i] >= 0) {
            close(p->scratch[i]);
        }
    }
}

static int add_fds(posix_spawn_file_actions_t *actions, const th_os_program *p) {
    int code = 0;
    for (unsigned i = 0; i < p->fds_count && !code; i++) {
        if (p->scratch[i] >= 0) {
            code = posix_spawn_file_actions_adddup2(actions, p->scratch[i], (int)i);
        }
    }
    long last = p->close_others ? sysconf(_SC_OPEN_MAX) : 0;
    last = last < 0 ? OPEN_GUESS : last;
    for (int fd = (int)p->fds_count; fd < last && !code; fd++) {
        const int flags = fcntl(fd, F_GETFD);
        if (flags >= 0 && !(flags & FD_CLOEXEC)) {
            code = posix_spawn_file_actions_addclose(actions, fd);
        }
    }
    return -code;
}

/* ---- the program ---- */

static int set_attributes(posix_spawnattr_t *attributes, const th_os_program *p) {
    sigset_t none;
    sigset_t fresh;
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigemptyset(&none);
    sigfillset(&fresh);
    for (int i = 1; i < TH_OS_SIGNALS; i++) {
        if (th_process_keeps_ignoring(i)) {
            sigdelset(&fresh, i);
        }
    }
    if (p->group == TH_OS_GROUP_OWN) {
        flags |= POSIX_SPAWN_SETPGROUP; /* 0, which it is at first: the child's own number */
    }
    int code = posix_spawnattr_setsigmask(attributes, &none);
    code = code ? code : posix_spawnattr_setsigdefault(attributes, &fresh);
    return -(code ? code : posix_spawnattr_setflags(attributes, flags));
}

/* Tries the files in turn; returns why none of them runs. */
static int spawn(pid_t *pid, const th_os_program *p, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes) {
    int refused = 0;
    int code = ENOENT;
    for (const char *const *path = p->paths; *path; path++) {
        code = posix_spawn(pid, *path, actions, attributes, (char *const *)(uintptr_t)p->argv,
                           (char *const *)(uintptr_t)p->env);
        if (code != ENOENT && code != ENOTDIR && code != EACCES) {
            return -code;
        }
        refused = code == EACCES ? code : refused;
    }
    return -(refused ? refused : p->paths[1] ? ENOENT : code);
}

static int start(pid_t *pid, const th_os_program *p, const char **failed) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return -ENOMEM;
    }
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return -ENOMEM;
    }
    int code = set_attributes(&attributes, p);
    if (!code) {
        *failed = "descriptor";
        code = move_up(p);
        code = code ? code : add_fds(&actions, p);
        if (!code) {
            *failed = "program";
            code = spawn(pid, p, &actions, &attributes);
        }
        drop_moved(p);
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

int th_os_process_start(th_os_process *out, const th_os_program *program, const char **failed) {
    pid_t pid = -1;
    *failed = "process";
    TH_OS_MAY_FAIL(TH_OS_FAULT_PROCESS, -EAGAIN);
    if (program->folder || program->limits_count || program->group == TH_OS_GROUP_SESSION) {
        *failed = program->folder ? "folder" : program->limits_count ? "limit" : "process";
        return -ENOSYS;
    }
    TH_KEEPS_ERRNO;
    int code = th_process_can_be_awaited(failed);
    code = code ? code : start(&pid, program, failed);
    *out = (th_os_process){code ? -1 : (int)pid, -1, NULL};
    return code;
}

/* ---- signals ---- */

int th_os_process_signal(const th_os_process *process, int number, bool group) {
    if (number < 0 || number >= TH_OS_SIGNALS) {
        return -EINVAL;
    }
    return th_process_signal_by_number(process, number, group);
}
