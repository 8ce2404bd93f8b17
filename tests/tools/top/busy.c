/*
 * busy.c: a program for thrum-top to look at: some tasks all the time, some that wait, and names
 * that are no text. It prints a line when it has begun, and ends when stdin does.
 */
#include <stdio.h>
#include <unistd.h>

#include "thrum.h"

static thrum_sem never = THRUM_SEM_INIT(0);

static int leaf(void *arg) {
    (void)arg;
    return 0;
}

/* For a millisecond or so: long enough to be met. */
static int computes(void *arg) {
    (void)arg;
    for (volatile int i = 0; i < 500000; i++) {
    }
    return 0;
}

static int waits_for_ever(void *arg) {
    (void)arg;
    const int err = thrum_sem_wait(&never);
    return err == 0 ? 1 : err; /* no jump: the call is to be told */
}

static int makes_work(void *arg) {
    int err = 0;
    (void)arg;
    while (err == 0) {
        for (int i = 0; i < 100 && err == 0; i++) {
            err = thrum_go(leaf, NULL);
        }
        err = err != 0 ? err : thrum_go(computes, NULL);
        err = err != 0 ? err : thrum_sleep(1000000);
    }
    return err;
}

int main(void) {
    char byte;
    thrum_sched *sched;
    thrum_config config;
    thrum_config_init(&config);
    config.name = "b\x1b[2J\xff\"y";
    config.observe = true;
    if (thrum_sched_start(&sched, &config) != 0) {
        return 1;
    }
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    attr.name = "w\x1b]0;x\x07\xfe";
    int err = thrum_go_with(&attr, makes_work, NULL);
    for (int i = 0; i < 7 && err == 0; i++) {
        err = thrum_go_with(&attr, waits_for_ever, NULL);
    }
    if (err != 0) {
        return 1;
    }
    puts("begun");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    return thrum_sched_stop_until(sched, 0) == -ETIMEDOUT ? thrum_sched_stop(sched) : 0;
}
