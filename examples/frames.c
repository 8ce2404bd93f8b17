/*
 * frames.c: a game's main loop. Its thread draws, and the tasks that belong to it run in what is
 * left of each frame: thrum_sched_step runs what is due and ready until the frame is over. Without
 * workers no other thread runs them, so they need no locks.
 *
 * A sheep moves at a pace of its own, a wolf waits for its howl, and a loader does a large piece of
 * work in small parts. The loop ends when all three have ended.
 */
#include <stdio.h>
#include <thrum.h>

enum { MOVES = 5, PARTS = 2000, FRAME_MS = 2 };

static thrum_event howl = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
static int moved, loaded, living = 3; /* of one thread: neither locked nor atomic */

static int sheep(void *arg) {
    int err = 0;
    (void)arg;
    for (; err == 0 && moved < MOVES; moved++) {
        err = thrum_sleep(THRUM_MS(1));
    }
    thrum_event_signal(&howl);
    living--;
    return err;
}

static int wolf(void *arg) {
    int err = thrum_event_wait(&howl);
    (void)arg;
    living--;
    return err;
}

static int loader(void *arg) {
    (void)arg;
    for (; loaded < PARTS; loaded++) {
        thrum_yield(); /* the others, and the frame's end, come between two parts */
    }
    living--;
    return 0;
}

static int play(void) {
    int err = thrum_go(sheep, NULL);
    err = err ? err : thrum_go(wolf, NULL);
    err = err ? err : thrum_go(loader, NULL);
    while (err == 0 && living > 0) {
        const thrum_time end = thrum_after_ms(FRAME_MS);
        /* ... input, physics, drawing ... */
        err = thrum_sched_step(end);
        err = err == -ETIMEDOUT ? 0 : err; /* there is more to run: in the next frame */
        /* ... wait for the screen, until `end` at the latest ... */
    }
    return err;
}

int main(void) {
    thrum_config config;
    thrum_sched *sched;
    thrum_config_init(&config);
    config.workers = 0;
    int err = thrum_sched_start(&sched, &config);
    if (err == 0) {
        err = thrum_sched_bind(sched);
        err = err ? err : play();
        (void)thrum_sched_unbind(); /* it returns: no task is left that waits */
        (void)!thrum_sched_stop(sched);
    }
    if (err != 0) {
        fprintf(stderr, "frames: %s\n", thrum_strerror(err));
        return 1;
    }
    printf("%d moves, %d parts\n", moved, loaded);
    return moved == MOVES && loaded == PARTS ? 0 : 1;
}
