/*
 * process.c: waiting for a program, signals to it, and the end of its handle.
 */
#include <errno.h>

#include "base/check.h"
#include "process/reaper.h"
#include "thrum/io.h"
#include "thrum/spawn.h"

#define TRACED_NS 1000000 /* between two looks at a process that a debugger has first */

static void check_open(const thrum_process *process, const char *call) {
    if (!th_load_relaxed(&process->xopen)) { /* relaxed: misuse is found as far as possible */
        th_misuse(call, "the process was closed before", process);
    }
}

/* 0, -EINVAL for NULL, or -ESHUTDOWN for one of the parent's. */
static int check(const thrum_process *process, const char *call) {
    if (!process) {
        return -EINVAL;
    }
    check_open(process, call);
    return process->owner != th_os_pid() ? -ESHUTDOWN : 0;
}

static void enter(thrum_process *process) {
    th_add_relaxed(&process->xinside, 1u); /* relaxed: the caller orders the close */
}

static void leave(thrum_process *process) {
    th_add_relaxed(&process->xinside, (uint32_t)-1); /* relaxed: as above */
}

int th_process_end(const thrum_process *process) {
    if (th_process_leads(process)) {
        (void)th_os_process_signal(&process->os, TH_OS_SIGKILL, true);
    }
    /* By itself, too: it may have left its group, and that call succeeds if any member got it. */
    return th_os_process_signal(&process->os, TH_OS_SIGKILL, false);
}

/* ---- waiting ---- */

static int await(const thrum_process *process, thrum_process_status *status, thrum_time deadline) {
    th_os_ended ended;
    int code;
    while (!(code = th_os_process_ended(&process->os, &ended))) {
        code = thrum_io_wait(process->io, THRUM_IO_READ, deadline);
        if (code < 0) {
            return code;
        }
        code = th_os_process_ended(&process->os, &ended);
        if (code) {
            break;
        }
        /*
         * It has ended, but a debugger is notified first, which does not make a descriptor
         * ready.
         */
        const thrum_time soon = thrum_after(TRACED_NS);
        code = thrum_sleep_until(soon < deadline ? soon : deadline);
        if (code) {
            return code;
        }
    }
    if (code > 0) {
        *status = (thrum_process_status){ended.code, ended.signal, ended.dumped};
    }
    return code < 0 ? code : 0;
}

int thrum_process_wait(thrum_process *process, thrum_process_status *status, thrum_time deadline) {
    int code = status ? check(process, "thrum_process_wait") : -EINVAL;
    if (code) {
        return code;
    }
    enter(process);
    code = await(process, status, deadline);
    if (code == -ECANCELED && process->flags & THRUM_PROCESS_KILL) {
        (void)th_process_end(process);
    }
    leave(process);
    return code;
}

/* ---- signals ---- */

static int send_signal(thrum_process *process, int signal, bool group) {
    int code = check(process, group ? "thrum_process_kill_group" : "thrum_process_kill");
    if (!code && group && !th_process_leads(process)) {
        code = -EINVAL;
    }
    if (!code) {
        enter(process);
        code = th_os_process_signal(&process->os, signal, group);
        leave(process);
    }
    return code;
}

int thrum_process_kill(thrum_process *process, int signal) {
    return send_signal(process, signal, false);
}

int thrum_process_kill_group(thrum_process *process, int signal) {
    return send_signal(process, signal, true);
}

/* ---- the handle ---- */

int thrum_process_pid(const thrum_process *process) {
    const int code = check(process, "thrum_process_pid");
    return code ? code : process->os.pid;
}

thrum_io thrum_process_io(const thrum_process *process) {
    if (!process) {
        return (thrum_io){0, 0};
    }
    check_open(process, "thrum_process_io");
    return process->io;
}

/* One with a descriptor of its own. */
static void close_by_fd(thrum_process *process) {
    if (th_os_process_reap(&process->os)) {
        (void)thrum_io_close(process->io);
        th_process_free(process);
        return;
    }
    if (thrum_io_release(process->io) < 0) {
        process->os.fd = -1; /* GCOVR_EXCL_LINE: the program has closed it */
    }
    th_reaper_take(process);
}

int thrum_process_close(thrum_process *process) {
    static const char call[] = "thrum_process_close";
    const int code = check(process, call);
    if (!process) {
        return code;
    }
    /* relaxed: misuse is found as far as possible */
    if (th_load_relaxed(&process->xinside) && !code) {
        th_misuse(call, "another call uses the process", process);
    }
    /* relaxed: of two closes at a time one finds the other */
    if (!th_xchg_relaxed(&process->xopen, 0u)) {
        th_misuse(call, "the process was closed before", process);
    }
    if (code) {
        th_process_free(process);
        return code;
    }
    th_os_ended ended;
    if (process->flags & THRUM_PROCESS_KILL && !th_os_process_ended(&process->os, &ended)) {
        (void)th_process_end(process);
    }
    if (process->os.fd >= 0) {
        close_by_fd(process);
    } else {
        th_watcher_leave(process);
    }
    return 0;
}
