/*
 * panic.c: the messages with which the library aborts the process.
 */
#include "core/state/panic.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "base/text.h"
#include "core/state/worker.h"
#include "platform/platform.h"

#define LINE_MAX_BYTES 256
#define FUNCTION_MAX 80

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

/* ", which runs FUNCTION", or nothing. Without the file's table: the stack may be small. */
static void describe(const th_fiber *fiber, char text[FUNCTION_MAX]) {
    static const char before[] = ", which runs ";
    const uintptr_t fn = fiber ? th_fiber_function(fiber) : 0;
    text[0] = '\0';
    if (fn) {
        memcpy(text, before, sizeof before);
        th_os_code_name(fn, text + sizeof before - 1, FUNCTION_MAX - sizeof before + 1, NULL);
    }
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
    char function[FUNCTION_MAX];
    char line[LINE_MAX_BYTES];
    describe(fiber, function);
    snprintf(line, sizeof line, "thrum: %s: %s (object 0x%" PRIxPTR ", fiber %s%s)", call, what,
             (uintptr_t)object, clean, function);
    th_panic(thrum_sched_current(), line);
}

void th_broken(const char *file, int line_number, const char *condition) {
    char line[LINE_MAX_BYTES];
    snprintf(line, sizeof line, "thrum: broken inside at %s:%d: %s", file, line_number, condition);
    th_panic(thrum_sched_current(), line);
}
