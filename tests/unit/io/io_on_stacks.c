/*
 * io_on_stacks.c: a worker that looks for events does so on the stack of the fiber that is about to
 * wait. What it writes there it hides from the thread sanitizer (base/annotate.h), which would see
 * it race with what the fiber writes at the same place when it goes on.
 */
/* matrix: policy workers */
#include "support/io/io.h"

enum { PAIRS = 16, ROUNDS = 300, DEEP = 4096 };

typedef struct scene {
    ends e[PAIRS];
} scene;

/* Writes where the functions below were, that have made the fiber wait. */
static __attribute__((noinline)) void writes_deep(void) {
    char bytes[DEEP];
    memset(bytes, 1, sizeof bytes);
    __asm__ volatile("" ::"r"(bytes) : "memory");
}

static int talks(void *arg) {
    const thrum_io io = *(thrum_io *)arg;
    for (int i = 0; i < ROUNDS; i++) {
        char byte = 1;
        CHECK_EQ(thrum_write(io, &byte, 1), 1);
        writes_deep();
        CHECK_EQ(thrum_read(io, &byte, 1), 1);
        writes_deep();
    }
    return 0;
}

static int begins_talks(void *arg) {
    scene *s = arg;
    for (int i = 0; i < 2 * PAIRS; i++) {
        CHECK_EQ(thrum_go(talks, &s->e[i / 2].io[i % 2]), 0);
    }
    return 0;
}

TEST(fibers_talk_while_workers_look_on_their_stacks) {
    /* Many, so that there are events at most looks. */
    rig r;
    scene s;
    rig_begin(&r, 0);
    for (int i = 0; i < PAIRS; i++) {
        ends_open(&s.e[i], UNIX);
    }
    rig_go(&r, begins_talks, &s);
    rig_wait_done(&r);
    for (int i = 0; i < PAIRS; i++) {
        ends_close(&s.e[i]);
    }
    rig_stop(&r);
}
