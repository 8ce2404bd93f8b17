/*
 * panic.c: the lines in which the library says why it stops the program.
 */
#include "core/state/panic.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/state/worker.h"
#include "platform/platform.h"

#define LINE_MAX_BYTES 256

void th_panic(thrum_sched *sched, const char *line) {
    if (sched && sched->config.panic) {
        sched->config.panic(sched->config.hook_ctx, line);
    } else {
        char with_newline[LINE_MAX_BYTES + 1];
        size_t length = strnlen(line, LINE_MAX_BYTES - 1);
        memcpy(with_newline, line, length);
        with_newline[length] = '\n';
        th_os_stderr(with_newline, length + 1);
    }
    th_os_abort();
}

void th_misuse(const char *call, const char *what, const void *object) {
    th_fiber *fiber = th_fiber_self();
    const char *name = !fiber ? "none" : fiber->name[0] ? fiber->name : "unnamed";
    char clean[THRUM_NAME_MAX + 1];
    size_t length = 0;
    while (*name) {
        length += th_text_char(&name, false, clean + length); /* never more than was read */
    }
    clean[length] = '\0';
    char line[LINE_MAX_BYTES];
    snprintf(line, sizeof line, "thrum: %s: %s (object %p, fiber %s)", call, what, object, clean);
    th_panic(thrum_sched_current(), line);
}

void th_broken(const char *file, int line_number, const char *condition) {
    char line[LINE_MAX_BYTES];
    snprintf(line, sizeof line, "thrum: broken inside at %s:%d: %s", file, line_number, condition);
    th_panic(thrum_sched_current(), line);
}
