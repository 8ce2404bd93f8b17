/*
 * controller.c: the simulated threads, each a context on a stack of its own inside one real thread.
 * Which of them goes on is decided before each atomic access and each call of the system.
 *
 * A thread is known by E->current, never by its stack: the library's own fibers switch stacks
 * inside a thread.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "engine.h"
#include "platform/platform.h"

#define MAIN_NAME "main"

static void thread_main(void *arg);
static void go_to(unsigned next);

/* ---- threads ---- */

static int thread_new(const char *name, void (*entry)(void *), void *arg) {
    if (E->thread_count == SIM_THREADS) {
        return -EAGAIN;
    }
    unsigned number = E->thread_count++;
    sim_thread *t = &E->threads[number];
    char *stack = t->stack;
    memset(t, 0, sizeof *t);
    t->stack = stack;
    t->state = T_RUNNABLE;
    t->entry = entry;
    t->arg = arg;
    snprintf(t->name, sizeof t->name, "%s", name ? name : "thread");
    E->runnable |= 1u << number;
    uint32_t spread = (uint32_t)(rng() % 1000);
    t->priority = 1000000u + spread * SIM_THREADS + number;
    th_context_make(&t->context, t->stack, t->stack + STACK_BYTES, thread_main, t);
    return (int)number;
}

void controller_begin(void) {
    E->thread_count = 0;
    E->runnable = 0;
    E->asleep = 0;
    E->tired = 0;
    E->buffers = 0;
    E->steps = 0;
    E->sleeps = 0;
    E->now = 1000000000;
    E->current = NULL;
    int number = thread_new(MAIN_NAME, NULL, NULL);
    sim_thread *t = &E->threads[number];
    t->now.order[0] = t->now.seen[0] = 1;
}

void thread_enter(void) {
    E->current = &E->threads[0];
    th_context_jump(&E->explorer, &E->threads[0].context);
}

void run_over(void) {
    sim_thread *t = E->current;
    E->current = NULL;
    th_context_jump(&t->context, &E->explorer);
    __builtin_unreachable();
}

void fail(const char *fault, const char *format, ...) {
    va_list args;
    va_start(args, format);
    E->failed = true;
    snprintf(E->fault, sizeof E->fault, "%s", fault);
    vsnprintf(E->message, sizeof E->message, format, args);
    va_end(args);
    TRACE("FAULT %s: %s", E->fault, E->message);
    if (!E->current) {
        fprintf(stderr, "outside of a run: %s: %s\n", fault, E->message);
        __builtin_trap();
    }
    run_over();
}

static void thread_main(void *arg) {
    sim_thread *t = arg;
    if (t == &E->threads[0]) {
        E->world->body();
        sim_thread_ends();
    } else {
        t->entry(t->arg);
    }
    sim_point(); /* its end is a step of its own */
    model_drain(t);
    unsigned number = me();
    t->state = T_ENDED;
    E->runnable &= ~(1u << number);
    TRACE("ends");
    for (unsigned i = 0; i < E->thread_count; i++) {
        sim_thread *other = &E->threads[i];
        if (other->state == T_JOINING && other->joins == number) {
            view_join(&other->now, &t->now);
            other->state = T_RUNNABLE;
            E->runnable |= 1u << i;
        }
    }
    bool all = true;
    for (unsigned i = 0; i < E->thread_count; i++) {
        all = all && E->threads[i].state == T_ENDED;
    }
    if (all) {
        run_over();
    }
    sim_yield_point();
    __builtin_unreachable();
}

int sim_thread_start(const char *name, void (*entry)(void *), void *arg, uintptr_t *handle) {
    sim_thread *self = E->current;
    model_drain(self);
    int number = thread_new(name, entry, arg);
    if (number < 0) {
        return number;
    }
    sim_thread *t = &E->threads[number];
    t->now = self->now;
    self->now.order[me()]++; /* the new thread does not know its later actions */
    self->now.seen[me()]++;
    t->now.order[number] = t->now.seen[number] = 1;
    *handle = (uintptr_t)number;
    TRACE("starts thread %d (%s)", number, t->name);
    return 0;
}

void sim_thread_join(uintptr_t handle) {
    sim_point();
    sim_thread *t = &E->threads[handle];
    sim_thread *self = E->current;
    if (t->state != T_ENDED) {
        self->state = T_JOINING;
        self->joins = (unsigned)handle;
        E->runnable &= ~(1u << me());
        sim_yield_point();
    } else {
        view_join(&self->now, &t->now);
    }
    TRACE("joined thread %u", (unsigned)handle);
}

sim_local *sim_local_here(void) {
    return &E->current->local;
}

void *sim_storage_here(void) {
    static _Alignas(16) unsigned char storage[SIM_THREADS][SIM_STORAGE_BYTES];
    return storage[me()];
}

/* ---- the clock ---- */

int64_t sim_now(void) {
    return E->now;
}

static void wake(sim_thread *t, sim_reason reason) {
    unsigned number = (unsigned)(t - E->threads);
    t->state = T_RUNNABLE;
    t->reason = reason;
    E->tired &= ~(1u << number);
    E->runnable |= 1u << number;
    E->asleep &= ~(1u << number);
}

/* Wakes those whose deadlines have passed. */
static void expire(void) {
    for (uint32_t bits = E->asleep; bits; bits &= bits - 1) {
        sim_thread *t = &E->threads[__builtin_ctz(bits)];
        if (t->deadline <= E->now) {
            wake(t, SIM_TIMEOUT);
        }
    }
}

void sim_pass(int64_t ns) {
    E->now += ns;
    if (unlikely(E->asleep)) {
        expire();
    }
}

/* All threads sleep: the clock goes on to the first deadline, if there is one. */
static void jump(void) {
    if (E->world->asleep) {
        E->world->asleep();
    }
    int64_t first = INT64_MAX;
    for (uint32_t bits = E->asleep; bits; bits &= bits - 1) {
        sim_thread *t = &E->threads[__builtin_ctz(bits)];
        first = t->deadline < first ? t->deadline : first;
    }
    if (first == INT64_MAX) {
        char who[256] = "";
        size_t used = 0;
        for (unsigned i = 0; i < E->thread_count && used < sizeof who - 40; i++) {
            sim_thread *t = &E->threads[i];
            if (t->state == T_ASLEEP || t->state == T_JOINING) {
                used += (size_t)snprintf(who + used, sizeof who - used, " %u(%s)%s", i, t->name,
                                         t->state == T_JOINING ? " joins" : " sleeps");
            }
        }
        fail("deadlock", "everybody sleeps without a deadline:%s", who);
    }
    TRACE("the clock jumps by %lld ns", (long long)(first - E->now));
    E->now = first > E->now ? first : E->now;
    expire();
}

/* ---- which thread goes on ---- */

static void go_to(unsigned next) {
    sim_thread *from = E->current;
    sim_thread *to = &E->threads[next];
    if (from == to) {
        return;
    }
    E->current = to;
    th_context_jump(&from->context, &to->context);
}

/* Options beyond threads: store buffers that drain, and deadlines that pass early. */
static unsigned extras(void) {
    unsigned n = E->buffers;
    if (unlikely(E->asleep && E->timers_left)) {
        n += (unsigned)__builtin_popcount(E->asleep);
    }
    return n;
}

static void do_extra(unsigned which) {
    if (which < E->buffers) {
        for (unsigned i = 0; i < E->thread_count; i++) {
            if (E->threads[i].buffered && which-- == 0) {
                model_drain_one(&E->threads[i]);
                return;
            }
        }
    }
    which -= E->buffers;
    uint32_t bits = E->asleep;
    while (which--) {
        bits &= bits - 1;
    }
    sim_thread *t = &E->threads[__builtin_ctz(bits)];
    E->timers_left--;
    if (t->deadline > INT64_MAX / 2) {
        return; /* no clock comes there: sums with the time need not hold then */
    }
    TRACE("the clock jumps to the deadline of thread %d", __builtin_ctz(bits));
    E->now = t->deadline > E->now ? t->deadline : E->now;
    expire();
}

/*
 * The threads that could go on instead of a yielding one and have not yielded themselves. When all
 * have, it begins anew. Otherwise a search through all decisions would let two threads that wait
 * for a third one hand over to each other for ever.
 */
static uint32_t fresh(uint32_t others) {
    if (!(others & ~E->tired)) {
        E->tired &= 1u << me();
    }
    return others & ~E->tired;
}

static void schedule(bool may_stay) {
    if (unlikely(++E->steps > E->world->steps_max)) {
        fail("livelock", "more than %u steps", E->world->steps_max);
    }
    for (;;) {
        if (unlikely(!E->runnable)) {
            if (E->buffers) {
                for (unsigned i = 0; i < E->thread_count; i++) {
                    model_drain(&E->threads[i]);
                }
            }
            jump();
            continue;
        }
        uint32_t mine = 1u << me();
        uint32_t others = E->runnable & ~mine;
        if (!may_stay && E->limits.fair) {
            others = fresh(others);
        }
        bool stay = may_stay && (E->runnable & mine);
        if (!others && !stay) { /* it yields, and no other thread can go on */
            stay = true;
        }
        unsigned more = extras();
        if (likely(!others && !more)) {
            return; /* there is only one way to go on */
        }
        unsigned choice = strategy_thread(others, stay, more);
        unsigned threads = (stay ? 1u : 0u) + (unsigned)__builtin_popcount(others);
        if (choice >= threads) {
            do_extra(choice - threads);
            continue;
        }
        if (stay) {
            if (choice == 0) {
                return;
            }
            choice--;
            E->preempted += may_stay;
        }
        uint32_t bits = others;
        while (choice--) {
            bits &= bits - 1;
        }
        go_to((unsigned)__builtin_ctz(bits));
        return;
    }
}

void sim_point(void) {
    if (likely(E->current)) {
        schedule(true);
    }
}

void sim_yield_point(void) {
    E->current->priority = --E->lowest;
    model_drain(E->current);
    E->tired |= 1u << me();
    sim_pass(100);
    schedule(false);
}

/* ---- futexes ---- */

sim_reason sim_sleep(const void *word, int64_t deadline) {
    sim_thread *t = E->current;
    unsigned number = me();
    t->state = T_ASLEEP;
    t->word = word;
    t->deadline = deadline;
    t->slept = ++E->sleeps;
    E->runnable &= ~(1u << number);
    if (deadline != INT64_MAX) {
        E->asleep |= 1u << number;
    }
    TRACE("sleeps%s", deadline == INT64_MAX ? "" : " with a deadline");
    schedule(false);
    TRACE("%s", t->reason == SIM_TIMEOUT ? "its deadline has passed" : "was woken");
    return t->reason;
}

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

bool sim_wake_one(const void *word) {
    model_drain(E->current);
    sim_thread *sleepers[SIM_THREADS];
    unsigned n = 0;
    for (unsigned i = 0; i < E->thread_count; i++) {
        sim_thread *t = &E->threads[i];
        if (t->state == T_ASLEEP && t->word == word) {
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
    wake(t, SIM_WOKEN);
    return true;
}

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

/* ---- the library's reports ---- */

void sim_said(const char *text, size_t length) {
    size_t n = length < sizeof E->said - 1 ? length : sizeof E->said - 1;
    memcpy(E->said, text, n);
    E->said[n] = 0;
    while (n > 0 && E->said[n - 1] == '\n') {
        E->said[--n] = 0;
    }
}

void sim_aborted(void) {
    fail("abort", "%s", E->said);
}

/* ---- for worlds ---- */

int sim_spawn(void (*entry)(void *), void *arg) {
    th_os_thread thread;
    unsigned left = E->refusals_left;
    E->refusals_left = 0; /* the world's own threads are never refused */
    sim_point();
    int code = th_os_thread_start(&thread, "world", entry, arg);
    E->refusals_left = left;
    if (code != 0) {
        fail("world", "more than %d threads", SIM_THREADS);
    }
    return (int)thread.handle;
}

void sim_join(int thread) {
    sim_thread_join((uintptr_t)thread);
}

void sim_together(unsigned n, void (*const entries[])(void *), void *arg) {
    int threads[SIM_THREADS];
    for (unsigned i = 0; i < n; i++) {
        threads[i] = sim_spawn(entries[i], arg);
    }
    for (unsigned i = 0; i < n; i++) {
        sim_join(threads[i]);
    }
}

unsigned sim_pick(unsigned n) {
    return sim_choose(SIM_WORLD, n);
}

void sim_failed(const char *fault, const char *file, int line, const char *what) {
    const char *base = strrchr(file, '/');
    fail(fault, "%s:%d: %s", base ? base + 1 : file, line, what);
}

void sim_outcome(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(E->outcome, sizeof E->outcome, format, args);
    va_end(args);
}

void sim_note(const char *format, ...) {
    if (E->tracing) {
        char text[256];
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        note("%s", text);
    }
}

void sim_may_refuse(bool may) {
    E->refuses = may;
}

unsigned sim_thread_number(void) {
    return me();
}

sim_moment sim_moment_now(void) {
    return (sim_moment){.thread = me(), .time = E->current->now.order[me()]};
}

bool sim_moment_before(sim_moment moment) {
    return moment.thread == me() || moment.time <= E->current->now.order[moment.thread];
}
