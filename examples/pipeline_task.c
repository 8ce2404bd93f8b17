/*
 * pipeline_task.c: one task that does its work in steps. Each step starts something that ends later
 * and elsewhere, and the task goes on from the callback that reports it. In between it waits
 * without a stack: a million such pipelines cost only their structs.
 */
#include <stdio.h>
#include <thrum.h>

enum { SQUARES = 3 };

/* Something that answers by a callback: a driver, a client library. Here it is a fiber. */
struct service {
    void (*done)(void *arg, long answer);
    void *arg;
    long question;
};

static int serve(void *arg) {
    struct service *service = arg;
    int err = thrum_sleep(1000000); /* it takes its time */
    service->done(service->arg, service->question * service->question);
    return err; /* cancelled, it only answered sooner */
}

struct pipeline {
    thrum_task task;
    struct service service;
    long value;
    int step; /* where to go on, which a thread would keep on its stack */
    int err;
};

/* The callback, on any thread. Its writes are visible to the run that it causes. */
static void answered(void *arg, long answer) {
    struct pipeline *p = arg;
    p->value = answer;
    thrum_task_wakeup(&p->task); /* the body may run before this returns: touch nothing after it */
}

static void run_step(thrum_task *self, void *arg) {
    struct pipeline *p = arg;
    if (p->step++ == SQUARES) {
        return; /* not posted again: the pipeline is done */
    }
    p->service = (struct service){.done = answered, .arg = p, .question = p->value};
    p->err = thrum_go(serve, &p->service);
    if (p->err == 0) {
        /* This takes effect when the body returns. An answer that is faster than that is not lost:
         * a wakeup is remembered, and the next run comes at once. */
        p->err = thrum_task_post_wait(thrum_sched_current(), self);
    }
}

int main(void) {
    thrum_sched *sched;
    int err = thrum_sched_start(&sched, NULL);
    if (err != 0) {
        fprintf(stderr, "pipeline_task: %s\n", thrum_strerror(err));
        return 1;
    }
    struct pipeline p = {.value = 3};
    thrum_task_init(&p.task, run_step, &p);
    err = thrum_task_post(sched, &p.task);
    if (err == 0) {
        err = thrum_sched_wait_done(sched, THRUM_FOREVER); /* until no task is posted any longer */
    }
    printf("3 squared %d times is %ld\n", SQUARES, p.value);
    return thrum_sched_stop(sched) == 0 && err == 0 && p.err == 0 && p.value == 6561 ? 0 : 1;
}
