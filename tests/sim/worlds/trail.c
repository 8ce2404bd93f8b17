/*
 * trail.c: a trail (queue/README.md, "trail"): one thread leaves marks, others read them meanwhile.
 * Trails of 2 and 4, so that slots are written again at once.
 */
#include "queue/trail.h"

#include "sim.h"

static uint64_t words[4 * TH_TRAIL_WORDS];
static th_trail trail;
static unsigned marks; /* constant once it runs */

/* Mark n has nothing but n. */
static th_mark mark_of(uint64_t n) {
    th_mark mark;
    for (unsigned i = 0; i < TH_TRAIL_WORDS; i++) {
        mark.word[i] = n + 1;
    }
    return mark;
}

static void leaves_marks(void *arg) {
    (void)arg;
    for (unsigned n = 0; n < marks; n++) {
        th_mark mark = mark_of(n);
        sim_check(th_trail_add(&trail, &mark) == n);
    }
}

/* What is read is whole; and of what is there at rest, all but one slot is read. */
static uint64_t read_all(void) {
    uint64_t tail = th_trail_tail(&trail);
    uint64_t read = 0;
    for (uint64_t n = th_trail_first(&trail, tail); n < tail; n++) {
        th_mark mark;
        if (th_trail_read(&trail, n, &mark)) {
            read++;
            for (unsigned i = 0; i < TH_TRAIL_WORDS; i++) {
                sim_check(mark.word[i] == n + 1);
            }
        }
    }
    return read;
}

/* A mark is read while it is overwritten. */
SIM_WORLD(trail_read) {
    marks = 4;
    th_trail_init(&trail, words, 2);
    int t = sim_spawn(leaves_marks, NULL);
    read_all();
    read_all();
    sim_join(t);
    sim_check(read_all() == 1);
}

/* The first marks of one that is not full: nothing but xtail publishes them. */
SIM_WORLD(trail_published) {
    marks = 2;
    th_trail_init(&trail, words, 4);
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
    uint64_t open = th_trail_add(&trail, &mark);
    for (unsigned n = 0; n < marks; n++) {
        th_trail_add(&trail, &instant);
    }
    sim_check(th_trail_end(&trail, open, HOW + 1, HOW) == (marks < trail.mask));
}

static void read_open(void) {
    th_mark mark;
    if (th_trail_tail(&trail) && th_trail_read(&trail, 0, &mark) && mark.word[TH_TRAIL_END]) {
        sim_check(mark.word[TH_TRAIL_END] == HOW + 1);
        sim_check(mark.word[TH_TRAIL_HOW] == HOW);
    }
}

/* Who sees the end sees how; an end in a slot that has another mark by now is not set. */
SIM_WORLD(trail_end) {
    marks = sim_pick(3);
    th_trail_init(&trail, words, sim_pick(2) ? 2 : 4);
    int t = sim_spawn(leaves_open, NULL);
    read_open();
    read_open();
    sim_join(t);
}
