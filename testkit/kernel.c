/*
 * kernel.c: the parts of a simulated system (src/platform/sim/): memory that no thread sees, and
 * order between the threads that meet in it.
 */
#include <stdarg.h>
#include <string.h>

#include "engine.h"

_Static_assert(!SIM_ORDERS ||
                   (sizeof(view) <= sizeof(sim_order) && _Alignof(view) <= _Alignof(sim_order)),
               "an order is a view");

void *sim_kernel(size_t size) {
    if (unlikely(E->kernel_run != E->started)) {
        if (size > SIM_KERNEL_BYTES) {
            fail("limit", "more than %zu bytes of the system's own memory", SIM_KERNEL_BYTES);
        }
        memset(E->kernel, 0, size);
        E->kernel_run = E->started;
    }
    return E->kernel;
}

void sim_call(void) {
    sim_point();
    model_drain(E->current);
}

#if SIM_ORDERS
void sim_order_release(sim_order *order) {
    sim_thread *t = E->current;
    view_join((view *)(void *)order, &t->now);
    t->now.order[me()]++;
    t->now.seen[me()]++;
}

void sim_order_acquire(const sim_order *order) {
    view_join(&E->current->now, (const view *)(const void *)order);
}

void sim_order_see(const sim_order *order) {
    view_join(&E->current->to_acquire, (const view *)(const void *)order);
}

void sim_order_add(sim_order *order, const sim_order *more) {
    view_join((view *)(void *)order, (const view *)(const void *)more);
}
#else
void sim_order_release(sim_order *order) {
    (void)order;
}

void sim_order_acquire(const sim_order *order) {
    (void)order;
}

void sim_order_see(const sim_order *order) {
    (void)order;
}

void sim_order_add(sim_order *order, const sim_order *more) {
    (void)order, (void)more;
}
#endif

/*
 * The caller's fence is the first and the last; between them comes each other thread's, in its
 * time.
 */
void sim_fence_everywhere(void) {
    TRACE("barrier: a fence in every thread");
    model_fence_thread(E->current); /* the others' fences show them its earlier writes */
    for (unsigned i = 0; i < E->thread_count; i++) {
        if (i != me()) { /* a thread that has ended was switched away, which is a fence as well */
            sim_point();
            TRACE("barrier: a fence in thread %u", i);
            model_fence_thread(&E->threads[i]);
        }
    }
    model_fence_thread(E->current);
}

void sim_trace(const char *format, ...) {
    if (unlikely(E->tracing)) {
        char text[256];
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        note("%s", text);
    }
}

void sim_misused(const char *fault, const char *text) {
    fail(fault, "%s; thread %u", text, me());
}
