/*
 * mistakes.c: the lines about calls that are legal but hardly ever meant (THRUM_CHECK). Each test
 * makes its mistake in a process of its own, whose stderr it reads.
 */
#include "support/sync/actors.h"
#include "support/times.h"

static void check_run(const thrum_config *config, thrum_fn entry) {
    CHECK_EQ(thrum_run(config, entry, NULL), 0);
}

/* What the function prints in a process of its own, with that value of THRUM_CHECK. */
static const char *printed(const char *value, void (*fn)(void *)) {
    static char text[4096];
    CHECK_EQ(setenv("THRUM_CHECK", value, 1), 0);
    const int status = check_child(fn, NULL, text, sizeof text);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return text;
}

/* Whether the text is one line, which begins and goes on like that. */
static void check_line(const char *text, const char *begin, const char *part) {
    const char *end = strchr(text, '\n');
    if (strncmp(text, begin, strlen(begin)) != 0 || !strstr(text, part) || !end || end[1]) {
        CHECK_STR(text, begin);
    }
}

/* ---- a duration as a deadline ---- */

static thrum_event event = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);

static int waits_for_durations(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(thrum_event_wait_until(&event, THRUM_US(7)), -ETIMEDOUT);
    }
    return 0;
}

static void wait_in_task(void *arg) {
    (void)arg;
    check_run(NULL, waits_for_durations);
}

static void wait_in_thread(void *arg) {
    (void)waits_for_durations(arg);
}

static const char duration[] = "thrum: check: the deadline 7000 looks like a duration, ";

TEST(a_duration_as_a_deadline_is_reported_once) {
    /* The line names the task; a second such wait prints nothing. */
    check_line(printed("1", wait_in_task), duration, "(fiber main");
}

TEST(a_plain_thread_that_passes_a_duration_is_reported) {
    /* Also without any scheduler. */
    check_line(printed("1", wait_in_thread), duration, "(fiber none)\n");
}

static int opens_scope(void *arg) {
    thrum_scope scope;
    (void)arg;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_US(7)), 0);
    CHECK_EQ(thrum_scope_join(&scope), -ETIMEDOUT);
    return 0;
}

static void open_scope(void *arg) {
    (void)arg;
    check_run(NULL, opens_scope);
}

TEST(a_scope_with_a_duration_is_reported) {
    /* All of its children would be born cancelled. */
    check_line(printed("1", open_scope), duration, "(fiber main");
}

static int waits_for_event(void *arg) {
    return thrum_event_wait(arg);
}

static void stop_by_duration(void *arg) {
    thrum_sched *sched;
    thrum_attr attr = THRUM_ATTR_INIT;
    (void)arg;
    CHECK_EQ(thrum_sched_start(&sched, NULL), 0);
    attr.sched = sched;
    CHECK_EQ(thrum_go_with(&attr, waits_for_event, &event), 0);
    CHECK_EQ(thrum_sched_stop_until(sched, THRUM_US(7)), -ETIMEDOUT);
    CHECK_EQ(thrum_sched_stop(sched), 0);
}

TEST(a_stop_with_a_duration_is_reported) {
    /* It cancels at once what it was to wait for. */
    check_line(printed("1", stop_by_duration), duration, "(fiber none)\n");
}

/* ---- other mistakes ---- */

static int sleep_for(thrum_time ns) {
    return thrum_sleep(ns);
}

static int sleeps_shortly(void *arg) {
    (void)arg;
    return sleep_for(100) + sleep_for(1);
}

static void sleep_shortly(void *arg) {
    (void)arg;
    check_run(NULL, sleeps_shortly);
}

TEST(a_sleep_of_a_few_nanoseconds_is_reported) {
    /* Milliseconds were meant. */
    check_line(printed("1", sleep_shortly), "thrum: check: thrum_sleep(100) sleeps for ",
               "(fiber main");
}

static int nothing(void *arg) {
    (void)arg;
    return 0;
}

static int forgets_handles(void *arg) {
    thrum_handle *handles[5];
    (void)arg;
    for (size_t i = 0; i < COUNT_OF(handles); i++) {
        CHECK_EQ(thrum_spawn(&handles[i], nothing, NULL), 0);
    }
    CHECK_EQ(thrum_join(handles[1], NULL), 0);
    return thrum_detach(handles[2]);
}

static void forget_handles(void *arg) {
    (void)arg;
    check_run(NULL, forgets_handles);
}

TEST(forgotten_handles_are_counted_at_the_stop) {
    /* Three of five are neither joined nor detached. */
    check_line(printed("1", forget_handles),
               "thrum: check: at the stop, 3 handles are neither joined nor detached, ", "ran ");
}

static atomic_bool runs;

static int opens(void *arg) {
    (void)arg;
    atomic_store(&runs, true);
    return 0;
}

static int holds(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_go(opens, NULL), 0);
    SPIN_UNTIL(atomic_load(&runs)); /* until a spare runs it */
    return 0;
}

static void hold_all(void *arg) {
    thrum_config config;
    (void)arg;
    thrum_config_init(&config);
    config.workers = 1;
    config.workers_spare = 1;
    config.rescue_ns = INT64_C(1000) * 3600 * 1000000000; /* by nobody else */
    check_run(&config, holds);
}

TEST(tasks_that_hold_all_workers_are_reported) {
    /* The only spare takes over: from now on nobody could. */
    check_line(printed("1", hold_all), "thrum: check: tasks that block or compute hold all workers",
               "the last of the 1 spares takes over");
}

/* ---- a task ends with a mutex locked ---- */

static thrum_mutex mutex = THRUM_MUTEX_INIT;
static thrum_mutex another = THRUM_MUTEX_INIT;

static int locks(void *arg) {
    thrum_mutex_lock(arg);
    return 0;
}

static int tries_lock(void *arg) {
    return thrum_mutex_try_lock(arg);
}

static int locks_both(void *arg) {
    thrum_mutex_lock(&another);
    return thrum_mutex_lock_until(arg, far_off());
}

/* A task of another name ends, while the scheduler goes on. */
static int has_keeper(void *arg) {
    const thrum_fn *fn = arg;
    thrum_handle *handle;
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.name = "keeper";
    CHECK_EQ(thrum_spawn_with(&handle, &attr, *fn, &mutex), 0);
    return thrum_join(handle, NULL);
}

static void keep(thrum_fn fn) {
    CHECK_EQ(thrum_run(NULL, has_keeper, &fn), 0);
}

static void keep_by_lock(void *arg) {
    (void)arg;
    keep(locks);
}

static void keep_by_try_lock(void *arg) {
    (void)arg;
    keep(tries_lock);
}

static void keep_both(void *arg) {
    (void)arg;
    keep(locks_both);
}

static int hands_over(void *arg) {
    thrum_mutex_lock(&mutex);
    CHECK_EQ(thrum_go(locks, &mutex), 0); /* a task without a handle */
    YIELD_UNTIL(MUTEX_WAITING(&mutex) == 1);
    thrum_mutex_unlock(&mutex);
    (void)arg;
    return 0;
}

/* By the calling thread alone. */
static void keep_what_was_handed_over(void *arg) {
    thrum_config config;
    (void)arg;
    thrum_config_init(&config);
    config.workers = 0;
    check_run(&config, hands_over);
}

static const char locked[] = "thrum: check: a task ends with the mutex ";

TEST(a_task_that_ends_with_a_mutex_locked_is_reported) {
    /* At its end, though nobody waits; the line names the mutex and the task. */
    check_line(printed("1", keep_by_lock), locked, "(fiber keeper, which runs ");
    check_line(printed("1", keep_by_try_lock), locked, "(fiber keeper, which runs ");
}

TEST(a_waiter_that_gets_a_mutex_and_ends_is_reported) {
    /* With a bound thread alone. */
    check_line(printed("1", keep_what_was_handed_over), locked, "(fiber unnamed, which runs ");
}

TEST(mutexes_that_an_ended_task_holds_are_counted) {
    /* Only of one the address is known. */
    check_line(printed("1", keep_both), "thrum: check: a task ends with 2 mutexes locked",
               "(fiber keeper, which runs ");
}

/* Gets the mutex in its second run. */
typedef struct stackless {
    thrum_task task;
    thrum_await await;
    bool unlocks;
    thrum_event ended;
} stackless;

static void gets_mutex(thrum_task *task, void *arg) {
    stackless *s = arg;
    (void)task;
    CHECK_EQ(thrum_await_end(&s->await), 0);
    if (s->unlocks) {
        thrum_mutex_unlock(&mutex);
    }
    thrum_event_signal(&s->ended);
}

static int await_mutex(bool unlocks) {
    stackless s = {.unlocks = unlocks, .ended = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false)};
    thrum_task_init(&s.task, gets_mutex, &s);
    CHECK_EQ(thrum_mutex_on_until(&mutex, &s.await, &s.task, THRUM_FOREVER), 1);
    CHECK_EQ(thrum_mutex_on_until(&mutex, &s.await, &s.task, THRUM_FOREVER), 0);
    thrum_mutex_unlock(&mutex);
    return thrum_event_wait(&s.ended);
}

static int awaits_and_keeps(void *arg) {
    (void)arg;
    return await_mutex(false);
}

static void keep_by_await(void *arg) {
    (void)arg;
    check_run(NULL, awaits_and_keeps);
}

TEST(an_intrusive_task_that_ends_with_a_mutex_locked_is_reported) {
    /* The run that was handed the mutex, not the one that began the wait. */
    check_line(printed("1", keep_by_await), locked, "(fiber unnamed, which runs ");
}

static thrum_cond cond = THRUM_COND_INIT;
static thrum_key key;

static void unlock_value(void *value) {
    thrum_mutex_unlock(value);
}

static int gives_up(void *arg) {
    CHECK_EQ(thrum_mutex_try_lock(arg), -EBUSY);
    return thrum_mutex_lock_until(arg, soon()) == -ETIMEDOUT ? 0 : 1;
}

static int locks_while_it_waits(void *arg) {
    CHECK_EQ(thrum_mutex_lock_until(arg, far_off()), 0);
    CHECK_EQ(thrum_event_wait_until(&event, soon()), -ETIMEDOUT);
    thrum_mutex_unlock(arg);
    return 0;
}

static int leaves_it_to_a_destructor(void *arg) {
    thrum_mutex_lock(arg);
    return thrum_key_set(key, arg);
}

static int waits_for_condition(void *arg) {
    thrum_mutex_lock(arg);
    CHECK_EQ(thrum_cond_wait_until(&cond, arg, soon()), -ETIMEDOUT);
    thrum_mutex_unlock(arg);
    return 0;
}

static int unlocks_all(void *arg) {
    static const thrum_fn fns[] = {locks_while_it_waits, leaves_it_to_a_destructor,
                                   waits_for_condition, locks_while_it_waits};
    thrum_mutex own = THRUM_MUTEX_INIT;
    thrum_handle *handle;
    thrum_scope scope;
    (void)arg;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    thrum_mutex_lock(&own);
    for (size_t i = 0; i < COUNT_OF(fns); i++) {
        CHECK_EQ(thrum_scope_go(&scope, fns[i], &own), 0);
    }
    CHECK_EQ(thrum_spawn(&handle, gives_up, &own), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    thrum_mutex_unlock(&own);
    CHECK_EQ(thrum_scope_join(&scope), 0);
    return await_mutex(true);
}

/* With workers, then by the calling thread alone, which holds a mutex of its own all the time. */
static void unlock_all(void *arg) {
    thrum_config config;
    (void)arg;
    CHECK_EQ(thrum_key_create(&key, unlock_value), 0);
    thrum_config_init(&config);
    thrum_mutex_lock(&another);
    check_run(&config, unlocks_all);
    config.workers = 0;
    check_run(&config, unlocks_all);
    thrum_mutex_unlock(&another);
}

TEST(tasks_that_unlock_what_they_lock_are_not_reported) {
    /* After waits, by a destructor, behind a condition; nor those that did not get the mutex. */
    CHECK_STR(printed("1", unlock_all), "");
}

/* ---- no mistakes ---- */

static int does_all_right(void *arg) {
    thrum_handle *handle;
    (void)arg;
    CHECK_EQ(thrum_event_wait_until(&event, 0), -ETIMEDOUT); /* only looks */
    CHECK_EQ(thrum_event_wait_until(&event, past()), -ETIMEDOUT);
    CHECK_EQ(thrum_event_wait_until(&event, soon()), -ETIMEDOUT);
    CHECK_EQ(sleep_for(0), 0);
    CHECK_EQ(sleep_for(THRUM_US(10)), 0);
    CHECK_EQ(thrum_spawn(&handle, nothing, NULL), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    CHECK_EQ(thrum_spawn(&handle, nothing, NULL), 0);
    return thrum_detach(handle);
}

static void do_all_right(void *arg) {
    (void)arg;
    check_run(NULL, does_all_right);
}

static void do_all_wrong(void *arg) {
    wait_in_task(arg);
    sleep_shortly(arg);
    forget_handles(arg);
    keep_by_lock(arg);
}

TEST(a_correct_program_prints_nothing) {
    /* Deadlines that have passed, short waits, joined and detached handles. */
    CHECK_STR(printed("1", do_all_right), "");
}

TEST(mistakes_are_not_reported_when_that_is_off) {
    /* THRUM_CHECK=0 holds for debug builds as well. */
    CHECK_STR(printed("0", do_all_wrong), "");
}

TEST(each_mistake_has_a_line_of_its_own) {
    /* Those of other kinds do not silence one. */
    const char *text = printed("1", do_all_wrong);
    CHECK(strstr(text, "looks like a duration") && strstr(text, "sleeps for") &&
          strstr(text, "at the stop") && strstr(text, "a task ends with"));
}
