/*
 * config.c: setting up a scheduler. thrum_config_init fills in the defaults, then the environment's
 * settings; the program's later settings win.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <thrum.h>

static atomic_int started, stopped;

static void count_start(void *ctx, int worker) {
    (void)worker;
    atomic_fetch_add((atomic_int *)ctx, 1);
}

static void count_stop(void *ctx, int worker) {
    (void)ctx;
    (void)worker;
    atomic_fetch_add(&stopped, 1);
}

static int check(bool right, const char *what) {
    if (!right) {
        fprintf(stderr, "config: %s\n", what);
    }
    return right ? 0 : 1;
}

int main(void) {
    setenv("THRUM_WORKERS", "3", 1); /* the user usually sets it */
    setenv("THRUM_POLICY", "global", 1);

    thrum_config config;
    thrum_config_init(&config);
    int wrong = check(config.workers == 3, "THRUM_WORKERS was not read");
    wrong |= check(config.policy == THRUM_GLOBAL, "THRUM_POLICY was not read");

    config.name = "bakery"; /* names the threads: see `top -H` */
    config.policy = THRUM_SHARDED;
    config.stack_size = 64 * 1024; /* of each fiber; 128 KiB is the default */
    config.hook_ctx = &started;
    config.worker_start = count_start; /* on the worker's own thread */
    config.worker_stop = count_stop;

    thrum_sched *sched;
    int err = thrum_sched_start(&sched, &config);
    if (err != 0) {
        fprintf(stderr, "config: %s\n", thrum_strerror(err));
        return 1;
    }
    int workers = (int)thrum_sched_parallelism(sched);
    wrong |= check(thrum_sched_stop(sched) == 0, "it did not stop");
    wrong |= check(workers >= 1 && workers <= 3, "not the workers that were asked for");
    wrong |= check(atomic_load(&started) == workers, "worker_start was not called once a worker");
    wrong |= check(atomic_load(&stopped) == workers, "worker_stop was not called once a worker");

    config.workers = THRUM_WORKERS_MAX + 1;
    char why[100];
    wrong |= check(thrum_sched_start(&sched, &config) == -EINVAL, "too many workers were accepted");
    wrong |= check(thrum_config_check(&config, why, sizeof why) == -EINVAL, "nothing is wrong");
    printf("refused: %s\n", why);
    printf("%d workers came and went\n", workers);
    return wrong;
}
