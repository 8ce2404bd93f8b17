/*
 * own_code.h: which of the code is the library's own, by the marks of base/mark.h; so spans of code
 * without it. For platform/linux/code.c and platform/windows/system/code.c.
 */
#ifndef TH_OWN_CODE_H
#define TH_OWN_CODE_H

#include "platform/platform.h"

/* The marks of base/mark.h: pairs of bounds, each relative to its own word. */
extern const int32_t __start_thrum_code[] __attribute__((weak, visibility("hidden")));
extern const int32_t __stop_thrum_code[] __attribute__((weak, visibility("hidden")));

/* Gaps shorter than this are an assembler's padding between two functions. */
#define TH_OWN_PADDING 16u

static inline size_t th_own_marks(void) {
    return (size_t)(__stop_thrum_code - __start_thrum_code) / 2;
}

static inline th_os_span th_own_mark(size_t i) {
    const int32_t *mark = &__start_thrum_code[2 * i];
    uintptr_t at = (uintptr_t)mark;
    return (th_os_span){at + (uintptr_t)(intptr_t)mark[0],
                        at + sizeof mark[0] + (uintptr_t)(intptr_t)mark[1]};
}

/* Whether the marks are right. After link-time optimisation many lie in one object, and overlap. */
static inline bool th_own_marks_hold(void) {
    for (size_t i = 0; i < th_own_marks(); i++) {
        th_os_span one = th_own_mark(i);
        for (size_t j = i + 1; j < th_own_marks(); j++) {
            th_os_span other = th_own_mark(j);
            if (one.low < other.high && other.low < one.high) {
                return false;
            }
        }
    }
    return true;
}

/* The first span of the library's own code that ends above `from`, or one beyond all addresses. */
static inline th_os_span th_own_next(uintptr_t from) {
    th_os_span next = {UINTPTR_MAX, UINTPTR_MAX};
    for (size_t i = 0; i < th_own_marks(); i++) {
        th_os_span own = th_own_mark(i);
        if (own.low < own.high && own.high > from && own.low < next.low) {
            next = own;
        }
    }
    return next;
}

typedef struct th_own_collection {
    th_os_span *spans;
    unsigned max;
    unsigned count;
    bool marked;
} th_own_collection;

static inline void th_own_collect(th_own_collection *c, uintptr_t low, uintptr_t high) {
    while (low < high) {
        th_os_span own = c->marked ? th_own_next(low) : (th_os_span){UINTPTR_MAX, UINTPTR_MAX};
        uintptr_t until = own.low < high ? own.low : high;
        if (until > low && until - low >= TH_OWN_PADDING) {
            if (c->count < c->max) {
                c->spans[c->count] = (th_os_span){low, until};
            }
            c->count++;
        }
        low = own.low < high ? own.high : high;
    }
}

/* The target of th_own_collect: `spans`, and the count of all spans. */
static inline th_own_collection th_own_collect_begin(th_os_span spans[], unsigned max) {
    return (th_own_collection){spans, max, 0, th_own_marks_hold()};
}

#endif
