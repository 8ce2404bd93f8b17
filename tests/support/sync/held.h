/*
 * held.h: a scheduler whose workers are held up, and work that only a spare worker can run
 * meanwhile.
 *
 *   hold      n tasks that hold up the workers that run them, until something opens the hold
 *   opener    the task that opens it; if it never runs, the test never ends, and the watchdog
 *             reports that
 *
 * No test sleeps, nor measures time.
 */
#ifndef HELD_H
#define HELD_H

#include <semaphore.h>

#include "core/basis/spare_state.h"
#include "core/state/worker.h"
#include "support/support.h"
#include "support/ticks.h"

enum { HELD_MAX = 200 };

/* How a task holds up its worker. */
typedef enum {
    HELD_READING,   /* the thread reads an empty pipe */
    HELD_WAITING,   /* it waits for a condition of the system's threads */
    HELD_COMPUTING, /* it runs on */
    HELD_MIXED,     /* each second one computes */
    HELD_WAYS
} held_way;

typedef struct hold hold;
typedef void (*held_prelude)(hold *h);

struct hold {
    rig r;
    ticks ticks; /* each run of its tasks is checked */
    held_way way;
    int count;
    thrum_task tasks[HELD_MAX];
    held_prelude prelude; /* called by the last one, before it holds up its worker; or NULL */
    atomic_int numbered;
    atomic_int in;
    atomic_int out;
    atomic_bool open;
    int pipe[2];
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    sem_t opened; /* for the test's thread */

    thrum_task openers[16];
    thrum_fork fork;
    thrum_sem sem;
    thrum_chan *chan;
    atomic_int passes; /* for openers that come several times */
    atomic_int ran;
    void *arg;
};

/* ---- the scheduler ---- */

static inline void held_init(hold *h) {
    memset(h, 0, sizeof(*h));
    rig_init(&h->r);
    h->r.config.workers_spare = THRUM_SPARE_AUTO;
}

/* The same, and there are some spares beside a single worker as well. */
static inline void held_init_spares(hold *h) {
    held_init(h);
    if (h->r.config.workers == 1) {
        h->r.config.workers_spare = 2;
    }
}

static inline void held_start(hold *h) {
    CHECK_EQ(pthread_mutex_init(&h->mutex, NULL), 0);
    CHECK_EQ(pthread_cond_init(&h->cond, NULL), 0);
    CHECK_EQ(sem_init(&h->opened, 0, 0), 0);
    memset(&h->ticks, 0, sizeof(h->ticks));
    rig_start(&h->r);
}

static inline int held_regular(const hold *h) {
    return (int)thrum_sched_parallelism(h->r.sched);
}

static inline int held_spares(const hold *h) {
    return (int)thrum_sched_workers(h->r.sched) - held_regular(h);
}

static inline thrum_metrics held_metrics(const hold *h) {
    thrum_metrics m = THRUM_METRICS_INIT;
    CHECK_EQ(thrum_metrics_read(h->r.sched, THRUM_ALL_WORKERS, &m), 0);
    return m;
}

/* How many spares take part now. */
static inline unsigned held_active_spares(hold *h) {
    th_spare_set *set = &h->r.sched->spare_set;
    th_lock_acquire(&set->lock);
    unsigned n = set->active;
    th_lock_release(&set->lock);
    return n;
}

/*
 * Waits until no spare takes part any longer. It also returns if there is no monitor (all spares
 * take part), or if it rests because a worker has long been free: then sleeping spares go back at
 * their next wake.
 */
static inline void held_settle(hold *h) {
    th_spare_set *set = &h->r.sched->spare_set;
    bool settled = false;
    while (!settled) {
        th_lock_acquire(&set->lock);
        settled = set->active == 0 || !set->has_monitor ||
                  (th_load_relaxed(&h->r.sched->xpark) & TH_PARK_DORMANT) != 0;
        th_lock_release(&set->lock);
        sched_yield();
    }
}

/* ---- the hold ---- */

static inline void held_wait_for_cond(hold *h) {
    pthread_mutex_lock(&h->mutex);
    while (!atomic_load(&h->open)) {
        pthread_cond_wait(&h->cond, &h->mutex);
    }
    pthread_mutex_unlock(&h->mutex);
}

static inline void held_read(hold *h) {
    char c;
    ssize_t n;
    while ((n = read(h->pipe[0], &c, 1)) < 0) {
        CHECK_EQ(errno, EINTR);
    }
    CHECK_EQ(n, 0); /* the other end has been closed */
}

static inline void held_body(thrum_task *self, void *arg) {
    hold *h = arg;
    (void)self;
    ticks_check(&h->ticks);
    const int number = atomic_fetch_add(&h->numbered, 1);
    const bool last = number == h->count - 1;
    if (last && h->prelude) {
        SPIN_UNTIL(atomic_load(&h->in) == h->count - 1);
        h->prelude(h);
    }
    atomic_fetch_add(&h->in, 1);
    if (h->way == HELD_READING) {
        held_read(h);
    } else if (h->way == HELD_WAITING || (h->way == HELD_MIXED && number % 2 != 0)) {
        held_wait_for_cond(h);
    } else {
        SPIN_UNTIL(atomic_load(&h->open));
    }
    atomic_fetch_add(&h->out, 1);
}

/* Posts them: one to each regular worker, or to any. */
static inline void held_post(hold *h, held_way way, int count, bool pinned) {
    CHECK(count <= HELD_MAX);
    h->way = way;
    h->count = count;
    atomic_store(&h->numbered, 0);
    atomic_store(&h->in, 0);
    atomic_store(&h->out, 0);
    atomic_store(&h->open, false);
    CHECK_EQ(pipe(h->pipe), 0);
    for (int i = 0; i < count; i++) {
        thrum_task_init(&h->tasks[i], held_body, h);
        thrum_task_set_worker(&h->tasks[i], pinned ? i : -1);
        CHECK_EQ(thrum_task_post(h->r.sched, &h->tasks[i]), 0);
    }
}

/* The same, and returns when all hold up their workers. */
static inline void held_begin(hold *h, held_way way, int count, bool pinned) {
    held_post(h, way, count, pinned);
    SPIN_UNTIL(atomic_load(&h->in) == count);
}

static inline void held_open(hold *h) {
    pthread_mutex_lock(&h->mutex);
    CHECK(!atomic_exchange(&h->open, true));
    CHECK_EQ(close(h->pipe[1]), 0);
    pthread_cond_broadcast(&h->cond);
    pthread_mutex_unlock(&h->mutex);
    CHECK_EQ(sem_post(&h->opened), 0);
}

/* By the test's thread: waits until something has opened it, and all have gone on. */
static inline void held_end(hold *h) {
    while (sem_wait(&h->opened) != 0) {
        CHECK_EQ(errno, EINTR);
    }
    SPIN_UNTIL(atomic_load(&h->out) == h->count);
    CHECK_EQ(close(h->pipe[0]), 0);
}

static inline void held_stop(hold *h) {
    rig_stop(&h->r);
}

/* ---- openers ---- */

static inline void opening_body(thrum_task *self, void *arg) {
    hold *h = arg;
    (void)self;
    ticks_check(&h->ticks);
    held_open(h);
}

static inline int opening_fiber(void *arg) {
    hold *h = arg;
    ticks_check(&h->ticks);
    held_open(h);
    return 0;
}

static inline void open_by_post(hold *h) {
    thrum_task_init(&h->openers[0], opening_body, h);
    CHECK_EQ(thrum_task_post(h->r.sched, &h->openers[0]), 0);
}

static inline void open_by_timer(hold *h) {
    thrum_task_init(&h->openers[0], opening_body, h);
    CHECK_EQ(thrum_task_post_after(h->r.sched, &h->openers[0], 1000000), 0);
}

#endif
