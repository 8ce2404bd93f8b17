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
    int saved = errno;
    while (length > 0) {
        ssize_t n = write(STDERR_FILENO, text, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        text += n;
        length -= (size_t)n;
    }
    errno = saved;
}

void th_os_abort(void) {
    abort();
}
