/*
 * intrusive_tasks.c: the task is a member of the program's own object, so that posting it allocates
 * nothing. Until its body begins it belongs to the scheduler, from then on to the body.
 */
#include <stdio.h>
#include <thrum.h>

enum { JOBS = 64, ROUNDS = 3 };

struct job {
    thrum_task task;
    int rounds; /* how often it ran */
};

static struct job jobs[JOBS];
static thrum_waitgroup running = THRUM_WAITGROUP_INIT(JOBS);

static void run_job(thrum_task *self, void *arg) {
    struct job *job = arg;
    if (++job->rounds < ROUNDS) {
        /* It runs again, but after this body has returned, so two runs never overlap. */
        if (thrum_task_post(thrum_sched_current(), self) == 0) {
            return;
        }
    }
    thrum_waitgroup_done(&running);
}

int main(void) {
    thrum_sched *sched;
    int err = thrum_sched_start(&sched, NULL);
    if (err != 0) {
        fprintf(stderr, "intrusive_tasks: %s\n", thrum_strerror(err));
        return 1;
    }
    thrum_task *tasks[JOBS];
    for (int i = 0; i < JOBS; i++) {
        thrum_task_init(&jobs[i].task, run_job, &jobs[i]);
        tasks[i] = &jobs[i].task;
    }
    err = thrum_task_post(sched, tasks[0]); /* one */
    if (err == 0) {
        err = thrum_task_post_batch(sched, &tasks[1], JOBS - 1); /* many at the price of one */
    }
    if (err != 0) {
        fprintf(stderr, "intrusive_tasks: %s\n", thrum_strerror(err));
        return 1;
    }
    err = thrum_waitgroup_wait(&running); /* an external thread may wait, too */

    int rounds = 0;
    for (int i = 0; i < JOBS; i++) {
        rounds += jobs[i].rounds;
    }
    printf("%d jobs ran %d times\n", JOBS, rounds);
    return thrum_sched_stop(sched) == 0 && err == 0 && rounds == JOBS * ROUNDS ? 0 : 1;
}
