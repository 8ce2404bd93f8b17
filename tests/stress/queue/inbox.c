/*
 * inbox.c: pinned work from everywhere, while its worker sleeps, runs, steals or leaves.
 */
/* matrix: policy workers */
#include "support/support.h"

typedef struct mail {
    thrum_task task;
    rig *r;
    int worker;
    int hops; /* left */
    atomic_int *done;
} mail;

static void hop(thrum_task *self, void *arg) {
    mail *m = arg;
    CHECK_EQ(thrum_worker_id(), m->worker);
    if (m->hops-- == 0) {
        atomic_fetch_add(m->done, 1);
        return;
    }
    m->worker = (m->worker * 7 + m->hops + 1) % (int)thrum_sched_parallelism(m->r->sched);
    thrum_task_set_worker(self, m->worker);
    CHECK_EQ(thrum_task_post(m->r->sched, self), 0);
}

TEST(letters_between_workers) {
    /* Tasks send themselves from inbox to inbox. */
    rig r;
    static mail letters[50];
    atomic_int done = 0;
    const int hops = SCALED(2000);
    rig_begin(&r, 0);
    for (int i = 0; i < 50; i++) {
        mail *m = &letters[i];
        m->r = &r;
        m->worker = i % (int)thrum_sched_parallelism(r.sched);
        m->hops = hops;
        m->done = &done;
        thrum_task_init(&m->task, hop, m);
        thrum_task_set_worker(&m->task, m->worker);
        CHECK_EQ(thrum_task_post(r.sched, &m->task), 0);
    }
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&done), 50);
    rig_stop(&r);
}

TEST(one_letter_between_sleepers) {
    /* One task at a time hops: each hop wakes exactly the worker that it is for. */
    rig r;
    mail m;
    atomic_int done = 0;
    memset(&m, 0, sizeof(m));
    rig_begin(&r, 0);
    m.r = &r;
    m.hops = SCALED(10000);
    m.done = &done;
    thrum_task_init(&m.task, hop, &m);
    thrum_task_set_worker(&m.task, 0);
    CHECK_EQ(thrum_task_post(r.sched, &m.task), 0);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&done), 1);
    rig_stop(&r);
}

/* ---- pinned fibers, woken by others ---- */

typedef struct pen {
    rig *r;
    thrum_sem sems[64];
    thrum_sem back;
    int rounds;
} pen;

typedef struct cow {
    pen *p;
    int worker;
} cow;

static int stay_and_answer(void *arg) {
    const cow *c = arg;
    for (int i = 0; i < c->p->rounds; i++) {
        CHECK_EQ(thrum_sem_wait(&c->p->sems[c->worker]), 0);
        CHECK_EQ(thrum_worker_id(), c->worker);
        thrum_sem_post(&c->p->back);
        if (i % 5 == 0) {
            thrum_yield();
            CHECK_EQ(thrum_worker_id(), c->worker);
        }
    }
    return 0;
}

static int call_each(void *arg) {
    pen *p = arg;
    const int workers = (int)thrum_sched_parallelism(p->r->sched);
    for (int i = 0; i < p->rounds; i++) {
        for (int k = 0; k < workers; k++) {
            thrum_sem_post(&p->sems[k]);
            if (k % 2 == 0) {
                CHECK_EQ(thrum_sem_wait(&p->back), 0);
            }
        }
        for (int k = 1; k < workers; k += 2) {
            CHECK_EQ(thrum_sem_wait(&p->back), 0);
        }
    }
    return 0;
}

static void check_calls(bool external) {
    rig r;
    static pen p;
    static cow cows[64];
    rig_begin(&r, 0);
    const int workers = (int)thrum_sched_parallelism(r.sched);
    CHECK(workers <= 64);
    p.r = &r;
    p.rounds = SCALED(20000) / workers + 1;
    thrum_sem_init(&p.back, 0);
    thrum_attr attr = rig_attr(&r);
    attr.flags = THRUM_PINNED;
    for (int i = 0; i < workers; i++) {
        thrum_sem_init(&p.sems[i], 0);
        cows[i] = (cow){&p, i};
        attr.worker = i;
        CHECK_EQ(thrum_go_with(&attr, stay_and_answer, &cows[i]), 0);
    }
    if (external) {
        call_each(&p);
    } else {
        CHECK_EQ(rig_run(&r, call_each, &p), 0);
    }
    rig_stop(&r);
}

TEST(pinned_fibers_woken_by_a_fiber) {
    /* One fiber, which moves, wakes one on each worker, and is woken by them. */
    check_calls(false);
}

TEST(pinned_fibers_woken_by_external_threads) {
    /* A plain thread wakes one on each worker, and is woken by them. */
    check_calls(true);
}

/* ---- a pinned flood beside free work ---- */

typedef struct flood {
    rig *r;
    atomic_int runs;
    int per_thread;
} flood;

typedef struct drop {
    thrum_task task;
    flood *f;
    int worker;
} drop;

static void run_drop(thrum_task *self, void *arg) {
    drop *d = arg;
    flood *f = d->f;
    (void)self;
    CHECK(d->worker == -1 || d->worker == thrum_worker_id());
    free(d);
    atomic_fetch_add(&f->runs, 1);
}

static void *rain(void *seat) {
    const crew_seat *s = seat;
    flood *f = s->arg;
    thrum_task *batch[16];
    const int workers = (int)thrum_sched_parallelism(f->r->sched);
    int n = 0;
    for (int i = 0; i < f->per_thread; i++) {
        drop *d = malloc(sizeof(*d));
        CHECK(d != NULL);
        d->f = f;
        d->worker = i % 3 == 0 ? -1 : (i + s->index) % workers;
        thrum_task_init(&d->task, run_drop, d);
        thrum_task_set_worker(&d->task, d->worker);
        if (i % 32 < 16) {
            CHECK_EQ(thrum_task_post(f->r->sched, &d->task), 0);
        } else {
            batch[n++] = &d->task;
        }
        if (n == 16 || (i + 1 == f->per_thread && n > 0)) {
            CHECK_EQ(thrum_task_post_batch(f->r->sched, batch, (size_t)n), 0);
            n = 0;
        }
    }
    return NULL;
}

static int rain_inside(void *arg) {
    crew_seat seat = {arg, 9};
    rain(&seat);
    return 0;
}

TEST(pinned_flood_beside_free_work) {
    /* Single posts and mixed batches come from plain threads and from fibers. */
    rig r;
    crew c;
    flood f = {.r = &r, .per_thread = SCALED(20000)};
    rig_begin(&r, 0);
    crew_start(&c, 3, rain, &f);
    rig_go(&r, rain_inside, &f);
    rig_go(&r, rain_inside, &f);
    crew_join(&c);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&f.runs), 5 * f.per_thread);
}
