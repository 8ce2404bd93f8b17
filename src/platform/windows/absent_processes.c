/*
 * absent_processes.c: what is not there yet on Windows: programs that are started, and
 * questions to threads (posix/absent.c has the rest of these).
 *
 * Each of these calls says so: -ENOSYS, which what is above passes on to its callers.
 */
#include <errno.h>

#include <stdlib.h>

#include "platform/platform.h"

int th_os_process_start(th_os_process *out, const th_os_program *program, const char **failed) {
    (void)out;
    (void)program;
    *failed = "process";
    return -ENOSYS;
}

bool th_os_process_has_fd(void) {
    return false;
}

int th_os_process_ended(const th_os_process *process, th_os_ended *ended) {
    (void)process;
    (void)ended;
    return -ENOSYS;
}

void th_os_process_await(const th_os_process *process) {
    (void)process;
}

bool th_os_process_reap(const th_os_process *process) {
    (void)process;
    return false;
}

int th_os_process_signal(const th_os_process *process, int number, bool group) {
    (void)process;
    (void)number;
    (void)group;
    return -ENOSYS;
}

int th_os_pipe(int ends[2]) {
    (void)ends;
    return -ENOSYS;
}

int th_os_null_open(void) {
    return -ENOSYS;
}

const char *const *th_os_environment(void) {
    return (const char *const *)_environ;
}

void th_os_probe_admit(int number) {
    (void)number;
}
