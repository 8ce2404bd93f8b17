/*
 * say.c: see say.h.
 */
#include "say.h"

#include <stdarg.h>
#include <stdio.h>

#include "system.h"

void say(const char *format, ...) {
    va_list args;
    if (system_takes_stderr()) {
        va_start(args, format);
        vfprintf(stderr, format, args);
        va_end(args);
    }
}
