/*
 * bound_watch.c: no workers: what belongs to no bound thread (tasks from threads that are not
 * bound, deadlines of tasks) is run by one that waits, as long as there is one, whatever the others
 * do.
 */
#include "support/support.h"
#include "support/times.h"

#include "core/basis/parkword.h"
#include "core/state/worker.h"

#define THREADS_MAX 3

typedef struct hall {
    rig rig;
    thrum_sem own[THREADS_MAX]; /* what each bound thread waits for */
    pthread_t threads[THREADS_MAX];
    int count;
    atomic_int bound;    /* how many have bound, in turn */
    atomic_bool told;    /* the deadline's task has run */
    atomic_bool through; /* the last thread has come through its wait */
    bool leaves;         /* the first one unbinds, otherwise it goes on with code of its own */
    pthread_barrier_t together;
    thrum_task tasks[THREADS_MAX];
} hall;

typedef struct guest {
    hall *hall;
    int index;
} guest;

static guest guests[THREADS_MAX];

/* Whether each bound thread sleeps, or is about to: a wake is meant for it already. */
static bool all_sleep(hall *h) {
    thrum_sched *sched = h->rig.sched;
    bool all = true;
    th_lock_acquire(&sched->bound_lock);
    for (const th_worker *w = sched->bound; w; w = w->bound_next) {
        all = all && (th_load_relaxed(&w->xsleep) & TH_SLEEP_PARKED) != 0;
    }
    th_lock_release(&sched->bound_lock);
    return all;
}

/* Thread 0 binds last, so it is the first to be woken. */
static void *is_bound(void *arg) {
    const guest *g = arg;
    hall *h = g->hall;
    SPIN_UNTIL(atomic_load(&h->bound) == h->count - 1 - g->index);
    CHECK_EQ(thrum_sched_bind(h->rig.sched), 0);
    atomic_fetch_add(&h->bound, 1);
    CHECK_EQ(thrum_sem_wait(&h->own[g->index]), 0);
    if (g->index == h->count - 1) {
        atomic_store(&h->through, true);
    } else if (!h->leaves) {
        SPIN_UNTIL(atomic_load(&h->through));
    }
    CHECK_EQ(thrum_sched_unbind(), 0);
    return NULL;
}

static void hall_begin(hall *h, unsigned workers, int count) {
    memset(h, 0, sizeof(*h));
    rig_init(&h->rig);
    h->rig.config.workers = workers;
    rig_start(&h->rig);
    h->count = count;
    CHECK_EQ(pthread_barrier_init(&h->together, NULL, (unsigned)count), 0);
    for (int i = 0; i < count; i++) {
        thrum_sem_init(&h->own[i], 0);
        guests[i] = (guest){h, i};
    }
}

/* Returns once all of them sleep, so that what comes next wakes one. */
static void hall_fill(hall *h) {
    for (int i = 0; i < h->count; i++) {
        CHECK_EQ(pthread_create(&h->threads[i], NULL, is_bound, &guests[i]), 0);
    }
    SPIN_UNTIL(atomic_load(&h->bound) == h->count && all_sleep(h));
}

static void hall_end(hall *h) {
    for (int i = 0; i < h->count; i++) {
        CHECK_EQ(pthread_join(h->threads[i], NULL), 0);
    }
    rig_stop(&h->rig);
    CHECK_EQ(pthread_barrier_destroy(&h->together), 0);
}

static void posts_to_last(thrum_task *self, void *arg) {
    hall *h = arg;
    (void)self;
    atomic_store(&h->told, true);
    thrum_sem_post(&h->own[h->count - 1]);
}

static const unsigned counts[] = {0, 1, 2, 4, 8};

/* ---- deadlines ---- */

static void deadline_is_handed_over(unsigned workers, bool leaves) {
    hall h;
    hall_begin(&h, workers, 2);
    h.leaves = leaves;
    hall_fill(&h);
    thrum_task_init(&h.tasks[0], posts_to_last, &h);
    CHECK_EQ(thrum_task_post_until(h.rig.sched, &h.tasks[0], soon()), 0);
    thrum_sem_post(&h.own[0]);
    hall_end(&h);
}

TEST(a_deadline_is_watched_though_one_that_waited_goes_on) {
    /* The other thread fires it, and waits for what its task does. */
    for (size_t w = 0; w < COUNT_OF(counts); w++) {
        deadline_is_handed_over(counts[w], false);
    }
}

TEST(a_deadline_is_watched_though_one_that_waited_unbinds) {
    /* The same holds when no code of its own comes after the wait. */
    for (size_t w = 0; w < COUNT_OF(counts); w++) {
        deadline_is_handed_over(counts[w], true);
    }
}

static void waits_until_told(thrum_task *self, void *arg) {
    hall *h = arg;
    (void)self;
    SPIN_UNTIL(atomic_load(&h->told));
    thrum_sem_post(&h->own[0]);
}

TEST(a_deadline_is_watched_beside_a_long_body) {
    /* One of the two threads runs a long task meanwhile. */
    hall h;
    hall_begin(&h, 0, 2);
    hall_fill(&h);
    thrum_task_init(&h.tasks[0], posts_to_last, &h);
    CHECK_EQ(thrum_task_post_until(h.rig.sched, &h.tasks[0], soon()), 0);
    thrum_task_init(&h.tasks[1], waits_until_told, &h);
    CHECK_EQ(thrum_task_post(h.rig.sched, &h.tasks[1]), 0);
    hall_end(&h);
}

/* ---- several at once ---- */

static void meets_the_others(thrum_task *self, void *arg) {
    hall *h = arg;
    pthread_barrier_wait(&h->together);
    thrum_sem_post(&h->own[self - h->tasks]);
}

/* Each task holds its thread until as many run as there are bound threads. */
static void hall_tasks(hall *h, thrum_task *tasks[]) {
    h->leaves = true;
    for (int i = 0; i < h->count; i++) {
        thrum_task_init(&h->tasks[i], meets_the_others, h);
        tasks[i] = &h->tasks[i];
    }
}

TEST(a_batch_wakes_as_many_threads_as_it_has_tasks) {
    /* Three sleep, and three tasks that wait for each other come in one call. */
    hall h;
    thrum_task *tasks[THREADS_MAX];
    hall_begin(&h, 0, THREADS_MAX);
    hall_tasks(&h, tasks);
    hall_fill(&h);
    CHECK_EQ(thrum_task_post_batch(h.rig.sched, tasks, THREADS_MAX), 0);
    hall_end(&h);
}

TEST(tasks_with_one_deadline_run_on_all_threads_that_wait) {
    /* The thread that fires them is not the only one to run them. */
    hall h;
    thrum_task *tasks[THREADS_MAX];
    hall_begin(&h, 0, THREADS_MAX);
    hall_tasks(&h, tasks);
    hall_fill(&h);
    const thrum_time deadline = soon();
    for (int i = 0; i < THREADS_MAX; i++) {
        CHECK_EQ(thrum_task_post_until(h.rig.sched, tasks[i], deadline), 0);
    }
    hall_end(&h);
}

/* ---- against the thread's own ---- */

typedef struct poller {
    thrum_task task;
    thrum_task other;
    atomic_bool over;
} poller;

static void posts_itself(thrum_task *self, void *arg) {
    poller *p = arg;
    if (!atomic_load(&p->over)) {
        CHECK_EQ(thrum_task_post(thrum_sched_current(), self), 0);
    }
}

static void ends_it(thrum_task *self, void *arg) {
    poller *p = arg;
    (void)self;
    atomic_store(&p->over, true);
}

static void poll_until_told(bool timed) {
    rig r;
    poller p = {.over = false};
    rig_init(&r);
    r.config.workers = 0;
    rig_start(&r);
    thrum_task_init(&p.task, posts_itself, &p);
    thrum_task_init(&p.other, ends_it, &p);
    if (timed) {
        CHECK_EQ(thrum_task_post_until(r.sched, &p.other, soon()), 0);
    } else {
        CHECK_EQ(thrum_task_post(r.sched, &p.other), 0); /* from a thread that is not bound */
    }
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    CHECK_EQ(thrum_task_post(r.sched, &p.task), 0);
    CHECK_EQ(thrum_sched_wait_done(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&r);
}

TEST(a_task_that_posts_itself_holds_up_no_other) {
    /* It holds up neither tasks that external threads posted, nor tasks with a deadline. */
    poll_until_told(false);
    poll_until_told(true);
}
