/*
 * launch.c: see launch.h.
 */
#include "process/launch.h"

#include <errno.h>
#include <string.h>

#include "io/record.h"
#include "thrum/io.h"

#define DEFAULT_PATH "/bin:/usr/bin"

/* ---- where the program may be ---- */

/* The value of a name in an environment, or NULL. */
static const char *value_of(const char *const *env, const char *name) {
    const size_t length = strlen(name);
    for (; env && *env; env++) {
        if (th_os_variables_are_same(*env, name, length) && (*env)[length] == '=') {
            return *env + length + 1;
        }
    }
    return NULL;
}

static size_t folder_length(const char *at) {
    const char separator[2] = {th_os_path_separator(), '\0'};
    return strcspn(at, separator);
}

/*
 * Makes a list of the name in each folder of `path`. A folder that does not begin at a root is left
 * out: it would be another one wherever the program works.
 */
static int find_places(th_launch *launch, const char *path, const char *name) {
    const size_t named = strlen(name) + 2; /* a slash, a zero */
    size_t count = 0;
    size_t bytes = 0;
    for (const char *at = path;; at++) {
        const size_t length = folder_length(at);
        count += th_os_path_is_absolute(at);
        bytes += th_os_path_is_absolute(at) ? length + named : 0;
        at += length;
        if (!*at) {
            break;
        }
    }
    const char **places = th_os_alloc((count + 1) * sizeof *places + bytes);
    if (!places) {
        return -ENOMEM;
    }
    char *to = (char *)(places + count + 1);
    size_t n = 0;
    for (const char *at = path; n < count; at++) {
        const size_t length = folder_length(at);
        if (th_os_path_is_absolute(at)) {
            places[n++] = to;
            memcpy(to, at, length);
            to[length] = '/';
            memcpy(to + length + 1, name, named - 1);
            to += length + named;
        }
        at += length;
    }
    places[count] = NULL;
    launch->places = places;
    launch->program.paths = places;
    return count ? 0 : -ENOENT;
}

static int set_places(th_launch *launch, const char *name) {
    if (th_os_path_has_folder(name) || !*name) {
        launch->single[0] = name;
        launch->program.paths = launch->single;
        return 0;
    }
    const char *path = value_of(launch->ours_env, "PATH");
    return find_places(launch, path ? path : DEFAULT_PATH, name);
}

/* ---- the environment ---- */

static size_t count_of(const char *const *env) {
    size_t n = 0;
    while (env && env[n]) {
        n++;
    }
    return n;
}

/* Whether one of `added` has the same name as the entry. */
static bool is_replaced(const char *entry, const char *const *added) {
    const size_t length = strcspn(entry, "=");
    for (; *added; added++) {
        if (th_os_variables_are_same(*added, entry, length) && (*added)[length] == '=') {
            return true;
        }
    }
    return false;
}

static int set_env(th_launch *launch, const thrum_process_options *options) {
    const char *const *env;
    if (th_os_environment(&launch->ours_env, &launch->env_memory)) {
        return -ENOMEM;
    }
    env = launch->ours_env;
    launch->program.env = options->env ? options->env : env;
    if (!options->env || !(options->flags & THRUM_PROCESS_ENV_ADD)) {
        launch->program.env = launch->program.env ? launch->program.env : &launch->single[1];
        return 0;
    }
    const size_t kept = count_of(env);
    const size_t added = count_of(options->env);
    const char **merged = th_os_alloc((kept + added + 1) * sizeof *merged);
    if (!merged) {
        return -ENOMEM;
    }
    size_t n = 0;
    for (size_t i = 0; i < kept && env[i]; i++) {
        if (!is_replaced(env[i], options->env)) {
            merged[n++] = env[i];
        }
    }
    memcpy(merged + n, options->env, added * sizeof *merged);
    merged[n + added] = NULL;
    launch->merged = merged;
    launch->program.env = merged;
    return 0;
}

/* ---- descriptors ---- */

/* A pipe: the program's end, which is closed after the start, and ours. */
static int open_pipe(th_launch *launch, unsigned i) {
    int ends[2];
    const unsigned their = i ? 1 : 0; /* it reads the first stream, and writes the others */
    int code = th_os_pipe(ends, their);
    if (code) {
        return code;
    }
    launch->theirs[i] = ends[their];
    code = th_record_adopt(&launch->ours[i], ends[1 - their], TH_OS_PIPE, true);
    if (code) {
        (void)th_os_io_close(ends[1 - their]);
        return code;
    }
    return ends[their];
}

/* The null device, opened once for all streams. */
static int open_null(th_launch *launch) {
    int *null = &launch->theirs[TH_STREAMS];
    if (*null == -1) {
        *null = th_os_null_open();
    }
    return *null;
}

/* A number that the caller gives: itself, or -EBADF if it cannot be a descriptor. */
static int given_fd(int fd) {
    return fd < 0 || fd == TH_OS_FD_SAME ? -EBADF : fd;
}

/* Opens a stream: its number or a code. */
static int open_stream(th_launch *launch, const thrum_process_stream *stream, unsigned i) {
    switch (stream->kind) {
    case THRUM_PROCESS_NULL:
        return open_null(launch);
    case THRUM_PROCESS_PIPE:
        return open_pipe(launch, i);
    case THRUM_PROCESS_FD:
        return given_fd(stream->fd);
    case THRUM_PROCESS_OUTPUT:
        return launch->fds[1] == TH_OS_FD_SAME ? 1 : launch->fds[1];
    default:
        return TH_OS_FD_SAME;
    }
}

static int set_fds(th_launch *launch, const thrum_process_options *options) {
    const unsigned n = TH_STREAMS + options->fds_count;
    launch->fds = th_os_alloc((size_t)2 * n * sizeof *launch->fds);
    if (!launch->fds) {
        return -ENOMEM;
    }
    for (unsigned i = 0; i < n; i++) {
        int fd = i < TH_STREAMS ? open_stream(launch, &options->streams[i], i)
                                : given_fd(options->fds[i - TH_STREAMS]);
        if (fd < 0) {
            return fd;
        }
        launch->fds[i] = fd;
    }
    launch->program.fds = launch->fds;
    launch->program.scratch = launch->fds + n;
    launch->program.fds_count = n;
    return 0;
}

/* ---- all of it ---- */

static int fill_in(th_launch *launch, const char *const argv[],
                   const thrum_process_options *options, const char **failed) {
    *failed = "descriptor";
    int code = set_fds(launch, options);
    if (!code) {
        *failed = "process";
        code = set_env(launch, options);
    }
    if (!code) {
        *failed = "program";
        code = set_places(launch, options->program ? options->program : argv[0]);
    }
    if (code == -ENOMEM) { /* of our own memory, wherever it was missing */
        *failed = "process";
    }
    return code;
}

_Static_assert(sizeof(th_os_limit) == sizeof(thrum_process_limit) &&
                   offsetof(th_os_limit, soft) == offsetof(thrum_process_limit, soft) &&
                   offsetof(th_os_limit, hard) == offsetof(thrum_process_limit, hard),
               "one kind of limit");

int th_launch_open(th_launch *launch, const char *const argv[],
                   const thrum_process_options *options, bool has_fd, const char **failed) {
    const unsigned flags = options->flags;
    *launch = (th_launch){.theirs = {-1, -1, -1, -1}};
    launch->program = (th_os_program){
        .argv = argv,
        .folder = options->folder,
        .limits = (const th_os_limit *)(const void *)options->limits,
        .limits_count = (unsigned)options->limits_count,
        .group = flags & THRUM_PROCESS_SESSION ? TH_OS_GROUP_SESSION
                 : flags & THRUM_PROCESS_GROUP ? TH_OS_GROUP_OWN
                                               : TH_OS_GROUP_SAME,
        .has_fd = has_fd,
        .close_others = !(flags & THRUM_PROCESS_KEEP_FDS),
    };
    int code = fill_in(launch, argv, options, failed);
    if (code) {
        th_launch_close(launch, options, false);
    }
    return code;
}

void th_launch_close(th_launch *launch, const thrum_process_options *options, bool started) {
    for (unsigned i = 0; i <= TH_STREAMS; i++) {
        if (launch->theirs[i] >= 0) {
            (void)th_os_io_close(launch->theirs[i]);
        }
    }
    for (unsigned i = 0; i < TH_STREAMS; i++) {
        if (launch->ours[i].turn && started) {
            *options->streams[i].pipe = launch->ours[i];
        } else if (launch->ours[i].turn) {
            (void)thrum_io_close(launch->ours[i]);
        }
    }
    th_os_free(launch->fds);
    th_os_free((void *)(uintptr_t)launch->merged);
    th_os_free(launch->env_memory);
    th_os_free(launch->places);
}
