/*
 * observe_live.c: what thrum-top asks for: the functions that time is spent in, the latest stalls,
 * the longest waits.
 */
/* matrix: policy workers */
#include "support/report/observed.h"
#include "support/times.h"

static thrum_sem never = THRUM_SEM_INIT(0);
static atomic_bool begun;
static atomic_bool ends;

static int waits_long(void *arg) {
    (void)arg;
    return thrum_sem_wait(&never);
}

/* Exported, so that it has a name in a stripped program, too. */
int computes_all_the_time(void *arg) {
    (void)arg;
    while (!atomic_load(&ends)) {
        thrum_yield();
    }
    return 0;
}

static int computes_alone(void *arg) {
    (void)arg;
    while (!atomic_load(&ends)) {
    }
    return 0;
}

/* The number behind `key` in the last answer. */
static long long number_of(const char *key) {
    const char *found = strstr(got, key);
    if (!found) {
        check_failed(__FILE__, __LINE__, "%s is not in: %s", key, got);
    }
    return strtoll(found + strlen(key), NULL, 10);
}

static thrum_handle *spawn(const rig *r, const char *name, thrum_fn fn) {
    thrum_attr attr = rig_attr(r);
    thrum_handle *handle = NULL;
    attr.name = name;
    CHECK_EQ(thrum_spawn_with(&handle, &attr, fn, NULL), 0);
    return handle;
}

static void join(thrum_handle *handle) {
    int result;
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, 0);
}

/* Asks until the answer has the text; the test's time limit ends it. */
static void ask_until(int fd, const char *request, const char *text) {
    while (!strstr(asked(fd, request), text)) {
        nap();
    }
}

TEST(functions_are_told_by_the_time_they_take) {
    /* Also one that began before anybody asked: its handle says what it is. */
    rig r;
    set_folder();
    observed_begin(&r, "timed");
    thrum_handle *handle = spawn(&r, "", computes_all_the_time);
    const int fd = connected();
    CHECK_EQ((asked(fd, "top\n"), number_of("\"samples\": ")), 0); /* nobody had asked */
    ask_until(fd, "top\n", WITH_FUNCTION("\"function\": \"", computes_all_the_time, "\"}"));
    const long long all = number_of("\"samples\": ");
    CHECK(all > 0 && number_of("\"idle\": ") + number_of("\"own\": ") < all);
    CHECK_EQ(number_of("\"others\": "), 0);
    atomic_store(&ends, true);
    join(handle);
    close(fd);
    rig_stop(&r);
    remove_folder();
}

/* Exported, as above. */
int burns_a_processor(void *arg) {
    (void)arg;
    atomic_store(&begun, true);
    return computes_all_the_time(NULL);
}

void burns_another(thrum_task *task, void *arg) {
    (void)task;
    burns_a_processor(arg);
}

static int goes(void *arg) {
    (void)arg;
    return thrum_go(burns_a_processor, NULL);
}

/* Only its fiber knows a task without a handle: its object has been put back. */
static void check_told(rig *r, const char *text) {
    char running[300];
    SPIN_UNTIL(atomic_load(&begun));
    const int fd = connected();
    ask_until(fd, "top\n", text);
    snprintf(running, sizeof running, "\"state\": \"running\", %s", text);
    ask_until(fd, "dump\n", running);
    close(fd);
    atomic_store(&ends, true);
    rig_stop(r);
    remove_folder();
}

TEST(a_go_task_that_began_before_anybody_asked_is_told) {
    /* By thrum-top and by dumps. */
    rig r;
    set_folder();
    observed_begin(&r, "burns");
    join(spawn(&r, "", goes));
    check_told(&r, WITH_FUNCTION("\"function\": \"", burns_a_processor, "\""));
}

TEST(an_intrusive_task_that_began_before_anybody_asked_is_told) {
    /* Likewise. */
    rig r;
    thrum_task task;
    set_folder();
    observed_begin(&r, "burns");
    thrum_task_init(&task, burns_another, NULL);
    CHECK_EQ(thrum_task_post(r.sched, &task), 0);
    check_told(&r, WITH_FUNCTION("\"function\": \"", burns_another, "\""));
}

TEST(the_longest_waits_come_first) {
    /* Three wait for one thing, in a function; the age is told once somebody has looked. */
    rig r;
    set_folder();
    observed_begin(&r, "waited");
    thrum_handle *handles[3];
    for (int i = 0; i < 3; i++) {
        handles[i] = spawn(&r, "reader", waits_long);
    }
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    const int fd = connected();
    asked(fd, "waits\n");
    CHECK_EQ(number_of("\"waiting\": "), 3);
    CHECK(strstr(got, "\"name\": \"reader\"") && strstr(got, "\"on\": \"semaphore\""));
    CHECK(strstr(got, WITH_FUNCTION("\"function\": \"", waits_long, "\"")) != NULL);
    CHECK(number_of("\"took_ns\": ") >= 0);
    if (!UNDER_TSAN) { /* it has no order between a worker's going to sleep and this */
        ask_until(fd, "waits\n", "\"waits_ns\": ");
        CHECK(strstr(got, "\"at_least\": true") != NULL);
        const long long age = number_of("\"waits_ns\": ");
        SPIN_UNTIL((asked(fd, "waits\n"), number_of("\"waits_ns\": ")) > age);
    }
    for (int i = 0; i < 3; i++) {
        thrum_sem_post(&never);
    }
    for (int i = 0; i < 3; i++) {
        join(handles[i]);
    }
    asked(fd, "waits\n");
    CHECK_EQ(number_of("\"waiting\": "), 0);
    close(fd);
    rig_stop(&r);
    remove_folder();
}

static void take_report(void *ctx, const char *report) {
    (void)ctx;
    (void)report;
}

TEST(the_latest_stalls_are_told) {
    /* With the task's name and function, and for how long: while it lasts, and when it is over. */
    rig r;
    set_folder();
    rig_init(&r);
    r.config.name = "stalls";
    r.config.observe = true;
    r.config.stall_ms = 20;
    r.config.stall = take_report;
    rig_start(&r);
    const int fd = connected();
    CHECK(strstr(asked(fd, "top\n"), "\"stall_ms\": 20, \"stall\": []") != NULL);
    thrum_handle *handle = spawn(&r, "import", computes_alone);
    ask_until(fd, "top\n", "\"function\": \"");
    ask_until(fd, "top\n", "\"over\": false");
    CHECK(strstr(got, "\"name\": \"import\", \"worker\": ") != NULL);
    CHECK(number_of("\"ran_ns\": ") >= 10000000);
    atomic_store(&ends, true);
    join(handle);
    ask_until(fd, "top\n", "\"over\": true");
    close(fd);
    rig_stop(&r);
    remove_folder();
}

TEST(nobody_samples_when_nobody_asks) {
    /* It ends with the last connection: one that comes later finds nothing of before. */
    rig r;
    set_folder();
    observed_begin(&r, "quiet");
    int fd = connected();
    do {
        asked(fd, "top\n");
        nap();
    } while (number_of("\"samples\": ") == 0);
    close(fd);
    fd = connected();
    asked(fd, "top\n");
    CHECK_EQ(number_of("\"samples\": "), 0);
    close(fd);
    rig_stop(&r);
    remove_folder();
}
