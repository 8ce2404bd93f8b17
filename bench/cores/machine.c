/*
 * machine.c: the processors, their clocks, and the lines of memory.
 */
#include "machine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "platform/platform.h"
#include "platform/sim/controller.h"

#define LOW_BYTES ((uintptr_t)256 << 20) /* the program's own data lies below */
#define STACK_BYTES ((size_t)256 << 10)
#define LEAVES 512
#define FOR_EVER INT64_MAX
#define STORES 56 /* in a store buffer */
#define SITES 65536

typedef enum { RUNNABLE, ASLEEP, JOINING, ENDED } state;

typedef struct thread {
    th_context context;
    ps clock;
    ps stores[STORES]; /* when each of the latest stores reaches its line */
    unsigned stored;
    ps drained; /* when the last one does */
    state state;
    reason reason;
    const void *word;
    uint64_t slept;    /* its turn among sleepers */
    ps ran_since, ran; /* processor time before it slept last */
    unsigned joins;
    void (*entry)(void *);
    void *arg;
    sim_local local;
} thread;

static struct {
    thread threads[THREADS];
    unsigned count, current;
    bool on;
    ps tree[2 * LEAVES]; /* the least clock below each node; the current thread's is not in it */
    ps least;            /* of all others */
    uint64_t seed, sleeps;
    th_context outside;
    line *high_lines, *low_lines;
    site_count *sites;
} m;

costs the_costs;
totals the_totals;

/* ---- dice ---- */

static uint64_t dice(void) {
    m.seed ^= m.seed << 13;
    m.seed ^= m.seed >> 7;
    m.seed ^= m.seed << 17;
    return m.seed;
}

static double dice_unit(void) {
    return (double)(dice() >> 11) * 0x1p-53;
}

/* Log-normal: about the median, its 99th percentile `spread` times that. */
static double dice_spread(double median, double spread) {
    const double normal = sqrt(-2 * log(dice_unit() + 1e-12)) * cos(6.283185307 * dice_unit());
    return median * exp(normal * log(spread) / 2.326);
}

/* ---- which thread goes on ---- */

static void leaf_set(unsigned i, ps value) {
    unsigned at = LEAVES + i;
    m.tree[at] = value;
    for (at /= 2; at > 0; at /= 2) {
        const ps a = m.tree[2 * at], b = m.tree[2 * at + 1], least = a < b ? a : b;
        if (m.tree[at] == least) {
            break;
        }
        m.tree[at] = least;
    }
    m.least = m.tree[1];
}

static unsigned leaf_least(void) {
    unsigned at = 1;
    while (at < LEAVES) {
        at = m.tree[2 * at] <= m.tree[2 * at + 1] ? 2 * at : 2 * at + 1;
    }
    return at - LEAVES;
}

static inline thread *self(void) {
    return &m.threads[m.current];
}

/* A sleeper's deadline has come: it runs once the system has noticed. */
static void expires(unsigned number) {
    thread *t = &m.threads[number];
    t->state = RUNNABLE;
    t->reason = TIMEOUT;
    t->clock = m.tree[LEAVES + number] + NS(dice_spread(the_costs.latency, the_costs.spread));
    t->ran_since = t->clock;
    leaf_set(number, t->clock);
}

/* Goes on with the thread whose clock is the least; `mine` is the caller's, or FOR_EVER. */
static void go_on(ps mine) {
    thread *from = self();
    leaf_set(m.current, mine);
    unsigned next = leaf_least();
    for (; m.threads[next].state == ASLEEP && m.least != FOR_EVER; next = leaf_least()) {
        expires(next);
    }
    if (m.least == FOR_EVER) {
        fprintf(stderr, "cores: every thread sleeps for ever\n");
        _exit(3);
    }
    leaf_set(next, FOR_EVER);
    m.current = next;
    the_totals.switches++;
    if (from != &m.threads[next]) {
        th_context_switch(&from->context, &m.threads[next].context);
    }
}

void machine_point(void) {
    if (self()->clock > m.least) {
        go_on(self()->clock);
    }
}

void machine_charge(double ns) {
    if (m.on) {
        self()->clock += NS(ns);
    }
}

void machine_charge_spread(double median) {
    machine_charge(dice_spread(median, the_costs.spread));
}

ps machine_now(void) {
    return self()->clock;
}

void machine_block(void) {
    if (m.on) {
        self()->clock += NS(the_costs.block);
        the_totals.blocks++;
    }
}

/* ---- threads ---- */

static void thread_main(void *arg) {
    thread *t = arg;
    t->entry(t->arg);
    t->state = ENDED;
    for (unsigned i = 0; i < m.count; i++) {
        thread *other = &m.threads[i];
        if (other->state == JOINING && &m.threads[other->joins] == t) {
            other->state = RUNNABLE;
            other->clock = (other->clock > t->clock ? other->clock : t->clock) +
                           NS(dice_spread(the_costs.latency, the_costs.spread));
            leaf_set(i, other->clock);
        }
    }
    if (t == &m.threads[0]) {
        m.on = false;
        th_context_switch(&t->context, &m.outside);
    }
    go_on(FOR_EVER);
    __builtin_unreachable();
}

static unsigned thread_new(void (*entry)(void *), void *arg, ps clock) {
    if (m.count == THREADS) {
        fprintf(stderr, "cores: too many threads\n");
        _exit(3);
    }
    const unsigned number = m.count++;
    thread *t = &m.threads[number];
    t->entry = entry;
    t->arg = arg;
    t->clock = t->ran_since = clock;
    char *stack = sim_pages(STACK_BYTES);
    th_context_make(&t->context, stack, stack + STACK_BYTES, thread_main, t);
    return number;
}

int sim_thread_start(const char *name, void (*entry)(void *), void *arg, uintptr_t *handle) {
    (void)name;
    machine_charge(the_costs.start);
    const unsigned number = thread_new(
        entry, arg, self()->clock + NS(dice_spread(the_costs.latency, the_costs.spread)));
    leaf_set(number, m.threads[number].clock);
    *handle = number;
    return 0;
}

void sim_thread_join(uintptr_t handle) {
    thread *t = self();
    machine_point();
    if (m.threads[handle].state != ENDED) {
        t->state = JOINING;
        t->joins = (unsigned)handle;
        go_on(FOR_EVER);
    }
}

sim_local *sim_local_here(void) {
    return &self()->local;
}

void *sim_storage_here(void) {
    static _Alignas(64) unsigned char storage[THREADS][SIM_STORAGE_BYTES];
    return storage[m.current];
}

int64_t cores_thread_ran(uintptr_t handle);
int64_t cores_thread_ran(uintptr_t handle) {
    const thread *t = &m.threads[handle];
    return (t->ran + (t->state == RUNNABLE ? t->clock - t->ran_since : 0)) / 1000;
}

/* ---- sleeping ---- */

sim_reason sim_sleep(const void *word, int64_t deadline) {
    thread *t = self();
    the_totals.sleeps++;
    t->clock = t->clock > t->drained ? t->clock : t->drained;
    machine_charge(the_costs.sleep);
    t->ran += t->clock - t->ran_since;
    t->state = ASLEEP;
    t->word = word;
    t->slept = ++m.sleeps;
    const ps until = deadline > INT64_MAX / 2000 ? FOR_EVER : NS(deadline);
    go_on(until > t->clock || until == FOR_EVER ? until : t->clock);
    return t->reason == TIMEOUT ? SIM_TIMEOUT : SIM_WOKEN;
}

bool sim_wake_one(const void *word) {
    thread *first = NULL;
    for (unsigned i = 0; i < m.count; i++) {
        thread *t = &m.threads[i];
        if (t->state == ASLEEP && t->word == word && (!first || t->slept < first->slept)) {
            first = t;
        }
    }
    if (!first) {
        return false;
    }
    the_totals.wakes++;
    machine_charge_spread(the_costs.wake);
    const ps from = first->clock > self()->clock ? first->clock : self()->clock;
    first->state = RUNNABLE;
    first->reason = WOKEN;
    first->clock = from + NS(dice_spread(the_costs.latency, the_costs.spread));
    first->ran_since = first->clock;
    leaf_set((unsigned)(first - m.threads), first->clock);
    return true;
}

unsigned machine_running(void) {
    unsigned n = 0;
    for (unsigned i = 0; i < m.count; i++) {
        n += m.threads[i].state == RUNNABLE;
    }
    return n;
}

int64_t sim_now(void) {
    return self()->clock / 1000;
}

void sim_pass(int64_t ns) {
    machine_charge((double)ns);
}

void sim_point(void) {
    if (m.on) {
        machine_point();
    }
}

void sim_yield_point(void) {
    machine_charge(the_costs.pause);
    machine_point();
}

/* ---- lines ---- */

static line *line_of(uintptr_t addr) {
    if (addr - ARENA < ARENA_BYTES) {
        return &m.high_lines[(addr - ARENA) / 64];
    }
    return addr < LOW_BYTES ? &m.low_lines[addr / 64] : NULL;
}

static double between(unsigned a, unsigned b) {
    if (a / NEAR == b / NEAR) {
        return the_costs.near;
    }
    return a / PACKAGE == b / PACKAGE ? the_costs.package : the_costs.far;
}

/*
 * The cost of getting the line: from its owner, or the nearest processor that has it; `all`: the
 * others lose it, so it takes until the farthest has answered.
 */
static double transfer(const line *l, unsigned me, bool all) {
    if (l->owner >= 0) {
        return between((unsigned)l->owner, me);
    }
    double nearest = -1, farthest = -1;
    for (unsigned w = 0; w < 4; w++) {
        for (uint64_t bits = l->has[w]; bits != 0; bits &= bits - 1) {
            const unsigned other = w * 64 + (unsigned)__builtin_ctzll(bits);
            if (other == me) {
                continue;
            }
            const double cost = between(other, me);
            nearest = nearest < 0 || cost < nearest ? cost : nearest;
            farthest = cost > farthest ? cost : farthest;
        }
    }
    if (nearest < 0) {
        return the_costs.cold;
    }
    return all ? farthest : nearest;
}

static void site_add(const void *site, ps stalled, ps queued) {
    size_t at = ((uintptr_t)site * 0x9e3779b97f4a7c15u) >> 48;
    while (m.sites[at % SITES].site != site && m.sites[at % SITES].site) {
        at++;
    }
    site_count *s = &m.sites[at % SITES];
    s->site = site;
    s->misses++;
    s->stalled += stalled;
    s->queued += queued;
    the_totals.misses++;
    the_totals.stalled += stalled;
    the_totals.queued += queued;
}

static void first_touch(line *l, uintptr_t addr, thread *t) {
    l->touched = true;
    l->owner = -1;
    if (addr < ARENA) {
        return;
    }
    line *page = line_of(addr & ~(uintptr_t)4095);
    for (unsigned i = 0; i < 64; i++) {
        if (&page[i] != l && page[i].touched) {
            return;
        }
    }
    the_totals.faults++;
    t->clock += NS(dice_spread(the_costs.fault, 2));
}

static void store_buffered(thread *t, ps done) {
    ps *slot = &t->stores[t->stored++ % STORES];
    if (*slot > t->clock) {
        t->clock = *slot; /* the buffer is full */
    }
    t->drained = done > t->drained ? done : t->drained + 300;
    *slot = t->drained;
}

static void access_line(line *l, uintptr_t addr, access_kind kind, const void *site) {
    thread *t = self();
    const unsigned me = m.current & 255;
    const uint64_t bit = (uint64_t)1 << me % 64;
    the_totals.accesses++;
    if (!l->touched) {
        first_touch(l, addr, t);
    }
    if (kind == RMW) {
        the_totals.rmws++;
        t->clock = (t->clock > t->drained ? t->clock : t->drained) + NS(the_costs.rmw);
    } else {
        t->clock += NS(the_costs.hit);
    }
    const bool reads = kind == READ || kind == READ_ATOMIC;
    if (l->owner == (int)me || (reads && (l->has[me / 64] & bit) != 0)) {
        return;
    }
    const ps before = t->clock, begins = l->busy > before ? l->busy : before;
    const ps takes = NS(transfer(l, me, !reads) * (0.8 + 0.4 * dice_unit()));
    if (reads) {
        const ps seen = kind == READ ? (ps)((double)takes / the_costs.overlap) : takes;
        t->clock = begins + seen;
        l->busy = begins + takes / 4; /* several can be given copies one after the other */
        if (l->owner >= 0) {
            l->owner = -1; /* which keeps a copy: it is among the line's holders */
        }
        l->has[me / 64] |= bit;
    } else {
        const ps done = begins + takes;
        if (kind == RMW) {
            t->clock = done;
        } else {
            store_buffered(t, done);
        }
        l->busy = done;
        l->owner = (int16_t)me;
        memset(l->has, 0, sizeof(l->has));
        l->has[me / 64] = bit;
    }
    site_add(site, t->clock - before, begins - before);
}

void machine_access(uintptr_t addr, size_t size, access_kind kind, const void *site) {
    if (!m.on) {
        return;
    }
    if (kind >= READ_ATOMIC) {
        machine_point();
    }
    line *l = line_of(addr);
    if (!l) {
        return;
    }
    access_line(l, addr, kind, site);
    for (uintptr_t next = (addr | 63) + 1; next < addr + size; next += 64) {
        access_line(line_of(next), next, kind, site);
    }
}

void machine_fence(void) {
    if (!m.on) {
        return;
    }
    machine_point();
    thread *t = self();
    the_totals.fences++;
    t->clock = (t->clock > t->drained ? t->clock : t->drained) + NS(the_costs.fence);
}

void machine_count_begin(void) {
    memset(m.sites, 0, SITES * sizeof(m.sites[0]));
    memset(&the_totals, 0, sizeof(the_totals));
}

static int longer(const void *a, const void *b) {
    const site_count *x = a, *y = b;
    return x->stalled < y->stalled ? 1 : x->stalled > y->stalled ? -1 : 0;
}

unsigned machine_sites(site_count out[], unsigned max) {
    static site_count all[SITES];
    unsigned n = 0;
    for (unsigned i = 0; i < SITES; i++) {
        if (m.sites[i].site) {
            all[n++] = m.sites[i];
        }
    }
    qsort(all, n, sizeof(all[0]), longer);
    n = n < max ? n : max;
    memcpy(out, all, n * sizeof(out[0]));
    return n;
}

/* ---- the machine's functions for the seam ---- */

uint32_t sim_newest(const uint32_t *word) {
    return *(const volatile uint32_t *)word;
}

void sim_fence_everywhere(void) {
    machine_charge(the_costs.syscall + the_costs.barrier * (machine_running() - 1));
}

void sim_call(void) {
    machine_charge(the_costs.syscall);
    sim_point();
}

/* ---- a run ---- */

void machine_begin(uint64_t seed) {
    m.seed = seed * 0x9e3779b97f4a7c15u + 1;
    for (unsigned i = 0; i < 2 * LEAVES; i++) {
        m.tree[i] = FOR_EVER;
    }
    m.least = FOR_EVER;
    (void)machine_mapping(ARENA, ARENA_BYTES);
    m.high_lines = machine_mapping(0, ARENA_BYTES / 64 * sizeof(line));
    m.low_lines = machine_mapping(0, LOW_BYTES / 64 * sizeof(line));
    m.sites = machine_mapping(0, SITES * sizeof(m.sites[0]));
}

void machine_run(void (*entry)(void *), void *arg) {
    (void)thread_new(entry, arg, NS(1000000000.0));
    m.current = 0;
    m.on = true;
    th_context_switch(&m.outside, &m.threads[0].context);
}
