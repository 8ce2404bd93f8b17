/*
 * deadlock.c: the report when all who are left wait (config: on_deadlock, deadlock).
 */
/* matrix: policy workers */
/* matrix: quick 1 2 4 */
#include "support/support.h"

/* ---- a scheduler whose reports are kept ---- */

static atomic_int reports;
static char report_text[65536];

/* One at a time: a second report comes only after something has run, which tests let happen. */
static void keep_report(void *ctx, const char *report) {
    (void)ctx;
    snprintf(report_text, sizeof(report_text), "%s", report);
    atomic_fetch_add(&reports, 1);
}

static void watched_init(rig *r) {
    rig_init(r);
    r->config.deadlock = keep_report;
}

static void watched_begin(rig *r) {
    watched_init(r);
    rig_start(r);
}

#define CHECK_REPORTED(n) SPIN_UNTIL(atomic_load(&reports) >= (n))

static void check_told(const char *text) {
    if (strstr(report_text, text) == NULL) {
        check_failed(__FILE__, __LINE__, "\"%s\" is not in: %s", text, report_text);
    }
}

static thrum_handle *spawn_named(const rig *r, const char *name, thrum_fn fn, void *arg) {
    thrum_attr attr = rig_attr(r);
    thrum_handle *handle = NULL;
    attr.name = name;
    CHECK_EQ(thrum_spawn_with(&handle, &attr, fn, arg), 0);
    return handle;
}

static void join(thrum_handle *handle, int expected) {
    int result = 0;
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, expected);
}

static int nothing(void *arg) {
    (void)arg;
    return 0;
}

/* ---- two mutexes ---- */

typedef struct pair {
    thrum_mutex a;
    thrum_mutex b;
    thrum_event a_held;
    thrum_event b_held;
} pair;

static pair two;

static int locks_a(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_mutex_lock(&two.a), 0);
    thrum_event_signal(&two.a_held);
    CHECK_EQ(thrum_event_wait(&two.b_held), 0);
    return thrum_mutex_lock(&two.b);
}

static int locks_b(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_mutex_lock(&two.b), 0);
    thrum_event_signal(&two.b_held);
    CHECK_EQ(thrum_event_wait(&two.a_held), 0);
    return thrum_mutex_lock(&two.a);
}

static int deadly_embrace(void *arg) {
    thrum_handle *a = NULL;
    thrum_attr attr = THRUM_ATTR_INIT;
    (void)arg;
    attr.name = "left";
    CHECK_EQ(thrum_spawn_with(&a, &attr, locks_a, NULL), 0);
    attr.name = "right";
    CHECK_EQ(thrum_go_with(&attr, locks_b, NULL), 0);
    return thrum_join(a, NULL);
}

static void embrace_and_abort(void *arg) {
    thrum_config config;
    thrum_config_init(&config);
    config.workers = arg != NULL ? 0 : config.workers;
    config.on_deadlock = THRUM_DEADLOCK_ABORT;
    config.name = "knot";
    thrum_mutex_init(&two.a);
    thrum_mutex_init(&two.b);
    thrum_event_init(&two.a_held, THRUM_EVENT_MANUAL, false);
    thrum_event_init(&two.b_held, THRUM_EVENT_MANUAL, false);
    (void)thrum_run(&config, deadly_embrace, NULL);
}

static void check_embrace(void *arg, const char *head) {
    char line[128];
    check_dies(embrace_and_abort, arg, head);
    snprintf(line, sizeof(line), "\"left\" waits for mutex %p, held by fiber ", (void *)&two.b);
    check_dies(embrace_and_abort, arg, line);
    snprintf(line, sizeof(line), "\"right\" waits for mutex %p, held by fiber ", (void *)&two.a);
    check_dies(embrace_and_abort, arg, line);
    check_dies(embrace_and_abort, arg, " \"main\" waits for task 0x");
}

TEST(two_fibers_with_two_mutexes_end_the_program) {
    /* abort: the exact line, and who waits for what. */
    check_embrace(NULL, "thrum: deadlock in scheduler \"knot\": 3 wait, nothing runs, no deadline "
                        "is pending\n  worker 0 ");
}

TEST(without_workers_as_well) {
    /* The thread that runs everything is one of those who wait. */
    check_embrace("", "thrum: deadlock in scheduler \"knot\": 4 wait, nothing runs, no deadline is "
                      "pending\n  fiber ");
    check_dies(embrace_and_abort, "", "of bound thread 0 (");
}

/* ---- each thing that can be waited for ---- */

typedef struct things {
    thrum_event event;
    thrum_sem sem;
    thrum_waitgroup wg;
    thrum_mutex mutex;
    thrum_cond cond;
    thrum_barrier barrier;
    thrum_chan *chan;
    thrum_chan *full;
    thrum_tickets tickets;
    thrum_ticket first;
    thrum_ticket second;
} things;

static things it;

static int on_event(void *arg) {
    (void)arg;
    return thrum_event_wait(&it.event);
}

static int on_events(void *arg) {
    thrum_event *const one = &it.event;
    (void)arg;
    return thrum_event_wait_any(&one, 1, THRUM_FOREVER);
}

static int on_sem(void *arg) {
    (void)arg;
    return thrum_sem_wait(&it.sem);
}

static int on_waitgroup(void *arg) {
    (void)arg;
    return thrum_waitgroup_wait(&it.wg);
}

static int on_cond(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_mutex_lock(&it.mutex), 0);
    const int result = thrum_cond_wait(&it.cond, &it.mutex);
    thrum_mutex_unlock(&it.mutex);
    return result;
}

static int on_barrier(void *arg) {
    (void)arg;
    return thrum_barrier_wait(&it.barrier);
}

static int on_receive(void *arg) {
    int value = 0;
    (void)arg;
    return thrum_chan_recv(it.chan, &value);
}

static int on_send(void *arg) {
    const int value = 0;
    (void)arg;
    return thrum_chan_send(it.full, &value);
}

static int on_select(void *arg) {
    int value = 0;
    thrum_case cases[] = {THRUM_RECV_CASE(it.chan, &value), THRUM_SEND_CASE(it.full, &value)};
    (void)arg;
    return thrum_select(cases, 2, THRUM_FOREVER);
}

static int on_ticket(void *arg) {
    (void)arg;
    return thrum_ticket_wait(&it.second);
}

static int on_join(void *arg) {
    thrum_handle *child = NULL;
    (void)arg;
    CHECK_EQ(thrum_spawn(&child, on_sem, NULL), 0);
    const int result = thrum_join(child, NULL);
    CHECK_EQ(thrum_cancel(child), 0);
    thrum_shield_begin();
    join(child, -ECANCELED);
    thrum_shield_end();
    return result;
}

static int on_scope(void *arg) {
    thrum_scope scope;
    (void)arg;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_go(&scope, on_sem, NULL), 0);
    return thrum_scope_join(&scope);
}

static void things_init(void) {
    const int value = 0;
    thrum_event_init(&it.event, THRUM_EVENT_AUTO, false);
    thrum_sem_init(&it.sem, 0);
    thrum_waitgroup_init(&it.wg, 1);
    thrum_mutex_init(&it.mutex);
    thrum_cond_init(&it.cond);
    thrum_barrier_init(&it.barrier, 2);
    CHECK_EQ(thrum_chan_create(&it.chan, sizeof(int), 0), 0);
    CHECK_EQ(thrum_chan_create(&it.full, sizeof(int), 1), 0);
    CHECK_EQ(thrum_chan_send(it.full, &value), 0);
    thrum_tickets_init(&it.tickets);
    thrum_tickets_take(&it.tickets, &it.first);
    thrum_tickets_take(&it.tickets, &it.second);
}

static void things_end(void) {
    CHECK_EQ(thrum_chan_destroy(it.chan), 0);
    CHECK_EQ(thrum_chan_destroy(it.full), 0);
    thrum_ticket_done(&it.first);
    thrum_ticket_done(&it.second);
}

TEST(each_kind_of_wait_is_told) {
    /* One fiber that nobody will wake: told once, by name, kind and address; then it is cancelled.
     */
    static const struct {
        thrum_fn fn;
        const char *kind;
        const void *object;
        const void *const *made; /* ... or where its address stands */
    } waits[] = {
        {on_event, "event", &it.event, NULL},
        {on_events, "events, the first", &it.event, NULL},
        {on_sem, "semaphore", &it.sem, NULL},
        {on_waitgroup, "waitgroup", &it.wg, NULL},
        {on_cond, "cond", &it.cond, NULL},
        {on_barrier, "barrier", &it.barrier, NULL},
        {on_receive, "channel to receive", NULL, (const void *const *)(const void *)&it.chan},
        {on_send, "channel to send", NULL, (const void *const *)(const void *)&it.full},
        {on_select, "channels, the first", NULL, (const void *const *)(const void *)&it.chan},
        {on_ticket, "ticket", &it.second, NULL},
        {on_join, "task", NULL, NULL},
        {on_scope, "scope", NULL, NULL},
    };
    rig r;
    watched_begin(&r);
    things_init();
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        char line[128];
        const void *object = waits[i].made != NULL ? *waits[i].made : waits[i].object;
        atomic_store(&reports, 0);
        thrum_handle *handle = spawn_named(&r, "waiter", waits[i].fn, NULL);
        CHECK_REPORTED(1);
        if (object != NULL) {
            snprintf(line, sizeof(line), " \"waiter\" waits for %s %p, since tick ", waits[i].kind,
                     object);
        } else {
            snprintf(line, sizeof(line), " \"waiter\" waits for %s 0x", waits[i].kind);
        }
        check_told(line);
        check_told("nothing runs, no deadline is pending\n");
        CHECK_EQ(atomic_load(&reports), 1);
        CHECK_EQ(thrum_cancel(handle), 0);
        join(handle, -ECANCELED);
        CHECK_EQ(atomic_load(&reports), 1); /* nobody was left */
    }
    things_end();
    rig_stop(&r);
}

/* Two tasks that join each other. */
static thrum_handle *ring[2];
static thrum_event ring_made;

static int joins_other(void *arg) {
    const int i = (int)(intptr_t)arg;
    CHECK_EQ(thrum_event_wait(&ring_made), 0);
    const int result = thrum_join(ring[!i], NULL);
    return result == 0 ? 0 : thrum_detach(ring[!i]);
}

TEST(tasks_that_join_each_other) {
    /* Both are told, with the name of the task whose end they wait for. */
    rig r;
    watched_begin(&r);
    thrum_event_init(&ring_made, THRUM_EVENT_MANUAL, false);
    atomic_store(&reports, 0);
    CHECK_EQ(thrum_sched_bind(r.sched), 0); /* nobody is stuck until we have done our part */
    ring[0] = spawn_named(&r, "hen", joins_other, (void *)0);
    ring[1] = spawn_named(&r, "egg", joins_other, (void *)1);
    thrum_event_signal(&ring_made);
    CHECK_EQ(thrum_sched_unbind(), 0);
    CHECK_REPORTED(1);
    check_told("\"hen\" waits for task 0x");
    check_told(" \"egg\", since tick ");
    check_told("\"egg\" waits for task 0x");
    check_told(" \"hen\", since tick ");
    CHECK_EQ(thrum_cancel(ring[0]), 0); /* its join fails; it ends, and the other's succeeds */
    rig_wait_done(&r);
    rig_stop(&r);
}

/* ---- not told ---- */

static atomic_int fulfilled;

static int waits_for_later(void *arg) {
    (void)arg;
    return thrum_sem_wait(&it.sem);
}

/* Whatever this one waits for, it ends by itself: nobody may be told meanwhile. */
static int sleeps(void *arg) {
    (void)arg;
    return thrum_sleep(5000000);
}

static int waits_a_while(void *arg) {
    (void)arg;
    return thrum_event_wait_until(&it.event, thrum_after_ms(5)) == -ETIMEDOUT ? 0 : -EIO;
}

static int naps(void *arg) {
    (void)arg;
    usleep(5000);
    return 0;
}

static int calls(void *arg) {
    int result = -1;
    (void)arg;
    CHECK_EQ(thrum_blocking(naps, NULL, &result), 0);
    return result;
}

static int has_a_deadline(void *arg) {
    thrum_scope scope;
    (void)arg;
    CHECK_EQ(thrum_scope_open(&scope, thrum_after_ms(5)), 0);
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
    CHECK_EQ(thrum_task_post_after(thrum_sched_current(), &task, 5000000), 0);
    return thrum_event_wait(&due);
}

/* Does it, and then says whether anybody was told meanwhile. */
static int does(void *arg) {
    const thrum_fn fn = *(const thrum_fn *)arg;
    const int result = fn(NULL);
    CHECK_EQ(atomic_load(&reports), 0);
    atomic_store(&fulfilled, 1);
    return result;
}

TEST(not_told_while_something_is_pending) {
    /* A sleep, a timed wait, a blocking call, a scope's deadline, a task's; told when it is over.
     */
    static const thrum_fn fns[] = {sleeps, waits_a_while, calls, has_a_deadline, waits_for_task};
    rig r;
    watched_begin(&r);
    things_init();
    for (size_t i = 0; i < COUNT_OF(fns); i++) {
        atomic_store(&reports, 0);
        atomic_store(&fulfilled, 0);
        holder h; /* or the first might be found alone before the second has come */
        holder_begin(&r, &h, 0);
        thrum_handle *other = spawn_named(&r, "other", does, (void *)(uintptr_t)&fns[i]);
        thrum_handle *stuck = spawn_named(&r, "stuck", waits_for_later, NULL);
        holder_end(&h);
        join(other, 0);
        CHECK_REPORTED(1);
        CHECK_EQ(atomic_load(&fulfilled), 1);
        check_told("\": 1 waits, nothing runs");
        thrum_sem_post(&it.sem);
        join(stuck, 0);
    }
    things_end();
    rig_stop(&r);
}

static void counts(thrum_task *self, void *arg) {
    (void)self;
    atomic_fetch_add((atomic_int *)arg, 1);
}

TEST(tasks_that_wait_for_a_wakeup_alone_are_no_deadlock) {
    /* They may wait for ever, that is their use; with a fiber beside them only that is told. */
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
    thrum_handle *stuck = spawn_named(&r, "stuck", waits_for_later, NULL);
    CHECK_REPORTED(1);
    check_told("\": 1 waits, nothing runs");
    thrum_task_wakeup(&tasks[0]);
    CHECK_REPORTED(2); /* something has run, and it is stuck again */
    CHECK_EQ(atomic_load(&runs), 1);
    thrum_sem_post(&it.sem);
    join(stuck, 0);
    things_end();
    rig_stop(&r);
    CHECK_EQ(atomic_load(&runs), 3);
}

/* ---- how often, and where to ---- */

TEST(told_once_until_something_has_run) {
    /* Looking at it, and waiting for idleness, does not make it new; a task that runs does. */
    rig r;
    watched_begin(&r);
    things_init();
    atomic_store(&reports, 0);
    thrum_handle *stuck = spawn_named(&r, "stuck", waits_for_later, NULL);
    CHECK_REPORTED(1);
    FILE *sink = fopen("/dev/null", "w");
    CHECK(sink != NULL);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(thrum_dump(r.sched, sink, THRUM_TEXT), 0);
        CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    }
    fclose(sink);
    CHECK_EQ(atomic_load(&reports), 1);
    for (int round = 2; round < 5; round++) {
        CHECK_EQ(rig_run(&r, nothing, NULL), 0);
        CHECK_REPORTED(round);
    }
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    thrum_sem_post(&it.sem);
    join(stuck, 0);
    CHECK_EQ(atomic_load(&reports), 4);
    things_end();
    rig_stop(&r);
}

TEST(report_goes_to_stderr_and_the_program_goes_on) {
    /* report: the whole in one write, and the fiber can still be woken. */
    int ends[2];
    char text[16384];
    rig r;
    const int kept = dup(STDERR_FILENO);
    CHECK_EQ(pipe(ends), 0);
    CHECK(kept >= 0 && dup2(ends[1], STDERR_FILENO) >= 0);
    rig_init(&r);
    r.config.on_deadlock = THRUM_DEADLOCK_REPORT;
    rig_start(&r);
    things_init();
    thrum_handle *stuck = spawn_named(&r, "stuck", waits_for_later, NULL);
    const ssize_t n = read(ends[0], text, sizeof(text) - 1);
    CHECK(dup2(kept, STDERR_FILENO) >= 0);
    CHECK(n > 0);
    text[n] = '\0';
    CHECK(strncmp(text, "thrum: deadlock in scheduler \"thrum\": 1 waits, ", 47) == 0);
    CHECK(strstr(text, "\"stuck\" waits for semaphore 0x") != NULL);
    CHECK_EQ(text[n - 1], '\n');
    thrum_sem_post(&it.sem);
    join(stuck, 0);
    close(ends[0]);
    close(ends[1]);
    close(kept);
    things_end();
    rig_stop(&r);
}

TEST(off_unless_asked_for) {
    /* By default nobody looks. */
    thrum_config config;
    thrum_config_init(&config);
    CHECK_EQ(config.on_deadlock, THRUM_DEADLOCK_OFF);
    CHECK(config.deadlock == NULL);
    setenv("THRUM_DEADLOCK", "abort", 1);
    thrum_config_init(&config);
    CHECK_EQ(config.on_deadlock, THRUM_DEADLOCK_ABORT);
    setenv("THRUM_DEADLOCK", "report", 1);
    thrum_config_init(&config);
    CHECK_EQ(config.on_deadlock, THRUM_DEADLOCK_REPORT);
    config.on_deadlock = (thrum_on_deadlock)3;
    thrum_sched *sched = NULL;
    CHECK_EQ(thrum_sched_start(&sched, &config), -EINVAL);
}

TEST(stop_of_a_stuck_scheduler) {
    /* stop_until cancels who is stuck; after the report as before it. */
    rig r;
    watched_begin(&r);
    things_init();
    atomic_store(&reports, 0);
    thrum_handle *stuck = spawn_named(&r, "stuck", waits_for_later, NULL);
    CHECK_REPORTED(1);
    watchdog_remove(&r);
    CHECK_EQ(thrum_sched_stop_until(r.sched, thrum_after_ms(1)), -ETIMEDOUT);
    CHECK_EQ(thrum_sched_stop(r.sched), 0);
    join(stuck, -ECANCELED);
    things_end();
    rig_check_freed(&r);
}

/* ---- bound threads ---- */

static void *posts_when_told(void *seat) {
    (void)seat;
    CHECK_REPORTED(1);
    thrum_sem_post(&it.sem);
    return NULL;
}

TEST(a_bound_thread_that_waits_is_stuck_as_well) {
    /* Nobody but itself is there, without workers and with. */
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

TEST(nobody_is_stuck_while_a_bound_thread_runs_its_own_code) {
    /* It may bring work, and does; when it has unbound, who is left is stuck. */
    rig r;
    watched_begin(&r);
    things_init();
    atomic_store(&reports, 0);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    thrum_handle *stuck = spawn_named(&r, "stuck", waits_for_later, NULL);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(rig_run(&r, nothing, NULL), 0);
        CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
        CHECK_EQ(atomic_load(&reports), 0);
    }
    CHECK_EQ(thrum_sched_unbind(), 0);
    CHECK_REPORTED(1);
    check_told("\"stuck\" waits for semaphore 0x");
    thrum_sem_post(&it.sem);
    join(stuck, 0);
    CHECK_EQ(atomic_load(&reports), 1);
    things_end();
    rig_stop(&r);
}

/* Two threads that are bound to a scheduler without workers, each waits for the other. */
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
    /* The second to sleep finds both asleep; a wake between the two is never taken for nothing. */
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
            CHECK_EQ(thrum_sleep(1000), 0);
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
