/*
 * chain.c: see chain.h.
 */
#include "core/report/chain.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/annotate.h"
#include "core/state/handle.h"
#include "core/wait/cancel.h"

/* A plain thread, as reported. */
static TH_NO_TSAN bool see_thread(const thrum_sched *sched, const th_edge *edge, th_seen *out) {
    th_edge now;
    th_cancel_hold();
    const bool waits = th_edge_see_id(sched, edge->id, &now) && now.waiter == edge->waiter &&
                       now.tick == edge->tick;
    if (waits) { /* the waiter, and its object, are there as long as the hold is */
        *out = (th_seen){.id = now.id,
                         .external = true,
                         .state = TH_SEEN_BLOCKED,
                         .held = true,
                         .on = now.on,
                         .object = now.object,
                         .holder = now.holder,
                         .since = now.on == TH_ON_MUTEX ? now.waiter->since_ns : 0,
                         .tied = -1,
                         .deadline = TH_FOREVER};
        if (now.on == TH_ON_JOIN) {
            snprintf(out->joined, sizeof out->joined, "%s",
                     ((const thrum_handle *)now.object)->name);
        }
    }
    th_cancel_let_go();
    return waits;
}

bool th_chain_see(th_text *text, const th_edge *edge, bool calls, th_seen *out) {
    th_snapshot snapshot;
    if (!edge->fiber) {
        return see_thread(text->sched, edge, out);
    }
    th_snapshot_begin(&snapshot, text->sched);
    snapshot.backtrace = calls ? text->backtrace : NULL;
    bool waits = snapshot.held && th_snapshot_one(&snapshot, edge->fiber, edge->waiter, out);
    th_snapshot_end(&snapshot);
    return waits;
}

/* "fiber 7.1 "reader""; the number alone, if its wait is over. */
static void add_who(th_text *text, const th_edge *edge) {
    th_seen seen;
    if (th_chain_see(text, edge, false, &seen)) {
        th_words_who(text, &seen);
    } else if (edge->id >> 63) {
        th_text_add(text, "thread %" PRIu64, edge->id & INT64_MAX);
    } else {
        th_text_add(text, "fiber %u.%u", (unsigned)(edge->id >> 32), (unsigned)edge->id);
    }
}

/* ", held by ": the next member's relation to the object of the wait. */
static const char *bond_of(th_on on) {
    return on == TH_ON_JOIN    ? ", which is "
           : on == TH_ON_SCOPE ? ", a child of which is "
           : on == TH_ON_ONCE  ? ", run by "
                               : ", held by ";
}

/* "  fiber 3.1 "left" waits for mutex 0x7f..., held by fiber 4.1 "right", for 3.2 s, since ..." */
static void add_member(th_text *text, const th_edge *edge, const th_edge *next) {
    th_seen seen;
    th_text_add(text, "  ");
    if (!th_chain_see(text, edge, true, &seen)) {
        add_who(text, edge);
        th_text_add(text, " has gone on since\n");
        return;
    }
    th_words_who(text, &seen);
    th_text_add(text, " waits for %s 0x%" PRIxPTR, th_on_name(seen.on), (uintptr_t)seen.object);
    if (seen.joined[0]) {
        th_text_add_quoted(text, " ", seen.joined);
    }
    th_text_add(text, "%s", bond_of(seen.on));
    add_who(text, next);
    th_words_since(text, &seen);
    th_text_add(text, "\n");
    th_words_calls(text, &seen, 0);
}

static void add_members(th_text *text, const th_cycles *cycles, const th_cycle *cycle) {
    for (unsigned i = 0; i < cycle->count && i < TH_CHAIN_MAX; i++) {
        const uint32_t next = cycle->members[(i + 1) % cycle->count];
        add_member(text, th_cycles_member(cycles, cycle->members[i]),
                   th_cycles_member(cycles, next));
    }
    if (cycle->count > TH_CHAIN_MAX) {
        th_text_add(text, "  and %u more, the last of which waits for the first\n",
                    cycle->count - TH_CHAIN_MAX);
    }
}

static void add_head(th_text *text, const th_cycle *cycle) {
    th_text_add(text, "%u wait for each other in a cycle, and %s\n", cycle->count,
                cycle->can_cancel ? "nothing but a cancel ends it" : "nothing ends it");
}

void th_chains_add(th_text *text, const th_cycles *cycles) {
    for (unsigned i = 0; i < th_cycles_count(cycles); i++) {
        const th_cycle cycle = th_cycles_at(cycles, i);
        th_text_add(text, "  deadlock: ");
        add_head(text, &cycle);
        add_members(text, cycles, &cycle);
    }
}

void th_report_cycle(th_text *text, const th_cycles *cycles, unsigned i) {
    const th_cycle cycle = th_cycles_at(cycles, i);
    text->calls_max = TH_CALLS_OF_DUMP;
    th_code_names_begin(&text->names, text->sched);
    text->backtrace = th_backtrace_begin(text->sched, &text->names);
    th_text_add_quoted(text, "thrum: deadlock in scheduler ", text->sched->name);
    th_text_add(text, ": ");
    add_head(text, &cycle);
    add_members(text, cycles, &cycle);
    th_backtrace_end(text->sched, text->backtrace);
    text->backtrace = NULL;
    th_code_names_end(&text->names);
}
