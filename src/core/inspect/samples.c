/*
 * samples.c: see samples.h.
 */
#include "core/inspect/samples.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/annotate.h"
#include "core/state/handle.h"
#include "core/state/parkword.h"

/* A worker that begins more tasks in a second has them note their functions in bursts only. */
#define RATE_MAX 1000000

th_samples *th_samples_make(thrum_sched *sched) {
    th_samples *samples =
        th_sched_alloc(sched, sizeof(th_samples) + sched->workers_count * sizeof samples->began[0]);
    if (samples) {
        samples->sched = sched;
    }
    return samples;
}

void th_samples_free(th_samples *samples) {
    if (samples) {
        th_sched_free(samples->sched, samples);
    }
}

void th_samples_clear(th_samples *samples) {
    thrum_sched *sched = samples->sched;
    memset(samples, 0, sizeof *samples);
    samples->sched = sched;
}

/* ---- noting functions ---- */

static void flag(th_worker *worker, bool on) {
    if (on) {
        /* relaxed: a run that does not see it yet is told without its function */
        th_or_relaxed(&worker->xextra, TH_EXTRA_SAMPLES);
    } else {
        th_and_relaxed(&worker->xextra, ~TH_EXTRA_SAMPLES); /* relaxed: likewise */
    }
}

static void flag_bound(thrum_sched *sched, bool on) {
    th_lock_acquire(&sched->bound_lock);
    for (th_worker *w = sched->bound; w; w = w->bound_next) {
        flag(w, on);
    }
    th_lock_release(&sched->bound_lock);
}

void th_samples_begin(th_samples *samples, int64_t now) {
    thrum_sched *sched = samples->sched;
    for (unsigned i = 0; i < th_workers_end(sched); i++) {
        if (!samples->rated_at) { /* the first burst: what came before it says nothing */
            /* relaxed: a counter to look at */
            samples->began[i] = th_load_relaxed(&sched->workers[i].counters.xtasks_started);
        }
        flag(&sched->workers[i], true);
    }
    samples->rated_at = samples->rated_at ? samples->rated_at : now;
    flag_bound(sched, true);
}

/* A record of a bound thread serves the next one: the flag may not stay behind in it. */
void th_samples_end(th_samples *samples) {
    thrum_sched *sched = samples->sched;
    for (unsigned i = 0; i < th_workers_end(sched); i++) {
        flag(&sched->workers[i], false);
    }
    th_lock_acquire(&sched->bound_lock);
    for (unsigned i = sched->workers_count; i < sched->bound_end; i++) {
        th_worker *worker = th_worker_at(sched, (int32_t)i);
        if (worker) {
            flag(worker, false);
        }
    }
    th_lock_release(&sched->bound_lock);
}

void th_samples_rest(th_samples *samples, int64_t now) {
    thrum_sched *sched = samples->sched;
    const int64_t span = now - samples->rated_at;
    for (unsigned i = 0; i < th_workers_end(sched); i++) {
        th_worker *worker = &sched->workers[i];
        /* relaxed: a counter to look at */
        const uint64_t began = th_load_relaxed(&worker->counters.xtasks_started);
        const uint64_t most = (uint64_t)span / (1000000000 / RATE_MAX);
        if (began - samples->began[i] > most) {
            flag(worker, false);
        }
        samples->began[i] = began;
    }
    flag_bound(sched, false);
    samples->rated_at = now;
}

/* ---- looking ---- */

static void count(th_samples *samples, uintptr_t fn, const char *name) {
    for (unsigned i = 0; i < samples->count; i++) {
        th_sampled *sampled = &samples->table[i];
        if (sampled->fn == fn && !strcmp(sampled->name, name)) {
            sampled->samples++;
            return;
        }
    }
    if (samples->count == TH_SAMPLED_MAX) {
        samples->others++;
        return;
    }
    th_sampled *sampled = &samples->table[samples->count++];
    *sampled = (th_sampled){.fn = fn, .samples = 1};
    memcpy(sampled->name, name, strlen(name) + 1);
}

/*
 * The function of a run that began before functions were noted, if it is a spawned task's: the
 * handle names it. The handle may be gone by now, and be another's, as the run may be.
 */
static TH_NO_TSAN uintptr_t function_by_handle(const th_fiber *fiber) {
    const thrum_handle *handle = *(thrum_handle *const volatile *)&fiber->inherited.handle;
    uintptr_t fn = 0;
    if (handle) {
        const uintptr_t *at = (const uintptr_t *)((uintptr_t)handle + offsetof(thrum_handle, fn));
        (void)th_slab_peek(fiber->sched->spawn_slab, at, &fn);
    }
    return fn;
}

/*
 * What runs on the worker; false: no body of a task. Stacks stay mapped as long as the scheduler
 * lives, so this may read of a fiber that goes on; a sample that mixes two runs is one wrong
 * sample. Not shown to the thread sanitizer, like all that is read of one (snapshot.c).
 */
static TH_NO_TSAN bool see(const th_worker *worker, uintptr_t *fn, char name[]) {
    const th_fiber *fiber = th_load_relaxed(&worker->current); /* relaxed: as of some moment */
    /* relaxed: as above */
    if (!fiber || fiber == &worker->home || !th_load_relaxed(&fiber->body)) {
        return false;
    }
    size_t i = 0;
    *fn = fiber->traced_run == fiber->run_id ? fiber->traced_fn : function_by_handle(fiber);
    for (; !*fn && i < THRUM_NAME_MAX && fiber->name[i]; i++) {
        th_tsan_unseen();
        name[i] = fiber->name[i];
    }
    name[i] = '\0';
    return true;
}

static bool is_parked(const th_worker *worker) {
    return (th_load_relaxed(&worker->xsleep) & TH_SLEEP_PARKED) != 0; /* relaxed: a guess */
}

void th_samples_look(th_samples *samples) {
    thrum_sched *sched = samples->sched;
    char name[THRUM_NAME_MAX + 1];
    uintptr_t fn;
    for (unsigned i = 0; i < th_workers_end(sched); i++) {
        const th_worker *worker = &sched->workers[i];
        samples->samples++;
        if (is_parked(worker)) {
            samples->idle++;
        } else if (see(worker, &fn, name)) {
            count(samples, fn, name);
        } else {
            samples->own++;
        }
    }
    th_lock_acquire(&sched->bound_lock);
    for (const th_worker *w = sched->bound; w; w = w->bound_next) {
        if (see(w, &fn, name)) { /* else the thread runs its own code, or waits */
            samples->samples++;
            count(samples, fn, name);
        }
    }
    th_lock_release(&sched->bound_lock);
}

/* ---- telling ---- */

static void add_sampled(th_text *text, th_sampled *sampled) {
    char function[TH_CALL_TEXT];
    if (sampled->fn && !sampled->text[0]) {
        const char *name = th_code_names_function(&text->names, sampled->fn, function);
        memcpy(sampled->text, name, strnlen(name, sizeof sampled->text - 1));
    }
    th_text_add(text, "{\"samples\": %" PRIu64, sampled->samples);
    if (sampled->fn) {
        th_text_add(text, ", \"function\": ");
        th_text_add_quoted(text, sampled->text);
    } else if (sampled->name[0]) {
        th_text_add(text, ", \"name\": ");
        th_text_add_quoted(text, sampled->name);
    }
    th_text_add(text, "}");
}

void th_samples_add(th_text *text, th_samples *samples) {
    th_text_add(text, "\"samples\": %" PRIu64 ", \"idle\": %" PRIu64 ", \"own\": %" PRIu64,
                samples->samples, samples->idle, samples->own);
    th_text_add(text, ", \"others\": %" PRIu64 ", \"function\": [", samples->others);
    for (unsigned i = 0; i < samples->count; i++) {
        th_text_add(text, i ? ",\n  " : "\n  ");
        add_sampled(text, &samples->table[i]);
    }
    th_text_add(text, "]");
}
