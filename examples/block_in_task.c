/*
 * block_in_task.c: a task may block wherever it likes; its worker goes on with other tasks.
 *
 * Each step waits for the one before it. The last is started first, so nearly all of them block,
 * and a handful of threads carries them all.
 */
#include <stdio.h>
#include <thrum.h>

enum { STEPS = 1000 };

struct step {
    thrum_waitgroup done; /* 1 until `sum` is written */
    long sum;             /* 1 + 2 + ... up to this step's number */
};

static struct step steps[STEPS + 1];

static int add_up(void *arg) {
    struct step *step = arg;
    int err = thrum_waitgroup_wait(&step[-1].done); /* the fiber waits, not the thread */
    if (err == 0) {
        step->sum = step[-1].sum + (long)(step - steps);
    }
    thrum_waitgroup_done(&step->done);
    return err;
}

static int run(void *arg) {
    (void)arg;
    for (int i = 1; i <= STEPS; i++) {
        thrum_waitgroup_init(&steps[i].done, 1); /* all of them, before the first task waits */
    }
    for (int i = STEPS; i > 0; i--) {
        int err = thrum_go(add_up, &steps[i]);
        if (err != 0) {
            fprintf(stderr, "block_in_task: %s\n", thrum_strerror(err));
            return 1;
        }
    }
    if (thrum_waitgroup_wait(&steps[STEPS].done) != 0) {
        return 1;
    }
    printf("the sum up to %d is %ld\n", STEPS, steps[STEPS].sum);
    return steps[STEPS].sum == STEPS * (STEPS + 1L) / 2 ? 0 : 1;
}

int main(void) {
    /* steps[0] counts as done: a waitgroup of zeroes is at 0. */
    return thrum_run(NULL, run, NULL);
}
