/*
 * processes.h: common parts of tests of started processes.
 *
 *   ways        a test's body runs in a task of a rig, on a bound thread without workers, and on a
 *               plain thread; then again as on systems without descriptors of processes, and as
 *               where a child has no memory in common with its parent
 *   shell       a script, as the arguments of a program
 */
#ifndef PROCESSES_H
#define PROCESSES_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for pipe2, and masks of CPUs */
#endif

#include "support/sync/actors.h"

#include "platform/faults.h"

/* The parts that differ between systems: descriptors, has_children, SHELL_PROGRAM, SHELL_OPTION. */
#if defined(_WIN32)
#include "windows/programs.h"
#else
#include "posix/programs.h"
#endif

#define SHELL(script_)                                                                             \
    (const char *const[]) {                                                                        \
        SHELL_PROGRAM, SHELL_OPTION, (script_), NULL                                               \
    }

/* In a task, on a bound thread, and on this plain thread. */
CHECK_UNUSED static void callers(thrum_fn fn) {
    rig r;
    rig_do(0, fn, NULL);
    rig_init(&r);
    r.config.workers = 0;
    rig_start(&r);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    CHECK_EQ(fn(NULL), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&r);
    CHECK_EQ(fn(NULL), 0);
}

CHECK_UNUSED static void as_old_systems(bool old) {
    th_os_fail(TH_OS_FAULT_PROCESS_FD, 0, old ? UINT32_MAX : 0);
    th_os_fail(TH_OS_FAULT_CLOSE_RANGE, 0, old ? UINT32_MAX : 0);
}

CHECK_UNUSED static void ways(thrum_fn fn) {
    callers(fn);
    as_old_systems(true);
    callers(fn);
    as_old_systems(false);
    th_os_fail(TH_OS_FAULT_PROCESS_SHARED, 0, UINT32_MAX);
    CHECK_EQ(fn(NULL), 0);
    th_os_fail(TH_OS_FAULT_PROCESS_SHARED, 0, 0);
}

CHECK_UNUSED static thrum_process *started(const char *const argv[],
                                           const thrum_process_options *options) {
    thrum_process *process = NULL;
    CHECK_EQ(thrum_process_start(&process, argv, options), 0);
    return process;
}

/* Waits for its end: its argument to exit, or minus the signal that has ended it. */
CHECK_UNUSED static int ended(thrum_process *process) {
    thrum_process_status status = {0};
    CHECK_EQ(thrum_process_wait(process, &status, THRUM_FOREVER), 0);
    CHECK((status.code < 0) == (status.signal > 0));
    return status.signal > 0 ? -status.signal : status.code;
}

CHECK_UNUSED static int ended_and_closed(thrum_process *process) {
    const int status = ended(process);
    CHECK_EQ(thrum_process_close(process), 0);
    return status;
}

/* The output of a script, which the caller frees with `output`. */
CHECK_UNUSED static const char *said(thrum_process_output *output, const char *script,
                                     const thrum_process_options *options) {
    CHECK_EQ(thrum_process_run(SHELL(script), options, NULL, 0, output, THRUM_FOREVER), 0);
    CHECK_EQ(output->status.code, 0);
    return output->out;
}

#endif
