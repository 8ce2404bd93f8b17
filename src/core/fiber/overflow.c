/*
 * overflow.c: see overflow.h. The report runs in a signal handler, on the thread's alternate stack:
 * it reads the worker's earlier writes, and writes one line.
 */
#include "core/fiber/overflow.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/fiber/stack.h"
#include "core/state/panic.h"
#include "core/state/worker.h"
#include "platform/platform.h"

/* Writes the number in decimal or hexadecimal, without the C library, which may be in any state. */
static char *put_number(char *at, uint64_t value, unsigned base) {
    char digits[24];
    int n = 0;
    do {
        digits[n++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    while (n) {
        *at++ = digits[--n];
    }
    return at;
}

static char *put_name(char *at, const char *name) {
    while (*name) {
        at += th_text_char(&name, false, at);
    }
    return at;
}

static char *put_text(char *at, const char *text) {
    size_t length = strlen(text);
    memcpy(at, text, length);
    return at + length;
}

#define LINE_SIZE 512 /* for the texts here, a name, and five numbers */

/*
 * "thrum: stack overflow in fiber NAME: SIZE bytes of stack, 0xLOW to 0xHIGH, PLACE, function 0xFN;
 * raise ..." The function's address, since a search for its name takes locks of the loader.
 */
static char *put_report(char *at, const th_fiber *fiber, const char *place, uintptr_t address) {
    const uintptr_t fn = th_fiber_function(fiber);
    at = put_text(at, "thrum: stack overflow in fiber ");
    at = put_name(at, fiber->name[0] ? fiber->name : "unnamed");
    at = put_text(at, ": ");
    at = put_number(at, th_stack_class_size(fiber->stack.class_index), 10);
    at = put_text(at, " bytes of stack, 0x");
    at = put_number(at, (uintptr_t)fiber->stack.bottom, 16);
    at = put_text(at, " to 0x");
    at = put_number(at, (uintptr_t)fiber->stack.top, 16);
    at = put_text(at, place);
    at = address ? put_number(at, address, 16) : at;
    if (fn) {
        at = put_text(at, ", function 0x");
        at = put_number(at, fn, 16);
    }
    return put_text(at, "; raise attr.stack_size or THRUM_STACK_SIZE");
}

static bool report(uintptr_t address) {
    th_worker *worker = th_here();
    th_fiber *fiber = worker ? worker->current : NULL;
    if (!fiber || fiber == &worker->home || !th_stack_find_guard(&fiber->stack, address)) {
        return false;
    }
    char line[LINE_SIZE];
    char *at = put_report(line, fiber, ", touched 0x", address);
    *at++ = '\n';
    th_os_stderr(line, (size_t)(at - line));
    return true;
}

_Noreturn void th_overflow_stop(const th_fiber *fiber) {
    char line[LINE_SIZE];
    *put_report(line, fiber, ", the canary below it is gone", 0) = '\0';
    th_panic(fiber->sched, line);
}

void th_overflow_catch(void) {
    (void)th_os_fault_catch(report);
}
