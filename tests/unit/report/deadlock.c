/*
 * deadlock.c: the report when all fibers that are left wait (config: on_deadlock, deadlock).
 */
/* matrix: policy workers */
#include "support/report/reports.h"
#include "support/times.h"

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
    thrum_mutex_lock(&two.a);
    thrum_event_signal(&two.a_held);
    CHECK_EQ(thrum_event_wait(&two.b_held), 0);
    thrum_mutex_lock(&two.b);
    return 0;
}

static int locks_b(void *arg) {
    (void)arg;
    thrum_mutex_lock(&two.b);
    thrum_event_signal(&two.b_held);
    CHECK_EQ(thrum_event_wait(&two.a_held), 0);
    thrum_mutex_lock(&two.a);
    return 0;
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
    config.workers = arg ? 0 : config.workers;
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
    snprintf(line, sizeof(line), "\"left\" waits for mutex 0x%" PRIxPTR ", held by fiber ",
             (uintptr_t)&two.b);
    check_dies(embrace_and_abort, arg, line);
    snprintf(line, sizeof(line), "\"right\" waits for mutex 0x%" PRIxPTR ", held by fiber ",
             (uintptr_t)&two.a);
    check_dies(embrace_and_abort, arg, line);
    check_dies(embrace_and_abort, arg, " \"main\" waits for task 0x");
}

TEST(two_fibers_with_two_mutexes_end_the_program) {
    /* The program aborts with the exact line, and with what each fiber waits for. */
    check_embrace(NULL, "thrum: deadlock in scheduler \"knot\": 3 wait, nothing runs, no deadline "
                        "is pending\n  deadlock: 2 wait ");
}

TEST(without_workers_as_well) {
    /* The thread that runs everything is one of those that wait. */
    check_embrace("", "thrum: deadlock in scheduler \"knot\": 4 wait, nothing runs, no deadline is "
                      "pending\n  deadlock: 2 wait ");
    check_dies(embrace_and_abort, "", "of bound thread 0 (");
}

/* ---- each thing that can be waited for ---- */

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
    thrum_mutex_lock(&it.mutex);
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

static int on_pool(void *arg) {
    void *item;
    (void)arg;
    return thrum_pool_borrow(it.empty.pool, &item);
}

static int on_bcast(void *arg) {
    thrum_bcast_receiver receiver;
    int value;
    (void)arg;
    thrum_bcast_subscribe(it.bcast, &receiver);
    return thrum_bcast_recv(&receiver, &value);
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

TEST(each_kind_of_wait_is_told) {
    /*
     * One fiber that nothing will wake is told once, by name, kind and address; then it is
     * cancelled.
     */
    static const struct {
        thrum_fn fn;
        const char *kind;
        const void *object;
        const void *const *made; /* or the place where its address stands */
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
        {on_pool, "pool", NULL, (const void *const *)(const void *)&it.empty.pool},
        {on_bcast, "broadcast channel", NULL, (const void *const *)(const void *)&it.bcast},
        {on_join, "task", NULL, NULL},
        {on_scope, "scope", NULL, NULL},
    };
    rig r;
    watched_begin(&r);
    things_init();
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        char line[128];
        const void *object = waits[i].made ? *waits[i].made : waits[i].object;
        atomic_store(&reports, 0);
        thrum_handle *handle = spawn_named(&r, "waiter", waits[i].fn, NULL);
        CHECK_REPORTED(1);
        if (object) {
            snprintf(line, sizeof(line), " \"waiter\" waits for %s 0x%" PRIxPTR ", since tick ",
                     waits[i].kind, (uintptr_t)object);
        } else {
            snprintf(line, sizeof(line), " \"waiter\" waits for %s 0x", waits[i].kind);
        }
        check_told(line);
        check_told("nothing runs, no deadline is pending\n");
        CHECK_EQ(atomic_load(&reports), 1);
        CHECK_EQ(thrum_cancel(handle), 0);
        join(handle, -ECANCELED);
        CHECK_EQ(atomic_load(&reports), 1); /* no fiber was left */
    }
    things_end();
    rig_stop(&r);
}

/* ---- the turn of an intrusive task ---- */

static struct {
    thrum_once once;
    thrum_task begins, has;
    thrum_await await;
    atomic_int begun;
} turn;

static void has_it(thrum_task *self, void *arg) {
    (void)self, (void)arg;
    CHECK_EQ(thrum_await_end(&turn.await), 2);
    atomic_fetch_add(&turn.begun, 1);
}

/* Has the turn at once, or waits for it; no run of its is on afterwards. */
static void begins_it(thrum_task *self, void *arg) {
    (void)self;
    thrum_task_init(&turn.has, has_it, NULL);
    const int code = thrum_once_on_until(&turn.once, &turn.await, &turn.has, THRUM_FOREVER);
    CHECK_EQ(code, arg ? 0 : 2);
    atomic_fetch_add(&turn.begun, 1);
}

static int does_nothing(void *arg) {
    (void)arg;
    return 0;
}

static int on_once(void *arg) {
    return thrum_once_run(&turn.once, does_nothing, arg);
}

/* A fiber waits for the turn that a task has: that is told. */
static void turn_is_told(rig *r) {
    char line[128];
    snprintf(line, sizeof line, " \"waiter\" waits for once 0x%" PRIxPTR ", whose turn a task has",
             (uintptr_t)&turn.once);
    atomic_store(&reports, 0);
    thrum_handle *handle = spawn_named(r, "waiter", on_once, NULL);
    CHECK_REPORTED(1);
    check_told(line);
    thrum_once_finish(&turn.once, 0);
    join(handle, 0);
    CHECK_EQ(atomic_load(&reports), 1);
    rig_wait_done(r);
}

static void begin_turn(rig *r, bool waits) {
    const int before = atomic_load(&turn.begun);
    thrum_task_init(&turn.begins, begins_it, waits ? &turn : NULL);
    CHECK_EQ(thrum_task_post(r->sched, &turn.begins), 0);
    SPIN_UNTIL(atomic_load(&turn.begun) == before + 1);
}

TEST(a_turn_that_a_task_has) {
    /* At once, or behind another one that failed; the task goes on no more. */
    rig r;
    watched_begin(&r);
    thrum_once_init(&turn.once);
    begin_turn(&r, false);
    turn_is_told(&r);
    thrum_once_init(&turn.once);
    begin_turn(&r, false);
    rig_wait_done(&r);
    begin_turn(&r, true);
    thrum_once_finish(&turn.once, -EIO);
    SPIN_UNTIL(atomic_load(&turn.begun) == 4);
    turn_is_told(&r);
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
    CHECK_EQ(thrum_sched_bind(r.sched), 0); /* no deadlock before our part is done */
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

/* ---- how often, and by which ways ---- */

TEST(told_once_until_something_has_run) {
    /* A dump or a wait for idleness does not make it new; a task that runs does. */
    rig r;
    watched_begin(&r);
    things_init();
    atomic_store(&reports, 0);
    thrum_handle *deadlocked = spawn_named(&r, "stuck", waits_for_later, NULL);
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
    join(deadlocked, 0);
    CHECK_EQ(atomic_load(&reports), 4);
    things_end();
    rig_stop(&r);
}

/* ---- long reports, and memory for them ---- */

#define STUCK 99 /* with the thread that leaves, more would be told in groups */

static int report_lines(const char *part) {
    int n = 0;
    for (const char *at = report_text; (at = strstr(at, part)) != NULL; at++) {
        n++;
    }
    return n;
}

/* So many wait for ever; the thread that leaves notices it. */
static void begin_deadlock(rig *r) {
    watched_begin(r);
    things_init();
    atomic_store(&reports, 0);
    CHECK_EQ(thrum_sched_bind(r->sched), 0);
    for (int i = 0; i < STUCK; i++) {
        rig_go(r, waits_for_later, NULL);
    }
    CHECK_EQ(thrum_sched_wait_idle(r->sched, THRUM_FOREVER), 0);
}

static void end_deadlock(rig *r) {
    for (int i = 0; i < STUCK; i++) {
        thrum_sem_post(&it.sem);
    }
    rig_wait_done(r);
    things_end();
    rig_stop(r);
}

TEST(a_long_report_is_whole) {
    /* It grows as it is written. */
    rig r;
    begin_deadlock(&r);
    CHECK_EQ(thrum_sched_unbind(), 0);
    CHECK_REPORTED(1);
    check_told(": 99 wait, nothing runs, no deadline is pending\n");
    CHECK_EQ(report_lines(" waits for semaphore 0x"), STUCK);
    end_deadlock(&r);
}

TEST(without_memory_the_deadlock_is_told_all_the_same) {
    /* Without any memory it is a line without details. */
    rig r;
    begin_deadlock(&r);
    atomic_store(&r.fail_all, true);
    CHECK_EQ(thrum_sched_unbind(), 0);
    CHECK_REPORTED(1);
    atomic_store(&r.fail_all, false);
    CHECK(atomic_load(&r.refused) > 0);
    CHECK_STR(report_text, "thrum: deadlock; no memory for the report\n");
    end_deadlock(&r);
}

TEST(a_report_that_cannot_grow_keeps_what_it_has) {
    /* What does not fit is left out; the rest comes when there is memory again. */
    rig r;
    begin_deadlock(&r);
    atomic_store(&r.fail_size, 8192); /* the text begins with 4096 bytes, and doubles */
    CHECK_EQ(thrum_sched_unbind(), 0);
    CHECK_REPORTED(1);
    CHECK(atomic_load(&r.refused) <= 1); /* none where no calls are found: nothing grew so often */
    check_told("thrum: deadlock in scheduler \"thrum\": 99 wait, ");
    const int told = report_lines(" waits for semaphore 0x");
    CHECK(told >= STUCK - 1);
    CHECK_EQ(report_text[strlen(report_text) - 1], '\n');
    end_deadlock(&r);
}

TEST(report_goes_to_stderr_and_the_program_goes_on) {
    /* The whole report is one write, and the fiber can still be woken. */
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
    thrum_handle *deadlocked = spawn_named(&r, "stuck", waits_for_later, NULL);
    const ssize_t n = read(ends[0], text, sizeof(text) - 1);
    CHECK(dup2(kept, STDERR_FILENO) >= 0);
    CHECK(n > 0);
    text[n] = '\0';
    CHECK(strncmp(text, "thrum: deadlock in scheduler \"thrum\": 1 waits, ", 47) == 0);
    CHECK(strstr(text, "\"stuck\" waits for semaphore 0x") != NULL);
    CHECK_EQ(text[n - 1], '\n');
    thrum_sem_post(&it.sem);
    join(deadlocked, 0);
    close(ends[0]);
    close(ends[1]);
    close(kept);
    things_end();
    rig_stop(&r);
}

TEST(off_unless_asked_for) {
    /* By default no worker looks for deadlocks. */
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

TEST(stop_of_a_deadlocked_scheduler) {
    /* stop_until cancels what is deadlocked; after the report as before it. */
    rig r;
    watched_begin(&r);
    things_init();
    atomic_store(&reports, 0);
    thrum_handle *deadlocked = spawn_named(&r, "stuck", waits_for_later, NULL);
    CHECK_REPORTED(1);
    watchdog_remove(&r);
    CHECK_EQ(thrum_sched_stop_until(r.sched, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_sched_stop(r.sched), 0);
    join(deadlocked, -ECANCELED);
    things_end();
    rig_check_freed(&r);
}
