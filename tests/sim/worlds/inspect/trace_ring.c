/*
 * trace_ring.c: a trace ring (queue/README.md, "trace ring"): one thread leaves marks, others read
 * them meanwhile. Trace rings of 2 and 4, so that slots are written again at once.
 */
#include "queue/trace_ring.h"

#include "sim.h"

static uint64_t words[4 * TH_TRACE_RING_WORDS];
static th_trace_ring ring;
static unsigned marks; /* constant once it runs */

/* Mark n consists only of n. */
static th_mark mark_of(uint64_t n) {
    th_mark mark;
    for (unsigned i = 0; i < TH_TRACE_RING_WORDS; i++) {
        mark.word[i] = n + 1;
    }
    return mark;
}

static void leaves_marks(void *arg) {
    (void)arg;
    for (unsigned n = 0; n < marks; n++) {
        th_mark mark = mark_of(n);
        sim_check(th_trace_ring_add(&ring, &mark) == n);
    }
}

/* Marks that are read are whole; all marks there at rest are read, except one slot. */
static uint64_t read_all(void) {
    uint64_t tail = th_trace_ring_tail(&ring);
    uint64_t read = 0;
    for (uint64_t n = th_trace_ring_first(&ring, tail); n < tail; n++) {
        th_mark mark;
        if (th_trace_ring_read(&ring, n, &mark)) {
            read++;
            for (unsigned i = 0; i < TH_TRACE_RING_WORDS; i++) {
                sim_check(mark.word[i] == n + 1);
            }
        }
    }
    return read;
}

/* A mark is read while it is overwritten. */
SIM_WORLD(trace_ring_read) {
    marks = 4;
    th_trace_ring_init(&ring, words, 2);
    int t = sim_spawn(leaves_marks, NULL);
    read_all();
    read_all();
    sim_join(t);
    sim_check(read_all() == 1);
}

/* The first marks of a ring that is not full: only xtail publishes them. */
SIM_WORLD(trace_ring_published) {
    marks = 2;
    th_trace_ring_init(&ring, words, 4);
    int t = sim_spawn(leaves_marks, NULL);
    read_all();
    sim_join(t);
    sim_check(read_all() == 2);
}

/* ---- open marks ---- */

#define HOW 7u

static void leaves_open(void *arg) {
    (void)arg;
    th_mark mark = {{0}};
    th_mark instant = mark_of(0);
    uint64_t open = th_trace_ring_add(&ring, &mark);
    for (unsigned n = 0; n < marks; n++) {
        th_trace_ring_add(&ring, &instant);
    }
    sim_check(th_trace_ring_end(&ring, open, HOW + 1, HOW) == (marks < ring.mask));
}

static void read_open(void) {
    th_mark mark;
    if (th_trace_ring_tail(&ring) && th_trace_ring_read(&ring, 0, &mark) &&
        mark.word[TH_TRACE_RING_END]) {
        sim_check(mark.word[TH_TRACE_RING_END] == HOW + 1);
        sim_check(mark.word[TH_TRACE_RING_HOW] == HOW);
    }
}

/*
 * A reader that sees the end sees how it ended; an end in a slot that has another mark by now is
 * not set.
 */
SIM_WORLD(trace_ring_end) {
    marks = sim_pick(3);
    th_trace_ring_init(&ring, words, sim_pick(2) ? 2 : 4);
    int t = sim_spawn(leaves_open, NULL);
    read_open();
    read_open();
    sim_join(t);
}
