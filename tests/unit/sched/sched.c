/*
 * sched.c: starting and running a scheduler, what it says about itself, its hooks, two side by
 * side.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/threads.h"

static int answer(void *arg) {
    return *(int *)arg;
}

TEST(start_and_stop_without_work) {
    /* A scheduler that was given nothing stops. */
    rig r;
    rig_begin(&r, 0);
    rig_stop(&r);
}

TEST(start_and_stop_with_defaults) {
    /* NULL means defaults, for start and for run. */
    thrum_sched *sched = NULL;
    int number = 11;
    CHECK_EQ(thrum_sched_start(&sched, NULL), 0);
    CHECK(thrum_sched_parallelism(sched) >= 1);
    CHECK_EQ(thrum_sched_stop(sched), 0);
    CHECK_EQ(thrum_run(NULL, answer, &number), 11);
}

TEST(run_returns_what_entry_returned) {
    /* It may be any value, negative ones too. */
    static const int values[] = {0, 1, -1, 255, INT_MAX, INT_MIN, -EINVAL};
    rig r;
    rig_init(&r);
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        int value = values[i];
        CHECK_EQ(thrum_run(&r.config, answer, &value), value);
        rig_check_freed(&r);
    }
}

static atomic_int ran;

static int leave_late(void *arg) {
    for (int i = 0; i < 100; i++) {
        thrum_yield();
    }
    (void)arg;
    atomic_fetch_add(&ran, 1);
    return 0;
}

static int leave_behind(void *arg) {
    (void)arg;
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(thrum_go(leave_late, NULL), 0);
    }
    return 5;
}

TEST(run_waits_for_what_entry_started) {
    /* Fibers that outlive the entry are finished before run returns. */
    rig r;
    rig_init(&r);
    CHECK_EQ(thrum_run(&r.config, leave_behind, NULL), 5);
    CHECK_EQ(atomic_load(&ran), 50);
    rig_check_freed(&r);
}

static int must_not_run(void *arg) {
    (void)arg;
    CHECK(false);
    return 0;
}

TEST(run_returns_what_kept_it_from_starting) {
    /* The entry does not run then. */
    rig r;
    rig_init(&r);
    r.config.local_capacity = 3;
    CHECK_EQ(thrum_run(&r.config, must_not_run, NULL), -EINVAL);
    CHECK_EQ(thrum_run(NULL, NULL, NULL), -EINVAL);
}

static int run_inside(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_run(NULL, must_not_run, NULL), -EDEADLK);
    return 0;
}

TEST(run_from_a_task_is_refused) {
    /* It would block the worker for good. */
    rig_do(0, run_inside, NULL);
}

TEST(two_runs_in_a_row) {
    /* Nothing of the first is left for the second. */
    rig r;
    int number = 3;
    rig_init(&r);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(thrum_run(&r.config, answer, &number), 3);
        rig_check_freed(&r);
    }
}

static int look_around(void *arg) {
    rig *r = arg;
    CHECK(thrum_sched_current() == r->sched);
    for (int i = 0; i < 100; i++) {
        const int id = thrum_worker_id();
        CHECK(id >= 0 && (unsigned)id < thrum_sched_parallelism(r->sched));
        thrum_yield();
        CHECK(thrum_sched_current() == r->sched);
    }
    return 0;
}

static void look_around_task(thrum_task *self, void *arg) {
    (void)self;
    look_around(arg);
}

TEST(current_scheduler_and_worker) {
    /* A task sees its scheduler and a worker's number; a plain thread sees neither. */
    rig r;
    thrum_task task = THRUM_TASK_INIT(look_around_task, &r);
    CHECK(thrum_sched_current() == NULL);
    CHECK_EQ(thrum_worker_id(), -1);
    rig_begin(&r, 0);
    CHECK(thrum_sched_current() == NULL);
    CHECK_EQ(thrum_worker_id(), -1);
    CHECK_EQ(rig_run(&r, look_around, &r), 0);
    CHECK_EQ(thrum_task_post(r.sched, &task), 0);
    rig_stop(&r);
    CHECK(thrum_sched_current() == NULL);
    CHECK_EQ(thrum_worker_id(), -1);
}

TEST(workers_are_as_many_as_asked_for) {
    /* Explicit counts are taken as they are, beyond the machine's processors too. */
    static const unsigned counts[] = {1, 2, 3, 7, 33};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        rig r;
        rig_begin(&r, counts[i]);
        CHECK_EQ(thrum_sched_parallelism(r.sched), counts[i]);
        rig_stop(&r);
    }
}

/* ---- hooks ---- */

#define HOOKED_MAX 64

typedef struct hooked {
    rig r; /* comes first: it is the allocator's ctx */
    pthread_t threads[HOOKED_MAX];
    atomic_int started[HOOKED_MAX];
    atomic_int stopped[HOOKED_MAX];
    atomic_int tasks[HOOKED_MAX];
} hooked;

static void on_start(void *ctx, int worker) {
    hooked *h = ctx;
    CHECK(worker >= 0 && worker < HOOKED_MAX);
    CHECK_EQ(atomic_load(&h->tasks[worker]), 0);
    h->threads[worker] = pthread_self();
    CHECK_EQ(atomic_fetch_add(&h->started[worker], 1), 0);
}

static void on_stop(void *ctx, int worker) {
    hooked *h = ctx;
    CHECK(worker >= 0 && worker < HOOKED_MAX);
    CHECK_EQ(atomic_load(&h->started[worker]), 1);
    CHECK(pthread_equal(h->threads[worker], pthread_self()));
    CHECK_EQ(atomic_fetch_add(&h->stopped[worker], 1), 0);
}

static void hooked_body(thrum_task *self, void *arg) {
    hooked *h = arg;
    const int worker = thrum_worker_id();
    (void)self;
    CHECK_EQ(atomic_load(&h->started[worker]), 1);
    CHECK_EQ(atomic_load(&h->stopped[worker]), 0);
    CHECK(pthread_equal(h->threads[worker], pthread_self()));
    atomic_fetch_add(&h->tasks[worker], 1);
}

TEST(worker_hooks_run_once_on_each_worker) {
    /* They run on the worker's own thread, start before its first task and stop after its last. */
    static hooked h;
    thrum_task tasks[HOOKED_MAX];
    rig_init(&h.r);
    h.r.config.worker_start = on_start;
    h.r.config.worker_stop = on_stop;
    rig_start(&h.r);
    const int workers = (int)thrum_sched_parallelism(h.r.sched);
    CHECK(workers <= HOOKED_MAX);
    for (int i = 0; i < workers; i++) {
        thrum_task_init(&tasks[i], hooked_body, &h);
        thrum_task_set_worker(&tasks[i], i);
        CHECK_EQ(thrum_task_post(h.r.sched, &tasks[i]), 0);
    }
    rig_stop(&h.r);
    for (int i = 0; i < HOOKED_MAX; i++) {
        CHECK_EQ(atomic_load(&h.started[i]), i < workers);
        CHECK_EQ(atomic_load(&h.stopped[i]), i < workers);
        CHECK_EQ(atomic_load(&h.tasks[i]), i < workers);
    }
}

static void named_body(thrum_task *self, void *arg) {
    char name[32] = "";
    (void)self;
    (void)arg;
    own_thread_name(name, sizeof(name));
    CHECK(strncmp(name, "weaver", 6) == 0);
    atomic_fetch_add(&ran, 1);
}

TEST(threads_carry_the_name_of_the_scheduler) {
    /* So top and gdb tell which scheduler they belong to. */
    NOT_BY_POSIX("names of threads");
    char name[] = "weaver";
    thrum_task task = THRUM_TASK_INIT(named_body, NULL);
    rig r;
    rig_init(&r);
    r.config.name = name;
    CHECK_EQ(thrum_sched_start(&r.sched, &r.config), 0);
    memset(name, 'x', sizeof(name) - 1);
    CHECK_EQ(thrum_task_post(r.sched, &task), 0);
    CHECK_EQ(thrum_sched_stop(r.sched), 0);
    CHECK_EQ(atomic_load(&ran), 1);
}

/* ---- the panic hook ---- */

static void take_line(void *ctx, const char *line) {
    CHECK(ctx != NULL);
    fprintf(stderr, "HOOK<%s>\n", line);
}

static int unlock_free_mutex(void *arg) {
    static thrum_mutex mutex = THRUM_MUTEX_INIT;
    (void)arg;
    thrum_mutex_unlock(&mutex);
    return 0;
}

static void misuse_with_hook(void *arg) {
    rig r;
    (void)arg;
    rig_init(&r);
    r.config.panic = take_line;
    thrum_run(&r.config, unlock_free_mutex, NULL);
}

static void misuse_without_hook(void *arg) {
    rig r;
    (void)arg;
    rig_init(&r);
    thrum_run(&r.config, unlock_free_mutex, NULL);
}

TEST(panic_hook_takes_the_line) {
    /* The hook gets one line that names the call; when it returns the program aborts. */
    check_dies(misuse_with_hook, NULL, "HOOK<thrum: thrum_mutex_unlock: ");
    check_dies(misuse_without_hook, NULL, "thrum: thrum_mutex_unlock: ");
}

static int misuse_named(void *arg) {
    CHECK_EQ(thrum_set_name("the culprit"), 0);
    return unlock_free_mutex(arg);
}

static void misuse_in_named_fiber(void *arg) {
    rig r;
    (void)arg;
    rig_init(&r);
    thrum_run(&r.config, misuse_named, NULL);
}

TEST(misuse_names_the_fiber) {
    /* The line names the fiber that did it. */
    check_dies(misuse_in_named_fiber, NULL, "the culprit");
}

/* ---- two schedulers ---- */

typedef struct bounce {
    rig *sides[2];
    thrum_task task;
    thrum_sem done;
    int left;
    atomic_int seen[2];
} bounce;

static void bounce_body(thrum_task *self, void *arg) {
    bounce *b = arg;
    const int side = thrum_sched_current() == b->sides[1]->sched;
    CHECK(thrum_sched_current() == b->sides[side]->sched);
    atomic_fetch_add(&b->seen[side], 1);
    if (--b->left == 0) {
        thrum_sem_post(&b->done);
        return;
    }
    thrum_task_init(self, bounce_body, b);
    CHECK_EQ(thrum_task_post(b->sides[!side]->sched, self), 0);
}

TEST(two_schedulers_post_to_each_other) {
    /* A task of one counts as an external thread for the other; each runs what was posted to it. */
    rig r1, r2;
    bounce balls[8];
    const int turns = SCALED(1000);
    rig_begin(&r1, 0);
    rig_begin(&r2, 0);
    for (int i = 0; i < 8; i++) {
        bounce *b = &balls[i];
        memset(b, 0, sizeof(*b));
        b->sides[0] = &r1;
        b->sides[1] = &r2;
        b->left = turns;
        thrum_sem_init(&b->done, 0);
        thrum_task_init(&b->task, bounce_body, b);
        CHECK_EQ(thrum_task_post(r1.sched, &b->task), 0);
    }
    for (int i = 0; i < 8; i++) {
        CHECK_EQ(thrum_sem_wait(&balls[i].done), 0);
        CHECK_EQ(atomic_load(&balls[i].seen[0]), (turns + 1) / 2);
        CHECK_EQ(atomic_load(&balls[i].seen[1]), turns / 2);
    }
    rig_stop(&r1);
    rig_stop(&r2);
}

static thrum_sem lefts = THRUM_SEM_INIT(0), rights = THRUM_SEM_INIT(0);

static int left_side(void *arg) {
    rig *r = arg;
    for (int i = 0; i < 500; i++) {
        CHECK_EQ(thrum_sem_wait(&lefts), 0);
        CHECK(thrum_sched_current() == r->sched);
        thrum_sem_post(&rights);
    }
    return 0;
}

static int right_side(void *arg) {
    rig *r = arg;
    for (int i = 0; i < 500; i++) {
        thrum_sem_post(&lefts);
        CHECK_EQ(thrum_sem_wait(&rights), 0);
        CHECK(thrum_sched_current() == r->sched);
    }
    return 0;
}

TEST(fibers_of_two_schedulers_wake_each_other) {
    /* A fiber that another scheduler wakes goes on on its own. */
    rig r1, r2;
    rig_begin(&r1, 0);
    rig_begin(&r2, 0);
    rig_go(&r1, left_side, &r1);
    CHECK_EQ(rig_run(&r2, right_side, &r2), 0);
    rig_stop(&r2);
    rig_stop(&r1);
}
