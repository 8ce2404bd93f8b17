/*
 * start.c: starting a program.
 *
 * The system's call sleeps until the program is loaded, from a slow disk perhaps: so a task makes
 * it on the blocking pool.
 */
#include <errno.h>

#include "io/record.h"
#include "process/launch.h"
#include "process/reaper.h"
#include "thrum/blocking.h"
#include "thrum/sched.h"

#define FLAGS                                                                                      \
    (THRUM_PROCESS_GROUP | THRUM_PROCESS_SESSION | THRUM_PROCESS_ENV_ADD |                         \
     THRUM_PROCESS_KEEP_FDS | THRUM_PROCESS_KILL)

void thrum_process_options_init(thrum_process_options *options) {
    *options = (thrum_process_options)THRUM_PROCESS_OPTIONS_INIT;
}

static bool streams_make_sense(const thrum_process_options *options) {
    for (unsigned i = 0; i < TH_STREAMS; i++) {
        const thrum_process_stream *stream = &options->streams[i];
        if (stream->kind > THRUM_PROCESS_OUTPUT ||
            (stream->kind == THRUM_PROCESS_OUTPUT && i != 2) ||
            (stream->kind == THRUM_PROCESS_PIPE && !stream->pipe)) {
            return false;
        }
    }
    return true;
}

static bool make_sense(const char *const argv[], const thrum_process_options *options) {
    return argv && argv[0] && options->size == sizeof *options && !(options->flags & ~FLAGS) &&
           (options->fds || !options->fds_count) && options->fds_count <= THRUM_PROCESS_FDS_MAX &&
           (options->limits || !options->limits_count) && options->limits_count <= INT32_MAX &&
           streams_make_sense(options);
}

/* The job for the blocking pool. */
typedef struct start {
    thrum_process *process;
    const th_os_program *program;
    const char *failed;
} start;

static int make_call(void *arg) {
    start *s = arg;
    return th_os_process_start(&s->process->os, s->program, &s->failed);
}

/* Makes the call where it may sleep. A code from the pool is as one of the system's. */
static int call_system(start *s) {
    int result = 0;
    int code = thrum_blocking(make_call, s, &result);
    return code ? code : result;
}

/* After it: the process, and the notice of its end. */
static int finish(thrum_process *process, bool has_fd, int code) {
    if (!code && has_fd) {
        code = th_record_adopt(&process->io, process->os.fd, TH_OS_OTHER, true);
        if (code) {
            (void)th_os_process_signal(&process->os, TH_OS_SIGKILL, false);
            th_reaper_take(process);
            return code;
        }
    }
    if (!has_fd) {
        process->os.fd = -1;
        th_watcher_go(process, code ? TH_PROCESS_FAILED : TH_PROCESS_RUNS);
    }
    if (code && has_fd) {
        th_os_free(process);
    } else if (code) {
        th_watcher_leave(process);
    }
    return code;
}

static thrum_process *new_process(const thrum_process_options *options) {
    thrum_process *process = th_os_alloc(sizeof *process);
    if (process) {
        *process = (thrum_process){
            .os = {0, -1, NULL}, .owner = th_os_pid(), .flags = options->flags, .xopen = 1};
    }
    return process;
}

/* With the process's arguments made. */
static int start_launched(thrum_process **out, const thrum_process_options *options,
                          const th_launch *launch, const char **failed) {
    const bool has_fd = launch->program.has_fd;
    thrum_process *process = new_process(options);
    if (!process) {
        return -ENOMEM;
    }
    /* If the system has no descriptors of processes, a thread is to wait. */
    int code = has_fd ? 0 : th_watcher_begin(process);
    if (code) {
        th_os_free(process);
        return code;
    }
    start s = {process, &launch->program, *failed};
    code = finish(process, has_fd, call_system(&s));
    *failed = s.failed;
    if (!code) {
        *out = process;
    }
    return code;
}

int thrum_process_start(thrum_process **out, const char *const argv[],
                        const thrum_process_options *options) {
    const thrum_process_options defaults = THRUM_PROCESS_OPTIONS_INIT;
    options = options ? options : &defaults;
    if (!out || !make_sense(argv, options)) {
        return -EINVAL;
    }
    th_launch launch;
    const char *failed;
    th_reaper_look();
    int code = th_launch_open(&launch, argv, options, th_os_process_has_fd(), &failed);
    if (!code) {
        launch.program.as_main = thrum_sched_current() != NULL;
        failed = "process";
        code = start_launched(out, options, &launch, &failed);
        th_launch_close(&launch, options, !code);
    }
    if (options->failed) {
        *options->failed = code ? failed : NULL;
    }
    return code;
}
