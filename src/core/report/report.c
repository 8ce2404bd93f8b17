/*
 * report.c: see report.h.
 */
#include "core/report/report.h"

#include <inttypes.h>
#include <string.h>

#include "core/report/chain.h"
#include "core/ready/external.h"

#define SEEN_MAX TH_BACKTRACE_FIBERS
#define TOLD_NS 100000000u /* shorter queueing or running is reported without its time */

/* ---- fibers ---- */

static const char *plural(uint64_t n, const char *one, const char *many) {
    return n == 1 ? one : many;
}

static void add_holder(th_text *text, uint64_t holder) {
    if (holder == TH_ID_TASK) {
        th_text_add(text, ", whose turn a task has");
    } else if (holder & TH_ID_THREAD) {
        th_text_add(text, ", held by thread %" PRIu64, holder & ~TH_ID_THREAD);
    } else if (holder) {
        th_text_add(text, ", held by fiber %u.%u", (unsigned)(holder >> 32), (unsigned)holder);
    }
}

/* " mutex 0x7f..., held by fiber 8.1" */
static void add_object(th_text *text, const th_seen *seen) {
    th_text_add(text, " %s", th_on_name(seen->on));
    if (seen->object) {
        th_text_add(text, " 0x%" PRIxPTR, (uintptr_t)seen->object);
    }
    if (seen->joined[0]) {
        th_text_add_quoted(text, " ", seen->joined);
    }
    add_holder(text, seen->holder);
}

/* " waits for mutex 0x7f..., for 3.2 s, since tick 5 of worker 1 (3 ago)", " reads fd 12, ..." */
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
    th_words_since(text, seen);
}

/* "fiber 7.1 "reader" waits for ..." */
static void add_fiber(th_text *text, const th_seen *seen) {
    th_words_who(text, seen);
    switch (seen->state) {
    case TH_SEEN_BLOCKED:
        add_wait(text, seen);
        break;
    case TH_SEEN_RUNNING:
        if (seen->root) {
            th_text_add(text, " runs its own code");
        } else {
            th_text_add(text, " runs on %s %u", th_words_thread_of(text, seen), seen->worker);
            th_words_function(text, seen->fn);
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

void th_census_take(th_census *census, thrum_sched *sched, th_groups *groups) {
    th_seen seen[SEEN_MAX];
    th_snapshot snapshot;
    unsigned n;
    memset(census, 0, sizeof *census);
    th_snapshot_begin(&snapshot, sched);
    snapshot.backtrace = groups ? groups->backtrace : NULL;
    census->held = snapshot.held;
    while ((n = th_snapshot_some(&snapshot, seen, SEEN_MAX))) {
        for (unsigned i = 0; i < n; i++) {
            census->states[seen[i].state]++;
            census->tasks_running += seen[i].state == TH_SEEN_RUNNING && !seen[i].root;
            census->on[seen[i].on] += seen[i].state == TH_SEEN_BLOCKED;
            if (groups) {
                (void)th_groups_add(groups, &seen[i], i);
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

/* ---- in groups ---- */

/* " semaphore 0x7f...", if they all wait for the same; " semaphore, not all for the same one" */
static void add_kind(th_text *text, const th_group *group) {
    const th_seen *seen = &group->longest;
    th_text_add(text, " %s", th_on_name(seen->on));
    if (th_on_is_outside(seen->on)) {
        return;
    }
    if (group->is_mixed) {
        th_text_add(text, ", not all for the same one");
    } else if (seen->object) {
        th_text_add(text, " 0x%" PRIxPTR, (uintptr_t)seen->object);
    }
}

/* " wait for semaphore 0x7f...", " are ready" */
static void add_deed(th_text *text, const th_group *group) {
    static const char *const deeds[TH_SEEN_STATES] = {
        [TH_SEEN_BLOCKED] = " wait for",
        [TH_SEEN_READY] = " are ready",
        [TH_SEEN_RUNNING] = " run",
        [TH_SEEN_AWAITS] = " wait for the scheduler, or for what is tied to them",
    };
    const th_seen *seen = &group->longest;
    const bool waited = seen->state == TH_SEEN_READY && seen->held;
    th_text_add(text, "%s", deeds[seen->state]);
    th_text_add(text, seen->state == TH_SEEN_RUNNING && seen->root ? " their own code" : "");
    th_text_add(text, waited ? ", have waited for" : "");
    if (waited || seen->state == TH_SEEN_BLOCKED) {
        add_kind(text, group);
    }
}

/* ": 3.1 "reader", 4.1, 5.1, 6.1 and 996 more" */
static void add_members(th_text *text, const th_group *group) {
    const uint64_t shown = group->count < TH_GROUP_MEMBERS ? group->count : TH_GROUP_MEMBERS;
    for (uint64_t i = 0; i < shown; i++) {
        const th_member *member = &group->members[i];
        th_text_add(text, i ? ", " : ": ");
        if (group->longest.root) {
            th_text_add(text, "%u", member->worker);
            continue;
        }
        th_words_fiber(text, member->id, member->name);
    }
    if (group->count > shown) {
        th_text_add(text, " and %" PRIu64 " more", group->count - shown);
    }
}

static void add_group(th_text *text, const th_group *group) {
    const th_seen *seen = &group->longest;
    if (group->count == 1) {
        th_text_add(text, "  ");
        add_fiber(text, seen);
    } else {
        th_text_add(text, "  %" PRIu64 " %s", group->count,
                    seen->root ? "bound threads" : "fibers");
        add_deed(text, group);
        add_members(text, group);
        th_text_add(text, "\n");
        if (seen->held) {
            th_text_add(text, "    the longest: ");
            add_fiber(text, seen);
        }
        if (group->deadline != TH_FOREVER) {
            th_text_add(text, "    the first of their deadlines is ");
            th_text_add_due(text, group->deadline);
            th_text_add(text, "\n");
        }
    }
    if (text->backtrace) {
        th_backtrace_recall(text->backtrace, 0, group->words, seen->calls);
        th_backtrace_ends(text->backtrace, 0, seen->fn);
        th_words_calls(text, seen, 0);
    }
}

/* "  and 523 more, beside 512 groups: 400 wait for semaphore, 123 are ready" */
static void add_ungrouped(th_text *text, const th_groups *groups) {
    const th_ungrouped *rest = &groups->rest;
    const char *before = "";
    th_text_add(text, "  and %" PRIu64 " more, beside %u groups:", rest->count, groups->count);
    for (unsigned on = 0; on < TH_ON_KINDS; on++) {
        if (rest->on[on]) {
            th_text_add(text, "%s %" PRIu64 " %s for %s", before, rest->on[on],
                        plural(rest->on[on], "waits", "wait"), th_on_name((th_on)on));
            before = ",";
        }
    }
    const uint64_t others = rest->count - rest->states[TH_SEEN_BLOCKED];
    if (others) {
        th_text_add(text, "%s %" PRIu64 " %s ready, or run", before, others,
                    plural(others, "is", "are"));
    }
    th_text_add(text, "\n");
}

static void add_groups(th_text *text, th_groups *groups) {
    th_groups_sort(groups);
    for (unsigned i = 0; i < groups->count; i++) {
        add_group(text, &groups->groups[groups->order[i]]);
    }
    if (groups->rest.count) {
        add_ungrouped(text, groups);
    }
}

/* ---- workers ---- */

th_seen_worker th_report_worker(thrum_sched *sched, unsigned i) {
    th_spare_set *set = &sched->spare_set;
    th_worker *worker = &sched->workers[i];
    th_seen_worker seen = {0};
    /* relaxed: figures */
    seen.tick = th_load_relaxed(&worker->xtick);
    seen.sleeps = (th_load_relaxed(&worker->xsleep) & TH_SLEEP_PARKED) != 0; /* relaxed: as above */
    seen.spare = th_is_spare(worker);
    seen.queued = th_gauges_queued_at(worker);
    th_gauges_take_worker(worker, th_os_now(), &seen.times);
    if (!set->held) {
        return seen;
    }
    th_lock_acquire(&set->lock);
    seen.idle = seen.spare && !worker->stint.active;
    seen.held = set->held[i];
    th_lock_release(&set->lock);
    seen.held.held = seen.held.held && seen.held.tick == seen.tick;
    seen.held_ns = seen.held.held ? th_os_now() - seen.held.since : 0;
    return seen;
}

/* ", in one task for at least 3.2 s"; nothing for a short time. */
static void add_at_least(th_text *text, const char *what, uint64_t ns) {
    if (ns >= TOLD_NS) {
        th_text_add(text, "%s for at least ", what);
        th_text_add_duration(text, ns);
    }
}

/* ", held up for 2.1 s, computing; worker 4 takes over", as the spares have seen it. */
static void add_held(th_text *text, const th_seen_worker *seen) {
    if (!seen->held.held) {
        return;
    }
    th_text_add(text, ", held up for ");
    th_text_add_duration(text, (uint64_t)seen->held_ns);
    th_text_add(text, seen->held.blocked ? ", its thread blocked" : ", computing");
    if (seen->held.spare >= 0) {
        th_text_add(text, "; worker %d takes over", seen->held.spare);
    }
}

static void add_workers(th_text *text) {
    thrum_sched *sched = text->sched;
    for (unsigned i = 0; i < th_workers_end(sched); i++) {
        th_seen_worker seen = th_report_worker(sched, i);
        th_text_add(text, "  worker %u%s %s, tick %" PRIu64, i, seen.spare ? ", a spare," : "",
                    seen.idle     ? "is idle"
                    : seen.sleeps ? "sleeps"
                                  : "is awake",
                    seen.tick);
        if (seen.queued) {
            th_text_add(text, ", %" PRIu64 " queued there", seen.queued);
        }
        add_at_least(text, ", the oldest queued", seen.times.queued_oldest_ns);
        add_at_least(text, ", in one task", seen.held.held ? 0 : seen.times.running_ns);
        add_held(text, &seen);
        th_text_add(text, "\n");
    }
}

/* "  12 tasks alive, 10 queued, 3 timers" */
static void add_gauges(th_text *text, const th_census *census) {
    th_gauges gauges;
    th_gauges_take(text->sched, &gauges);
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

/* ---- one by one ---- */

/* Without memory for groups there may be more than the limit for single fibers. */
static void add_fibers(th_text *text) {
    th_seen seen[SEEN_MAX];
    th_snapshot snapshot;
    unsigned n;
    uint64_t lines = 0;
    th_snapshot_begin(&snapshot, text->sched);
    snapshot.backtrace = text->backtrace;
    while ((n = th_snapshot_some(&snapshot, seen, SEEN_MAX))) {
        for (unsigned i = 0; i < n; i++) {
            if (lines++ < TH_LINES_MAX) {
                th_text_add(text, "  ");
                add_fiber(text, &seen[i]);
                th_words_calls(text, &seen[i], i);
            }
        }
    }
    th_snapshot_end(&snapshot);
    if (lines > TH_LINES_MAX) {
        th_text_add(text, "  and %" PRIu64 " more\n", lines - TH_LINES_MAX);
    }
}

/* ---- external threads ---- */

/*
 * The wait of a record's thread; false: none. Hidden from the thread sanitizer, which takes the
 * making of a thread's own variables for a write that nothing orders.
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
    TH_LOCKED(&th_external_lock); /* so that no record is retired, and its thread lives */
    for (const th_external *r = sched->externals.first; r && n < max; r = r->next_of_sched) {
        n += shown_by(r, &waits[n]) && i++ >= first;
    }
    return n;
}

static void add_threads(th_text *text) {
    thrum_sched *sched = text->sched;
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

/* ---- whole reports ---- */

/* The material of a report: the findings of one pass over the fibers. */
typedef struct findings {
    th_census census;
    th_groups *groups; /* NULL: there was no memory */
} findings;

static void begin(th_text *text, unsigned calls_max, findings *found) {
    thrum_sched *sched = text->sched;
    text->calls_max = calls_max;
    th_code_names_begin(&text->names, sched);
    text->backtrace = th_backtrace_begin(sched, &text->names);
    found->groups = th_groups_begin(sched, text->backtrace, calls_max);
    th_census_take(&found->census, sched, found->groups);
}

static void add_all(th_text *text, const findings *found) {
    if (!found->census.held) {
        th_text_add(text, "  the system grants no barrier: waiting fibers are reported as ready\n");
    }
    add_workers(text);
    if (found->groups && all_of(&found->census) > TH_SINGLE_MAX) {
        add_groups(text, found->groups);
    } else {
        add_fibers(text);
    }
    add_threads(text);
}

static void end(th_text *text, findings *found) {
    th_groups_end(text->sched, found->groups);
    th_backtrace_end(text->sched, text->backtrace);
    text->backtrace = NULL;
    th_code_names_end(&text->names);
}

void th_report_deadlock(th_text *text, const th_cycles *cycles) {
    findings found;
    begin(text, TH_CALLS_OF_REPORT, &found);
    const uint64_t *states = found.census.states;
    uint64_t waits = states[TH_SEEN_BLOCKED] + states[TH_SEEN_AWAITS];
    th_text_add_quoted(text, "thrum: deadlock in scheduler ", text->sched->name);
    th_text_add(text, ": %" PRIu64 " %s, nothing runs, no deadline is pending\n", waits,
                plural(waits, "waits", "wait"));
    th_chains_add(text, cycles);
    add_all(text, &found);
    end(text, &found);
}

void th_report_dump(th_text *text) {
    findings found;
    th_cycles *cycles = th_cycles_find(text->sched);
    begin(text, TH_CALLS_OF_DUMP, &found);
    const uint64_t *states = found.census.states;
    th_text_add_quoted(text, "thrum: scheduler ", text->sched->name);
    th_text_add(text, ": %" PRIu64 " waiting, %" PRIu64 " ready, %" PRIu64 " running\n",
                states[TH_SEEN_BLOCKED] + states[TH_SEEN_AWAITS], states[TH_SEEN_READY],
                states[TH_SEEN_RUNNING]);
    add_gauges(text, &found.census);
    th_chains_add(text, cycles);
    add_all(text, &found);
    th_words_tasks(text);
    end(text, &found);
    th_cycles_end(text->sched, cycles);
}
