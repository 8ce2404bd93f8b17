/*
 * samples.c: see samples.h.
 */
#include "core/report/samples.h"

#include <inttypes.h>
#include <string.h>

#include "base/annotate.h"
#include "core/basis/parkword.h"

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
 * Finds the function that runs on the worker; false: no task's body. A sample that mixes two runs
 * is one wrong sample. Hidden from the thread sanitizer, like all such reads (snapshot.c).
 */
static TH_NO_TSAN bool see(const th_worker *worker, uintptr_t *fn, char name[]) {
    const th_fiber *fiber = th_running_on(worker);
    if (fiber) {
        *fn = th_fiber_function(fiber);
        th_snapshot_name(name, THRUM_NAME_MAX + 1, *fn ? "" : fiber->name);
    }
    return fiber;
}

void th_samples_look(thrum_sched *sched, th_samples *samples) {
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
    TH_LOCKED(&sched->bound_lock);
    for (const th_worker *w = sched->bound; w; w = w->bound_next) {
        if (see(w, &fn, name)) { /* else the thread runs its own code, or waits */
            samples->samples++;
            count(samples, fn, name);
        }
    }
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
        th_text_add_quoted(text, ", \"function\": ", sampled->text);
    } else if (sampled->name[0]) {
        th_text_add_quoted(text, ", \"name\": ", sampled->name);
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
