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
#define LOOPS_FREE 40u
#define LOOP_STEPS                                                                                 \
    (E->world->steps_max / 2) /* within so many steps, a loop may also end without time */
#define PAUSE_NS 100
#define PAUSE_MAX_NS 10000000 /* the most without a deadline */
#define LATE_NS 10000
#define IDLE_MAX 200u /* jumps of the clock without a call of the test */
#define SHORT_NS 100000000
#define PAUSE_STEPS 5000u /* with more steps between two pauses, it was another loop */
/* A prime, so that it falls into each part of a loop. */
#define STRETCH 499u /* in a test, a thread gives way after so many steps in a row */

static void thread_main(void *arg);
static void go_to(unsigned next);
static void schedule(bool may_stay);
static void give_way(void);

/* ---- threads ---- */

/* A thread could go on, if its host is not paused. */
static void may_run(unsigned number) {
    E->threads[number].state = T_RUNNABLE;
    *(E->hosts_paused >> E->threads[number].host & 1 ? &E->frozen : &E->runnable) |= 1u << number;
}

/* The thread has ended, and nobody will ask for it. */
static bool is_free(const sim_thread *t) {
    return t->state == T_ENDED && (t->gone || t->detached);
}

int thread_new(unsigned host, const char *name, void (*entry)(void *), void *arg) {
    unsigned number = E->thread_count;
    uint32_t time = 0;
    if (number < SIM_THREADS) {
        E->thread_count++;
    } else {
        for (number = 0; number < SIM_THREADS && !is_free(&E->threads[number]); number++) {
        }
        if (number == SIM_THREADS) {
            return -EAGAIN;
        }
        time = E->threads[number].now.order[number];
    }
    sim_thread *t = &E->threads[number];
    char *stack = t->stack;
    memset(t, 0, sizeof *t);
    t->stack = stack;
    t->now.order[number] = time; /* what others have seen of the thread before is not its own */
    t->host = (uint8_t)host;
    t->entry = entry;
    t->arg = arg;
    snprintf(t->name, sizeof t->name, "%s", name ? name : "thread");
    may_run(number);
    uint32_t spread = (uint32_t)(rng() % 1000);
    t->priority = 1000000u + spread * SIM_THREADS + number;
    th_context_make(&t->context, t->stack, t->stack + STACK_BYTES, thread_main, t);
    return (int)number;
}

void controller_begin(void) {
    E->thread_count = 0;
    E->runnable = 0;
    E->asleep = 0;
    E->frozen = 0;
    E->hosts_paused = 0;
    memset(E->clocks, 0, sizeof E->clocks);
    E->tired = 0;
    E->stretch = 0;
    E->looping = 0;
    E->paused = 0;
    E->idle = 0;
    E->other_scheds = false;
    E->buffers = 0;
    steps_begin();
    E->sleeps = 0;
    E->now = E->still ? STILL_BEGIN_NS : 1000000000;
    E->current = NULL;
    int number = thread_new(0, MAIN_NAME, NULL, NULL);
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

void spot(uintptr_t after, const char *label, ...) {
    if (E->spots_count < SPOTS_MAX) {
        sim_spot *s = &E->spots[E->spots_count++];
        va_list args;
        va_start(args, label);
        vsnprintf(s->label, sizeof s->label, label, args);
        va_end(args);
        s->after = after;
    }
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
            may_run(i);
        }
    }
    bool all = true;
    for (unsigned i = 0; i < E->thread_count; i++) {
        all = all && E->threads[i].state == T_ENDED;
    }
    if (all) {
        run_over();
    }
    give_way();
    __builtin_unreachable();
}

int sim_thread_start(const char *name, void (*entry)(void *), void *arg, uintptr_t *handle) {
    sim_thread *self = E->current;
    model_drain(self);
    int number = thread_new(self->host, name, entry, arg);
    if (number < 0) {
        return number;
    }
    sim_thread *t = &E->threads[number];
    const uint32_t time = t->now.order[number] + 1;
    t->now = self->now;
    self->now.order[me()]++; /* the new thread does not know its later actions */
    self->now.seen[me()]++;
    t->now.order[number] = t->now.seen[number] = time;
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
        give_way();
    } else {
        view_join(&self->now, &t->now);
    }
    TRACE("joined thread %u", (unsigned)handle);
}

void sim_thread_detach(uintptr_t handle) {
    E->threads[handle].detached = true;
}

sim_local *sim_local_here(void) {
    return &E->current->local;
}

void *sim_storage_here(void) {
    static _Alignas(16) unsigned char storage[SIM_THREADS][SIM_STORAGE_BYTES];
    return storage[me()];
}

void *sim_exceptions_here(void) {
    return E->exceptions;
}

/* ---- the clock ---- */

int64_t sim_now(void) {
    return E->current ? clock_shows(&E->clocks[E->current->host], E->now) : E->now;
}

void thread_wake(sim_thread *t, sim_reason reason) {
    unsigned number = (unsigned)(t - E->threads);
    t->reason = reason;
    E->tired &= ~(1u << number);
    may_run(number);
    E->asleep &= ~(1u << number);
}

/* Wakes those whose deadlines have passed. */
static void expire(void) {
    if (unlikely(E->network_arrive)) {
        E->network_arrive();
    }
    for (uint32_t bits = E->asleep; bits; bits &= bits - 1) {
        sim_thread *t = &E->threads[__builtin_ctz(bits)];
        if (t->deadline <= E->now) {
            thread_wake(t, SIM_TIMEOUT);
        }
    }
}

void sim_pass(int64_t ns) {
    if (E->still) {
        return;
    }
    E->now += ns;
    if (unlikely(E->asleep)) {
        expire();
    }
}

void sim_advance(int64_t ns) {
    E->now += ns;
    expire();
}

/* Wakes the threads that wait until all others are blocked; false if there are none. */
static bool settle(void) {
    bool any = false;
    for (unsigned i = 0; i < E->thread_count; i++) {
        sim_thread *t = &E->threads[i];
        if (t->state == T_SETTLING) {
            may_run(i);
            any = true;
        }
    }
    return any;
}

void sim_settle(void) {
    E->current->state = T_SETTLING;
    E->looping = 0;
    E->runnable &= ~(1u << me());
    schedule(false);
}

/* The first deadline of a sleep of at least that length. */
static int64_t first_deadline(int64_t length) {
    int64_t first = INT64_MAX;
    for (uint32_t bits = E->asleep; bits; bits &= bits - 1) {
        const sim_thread *t = &E->threads[__builtin_ctz(bits)];
        if (t->deadline < first && t->deadline - t->slept_at >= length) {
            first = t->deadline;
        }
    }
    return first;
}

/* That, or an earlier arrival from another host. */
static int64_t first_of(int64_t first) {
    const int64_t next = E->network_next ? E->network_next() : INT64_MAX;
    return next < first ? next : first;
}

/* The first deadline of a test: a timer's or a thread's, not that of a worker that looks around. */
static int64_t first_awaited(void) {
    const int64_t timer = E->first_timer ? E->first_timer() : INT64_MAX;
    const int64_t first = first_deadline(SHORT_NS);
    return first_of(timer < first ? timer : first);
}

/* All threads sleep: the clock goes on to the first deadline, if there is one. */
static void jump(void) {
    if (settle()) {
        return;
    }
    if (E->world->asleep) {
        E->world->asleep();
    }
    int64_t first = first_of(first_deadline(0));
    if (E->still && ++E->idle > IDLE_MAX && !E->other_scheds) {
        first = first_awaited(); /* only workers look around; nothing else can happen before */
    }
    if (first == INT64_MAX) {
        if (E->still) {
            fail("deadlock", "all tasks and threads wait, and no deadline is pending");
        }
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
    E->stretch = 0;
    if (unlikely(E->exceptions)) {
        from->exceptions = *E->exceptions;
        *E->exceptions = to->exceptions;
    }
    if (unlikely(from->host != to->host)) {
        E->change_host(to->host);
    }
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
 * All threads that could go on wait in loops, so only time can change that. It passes in steps that
 * grow: a loop that ends in an hour takes sixty of them. They end at a deadline of the test.
 */
static void pause_all(void) {
    const int64_t first = first_awaited();
    if (!E->looping || E->steps - E->paused > PAUSE_STEPS) {
        E->looping = E->steps;
        E->pause = PAUSE_NS;
    }
    E->paused = E->steps;
    if (E->steps - E->looping < LOOP_STEPS) {
        return;
    }
    if (first <= E->now) { /* a worker has not looked at its timers yet */
        E->now += LATE_NS;
        expire();
        return;
    }
    const int64_t most = first == INT64_MAX ? PAUSE_MAX_NS : first - E->now;
    E->pause = E->pause < most ? E->pause + E->pause / 2 : most;
    if (first - E->now > E->pause) {
        E->now += E->pause;
    } else { /* the task with this deadline gets time to end the loop */
        E->now = first;
        E->pause = PAUSE_NS;
        E->looping = E->steps - LOOP_STEPS + PAUSE_STEPS / 10;
    }
    expire();
}

/*
 * The threads that could go on instead of a yielding one and have not yielded themselves. When all
 * have, it begins anew. Otherwise, in an exhaustive search, two threads that wait for a third one
 * could yield to each other forever.
 */
static uint32_t fresh(uint32_t others) {
    if (!(others & ~E->tired)) {
        if (E->still && !(E->runnable & ~E->tired)) {
            pause_all();
        }
        E->tired &= 1u << me();
    }
    return others & ~E->tired;
}

static void schedule(bool may_stay) {
    E->current->loops = 0;
    if (unlikely(++E->steps > E->steps_next)) {
        steps_over();
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
        if (!may_stay && (E->limits.fair || E->still)) {
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

/* The caller goes on only when all others that can go on had a turn. */
static void give_way(void) {
    E->current->loops = 0;
    E->current->priority = --E->lowest;
    model_drain(E->current);
    E->tired |= 1u << me();
    sim_pass(100);
    schedule(false);
}

void sim_point(void) {
    if (unlikely(!E->current || E->inspecting)) {
        return;
    }
    /* A test may wait in a loop that only locks and unlocks. */
    if (unlikely(E->still && ++E->stretch > STRETCH)) {
        E->stretch = 0;
        give_way();
    } else {
        schedule(true);
    }
}

void thread_over(void) {
    schedule(false);
    __builtin_unreachable();
}

void sim_turn(void) {
    if (E->current && !E->inspecting) {
        give_way();
    }
}

void sim_yield_point(void) {
    /*
     * In a test, short loops of the library end undisturbed: otherwise a wait that begins by
     * looking a few times would always let others go first.
     */
    if (E->still && E->current->loops++ < LOOPS_FREE) {
        return;
    }
    give_way();
}

/* ---- sleeping ---- */

sim_reason sim_sleep(const void *word, int64_t deadline) {
    sim_thread *t = E->current;
    unsigned number = me();
    t->state = T_ASLEEP;
    t->word = word;
    t->deadline = deadline == INT64_MAX ? deadline : clock_comes_to(&E->clocks[t->host], deadline);
    t->slept = ++E->sleeps;
    t->slept_at = E->now;
    E->runnable &= ~(1u << number);
    if (deadline != INT64_MAX) {
        E->asleep |= 1u << number;
    }
    TRACE("sleeps%s", deadline == INT64_MAX ? "" : " with a deadline");
    schedule(false);
    TRACE("%s", t->reason == SIM_TIMEOUT ? "its deadline has passed" : "was woken");
    return t->reason;
}
