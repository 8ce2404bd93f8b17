/*
 * stacks.h: common parts of tests of stacks: their books, the use of a stack to its end, and the
 * effect of a write there.
 */
#ifndef STACKS_H
#define STACKS_H

#include "base/annotate.h"
#include "base/atomic.h"
#include "check.h"
#include "core/fiber/stack.h"
#include "platform/context/context.h"
#include "platform/faults.h"
#include "platform/platform.h"

#define KIB ((size_t)1024)
#define CLASS_128K 3u

/* An allocator that counts live blocks; it returns NULL while `refuse`. */
typedef struct heap {
    long live;
    size_t bytes;
    bool refuse;
} heap;

static heap books;

static void *heap_alloc(void *ctx, size_t size) {
    heap *h = ctx;
    if (h->refuse) {
        return NULL;
    }
    h->live++;
    h->bytes += size;
    return malloc(size);
}

static void heap_free(void *ctx, void *ptr) {
    heap *h = ctx;
    h->live--;
    free(ptr);
}

CHECK_UNUSED static void open_stacks(th_stacks *stacks, thrum_guard kind) {
    books = (heap){0};
    th_stacks_init(stacks, kind, heap_alloc, heap_free, &books);
}

/* Closes the stacks, and demands that nothing leaked. */
CHECK_UNUSED static void close_stacks(th_stacks *stacks) {
    CHECK_EQ(th_stacks_live(stacks), 0);
    th_stacks_destroy(stacks);
    CHECK_EQ(books.live, 0);
    CHECK_EQ(th_stacks_mprotect_count(), 0);
}

/* Returns whether this kernel knows the kind. */
CHECK_UNUSED static bool grants(thrum_guard kind) {
    th_stacks stacks;
    th_stack stack;
    open_stacks(&stacks, kind);
    int code = th_stack_get(&stacks, 0, &stack);
    if (code == 0) {
        th_stack_put(&stacks, stack);
    }
    close_stacks(&stacks);
    return code == 0;
}

/* ---- stacks that grow ---- */

static th_context asker;
static th_context climber;

static TH_NO_ASAN void climb(void *arg) {
    size_t page = th_os_page_size();
    volatile char *at = (volatile char *)((uintptr_t)&page & ~(uintptr_t)(page - 1));
    while (at > (volatile char *)arg) {
        at -= page;
        *at = *at;
    }
    th_context_switch(&climber, &asker);
}

/*
 * Uses all of a stack from `at` on, if only use makes it usable. The contents stay as they are,
 * except for some bytes that are neither the highest ones nor the lowest.
 */
CHECK_UNUSED static void reach(const th_stack *stack, char *at) {
    if (th_stack_grows(stack)) {
        uintptr_t low = (uintptr_t)at & ~(uintptr_t)(th_os_page_size() - 1);
        th_context_make(&climber, stack->bottom, stack->top - 256, climb, (void *)low);
        th_context_set_limit(&climber, th_stack_limit(stack));
        th_context_switch(&asker, &climber);
    }
}

/* Returns how writing there ends a process: 0 when it does not. No core is dumped. */
CHECK_UNUSED static int signal_of_write(volatile char *where) {
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        check_dump_no_core();
        *where = 1;
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

#endif
