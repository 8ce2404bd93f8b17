/*
 * world.c: what the worlds and the tests call: threads of their own, decisions, checks, notes.
 */
#include <stdarg.h>
#include <string.h>

#include "engine.h"
#include "platform/platform.h"

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

/* ---- the library's reports ---- */

void sim_said(const char *text, size_t length) {
    size_t n = length < sizeof E->said - 1 ? length : sizeof E->said - 1;
    memcpy(E->said, text, n);
    E->said[n] = 0;
    while (n > 0 && E->said[n - 1] == '\n') {
        E->said[--n] = 0;
    }
    const size_t begin = strlen("thrum: check: ");
    if (E->mistake && strncmp(E->said, "thrum: check: ", begin) == 0) {
        char mistake[sizeof E->said];
        memcpy(mistake, E->said + begin, sizeof E->said - begin);
        E->said[0] = '\0';
        E->mistake(mistake);
    }
}

const char *sim_env(const char *name) {
    return E->mistake && strcmp(name, "THRUM_CHECK") == 0 ? "1" : NULL;
}

void sim_aborted(void) {
    spot(E->current->after, "in %s", E->current->what ? E->current->what : "?");
    fail("abort", "%s", E->said);
}
