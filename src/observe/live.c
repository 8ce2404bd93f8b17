/*
 * live.c: see live.h.
 *
 * Words: a *burst* is a few looks in a row, a *rest* the time between two bursts.
 */
#include "observe/live.h"

#include <inttypes.h>

#include "base/random.h"
#include "core/report/samples.h"
#include "core/watch/stalls.h"
#include "core/trace/tick_marks.h"
#include "observe/dump_json.h"
#include "platform/platform.h"

#define LOOKS 5u               /* looks of a burst */
#define LOOK_NS 200000         /* between two of them */
#define REST_NS 70000000       /* the shortest rest */
#define REST_MORE_NS 50000000u /* and as much more at random: no task is met at a fixed time */
#define WAITS_MAX 16u          /* of the longest waits */
#define SEEN_MAX 32u           /* fibers seen at a time */
#define ASKED_NS 3000000000ll  /* after a request it goes on for so long */

/* The thread's own. */
static struct {
    bool on;
    unsigned looks; /* of the present burst so far; 0: it has not begun */
    int64_t next;   /* the time of the next look */
    int64_t until;  /* the time at which it ends, unless it is asked for again */
    th_random random;
} live;

void th_live_begin(thrum_sched *sched) {
    sched->samples = th_sched_alloc(sched, sizeof *sched->samples);
}

void th_live_end(thrum_sched *sched) {
    th_sched_free(sched, sched->samples);
    sched->samples = NULL;
}

void th_live_forget(void) {
    live.on = false;
}

void th_live_leave(void) {
    live.until = 0;
    live.next = 0;
}

static void finish(thrum_sched *first) {
    for (thrum_sched *sched = first; sched; sched = sched->next_observed) {
        if (sched->samples) {
            *sched->samples = (th_samples){0};
        }
    }
    live.on = false;
}

static void step(thrum_sched *first, int64_t now) {
    for (thrum_sched *sched = first; sched; sched = sched->next_observed) {
        th_tick_marks_note_all(sched, now);
        if (sched->samples) {
            th_samples_look(sched, sched->samples);
        }
    }
    const bool over = ++live.looks == LOOKS;
    live.looks = over ? 0 : live.looks;
    live.next =
        now + (over ? REST_NS + (int64_t)th_random_below(&live.random, REST_MORE_NS) : LOOK_NS);
}

int64_t th_live_look(thrum_sched *first, int64_t now) {
    if (!live.on) {
        return TH_FOREVER;
    }
    if (now >= live.until) {
        finish(first);
        return TH_FOREVER;
    }
    if (now >= live.next) {
        step(first, now);
    }
    return live.next;
}

/* ---- answers ---- */

static void ask(void) {
    const int64_t now = th_os_now();
    live.until = now + ASKED_NS;
    if (!live.on) {
        live.on = true;
        live.looks = 0;
        live.next = now;
        th_random_seed(&live.random, (uint64_t)now);
    }
}

static void add_stalled(th_text *text, const th_stalled *stalled, int64_t now) {
    th_dump_add_who(text, false, stalled->worker, stalled->id, stalled->name);
    th_text_add(text, ", \"worker\": %u, \"ran_ns\": %" PRId64 ", \"ago_ns\": %" PRId64,
                stalled->worker, stalled->until - stalled->since, now - stalled->until);
    th_text_add(text, ", \"over\": %s, \"in_system_call\": %s", stalled->over ? "true" : "false",
                stalled->waits ? "true" : "false");
    if (stalled->function[0]) {
        th_text_add_quoted(text, ", \"function\": ", stalled->function);
    }
    if (stalled->call[0]) {
        th_text_add_quoted(text, ", \"call\": ", stalled->call);
    }
    th_text_add(text, "}");
}

static void add_stalls(th_text *text) {
    th_stalled latest[TH_STALLED_MAX];
    const unsigned n = th_stalls_latest(text->sched, latest);
    const int64_t now = th_os_now();
    th_text_add(text, ",\n \"stall_ms\": %u, \"stall\": [", text->sched->config.stall_ms);
    for (unsigned i = 0; i < n; i++) {
        th_text_add(text, i ? ",\n  " : "\n  ");
        add_stalled(text, &latest[i], now);
    }
    th_text_add(text, "]");
}

void th_live_add_top(th_text *text) {
    th_samples *samples = text->sched->samples;
    ask();
    th_code_names_begin(&text->names, text->sched);
    th_text_add_quoted(text, "{\"sched\": ", text->sched->name);
    if (samples) {
        th_text_add(text, ",\n ");
        th_samples_add(text, samples);
    }
    add_stalls(text);
    th_text_add(text, "}\n");
    th_code_names_end(&text->names);
}

/* ---- the longest waits ---- */

/* The longest first. A wait of unknown age is as young as can be. */
typedef struct longest {
    unsigned count;
    th_seen waits[WAITS_MAX];
} longest;

static int64_t began(const th_seen *seen) {
    return seen->since ? seen->since : INT64_MAX;
}

static void add_if_long(longest *found, const th_seen *seen) {
    unsigned at = found->count;
    while (at && began(&found->waits[at - 1]) > began(seen)) {
        at--;
    }
    if (at == WAITS_MAX) {
        return;
    }
    found->count += found->count < WAITS_MAX;
    for (unsigned i = found->count - 1; i > at; i--) {
        found->waits[i] = found->waits[i - 1];
    }
    found->waits[at] = *seen;
}

static uint64_t find_longest(thrum_sched *sched, longest *found) {
    th_seen seen[SEEN_MAX];
    th_snapshot snapshot;
    uint64_t waiting = 0;
    unsigned n;
    th_snapshot_begin(&snapshot, sched);
    while ((n = th_snapshot_some(&snapshot, seen, SEEN_MAX))) {
        for (unsigned i = 0; i < n; i++) {
            if (seen[i].state == TH_SEEN_BLOCKED) {
                waiting++;
                add_if_long(found, &seen[i]);
            }
        }
    }
    th_snapshot_end(&snapshot);
    return waiting;
}

void th_live_add_waits(th_text *text) {
    longest found = {0};
    const int64_t now = th_os_now();
    const uint64_t waiting = find_longest(text->sched, &found);
    th_text_add_quoted(text, "{\"sched\": ", text->sched->name);
    th_text_add(text, ",\n \"now\": %" PRId64 ", \"waiting\": %" PRIu64 ", \"wait\": [", now,
                waiting);
    th_code_names_begin(&text->names, text->sched);
    for (unsigned i = 0; i < found.count; i++) {
        th_text_add(text, i ? ",\n  " : "\n  ");
        th_dump_add_fiber(text, &found.waits[i]);
    }
    th_code_names_end(&text->names);
    th_text_add(text, "],\n \"took_ns\": %" PRId64 "}\n", th_os_now() - now); /* names, too */
}
