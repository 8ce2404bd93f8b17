/*
 * order.c: planted faults of order: races, missing releases, locks that are none, livelock, and the
 * deque whose fence is missing.
 */
#include "planted.h"
#include "platform/platform.h"

static unsigned data, flag, lock;

/* ---- races ---- */

THREAD(counts) {
    data++;
}
/* Two threads count, without any order. */
PLANTED(race, "race") {
    int t = sim_spawn(counts, NULL);
    data++;
    sim_join(t);
}

/* The starter's accesses after the start are not ordered. */
PLANTED(race_after_start, "race") {
    data = 1;
    int t = sim_spawn(counts, NULL);
    data = 2;
    sim_join(t);
}

static struct { uint8_t bytes[8]; } cell;

static void touches(void *arg) {
    uint8_t *at = arg;
    *at = 1;
}
/*
 * Eight threads write one word, each a byte of its own; the ninth access is to the first one's
 * byte.
 */
PLANTED(race_among_bytes, "race") {
    int threads[7];
    for (unsigned i = 0; i < 7; i++) {
        threads[i] = sim_spawn(touches, &cell.bytes[i]);
    }
    th_store_relaxed(&flag, 1u);
    cell.bytes[7] = 1;
    cell.bytes[0] = 1;
    for (unsigned i = 0; i < 7; i++) {
        sim_join(threads[i]);
    }
}

/* An atomic access races with a plain one. */
THREAD(adds) {
    th_add_relaxed(&data, 1u);
}
PLANTED(race_half_atomic, "race") {
    int t = sim_spawn(adds, NULL);
    data++;
    sim_join(t);
}

/* ---- a missing release, a missing acquire ---- */

THREAD(publishes_relaxed) {
    data = 1;
    th_store_relaxed(&flag, 1u);
}
/* The race shows in every mode: it is judged by the orders in the source. */
PLANTED(no_release, "race") {
    int t = sim_spawn(publishes_relaxed, NULL);
    if (th_load_acquire(&flag)) {
        data++;
    }
    sim_join(t);
}

THREAD(publishes) {
    data = 1;
    th_store_release(&flag, 1u);
}
/* The acquire is missing. */
PLANTED(no_acquire, "race") {
    int t = sim_spawn(publishes, NULL);
    if (th_load_relaxed(&flag)) {
        data++;
    }
    sim_join(t);
}

static unsigned version;

THREAD(writes_version) {
    th_store_relaxed(&data, 1u);
    th_store_relaxed(&version, 1u); /* this should release */
}
/* All accesses are atomic, so there is no race: only the old value shows it. */
PLANTED_C11(stale_value, "check") {
    int t = sim_spawn(writes_version, NULL);
    if (th_load_acquire(&version)) {
        sim_check(th_load_relaxed(&data) == 1);
    }
    sim_join(t);
}

/* ---- locks that are none ---- */

THREAD(looks_then_locks) {
    while (th_load_acquire(&lock)) {
        th_os_relax();
    }
    th_store_relaxed(&lock, 1u); /* the look and the step are two operations */
    data++;
    th_store_release(&lock, 0u);
}
PLANTED(lock_in_two_steps, "race") {
    int t = sim_spawn(looks_then_locks, NULL);
    looks_then_locks(NULL);
    sim_join(t);
}

THREAD(locks_relaxed) {
    unsigned free = 0;
    while (!th_cas_relaxed(&lock, &free, 1u)) { /* this should acquire */
        free = 0;
        th_os_relax();
    }
    data++;
    th_store_release(&lock, 0u);
}
/* One thread at a time is inside, but the data does not come along. */
PLANTED(lock_without_acquire, "race") {
    int t = sim_spawn(locks_relaxed, NULL);
    locks_relaxed(NULL);
    sim_join(t);
}

THREAD(flags_0) {
    th_store_relaxed(&flag, 1u);
    if (!th_load_acquire(&lock)) {
        sim_check(th_add_relaxed(&data, 1u) == 0);
        th_sub_relaxed(&data, 1u);
    }
    th_store_release(&flag, 0u);
}
THREAD(flags_1) {
    th_store_relaxed(&lock, 1u);
    if (!th_load_acquire(&flag)) {
        sim_check(th_add_relaxed(&data, 1u) == 0);
        th_sub_relaxed(&data, 1u);
    }
    th_store_release(&lock, 0u);
}
/* Two flags have no fences: both threads see the other's down. */
PLANTED_TSO(lock_of_two_flags, "check") {
    int t = sim_spawn(flags_0, NULL);
    flags_1(NULL);
    sim_join(t);
}

/* ---- livelock ---- */

static unsigned wants[2];

static void polite(unsigned self) {
    for (;;) {
        th_store_seq(&wants[self], 1u);
        if (!th_load_seq(&wants[1 - self])) {
            break;
        }
        th_store_seq(&wants[self], 0u);
        while (th_load_seq(&data) == 0) { /* waits for a word that is never set */
            th_os_relax();
        }
    }
    th_store_seq(&wants[self], 0u);
}
THREAD(polite_1) {
    polite(1);
}
/* Each thread waits for a step of the other's that does not come, and spins. */
PLANTED(livelock, "livelock", .steps_max = 2000) {
    int t = sim_spawn(polite_1, NULL);
    polite(0);
    sim_join(t);
}

/* ---- a deque of Chase and Lev ---- */

#define ROOM 4
static unsigned slots[ROOM], payload[3];
static int64_t xtop, xbottom;

static void deque_push(unsigned item, bool fence) {
    int64_t b = th_load_relaxed(&xbottom);
    th_store_relaxed(&slots[b % ROOM], item);
    if (fence) {
        th_fence_release();
    }
    th_store_relaxed(&xbottom, b + 1);
}

static unsigned deque_steal(void) {
    int64_t t = th_load_acquire(&xtop);
    th_fence_seq();
    int64_t b = th_load_acquire(&xbottom);
    if (t >= b) {
        return 0;
    }
    unsigned item = th_load_relaxed(&slots[t % ROOM]);
    return th_cas_seq(&xtop, &t, t + 1) ? item : 0;
}

static unsigned deque_pop(void) {
    int64_t b = th_load_relaxed(&xbottom) - 1;
    th_store_relaxed(&xbottom, b);
    th_fence_seq();
    int64_t t = th_load_relaxed(&xtop);
    unsigned item = 0;
    if (t <= b) {
        item = th_load_relaxed(&slots[b % ROOM]);
        if (t == b) {
            if (!th_cas_seq(&xtop, &t, t + 1)) {
                item = 0;
            }
            th_store_relaxed(&xbottom, b + 1);
        }
    } else {
        th_store_relaxed(&xbottom, b + 1);
    }
    return item;
}

/* The slots are atomic: the fault is an old slot or a second taker, not a race. */
static void consume(unsigned item) {
    sim_check(item == 0 || th_add_relaxed(&payload[item], 1u) == 0);
}

THREAD(thief) {
    for (unsigned i = 0; i < 2; i++) {
        consume(deque_steal());
    }
}

static void deque(bool fence) {
    int t = sim_spawn(thief, NULL);
    deque_push(1, fence);
    deque_push(2, fence);
    consume(deque_pop());
    sim_join(t);
    consume(deque_pop());
    sim_check(th_load_relaxed(&payload[1]) == 1 && th_load_relaxed(&payload[2]) == 1);
}

/* The thief sees the new bottom and the old slot: neither interleaving nor store buffers show it.
 */
PLANTED_C11(deque_no_fence, "check") {
    deque(false);
}

/* With its fence the same deque has no fault: so it is the fence that is found. */
SIM_WORLD(planted_deque_sound) {
    deque(true);
}
