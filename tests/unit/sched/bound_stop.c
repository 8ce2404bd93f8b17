/*
 * bound_stop.c: stopping beside bound threads: what may stop, what a stop waits for, what runs
 * meanwhile.
 */
#include "support/support.h"
#include "support/times.h"

static const unsigned counts[] = {0, 2};

/* A pair of worker counts: of the scheduler that is stopped, and of the stopper's own. */
#define PAIRS (COUNT_OF(counts) * COUNT_OF(counts))

static void begin(rig *r, unsigned workers) {
    rig_init(r);
    r->config.workers = workers;
    rig_start(r);
}

/* ---- the stopped one, with something that only the stopper can end ---- */

typedef struct pair {
    rig own;   /* the scheduler of the stopper, if it has one */
    rig other; /* to be stopped */
    thrum_sem needed;
    atomic_int ran;
    atomic_bool bound, gone;
    pthread_t thread;
} pair;

static void pair_begin(pair *p, size_t n) {
    memset(p, 0, sizeof(*p));
    begin(&p->own, counts[n % COUNT_OF(counts)]);
    begin(&p->other, counts[n / COUNT_OF(counts)]);
    thrum_sem_init(&p->needed, 0);
}

static int gives(void *arg) {
    pair *p = arg;
    thrum_sem_post(&p->needed);
    return 0;
}

static int needs(void *arg) {
    pair *p = arg;
    CHECK_EQ(thrum_sem_wait(&p->needed), 0);
    atomic_fetch_add(&p->ran, 1);
    return 0;
}

static int counts_itself(void *arg) {
    pair *p = arg;
    thrum_yield();
    atomic_fetch_add(&p->ran, 1);
    return 0;
}

/* Ties what the other scheduler's task needs to the caller, which is bound or a task of `own`. */
static void tie_what_is_needed(pair *p) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.flags = THRUM_PINNED;
    CHECK_EQ(thrum_go_with(&attr, gives, p), 0);
}

static int stops_the_other(void *arg) {
    pair *p = arg;
    for (int i = 0; i < 50; i++) {
        rig_go(&p->other, counts_itself, p);
    }
    rig_go(&p->other, needs, p);
    tie_what_is_needed(p);
    CHECK_EQ(thrum_sched_stop(p->other.sched), 0);
    CHECK_EQ(atomic_load(&p->ran), 51);
    rig_stopped(&p->other);
    return 0;
}

TEST(stopped_by_a_thread_that_is_bound_elsewhere) {
    /* What is tied to that thread runs meanwhile, and it is still bound where it was. */
    for (size_t n = 0; n < PAIRS; n++) {
        pair p;
        pair_begin(&p, n);
        CHECK_EQ(thrum_sched_bind(p.own.sched), 0);
        CHECK_EQ(stops_the_other(&p), 0);
        CHECK(thrum_sched_current() == p.own.sched);
        CHECK_EQ(thrum_go(counts_itself, &p), 0);
        CHECK_EQ(thrum_sched_unbind(), 0);
        rig_stop(&p.own);
        CHECK_EQ(atomic_load(&p.ran), 52);
    }
}

TEST(stopped_by_a_task_of_another_scheduler) {
    /* The task is pinned, and so is what its stop waits for: the task waits by suspending. */
    for (size_t n = 0; n < PAIRS; n++) {
        pair p;
        thrum_attr attr;
        pair_begin(&p, n);
        attr = rig_attr(&p.own);
        attr.flags = THRUM_PINNED;
        CHECK_EQ(thrum_go_with(&attr, stops_the_other, &p), 0);
        rig_stop(&p.own); /* without workers this thread runs it */
        CHECK_EQ(atomic_load(&p.ran), 51);
    }
}

/* ---- another thread is bound to it ---- */

static void *is_bound_and_needs(void *arg) {
    pair *p = arg;
    CHECK_EQ(thrum_sched_bind(p->other.sched), 0);
    atomic_store(&p->bound, true);
    CHECK_EQ(needs(p), 0);
    atomic_store(&p->gone, true);
    CHECK_EQ(thrum_sched_unbind(), 0);
    return NULL;
}

static void bind_one_who_needs(pair *p) {
    CHECK_EQ(pthread_create(&p->thread, NULL, is_bound_and_needs, p), 0);
    SPIN_UNTIL(atomic_load(&p->bound));
}

TEST(what_another_needs_to_unbind_runs_while_the_bound_stopper_waits) {
    /* The task that it needs is tied to the stopper. */
    for (size_t n = 0; n < COUNT_OF(counts); n++) {
        pair p;
        memset(&p, 0, sizeof(p));
        begin(&p.other, counts[n]);
        thrum_sem_init(&p.needed, 0);
        bind_one_who_needs(&p);
        CHECK_EQ(thrum_sched_bind(p.other.sched), 0);
        tie_what_is_needed(&p);
        rig_stop(&p.other);
        CHECK(atomic_load(&p.gone));
        CHECK(thrum_sched_current() == NULL);
        CHECK_EQ(pthread_join(p.thread, NULL), 0);
    }
}

TEST(a_stopper_bound_elsewhere_waits_for_bound_threads) {
    /* Each bound thread needs what is tied to the stopper. */
    for (size_t n = 0; n < PAIRS; n++) {
        pair p;
        pair_begin(&p, n);
        bind_one_who_needs(&p);
        CHECK_EQ(thrum_sched_bind(p.own.sched), 0);
        tie_what_is_needed(&p);
        rig_stop(&p.other);
        CHECK(atomic_load(&p.gone));
        CHECK_EQ(pthread_join(p.thread, NULL), 0);
        CHECK_EQ(thrum_sched_unbind(), 0);
        rig_stop(&p.own);
    }
}

static int stops_while_one_is_bound(void *arg) {
    pair *p = arg;
    tie_what_is_needed(p);
    CHECK_EQ(thrum_sched_stop(p->other.sched), 0);
    CHECK(atomic_load(&p->gone));
    rig_stopped(&p->other);
    return 0;
}

TEST(a_task_that_stops_waits_for_bound_threads) {
    /* It waits as a thread does. */
    for (size_t n = 0; n < PAIRS; n++) {
        pair p;
        thrum_attr attr;
        pair_begin(&p, n);
        bind_one_who_needs(&p);
        attr = rig_attr(&p.own);
        attr.flags = THRUM_PINNED;
        CHECK_EQ(thrum_go_with(&attr, stops_while_one_is_bound, &p), 0);
        rig_stop(&p.own);
        CHECK_EQ(pthread_join(p.thread, NULL), 0);
    }
}

/* ---- a stop that gives up ---- */

static int is_cancelled(void *arg) {
    pair *p = arg;
    CHECK_EQ(thrum_sem_wait(&p->needed), -ECANCELED);
    atomic_fetch_add(&p->ran, 1);
    return 0;
}

static void *is_bound_and_cancelled(void *arg) {
    pair *p = arg;
    CHECK_EQ(thrum_sched_bind(p->other.sched), 0);
    atomic_store(&p->bound, true);
    CHECK_EQ(is_cancelled(p), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    return NULL;
}

TEST(past_its_deadline_it_cancels_and_refuses_for_good) {
    /* A thread that is bound elsewhere stops it, twice. */
    for (size_t n = 0; n < PAIRS; n++) {
        pair p;
        pair_begin(&p, n);
        CHECK_EQ(pthread_create(&p.thread, NULL, is_bound_and_cancelled, &p), 0);
        SPIN_UNTIL(atomic_load(&p.bound));
        rig_go(&p.other, is_cancelled, &p);
        CHECK_EQ(thrum_sched_bind(p.own.sched), 0);
        CHECK_EQ(thrum_sched_stop_until(p.other.sched, soon()), -ETIMEDOUT);
        CHECK_EQ(thrum_sched_unbind(), 0);
        CHECK_EQ(thrum_sched_bind(p.other.sched), -ESHUTDOWN);
        CHECK_EQ(thrum_sched_bind(p.own.sched), 0);
        CHECK_EQ(pthread_join(p.thread, NULL), 0);
        rig_stop(&p.other);
        CHECK_EQ(atomic_load(&p.ran), 2);
        rig_stop(&p.own); /* this unbinds */
    }
}

TEST(a_stop_without_memory_leaves_it_as_it_was) {
    /*
     * A thread must run what is left, and there is no memory to bind it: -ENOMEM, and nothing more.
     */
    pair p;
    pair_begin(&p, 0);
    rig_go(&p.other, counts_itself, &p);
    atomic_store(&p.other.fail_all, true);
    CHECK_EQ(thrum_sched_stop(p.other.sched), -ENOMEM);
    atomic_store(&p.other.fail_all, false);
    rig_go(&p.other, counts_itself, &p);
    CHECK_EQ(thrum_sched_bind(p.other.sched), 0);
    CHECK_EQ(thrum_sched_wait_done(p.other.sched, THRUM_FOREVER), 0);
    CHECK_EQ(atomic_load(&p.ran), 2);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&p.other);
    rig_stop(&p.own);
}

/* ---- what ends with the binding ---- */

static void end_a_shield_of_an_earlier_binding(void *arg) {
    rig r;
    begin(&r, *(const unsigned *)arg);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    thrum_shield_begin();
    CHECK_EQ(thrum_sched_unbind(), 0);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    thrum_shield_end();
}

TEST(a_shield_ends_with_the_binding) {
    /* So ending it after the next binding is an end too many. */
    for (size_t n = 0; n < COUNT_OF(counts); n++) {
        unsigned workers = counts[n];
        check_dies(end_a_shield_of_an_earlier_binding, &workers,
                   "thrum_shield_end: there is no shield to end");
    }
}

static int nothing(void *arg) {
    (void)arg;
    return 0;
}

static void unbind_with_a_fork(void *arg) {
    rig r;
    thrum_fork fork;
    begin(&r, *(const unsigned *)arg);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    thrum_fork_start(&fork, nothing, NULL);
    CHECK_EQ(thrum_sched_unbind(), 0);
}

static void unbind_with_a_scope(void *arg) {
    rig r;
    thrum_scope scope;
    begin(&r, *(const unsigned *)arg);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
}

TEST(unbinding_with_something_open_aborts) {
    /* A fork that is not joined aborts, and so does a scope. */
    for (size_t n = 0; n < COUNT_OF(counts); n++) {
        unsigned workers = counts[n];
        check_dies(unbind_with_a_fork, &workers, "thrum_fork");
        check_dies(unbind_with_a_scope, &workers, "a scope that the thread has opened");
    }
}
