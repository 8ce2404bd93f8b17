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
    void *kept; /* what the system's part has to keep of it, until the reap; or NULL */
} th_os_process;

typedef struct th_os_limit {
    int resource; /* the system's RLIMIT_... */
    uint64_t soft;
    uint64_t hard;
} th_os_limit;

/* Where the child stands among the groups of processes. */
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
 * Starts a program, and returns when it runs: 0, or a code with *failed, what it is about:
 * "process", "folder", "limit", "descriptor", "program", or "waitid", which a sandbox refuses.
 * Signals are those of a fresh program: none is blocked, none is caught, and none is ignored but
 * those that were when this program began. Blocks the thread until the system has found and loaded
 * the program.
 */
int th_os_process_start(th_os_process *out, const th_os_program *program, const char **failed);

/*
 * Whether the system can tell by a descriptor that a process has ended. The same in all calls, but
 * for faults.
 */
bool th_os_process_has_fd(void);

typedef struct th_os_ended {
    int code;   /* what it gave to exit (a system may let that be any number), or -1 */
    int signal; /* or what has ended it, else 0 */
    bool dumped;
} th_os_ended;

/*
 * Whether the process has ended: 1, with *ended; 0; or -ECHILD: the program has asked for it
 * elsewhere, or ignores SIGCHLD, and the system has forgotten it. Nothing changes.
 */
int th_os_process_ended(const th_os_process *process, th_os_ended *ended);
/* Waits until th_os_process_ended is not 0. For one without a descriptor. */
void th_os_process_await(const th_os_process *process);
/* Has the system forget one that has ended; then nothing may be done with it. False: it runs. */
bool th_os_process_reap(const th_os_process *process);

#define TH_OS_SIGKILL 9

/*
 * Sends a signal to it, or to all of the group that it leads; 0: asks only. Never to another one
 * that has got its number. 0, or -ESRCH, -EPERM, -EINVAL.
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
 * The program's environment, as it is now; NULL: it has none. What is put into *memory (or NULL) is
 * to be given to th_os_free once it is not needed any more. 0 or -ENOMEM.
 */
int th_os_environment(const char *const **env, void **memory);
/* Whether names of variables, of n bytes, are the same. */
bool th_os_variables_are_same(const char *a, const char *b, size_t n);

/* How PATH is written: what stands between its folders. */
char th_os_path_separator(void);
/* Whether the folder that stands there is the same one wherever a program works. */
bool th_os_path_is_absolute(const char *path);
/* Whether a program's name has a folder, so that it is not looked for. */
bool th_os_path_has_folder(const char *name);

#endif
