/*
 * kernel.c: the parts of a simulated system (src/platform/sim/): memory that no thread sees, order
 * between the threads that meet in it, and wakes.
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

/* ---- wakes ---- */

bool sim_sees_late(void) {
    return E->mode == M_C11;
}

int64_t sim_sleeps_until(const void *word) {
    for (uint32_t bits = E->asleep; bits; bits &= bits - 1) {
        const sim_thread *t = &E->threads[__builtin_ctz(bits)];
        if (t->word == word) {
            return t->deadline;
        }
    }
    return INT64_MAX;
}

/* Whether it is static data, of which each host has a copy at the same address. */
static bool is_own(const void *word) {
    return (const char *)word >= E->data && (const char *)word < E->data + E->data_size;
}

bool sim_wake_one(const void *word) {
    model_drain(E->current);
    sim_thread *sleepers[SIM_THREADS];
    unsigned n = 0;
    const bool own = is_own(word);
    for (unsigned i = 0; i < E->thread_count; i++) {
        sim_thread *t = &E->threads[i];
        if (t->state == T_ASLEEP && t->word == word && (!own || t->host == E->current->host)) {
            sleepers[n++] = t;
        }
    }
    if (n == 0) {
        TRACE("futex wake: nobody");
        return false;
    }
    /* First come, first served is the usual order; any order is possible. */
    for (unsigned i = 1; i < n; i++) {
        for (unsigned j = i; j > 0 && sleepers[j]->slept < sleepers[j - 1]->slept; j--) {
            sim_thread *swap = sleepers[j];
            sleepers[j] = sleepers[j - 1];
            sleepers[j - 1] = swap;
        }
    }
    sim_thread *t = sleepers[sim_choose(SIM_WAKEE, n)];
    TRACE("futex wakes thread %d", (int)(t - E->threads));
    thread_wake(t, SIM_WOKEN);
    return true;
}

unsigned sim_host_here(void) {
    return E->current ? E->current->host : 0;
}
