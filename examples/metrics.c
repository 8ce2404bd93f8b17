/*
 * metrics.c: the workers' counters. Reading stops no worker; the figures of one program are read
 * here after it has gone quiet, so they add up.
 */
#include <stdio.h>
#include <thrum.h>

enum { TASKS = 200 };

static thrum_waitgroup ended = THRUM_WAITGROUP_INIT(TASKS);
static thrum_event go = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);

static int wait_a_little(void *arg) {
    (void)arg;
    int err = thrum_event_wait(&go);
    thrum_waitgroup_done(&ended);
    return err;
}

int main(void) {
    thrum_sched *sched;
    int err = thrum_sched_start(&sched, NULL);
    if (err != 0) {
        fprintf(stderr, "metrics: %s\n", thrum_strerror(err));
        return 1;
    }
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    for (int i = 0; i < TASKS; i++) {
        if (thrum_go_with(&attr, wait_a_little, NULL) != 0) {
            return 1;
        }
    }
    if (thrum_sched_wait_idle(sched, THRUM_FOREVER) != 0) { /* all of them wait for the event */
        return 1;
    }
    thrum_event_signal(&go);
    if (thrum_waitgroup_wait(&ended) != 0 || thrum_sched_wait_done(sched, THRUM_FOREVER) != 0) {
        return 1;
    }

    thrum_metrics all = THRUM_METRICS_INIT;
    err = thrum_metrics_read(sched, THRUM_ALL_WORKERS, &all);
    printf("%llu tasks, %llu waits, %llu switches, %llu stacks\n",
           (unsigned long long)all.tasks_started, (unsigned long long)all.suspends,
           (unsigned long long)all.switches, (unsigned long long)all.stacks_created);
    if (thrum_metrics_print(sched, stdout, THRUM_TEXT) != 0) { /* a column a worker */
        err = 1;
    }
    bool right = all.tasks_started == TASKS && all.suspends >= TASKS;
    return thrum_sched_stop(sched) == 0 && err == 0 && right ? 0 : 1;
}
