/*
 * samples.c: see samples.h.
 */
#include "core/report/samples.h"

#include <inttypes.h>
#include <string.h>

#include "base/annotate.h"
#include "core/basis/parkword.h"

th_samples *th_samples_make(thrum_sched *sched) {
    th_samples *samples = th_sched_alloc(sched, sizeof *samples);
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
 * Finds the function that runs on the worker; false: no task's body. Stacks stay mapped as long as
 * the scheduler lives, so this may read a fiber that goes on; a sample that mixes two runs is one
 * wrong sample. Hidden from the thread sanitizer, like all such reads (snapshot.c).
 */
static TH_NO_TSAN bool see(const th_worker *worker, uintptr_t *fn, char name[]) {
    const th_fiber *fiber = th_load_relaxed(&worker->current); /* relaxed: as of some moment */
    /* relaxed: as above */
    if (!fiber || fiber == &worker->home || !th_load_relaxed(&fiber->body)) {
        return false;
    }
    size_t i = 0;
    *fn = th_fiber_function(fiber);
    for (; !*fn && i < THRUM_NAME_MAX && fiber->name[i]; i++) {
        th_tsan_unseen();
        name[i] = fiber->name[i];
    }
    name[i] = '\0';
    return true;
}

void th_samples_look(th_samples *samples) {
    thrum_sched *sched = samples->sched;
    char name[THRUM_NAME_MAX + 1];
    uintptr_t fn;
    for (unsigned i = 0; i < th_workers_end(sched); i++) {
        const th_worker *worker = &sched->workers[i];
        const bool parked = th_seems_parked(worker);
        if (parked && th_is_spare(worker)) {
            continue; /* usually it takes no part */
        }
        samples->samples++;
        if (parked) {
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

/* ---- reporting ---- */

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
