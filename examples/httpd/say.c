/*
 * say.c: see say.h.
 */
#include "say.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void say(const char *format, ...) {
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    va_list args;
    if (poll(&out, 1, 0) == 1 && (out.revents & POLLOUT) != 0) {
        va_start(args, format);
        vfprintf(stderr, format, args);
        va_end(args);
    }
}
