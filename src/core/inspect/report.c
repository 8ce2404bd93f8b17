/*
 * report.c: see report.h.
 */
#include "core/inspect/report.h"

#include <inttypes.h>
#include <string.h>

#include "core/inspect/gauges.h"
#include "core/ready/external.h"

#define SEEN_MAX TH_BACKTRACE_FIBERS

/* More fibers than TH_LINES_MAX are listed so: so many of each group, and of the rest. */
#define LINES_OF_GROUP TH_LIMIT(10u, 1u)
#define LINES_OF_OTHERS TH_LIMIT(1000u, 2u)

/* ---- fibers ---- */

static const char *plural(uint64_t n, const char *one, const char *many) {
    return n == 1 ? one : many;
}

/* What the number `worker` means: the numbers above the workers' are those of bound threads. */
static const char *thread_word(const th_text *text, const th_seen *seen) {
    return seen->worker < text->sched->workers_count ? "worker" : "bound thread";
}

/* "fiber 7.1 "reader"": the number of the fiber, and of its run. */
static void add_who(th_text *text, const th_seen *seen) {
    if (seen->root) {
        th_text_add(text, "bound thread %u", seen->worker);
        return;
    }
    th_text_add(text, "fiber %u.%u", (unsigned)(seen->id >> 32), (unsigned)seen->id);
    if (seen->name[0]) {
        th_text_add(text, " ");
        th_text_add_quoted(text, seen->name);
    }
}

static void add_holder(th_text *text, uint64_t holder) {
    if (holder >> 63) {
        th_text_add(text, ", held by thread %" PRIu64, holder & INT64_MAX);
    } else if (holder) {
        th_text_add(text, ", held by fiber %u.%u", (unsigned)(holder >> 32), (unsigned)holder);
    }
}

/* " mutex 0x7f..., held by fiber 8.1" */
static void add_object(th_text *text, const th_seen *seen) {
    th_text_add(text, " %s", th_on_name(seen->on));
    if (seen->object) {
        th_text_add(text, " %p", seen->object);
    }
    if (seen->joined[0]) {
        th_text_add(text, " ");
        th_text_add_quoted(text, seen->joined);
    }
    add_holder(text, seen->holder);
}

/* " waits for mutex 0x7f..., due in 80 s, since tick 5 of worker 1 (3 ago)", " reads fd 12, ..." */
static void add_wait(th_text *text, const th_seen *seen) {
    const bool over = seen->state == TH_SEEN_READY;
    if (th_on_is_outside(seen->on)) {
        th_text_add(text, over ? ", has waited:" : "");
        th_words_world(text, seen);
    } else {
        th_text_add(text, over ? ", has waited for" : " waits for");
        add_object(text, seen);
    }
    th_text_add_deadline(text, seen->deadline);
    th_text_add(text, ", since tick %" PRIu64 " of %s %u (%" PRIu64 " ago)", seen->tick,
                thread_word(text, seen), seen->worker, seen->ticks);
    if (seen->tied >= 0 && !seen->root) {
        th_text_add(text, ", tied to it");
    }
}

/* "    at prog+0x1234 (function+0x12)", a line for each call, the innermost first */
static void add_calls(th_text *text, const th_seen *seen, unsigned number) {
    unsigned at = 0;
    unsigned told = 0;
    const char *call;
    if (!text->backtrace) {
        return;
    }
    if (th_backtrace_again(text->backtrace, number, seen->calls)) {
        th_text_add(text, seen->calls ? "    at the same calls as the one above\n" : "");
        return;
    }
    while (told < text->calls_max &&
           (call = th_backtrace_next(text->backtrace, number, seen->calls, &at, told))) {
        told++;
        th_text_add(text, "    at ");
        th_text_add_plain(text, call);
        th_text_add(text, "\n");
    }
}

static void add_fiber(th_text *text, const th_seen *seen) {
    th_text_add(text, "  ");
    add_who(text, seen);
    switch (seen->state) {
    case TH_SEEN_BLOCKED:
        add_wait(text, seen);
        break;
    case TH_SEEN_RUNNING:
        if (seen->root) {
            th_text_add(text, " runs its own code");
        } else {
            th_text_add(text, " runs on %s %u", thread_word(text, seen), seen->worker);
        }
        break;
    case TH_SEEN_AWAITS:
        th_text_add(text, " waits for the scheduler, or for what is tied to it");
        break;
    case TH_SEEN_READY:
    default:
        th_text_add(text, " is ready");
        if (seen->held) {
            add_wait(text, seen);
        }
        break;
    }
    th_text_add(text, "\n");
}

/* ---- counting ---- */

/*
 * The group of fibers that wait for the same; NULL: the fiber counts among the others. Those that
 * wait for the world have a descriptor each, and form a group by their kind.
 */
static th_group *group_of(th_census *census, const th_seen *seen, bool make) {
    const void *object = th_on_is_outside(seen->on) ? NULL : seen->object;
    for (unsigned i = 0; i < census->groups_count; i++) {
        th_group *group = &census->groups[i];
        if (group->on == seen->on && group->object == object) {
            return group;
        }
    }
    if (!make || census->groups_count == TH_GROUPS_MAX) {
        return NULL;
    }
    th_group *group = &census->groups[census->groups_count++];
    *group = (th_group){.on = seen->on, .object = object};
    return group;
}

void th_census_take(th_census *census, thrum_sched *sched) {
    th_seen seen[SEEN_MAX];
    th_snapshot snapshot;
    unsigned n;
    memset(census, 0, sizeof *census);
    th_snapshot_begin(&snapshot, sched);
    census->held = snapshot.held;
    while ((n = th_snapshot_some(&snapshot, seen, SEEN_MAX))) {
        for (unsigned i = 0; i < n; i++) {
            census->states[seen[i].state]++;
            census->tasks_running += seen[i].state == TH_SEEN_RUNNING && !seen[i].root;
            if (seen[i].state != TH_SEEN_BLOCKED) {
                continue;
            }
            census->on[seen[i].on]++;
            th_group *group = group_of(census, &seen[i], true);
            if (group) {
                group->count++;
            } else {
                census->others++;
            }
        }
    }
    th_snapshot_end(&snapshot);
}

static uint64_t all_of(const th_census *census) {
    uint64_t all = 0;
    for (unsigned i = 0; i < TH_SEEN_STATES; i++) {
        all += census->states[i];
    }
    return all;
}

static int is_smaller(const th_group *a, const th_group *b) {
    return a->count < b->count;
}

/* Sorts the groups, the largest first, and prints them. */
static void add_groups(th_text *text, th_census *census) {
    for (unsigned i = 1; i < census->groups_count; i++) {
        th_group group = census->groups[i];
        unsigned at = i;
        for (; at > 0 && is_smaller(&census->groups[at - 1], &group); at--) {
            census->groups[at] = census->groups[at - 1];
        }
        census->groups[at] = group;
    }
    for (unsigned i = 0; i < census->groups_count; i++) {
        const th_group *group = &census->groups[i];
        th_text_add(text, "  %" PRIu64 " %s for %s", group->count,
                    plural(group->count, "waits", "wait"), th_on_name(group->on));
        if (group->object) {
            th_text_add(text, " %p", group->object);
        }
        th_text_add(text, "\n");
    }
    if (census->others) {
        th_text_add(text, "  %" PRIu64 " for something else\n", census->others);
    }
}

/* ---- one by one ---- */

th_seen_worker th_report_worker(thrum_sched *sched, unsigned i) {
    th_bench *bench = &sched->bench;
    th_worker *worker = &sched->workers[i];
    th_seen_worker seen = {0};
    /* relaxed: figures */
    seen.tick = th_load_relaxed(&worker->xtick);
    seen.sleeps = (th_load_relaxed(&worker->xsleep) & TH_SLEEP_PARKED) != 0; /* relaxed: as above */
    seen.spare = th_is_spare(worker);
    seen.queued = th_gauges_queued_at(worker);
    if (!bench->held) {
        return seen;
    }
    th_lock_acquire(&bench->lock);
    seen.benched = seen.spare && !worker->stint.takes_part;
    seen.held = bench->held[i];
    th_lock_release(&bench->lock);
    seen.held.held = seen.held.held && seen.held.tick == seen.tick;
    seen.held_ns = seen.held.held ? th_os_now() - seen.held.since : 0;
    return seen;
}

/* ", held up for 2.1 s, computing; worker 4 stands in", as the spares have seen it. */
static void add_held(th_text *text, const th_seen_worker *seen) {
    if (!seen->held.held) {
        return;
    }
    th_text_add(text, ", held up for ");
    th_text_add_duration(text, (uint64_t)seen->held_ns);
    th_text_add(text, seen->held.blocked ? ", its thread blocked" : ", computing");
    if (seen->held.standin >= 0) {
        th_text_add(text, "; worker %d stands in", seen->held.standin);
    }
}

static void add_workers(th_text *text, thrum_sched *sched) {
    for (unsigned i = 0; i < th_workers_end(sched); i++) {
        th_seen_worker seen = th_report_worker(sched, i);
        th_text_add(text, "  worker %u%s %s, tick %" PRIu64, i, seen.spare ? ", a spare," : "",
                    seen.benched  ? "sits on the bench"
                    : seen.sleeps ? "sleeps"
                                  : "is awake",
                    seen.tick);
        if (seen.queued) {
            th_text_add(text, ", %" PRIu64 " queued there", seen.queued);
        }
        add_held(text, &seen);
        th_text_add(text, "\n");
    }
}

/* "  12 tasks alive, 10 queued, 3 timers" */
static void add_gauges(th_text *text, thrum_sched *sched, const th_census *census) {
    th_gauges gauges;
    th_gauges_take(sched, &gauges);
    const uint64_t others = census->tasks_running + gauges.deferred;
    const uint64_t queued = gauges.runnable > others ? gauges.runnable - others : 0;
    th_text_add(text, "  %" PRIu64 " %s alive, %" PRIu64 " queued, %" PRIu64 " %s\n", gauges.alive,
                plural(gauges.alive, "task", "tasks"), queued, gauges.timers,
                plural(gauges.timers, "timer", "timers"));
    if (gauges.deferred) {
        th_text_add(text, "  %" PRIu64 " %s for memory for a stack\n", gauges.deferred,
                    plural(gauges.deferred, "waits", "wait"));
    }
}

/* Whether this fiber is listed when there are too many. */
static bool is_listed(th_census *census, const th_seen *seen, uint64_t *others) {
    th_group *group = seen->state == TH_SEEN_BLOCKED ? group_of(census, seen, false) : NULL;
    return group ? group->listed++ < LINES_OF_GROUP : (*others)++ < LINES_OF_OTHERS;
}

static void add_fibers(th_text *text, thrum_sched *sched, th_census *census, bool many) {
    th_seen seen[SEEN_MAX];
    th_snapshot snapshot;
    unsigned n;
    uint64_t others = 0;
    uint64_t left_out = 0;
    th_snapshot_begin(&snapshot, sched);
    snapshot.backtrace = text->backtrace;
    while ((n = th_snapshot_some(&snapshot, seen, SEEN_MAX))) {
        for (unsigned i = 0; i < n; i++) {
            if (!many || is_listed(census, &seen[i], &others)) {
                add_fiber(text, &seen[i]);
                add_calls(text, &seen[i], i);
            } else {
                left_out++;
            }
        }
    }
    th_snapshot_end(&snapshot);
    if (left_out) {
        th_text_add(text, "  and %" PRIu64 " more\n", left_out);
    }
}

/*
 * What the thread of a record waits for; false: nothing. Not shown to the thread sanitizer, which
 * takes the making of a thread's own variables for a write that nothing orders.
 */
static TH_INLINE_NO_TSAN bool shown_by(const th_external *r, th_shown *out) {
    /* relaxed: as of some recent moment. A turn of another wait than the word's is either over, or
     * that of a wait for the same direction now */
    uint64_t shown = r->thread ? th_load_relaxed(&r->thread->xwaits) : 0;
    if (shown) {
        const uint64_t address = shown & (((uint64_t)1 << TH_SHOWN_SHIFT) - 1);
        out->on = (th_on)(shown >> TH_SHOWN_SHIFT);
        out->object = (const void *)(uintptr_t)address;
        out->turn = th_load_relaxed(&r->thread->xwaits_turn); /* relaxed: as above */
    }
    return shown != 0;
}

unsigned th_report_threads(thrum_sched *sched, unsigned first, th_shown waits[], unsigned max) {
    unsigned n = 0;
    unsigned i = 0;
    th_lock_acquire(&th_external_lock); /* so that no record is retired, and its thread lives */
    for (const th_external *r = sched->externals.first; r && n < max; r = r->next_of_sched) {
        n += shown_by(r, &waits[n]) && i++ >= first;
    }
    th_lock_release(&th_external_lock);
    return n;
}

static void add_threads(th_text *text, thrum_sched *sched) {
    th_shown waits[SEEN_MAX];
    unsigned first = 0;
    unsigned n;
    while ((n = th_report_threads(sched, first, waits, SEEN_MAX))) {
        for (unsigned i = 0; i < n; i++) {
            th_words_thread(text, &waits[i]);
        }
        first += n;
    }
    /* relaxed: a figure */
    uint32_t idle = th_load_relaxed(&sched->xquiesce_waiters);
    if (idle) {
        th_text_add(text, "  %" PRIu32 " %s for the scheduler (wait_idle, wait_done, stop)\n", idle,
                    plural(idle, "waits", "wait"));
    }
}

void th_report_fibers(th_text *text, thrum_sched *sched, th_census *census) {
    bool many = all_of(census) > TH_LINES_MAX;
    if (!census->held) {
        th_text_add(text,
                    "  the system has no barrier for us: a fiber that waits is told as ready\n");
    }
    add_workers(text, sched);
    if (many) {
        add_groups(text, census);
    }
    text->backtrace = th_backtrace_begin(sched, &text->names);
    add_fibers(text, sched, census, many);
    th_backtrace_end(sched, text->backtrace);
    add_threads(text, sched);
}

void th_report_deadlock(th_text *text, thrum_sched *sched) {
    th_census census;
    text->calls_max = TH_CALLS_OF_REPORT;
    th_code_names_begin(&text->names, sched);
    th_census_take(&census, sched);
    uint64_t waits = census.states[TH_SEEN_BLOCKED] + census.states[TH_SEEN_AWAITS];
    th_text_add(text, "thrum: deadlock in scheduler ");
    th_text_add_quoted(text, sched->name);
    th_text_add(text, ": %" PRIu64 " %s, nothing runs, no deadline is pending\n", waits,
                plural(waits, "waits", "wait"));
    th_report_fibers(text, sched, &census);
    th_code_names_end(&text->names);
}

void th_report_dump(th_text *text, thrum_sched *sched) {
    th_census census;
    text->calls_max = TH_CALLS_OF_DUMP;
    th_code_names_begin(&text->names, sched);
    th_census_take(&census, sched);
    th_text_add(text, "thrum: scheduler ");
    th_text_add_quoted(text, sched->name);
    th_text_add(text, ": %" PRIu64 " waiting, %" PRIu64 " ready, %" PRIu64 " running\n",
                census.states[TH_SEEN_BLOCKED] + census.states[TH_SEEN_AWAITS],
                census.states[TH_SEEN_READY], census.states[TH_SEEN_RUNNING]);
    add_gauges(text, sched, &census);
    th_report_fibers(text, sched, &census);
    th_words_tasks(text, sched);
    th_code_names_end(&text->names);
}
