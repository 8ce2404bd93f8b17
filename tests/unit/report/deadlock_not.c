/*
 * deadlock_not.c: no report while something may still go on by itself, or a bound thread runs its
 * own code.
 */
/* matrix: policy workers */
#include "support/report/reports.h"
#include "support/times.h"

/* ---- not told ---- */

static atomic_int fulfilled;

/* Whatever this one waits for ends by itself: no deadlock may be told meanwhile. */
static int sleeps(void *arg) {
    (void)arg;
    nap();
    return 0;
}

static int waits_a_while(void *arg) {
    (void)arg;
    return thrum_event_wait_until(&it.event, soon()) == -ETIMEDOUT ? 0 : -EIO;
}

/* Runs on the pool's thread: it ends when nothing else has run for a while. */
static int outlasts_the_rest(void *arg) {
    CHECK_EQ(thrum_sched_wait_idle(arg, THRUM_FOREVER), 0);
    await_passed(soon());
    return 0;
}

static int calls(void *arg) {
    int result = -1;
    (void)arg;
    CHECK_EQ(thrum_blocking(outlasts_the_rest, thrum_sched_current(), &result), 0);
    return result;
}

static int has_a_deadline(void *arg) {
    thrum_scope scope;
    (void)arg;
    CHECK_EQ(thrum_scope_open(&scope, soon()), 0);
    CHECK_EQ(thrum_scope_go(&scope, waits_for_later, NULL), 0);
    return thrum_scope_join(&scope) == -ETIMEDOUT ? 0 : -EIO;
}

static void expires(thrum_task *self, void *arg) {
    (void)self;
    thrum_event_signal(arg);
}

static int waits_for_task(void *arg) {
    thrum_event due;
    thrum_task task;
    (void)arg;
    thrum_event_init(&due, THRUM_EVENT_AUTO, false);
    thrum_task_init(&task, expires, &due);
    CHECK_EQ(thrum_task_post_until(thrum_sched_current(), &task, soon()), 0);
    return thrum_event_wait(&due);
}

/* Does it, and then says whether a deadlock was told meanwhile. */
static int does(void *arg) {
    const thrum_fn fn = *(const thrum_fn *)arg;
    const int result = fn(NULL);
    CHECK_EQ(atomic_load(&reports), 0);
    atomic_store(&fulfilled, 1);
    return result;
}

TEST(not_told_while_something_is_pending) {
    /*
     * This is a sleep, a timed wait, a blocking call, a scope's deadline, a task's; when it is over
     * there is a deadlock.
     */
    static const thrum_fn fns[] = {sleeps, waits_a_while, calls, has_a_deadline, waits_for_task};
    rig r;
    watched_begin(&r);
    things_init();
    for (size_t i = 0; i < COUNT_OF(fns); i++) {
        atomic_store(&reports, 0);
        atomic_store(&fulfilled, 0);
        holder h; /* otherwise the first might be found alone before the second has come */
        holder_begin(&r, &h, 0);
        thrum_handle *other = spawn_named(&r, "other", does, (void *)(uintptr_t)&fns[i]);
        thrum_handle *deadlocked = spawn_named(&r, "stuck", waits_for_later, NULL);
        holder_end(&h);
        join(other, 0);
        CHECK_REPORTED(1);
        CHECK_EQ(atomic_load(&fulfilled), 1);
        check_told("\": 1 waits, nothing runs");
        thrum_sem_post(&it.sem);
        join(deadlocked, 0);
    }
    things_end();
    rig_stop(&r);
}

static void counts(thrum_task *self, void *arg) {
    (void)self;
    atomic_fetch_add((atomic_int *)arg, 1);
}

TEST(tasks_that_wait_for_a_wakeup_alone_are_no_deadlock) {
    /* They may wait for ever, which is their use; with a fiber beside them only that is told. */
    rig r;
    thrum_task tasks[3];
    atomic_int runs = 0;
    watched_begin(&r);
    things_init();
    atomic_store(&reports, 0);
    for (int i = 0; i < 3; i++) {
        thrum_task_init(&tasks[i], counts, &runs);
        CHECK_EQ(thrum_task_post_wait(r.sched, &tasks[i]), 0);
    }
    CHECK_EQ(rig_run(&r, nothing, NULL), 0);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(atomic_load(&reports), 0);
    thrum_handle *deadlocked = spawn_named(&r, "stuck", waits_for_later, NULL);
    CHECK_REPORTED(1);
    check_told("\": 1 waits, nothing runs");
    thrum_task_wakeup(&tasks[0]);
    CHECK_REPORTED(2); /* something has run, and it is deadlocked again */
    CHECK_EQ(atomic_load(&runs), 1);
    thrum_sem_post(&it.sem);
    join(deadlocked, 0);
    things_end();
    rig_stop(&r);
    CHECK_EQ(atomic_load(&runs), 3);
}

/* ---- what plain threads have ---- */

static int locks(void *arg) {
    (void)arg;
    thrum_mutex_lock(&it.mutex);
    thrum_mutex_unlock(&it.mutex);
    return 0;
}

TEST(a_mutex_that_a_plain_thread_has) {
    /* It will give it up, so there is no deadlock; where nobody posts a semaphore there is. */
    rig r;
    watched_begin(&r);
    things_init();
    atomic_store(&reports, 0);
    for (int i = 0; i < 100; i++) {
        thrum_mutex_lock(&it.mutex);
        thrum_handle *waiter = spawn_named(&r, "waiter", locks, NULL);
        CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
        CHECK_EQ(atomic_load(&reports), 0);
        thrum_mutex_unlock(&it.mutex);
        join(waiter, 0);
    }
    CHECK_EQ(atomic_load(&reports), 0);
    thrum_handle *deadlocked = spawn_named(&r, "stuck", waits_for_later, NULL);
    CHECK_REPORTED(1);
    check_told("\": 1 waits, nothing runs");
    thrum_sem_post(&it.sem);
    join(deadlocked, 0);
    things_end();
    rig_stop(&r);
}

/* What a plain thread does that has the mutex, and what ends it. */
static int waits_for_the_world(void) {
    return thrum_event_wait_outside(&it.event, "the world", THRUM_FOREVER);
}

static int waits_long(void) {
    return thrum_event_wait_until(&it.event, far_off());
}

static int waits_for_a_task(void) {
    return thrum_sem_wait(&it.sem);
}

typedef struct keeper {
    rig *r;
    int (*waits)(void);
    thrum_handle *waiter; /* a task that waits for the mutex */
    atomic_bool begun;
} keeper;

static void *keeps(void *arg) {
    keeper *k = arg;
    thrum_mutex_lock(&it.mutex);
    k->waiter = spawn_named(k->r, "waiter", locks, NULL);
    atomic_store(&k->begun, true);
    CHECK_EQ(k->waits(), 0);
    thrum_mutex_unlock(&it.mutex);
    return NULL;
}

TEST(a_mutex_whose_owner_waits_for_what_ends_by_itself) {
    /* For the world outside, or until a deadline: whenever the workers look, nothing is told. */
    static int (*const waits[])(void) = {waits_for_the_world, waits_long};
    rig r;
    watched_begin(&r);
    things_init();
    atomic_store(&reports, 0);
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        keeper k = {.r = &r, .waits = waits[i]};
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, keeps, &k), 0);
        SPIN_UNTIL(atomic_load(&k.begun));
        for (int n = 0; n < 1000; n++) { /* the thread waits long before the last of them */
            CHECK_EQ(rig_run(&r, nothing, NULL), 0);
            CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
        }
        CHECK_EQ(atomic_load(&reports), 0);
        thrum_event_signal(&it.event);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        join(k.waiter, 0);
    }
    things_end();
    rig_stop(&r);
    CHECK_EQ(atomic_load(&reports), 0);
}

static int wakes_and_locks(void *arg) {
    thrum_sem_post(&it.sem);
    return locks(arg);
}

static void *keeps_until_woken(void *arg) {
    rig *r = arg;
    for (int i = 0; i < 1000; i++) {
        thrum_mutex_lock(&it.mutex);
        thrum_handle *waiter = spawn_named(r, "waiter", wakes_and_locks, NULL);
        CHECK_EQ(waits_for_a_task(), 0);
        thrum_mutex_unlock(&it.mutex);
        join(waiter, 0);
    }
    return NULL;
}

TEST(a_mutex_whose_owner_has_been_woken) {
    /* The last task that runs wakes the thread, which may not go on for a long time yet. */
    rig r;
    pthread_t thread;
    watched_begin(&r);
    things_init();
    atomic_store(&reports, 0);
    CHECK_EQ(pthread_create(&thread, NULL, keeps_until_woken, &r), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(atomic_load(&reports), 0);
    things_end();
    rig_stop(&r);
}

/* ---- plain threads that wait for each other ---- */

static thrum_mutex theirs;      /* of the thread that goes on */
static atomic_bool theirs_kept; /* it has that */
static atomic_bool goes_on;     /* until this is false it computes */

static void *goes_on_with_theirs(void *arg) {
    rig *r = arg;
    if (r) { /* the scheduler knows the thread */
        rig_go(r, nothing, NULL);
    }
    thrum_mutex_lock(&theirs);
    atomic_store(&theirs_kept, true);
    while (atomic_load(&goes_on)) {
        sched_yield();
    }
    thrum_mutex_unlock(&theirs);
    return NULL;
}

static int waits_for_theirs(void) {
    thrum_mutex_lock(&theirs);
    thrum_mutex_unlock(&theirs);
    return 0;
}

TEST(a_mutex_whose_owner_waits_for_a_thread_that_goes_on) {
    /* That one gives up what it has, and then the owner does: whether or not it is known. */
    rig r;
    watched_begin(&r);
    things_init();
    atomic_store(&reports, 0);
    for (int known = 0; known < 2; known++) {
        keeper k = {.r = &r, .waits = waits_for_theirs};
        pthread_t thread;
        pthread_t other;
        thrum_mutex_init(&theirs);
        atomic_store(&theirs_kept, false);
        atomic_store(&goes_on, true);
        CHECK_EQ(pthread_create(&other, NULL, goes_on_with_theirs, known ? &r : NULL), 0);
        SPIN_UNTIL(atomic_load(&theirs_kept));
        CHECK_EQ(pthread_create(&thread, NULL, keeps, &k), 0);
        SPIN_UNTIL(atomic_load(&k.begun));
        for (int n = 0; n < 1000; n++) { /* the thread waits long before the last of them */
            CHECK_EQ(rig_run(&r, nothing, NULL), 0);
            CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
        }
        CHECK_EQ(atomic_load(&reports), 0);
        atomic_store(&goes_on, false);
        CHECK_EQ(pthread_join(other, NULL), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        join(k.waiter, 0);
    }
    things_end();
    rig_stop(&r);
    CHECK_EQ(atomic_load(&reports), 0);
}

static void *waits_with_theirs(void *arg) {
    rig *r = arg;
    rig_go(r, nothing, NULL); /* the scheduler knows the thread */
    thrum_mutex_lock(&theirs);
    atomic_store(&theirs_kept, true);
    CHECK_EQ(thrum_sem_wait(&it.sem), 0);
    thrum_mutex_unlock(&theirs);
    return NULL;
}

TEST(a_mutex_whose_owner_waits_for_a_thread_that_waits) {
    /* Nothing goes on at the end of the chain, so that is told. */
    rig r;
    keeper k = {.r = &r, .waits = waits_for_theirs};
    pthread_t thread;
    pthread_t other;
    watched_begin(&r);
    things_init();
    atomic_store(&reports, 0);
    thrum_mutex_init(&theirs);
    atomic_store(&theirs_kept, false);
    CHECK_EQ(pthread_create(&other, NULL, waits_with_theirs, &r), 0);
    SPIN_UNTIL(atomic_load(&theirs_kept));
    CHECK_EQ(pthread_create(&thread, NULL, keeps, &k), 0);
    while (atomic_load(&reports) == 0) { /* whatever runs has it looked for once more */
        CHECK_EQ(rig_run(&r, nothing, NULL), 0);
        CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    }
    check_told("\": 1 waits, nothing runs");
    check_told("\"waiter\" waits for mutex 0x");
    thrum_sem_post(&it.sem);
    CHECK_EQ(pthread_join(other, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    join(k.waiter, 0);
    things_end();
    rig_stop(&r);
}

/* ---- bound threads ---- */

static void *posts_when_told(void *seat) {
    (void)seat;
    CHECK_REPORTED(1);
    thrum_sem_post(&it.sem);
    return NULL;
}

TEST(a_bound_thread_that_waits_is_deadlocked_as_well) {
    /* No other thread is there, without workers and with. */
    for (int none = 0; none < 2; none++) {
        rig r;
        crew c;
        watched_init(&r);
        r.config.workers = none ? 0 : r.config.workers;
        rig_start(&r);
        things_init();
        atomic_store(&reports, 0);
        CHECK_EQ(thrum_sched_bind(r.sched), 0);
        crew_start(&c, 1, posts_when_told, NULL);
        CHECK_EQ(thrum_sem_wait(&it.sem), 0);
        check_told("\": 1 waits, nothing runs");
        check_told("  bound thread ");
        check_told(" waits for semaphore 0x");
        crew_join(&c);
        CHECK_EQ(thrum_sched_unbind(), 0);
        CHECK_EQ(atomic_load(&reports), 1);
        things_end();
        rig_stop(&r);
    }
}

TEST(nothing_is_deadlocked_while_a_bound_thread_runs_its_own_code) {
    /* It may bring work, and does; when it has unbound, what is left is deadlocked. */
    rig r;
    watched_begin(&r);
    things_init();
    atomic_store(&reports, 0);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    thrum_handle *deadlocked = spawn_named(&r, "stuck", waits_for_later, NULL);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(rig_run(&r, nothing, NULL), 0);
        CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
        CHECK_EQ(atomic_load(&reports), 0);
    }
    CHECK_EQ(thrum_sched_unbind(), 0);
    CHECK_REPORTED(1);
    check_told("\"stuck\" waits for semaphore 0x");
    thrum_sem_post(&it.sem);
    join(deadlocked, 0);
    CHECK_EQ(atomic_load(&reports), 1);
    things_end();
    rig_stop(&r);
}

/* Two threads that are bound to a scheduler without workers wait for each other. */
static atomic_int bound_in;
static thrum_sem turn[2];

static void *waits_bound(void *seat_arg) {
    const crew_seat *seat = seat_arg;
    const rig *r = seat->arg;
    CHECK_EQ(thrum_sched_bind(r->sched), 0);
    atomic_fetch_add(&bound_in, 1);
    SPIN_UNTIL(atomic_load(&bound_in) == 2);
    CHECK_EQ(thrum_sem_wait(&turn[seat->index]), 0);
    thrum_sem_post(&turn[!seat->index]);
    CHECK_EQ(thrum_sched_unbind(), 0);
    return NULL;
}

TEST(bound_threads_that_wait_for_each_other) {
    /* The second to sleep finds both asleep; a wake between the two is never missed. */
    rig r;
    crew c;
    watched_init(&r);
    r.config.workers = 0;
    rig_start(&r);
    atomic_store(&reports, 0);
    thrum_sem_init(&turn[0], 0);
    thrum_sem_init(&turn[1], 0);
    crew_start(&c, 2, waits_bound, &r);
    CHECK_REPORTED(1);
    check_told("\": 2 wait, nothing runs");
    thrum_sem_post(&turn[0]);
    crew_join(&c);
    CHECK_EQ(atomic_load(&reports), 1);
    rig_stop(&r);
}

/* ---- never falsely ---- */

static int hands_on(void *arg) {
    thrum_chan **pipe_ends = arg;
    int value = 0;
    int code;
    while ((code = thrum_chan_recv(pipe_ends[0], &value)) == 0) {
        if (value == 0 || thrum_chan_send(pipe_ends[1], &(int){value - 1}) != 0) {
            break;
        }
        if (value % 64 == 0) {
            nap();
        }
    }
    thrum_chan_close(pipe_ends[1]);
    return 0;
}

TEST(a_scheduler_that_only_looks_idle_is_not_told) {
    /* A value goes round between fibers that all wait but one, with short sleeps. */
    enum { RING = 4 };
    thrum_chan *chans[RING];
    thrum_chan *ends[RING][2];
    thrum_handle *handles[RING];
    rig r;
    watched_begin(&r);
    atomic_store(&reports, 0);
    for (int i = 0; i < RING; i++) {
        CHECK_EQ(thrum_chan_create(&chans[i], sizeof(int), 1), 0);
    }
    const int first = SCALED(20000);
    CHECK_EQ(thrum_chan_send(chans[0], &first), 0);
    holder h;
    holder_begin(&r, &h, 0);
    for (int i = 0; i < RING; i++) {
        ends[i][0] = chans[i];
        ends[i][1] = chans[(i + 1) % RING];
        handles[i] = spawn_named(&r, "ring", hands_on, ends[i]);
    }
    holder_end(&h);
    for (int i = 0; i < RING; i++) {
        join(handles[i], 0);
    }
    CHECK_EQ(atomic_load(&reports), 0);
    for (int i = 0; i < RING; i++) {
        CHECK_EQ(thrum_chan_destroy(chans[i]), 0);
    }
    rig_stop(&r);
}
