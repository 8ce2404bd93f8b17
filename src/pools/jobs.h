/*
 * jobs.h: calls that block a thread for as long as they like, and the threads that make them.
 *
 *   job      one such call, counted: by its callers and, from its being queued to its end, by its
 *            list. A caller may leave it alone, so it must own all memory that the call touches;
 *            but jobs with a `leave` belong to a caller that stays until they end
 *   jobs     the jobs of one kind, and the threads that make their calls: those of the process,
 *            which no stop and nothing else ever joins, or of a scheduler (blocking.c)
 *
 * A job is in one of these states:
 *
 *   new      on no list: it was never queued, or its last caller has left, and it was withdrawn
 *   queued   no thread has begun it
 *   begun    a thread is in its call
 *   done     its callers are woken, and read its results
 *
 * Threads are started as jobs are queued, up to a limit, and end once they have found nothing to do
 * for a while. A thread in a call that all callers have given up does not count. If all others
 * hang, jobs would wait for ever: so a caller whose job is still queued when no thread has begun
 * any for `patience` starts one more. A second limit holds for all threads. If the system refuses a
 * thread, jobs that have waited for TH_REFUSED_PATIENCE (or `patience`, if that is longer) while
 * none was begun fail.
 */
#ifndef TH_JOBS_H
#define TH_JOBS_H

#include "core/basis/lock.h"
#include "core/wait/wait.h"
#include "pools/idle_spin.h"
#include "platform/platform.h"
#include "thrum/base.h"

#define TH_REFUSED_PATIENCE THRUM_MS(100)

typedef enum th_job_state { TH_JOB_NEW, TH_JOB_QUEUED, TH_JOB_BEGUN, TH_JOB_DONE } th_job_state;

/* Begins a struct that has the rest. All fields are protected by the lock of its jobs. */
typedef struct th_job {
    struct th_job *next; /* of those in its state */
    struct th_job *prev;
    void *first; /* callers that wait for it */
    void *last;
    uint32_t references;
    th_job_state state;
    int code;         /* 0, or why its call was never made */
    bool xcrowded;    /* when it was queued, a free thread was not certain; read without the lock */
    bool by_thread;   /* once it is begun: one of the jobs' threads is in its call */
    thrum_time since; /* if it is crowded: how long it has been seen queued while `taken` stood */
    uint64_t seen;    /* at this number */
} th_job;

typedef struct th_job_list {
    th_job *first;
    th_job *last;
} th_job_list;

typedef struct th_job_sleeper th_job_sleeper;

typedef struct th_jobs th_jobs;
struct th_jobs {
    const char *name;         /* of its threads; constant, as are the next nine */
    th_on on;                 /* its callers wait for this */
    void (*run)(th_job *job); /* makes the call; on one of the threads */
    void (*end)(th_job *job); /* frees a job; without the lock, on any thread */
    /* NULL, or starts a thread that calls th_jobs_serve, and that somebody joins. */
    int (*start)(th_jobs *jobs);
    /* NULL, or has th_jobs_withdraw take a caller's job back: the caller waits to its end. */
    bool (*leave)(void *object, th_waiter *waiter);
    uint32_t threads_max;
    uint32_t hanging_max; /* so many more, if the others hang */
    thrum_time patience;  /* until the others are held to hang */
    thrum_time linger;    /* how long a thread waits for more to do */

    struct th_jobs *more; /* the list of all jobs of the process; constant once it is on it */
    uint32_t xknown;      /* whether it is */

    th_lock lock; /* protects all that follows */
    th_job_list queued;
    th_job_list begun;
    th_job_sleeper *sleepers; /* threads with nothing to do; the last one to lie down is first */
    bool stopping;
    uint32_t xthreads; /* th_jobs_stop sleeps on it */
    uint32_t xlength;  /* of the list of queued ones; read without the lock, too */
    uint32_t looking;  /* threads that will look at it before they lie down or end */
    th_idle_spin spin;
    uint64_t calls;        /* that were begun */
    uint64_t taken;        /* of these, by threads */
    uint32_t starting;     /* threads that are about to be started, or refused */
    thrum_time last_start; /* when one was */
};

/* A new job; its reference is that of its first caller. */
static inline void th_job_init(th_job *job) {
    *job = (th_job){.references = 1};
}

/* Work to do once the lock is given up. */
typedef struct th_jobs_call {
    bool start;
    uint32_t *xwake;
} th_jobs_call;

/* Before the lock is taken for the first time: forks are watched. */
void th_jobs_begin(th_jobs *jobs);

/* With the lock: queues a job that is new, or done. th_jobs_unlock follows. */
th_jobs_call th_jobs_put(th_jobs *jobs, th_job *job);
/* Gives the lock up, and makes the call. */
void th_jobs_unlock(th_jobs *jobs, th_jobs_call call);

/*
 * With the lock, for a job that the system does without a thread (file/ring.c): it is begun, and
 * then done; the caller wakes the chain of its waiters.
 */
void th_jobs_begun(th_jobs *jobs, th_job *job);
th_waiter *th_jobs_done(th_jobs *jobs, th_job *job);

/* With the lock: whether nobody waits for a job that is begun, nor has to drop it. */
static inline bool th_jobs_is_forgotten(const th_job *job) {
    return job->references == 1;
}

/* With the lock: whether a job that is queued now would have to wait for a busy thread. */
bool th_jobs_are_crowded(const th_jobs *jobs);

/* With the lock: a job that is queued or begun, for which `is` returns true; or NULL. */
th_job *th_jobs_find(th_jobs *jobs, bool (*is)(const th_job *job, const void *ctx),
                     const void *ctx);

/* With the lock: makes the waiter of a caller with a reference, which waits for a job on a list. */
void th_jobs_join(th_jobs *jobs, th_job *job, th_waiter *me, const void *object);

/*
 * Without the lock: waits. 0: it is done; or the code that has ended the wait, after which the job
 * goes on without the caller. The caller keeps its reference.
 */
int th_jobs_wait(th_jobs *jobs, th_job *job, th_waiter *me, thrum_time deadline);

/* Gives a reference up. */
void th_jobs_drop(th_jobs *jobs, th_job *job);

/* For `leave`. True: the job had not begun, and is taken back. */
bool th_jobs_withdraw(th_jobs *jobs, th_job *job, th_waiter *me);

/* A thread's life. Takes the lock, and returns with it once the thread counts no longer. */
void th_jobs_serve(th_jobs *jobs);

/* When there are no callers any longer, and will be none: returns once all threads have served. */
void th_jobs_stop(th_jobs *jobs);

typedef struct th_jobs_figures {
    uint64_t calls;
    uint32_t waiting; /* callers */
    uint32_t threads;
    uint32_t queued;
    uint32_t begun; /* and not ended */
} th_jobs_figures;
void th_jobs_read(th_jobs *jobs, th_jobs_figures *out);

#endif
