/*
 * orders.h: two tasks, of which one writes and tells the other, which then reads.
 */
#ifndef ORDERS_H
#define ORDERS_H

#include "kernels.h"

static int data[4];

static void writes(void) {
    for (int i = 0; i < 4; i++) {
        data[i] = i + 1;
    }
}

static void reads(void) {
    int copy[4];
    memcpy(copy, data, sizeof copy);
    for (int i = 0; i < 4; i++) {
        THRUM_TEST(copy[i] == i + 1 || !fixed);
    }
}

/* A task that writes, and then tells it, in the way of the kernel. */
static void (*tells)(void);

static int writes_and_tells(void *arg) {
    (void)arg;
    if (fixed) {
        writes();
    }
    tells();
    if (!fixed) {
        writes();
    }
    return 0;
}

static void begin(void (*how)(void)) {
    tells = how;
    go(writes_and_tells, NULL);
}

static int read_and_join(void) {
    reads();
    join_all();
    return 0;
}

static int total;

#endif
