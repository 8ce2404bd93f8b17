/* slower.c: "It is slow with more workers." Many sums of a few numbers each, a task each. */
#include <stdio.h>
#include <stdlib.h>
#include <thrum.h>

enum { SUMS = 200000 };

static int parts = SUMS; /* tasks */
static thrum_waitgroup done;
static volatile unsigned long sums[SUMS];

static int sum_some(void *arg) {
    unsigned *first = arg;
    for (unsigned i = *first; i < *first + SUMS / (unsigned)parts; i++) {
        for (unsigned k = 0; k < 100; k++) {
            sums[i] += k * i;
        }
    }
    thrum_waitgroup_done(&done);
    return 0;
}

static int start(void *arg) {
    unsigned *firsts = arg;
    const thrum_time begun = thrum_now();
    int err = 0;
    thrum_waitgroup_init(&done, 0);
    thrum_waitgroup_add(&done, parts);
    for (int i = 0; i < parts && err == 0; i++) {
        firsts[i] = (unsigned)i * (SUMS / (unsigned)parts);
        err = thrum_go(sum_some, &firsts[i]);
    }
    err = err != 0 ? err : thrum_waitgroup_wait(&done);
    printf("took_ms %.1f\n", (double)(thrum_now() - begun) / 1e6);
    return err != 0 ? err : thrum_metrics_print(thrum_sched_current(), stdout, THRUM_TEXT);
}

int main(int argc, char **argv) {
    parts = argc > 1 ? atoi(argv[1]) : SUMS;
    unsigned *firsts = calloc((size_t)parts, sizeof *firsts);
    int err = firsts ? thrum_run(NULL, start, firsts) : -1;
    free(firsts);
    return err;
}
