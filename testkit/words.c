/*
 * words.c: a run in words: the calls that the tasks made, in order, with their places and their
 * objects. An object has the same name in each run of the same schedule.
 */
#include <stdlib.h>
#include <string.h>

#include "core/basis/waiter_state.h"
#include "core/state/handle.h"
#include "core/state/worker.h"
#include "hosts/hosts.h"
#include "kit.h"

/* Of the same task, or of the same plain thread. */
static bool is_same_task(const sim_step *a, const sim_step *b) {
    return a->host == b->host && a->run == b->run && (a->run || a->thread == b->thread);
}

/* ---- spawns ---- */

#define LOOKED_AT 4096u

/* The object of the caller's handle (core/state/handle.h). */
static void resolve(sim_step *step) {
    if (step->out && step->host == H->placed) {
        const uintptr_t tagged = *(const uintptr_t *)step->out;
        step->handle = tagged & (((uintptr_t)1 << TH_GENERATION_SHIFT) - 1);
        step->out = NULL;
    }
}

void kit_spawns(thrum_handle *const *out) {
    if (E->words_count < WORDS_MAX && (uintptr_t)out % sizeof *out == 0) {
        E->words[E->words_count - 1].out = out;
    }
}

/* The caller's last step is over, since it makes another one. */
static void resolve_last(const sim_step *next) {
    for (uint32_t i = 0; i < E->words_count && i < LOOKED_AT; i++) {
        sim_step *step = &E->words[E->words_count - 1 - i];
        if (is_same_task(step, next)) {
            resolve(step);
            return;
        }
    }
}

const sim_step *kit_spawn_of(const thrum_handle *handle) {
    for (uint32_t i = E->words_count; i > 0; i--) {
        resolve(&E->words[i - 1]);
        if (E->words[i - 1].handle == (uintptr_t)handle && E->words[i - 1].host == H->placed) {
            return &E->words[i - 1];
        }
    }
    return NULL;
}

/* ---- locks that block ---- */

/* Calls that lock and have not returned yet, as far as is known. */
#define LOCKING_MAX 64u
static struct {
    uint32_t step;
    const th_fiber *fiber; /* NULL: a plain thread */
} locking[LOCKING_MAX];
static unsigned locking_count;

static bool is_lock(const char *what) {
    return (strncmp(what, "thrum_mutex_", 12) == 0 || strncmp(what, "thrum_rwlock_", 13) == 0) &&
           (strstr(what, "lock_until") || strstr(what + 12, "lock")) && !strstr(what, "unlock") &&
           !strstr(what, "try");
}

static bool is_blocked(const sim_step *step, const th_fiber *fiber) {
    if (!fiber) {
        return E->threads[step->thread].state == T_ASLEEP;
    }
    const th_waiter *waiter = fiber->run_id == step->run ? fiber->xblocked : NULL;
    return waiter && waiter->object == step->object;
}

/* The others' calls that have begun to wait by now. */
static void note_waits(void) {
    for (unsigned i = 0; i < locking_count; i++) {
        sim_step *step = &E->words[locking[i].step];
        if (step->how == STEP_CALL && is_blocked(step, locking[i].fiber)) {
            step->how = STEP_WAITS;
        }
    }
}

/* The caller, which makes this step, is no longer in such a call. Returns whether that waited. */
static bool note_end(const sim_step *next, uint32_t *which) {
    for (unsigned i = 0; i < locking_count; i++) {
        const sim_step *step = &E->words[locking[i].step];
        if (is_same_task(step, next)) {
            *which = locking[i].step;
            locking[i] = locking[--locking_count];
            return step->how == STEP_WAITS;
        }
    }
    return false;
}

/* ---- steps ---- */

static void add(const sim_step *step) {
    if (E->words_count < WORDS_MAX) {
        E->words[E->words_count++] = *step;
    }
}

void kit_step_is(sim_step *step, const char *what, const void *object, uintptr_t after) {
    const th_fiber *fiber = th_fiber_self();
    const bool task = fiber && th_fiber_function(fiber) && !fiber->root;
    *step = (sim_step){.what = what,
                       .object = object,
                       .after = after,
                       .now = E->now,
                       .thread = me(),
                       .host = sim_host_here()};
    if (task) {
        step->fn = th_fiber_function(fiber);
        step->run = fiber->run_id;
        snprintf(step->name, sizeof step->name, "%s", fiber->name);
    } else if (strcmp(E->current->name, PLAIN_THREAD) == 0) {
        snprintf(step->name, sizeof step->name, "thread %u", me());
    } else {
        snprintf(step->name, sizeof step->name, "%s", E->current->name);
    }
}

void kit_step(const char *what, const void *object, uintptr_t after) {
    const th_fiber *fiber = th_fiber_self();
    sim_step step;
    uint32_t waited;
    kit_step_is(&step, what, object, after);
    resolve_last(&step);
    note_waits();
    if (note_end(&step, &waited)) {
        sim_step goes_on = E->words[waited];
        goes_on.how = STEP_GOES_ON;
        goes_on.now = E->now;
        add(&goes_on);
    }
    if (is_lock(what) && locking_count < LOCKING_MAX && E->words_count < WORDS_MAX) {
        locking[locking_count].step = E->words_count;
        locking[locking_count++].fiber = step.run ? fiber : NULL;
    }
    kit_note_callers(&step);
    add(&step);
}

/* ---- tasks ---- */

static bool is_another(const sim_step *step, const sim_step *other) {
    return other->fn == step->fn && other->host == step->host && other->run &&
           other->run != step->run;
}

static bool is_only(const sim_step *step) {
    for (uint32_t i = 0; i < E->words_count; i++) {
        if (is_another(step, &E->words[i])) {
            return false;
        }
    }
    return !is_another(step, &E->race_steps[0]) && !is_another(step, &E->race_steps[1]);
}

/* "reader", "reader 3.1" if several tasks run that function, or "b: reader" on host b. */
static void name_of(const sim_step *step, const char *function, char text[80]) {
    static const char unnamed[] = "(anonymous namespace)::";
    function += strncmp(function, unnamed, sizeof unnamed - 1) ? 0 : sizeof unnamed - 1;
    const char *host = step->host ? hosts_name(step->host) : "";
    const char *name = step->name[0] ? step->name : kit_is_of_headers(function) ? "task" : function;
    const char *colon = step->host ? ": " : "";
    if (step->host && step->run && strcmp(name, host) == 0) { /* the host's own function */
        snprintf(text, 80, "%s", host);
    } else if (!step->run || is_only(step)) {
        snprintf(text, 80, "%.12s%s%.32s", host, colon, name);
    } else {
        snprintf(text, 80, "%.12s%s%.32s %u.%u", host, colon, name, (unsigned)(step->run >> 32),
                 (unsigned)step->run);
    }
}

const sim_step *kit_last_step(uint64_t run) {
    for (uint32_t i = E->words_count; i > 0; i--) {
        if (E->words[i - 1].run == run && E->words[i - 1].host == H->placed) {
            return &E->words[i - 1];
        }
    }
    return NULL;
}

void kit_name_task(const sim_step *step, char text[80]) {
    kit_place its = {"", "", false};
    kit_find_places(&its, &step->fn, step->fn != 0);
    name_of(step, its.function, text);
}

/* ---- objects ---- */

/* "mutex" for thrum_mutex_lock; no object for other calls. */
static unsigned kind_of(const char *what, const char **kind) {
    static const char *const kinds[] = {"mutex",   "rwlock",    "cond",   "event",
                                        "sem",     "waitgroup", "once",   "chan",
                                        "barrier", "pool",      "tickets"};
    *kind = NULL;
    if (strncmp(what, "thrum_", 6) != 0) {
        return 0;
    }
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const size_t n = strlen(kinds[i]);
        if (strncmp(what + 6, kinds[i], n) == 0 && what[6 + n] == '_' &&
            strcmp(what + 6 + n, "_create") != 0) {
            *kind = kinds[i];
            return i + 1;
        }
    }
    return 0;
}

/* Objects that are not static are numbered within their kind, in the order of their first calls. */
bool kit_name_object(const void *object, char text[80]) {
    unsigned of_kind = 0, number = 0;
    const char *kind;
    if (kit_name_static(object, text, 80)) {
        return true;
    }
    for (uint32_t i = 0; i < E->words_count && !of_kind; i++) {
        of_kind = E->words[i].object == object ? kind_of(E->words[i].what, &kind) : 0;
    }
    if (!of_kind) {
        return false;
    }
    for (uint32_t i = 0; i < E->words_count; i++) {
        const sim_step *step = &E->words[i];
        const char *same;
        bool first = kind_of(step->what, &same) == of_kind && step->object < (void *)-1 &&
                     !kit_name_static(step->object, text, 80);
        for (uint32_t j = 0; first && j < i; j++) {
            first = E->words[j].object != step->object || !kind_of(E->words[j].what, &same);
        }
        number += first;
        if (step->object == object && kind_of(step->what, &same)) {
            break;
        }
    }
    snprintf(text, 80, "%s #%u", kind, number);
    return true;
}

/* "thrum_mutex_lock (m)", "thrum_mutex_lock (m): waits for mutex m" */
static void print_call(FILE *out, const sim_step *step) {
    const char *kind;
    char object[80] = "";
    if (hosts_is_text(step->object)) {
        fprintf(out, "%s (%s)", step->what, (const char *)step->object);
        return;
    }
    const bool atomic = step->object && strncmp(step->what, "atomic ", 7) == 0;
    const bool named =
        (atomic || kind_of(step->what, &kind)) && kit_name_object(step->object, object);
    fprintf(out, named ? "%s (%s)" : "%s", step->what, object);
    if (step->how == STEP_WAITS) {
        fprintf(out, ": waits for the %s", kind);
    } else if (step->how == STEP_GOES_ON) {
        fprintf(out, strstr(step->what, "_until") ? ": goes on" : ": has the %s", kind);
    }
}

/* ---- lines ---- */

#define LINES_MAX 60u
#define PERIOD_MAX 16u

/* A line of the report: a step, or how often the steps before it were repeated. */
typedef struct line {
    uint32_t step;
    uint32_t period, times;
} line;

static bool is_same(const sim_step *a, const sim_step *b) {
    return a->after == b->after && is_same_task(a, b) && a->thread == b->thread &&
           a->object == b->object && a->how == b->how && strcmp(a->what, b->what) == 0;
}

static bool comes_again(uint32_t from, uint32_t period) {
    for (uint32_t i = 0; i < period; i++) {
        if (from + period + i >= E->words_count ||
            !is_same(&E->words[from + i], &E->words[from + period + i])) {
            return false;
        }
    }
    return true;
}

/* A sequence of steps that comes three times or more in a row is printed once, with a count. */
static uint32_t fold(line lines[]) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < E->words_count;) {
        uint32_t period = 0, times = 1;
        for (uint32_t p = 1; p <= PERIOD_MAX && !period; p++) {
            period = comes_again(i, p) && comes_again(i + p, p) ? p : 0;
        }
        while (period && comes_again(i + (times - 1) * period, period)) {
            times++;
        }
        for (uint32_t k = 0; k < (period ? period : 1); k++) {
            lines[n++] = (line){.step = i + k};
        }
        if (period) {
            lines[n++] = (line){.step = i, .period = period, .times = times};
        }
        i += (period ? period : 1) * times;
    }
    return n;
}

static void print_line(FILE *out, const sim_step *step, const kit_place places[2], bool again,
                       bool timed) {
    char name[80];
    name_of(step, places[1].function, name);
    fprintf(out, "    ");
    if (timed) {
        fprintf(out, "%14.9f s  ", (double)(step->now - STILL_BEGIN_NS) / 1e9);
    }
    fprintf(out, "%-16s  %-20s  ", again ? "" : name, kit_place_text(&places[0]));
    print_call(out, step);
    fprintf(out, "\n");
}

void kit_print_steps(FILE *out, bool whole) {
    if (!E->words_count) {
        return;
    }
    note_waits();
    line *lines = malloc((2 * E->words_count + 1) * sizeof *lines);
    const uint32_t count = fold(lines);
    const uint32_t first = count > LINES_MAX && !whole ? count - LINES_MAX : 0;
    const uint32_t n = count - first;
    uintptr_t *addresses = calloc(2 * n + 1, sizeof *addresses);
    kit_place *places = calloc(2 * n + 1, sizeof *places);
    for (uint32_t i = 0; i < n; i++) {
        addresses[2 * i] = E->words[lines[first + i].step].after - 1;
        addresses[2 * i + 1] = E->words[lines[first + i].step].fn;
    }
    for (uint32_t i = 0; i < 2 * n; i += 512) { /* a command line has a maximal length */
        kit_find_places(places + i, addresses + i, 2 * n - i < 512 ? 2 * n - i : 512);
    }
    fprintf(out, "\n  The calls in order%s%s:\n", first ? ", the last 60 lines" : "",
            E->words_count == WORDS_MAX ? " (of the first 65536 calls)" : "");
    uint64_t before = 0;
    for (uint32_t i = 0; i < n; i++) {
        const line *l = &lines[first + i];
        const sim_step *step = &E->words[l->step];
        before = l->times ? 0 : before;
        if (l->times && l->period == 1) {
            fprintf(out, "      ... %u times\n", l->times);
        } else if (l->times) {
            fprintf(out, "      ... these %u lines %u times\n", l->period, l->times);
        } else {
            const uint64_t key =
                (uint64_t)step->host << 56 | (step->run ? step->run : step->thread + 1u);
            print_line(out, step, &places[2 * i], key == before, whole);
            before = key;
        }
    }
    free(addresses);
    free(places);
    free(lines);
}

/* The two accesses of a race. */
void kit_print_race(FILE *out) {
    char object[80];
    const bool named = kit_name_static((const void *)E->race_addr, object, sizeof object);
    fprintf(out, "\n  The accesses%s%s:\n", named ? " to " : "", named ? object : "");
    for (unsigned i = 0; i < 2; i++) {
        const sim_step *step = &E->race_steps[i];
        const uintptr_t addresses[] = {step->after - 1, step->fn};
        kit_place places[2];
        char name[80];
        if (step->what) {
            kit_find_places(places, addresses, 2);
            name_of(step, places[1].function, name);
            fprintf(out, "    %-16s  %-20s  %s in %s\n", name, kit_place_text(&places[0]),
                    step->what, places[0].function);
        }
    }
}
