/*
 * named.c: for thrum-names.sh: a fiber waits in a call that is inlined. Prints a dump, as text or,
 * with an argument, as JSON.
 */
#include <stdio.h>
#include <thrum.h>
#include <thrum/dump.h>

static thrum_sem sem;

static inline __attribute__((always_inline)) int waits_inlined(volatile int *kept) {
    const int result = thrum_sem_wait(&sem);
    *kept += result;
    return result;
}

static __attribute__((noinline)) int waits_below(void *arg) {
    volatile int kept = 1;
    (void)arg;
    return waits_inlined(&kept) + kept - 1;
}

static int prints(void *json) {
    thrum_handle *waiter;
    thrum_sem_init(&sem, 0);
    int code = thrum_spawn(&waiter, waits_below, NULL);
    if (code != 0) {
        return code;
    }
    for (int i = 0; i < 100; i++) {
        thrum_yield();
    }
    code = thrum_dump(thrum_sched_current(), stdout, json ? THRUM_JSON : THRUM_TEXT);
    thrum_sem_post(&sem);
    const int joined = thrum_join(waiter, NULL);
    return code != 0 ? code : joined;
}

int main(int argc, char **argv) {
    thrum_config config;
    thrum_config_init(&config);
    config.workers = 1;
    return thrum_run(&config, prints, argc > 1 ? argv[1] : NULL);
}
