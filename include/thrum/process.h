/*
 * thrum/process.h: programs that are started, fed, waited for and ended.
 *
 *     const char *const argv[] = {"sort", "-n", NULL};
 *     thrum_process_output output;
 *     int err = thrum_process_run(argv, NULL, text, size, &output, thrum_after_s(5));
 *     if (err == 0) {
 *         use(output.status.code, output.out, output.out_size);
 *     }
 *     thrum_process_output_free(&output);
 *
 * A program begins as one that a shell starts. None of its signals is blocked, although workers
 * block theirs. None is caught, and none is ignored but those that were when this program began
 * (nohup); what this program has itself ignored since, as servers do with SIGPIPE, is not. It has
 * the standard streams and no other descriptors, unless it is given some. It may use the CPUs that
 * the main thread may use if a task or a bound thread starts it, and else those of the thread that
 * does.
 *
 * Starting copies no memory, and runs no handlers of forks (pthread_atfork). The thread that starts
 * a program sleeps until the system has loaded it; for a task and a bound thread that is one of the
 * blocking pool's.
 *
 * A process that has ended is known to the system until its handle is closed, so its number is
 * nobody else's. A program that waits for any child (`wait`, waitpid with -1), or ignores SIGCHLD,
 * takes that knowledge away: then signals find nothing, and on systems before Linux 6.15 a wait
 * returns -ECHILD. Handlers of SIGCHLD are called as for any child.
 *
 * In the child of a fork every call on a handle of the parent's, but thrum_process_io, returns
 * -ESHUTDOWN; the close frees its memory. A call with NULL for a handle, or for where its result
 * goes, returns -EINVAL.
 */
#ifndef THRUM_PROCESS_H
#define THRUM_PROCESS_H

#include "thrum/base.h"
#include "thrum/io.h"

THRUM_BEGIN_DECLS

/* A program that was started, until thrum_process_close. */
typedef struct thrum_process thrum_process;

/* What a standard stream of the program is. */
#define THRUM_PROCESS_INHERIT 0u /* the same as ours */
#define THRUM_PROCESS_NULL 1u    /* /dev/null */
#define THRUM_PROCESS_PIPE 2u    /* a pipe, of which the caller gets the other end */
#define THRUM_PROCESS_FD 3u      /* a descriptor, which stays the caller's */
#define THRUM_PROCESS_OUTPUT 4u  /* of errors only: where the output goes */

/* A standard stream of the program. */
typedef struct thrum_process_stream {
    unsigned kind;  /* THRUM_PROCESS_INHERIT, ... */
    int fd;         /* for THRUM_PROCESS_FD */
    thrum_io *pipe; /* for THRUM_PROCESS_PIPE: where our end goes, which the caller closes */
} thrum_process_stream;

/* What the program may use; as setrlimit has it. */
typedef struct thrum_process_limit {
    int resource; /* the system's number: RLIMIT_CPU, RLIMIT_AS, ... */
    uint64_t soft;
    uint64_t hard;
} thrum_process_limit;

/* Flags of a start. */

/* The process leads a group of its own, which thrum_process_kill_group ends with it. */
#define THRUM_PROCESS_GROUP 1u
/* It leads a session of its own, without a terminal, and a group. */
#define THRUM_PROCESS_SESSION 2u
/* `env` is added to our environment, and comes before what is there by the same name. */
#define THRUM_PROCESS_ENV_ADD 4u
/* It keeps all descriptors of ours that are not closed on exec, as after a fork. */
#define THRUM_PROCESS_KEEP_FDS 8u
/*
 * It is killed (SIGKILL) with its group, if it leads one, when a wait for it is cancelled, and when
 * its handle is closed before it has ended.
 */
#define THRUM_PROCESS_KILL 16u

/* How a program is started; THRUM_PROCESS_OPTIONS_INIT sets the defaults. */
typedef struct thrum_process_options {
    size_t size;            /* sizeof(thrum_process_options); set by the init */
    const char *program;    /* the file; NULL: argv[0] */
    const char *const *env; /* "NAME=value", ended by NULL; NULL: our environment */
    const char *folder;     /* where it works; NULL: where we do */
    unsigned flags;         /* THRUM_PROCESS_GROUP, ... */
    unsigned fds_count;     /* of `fds` */
    const int *fds;         /* descriptors of ours that it gets as 3, 4, ... */
    const thrum_process_limit *limits;
    size_t limits_count;
    thrum_process_stream streams[3]; /* its input, output and errors */
    const char **failed; /* NULL, or where to say what an error is about: "process", "folder",
                            "limit", "descriptor", "program", or "waitid", when a sandbox refuses
                            that call; a constant, NULL if there is none. It is left as it is
                            with -EINVAL */
    size_t output_max;   /* of thrum_process_run: the bytes that are kept of each stream */
} thrum_process_options;

/* The most descriptors that a program is given beside its streams. */
#define THRUM_PROCESS_FDS_MAX 1024u

/* clang-format off */
#define THRUM_PROCESS_OPTIONS_INIT \
    { sizeof(thrum_process_options), NULL, NULL, NULL, 0, 0, NULL, NULL, 0, \
      { { 0, -1, NULL }, { 0, -1, NULL }, { 0, -1, NULL } }, NULL, (size_t)1 << 20 }
/* clang-format on */

/*
 * Sets the defaults, which are the values of THRUM_PROCESS_OPTIONS_INIT. Any thread may call it. It
 * never suspends and cannot fail.
 */
THRUM_API void thrum_process_options_init(thrum_process_options *options);

/*
 * Starts a program: `argv` is what it is called with, its name first, ended by NULL. A program
 * without a slash is looked for in the folders of our PATH ("/bin:/usr/bin" if we have none), of
 * which those are left out that do not begin with a slash; one with a slash, that does not begin
 * with one, is below `options->folder`. The options (NULL: the defaults) are not kept. Any thread
 * may call it. It may suspend. It returns 0 when the program runs, with `*out` the caller's to
 * close, and pipes the caller's, too. Errors, with nothing started or opened: what the system says
 * of the program (-ENOENT, -EACCES, -ENOEXEC, -E2BIG, -ENOTDIR, ...), of the folder, the limits,
 * the descriptors (-EBADF), or of one more process (-EAGAIN, -ENOMEM); -EMFILE or -ENFILE; -EINVAL
 * for options that make no sense, -ENOSYS for what the system has not (docs/platforms.md,
 * docs/windows.md); -ECANCELED when the caller is cancelled.
 */
THRUM_API THRUM_NODISCARD int thrum_process_start(thrum_process **out, const char *const argv[],
                                                  const thrum_process_options *options);

/* How a process has ended. */
typedef struct thrum_process_status {
    int code;    /* what it gave to exit: 0 to 255, on Windows to INT_MAX, without the bit above;
                    -1: a signal ended it */
    int signal;  /* that signal, or 0 */
    bool dumped; /* and it left a core */
} thrum_process_status;

/*
 * Waits until the process has ended, and tells how; a stop (SIGSTOP) is no end. Several callers may
 * wait, and wait again. Descendants of it, and its pipes, may outlive it. Any thread may call it.
 * It may suspend. It returns 0, also past the deadline if it has ended; -ETIMEDOUT; -ECANCELED;
 * -ECHILD (above); or what thrum_io_wait returns when the system has no room for a wait.
 */
THRUM_API THRUM_NODISCARD int thrum_process_wait(thrum_process *process,
                                                 thrum_process_status *status, thrum_time deadline);

/*
 * Sends a signal to the process, or to all of the group that it leads; 0 asks only whether that
 * could be done. No other process can get it, however long it has ended. Any thread may call them.
 * They never suspend. They return 0, as for a process that has ended and is not closed; -ESRCH:
 * there is nothing to get it; -EPERM: the system does not allow it; -EINVAL for what is no signal,
 * and thrum_process_kill_group for a process without a group of its own. Windows has SIGKILL (9,
 * which its <signal.h> does not name) and SIGTERM (15), which both end it at once; -ENOSYS for the
 * others.
 */
THRUM_API int thrum_process_kill(thrum_process *process, int signal);
THRUM_API int thrum_process_kill_group(thrum_process *process, int signal);

/*
 * Returns the number of the process, or -EINVAL or -ESHUTDOWN as the head says. Any thread may call
 * it. It never suspends.
 */
THRUM_API int thrum_process_pid(const thrum_process *process);

/*
 * Returns a descriptor that is ready to be read once the process has ended, for thrum_select
 * (thrum_io_case) and thrum_io_on; {0} for NULL. It stays the process's: it is not read and not
 * closed. Any thread may call it. It never suspends, and cannot fail before the process is closed.
 */
THRUM_API thrum_io thrum_process_io(const thrum_process *process);

/*
 * Frees the handle, as the only call on it and the last: a later one is misuse, and stops the
 * program as long as the library can tell (for the next 63 closes). A process that has not ended
 * lives on (but see THRUM_PROCESS_KILL), and nobody can wait for it any more; when it ends, a
 * thread of the library's has the system forget it, for which nothing waits, neither a scheduler's
 * stop nor the end of the program. Pipes are closed apart. Any thread may call it. It may suspend,
 * for a moment. It returns 0, -EINVAL for NULL or -ESHUTDOWN.
 */
THRUM_API int thrum_process_close(thrum_process *process);

/* ---- all in one ---- */

/* What thrum_process_run has collected. A 0 stands behind both texts. */
typedef struct thrum_process_output {
    thrum_process_status status;
    char *out;        /* the output, or NULL: it was not collected */
    size_t out_size;  /* how much of it is kept, */
    uint64_t out_all; /* of how much there was */
    char *error;      /* the same of the errors */
    size_t error_size;
    uint64_t error_all;
} thrum_process_output;

/*
 * Runs a program in a group of its own (or a session, if the options say so) until it has ended and
 * its output, too. It reads the `size` bytes at `input`, or nothing, and what it writes to its
 * output and its errors is kept, up to `options->output_max` bytes of each; more is read and
 * dropped. Of the streams of the options those that are THRUM_PROCESS_INHERIT are used so, the
 * others as they say; THRUM_PROCESS_PIPE is -EINVAL. A program that does not read all of its input
 * is no error.
 *
 * At the deadline, and when the caller is cancelled, its group is killed. Any thread may call it.
 * It may suspend, also for a moment past the deadline; past a deadline that it is given it begins
 * nothing. It returns 0 when the program has ended by itself, whatever its status; -ETIMEDOUT or
 * -ECANCELED when it was killed: then, too, `*output` has what there was, and the status. Otherwise
 * an error of thrum_process_start, -ENOMEM, one of thrum_process_wait, or what the system says of
 * the write of the input; a program that has begun is killed then. A program that the system does
 * not let us kill, as one that has become another user, is not waited for: it lives on, and the
 * status is {-1, 0, false}. `*output` is to be freed in all cases but -EINVAL.
 */
THRUM_API THRUM_NODISCARD int thrum_process_run(const char *const argv[],
                                                const thrum_process_options *options,
                                                const void *input, size_t size,
                                                thrum_process_output *output, thrum_time deadline);

/* Frees what was collected. Any thread may call it. It never suspends and cannot fail. */
THRUM_API void thrum_process_output_free(thrum_process_output *output);

THRUM_END_DECLS

#endif
