/*
 * panic.c: the messages with which the library aborts the process, and those about mistakes.
 */
#include "core/state/panic.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "base/text.h"
#include "core/state/worker.h"
#include "platform/platform.h"

#define LINE_MAX_BYTES 256
#define FUNCTION_MAX 80
#define CALLER_MAX (8 + THRUM_NAME_MAX + FUNCTION_MAX)

static void print(const char *line) {
    char with_newline[LINE_MAX_BYTES + 1];
    size_t length = strnlen(line, LINE_MAX_BYTES - 1);
    memcpy(with_newline, line, length);
    with_newline[length] = '\n';
    th_os_stderr(with_newline, length + 1);
}

void th_panic(thrum_sched *sched, const char *line) {
    if (sched && sched->config.panic) {
        sched->config.panic(sched->config.hook_ctx, line);
    } else {
        print(line);
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

/* "fiber NAME", and the function of its task if that is known. */
static void describe_caller(char text[CALLER_MAX]) {
    th_fiber *fiber = th_fiber_self();
    const char *name = !fiber ? "none" : fiber->name[0] ? fiber->name : "unnamed";
    char clean[THRUM_NAME_MAX + 1];
    size_t length = 0;
    while (*name) {
        length += th_text_char(&name, false, clean + length); /* never more than was read */
    }
    clean[length] = '\0';
    char function[FUNCTION_MAX];
    describe(fiber, function);
    snprintf(text, CALLER_MAX, "fiber %s%s", clean, function);
}

void th_misuse(const char *call, const char *what, const void *object) {
    char caller[CALLER_MAX];
    char line[LINE_MAX_BYTES];
    describe_caller(caller);
    snprintf(line, sizeof line, "thrum: %s: %s (object 0x%" PRIxPTR ", %s)", call, what,
             (uintptr_t)object, caller);
    th_panic(thrum_sched_current(), line);
}

void th_broken(const char *file, int line_number, const char *condition) {
    char line[LINE_MAX_BYTES];
    snprintf(line, sizeof line, "thrum: broken inside at %s:%d: %s", file, line_number, condition);
    th_panic(thrum_sched_current(), line);
}

/* ---- mistakes ---- */

bool th_mistakes_count(void) {
    const char *word = th_os_env("THRUM_CHECK");
    const bool is_set = word && (!strcmp(word, "0") || !strcmp(word, "1"));
    return is_set ? word[0] == '1' : TH_IS_DEBUG;
}

void th_mistake_report(th_mistake kind, bool caller, const char *format, ...) {
    static uint32_t xreported; /* a bit a kind */
    const uint32_t bit = 1u << kind;
    char line[LINE_MAX_BYTES] = "thrum: check: ";
    char who[CALLER_MAX];
    va_list args;
    /* relaxed: only which caller comes first; in the simulator it would be a step of its worlds */
    if (!(TH_MISTAKES & bit) || (th_load_relaxed(&xreported) & bit) ||
        (th_or_relaxed(&xreported, bit) & bit) || !th_mistakes_count()) {
        return;
    }
    size_t length = strlen(line);
    va_start(args, format);
    vsnprintf(line + length, sizeof line - length, format, args);
    va_end(args);
    if (caller) {
        describe_caller(who);
        length = strlen(line);
        snprintf(line + length, sizeof line - length, " (%s)", who);
    }
    print(line);
}

void th_mistake_deadline(int64_t deadline) {
    if (deadline < th_os_now() / 2) { /* else it may be an instant: the system has just started */
        th_mistake_report(TH_MISTAKE_DEADLINE, true,
                          "the deadline %" PRId64 " looks like a duration, and ends a wait at "
                          "once: add the time of now, by thrum_after or thrum_after_ms",
                          deadline);
    }
}
