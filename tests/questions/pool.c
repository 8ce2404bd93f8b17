/* pool.c: "Calls to thrum_blocking start late." Two threads of the pool are held by slow ones. */
#include <semaphore.h>
#include <stdio.h>
#include <thrum.h>

static sem_t disk;
static thrum_waitgroup waits;

static int slow_read(void *arg) {
    (void)arg;
    return sem_wait(&disk);
}

static int loads(void *arg) {
    int result;
    int err = thrum_blocking(slow_read, arg, &result);
    thrum_waitgroup_done(&waits);
    return err != 0 ? err : result;
}

static int start(void *arg) {
    thrum_metrics m = THRUM_METRICS_INIT;
    int err = 0;
    (void)arg;
    sem_init(&disk, 0, 0);
    thrum_waitgroup_init(&waits, 0);
    thrum_waitgroup_add(&waits, 10);
    for (int i = 0; i < 10 && err == 0; i++) {
        err = thrum_go(loads, NULL);
    }
    while (err == 0 && (m.blocking_running < 2 || m.blocking_queued < 8)) {
        thrum_yield();
        err = thrum_metrics_read(thrum_sched_current(), THRUM_ALL_WORKERS, &m);
    }
    err = err != 0 ? err : thrum_metrics_print(thrum_sched_current(), stdout, THRUM_TEXT);
    for (int i = 0; i < 10; i++) {
        sem_post(&disk);
    }
    return err != 0 ? err : thrum_waitgroup_wait(&waits);
}

int main(void) {
    return thrum_run(NULL, start, NULL);
}
