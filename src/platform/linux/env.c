/*
 * env.c: environment variables, the one way to print, and the end of the program.
 */
#include "platform/platform.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

const char *th_os_env(const char *name) {
    return getenv(name);
}

void th_os_stderr(const char *text, size_t length) {
    int saved = th_os_errno_get();
    while (length > 0) {
        ssize_t n = write(STDERR_FILENO, text, length);
        if (n < 0 && th_os_errno_get() == EINTR)
            continue;
        if (n <= 0)
            break;
        text += n;
        length -= (size_t)n;
    }
    th_os_errno_set(saved);
}

void th_os_abort(void) {
    abort();
}
