/*
 * cycle.c: see cycle.h.
 *
 * All waits that depend on one owner are collected piece by piece. The way from one to the next is
 * found by a table of hashes: of the waiters' numbers, of their fibers, and of the scopes that are
 * waited for. A depth-first walk finds candidates; each is checked again in one hold.
 */
#include "core/report/cycle.h"

#include <string.h>

#include "base/annotate.h"
#include "core/fiber/fiber.h"
#include "core/inspect/backtrace.h"
#include "core/inspect/snapshot.h"
#include "core/ready/external.h"
#include "core/wait/cancel.h"

#define STACKS_MAX TH_LIMIT(1024u, 1u) /* visited before the locks are given up for a moment */
#define EDGES_FIRST TH_LIMIT(64u, 2u)
#define MEMBERS_MAX TH_LIMIT(1024u, 4u) /* of a cycle: they are held together for a moment */

#define NONE UINT32_MAX

/* The walk's record of an edge. */
typedef struct mark {
    uint32_t from;    /* the edge by which it was reached, or NONE */
    uint32_t child;   /* of a wait for a scope: the first edge of its children, or NONE */
    uint32_t sibling; /* the next edge of a child of the same scope, or NONE */
    bool followed;    /* of any other wait: the walk has followed it */
    enum { FRESH, ON_WAY, DONE } state;
} mark;

struct th_cycles {
    thrum_sched *sched;
    th_edge *edges;
    uint32_t count;
    uint32_t room;
    mark *marks;       /* of each edge */
    uint32_t *members; /* of all cycles, and behind them of the candidate: twice `count` */
    uint32_t members_count;
    uint32_t *table; /* numbers of edges by the hash of a key, and NONE */
    uint32_t table_mask;
    unsigned cycles_count;
    th_cycle cycles[TH_CYCLES_MAX];
};

/* ---- collecting ---- */

/* Room for one more. False: there is no memory, or there are too many. */
static bool has_room(th_cycles *c) {
    if (c->count < c->room) {
        return true;
    }
    const uint32_t room = c->room ? 2 * c->room : EDGES_FIRST;
    th_edge *edges =
        room <= TH_CYCLE_EDGES_MAX ? th_sched_alloc(c->sched, room * sizeof *edges) : NULL;
    if (!edges) {
        return false;
    }
    if (c->edges) {
        memcpy(edges, c->edges, c->count * sizeof *edges);
    }
    th_sched_free(c->sched, c->edges);
    c->edges = edges;
    c->room = room;
    return true;
}

/* Memory is allocated between two holds: here only existing memory is used. */
static TH_NO_TSAN bool visit(void *ctx, const th_stack *stack, bool in_use) {
    th_cycles *c = ctx;
    const th_fiber *fiber = in_use ? th_fiber_on(stack) : NULL;
    c->count += fiber && th_edge_see(fiber, &c->edges[c->count]);
    return c->count < c->room;
}

static TH_NO_TSAN void visit_roots(th_cycles *c, unsigned *next) {
    thrum_sched *sched = c->sched;
    th_lock_acquire(&sched->bound_lock);
    while (c->count < c->room && *next < sched->bound_end) {
        const th_worker *worker = th_worker_at(sched, (int32_t)(*next)++);
        c->count += worker && worker->tie.linked && th_edge_see(&worker->home, &c->edges[c->count]);
    }
    th_lock_release(&sched->bound_lock);
}

/*
 * Plain threads, from number *next on. They come and go between two pieces: so one may be collected
 * twice, which does no harm, or be missed, which the next look makes good.
 */
static TH_NO_TSAN void visit_threads(th_cycles *c, unsigned *next) {
    unsigned i = 0;
    th_lock_acquire(&th_external_lock); /* so that no record is retired, and its thread lives */
    for (const th_external *r = c->sched->externals.first; r && c->count < c->room;
         r = r->next_of_sched) {
        if (r->thread && i++ >= *next) {
            *next = i;
            c->count += th_edge_see_thread(r->thread, &c->edges[c->count]);
        }
    }
    th_lock_release(&th_external_lock);
}

/* As many as there is room for; the others are not looked at. */
static void collect(th_cycles *c) {
    th_stack_cursor at = {0};
    unsigned root = c->sched->workers_count;
    unsigned thread = 0;
    bool more = true;
    while (more && has_room(c)) {
        th_cancel_hold();
        more = th_stacks_some(&c->sched->stacks, &at, STACKS_MAX, visit, c);
        th_cancel_let_go();
    }
    do {
        if (!has_room(c)) {
            return;
        }
        th_cancel_hold();
        visit_roots(c, &root);
        if (c->count < c->room) {
            visit_threads(c, &thread);
        }
        th_cancel_let_go();
    } while (c->count == c->room);
}

/* ---- edges ---- */

typedef enum { BY_ID, BY_FIBER, BY_SCOPE } key_kind;

static uint64_t key_of(const th_edge *edge, key_kind kind) {
    return kind == BY_ID             ? edge->id
           : kind == BY_FIBER        ? (uintptr_t)edge->fiber
           : edge->on == TH_ON_SCOPE ? (uintptr_t)edge->object
                                     : 0;
}

static uint32_t place_of(uint64_t key, key_kind kind) {
    return (uint32_t)(th_backtrace_mix(kind, key) >> 16);
}

/* The edge with that key, or NONE. */
static uint32_t find(const th_cycles *c, key_kind kind, uint64_t key) {
    for (uint32_t i = place_of(key, kind); key && c->table[i & c->table_mask] != NONE; i++) {
        const uint32_t number = c->table[i & c->table_mask];
        if (key_of(&c->edges[number], kind) == key) {
            return number;
        }
    }
    return NONE;
}

static void enter(th_cycles *c, key_kind kind, uint32_t number) {
    const uint64_t key = key_of(&c->edges[number], kind);
    if (key) {
        uint32_t i = place_of(key, kind);
        while (c->table[i & c->table_mask] != NONE) {
            i++;
        }
        c->table[i & c->table_mask] = number;
    }
}

/* False: there is no memory. */
static bool make_table(th_cycles *c) {
    uint32_t size = 8;
    while (size < 4 * c->count) {
        size *= 2;
    }
    c->marks = th_sched_alloc(c->sched, c->count * sizeof *c->marks);
    c->members = th_sched_alloc(c->sched, 2 * c->count * sizeof *c->members);
    c->table = th_sched_alloc(c->sched, size * sizeof *c->table);
    if (!c->marks || !c->members || !c->table) {
        return false;
    }
    c->table_mask = size - 1;
    memset(c->table, 0xff, size * sizeof *c->table);
    for (uint32_t i = 0; i < c->count; i++) {
        c->marks[i] = (mark){.from = NONE, .child = NONE, .sibling = NONE, .state = FRESH};
        enter(c, BY_ID, i);
        enter(c, BY_FIBER, i);
        enter(c, BY_SCOPE, i);
    }
    for (uint32_t i = 0; i < c->count; i++) {
        const uint32_t opener = find(c, BY_SCOPE, (uintptr_t)c->edges[i].child_of);
        if (opener != NONE) {
            c->marks[i].sibling = c->marks[opener].child;
            c->marks[opener].child = i;
        }
    }
    return true;
}

/* ---- looking again ---- */

/* The present dependency of a collected wait; false: it is over. With th_cancel_lock. */
static bool see_again(const th_cycles *c, const th_edge *known, th_edge *out) {
    return known->fiber ? th_edge_see(known->fiber, out) : th_edge_see_id(c->sched, known->id, out);
}

/*
 * Whether the edges are a cycle at one moment: all of them wait, then each leads to the next, then
 * all wait still. With th_cancel_lock.
 */
static bool is_cycle(const th_cycles *c, const uint32_t members[], unsigned count) {
    th_edge before = c->edges[members[0]];
    th_edge now;
    bool is = true;
    for (unsigned i = 0; i < count && is; i++) { /* 1: they wait */
        const th_edge *known = &c->edges[members[i]];
        is = see_again(c, known, &now) && now.id == known->id && now.waiter == known->waiter &&
             now.tick == known->tick;
    }
    is = is && see_again(c, &c->edges[members[0]], &before);
    for (unsigned i = 1; i <= count && is; i++) { /* 2: each leads to the next */
        is = see_again(c, &c->edges[members[i % count]], &now) && th_edge_leads(&before, &now);
        before = now;
    }
    for (unsigned i = 0; i < count && is; i++) { /* 3: they wait still */
        is = see_again(c, &c->edges[members[i]], &now);
    }
    return is;
}

/* The member with the smallest number comes first, so that a cycle is always reported alike. */
static void turn(const th_cycles *c, uint32_t members[], unsigned count) {
    unsigned least = 0;
    for (unsigned i = 1; i < count; i++) {
        least = c->edges[members[i]].id < c->edges[members[least]].id ? i : least;
    }
    for (unsigned i = 0; i < least; i++) { /* each pass turns it by one; cycles are short */
        const uint32_t head = members[0];
        memmove(members, members + 1, (count - 1) * sizeof *members);
        members[count - 1] = head;
    }
}

/* Keeps the cycle whose members are behind those of the others. */
static void keep(th_cycles *c, unsigned count) {
    uint32_t *members = c->members + c->members_count;
    th_cycle cycle = {.members = members, .count = count};
    turn(c, members, count);
    for (unsigned i = 0; i < count; i++) {
        const th_edge *edge = &c->edges[members[i]];
        cycle.key = th_backtrace_mix(cycle.key, edge->id);
        cycle.key = th_backtrace_mix(cycle.key, (uintptr_t)edge->object ^ edge->tick);
        cycle.can_cancel = cycle.can_cancel || edge->can_cancel;
    }
    c->cycles[c->cycles_count++] = cycle;
    c->members_count += count;
}

/* The walk has come from `last` to `first`, which is on its path: a candidate. */
static void found(th_cycles *c, uint32_t first, uint32_t last) {
    uint32_t *members = c->members + c->members_count;
    unsigned count = 1;
    for (uint32_t i = last; i != first; i = c->marks[i].from) {
        count++;
    }
    if (count > MEMBERS_MAX || c->members_count + count > 2 * c->count ||
        c->cycles_count == TH_CYCLES_MAX) {
        return;
    }
    uint32_t at = last;
    for (unsigned i = count; i > 0; i--) { /* the way is followed backwards */
        members[i - 1] = at;
        at = c->marks[at].from;
    }
    th_cancel_hold();
    const bool is = is_cycle(c, members, count);
    th_cancel_let_go();
    if (is) {
        keep(c, count);
    }
}

/* ---- walking ---- */

/*
 * The next target of the edge, other than before; NONE: none. A wait for a scope leads to each of
 * the children, any other to one owner.
 */
static uint32_t follow(th_cycles *c, uint32_t i) {
    const th_edge *edge = &c->edges[i];
    mark *m = &c->marks[i];
    if (edge->on == TH_ON_SCOPE) {
        const uint32_t child = m->child;
        m->child = child == NONE ? NONE : c->marks[child].sibling;
        return child;
    }
    if (m->followed) {
        return NONE;
    }
    m->followed = true;
    return edge->on == TH_ON_JOIN ? find(c, BY_FIBER, (uintptr_t)edge->runner)
                                  : find(c, BY_ID, edge->holder);
}

/* In depth. */
static void walk(th_cycles *c, uint32_t at) {
    c->marks[at].state = ON_WAY;
    while (at != NONE) {
        const uint32_t next = follow(c, at);
        if (next == NONE) {
            c->marks[at].state = DONE;
            at = c->marks[at].from;
        } else if (c->marks[next].state == FRESH) {
            c->marks[next].state = ON_WAY;
            c->marks[next].from = at;
            at = next;
        } else if (c->marks[next].state == ON_WAY && next != at) {
            found(c, next, at);
        }
    }
}

/* ---- all of it ---- */

th_cycles *th_cycles_find(thrum_sched *sched) {
    th_cycles *c = th_sched_alloc(sched, sizeof *c);
    if (!c) {
        return NULL;
    }
    memset(c, 0, sizeof *c);
    c->sched = sched;
    th_snapshot snapshot;
    th_snapshot_begin(&snapshot, sched);
    if (snapshot.held) {
        collect(c);
        if (c->count > 1 && make_table(c)) {
            for (uint32_t i = 0; i < c->count; i++) {
                if (c->marks[i].state == FRESH) {
                    walk(c, i);
                }
            }
        }
    }
    th_snapshot_end(&snapshot);
    if (!c->cycles_count) {
        th_cycles_end(sched, c);
        c = NULL;
    }
    return c;
}

void th_cycles_end(thrum_sched *sched, th_cycles *cycles) {
    if (cycles) {
        th_sched_free(sched, cycles->edges);
        th_sched_free(sched, cycles->marks);
        th_sched_free(sched, cycles->members);
        th_sched_free(sched, cycles->table);
        th_sched_free(sched, cycles);
    }
}

unsigned th_cycles_count(const th_cycles *cycles) {
    return cycles ? cycles->cycles_count : 0;
}

th_cycle th_cycles_at(const th_cycles *cycles, unsigned i) {
    return cycles->cycles[i];
}

const th_edge *th_cycles_member(const th_cycles *cycles, uint32_t number) {
    return &cycles->edges[number];
}

bool th_cycles_is_new(thrum_sched *sched, uint64_t key) {
    th_cycles_told *told = &sched->cycles_told;
    for (unsigned i = 0; i < told->count; i++) {
        if (told->keys[i] == key) {
            return false;
        }
    }
    if (told->count == TH_CYCLES_TOLD) {
        return false;
    }
    told->keys[told->count++] = key;
    return true;
}
