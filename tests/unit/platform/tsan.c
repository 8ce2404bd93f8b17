/*
 * tsan.c: what the thread sanitizer is told about tasks neither hides races nor invents any.
 *
 * Each scenario is a child process: two tasks on ONE worker, which run one after the other anyhow,
 * change a plain int. Only what orders them may keep the sanitizer silent.
 */
#include "support/support.h"

static int plain;

static __attribute__((noinline)) void change(void) {
    plain++;
}

/* ---- children ---- */

typedef struct outcome {
    int status;
    size_t length;
    char text[16384];
} outcome;

static void run_child(outcome *o, void (*scenario)(void)) {
    int ends[2];
    if (!UNDER_TSAN) {
        CHECK_SKIP("no thread sanitizer");
    }
    memset(o, 0, sizeof(*o));
    fflush(NULL);
    CHECK_EQ(pipe(ends), 0);
    const pid_t child = fork(); /* this is the only thread that was ever started */
    CHECK(child >= 0);
    if (child == 0) {
        close(ends[0]);
        dup2(ends[1], STDERR_FILENO);
        close(ends[1]);
        scenario();
        exit(0); /* a race exits with the sanitizer's own status */
    }
    close(ends[1]);
    for (;;) {
        char rest[512];
        const size_t room = sizeof(o->text) - 1 - o->length;
        const ssize_t n =
            read(ends[0], room ? o->text + o->length : rest, (unsigned)(room ? room : sizeof rest));
        if (n == 0) {
            break;
        }
        CHECK(n > 0 || errno == EINTR);
        if (n > 0 && room) {
            o->length += (size_t)n;
        }
    }
    close(ends[0]);
    while (waitpid(child, &o->status, 0) < 0 && errno == EINTR) {
    }
}

static void check_reported(void (*scenario)(void)) {
    static outcome o;
    run_child(&o, scenario);
    if (!strstr(o.text, "ThreadSanitizer: data race")) {
        check_failed(__FILE__, __LINE__,
                     "no race was reported: wait status 0x%x, it printed: %.600s",
                     (unsigned)o.status, o.text);
    }
    CHECK(o.status != 0);
}

static void check_silent(void (*scenario)(void)) {
    static outcome o;
    run_child(&o, scenario);
    if (o.status != 0 || strstr(o.text, "ThreadSanitizer")) {
        check_failed(__FILE__, __LINE__, "wait status 0x%x, it printed: %.900s", (unsigned)o.status,
                     o.text);
    }
}

/* Queued while the worker is busy, so that starting the second cannot follow the end of the first.
 */
static void run_two(thrum_fn first, thrum_fn second, void *arg) {
    rig r;
    holder h;
    rig_begin(&r, 1);
    holder_begin(&r, &h, -1);
    rig_go(&r, first, arg);
    rig_go(&r, second, arg);
    holder_end(&h);
    rig_stop(&r);
    CHECK_EQ(plain, 2);
}

static int change_plainly(void *arg) {
    (void)arg;
    change();
    return 0;
}

/* ---- races ---- */

static void two_started(void) {
    run_two(change_plainly, change_plainly, NULL);
}

TEST(race_of_two_tasks_of_one_worker_is_reported) {
    /* That they ran one after the other is no order. */
    check_reported(two_started);
}

static void change_in_task(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    change();
}

static void two_posted(void) {
    rig r;
    holder h;
    static thrum_task tasks[2];
    rig_begin(&r, 1);
    holder_begin(&r, &h, -1);
    for (int i = 0; i < 2; i++) {
        thrum_task_init(&tasks[i], change_in_task, NULL);
        CHECK_EQ(thrum_task_post(r.sched, &tasks[i]), 0);
    }
    holder_end(&h);
    rig_stop(&r);
}

TEST(race_of_two_posted_tasks_is_reported) {
    /* The same holds for intrusive tasks. */
    check_reported(two_posted);
}

static int yield_change_yield(void *arg) {
    (void)arg;
    thrum_yield();
    change();
    thrum_yield();
    return 0;
}

static void two_yielding(void) {
    run_two(yield_change_yield, yield_change_yield, NULL);
}

TEST(race_of_two_fibers_that_yield_is_reported) {
    /* Switching to one another is no order either. */
    check_reported(two_yielding);
}

static int spawn_two(void *arg) {
    thrum_handle *handles[2];
    (void)arg;
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(thrum_spawn(&handles[i], change_plainly, NULL), 0);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(thrum_join(handles[i], NULL), 0);
    }
    return 0;
}

static void two_spawned(void) {
    rig_do(1, spawn_two, NULL);
}

TEST(race_of_two_spawned_tasks_is_reported) {
    /* Both are ordered with the task that spawns and joins them, not with each other. */
    check_reported(two_spawned);
}

/* ---- order ---- */

static thrum_mutex mutex;

static int change_locked(void *arg) {
    (void)arg;
    thrum_mutex_lock(&mutex);
    change();
    thrum_yield(); /* the other one has to wait */
    thrum_mutex_unlock(&mutex);
    return 0;
}

static void two_locked(void) {
    thrum_mutex_init(&mutex);
    run_two(change_locked, change_locked, NULL);
}

TEST(mutex_orders_tasks) {
    /* The sanitizer is silent. */
    check_silent(two_locked);
}

static int change_then_post(void *arg) {
    change();
    thrum_sem_post(arg);
    return 0;
}

static int wait_then_change(void *arg) {
    CHECK_EQ(thrum_sem_wait(arg), 0);
    change();
    return 0;
}

static void waits_first(void) {
    thrum_sem sem = THRUM_SEM_INIT(0);
    run_two(wait_then_change, change_then_post, &sem);
}

static void posts_first(void) {
    thrum_sem sem = THRUM_SEM_INIT(0);
    run_two(change_then_post, wait_then_change, &sem);
}

TEST(semaphore_orders_tasks) {
    /* It does so whether the waiter suspends or not. */
    check_silent(waits_first);
    check_silent(posts_first);
}

static int spawn_and_join_in_turn(void *arg) {
    (void)arg;
    change();
    for (int i = 0; i < 2; i++) {
        thrum_handle *handle = NULL;
        CHECK_EQ(thrum_spawn(&handle, change_plainly, NULL), 0);
        CHECK_EQ(thrum_join(handle, NULL), 0);
        change();
    }
    return 0;
}

static void spawned_in_turn(void) {
    rig_do(1, spawn_and_join_in_turn, NULL);
    CHECK_EQ(plain, 5);
}

TEST(spawn_and_join_order_tasks) {
    /* They order what comes before, in and after a task that is joined. */
    check_silent(spawned_in_turn);
}

static void waited_in_turn(void) {
    rig r;
    thrum_task task = THRUM_TASK_INIT(change_in_task, NULL);
    rig_begin(&r, 1);
    for (int i = 0; i < 3; i++) {
        rig_go(&r, change_plainly, NULL);
        rig_wait_done(&r);
        change();
        CHECK_EQ(thrum_task_post(r.sched, &task), 0);
        rig_wait_done(&r);
        change();
    }
    rig_stop(&r);
    CHECK_EQ(plain, 12);
}

TEST(wait_done_orders_tasks) {
    /* It orders what ended before it, and what is started after it. */
    check_silent(waited_in_turn);
}

/* ---- memory ---- */

typedef struct brief {
    thrum_task task;
    thrum_waitgroup *left; /* NULL: rig_wait_done is told */
} brief;

static void free_self(thrum_task *self, void *arg) {
    thrum_waitgroup *left = ((brief *)arg)->left;
    CHECK(&((brief *)arg)->task == self);
    free(arg);
    if (left) {
        thrum_waitgroup_done(left);
    }
}

static thrum_task *new_brief(thrum_waitgroup *left) {
    brief *b = malloc(sizeof *b);
    CHECK(b != NULL);
    b->left = left;
    thrum_task_init(&b->task, free_self, b);
    return &b->task;
}

/* Posts one by one, in a batch, with a deadline, tied to a worker. */
static void post_briefs(thrum_sched *sched, thrum_waitgroup *left) {
    enum { BATCH = 8 };
    thrum_task *batch[BATCH];
    for (int i = 0; i < BATCH; i++) {
        batch[i] = new_brief(left);
        CHECK_EQ(thrum_task_post(sched, new_brief(left)), 0);
        CHECK_EQ(thrum_task_post_after(sched, new_brief(left), 1000), 0);
        thrum_task *tied = new_brief(left);
        thrum_task_set_worker(tied, 0);
        CHECK_EQ(thrum_task_post(sched, tied), 0);
    }
    CHECK_EQ(thrum_task_post_batch(sched, batch, BATCH), 0);
}

static int post_briefs_inside(void *arg) {
    thrum_waitgroup left = THRUM_WAITGROUP_INIT(4 * 8);
    (void)arg;
    post_briefs(thrum_sched_current(), &left);
    CHECK_EQ(thrum_waitgroup_wait(&left), 0);
    return 0;
}

static thrum_policy freed_policy;

static void freed_by_their_bodies(void) {
    for (unsigned workers = 1; workers <= 2; workers++) {
        rig r;
        rig_init(&r);
        r.config.workers = workers;
        r.config.policy = freed_policy;
        rig_start(&r);
        for (int i = 0; i < 20; i++) {
            post_briefs(r.sched, NULL);
        }
        rig_wait_done(&r);
        for (int i = 0; i < 20; i++) {
            rig_go(&r, post_briefs_inside, NULL);
        }
        rig_stop(&r);
    }
}

TEST(bodies_free_their_tasks) {
    /* Nothing that the scheduler has done with a task before its body began looks like a race. */
    static const thrum_policy policies[] = {THRUM_SHARDED, THRUM_FIFO, THRUM_GLOBAL};
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        freed_policy = policies[i];
        check_silent(freed_by_their_bodies);
    }
}

/* ---- the stack ---- */

static __attribute__((noinline)) void fill(char *at, size_t size) {
    for (size_t i = 0; i < size; i++) {
        at[i] = (char)(i % 100);
    }
    __asm__ volatile("" ::"r"(at) : "memory"); /* an address that escapes is watched */
}

/* Writes, in the task's context, where earlier calls had their frames. */
static __attribute__((noinline)) void write_below(void) {
    char below[6000];
    fill(below, sizeof below);
}

typedef struct calls {
    thrum_sem sem;
    thrum_mutex mutex;
    thrum_event event;
    thrum_waitgroup left;
    thrum_task task;
} calls;

static int post_and_end(void *arg) {
    calls *c = arg;
    write_below();
    thrum_mutex_lock(&c->mutex);
    write_below();
    thrum_yield();
    write_below();
    thrum_mutex_unlock(&c->mutex);
    write_below();
    thrum_sem_post(&c->sem);
    write_below();
    CHECK_EQ(thrum_event_wait(&c->event), 0);
    write_below();
    thrum_waitgroup_done(&c->left);
    write_below();
    return 0;
}

static void write_in_task(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    write_below();
}

static int call_all(void *arg) {
    calls *c = arg;
    thrum_handle *handle = NULL;
    enum { TASKS = 40 }; /* enough for batches */
    write_below();
    thrum_waitgroup_init(&c->left, TASKS);
    for (int i = 0; i < TASKS; i++) {
        CHECK_EQ(thrum_go(post_and_end, c), 0);
        write_below();
    }
    thrum_task_init(&c->task, write_in_task, NULL);
    CHECK_EQ(thrum_task_post(thrum_sched_current(), &c->task), 0);
    write_below();
    for (int i = 0; i < TASKS; i++) {
        CHECK_EQ(thrum_sem_wait(&c->sem), 0);
        write_below();
    }
    CHECK_EQ(thrum_spawn(&handle, change_plainly, NULL), 0);
    write_below();
    CHECK_EQ(thrum_join(handle, NULL), 0);
    write_below();
    thrum_event_signal(&c->event);
    write_below();
    CHECK_EQ(thrum_waitgroup_wait(&c->left), 0);
    write_below();
    return 0;
}

static void stacks_written(void) {
    for (unsigned workers = 1; workers <= 2; workers++) {
        static calls both[2];
        calls *c = &both[workers - 1];
        rig r;
        thrum_sem_init(&c->sem, 0);
        thrum_mutex_init(&c->mutex);
        thrum_event_init(&c->event, THRUM_EVENT_MANUAL, false);
        rig_begin(&r, workers);
        rig_go(&r, call_all, c);
        rig_stop(&r);
    }
}

TEST(scheduler_leaves_nothing_on_a_stack) {
    /* It runs on the stacks of the tasks that call it, in a context of its own. */
    check_silent(stacks_written);
}
