/*
 * process.h: the part of the platform's contract that is about programs that are started. Included
 * by platform.h.
 */
#ifndef TH_PROCESS_H
#define TH_PROCESS_H

#include "base/cc.h"

/* A child of the process, whose number is its own until th_os_process_reap. */
typedef struct th_os_process {
    int pid;
    int fd;     /* a descriptor that is ready to be read once it has ended (a pidfd), or -1 */
    void *kept; /* the system part's data about it, until the reap; or NULL */
} th_os_process;

typedef struct th_os_limit {
    int resource; /* the system's RLIMIT_... */
    uint64_t soft;
    uint64_t hard;
} th_os_limit;

/* The child's group of processes. */
typedef enum th_os_group { TH_OS_GROUP_SAME, TH_OS_GROUP_OWN, TH_OS_GROUP_SESSION } th_os_group;

/* The one with the same number, unless there is none, or it is closed on exec. */
#define TH_OS_FD_SAME INT32_MAX

typedef struct th_os_program {
    const char *const *paths; /* files to be tried, ended by NULL; at least one */
    const char *const *argv;
    const char *const *env;
    const char *folder; /* or NULL */
    const int *fds;     /* its descriptor i is this one, or TH_OS_FD_SAME */
    int *scratch;       /* room for as many numbers */
    unsigned fds_count;
    const th_os_limit *limits;
    unsigned limits_count;
    th_os_group group;
    bool has_fd;       /* *out is to have a descriptor (th_os_process_has_fd) */
    bool close_others; /* it has no descriptors but those */
    bool as_main;      /* it may use the CPUs that the main thread may use, and not the caller's */
} th_os_program;

/*
 * Starts a program, and returns when it runs: 0, or a code with *failed, its subject: "process",
 * "folder", "limit", "descriptor", "program", or "waitid", which a sandbox refuses. Signals are as
 * in a fresh program: none is blocked, none is caught, and only those are ignored that were ignored
 * when this program began. Blocks the thread until the system has found and loaded the program.
 */
int th_os_process_start(th_os_process *out, const th_os_program *program, const char **failed);

/*
 * Whether the system can report the end of a process by a descriptor. The same in all calls, except
 * for faults.
 */
bool th_os_process_has_fd(void);

typedef struct th_os_ended {
    int code;   /* its argument to exit (any number on some systems), or -1 */
    int signal; /* or the signal that has ended it, else 0 */
    bool dumped;
} th_os_ended;

/*
 * Whether the process has ended: 1, with *ended; 0; or -ECHILD: the program has asked for it
 * elsewhere, or ignores SIGCHLD, and the system has forgotten it. Nothing changes.
 */
int th_os_process_ended(const th_os_process *process, th_os_ended *ended);
/* Waits until th_os_process_ended is not 0. For one without a descriptor. */
void th_os_process_await(const th_os_process *process);
/* Makes the system forget an ended process, which may not be used afterwards. False: it runs. */
bool th_os_process_reap(const th_os_process *process);

#define TH_OS_SIGKILL 9

/*
 * Sends a signal to it, or to all of the group that it leads; 0: checks only. Never to another
 * process that has got its number. 0, or -ESRCH, -EPERM, -EINVAL.
 */
int th_os_process_signal(const th_os_process *process, int number, bool group);

/*
 * Makes a pipe, to be read at [0]; programs that are started do not get it. The end [theirs] is to
 * be a program's, whose calls on it wait; the other one is for th_os_io_read or th_os_io_write.
 */
int th_os_pipe(int ends[2], unsigned theirs);
/* Opens /dev/null: a number or a code. */
int th_os_null_open(void);

/*
 * The program's environment, as it is now; NULL: it has none. Free the memory in *memory (or NULL)
 * with th_os_free once it is no longer needed. 0 or -ENOMEM.
 */
int th_os_environment(const char *const **env, void **memory);
/* Whether names of variables, of n bytes, are the same. */
bool th_os_variables_are_same(const char *a, const char *b, size_t n);

/* The separator between the folders in PATH. */
char th_os_path_separator(void);
/* Whether the path names the same folder in every working directory. */
bool th_os_path_is_absolute(const char *path);
/* Whether a program's name has a folder, so that it is not looked for. */
bool th_os_path_has_folder(const char *name);

#endif
