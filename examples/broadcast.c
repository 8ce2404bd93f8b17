/*
 * broadcast.c: a thermometer. Every reader gets each temperature, a display only wants the newest
 * one, and a sleepy reader finds out how many it has missed.
 */
#include <stdio.h>
#include <thrum.h>

enum { READERS = 3, READINGS = 100, KEPT = 128 };

static thrum_bcast *temperatures; /* of int */
static thrum_bcast_receiver readers[READERS], display, sleepy;

static int read_all(void *arg) {
    int temperature;
    int sum = 0;
    int err;
    while ((err = thrum_bcast_recv(arg, &temperature)) == 0) {
        sum += temperature;
    }
    return err == -EPIPE ? sum : err; /* -EPIPE: closed, and all received */
}

static int show_newest(void *arg) {
    int shown = -1;
    (void)arg;
    while (thrum_bcast_recv_latest(&display, &shown) == 0) {
    }
    return shown;
}

static int measure(void) {
    for (int i = 1; i <= READINGS; i++) {
        int err = thrum_bcast_send(temperatures, &i);
        if (err != 0) {
            return err;
        }
    }
    return thrum_bcast_close(temperatures);
}

/* More than the channel keeps: the first elements are overwritten. */
static int oversleep(void) {
    int temperature = 0;
    thrum_bcast *small;
    int err = thrum_bcast_create(&small, sizeof(int), 4);
    if (err != 0) {
        return err;
    }
    thrum_bcast_subscribe(small, &sleepy);
    for (int i = 1; i <= 10 && err == 0; i++) {
        err = thrum_bcast_send(small, &i);
    }
    err = err != 0 ? err : thrum_bcast_recv(&sleepy, &temperature);
    int missed = err == -EOVERFLOW ? (int)thrum_bcast_missed(&sleepy) : 0;
    err = thrum_bcast_recv(&sleepy, &temperature);
    thrum_bcast_destroy(small);
    printf("missed %d, then got %d\n", missed, temperature);
    return err;
}

static int run(void *arg) {
    thrum_handle *tasks[READERS + 1] = {NULL};
    int results[READERS + 1];
    int newest = 0;
    (void)arg;
    int err = thrum_bcast_create(&temperatures, sizeof(int), KEPT);
    if (err != 0) {
        return err;
    }
    thrum_bcast_subscribe(temperatures, &display);
    err = thrum_spawn(&tasks[READERS], show_newest, NULL);
    for (int i = 0; i < READERS && err == 0; i++) {
        thrum_bcast_subscribe(temperatures, &readers[i]);
        err = thrum_spawn(&tasks[i], read_all, &readers[i]);
    }
    int measured = measure(); /* it also closes, which ends the tasks */
    for (int i = 0; i <= READERS; i++) {
        int joined = tasks[i] ? thrum_join(tasks[i], &results[i]) : -ECANCELED;
        err = err != 0 ? err : joined;
    }
    err = err != 0 ? err : measured;
    err = err != 0 ? err : thrum_bcast_peek(temperatures, &newest);
    if (err == 0) {
        printf("sums %d %d %d, shown %d, newest %d\n", results[0], results[1], results[2],
               results[READERS], newest);
        err = oversleep();
    }
    thrum_bcast_destroy(temperatures);
    return err;
}

int main(void) {
    return thrum_run(NULL, run, NULL) != 0;
}
