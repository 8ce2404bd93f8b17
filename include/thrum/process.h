/*
 * thrum/process.h: processes: starting a program, feeding it, waiting for it and ending it.
 *
 *     const char *const argv[] = {"sort", "-n", NULL};
 *     thrum_process_output output;
 *     int err = thrum_process_run(argv, NULL, text, size, &output, thrum_after_s(5));
 *     if (err == 0) {
 *         use(output.status.code, output.out, output.out_size);
 *     }
 *     thrum_process_output_free(&output);
 *
 * A process begins as one that a shell starts. None of its signals is blocked, although workers
 * block theirs. No signal is caught. Only signals that were ignored when this process began are
 * ignored (nohup); signals that it has ignored since, as servers do with SIGPIPE, are not. The new
 * process has the standard streams and no other descriptors, unless it is given some. Started by a
 * task or a bound thread, it may use the CPUs of the main thread, else those of the calling thread.
 *
 * Starting copies no memory, and runs no handlers of forks (pthread_atfork). The thread that starts
 * a process sleeps until the system has loaded the program. For a task or a bound thread, it is a
 * thread of the blocking pool.
 *
 * The system keeps the number of an ended process until its handle is closed, so no other process
 * gets it. That information is lost if this process waits for any child (`wait`, waitpid with -1)
 * or ignores SIGCHLD. Then signals find nothing, and before Linux 6.15 a wait returns -ECHILD.
 * Handlers of SIGCHLD are called as for any child.
 *
 * In the child of a fork every call on a handle of the parent returns -ESHUTDOWN, except
 * thrum_process_io; the close still frees its memory. A call with NULL for a handle or a result
 * returns -EINVAL.
 */
#ifndef THRUM_PROCESS_H
#define THRUM_PROCESS_H

#include "thrum/base.h"
#include "thrum/io.h"

THRUM_BEGIN_DECLS

/* A process that was started. The library owns its memory until thrum_process_close. */
typedef struct thrum_process thrum_process;

#define THRUM_PROCESS_INHERIT 0u /* a standard stream: the same as ours */
#define THRUM_PROCESS_NULL 1u    /* a standard stream: /dev/null */
#define THRUM_PROCESS_PIPE 2u    /* a standard stream: a pipe; the caller gets the other end */
#define THRUM_PROCESS_FD 3u      /* a standard stream: a descriptor, which stays the caller's */
#define THRUM_PROCESS_OUTPUT 4u  /* standard error only: the same as standard output */

/* A standard stream of the process. */
typedef struct thrum_process_stream {
    unsigned kind;  /* THRUM_PROCESS_INHERIT, ... */
    int fd;         /* for THRUM_PROCESS_FD: the descriptor */
    thrum_io *pipe; /* for THRUM_PROCESS_PIPE: set to our end, which the caller closes */
} thrum_process_stream;

/* A limit of the process's resources, as for setrlimit. */
typedef struct thrum_process_limit {
    int resource;  /* the system's number: RLIMIT_CPU, RLIMIT_AS, ... */
    uint64_t soft; /* the limit, in the resource's unit */
    uint64_t hard; /* the most to which the process may raise it */
} thrum_process_limit;

/* A flag of a start: the process leads its own group, which thrum_process_kill_group signals. */
#define THRUM_PROCESS_GROUP 1u
/* A flag of a start: the process leads its own session, without a terminal, and a group. */
#define THRUM_PROCESS_SESSION 2u
/* A flag of a start: `env` is added to our environment, and replaces variables of the same name. */
#define THRUM_PROCESS_ENV_ADD 4u
/* A flag of a start: the process keeps all our descriptors that are not closed on exec. */
#define THRUM_PROCESS_KEEP_FDS 8u
/*
 * A flag of a start: a cancelled wait for the process kills it (SIGKILL), and so does a close
 * before it has ended. If it leads a group, that is killed, too.
 */
#define THRUM_PROCESS_KILL 16u

/* How a process is started. The caller owns it; THRUM_PROCESS_OPTIONS_INIT sets the defaults. */
typedef struct thrum_process_options {
    size_t size;                       /* sizeof(thrum_process_options); set by the init */
    const char *program;               /* the program's file; NULL: argv[0] */
    const char *const *env;            /* "NAME=value", ended by NULL; NULL: our environment */
    const char *folder;                /* its working directory; NULL: ours */
    unsigned flags;                    /* THRUM_PROCESS_GROUP, ... */
    unsigned fds_count;                /* how many descriptors `fds` has */
    const int *fds;                    /* descriptors of ours that it gets as 3, 4, ... */
    const thrum_process_limit *limits; /* limits of its resources */
    size_t limits_count;               /* how many limits there are */
    thrum_process_stream streams[3];   /* its standard input, output and error */
    const char **failed; /* NULL, or set to the subject of an error: "process", "folder", "limit",
                            "descriptor", "program", or "waitid" when a sandbox refuses that call.
                            It is a constant text, NULL without an error, and unchanged after
                            -EINVAL */
    size_t output_max;   /* thrum_process_run only: the most bytes to keep of each stream */
} thrum_process_options;

/* The most descriptors that a process is given beside its standard streams. */
#define THRUM_PROCESS_FDS_MAX 1024u

/*
 * Sets the defaults of a process's options. They are inherited streams, our environment and
 * directory, no flags, and an `output_max` of 1 MiB. THRUM_PROCESS_OPTIONS_INIT is the same as an
 * initializer.
 *
 * Parameters:
 *   options  the memory of the options
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
 *    options.flags = THRUM_PROCESS_GROUP | THRUM_PROCESS_KILL;
 * See also: thrum_process_start, thrum_process_run
 */
/* clang-format off */
#define THRUM_PROCESS_OPTIONS_INIT \
    { sizeof(thrum_process_options), NULL, NULL, NULL, 0, 0, NULL, NULL, 0, \
      { { 0, -1, NULL }, { 0, -1, NULL }, { 0, -1, NULL } }, NULL, (size_t)1 << 20 }
/* clang-format on */
THRUM_API void thrum_process_options_init(thrum_process_options *options);

/*
 * Starts a process. When the call returns 0, its program is loaded and runs.
 *
 * A program without a slash is looked for in the directories of our PATH ("/bin:/usr/bin" without
 * one). Directories that do not begin with a slash are omitted. A program with a slash that does
 * not begin with one is relative to `options->folder`.
 *
 * Parameters:
 *   out      set to the process, which is the caller's to close
 *   argv     the arguments, the name first, ended by NULL
 *   options  how to start it, or NULL for the defaults; not kept
 * Returns: 0, with our ends of the pipes being the caller's, too; or a negative error code, and
 *   then nothing was started or opened. Codes not listed below are the system's.
 * Errors:
 *   -EINVAL           the options make no sense, or `out`, `argv` or `argv[0]` is NULL
 *   -ENOENT           there is no such program or directory
 *   -EACCES           this process may not execute the program or enter the directory
 *   -ENOEXEC          the file is no program
 *   -ENOTDIR          a part of a path is no directory
 *   -E2BIG            the arguments and the environment are too long
 *   -EBADF            a descriptor is not open
 *   -EPERM            the system does not allow a limit
 *   -EMFILE, -ENFILE  the process or the system has too many descriptors
 *   -EAGAIN           the system refuses one more process or thread
 *   -ENOMEM           there is no memory
 *   -ENOSYS           the system does not support an option (docs/platforms.md, docs/windows.md)
 *   -ECANCELED        the caller was cancelled
 *   -ESHUTDOWN        in the child of a fork: the call would wait
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    const char *const argv[] = {"sleep", "10", NULL};
 *    thrum_process *process;
 *    int err = thrum_process_start(&process, argv, NULL);
 * See also: thrum_process_wait, thrum_process_run, thrum_process_close
 */
THRUM_API THRUM_NODISCARD int thrum_process_start(thrum_process **out, const char *const argv[],
                                                  const thrum_process_options *options);

/* How a process has ended. */
typedef struct thrum_process_status {
    int code;    /* its argument of exit: 0 to 255, on Windows to INT_MAX, without the bit above;
                    -1: a signal ended it */
    int signal;  /* the signal that ended it, or 0 */
    bool dumped; /* whether it left a core */
} thrum_process_status;

/*
 * Waits until the process has ended. Several callers may wait, and wait again.
 *
 * A stop (SIGSTOP) is no end. The process's descendants and pipes may outlive it. If it was started
 * with THRUM_PROCESS_KILL, a cancel of the caller kills it.
 *
 * Parameters:
 *   process   the process
 *   status    set to how it has ended
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 0 when it has ended, even past the deadline, or a negative error code.
 * Errors:
 *   -EINVAL           a pointer is NULL
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -ECHILD           this process has lost the information, by waiting for any child or by
 *                     ignoring SIGCHLD
 *   -ESHUTDOWN        in the child of a fork: the process is the parent's, or the call would wait
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOMEM           there is no memory for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Misuse: the process was closed.
 * Example:
 *    thrum_process_status status;
 *    if (thrum_process_wait(process, &status, thrum_after_s(5)) == -ETIMEDOUT) {
 *        thrum_process_kill(process, SIGTERM);
 *    }
 * See also: thrum_process_io, thrum_process_kill
 */
THRUM_API THRUM_NODISCARD int thrum_process_wait(thrum_process *process,
                                                 thrum_process_status *status, thrum_time deadline);

/*
 * Sends a signal to a process or to the group that it leads. Signal 0 only checks whether that is
 * possible.
 *
 * No other process can get the signal, however long ago the process has ended. Windows has SIGKILL
 * (9, which its <signal.h> does not name) and SIGTERM (15); both end the process at once.
 *
 * Parameters:
 *   process  the process
 *   signal   the signal's number
 * Returns: 0, also for a process that has ended and is not closed, or a negative error code.
 * Errors:
 *   -EINVAL     `process` is NULL, there is no such signal, or the process leads no group
 *   -ESRCH      there is no process to get it
 *   -EPERM      the system does not allow it
 *   -ENOSYS     on Windows: a signal that it does not have
 *   -ESHUTDOWN  in the child of a fork: the process is the parent's
 * Context: any thread; never suspends.
 * Ordering: none.
 * Misuse: the process was closed.
 * Example:
 *    int err = thrum_process_kill(process, SIGTERM);
 * See also: thrum_process_wait, thrum_process_start
 */
THRUM_API int thrum_process_kill(thrum_process *process, int signal);
THRUM_API int thrum_process_kill_group(thrum_process *process, int signal);

/*
 * Returns the system's number of the process.
 *
 * Parameters:
 *   process  the process
 * Returns: the number, or a negative error code.
 * Errors:
 *   -EINVAL     `process` is NULL
 *   -ESHUTDOWN  in the child of a fork: the process is the parent's
 * Context: any thread; never suspends.
 * Ordering: none.
 * Misuse: the process was closed.
 * Example:
 *    printf("%d\n", thrum_process_pid(process));
 * See also: thrum_process_kill
 */
THRUM_API int thrum_process_pid(const thrum_process *process);

/*
 * Returns a descriptor that is readable when the process has ended. It is for thrum_select
 * (thrum_io_case) and thrum_io_on. It stays the process's: do not read it or close it.
 *
 * Parameters:
 *   process  the process
 * Returns: the descriptor, or {0} if `process` is NULL.
 * Context: any thread; never suspends.
 * Ordering: none.
 * Misuse: the process was closed.
 * Example:
 *    thrum_case cases[] = {thrum_io_case(thrum_process_io(process), THRUM_IO_READ),
 *                          THRUM_EVENT_CASE(&stop)};
 *    int which = thrum_select(cases, 2, THRUM_FOREVER);
 * See also: thrum_io_case, thrum_process_wait
 */
THRUM_API thrum_io thrum_process_io(const thrum_process *process);

/*
 * Frees the handle of a process. It must be the only call on the process, and the last. The caller
 * closes pipes separately.
 *
 * A process that has not ended lives on, unless it was started with THRUM_PROCESS_KILL. No call can
 * wait for it any more. When it ends, a thread of the library reaps it; neither the stop of a
 * scheduler nor the end of this process waits for that.
 *
 * Parameters:
 *   process  the process
 * Returns: 0, or a negative error code.
 * Errors:
 *   -EINVAL     `process` is NULL
 *   -ESHUTDOWN  in the child of a fork: the process is the parent's; its memory is freed
 * Context: any thread; may suspend; not cancellable. The wait is short.
 * Ordering: none.
 * Misuse: the process was closed before, or another call uses it. A call on a closed process is
 *   detected for the next 63 closes.
 * See also: thrum_process_start, thrum_process_kill
 */
THRUM_API int thrum_process_close(thrum_process *process);

/* ---- all in one ---- */

/* The results of thrum_process_run. The library owns the texts; each ends with a zero. */
typedef struct thrum_process_output {
    thrum_process_status status; /* how the process has ended */
    char *out;                   /* its standard output; NULL if it was not collected */
    size_t out_size;             /* bytes of it that were kept */
    uint64_t out_all;            /* bytes of it that there were */
    char *error;                 /* its standard error; NULL if it was not collected */
    size_t error_size;           /* bytes of it that were kept */
    uint64_t error_all;          /* bytes of it that there were */
} thrum_process_output;

/*
 * Runs a process: starts it, feeds it, and collects its output. It waits until the process and its
 * output have ended.
 *
 * It leads its own group, or a session with THRUM_PROCESS_SESSION. Streams with
 * THRUM_PROCESS_INHERIT in the options are fed and collected; others are used as usual. Up to
 * `options->output_max` bytes of each stream are kept; further bytes are read and dropped. It is no
 * error if the process does not read all of its input.
 *
 * At the deadline, and when the caller is cancelled, the group is killed. The call may take a
 * moment longer. Past its deadline it starts nothing. After an error the process is killed, too. If
 * the system does not allow that, because the process has become another user, for example, the
 * call does not wait for it. Then it lives on, and the status is {-1, 0, false}.
 *
 * Parameters:
 *   argv      the arguments, the name first, ended by NULL
 *   options   how to start it, or NULL for the defaults; not kept
 *   input     the bytes that it reads
 *   size      how many bytes
 *   output    set to the results; to be freed by thrum_process_output_free unless the code is
 *             -EINVAL
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 0 when it has ended by itself, with any status, or a negative error code. After
 *   -ETIMEDOUT and -ECANCELED `*output` has the bytes that there were, and the status. Codes not
 *   listed below are the system's, also of the write of the input.
 * Errors:
 *   -EINVAL           the options make no sense or have THRUM_PROCESS_PIPE, or a pointer is NULL
 *   -ETIMEDOUT        the deadline passed, and the process was killed
 *   -ECANCELED        the caller was cancelled, and the process was killed
 *   -ENOENT           there is no such program or directory
 *   -EACCES           this process may not execute the program or enter the directory
 *   -ENOEXEC          the file is no program
 *   -ENOTDIR          a part of a path is no directory
 *   -E2BIG            the arguments and the environment are too long
 *   -EBADF            a descriptor is not open
 *   -EPERM            the system does not allow a limit
 *   -EMFILE, -ENFILE  the process or the system has too many descriptors
 *   -EAGAIN           the system refuses one more process or thread
 *   -ENOMEM           there is no memory
 *   -ENOSYS           the system does not support an option, or a sandbox refuses a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ECHILD           this process has lost the information, by waiting for any child or by
 *                     ignoring SIGCHLD
 *   -ESHUTDOWN        in the child of a fork: the call would wait
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    const char *const argv[] = {"sort", "-n", NULL};
 *    thrum_process_output output;
 *    int err = thrum_process_run(argv, NULL, text, length, &output, thrum_after_s(5));
 *    if (err == 0 && output.status.code == 0) {
 *        fwrite(output.out, 1, output.out_size, stdout);
 *    }
 *    thrum_process_output_free(&output);
 * See also: thrum_process_start, thrum_process_output_free
 */
THRUM_API THRUM_NODISCARD int thrum_process_run(const char *const argv[],
                                                const thrum_process_options *options,
                                                const void *input, size_t size,
                                                thrum_process_output *output, thrum_time deadline);

/*
 * Frees the texts of the results. The status stays.
 *
 * Parameters:
 *   output  the results, or NULL for no effect
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    int err = thrum_process_run(argv, NULL, NULL, 0, &output, thrum_after_s(5));
 *    if (err == 0) {
 *        printf("%s", output.out);
 *    }
 *    thrum_process_output_free(&output);
 * See also: thrum_process_run
 */
THRUM_API void thrum_process_output_free(thrum_process_output *output);

THRUM_END_DECLS

#endif
