/*
 * pool.c: the engine that has operations made by threads (pools/jobs.h).
 */
#include <errno.h>

#include "file/pool.h"

#define THREADS_MAX 32u
#define HANGING_MAX 992u
#define PATIENCE THRUM_MS(20)
#define LINGER THRUM_S(5)

static void run(th_job *job) {
    th_operation_make((th_operation *)(void *)job);
}

static void end(th_job *job) {
    th_operation_free((th_operation *)(void *)job);
}

th_jobs th_file_jobs = {.name = "thrum-file",
                        .on = TH_ON_FILE,
                        .run = run,
                        .end = end,
                        .threads_max = THREADS_MAX,
                        .hanging_max = HANGING_MAX,
                        .patience = PATIENCE,
                        .linger = LINGER};
#define jobs th_file_jobs

int th_file_pool_wait(th_operation *operation, th_waiter *me, thrum_time deadline) {
    const int code = th_jobs_wait(&jobs, &operation->job, me, deadline);
    return code ? code : operation->job.code;
}

void th_file_pool_put(th_operation *operation) {
    th_jobs_begin(&jobs);
    th_lock_acquire(&jobs.lock);
    operation->asked = true;
    const th_jobs_call call = th_jobs_put(&jobs, &operation->job);
    th_jobs_unlock(&jobs, call);
}

int th_file_pool_ask(th_operation *operation, thrum_time deadline) {
    th_job *job = &operation->job;
    th_waiter me;
    th_jobs_call call = {0};
    th_jobs_begin(&jobs);
    th_lock_acquire(&jobs.lock);
    operation->asked = true;
    if (job->state == TH_JOB_DONE && operation->made) { /* since it was asked before */
        th_lock_release(&jobs.lock);
        return 0;
    }
    if (job->state == TH_JOB_NEW || job->state == TH_JOB_DONE) {
        call = th_jobs_put(&jobs, job);
    }
    th_jobs_join(&jobs, job, &me, operation->told);
    th_jobs_unlock(&jobs, call);
    return th_file_pool_wait(operation, &me, deadline);
}
