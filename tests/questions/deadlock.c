/*
 * deadlock.c: "Two tasks wait for each other." Each holds the account that the other wants, while a
 * timer ticks.
 */
#include <thrum.h>

static thrum_mutex savings, current;
static thrum_barrier both;

static int moves(thrum_mutex *from, thrum_mutex *to) {
    thrum_mutex_lock(from);
    int err = thrum_barrier_wait(&both);
    if (err >= 0) {
        thrum_mutex_lock(to);
        thrum_mutex_unlock(to);
    }
    thrum_mutex_unlock(from);
    return err;
}

static int saves(void *arg) {
    (void)arg;
    return moves(&current, &savings);
}

static int spends(void *arg) {
    (void)arg;
    return moves(&savings, &current);
}

static int beats(void *arg) {
    (void)arg;
    while (thrum_sleep(10000000) == 0) {
    }
    return 0;
}

static int start(void *arg) {
    thrum_handle *saver;
    int result;
    (void)arg;
    thrum_mutex_init(&savings);
    thrum_mutex_init(&current);
    thrum_barrier_init(&both, 2);
    int err = thrum_go(beats, NULL);
    err = err ? err : thrum_spawn(&saver, saves, NULL);
    if (err == 0) {
        spends(NULL);
        err = thrum_join(saver, &result);
    }
    return err;
}

int main(void) {
    return thrum_run(NULL, start, NULL);
}
