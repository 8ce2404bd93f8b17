/*
 * absent.c: what a test does not have, such as programs. The calls
 * return -ENOSYS (docs/testing-limits.md lists the public ones).
 */
#include <errno.h>
#include <string.h>

#include "platform/file.h"
#include "platform/platform.h"
#include "platform/process.h"
#include "platform/signal.h"
#include "platform/socket.h"

int th_os_at_exit(void (*call)(void)) {
    (void)call;
    return 0; /* a test does not end the process */
}

int th_os_environment(const char *const **env, void **memory) {
    *env = NULL; /* empty */
    *memory = NULL;
    return 0;
}

const char *th_os_error_text(int number) {
    if (number > EHWPOISON) { /* strerror would allocate memory for these */
        return NULL;
    }
    return number == ENOSYS ? "not available in a test (docs/testing-limits.md)" : strerror(number);
}

void th_os_hosts_path(char *path, size_t size) {
    (void)size;
    path[0] = '\0';
}

int th_os_io_close_on_exec(int fd) {
    (void)fd;
    return -ENOSYS;
}

bool th_os_io_is_tty(int fd) {
    (void)fd;
    return false;
}

int th_os_null_open(void) {
    return -ENOSYS;
}

bool th_os_path_has_folder(const char *name) {
    (void)name;
    return true; /* so there is no search */
}

bool th_os_path_is_absolute(const char *path) {
    (void)path;
    return false;
}

char th_os_path_separator(void) {
    return '/';
}

int th_os_pipe(int ends[2], unsigned theirs) {
    (void)ends, (void)theirs;
    return -ENOSYS;
}

void th_os_process_await(const th_os_process *process) {
    (void)process;
}

int th_os_process_ended(const th_os_process *process, th_os_ended *ended) {
    (void)process, (void)ended;
    return -ENOSYS;
}

bool th_os_process_has_fd(void) {
    return true; /* so no thread waits for processes */
}

bool th_os_process_reap(const th_os_process *process) {
    (void)process;
    return false;
}

int th_os_process_signal(const th_os_process *process, int number, bool group) {
    (void)process, (void)number, (void)group;
    return -ENOSYS;
}

int th_os_process_start(th_os_process *out, const th_os_program *program, const char **failed) {
    (void)out, (void)program, (void)failed;
    return -ENOSYS;
}

void th_os_signal_default(int number, th_os_catcher catcher) {
    (void)number, (void)catcher;
}

bool th_os_signal_is_ours(int number) {
    (void)number;
    return false;
}

bool th_os_variables_are_same(const char *a, const char *b, size_t n) {
    (void)a, (void)b, (void)n;
    return false;
}
