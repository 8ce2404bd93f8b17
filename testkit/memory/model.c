/*
 * model.c: the values that an atomic access sees and publishes.
 *
 * c11: each word has a history of stores in modification order. A thread must not see a store that
 *      is older than one it knows: by its own accesses, by happens-before, by seq_cst fences and
 *      accesses. Among the rest the strategy chooses. A store goes to the end of the history, or
 *      before newer stores that its thread need not know (`inserts`). Release sequences are those
 *      of C++20: read-modify-writes continue one, other stores do not. No load buffering (RC11).
 * tso: each thread has a buffer of stores that reach memory later, in order.
 * seq: one memory, no delay.
 *
 * In all modes happens-before is that of the C11 orders, so that races are found in each. The real
 * memory holds the newest value of each word.
 *
 * seq_cst, in the terms of RC11: there is an order S of those accesses and fences (seqcst.c). A
 * fence has the knowledge of earlier fences (`seen`). An access after a fence knows the seq_cst
 * stores that came before the fence; a seq_cst access knows all earlier seq_cst stores to its word,
 * and has the knowledge of earlier fences.
 */
#include "engine.h"

#include <string.h>

#include "values.h"

enum { RELAXED = 0, CONSUME, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST };

static bool acquires(int order) {
    return order == ACQUIRE || order == CONSUME || order == ACQ_REL || order == SEQ_CST;
}

static bool releases(int order) {
    return order == RELEASE || order == ACQ_REL || order == SEQ_CST;
}

void model_begin(void) {
    E->locs_count = 0;
    E->locs_free = 0;
    seq_begin();
}

/* Another thread may go on here; in a test kit's library only if the test asks for it. */
static void point(const void *site) {
#if TH_KIT
    const bool quiet = kit_is_quiet(site);
    if (!quiet) {
        sim_point();
    }
    E->quiet = quiet; /* it was another thread's meanwhile */
#else
    (void)site;
    sim_point();
#endif
}

/* ---- words ---- */

static store *at_place(loc *l, unsigned place) {
    return &l->slots[l->order[place]];
}

/* A load that is not seq_cst, or a seq_cst store at the end of S. */
#define NOT_SEQ 0u
#define SEQ_LAST UINT64_MAX

/*
 * The oldest place in the history that the thread may still see, or put a store behind; for a place
 * directly behind `label` in S, or for no place there.
 */
static unsigned first_place(const loc *l, const sim_thread *t, uint64_t label) {
    unsigned self = (unsigned)(t - E->threads);
    clock_vec seen = t->now.seen;
    if (label) {
        seen = vec_max(seen, seq_known(label));
    }
    unsigned place = l->count;
    while (--place > 0) {
        const store *s = &l->slots[l->order[place]];
        if (s->thread == self || s->time <= seen[s->thread] ||
            (s->seq && (s->seq <= label || s->seq < t->now.fence))) {
            break;
        }
    }
    for (unsigned u = 0; u < E->thread_count; u++) {
        for (unsigned i = 0; i < l->marks_count[u]; i++) {
            const read_mark *m = &l->marks[u][i];
            if (l->generation[m->slot] == m->generation && (u == self || m->time <= seen[u]) &&
                l->slots[m->slot].at > place) {
                place = l->slots[m->slot].at;
            }
        }
    }
    return place;
}

/* The thread has read the store: no thread that knows that may see an older one. */
static void mark(loc *l, const sim_thread *t, unsigned slot) {
    unsigned self = (unsigned)(t - E->threads);
    unsigned n = l->marks_count[self];
    read_mark *m = l->marks[self];
    if (n && m[n - 1].slot == slot && m[n - 1].generation == l->generation[slot]) {
        return;
    }
    if (n == MARKS) { /* forgetting one would allow too much: the second oldest gets its time */
        m[1].time = m[0].time;
        memmove(m, m + 1, (MARKS - 1) * sizeof *m);
        n--;
    }
    m[n] = (read_mark){
        .time = t->now.order[self], .slot = (uint8_t)slot, .generation = l->generation[slot]};
    l->marks_count[self] = (uint8_t)(n + 1);
}

static void sees(sim_thread *t, const store *s, int order) {
    view_join(acquires(order) ? &t->now : &t->to_acquire, &s->publishes);
}

/* Stores that will be newer come behind it in S. */
static void seen_in_seq(loc *l, uint64_t label) {
    l->label = l->label > label ? l->label : label;
}

/* Puts a new store at the place; the history's oldest goes when there is no room. */
static store *insert(loc *l, unsigned place) {
    unsigned slot;
    unsigned moved = place; /* stores from here on move by one place */
    if (l->count == HISTORY) {
        slot = l->order[0];
        memmove(l->order, l->order + 1, HISTORY - 1);
        l->count--;
        place--;
        moved = 0;
    } else {
        uint32_t used = 0;
        for (unsigned i = 0; i < l->count; i++) {
            used |= 1u << l->order[i];
        }
        slot = (unsigned)__builtin_ctz(~used);
    }
    memmove(l->order + place + 1, l->order + place, l->count - place);
    l->order[place] = (uint8_t)slot;
    l->count++;
    l->generation[slot]++;
    for (unsigned i = moved; i < l->count; i++) {
        l->slots[l->order[i]].at = (uint8_t)i;
    }
    return &l->slots[slot];
}

/* The view that a store of the thread publishes; then its clock goes on. */
static void publish(sim_thread *t, view *publishes, int order) {
    unsigned self = (unsigned)(t - E->threads);
    if (releases(order)) {
        *publishes = t->now;
        t->now.order[self]++;
        t->now.seen[self]++;
    } else {
        *publishes = t->released;
    }
}

static void put(loc *l, sim_thread *t, unsigned place, uint64_t value, int order, bool glued) {
    view before = {0};
    unsigned self = (unsigned)(t - E->threads);
    if (glued) {
        before = at_place(l, place - 1)->publishes;
    }
    bool newest = place == l->count;
    store *s;
    if (E->mode == M_C11) {
        s = insert(l, place);
    } else { /* one memory, without a history */
        s = &l->slots[l->order[0]];
        newest = true;
    }
    s->value = value;
    s->thread = (uint8_t)self;
    s->time = t->now.order[self];
    s->glued = glued;
    s->initial = false;
    s->seq = 0;
    t->now.lower = t->now.lower > l->label ? t->now.lower : l->label;
    if (order == SEQ_CST && E->mode == M_C11) {
        t->now.label = s->seq = seq_store_label(l, t, newest);
    }
    seen_in_seq(l, s->seq > t->now.fence ? s->seq : t->now.fence);
    publish(t, &s->publishes, order);
    if (glued) {
        view_join(&s->publishes, &before);
    }
    if (newest) {
        raw_write((void *)l->addr, l->size, value);
    }
}

/* ---- accesses ---- */

#define NAMED(what) (TH_KIT ? "atomic " what : what)

static void trace_access(const char *what, const void *addr, uint64_t value, int order,
                         const void *site, unsigned from) {
#if TH_KIT
    if (!E->quiet) {
        const uintptr_t at = (uintptr_t)addr - (uintptr_t)E->data;
        kit_step(from ? "atomic load of an old value" : what, at < E->data_size ? addr : NULL,
                 (uintptr_t)site);
    }
#endif
    note("%s %s %p %s %llu%s  %s", what, order_name(order), addr, "=", (unsigned long long)value,
         from ? " (old)" : "", site_name(site));
}

static uint64_t from_buffer(const sim_thread *t, uintptr_t addr, unsigned size, bool *found) {
    for (unsigned i = t->buffered; i-- > 0;) {
        if (t->buffer[i].addr == addr && t->buffer[i].size == size) {
            *found = true;
            return t->buffer[i].value;
        }
    }
    *found = false;
    return 0;
}

/* The place that a load sees: the newest, or as the strategy decides. */
static unsigned choose_place(loc *l, const sim_thread *t, bool seq) {
    unsigned self = (unsigned)(t - E->threads);
    unsigned newest = l->count - 1u;
    if (likely(newest == 0)) {
        return 0;
    }
    unsigned first = first_place(l, t, seq ? t->now.label : NOT_SEQ);
    if (first == newest || l->stale[self] >= STALE_MAX || E->quiet) {
        l->stale[self] = 0;
        return newest;
    }
    unsigned place = newest - sim_choose(SIM_VALUE, newest - first + 1);
    uint64_t label = at_place(l, place)->publishes.label;
    if (seq && label > t->now.label && place < first_place(l, t, label)) {
        place = newest; /* stores behind the seen one, in S, are newer */
    }
    l->stale[self] = place < newest ? (uint8_t)(l->stale[self] + 1) : 0;
    return place;
}

static uint64_t read_at(loc *l, sim_thread *t, unsigned place, int order) {
    const store *s = at_place(l, place);
    if (l->count > 1) {
        mark(l, t, l->order[place]);
    }
    sees(t, s, order);
    if (order == SEQ_CST && place + 1u < l->count) {
        seq_old(t->now.label);
    }
    seen_in_seq(l, order == SEQ_CST ? t->now.label : t->now.fence);
    return s->value;
}

/*
 * A thread that reads a word of its own stack may leave that frame next, and write return addresses
 * there, which no callback shows. So a store of its own that waits to go there goes first.
 */
#define OWN_STACK 16384u

uint64_t model_load(void *addr, unsigned size, int order, const void *site) {
    if (unlikely(!is_watched())) {
        return raw_read(addr, size);
    }
    point(site);
    order = mutated_order(order, site, OP_LOAD);
    sim_thread *t = E->current;
    shadow_access((uintptr_t)addr, size, false, true, site);
    loc *l = loc_find(addr, size);
    if (unlikely(!l)) {
        return raw_read(addr, size);
    }
    if (unlikely(t->buffered)) {
        bool found;
        uint64_t value = from_buffer(t, (uintptr_t)addr, size, &found);
        if (found) {
            uintptr_t here = (uintptr_t)__builtin_frame_address(0);
            if ((uintptr_t)addr > here && (uintptr_t)addr - here < OWN_STACK) {
                model_drain_at(t, (uintptr_t)addr, size);
            }
            return value;
        }
    }
    unsigned place = choose_place(l, t, order == SEQ_CST);
    uint64_t value = read_at(l, t, place, order);
    if (unlikely(E->tracing)) {
        trace_access(NAMED("load"), addr, value, order, site, l->count - 1u - place);
    }
    return value;
}

static void buffer_store(sim_thread *t, void *addr, unsigned size, uint64_t value, int order,
                         const void *site) {
    if (t->buffered == BUFFER) {
        model_drain_one(t);
    }
    E->buffers += t->buffered == 0;
    pending_store *p = &t->buffer[t->buffered++];
    *p = (pending_store){.addr = (uintptr_t)addr,
                         .value = value,
                         .size = (uint8_t)size,
                         .seq = order == SEQ_CST,
                         .time = t->now.order[me()],
                         .site = site};
    publish(t, &p->publishes, order);
    if (order == SEQ_CST) {
        model_drain(t);
    }
}

void model_drain_one(sim_thread *t) {
    pending_store p = t->buffer[0];
    memmove(t->buffer, t->buffer + 1, --t->buffered * sizeof p);
    E->buffers -= t->buffered == 0;
    loc *l = loc_find((void *)p.addr, p.size);
    if (l) {
        store *s = at_place(l, 0);
        s->value = p.value;
        s->thread = (uint8_t)(t - E->threads);
        s->time = p.time;
        s->glued = false;
        s->initial = false;
        s->publishes = p.publishes;
    }
    raw_write((void *)p.addr, p.size, p.value);
    TRACE("thread %d's store of %llu reaches memory at %p", (int)(t - E->threads),
          (unsigned long long)p.value, (void *)p.addr);
}

void model_drain(sim_thread *t) {
    while (unlikely(t->buffered)) {
        model_drain_one(t);
    }
}

void model_drain_at(sim_thread *t, uintptr_t addr, size_t size) {
    for (unsigned i = t->buffered; i-- > 0;) {
        if (t->buffer[i].addr < addr + size && addr < t->buffer[i].addr + t->buffer[i].size) {
            for (unsigned n = 0; n <= i; n++) {
                model_drain_one(t);
            }
            return;
        }
    }
}

/* The place of a store: the end, or before newer ones that its thread need not know. */
static unsigned choose_gap(loc *l, const sim_thread *t, bool seq) {
    unsigned end = l->count;
    if (likely(!E->limits.inserts || end < 2)) {
        return end;
    }
    unsigned first = first_place(l, t, seq ? SEQ_LAST : NOT_SEQ);
    unsigned gaps[HISTORY];
    unsigned n = 0;
    gaps[n++] = end;
    for (unsigned place = end - 1; place > first; place--) {
        if (!at_place(l, place)->glued) {
            gaps[n++] = place;
        }
    }
    return gaps[sim_choose(SIM_VALUE, n)];
}

void model_store(void *addr, unsigned size, uint64_t value, int order, const void *site) {
    if (unlikely(!is_watched())) {
        raw_write(addr, size, value);
        return;
    }
    point(site);
    order = mutated_order(order, site, OP_STORE);
    sim_thread *t = E->current;
    shadow_access((uintptr_t)addr, size, true, true, site);
    loc *l = loc_find(addr, size);
    if (unlikely(E->tracing)) {
        trace_access(NAMED("store"), addr, cut(value, size), order, site, 0);
    }
    if (unlikely(!l)) {
        raw_write(addr, size, value);
    } else if (E->mode == M_TSO) {
        buffer_store(t, addr, size, cut(value, size), order, site);
    } else {
        put(l, t, choose_gap(l, t, order == SEQ_CST), cut(value, size), order, false);
    }
}

/* The place that a read-modify-write reads: it is directly behind the store that it read. */
static unsigned choose_rmw(loc *l, const sim_thread *t, bool seq) {
    unsigned newest = l->count - 1u;
    if (likely(!E->limits.inserts || newest == 0)) {
        return newest;
    }
    unsigned first = first_place(l, t, seq ? SEQ_LAST : NOT_SEQ);
    unsigned places[HISTORY];
    unsigned n = 0;
    places[n++] = newest;
    for (unsigned place = newest; place-- > first;) {
        if (!at_place(l, place + 1)->glued) {
            places[n++] = place;
        }
    }
    return places[sim_choose(SIM_VALUE, n)];
}

static uint64_t rmw_at(loc *l, sim_thread *t, unsigned place, rmw_op op, uint64_t operand,
                       int order) {
    store *s = at_place(l, place);
    uint64_t old = s->value;
    sees(t, s, order);
    put(l, t, place + 1, cut(apply(op, old, operand), l->size), order, true);
    return old;
}

uint64_t model_rmw(void *addr, unsigned size, rmw_op op, uint64_t operand, int order,
                   const void *site) {
    if (unlikely(!is_watched())) {
        uint64_t old = raw_read(addr, size);
        raw_write(addr, size, apply(op, old, operand));
        return old;
    }
    point(site);
    order = mutated_order(order, site, OP_RMW);
    sim_thread *t = E->current;
    shadow_access((uintptr_t)addr, size, true, true, site);
    loc *l = loc_find(addr, size);
    if (unlikely(!l)) {
        uint64_t old = raw_read(addr, size);
        raw_write(addr, size, apply(op, old, operand));
        return old;
    }
    model_drain(t);
    uint64_t old = rmw_at(l, t, choose_rmw(l, t, order == SEQ_CST), op, operand, order);
    if (unlikely(E->tracing)) {
        trace_access(NAMED("rmw"), addr, old, order, site, 0);
    }
    return old;
}

/* Whether a read-modify-write may be behind an old store. */
static bool fits_behind(loc *l, const sim_thread *t, unsigned place, bool seq) {
    return E->limits.inserts && !at_place(l, place + 1)->glued &&
           place >= first_place(l, t, seq ? SEQ_LAST : NOT_SEQ);
}

uint64_t model_cas(void *addr, unsigned size, uint64_t expected, uint64_t want, int order,
                   int failure, const void *site) {
    expected = cut(expected, size);
    if (unlikely(!is_watched())) {
        uint64_t old = raw_read(addr, size);
        if (old == expected) {
            raw_write(addr, size, want);
        }
        return old;
    }
    point(site);
    order = mutated_order(order, site, OP_CAS);
    failure = mutated_order(failure, site, OP_CAS_FAILURE);
    sim_thread *t = E->current;
    shadow_access((uintptr_t)addr, size, false, true, site);
    loc *l = loc_find(addr, size);
    if (unlikely(!l)) {
        uint64_t old = raw_read(addr, size);
        if (old == expected) {
            raw_write(addr, size, want);
        }
        return old;
    }
    model_drain(t);
    /* A compare-exchange that fails is a load of its own order: it may see an old value. */
    unsigned newest = l->count - 1u;
    unsigned place = choose_place(l, t, failure == SEQ_CST);
    if (place != newest && at_place(l, place)->value == expected &&
        !fits_behind(l, t, place, order == SEQ_CST)) {
        place = newest;
    }
    uint64_t old = at_place(l, place)->value;
    if (old == expected) {
        shadow_access((uintptr_t)addr, size, true, true, site); /* a failing one writes nothing */
        rmw_at(l, t, place, RMW_XCHG, want, order);
    } else {
        read_at(l, t, place, failure);
    }
    if (unlikely(E->tracing)) {
        trace_access(old == expected ? NAMED("cas") : NAMED("cas fails"), addr, old, order, site,
                     newest - place);
    }
    return old;
}

/* ---- fences ---- */

void model_fence_thread(sim_thread *t) {
    unsigned self = (unsigned)(t - E->threads);
    model_drain(t);
    view_join(&t->now, &t->to_acquire);
    seq_fence(t);
    t->released = t->now;
    t->now.order[self]++;
    t->now.seen[self]++;
}

void model_fence(int order, const void *site) {
    if (unlikely(!is_watched())) {
        return;
    }
    point(site);
    order = mutated_order(order, site, OP_FENCE);
    sim_thread *t = E->current;
    TRACE("fence %s  %s", order_name(order), site_name(site));
    if (order == SEQ_CST) {
        model_fence_thread(t);
        return;
    }
    if (acquires(order)) {
        view_join(&t->now, &t->to_acquire);
    }
    if (releases(order)) {
        t->released = t->now;
        t->now.order[me()]++;
        t->now.seen[me()]++;
    }
}

uint32_t sim_newest(const uint32_t *word) {
    shadow_access((uintptr_t)word, sizeof *word, false, true, __builtin_return_address(0));
    model_drain(E->current);
    return *(const volatile uint32_t *)word;
}
