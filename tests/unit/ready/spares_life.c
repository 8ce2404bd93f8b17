/*
 * spares_life.c: starting, stopping and waiting while spare workers take over, and the hooks of
 * their threads.
 */
/* matrix: policy workers */
#include <sys/wait.h>

#include "support/sync/held.h"
#include "support/report/reports.h"
#include "support/times.h"

static void start_and_hold(hold *h, held_way way) {
    held_start(h);
    held_begin(h, way, held_regular(h), true);
}

TEST(a_stop_waits_for_what_a_spare_runs) {
    /* What ends the hold runs while the stop waits. */
    static hold h;
    for (int way = 0; way < HELD_WAYS; way++) {
        held_init_spares(&h);
        start_and_hold(&h, (held_way)way);
        open_by_timer(&h);
        held_stop(&h);
        CHECK_EQ(atomic_load(&h.out), h.count);
    }
}

static int waits_until_cancelled(void *arg) {
    hold *h = arg;
    CHECK_EQ(thrum_sem_wait(&h->sem), -ECANCELED);
    held_open(h);
    return 0;
}

TEST(a_deadline_of_a_stop_passes_while_workers_are_held_up) {
    /* The fiber that is cancelled goes on upon a spare. */
    static hold h;
    held_init_spares(&h);
    thrum_sem_init(&h.sem, 0);
    start_and_hold(&h, HELD_READING);
    rig_go(&h.r, waits_until_cancelled, &h);
    CHECK_EQ(thrum_sched_stop_until(h.r.sched, soon()), -ETIMEDOUT);
    held_end(&h);
    held_stop(&h);
}

static void *waits_for_all(void *arg) {
    hold *h = arg;
    CHECK_EQ(thrum_sched_wait_idle(h->r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_sched_wait_done(h->r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(atomic_load(&h->out), h->count);
    return NULL;
}

TEST(a_wait_for_idleness_ends_behind_a_spare) {
    /* It ends when all is done, with the spare idle again or not. */
    static hold h;
    held_init_spares(&h);
    held_start(&h);
    for (int i = 0; i < 5; i++) {
        pthread_t waiter;
        held_begin(&h, (held_way)(i % HELD_WAYS), held_regular(&h), true);
        CHECK_EQ(pthread_create(&waiter, NULL, waits_for_all, &h), 0);
        CHECK_EQ(thrum_sched_wait_idle(h.r.sched, soon()), -ETIMEDOUT);
        open_by_post(&h);
        held_end(&h);
        CHECK_EQ(pthread_join(waiter, NULL), 0);
        if (i % 2) {
            held_settle(&h);
        }
    }
    held_stop(&h);
}

TEST(a_bound_thread_waits_for_a_spare) {
    /* It joins a fiber that only a spare can run. */
    static hold h;
    held_init_spares(&h);
    start_and_hold(&h, HELD_WAITING);
    CHECK_EQ(thrum_sched_bind(h.r.sched), 0);
    CHECK_EQ(rig_run(&h.r, opening_fiber, &h), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    held_end(&h);
    held_stop(&h);
}

/* ---- deadlocks ---- */

TEST(a_deadlock_is_reported_behind_a_spare) {
    /* All workers and spares sleep then, idle or not. */
    static hold h;
    held_init_spares(&h);
    h.r.config.deadlock = keep_report;
    things_init();
    start_and_hold(&h, HELD_READING);
    thrum_handle *stuck = spawn_named(&h.r, "stuck", waits_for_later, NULL);
    open_by_post(&h);
    held_end(&h);
    CHECK_REPORTED(1);
    check_told("stuck");
    held_settle(&h);
    thrum_sem_post(&it.sem);
    join(stuck, 0);
    things_end();
    held_stop(&h);
}

/* ---- forks of the process ---- */

static int forks_and_opens(void *arg) {
    hold *h = arg;
    CHECK(thrum_worker_id() >= held_regular(h));
    pid_t child = fork();
    if (child == 0) {
        _exit(thrum_sched_stop(h->r.sched) == -ESHUTDOWN ? 42 : 1);
    }
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
    held_open(h);
    return 0;
}

TEST(a_spare_forks) {
    /* The child has no workers, the parent goes on. */
    static hold h;
    held_init_spares(&h);
    start_and_hold(&h, HELD_READING);
    rig_go(&h.r, forks_and_opens, &h);
    held_end(&h);
    held_stop(&h);
}

static int answers(void *arg) {
    (void)arg;
    return 42;
}

TEST(a_child_starts_a_scheduler_of_its_own) {
    /* It has spares that stand in there. */
    static hold h;
    if (UNDER_TSAN) {
        CHECK_SKIP("the sanitizer takes no threads after a fork of threads");
    }
    if (UNDER_ASAN) {
        CHECK_SKIP("the sanitizer's allocator may be locked in the child, by a thread not there");
    }
    held_init_spares(&h);
    start_and_hold(&h, HELD_READING);
    pid_t child = fork();
    if (child == 0) {
        static hold mine;
        held_init_spares(&mine);
        start_and_hold(&mine, HELD_WAITING);
        open_by_post(&mine);
        held_end(&mine);
        held_stop(&mine);
        _exit(42);
    }
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
    open_by_timer(&h);
    held_end(&h);
    CHECK_EQ(rig_run(&h.r, answers, NULL), 42);
    held_stop(&h);
}

/* ---- hooks ---- */

static atomic_int started[HELD_MAX];
static atomic_int stopped[HELD_MAX];

static void on_start(void *ctx, int worker) {
    (void)ctx;
    atomic_fetch_add(&started[worker], 1);
}

static void on_stop(void *ctx, int worker) {
    (void)ctx;
    CHECK_EQ(atomic_load(&started[worker]), 1);
    atomic_fetch_add(&stopped[worker], 1);
}

TEST(hooks_are_called_for_spares_that_stood_in) {
    /* Once for each, in pairs, and for no others. */
    static hold h;
    held_init_spares(&h);
    h.r.config.worker_start = on_start;
    h.r.config.worker_stop = on_stop;
    held_start(&h);
    const int all = (int)thrum_sched_workers(h.r.sched);
    const int regular = held_regular(&h);
    for (int i = 0; i < 3; i++) {
        held_begin(&h, HELD_READING, regular, true);
        open_by_post(&h);
        held_end(&h);
        held_settle(&h);
    }
    const int seen = (int)held_metrics(&h).workers;
    CHECK(seen > regular);
    held_stop(&h);
    for (int i = 0; i < all; i++) {
        CHECK(atomic_load(&started[i]) <= 1);
        CHECK_EQ(atomic_load(&stopped[i]), atomic_load(&started[i]));
        CHECK(i >= regular || atomic_load(&started[i]) == 1);
        CHECK(i < seen || atomic_load(&started[i]) == 0);
    }
}

/* ---- many ---- */

static void *starts_and_stops(void *arg) {
    const crew_seat *seat = arg;
    hold *h = calloc(1, sizeof(*h));
    CHECK(h != NULL);
    for (int i = 0; i < SCALED(8); i++) {
        held_init_spares(h);
        held_start(h);
        if ((i + seat->index) % 3) {
            held_begin(h, HELD_READING, held_regular(h), true);
            open_by_post(h);
            held_end(h);
        }
        held_stop(h);
    }
    free(h);
    return NULL;
}

TEST(many_schedulers_at_once) {
    /* They start and stop, with spares that stand in and without. */
    crew c;
    crew_start(&c, 4, starts_and_stops, NULL);
    crew_join(&c);
}

static int blocks_and_returns(void *arg) {
    hold *h = arg;
    h->r.sched = thrum_sched_current();
    held_begin(h, HELD_WAITING, held_regular(h), false);
    open_by_timer(h);
    return 7;
}

TEST(a_run_whose_entry_is_held_up) {
    /* The entry holds a worker up itself, until its tasks do too; a spare ends that. */
    static hold h;
    held_init_spares(&h);
    h.r.config.workers_spare = 4;
    CHECK_EQ(pthread_mutex_init(&h.mutex, NULL), 0);
    CHECK_EQ(pthread_cond_init(&h.cond, NULL), 0);
    CHECK_EQ(sem_init(&h.opened, 0, 0), 0);
    CHECK_EQ(thrum_run(&h.r.config, blocks_and_returns, &h), 7);
    CHECK_EQ(atomic_load(&h.out), h.count);
    rig_check_freed(&h.r);
}
