/*
 * pinned.c: a task moves between threads whenever it waits, unless it is pinned to one worker. Pin
 * tasks with state that belongs to a thread: thread-local variables, a graphics context.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <thrum.h>

enum { TASKS = 20, ROUNDS = 10 };

static _Thread_local int visits; /* safe without a lock: each task stays on its thread */
static atomic_int total, strayed;

static int tour(void *arg) {
    int home = thrum_worker_id();
    int *mine = &visits; /* kept across waits: right only because the task is pinned */
    for (int i = 0; i < ROUNDS; i++) {
        *mine += 1;
        thrum_yield();
        if (thrum_worker_id() != home || mine != &visits) {
            atomic_fetch_add(&strayed, 1);
        }
    }
    atomic_fetch_add(&total, ROUNDS);
    return !arg ? 0 : 1;
}

static int run(void *arg) {
    (void)arg;
    int workers = (int)thrum_sched_parallelism(thrum_sched_current());
    thrum_handle *tours[TASKS];
    for (int i = 0; i < TASKS; i++) {
        thrum_attr attr = THRUM_ATTR_INIT;
        attr.flags = THRUM_PINNED;
        attr.worker = i % workers; /* -1 would mean the worker that runs this */
        int err = thrum_spawn_with(&tours[i], &attr, tour, NULL);
        if (err != 0) {
            fprintf(stderr, "pinned: %s\n", thrum_strerror(err));
            return 1;
        }
    }
    int failed = 0;
    for (int i = 0; i < TASKS; i++) {
        int result;
        failed |= thrum_join(tours[i], &result) | result;
    }
    return failed;
}

int main(void) {
    int err = thrum_run(NULL, run, NULL);
    printf("%d visits, %d away from home\n", atomic_load(&total), atomic_load(&strayed));
    return err == 0 && atomic_load(&total) == TASKS * ROUNDS && atomic_load(&strayed) == 0 ? 0 : 1;
}
