/*
 * process_end.c: the end of started processes, and their pipes and environment.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "platform/faults.h"
#include "platform/unix/interrupted.h"
#include "platform/unix/process_end.h"

extern char **environ; /* POSIX has it in no header */

static bool ignored_at_start[TH_OS_SIGNALS];

static bool is_ignored(int number) {
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
           now.sa_handler == SIG_IGN;
}

/*
 * Before main: signals that the program's own starter ignores (nohup) stay ignored in its children;
 * signals that the program ignores itself, as servers do with SIGPIPE, do not.
 */
__attribute__((constructor)) static void look_at_signals(void) {
    TH_KEEPS_ERRNO;
    for (int i = 1; i < TH_OS_SIGNALS; i++) {
        ignored_at_start[i] = is_ignored(i);
    }
}

bool th_process_keeps_ignoring(int number) {
    return ignored_at_start[number] && is_ignored(number);
}

/* ---- its end ---- */

/* We are no child of our own, so the system's answer for ourselves is ECHILD. */
int th_process_can_be_awaited(const char **failed) {
    siginfo_t said;
    const int64_t code = RETRY(waitid(P_PID, (id_t)getpid(), &said, WEXITED | WNOHANG));
    if (code == -ECHILD) {
        return 0;
    }
    *failed = "waitid";
    return (int)code;
}

int th_os_process_ended(const th_os_process *process, th_os_ended *ended) {
    siginfo_t said;
    int64_t code = th_system_wait(process, &said, WEXITED | WNOHANG | WNOWAIT);
    if (code < 0) {
        return th_system_forgotten(process, ended);
    }
    if (said.si_pid == 0) {
        return 0;
    }
    const bool exited = said.si_code == CLD_EXITED;
    *ended = (th_os_ended){exited ? said.si_status : -1, exited ? 0 : said.si_status,
                           said.si_code == CLD_DUMPED};
    return 1;
}

void th_os_process_await(const th_os_process *process) {
    siginfo_t said;
    if (th_os_fails_left(TH_OS_FAULT_PROCESS_LATE)) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
        (void)th_os_fails(TH_OS_FAULT_PROCESS_LATE);
    }
    (void)th_system_wait(process, &said, WEXITED | WNOWAIT);
}

bool th_os_process_reap(const th_os_process *process) {
    siginfo_t said;
    return th_system_wait(process, &said, WEXITED | WNOHANG) < 0 || said.si_pid != 0;
}

/* ---- signals ---- */

/* Without a descriptor the number is still the process's, unless it was asked for elsewhere. */
int th_process_signal_by_number(const th_os_process *process, int number, bool group) {
    siginfo_t said;
    if (th_system_wait(process, &said, WEXITED | WNOHANG | WNOWAIT) < 0) {
        return -ESRCH;
    }
    return (int)RETRY(kill(group ? -process->pid : process->pid, number));
}

/* ---- for a process to start ---- */

int th_os_pipe(int ends[2], unsigned theirs) {
    (void)theirs;
    const int fault = th_os_fails_with(TH_OS_FAULT_PIPE);
    return fault ? fault : (int)RETRY(th_system_pipe(ends));
}

int th_os_null_open(void) {
    const int fault = th_os_fails_with(TH_OS_FAULT_PIPE);
    return fault ? fault : (int)RETRY(open("/dev/null", O_RDWR | O_CLOEXEC));
}

int th_os_environment(const char *const **env, void **memory) {
    *env = (const char *const *)(uintptr_t)environ;
    *memory = NULL;
    return 0;
}

bool th_os_variables_are_same(const char *a, const char *b, size_t n) {
    return strncmp(a, b, n) == 0;
}

char th_os_path_separator(void) {
    return ':';
}

bool th_os_path_is_absolute(const char *path) {
    return *path == '/';
}

bool th_os_path_has_folder(const char *name) {
    return strchr(name, '/');
}
