/*
 * dump.c: thrum_dump: prints a snapshot (core/inspect/snapshot.h) in the words of
 * core/report/report.h to a stream.
 */
#include "thrum/dump.h"

#include <errno.h>
#include <inttypes.h>

#include "core/report/chain.h"
#include "core/inspect/gauges.h"
#include "core/report/report.h"
#include "core/ready/external.h"
#include "observe/dump_json.h"

#define SEEN_MAX TH_BACKTRACE_FIBERS

static void put_to_stream(th_text *text, const char *piece, size_t length) {
    (void)fwrite(piece, 1, length, text->ctx);
}

int th_dump_print(const thrum_sched *sched, FILE *out, thrum_format format,
                  const th_dump_adder adders[TH_DUMP_FORMATS]) {
    if (!sched || !out) {
        return -EINVAL;
    }
    if (!th_external_is_live(sched)) {
        return -ESHUTDOWN;
    }
    if ((unsigned)format >= TH_DUMP_FORMATS) {
        return -EINVAL;
    }
    /* Only the scheduler's locks, and the mark that it is being read, are written. */
    th_text text = {.put = put_to_stream, .ctx = out, .sched = (thrum_sched *)(uintptr_t)sched};
    adders[format](&text);
    /* Writing the rest of the buffer can also fail, which would not be noticed later. */
    return fflush(out) != 0 || ferror(out) ? -EIO : 0;
}

/* ---- JSON ---- */

/* Its number and, if the system reports it, its kind. */
static void add_descriptor(th_text *text, const void *direction, uint32_t turn) {
    th_told told;
    th_text_add(text, ", \"fd\": %d", th_world_known()->number(direction));
    if (th_world_known()->tell(direction, turn, &told)) {
        th_text_add_quoted(text, ", \"descriptor\": ", told.text);
        th_text_add(text, told.listens ? ", \"listens\": true" : "");
    }
}

static void add_signals(th_text *text, uint64_t signals) {
    char name[TH_OS_SIGNAL_TEXT];
    const char *before = ", \"signals\": [";
    for (int i = 1; i <= 64; i++) {
        if (signals >> (i & 63) & 1) {
            th_os_signal_name(i, name);
            th_text_add(text, "%s\"%s\"", before, name);
            before = ", ";
        }
    }
    th_text_add(text, "]");
}

/* A wait outside the scheduler. */
static void add_world(th_text *text, const th_seen *seen) {
    if (th_on_is_descriptor(seen->on)) {
        add_descriptor(text, seen->object, seen->turn);
    } else if (seen->on == TH_ON_SIGNAL) {
        add_signals(text, seen->signals);
    } else if (seen->on != TH_ON_AMONG) {
        th_text_add_quoted(text,
                           seen->on == TH_ON_NAME      ? ", \"host\": "
                           : seen->on == TH_ON_FILE    ? ", \"call\": "
                           : seen->on == TH_ON_OUTSIDE ? ", \"what\": "
                                                       : ", \"address\": ",
                           seen->joined);
    }
}

/* A task's wait in the scheduler. */
static void add_holder(th_text *text, const th_seen *seen) {
    th_text_add(text, ", \"object\": \"0x%" PRIxPTR "\"", (uintptr_t)seen->object);
    if (seen->holder >> 63) {
        th_text_add(text, ", \"holder\": \"thread %" PRIu64 "\"", seen->holder & INT64_MAX);
    } else if (seen->holder) {
        th_text_add(text, ", \"holder\": \"%u.%u\"", (unsigned)(seen->holder >> 32),
                    (unsigned)seen->holder);
    }
    if (seen->joined[0]) {
        th_text_add_quoted(text, ", \"joined\": ", seen->joined);
    }
}

static void add_wait(th_text *text, const th_seen *seen) {
    th_text_add(text, ", \"on\": \"%s\"", th_on_name(seen->on));
    if (th_on_is_outside(seen->on)) {
        add_world(text, seen);
    } else {
        add_holder(text, seen);
    }
    if (seen->deadline != THRUM_FOREVER) {
        th_text_add(text, ", \"deadline\": %" PRId64, seen->deadline);
    }
    if (seen->since) {
        th_text_add(text, ", \"waits_ns\": %" PRId64 "%s", th_os_now() - seen->since,
                    seen->since_least ? ", \"at_least\": true" : "");
    }
    if (!seen->external) {
        th_text_add(text, ", \"tick\": %" PRIu64 ", \"ticks\": %" PRIu64, seen->tick, seen->ticks);
    }
}

static void add_calls(th_text *text, const th_seen *seen, unsigned number) {
    unsigned at = 0;
    unsigned told = 0;
    const char *call;
    th_text_add(text, ", \"calls\": [");
    while (told < text->calls_max &&
           (call = th_backtrace_next(text->backtrace, number, seen->calls, &at, told))) {
        th_text_add_quoted(text, told++ ? ", " : "", call);
    }
    th_text_add(text, "]");
}

static const char *state_name(th_seen_state state) {
    static const char *const states[TH_SEEN_STATES] = {
        [TH_SEEN_BLOCKED] = "blocked",
        [TH_SEEN_READY] = "ready",
        [TH_SEEN_RUNNING] = "running",
        [TH_SEEN_AWAITS] = "awaits",
    };
    return states[state];
}

void th_dump_add_who(th_text *text, bool root, unsigned worker, uint64_t id, const char *name) {
    if (root) {
        th_text_add(text, "{\"thread\": %u", worker);
    } else {
        th_text_add(text, "{\"id\": \"%u.%u\", \"name\": ", (unsigned)(id >> 32), (unsigned)id);
        th_text_add_quoted(text, "", name);
    }
}

/* With the number of its group, or -1. */
static void add_fiber(th_text *text, const th_seen *seen, unsigned number, int group, bool calls) {
    if (seen->external) {
        th_text_add(text, "{\"external\": %" PRIu64, seen->id & ~TH_ID_THREAD);
    } else {
        th_dump_add_who(text, seen->root, seen->worker, seen->id, seen->name);
    }
    if (!seen->root && !seen->external) {
        th_text_add(text, ", \"worker\": %u, \"pinned\": %s", seen->worker,
                    seen->tied >= 0 ? "true" : "false");
    }
    th_text_add(text, ", \"state\": \"%s\"", state_name(seen->state));
    /* Calls are more informative than the function that they began with. */
    if (seen->fn && (seen->state == TH_SEEN_RUNNING || !text->backtrace)) {
        char function[TH_CALL_TEXT];
        th_text_add_quoted(
            text, ", \"function\": ", th_code_names_function(&text->names, seen->fn, function));
    }
    if (seen->held) {
        add_wait(text, seen);
    }
    if (group >= 0) {
        th_text_add(text, ", \"group\": %d", group);
    }
    if (seen->calls && calls) {
        add_calls(text, seen, number);
    }
    th_text_add(text, "}");
}

void th_dump_add_fiber(th_text *text, const th_seen *seen) {
    add_fiber(text, seen, 0, -1, false);
}

/* All of them; of those behind the first TH_LINES_MAX, the calls are left to their groups. */
static void add_fibers(th_text *text, th_groups *groups) {
    th_seen seen[SEEN_MAX];
    th_snapshot snapshot;
    unsigned n;
    uint64_t told = 0;
    th_snapshot_begin(&snapshot, text->sched);
    snapshot.backtrace = text->backtrace;
    while ((n = th_snapshot_some(&snapshot, seen, SEEN_MAX))) {
        for (unsigned i = 0; i < n; i++) {
            const int group = groups ? th_groups_add(groups, &seen[i], i) : -1;
            th_text_add(text, told ? ",\n  " : "\n  ");
            add_fiber(text, &seen[i], i, group, group < 0 || told < TH_LINES_MAX);
            told++;
        }
    }
    th_snapshot_end(&snapshot);
}

static void add_members(th_text *text, const th_group *group) {
    th_text_add(text, ", \"members\": [");
    for (unsigned i = 0; i < TH_GROUP_MEMBERS && i < group->count; i++) {
        const th_member *member = &group->members[i];
        th_text_add(text, i ? ", " : "");
        th_dump_add_who(text, group->longest.root, member->worker, member->id, member->name);
        th_text_add(text, "}");
    }
    th_text_add(text, "]");
}

/* The member that has waited longest, by the ticks of its worker. */
static void add_longest(th_text *text, const th_seen *seen) {
    th_text_add(text, ", \"longest\": ");
    th_dump_add_who(text, seen->root, seen->worker, seen->id, seen->name);
    th_text_add(text, ", \"tick\": %" PRIu64 ", \"ticks\": %" PRIu64 "}", seen->tick, seen->ticks);
}

static void add_group(th_text *text, const th_group *group) {
    const th_seen *seen = &group->longest;
    th_text_add(text, "{\"count\": %" PRIu64, group->count);
    if (seen->held) {
        th_text_add(text, ", \"on\": \"%s\"", th_on_name(seen->on));
    }
    if (seen->held && seen->object && !group->is_mixed && !th_on_is_outside(seen->on)) {
        th_text_add(text, ", \"object\": \"0x%" PRIxPTR "\"", (uintptr_t)seen->object);
    }
    if (group->deadline != THRUM_FOREVER) {
        th_text_add(text, ", \"deadline\": %" PRId64, group->deadline);
    }
    th_text_add(text, ", \"state\": \"%s\"", state_name(seen->state));
    add_members(text, group);
    if (seen->held) {
        add_longest(text, seen);
    }
    if (text->backtrace) {
        th_backtrace_recall(text->backtrace, 0, group->words, seen->calls);
        th_backtrace_ends(text->backtrace, 0, seen->fn);
        add_calls(text, seen, 0);
    }
    th_text_add(text, "}");
}

/* In the order of the fibers' numbers. */
static void add_groups(th_text *text, const th_groups *groups) {
    for (unsigned i = 0; groups && i < groups->count; i++) {
        th_text_add(text, i ? ",\n  " : "\n  ");
        add_group(text, &groups->groups[i]);
    }
}

/* Each waits for the next one, and the last for the first. */
static void add_cycle(th_text *text, const th_cycles *cycles, const th_cycle *cycle) {
    const char *before = "";
    for (unsigned i = 0; i < cycle->count && i < TH_CHAIN_MAX; i++) {
        th_seen seen;
        if (th_chain_see(text, th_cycles_member(cycles, cycle->members[i]), true, &seen)) {
            th_text_add(text, "%s", before);
            add_fiber(text, &seen, 0, -1, true);
            before = ",\n   ";
        }
    }
}

static void add_cycles(th_text *text) {
    th_cycles *cycles = th_cycles_find(text->sched);
    th_text_add(text, ",\n \"deadlock\": [");
    for (unsigned i = 0; i < th_cycles_count(cycles); i++) {
        const th_cycle cycle = th_cycles_at(cycles, i);
        th_text_add(text, "%s{\"count\": %u, \"cancel_ends_it\": %s, \"members\": [\n   ",
                    i ? ",\n  " : "\n  ", cycle.count, cycle.can_cancel ? "true" : "false");
        add_cycle(text, cycles, &cycle);
        th_text_add(text, "]}");
    }
    th_text_add(text, "]");
    th_cycles_end(text->sched, cycles);
}

/* The deadlocks, the fibers and their groups, and how many fibers are in none. */
static void add_fibers_and_groups(th_text *text) {
    text->calls_max = TH_CALLS_OF_DUMP;
    text->backtrace = th_backtrace_begin(text->sched, &text->names);
    th_groups *groups = th_groups_begin(text->sched, text->backtrace, text->calls_max);
    add_cycles(text);
    th_text_add(text, ",\n \"fiber\": [");
    add_fibers(text, groups);
    th_text_add(text, "],\n ");
    if (groups) {
        th_text_add(text, "\"ungrouped\": %" PRIu64 ",\n ", groups->rest.count);
    }
    th_text_add(text, "\"group\": [");
    add_groups(text, groups);
    th_text_add(text, "]");
    th_groups_end(text->sched, groups);
    th_backtrace_end(text->sched, text->backtrace);
}

static void add_threads(th_text *text) {
    th_shown waits[SEEN_MAX];
    unsigned first = 0;
    unsigned n;
    while ((n = th_report_threads(text->sched, first, waits, SEEN_MAX))) {
        for (unsigned i = 0; i < n; i++) {
            const th_shown *shown = &waits[i];
            th_text_add(text, "%s{\"on\": \"%s\"", first + i ? ", " : "", th_on_name(shown->on));
            if (th_on_is_descriptor(shown->on)) {
                add_descriptor(text, shown->object, shown->turn);
            } else if (!th_on_is_outside(shown->on)) {
                th_text_add(text, ", \"object\": \"0x%" PRIxPTR "\"", (uintptr_t)shown->object);
            }
            th_text_add(text, "}");
        }
        first += n;
    }
}

static void add_task(th_text *text, const th_listed *listed) {
    char name[TH_CALL_TEXT];
    th_text_add(text, "{\"task\": \"0x%" PRIxPTR "\", \"function\": ", (uintptr_t)listed->task);
    th_text_add_quoted(text, "", th_code_names_function(&text->names, listed->fn, name));
    th_text_add(
        text, ", \"on\": \"%s\"",
        th_on_name(th_world_known()->writes(listed->direction) ? TH_ON_OUTPUT : TH_ON_INPUT));
    add_descriptor(text, listed->direction, listed->turn);
    if (listed->deadline != THRUM_FOREVER) {
        th_text_add(text, ", \"deadline\": %" PRId64, listed->deadline);
    }
    th_text_add(text, "}");
}

/* Tasks that wait for descriptors, at most as many as in the text report. */
static void add_tasks(th_text *text) {
    th_listed listed[TH_LISTED_MAX];
    th_listed_cursor at = {0};
    unsigned told = 0;
    unsigned n;
    while (told < TH_LINES_MAX && (n = th_world_listed(text->sched, &at, listed, TH_LISTED_MAX))) {
        for (unsigned i = 0; i < n; i++) {
            th_text_add(text, told++ ? ",\n  " : "\n  ");
            add_task(text, &listed[i]);
        }
    }
}

static void add_worker(th_text *text, unsigned i) {
    th_seen_worker seen = th_report_worker(text->sched, i);
    th_text_add(text,
                "{\"asleep\": %s, \"tick\": %" PRIu64 ", \"queued\": %" PRIu64
                ", \"queued_oldest_ns\": %" PRIu64 ", \"running_ns\": %" PRIu64,
                seen.sleeps ? "true" : "false", seen.tick, seen.queued, seen.times.queued_oldest_ns,
                seen.times.running_ns);
    if (seen.spare) {
        th_text_add(text, ", \"spare\": true, \"idle\": %s", seen.idle ? "true" : "false");
    }
    if (seen.held.held) {
        th_text_add(text, ", \"held_ns\": %" PRId64 ", \"held\": \"%s\"", seen.held_ns,
                    seen.held.blocked ? "blocked" : "computing");
    }
    if (seen.held.held && seen.held.spare >= 0) {
        th_text_add(text, ", \"taken_over_by\": %d", seen.held.spare);
    }
    th_text_add(text, "}");
}

void th_dump_add(th_text *text) {
    const thrum_sched *sched = text->sched;
    th_gauges gauges;
    th_gauges_take(text->sched, &gauges);
    th_code_names_begin(&text->names, text->sched);
    th_text_add_quoted(text, "{\"sched\": ", sched->name);
    th_text_add(text,
                ",\n \"alive\": %" PRIu64 ", \"runnable\": %" PRIu64 ", \"deferred\": %" PRIu64
                ", \"timers\": %" PRIu64,
                gauges.alive, gauges.runnable, gauges.deferred, gauges.timers);
    th_text_add(text,
                ", \"queued_oldest_ns\": %" PRIu64 ", \"running_ns\": %" PRIu64
                ", \"longest_run_ns\": %" PRIu64 ",\n \"worker\": [",
                gauges.queued_oldest_ns, gauges.running_ns, gauges.longest_run_ns);
    for (unsigned i = 0; i < th_workers_end(sched); i++) {
        th_text_add(text, i ? ", " : "");
        add_worker(text, i);
    }
    th_text_add(text, "]");
    add_fibers_and_groups(text);
    th_text_add(text, ",\n \"external\": [");
    add_threads(text);
    th_text_add(text, "],\n \"task\": [");
    add_tasks(text);
    th_text_add(text, "]}\n");
    th_code_names_end(&text->names);
}

/* ---- Prometheus ---- */

static void add_sample(th_text *text, const char *state, const char *on, uint64_t count) {
    th_text_add_quoted(text, "thrum_fibers{sched=", text->sched->name);
    th_text_add(text, ",state=\"%s\",on=\"%s\"} %" PRIu64 "\n", state, on, count);
}

static void dump_prometheus(th_text *text) {
    th_census census;
    th_census_take(&census, text->sched, NULL);
    th_text_add(text, "# HELP thrum_fibers Fibers that a task is on, and bound threads.\n"
                      "# TYPE thrum_fibers gauge\n");
    for (unsigned on = 0; on < TH_ON_KINDS; on++) {
        add_sample(text, "blocked", th_on_name((th_on)on), census.on[on]);
    }
    add_sample(text, "awaits", "", census.states[TH_SEEN_AWAITS]);
    add_sample(text, "ready", "", census.states[TH_SEEN_READY]);
    add_sample(text, "running", "", census.states[TH_SEEN_RUNNING]);
}

int thrum_dump(const thrum_sched *sched, FILE *out, thrum_format format) {
    static const th_dump_adder adders[TH_DUMP_FORMATS] = {[THRUM_TEXT] = th_report_dump,
                                                          [THRUM_PROMETHEUS] = dump_prometheus,
                                                          [THRUM_JSON] = th_dump_add};
    return th_dump_print(sched, out, format, adders);
}
