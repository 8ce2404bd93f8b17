/*
 * bound.c: threads of the program that take part in a scheduler, with workers and without.
 */
#include "support/support.h"
#include "support/times.h"

static void begin(rig *r, unsigned workers) {
    rig_init(r);
    r->config.workers = workers;
    rig_start(r);
}

static const unsigned counts[] = {0, 1, 2, 8};

/* ---- order, without workers ---- */

static order seen;

static int note(void *arg) {
    order_add(&seen, (int)(intptr_t)arg);
    return 0;
}

static int note_and_yield(void *arg) {
    order_add(&seen, 2 * (int)(intptr_t)arg);
    thrum_yield();
    order_add(&seen, 2 * (int)(intptr_t)arg + 1);
    return 0;
}

TEST(without_workers_tasks_run_when_the_thread_waits) {
    /* They run in the order posted, and none runs before that. */
    rig r;
    begin(&r, 0);
    CHECK_EQ(thrum_sched_parallelism(r.sched), 0);
    CHECK(thrum_sched_current() == NULL);
    CHECK_EQ(thrum_go(note, NULL), -ESRCH);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    CHECK(thrum_sched_current() == r.sched);
    CHECK_EQ(thrum_worker_id(), -1);
    for (int i = 0; i < 1000; i++) {
        CHECK_EQ(thrum_go(note, (void *)(intptr_t)i), 0);
    }
    CHECK_EQ(atomic_load(&seen.count), 0);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    order_check_counts_up(&seen, 1000);
    for (int i = 0; i < 1000; i++) {
        CHECK_EQ(thrum_go(note, (void *)(intptr_t)i), 0);
    }
    CHECK_EQ(thrum_sched_unbind(), 0);
    order_check_counts_up(&seen, 1000);
    rig_stop(&r);
}

TEST(without_workers_yields_go_round) {
    /* A task that yields comes behind those that were there. */
    rig r;
    begin(&r, 0);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(thrum_go(note_and_yield, (void *)(intptr_t)i), 0);
    }
    CHECK_EQ(thrum_sched_wait_done(r.sched, THRUM_FOREVER), 0);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(atomic_load(&seen.seen[i]), 2 * i);
        CHECK_EQ(atomic_load(&seen.seen[10 + i]), 2 * i + 1);
    }
    CHECK_EQ(thrum_sched_stop(r.sched), 0); /* this unbinds */
    CHECK_EQ(thrum_sched_unbind(), -ESRCH);
    CHECK(thrum_sched_current() == NULL);
}

static int adds_and_returns(void *arg) {
    int *sum = arg;
    nap();
    return ++*sum;
}

static int runs_without_workers(void *arg) {
    thrum_handle *handles[10];
    int result;
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(thrum_spawn(&handles[i], adds_and_returns, arg), 0);
    }
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(thrum_join(handles[i], &result), 0);
        CHECK(result >= 1 && result <= 10);
    }
    return 7;
}

TEST(thrum_run_without_workers) {
    /* All tasks run on the calling thread. */
    thrum_config config;
    int sum = 0;
    thrum_config_init(&config);
    config.workers = 0;
    CHECK_EQ(thrum_run(&config, runs_without_workers, &sum), 7);
    CHECK_EQ(sum, 10);
    CHECK(thrum_sched_current() == NULL);
}

static void *posts_external(void *arg) {
    rig *r = arg;
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = r->sched;
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(thrum_go_with(&attr, note, (void *)(intptr_t)i), 0);
    }
    return NULL;
}

TEST(what_others_post_runs_on_the_next_to_wait) {
    /* No thread is bound yet, one waits already, or only stop runs it. */
    rig r;
    pthread_t thread;
    begin(&r, 0);
    posts_external(&r);
    CHECK_EQ(atomic_load(&seen.count), 0);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    order_check_counts_up(&seen, 100);
    CHECK_EQ(pthread_create(&thread, NULL, posts_external, &r), 0);
    while (atomic_load(&seen.count) < 100) {
        nap();
    }
    CHECK_EQ(pthread_join(thread, NULL), 0);
    order_check_counts_up(&seen, 100);
    CHECK_EQ(thrum_sched_unbind(), 0);
    posts_external(&r);
    rig_stop(&r);
    order_check_counts_up(&seen, 100);
}

/* ---- waiting on a bound thread ---- */

typedef struct three {
    thrum_sem there, back;
    int steps;
} three;

static int answers(void *arg) {
    three *t = arg;
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(thrum_sem_wait(&t->there), 0);
        t->steps++;
        thrum_sem_post(&t->back);
    }
    return 0;
}

TEST(ping_pong_of_three_steps_bound_and_unbound) {
    /* A fiber plays with the thread itself. */
    for (size_t w = 0; w < COUNT_OF(counts); w++) {
        for (int bound = counts[w] ? 0 : 1; bound < 2; bound++) {
            rig r;
            three t = {.steps = 0};
            thrum_attr attr = THRUM_ATTR_INIT;
            begin(&r, counts[w]);
            attr.sched = r.sched;
            thrum_sem_init(&t.there, 0);
            thrum_sem_init(&t.back, 0);
            CHECK_EQ(bound ? thrum_sched_bind(r.sched) : 0, 0);
            CHECK_EQ(thrum_go_with(&attr, answers, &t), 0);
            for (int i = 0; i < 3; i++) {
                thrum_sem_post(&t.there);
                CHECK_EQ(thrum_sem_wait(&t.back), 0);
                CHECK_EQ(t.steps, i + 1);
            }
            CHECK_EQ(bound ? thrum_sched_unbind() : 0, 0);
            rig_stop(&r);
        }
    }
}

TEST(idleness_is_seen_after_timed_waits_of_the_thread) {
    /* The thread's own waits, late, in time or slept through, are no runs of tasks. */
    static const thrum_policy policies[] = {THRUM_SHARDED, THRUM_GLOBAL, THRUM_FIFO};
    for (size_t w = 0; w < COUNT_OF(counts) * COUNT_OF(policies); w++) {
        rig r;
        thrum_sem sem = THRUM_SEM_INIT(0);
        rig_init(&r);
        r.config.workers = counts[w / COUNT_OF(policies)];
        r.config.policy = policies[w % COUNT_OF(policies)];
        rig_start(&r);
        CHECK_EQ(thrum_sched_bind(r.sched), 0);
        for (int i = 0; i < 3; i++) {
            CHECK_EQ(thrum_sem_wait_until(&sem, soon()), -ETIMEDOUT);
            CHECK_EQ(thrum_sched_wait_idle(r.sched, far_off()), 0);
        }
        thrum_sem_post(&sem);
        CHECK_EQ(thrum_sem_wait_until(&sem, far_off()), 0);
        nap();
        CHECK_EQ(thrum_sched_wait_idle(r.sched, far_off()), 0);
        CHECK_EQ(thrum_sched_wait_done(r.sched, far_off()), 0);
        CHECK_EQ(thrum_sched_unbind(), 0);
        CHECK_EQ(thrum_sched_wait_idle(r.sched, far_off()), 0);
        rig_stop(&r);
    }
}

static int never_ends_by_itself(void *arg) {
    int code = 0;
    while (!code) {
        thrum_yield();
        code = thrum_cancelled() ? -ECANCELED : 0;
    }
    (void)arg;
    return 0;
}

TEST(wait_idle_gives_up_in_time_beside_endless_work) {
    /* Without workers the caller runs it itself. */
    rig r;
    thrum_handle *handles[2];
    begin(&r, 0);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(thrum_spawn(&handles[i], never_ends_by_itself, NULL), 0);
    }
    CHECK_EQ(thrum_sched_wait_idle(r.sched, soon()), -ETIMEDOUT);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(thrum_cancel(handles[i]), 0);
        CHECK_EQ(thrum_join(handles[i], NULL), 0);
    }
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&r);
}

/* ---- where tasks run ---- */

static int runs_on(void *arg) {
    pthread_t *where = arg;
    *where = thread_now();
    return 0;
}

TEST(tasks_never_run_on_the_bound_thread_when_there_are_workers) {
    /* They never do, however long the thread waits. */
    rig r;
    enum { N = 200 };
    static pthread_t where[N];
    begin(&r, 2);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    for (int i = 0; i < N; i++) {
        thrum_handle *handle;
        CHECK_EQ(thrum_spawn(&handle, runs_on, &where[i]), 0);
        CHECK_EQ(thrum_join(handle, NULL), 0);
        CHECK(!pthread_equal(where[i], pthread_self()));
    }
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&r);
}

static int stays(void *arg) {
    pthread_t home = *(pthread_t *)arg;
    for (int i = 0; i < 5; i++) {
        CHECK(pthread_equal(thread_now(), home));
        nap();
        thrum_yield();
    }
    CHECK(pthread_equal(thread_now(), home));
    return 1;
}

TEST(pinned_tasks_of_a_bound_thread_stay_on_it) {
    /* They stay through sleeps and yields; unbind waits for them. */
    for (size_t w = 0; w < COUNT_OF(counts); w++) {
        rig r;
        pthread_t home = pthread_self();
        thrum_attr attr = THRUM_ATTR_INIT;
        begin(&r, counts[w]);
        attr.flags = THRUM_PINNED;
        CHECK_EQ(thrum_sched_bind(r.sched), 0);
        for (int i = 0; i < 100; i++) {
            CHECK_EQ(thrum_go_with(&attr, stays, &home), 0);
        }
        CHECK_EQ(thrum_sched_unbind(), 0);
        CHECK_EQ(thrum_sched_wait_done(r.sched, past()), 0);
        rig_stop(&r);
    }
}

static int holds_a_worker(void *arg) {
    SPIN_UNTIL(atomic_load((atomic_bool *)arg));
    return 0;
}

TEST(a_thread_that_helps_runs_the_workers_tasks) {
    /* All workers are busy until the last task has run: it must run on the bound thread. */
    static const thrum_policy policies[] = {THRUM_SHARDED, THRUM_GLOBAL, THRUM_FIFO};
    for (size_t p = 0; p < COUNT_OF(policies); p++) {
        rig r;
        atomic_bool done = false;
        pthread_t where[20];
        thrum_handle *handles[COUNT_OF(where)];
        rig_init(&r);
        r.config.workers = 2;
        r.config.workers_spare = 0; /* one would run tasks beside the thread */
        r.config.policy = policies[p];
        r.config.help_when_bound = true;
        rig_start(&r);
        CHECK_EQ(thrum_sched_bind(r.sched), 0);
        for (int i = 0; i < 2; i++) {
            CHECK_EQ(thrum_go(holds_a_worker, &done), 0);
        }
        thrum_metrics m = {.size = sizeof m};
        do { /* until both have begun */
            CHECK_EQ(thrum_metrics_read(r.sched, THRUM_ALL_WORKERS, &m), 0);
        } while (m.tasks_started < 2);
        for (size_t i = 0; i < COUNT_OF(where); i++) {
            CHECK_EQ(thrum_spawn(&handles[i], runs_on, &where[i]), 0);
        }
        for (size_t i = 0; i < COUNT_OF(where); i++) {
            CHECK_EQ(thrum_join(handles[i], NULL), 0);
            CHECK(pthread_equal(where[i], pthread_self()));
        }
        atomic_store(&done, true);
        CHECK_EQ(thrum_sched_unbind(), 0);
        rig_stop(&r);
    }
}

/* ---- many, and side by side ---- */

typedef struct guest {
    rig *r;
    pthread_t thread;
    int sum;
} guest;

static int adds_one(void *arg) {
    ++*(int *)arg;
    return 0;
}

static void *is_guest(void *arg) {
    guest *g = arg;
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.flags = THRUM_PINNED;
    CHECK_EQ(thrum_sched_bind(g->r->sched), 0);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(thrum_go_with(&attr, adds_one, &g->sum), 0);
        thrum_yield();
    }
    CHECK_EQ(thrum_sched_unbind(), 0);
    CHECK_EQ(g->sum, 20);
    return NULL;
}

TEST(a_thousand_threads_at_once) {
    /* Each thread has tasks of its own. */
    enum { N = 1000 };
    static guest guests[N];
    for (unsigned workers = 0; workers < 3; workers += 2) {
        rig r;
        const int n = SCALED(N);
        begin(&r, workers);
        for (int i = 0; i < n; i++) {
            guests[i] = (guest){.r = &r};
            start_or_skip(&guests[i].thread, is_guest, &guests[i]);
        }
        for (int i = 0; i < n; i++) {
            CHECK_EQ(pthread_join(guests[i].thread, NULL), 0);
        }
        rig_stop(&r);
    }
}

static void *is_bound_for_a_while(void *arg) {
    guest *g = arg;
    CHECK_EQ(thrum_sched_bind(g->r->sched), 0);
    atomic_fetch_add(&seen.count, 1);
    CHECK_EQ(sleep_until_cancelled(), -ECANCELED); /* by a stop past its deadline */
    CHECK_EQ(thrum_sched_bind(g->r->sched), -EBUSY);
    CHECK_EQ(thrum_sched_unbind(), 0);
    return NULL;
}

TEST(stop_waits_until_all_have_unbound) {
    /* It refuses to bind others meanwhile; past its deadline it cancels their waits. */
    for (size_t w = 0; w < COUNT_OF(counts); w++) {
        rig r;
        guest g = {.r = &r};
        begin(&r, counts[w]);
        atomic_store(&seen.count, 0);
        CHECK_EQ(pthread_create(&g.thread, NULL, is_bound_for_a_while, &g), 0);
        SPIN_UNTIL(atomic_load(&seen.count) == 1);
        CHECK_EQ(thrum_sched_stop_until(r.sched, past()), -ETIMEDOUT);
        CHECK_EQ(thrum_sched_bind(r.sched), -ESHUTDOWN);
        CHECK_EQ(pthread_join(g.thread, NULL), 0);
        rig_stop(&r);
    }
}

static int posts_to_the_other(void *arg) {
    rig *other = arg;
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = other->sched;
    thrum_handle *handle;
    int result = 0;
    CHECK_EQ(thrum_spawn_with(&handle, &attr, note, (void *)(intptr_t)1), 0);
    CHECK_EQ(thrum_join(handle, &result), 0);
    return result;
}

TEST(side_by_side_with_another_scheduler) {
    /* A thread that is bound to one posts to the other, and so do its tasks. */
    rig a;
    rig b;
    begin(&a, 0);
    begin(&b, 2);
    atomic_store(&seen.count, 0);
    CHECK_EQ(thrum_sched_bind(a.sched), 0);
    CHECK_EQ(thrum_sched_bind(b.sched), -EBUSY);
    CHECK_EQ(posts_to_the_other(&b), 0);
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(thrum_go(posts_to_the_other, &b), 0);
    }
    CHECK_EQ(thrum_sched_wait_done(a.sched, THRUM_FOREVER), 0);
    CHECK_EQ(atomic_load(&seen.count), 51);
    rig_stop(&b);
    rig_stop(&a);
}

/* ---- locks, values, misuse ---- */

TEST(a_bound_thread_is_still_the_same) {
    /* It unlocks what it locked before, and keeps its values. */
    rig r;
    thrum_mutex mutex = THRUM_MUTEX_INIT;
    thrum_key key;
    int value;
    begin(&r, 1);
    CHECK_EQ(thrum_key_create(&key, NULL), 0);
    CHECK_EQ(thrum_key_set(key, &value), 0);
    thrum_mutex_lock(&mutex);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    CHECK_EQ(thrum_mutex_try_lock(&mutex), -EBUSY);
    thrum_mutex_unlock(&mutex);
    CHECK(thrum_key_get(key) == &value);
    thrum_mutex_lock(&mutex);
    CHECK_EQ(thrum_sched_unbind(), 0);
    thrum_mutex_unlock(&mutex);
    CHECK(thrum_key_get(key) == &value);
    CHECK_EQ(thrum_key_delete(key), 0);
    rig_stop(&r);
}

static int binds(void *arg) {
    rig *r = arg;
    CHECK_EQ(thrum_sched_bind(r->sched), -EDEADLK);
    CHECK_EQ(thrum_sched_unbind(), -EDEADLK);
    CHECK_EQ(thrum_sched_stop(r->sched), -EDEADLK);
    CHECK_EQ(thrum_sched_wait_idle(r->sched, THRUM_FOREVER), -EDEADLK);
    return 0;
}

TEST(binding_in_vain) {
    /* It fails in a task, twice in a row, and to nothing; so does unbinding what is not bound. */
    rig r;
    begin(&r, 0);
    CHECK_EQ(thrum_sched_bind(NULL), -EINVAL);
    CHECK_EQ(thrum_sched_unbind(), -ESRCH);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    CHECK_EQ(thrum_sched_bind(r.sched), -EBUSY);
    CHECK_EQ(thrum_go(binds, &r), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&r);
}

TEST(binding_without_memory) {
    /* It fails with -ENOMEM, and nothing is left behind. */
    rig r;
    int code = -ENOMEM;
    begin(&r, 0);
    for (long n = 1; code; n++) {
        atomic_store(&r.fail_at, atomic_load(&r.calls) + n);
        code = thrum_sched_bind(r.sched);
        CHECK(code == 0 || code == -ENOMEM);
    }
    atomic_store(&r.fail_at, 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&r);
}

static void *ends_bound(void *arg) {
    rig *r = arg;
    CHECK_EQ(thrum_sched_bind(r->sched), 0);
    return NULL;
}

static void end_a_thread_bound(void *arg) {
    rig r;
    pthread_t thread;
    (void)arg;
    begin(&r, 0);
    CHECK_EQ(pthread_create(&thread, NULL, ends_bound, &r), 0);
    pthread_join(thread, NULL);
}

TEST(a_thread_that_ends_bound_aborts) {
    /* A line says so. */
    check_dies(end_a_thread_bound, NULL, "thrum_sched_unbind: missing: a thread has ended bound");
}
