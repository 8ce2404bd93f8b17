/*
 * pool.c: a pool of workers that finishes its jobs before it stops, and its test. Unless the file
 * is compiled with -DFIXED, a worker may miss the stop.
 */
#include <thrum.h>
#include <thrum/test.h>

#define WORKERS 2
#define JOBS 2
#define JOB_NS THRUM_MS(10)

typedef struct pool {
    thrum_mutex lock;
    thrum_cond changed;
    unsigned jobs, done; /* with the lock */
    bool stopping;
    thrum_scope workers;
} pool;

static int worker(void *arg) {
    pool *p = arg;
    int err = 0;
    thrum_mutex_lock(&p->lock);
    for (;;) {
        while (err == 0 && p->jobs == 0 && !p->stopping) {
            err = thrum_cond_wait(&p->changed, &p->lock);
        }
        if (err != 0 || p->jobs == 0) {
            break;
        }
        p->jobs--;
        thrum_mutex_unlock(&p->lock);
        err = thrum_sleep(JOB_NS); /* the job */
        thrum_mutex_lock(&p->lock);
        p->done++;
    }
    thrum_mutex_unlock(&p->lock);
    return err;
}

static void pool_submit(pool *p) {
    thrum_mutex_lock(&p->lock);
    p->jobs++;
    thrum_cond_signal(&p->changed);
    thrum_mutex_unlock(&p->lock);
}

#ifdef FIXED
static int pool_stop(pool *p) {
    thrum_mutex_lock(&p->lock);
    p->stopping = true;
    thrum_cond_broadcast(&p->changed);
    thrum_mutex_unlock(&p->lock);
    return thrum_scope_join(&p->workers);
}
#else
static int pool_stop(pool *p) {
    p->stopping = true;
    thrum_cond_broadcast(&p->changed);
    return thrum_scope_join(&p->workers);
}
#endif

/* ---- its test ---- */

static int finishes_its_jobs(void *arg) {
    pool p = {.lock = THRUM_MUTEX_INIT, .changed = THRUM_COND_INIT};
    (void)arg;
    THRUM_TEST(thrum_scope_open(&p.workers, THRUM_FOREVER) == 0);
    for (int i = 0; i < WORKERS; i++) {
        THRUM_TEST(thrum_scope_go(&p.workers, worker, &p) == 0);
    }
    for (int i = 0; i < JOBS; i++) {
        pool_submit(&p);
    }
    THRUM_TEST(thrum_sleep(JOB_NS) == 0); /* the stop comes when the jobs end */
    THRUM_TEST(pool_stop(&p) == 0);
    THRUM_TEST(p.done == JOBS);
    return 0;
}

int main(int argc, char **argv) {
    return thrum_test_main(argc, argv, finishes_its_jobs, NULL);
}
