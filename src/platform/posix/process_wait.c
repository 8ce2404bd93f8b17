/*
 * process_wait.c: asking for the exit of a process by its number.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <sys/wait.h>

#include "platform/unix/interrupted.h"

int64_t th_system_wait(const th_os_process *process, siginfo_t *said, int options) {
    *said = (siginfo_t){0};
    return RETRY(waitid(P_PID, (id_t)process->pid, said, options));
}

int th_system_forgotten(const th_os_process *process, th_os_ended *ended) {
    (void)process, (void)ended;
    return -ECHILD;
}
