/*
 * free.c: a program all at once. Each root, fiber or plain thread, does the steps that are its own;
 * a step that starts others gives them some of those that follow. The order is open, so results are
 * checked, and sums at the end. After some milliseconds all are cancelled, which ends waits without
 * a deadline.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "free.h"

static thrum_sched *sched;

void free_wrong(world *w, int line, const char *what, int value) {
    if (!atomic_exchange(&w->wrong, true)) {
        snprintf(w->what, sizeof(w->what), "line %d: %s does not hold (%d)", line, what, value);
    }
}

static thrum_config config;
static int descriptors; /* before the scheduler was there */

void free_begin(unsigned workers, int policy) {
    thrum_config_init(&config);
    config.workers = workers;
    config.policy = (thrum_policy)policy;
    config.name = "fuzz";
    descriptors = wire_descriptors(true);
    if (thrum_sched_start(&sched, &config) != 0) {
        abort();
    }
}

void free_end(outcome *out) {
    if (thrum_sched_stop(sched) != 0) {
        snprintf(out->what, sizeof(out->what), "the scheduler can't be stopped");
    } else if (wire_descriptors(true) != descriptors) {
        snprintf(out->what, sizeof(out->what), "the scheduler has left descriptors");
    }
}

/* ---- lives ---- */

runner *free_runner(world *w, const step *steps, int count, int depth) {
    runner *r = calloc(1, sizeof(*r));
    if (!r) {
        abort();
    }
    r->w = w;
    r->id = atomic_fetch_add(&w->ids, 1) + 1;
    r->steps = steps;
    r->count = count;
    r->depth = depth;
    return r;
}

void free_step(runner *r, const step *s) {
    atomic_fetch_add(&r->w->calls, 1);
    if (s->op <= OP_cond_broadcast || (s->op >= OP_rw_read && s->op <= OP_rw_unlock) ||
        (s->op >= OP_once_run && s->op <= OP_barrier_wait)) {
        free_step_locks(r, s);
    } else if (s->op <= OP_pool_give) {
        free_step_counts(r, s);
    } else if (s->op <= OP_select) {
        free_step_chans(r, s);
    } else if (s->op <= OP_io_renew) {
        free_step_io(r, s);
    } else {
        free_step_tasks(r, s);
    }
}

int free_life(void *arg) {
    runner *r = arg;
    world *w = r->w;
    bool root = r->depth == 0;
    int id = r->id;
    if (root) {
        (void)!thrum_waitgroup_wait(&w->begin);
    }
    for (; r->at < r->count; r->at++) {
        free_step(r, &r->steps[r->at]);
    }
    free_leave(r);
    free(r);
    if (root) {
        thrum_waitgroup_done(&w->alive);
    }
    return id;
}

static void *thread_life(void *arg) {
    runner *r = arg;
    (void)free_life(r);
    return NULL;
}

/* ---- the world ---- */

static int node(void *arg) {
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

static void value_gone(void *value) {
    world *const *w = value;
    free_wrong(*w, __LINE__, "a value that was taken back is destructed", 0);
}

static void make(world *w) {
    thrum_pool_config pool = THRUM_POOL_CONFIG_INIT;
    int bad = 0;
    memset(w, 0, sizeof(*w));
    w->sched = sched;
    for (int i = 0; i < 2; i++) {
        thrum_mutex_init(&w->mutexes[i]);
        thrum_cond_init(&w->conds[i]);
        thrum_rwlock_init(&w->locks[i]);
        thrum_sem_init(&w->sems[i], 0);
        thrum_waitgroup_init(&w->groups[i], 0);
        thrum_once_init(&w->onces[i]);
    }
    for (int i = 0; i < EVENTS; i++) {
        thrum_event_init(&w->events[i], i == 0 ? THRUM_EVENT_MANUAL : THRUM_EVENT_AUTO, false);
    }
    for (int i = 0; i < CHANS; i++) {
        bad |= thrum_chan_create(&w->chans[i], sizeof(element),
                                 i == 0   ? 0
                                 : i == 1 ? CHAN_BOUND
                                          : THRUM_UNBOUNDED);
    }
    thrum_barrier_init(&w->barrier, BARRIER_SIZE);
    thrum_tickets_init(&w->tickets);
    pool.item_size = sizeof(int);
    pool.capacity = POOL_SIZE;
    pool.preserve = true;
    bad |= thrum_pool_create(&w->pool, &pool);
    bad |= thrum_key_create(&w->key, value_gone);
    bad |= thrum_dag_create(&w->dag);
    for (int i = 0; i < 4; i++) {
        bad |= thrum_dag_node(w->dag, node, &w->nodes) < 0;
    }
    bad |= thrum_dag_edge(w->dag, 0, 2) | thrum_dag_edge(w->dag, 1, 3);
    w->waits = free_wait_graph();
    free_serials_make(w);
    thrum_waitgroup_init(&w->begin, 1);
    thrum_waitgroup_init(&w->alive, ROOTS);
    if (bad) {
        abort();
    }
}

/* Takes out what lies in the channels: it was sent and not received. */
static void drain(world *w) {
    for (int i = 0; i < CHANS; i++) {
        element e;
        traffic *t = &w->traffic[i];
        while (thrum_chan_try_recv(w->chans[i], &e) == 0) {
            atomic_fetch_add(&t->received, 1);
            atomic_fetch_add(&t->received_sum, e.check);
        }
        if (atomic_load(&t->sent) != atomic_load(&t->received) ||
            atomic_load(&t->sent_sum) != atomic_load(&t->received_sum)) {
            free_wrong(w, __LINE__, "a channel has lost or doubled elements", i);
        }
    }
}

static void check_sums(world *w) {
    for (int i = 0; i < SEMS; i++) {
        while (thrum_sem_try_wait(&w->sems[i]) == 0) {
            atomic_fetch_add(&w->takes[i], 1);
        }
        if (atomic_load(&w->takes[i]) != atomic_load(&w->posts[i])) {
            free_wrong(w, __LINE__, "posts and takes of a semaphore", i);
        }
    }
    for (int i = 1; i < EVENTS; i++) {
        if (atomic_load(&w->passes[i]) > atomic_load(&w->signals[i])) {
            free_wrong(w, __LINE__, "an automatic event let more through than it had signals", i);
        }
    }
    if (atomic_load(&w->passed) != BARRIER_SIZE * atomic_load(&w->lasts)) {
        free_wrong(w, __LINE__, "rounds of the barrier", (int)atomic_load(&w->passed));
    }
    for (int i = 0; i < SERIALS; i++) {
        if (atomic_load(&w->serials[i].posted) != w->serials[i].runs) {
            free_wrong(w, __LINE__, "runs of a serial task", (int)w->serials[i].runs);
        }
    }
    if (atomic_load(&w->on_call) != atomic_load(&w->called)) {
        free_wrong(w, __LINE__, "tickets on call", (int)atomic_load(&w->called));
    }
}

static void unmake(world *w) {
    int bad = 0;
    for (int i = 0; i < 2; i++) {
        bad |= thrum_mutex_destroy(&w->mutexes[i]) | thrum_cond_destroy(&w->conds[i]);
        bad |= thrum_rwlock_destroy(&w->locks[i]) | thrum_sem_destroy(&w->sems[i]);
        bad |= thrum_waitgroup_destroy(&w->groups[i]) | thrum_once_destroy(&w->onces[i]);
    }
    for (int i = 0; i < EVENTS; i++) {
        bad |= thrum_event_destroy(&w->events[i]);
    }
    for (int i = 0; i < CHANS; i++) {
        bad |= thrum_chan_destroy(w->chans[i]);
    }
    bad |= thrum_barrier_destroy(&w->barrier) | thrum_tickets_destroy(&w->tickets);
    bad |= thrum_pool_destroy(w->pool) | thrum_dag_destroy(w->dag) | thrum_key_delete(w->key);
    bad |= thrum_dag_destroy(w->waits);
    if (bad) {
        free_wrong(w, __LINE__, "something can't be destroyed", bad);
    }
}

/* ---- a run ---- */

typedef struct cast {
    step steps[ROOTS][STEPS_MAX];
    int counts[ROOTS];
    pthread_t threads[ROOTS];
} cast;

static void start(world *w, cast *c) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    for (int i = 0; i < ROOTS; i++) {
        runner *r = free_runner(w, c->steps[i], c->counts[i], 0);
        int bad;
        r->thread = i >= ROOTS - ROOT_THREADS;
        if (r->thread) {
            bad = pthread_create(&c->threads[i], NULL, thread_life, r);
        } else {
            bad = thrum_spawn_with(&w->roots[i], &attr, free_life, r);
        }
        if (bad) {
            abort();
        }
    }
}

static int keeps(void *arg) {
    thrum_shield_begin(); /* the stop cancels this fiber, too */
    (void)!thrum_sem_wait(arg);
    thrum_shield_end();
    return 0;
}

/* Stops the scheduler under the roots: that cancels all, and refuses what threads start. */
static void stop_under(world *w) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    thrum_sem_init(&w->kept, 0);
    if (thrum_go_with(&attr, keeps, &w->kept) != 0) {
        abort();
    }
    atomic_store(&w->stopping, true);
    int result = thrum_sched_stop_until(sched, thrum_now());
    if (result != -ETIMEDOUT) {
        free_wrong(w, __LINE__, "stop_until, while a fiber waits behind a shield", result);
    }
}

static void start_again(world *w) {
    thrum_sem_post(&w->kept);
    int result = thrum_sched_stop(sched);
    if (result != 0) {
        free_wrong(w, __LINE__, "a second stop", result);
    } else if (thrum_sem_destroy(&w->kept) != 0) {
        free_wrong(w, __LINE__, "a semaphore can't be destroyed", 0);
    } else if (thrum_sched_start(&sched, &config) != 0) {
        abort();
    }
    w->sched = sched;
}

static void cancel_all(world *w) {
    for (int i = 0; i < ROOTS; i++) {
        if (w->roots[i]) {
            (void)thrum_cancel(w->roots[i]);
        }
    }
}

static void finish(world *w, cast *c, bool stops) {
    int late = thrum_waitgroup_wait_until(&w->alive, thrum_after_ms(2));
    if (late != 0 && stops) {
        stop_under(w);
    } else if (late != 0) {
        cancel_all(w);
    }
    (void)!thrum_waitgroup_wait(&w->alive); /* no thread cancels a root any more */
    for (int i = 0; i < ROOTS; i++) {
        if (!w->roots[i]) {
            (void)pthread_join(c->threads[i], NULL);
        } else if (thrum_join(w->roots[i], NULL) != 0) {
            free_wrong(w, __LINE__, "a root can't be joined", i);
        }
    }
    free_serials_end(w);
    if (late != 0 && stops) {
        start_again(w);
    } else if (thrum_sched_wait_done(sched, THRUM_FOREVER) != 0) { /* for what is on call */
        free_wrong(w, __LINE__, "wait_done", 0);
    }
}

void free_run(const program *p, outcome *out) {
    static world w;
    static cast c;
    int uses_wires = 0;
    memset(out, 0, sizeof(*out));
    memset(c.counts, 0, sizeof(c.counts));
    for (int i = 0; i < p->count; i++) {
        int who = p->steps[i].who % ROOTS;
        if (p->steps[i].op < OP_advance) {
            c.steps[who][c.counts[who]++] = p->steps[i];
        }
        uses_wires += p->steps[i].op >= OP_io_write && p->steps[i].op <= OP_io_renew;
    }
    make(&w);
    const bool wires = uses_wires >= WIRES_WORTH;
    int before = wires ? wire_descriptors(false) : 0;
    if (wires) {
        free_wires_make(&w);
    }
    start(&w, &c);
    thrum_waitgroup_done(&w.begin);
    finish(&w, &c, p->count > 0 && p->steps[0].b % 4 == 0);
    drain(&w);
    check_sums(&w);
    free_wires_end(&w);
    if (wires && wire_descriptors(false) != before) {
        free_wrong(&w, __LINE__, "descriptors are left", before);
    }
    unmake(&w);
    out->at = -1;
    out->calls = atomic_load(&w.calls);
    if (atomic_load(&w.wrong)) {
        snprintf(out->what, sizeof(out->what), "%s", w.what);
    }
}
