/*
 * symbols_told.c: functions that are not exported have their names in what is printed.
 */
#include "support/io/io.h"
#include "support/report/printed.h"
#include "support/report/watched.h"

static thrum_sem sem;
static atomic_int kept; /* added behind a call, so that it is no jump */

static __attribute__((noinline)) int waits_below(void *arg) {
    const int result = thrum_sem_wait(&sem);
    atomic_fetch_add(&kept, arg != NULL);
    return result;
}

/* ---- what is printed ---- */

static char *printed(thrum_sched *sched, thrum_format format) {
    size_t length = 0;
    FILE *out = tmpfile();
    CHECK(out != NULL);
    CHECK_EQ(format == THRUM_PROMETHEUS ? thrum_trace_write(sched, out)
                                        : thrum_dump(sched, out, format),
             0);
    return printed_end(out, &length);
}

static void check_printed(thrum_sched *sched, thrum_format format, const char *what) {
    char *text = printed(sched, format);
    if (!strstr(text, what)) {
        check_failed(__FILE__, __LINE__, "no %s in: %.900s", what, text);
    }
    free(text);
}

static void on_readable(thrum_task *self, void *arg) {
    (void)self, (void)arg;
}

static int lists_task(void *arg) {
    static thrum_task task;
    thrum_task_init(&task, on_readable, NULL);
    return thrum_io_on(*(thrum_io *)arg, THRUM_IO_READ, &task);
}

TEST(dumps_and_traces_name_static_functions) {
    /* Calls, tasks that wait for a descriptor, and slices of a trace have the function's name. */
    NOT_BY_POSIX("names of functions");
    rig r;
    int fds[2];
    thrum_io io;
    rig_begin(&r, 2);
    thrum_sem_init(&sem, 0);
    pair_open(fds, PIPE);
    CHECK_EQ(thrum_io_adopt(&io, fds[0]), 0);
    CHECK_EQ(thrum_trace_start(r.sched, 0), 0);
    rig_go(&r, waits_below, NULL);
    CHECK_EQ(rig_run(&r, lists_task, &io), 0);
    SPIN_UNTIL(thrum_sched_wait_idle(r.sched, 0) == 0);
    check_printed(r.sched, THRUM_TEXT, " (waits_below+0x");
    check_printed(r.sched, THRUM_TEXT, " (on_readable) is posted when fd ");
    check_printed(r.sched, THRUM_JSON, " (waits_below+0x");
    check_printed(r.sched, THRUM_JSON, "\"function\": \"on_readable\"");
    check_printed(r.sched, THRUM_PROMETHEUS, ",\"name\":\"waits_below\",");
    check_printed(r.sched, THRUM_PROMETHEUS, ",\"function\":\"waits_below\",");
    thrum_sem_post(&sem);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(close(fds[1]), 0);
    rig_stop(&r);
}

static atomic_bool reported;

static void report_names(void *ctx, const char *text) {
    (void)ctx;
    CHECK(strstr(text, " (waits_below+0x") != NULL);
    atomic_store(&reported, true);
}

TEST(reports_of_deadlocks_name_static_functions) {
    /* The hook gets the names. */
    NOT_BY_POSIX("names of functions");
    rig r;
    rig_init(&r);
    r.config.workers = 1;
    r.config.deadlock = report_names;
    rig_start(&r);
    thrum_sem_init(&sem, 0);
    rig_go(&r, waits_below, NULL);
    SPIN_UNTIL(atomic_load(&reported));
    thrum_sem_post(&sem);
    rig_stop(&r);
}

/* A function for each, so that a report has more calls than places for names. */
#define WAITS(n)                                                                                   \
    static __attribute__((noinline)) int waits_##n(void *arg) {                                    \
        const int result = thrum_sem_wait(&sem);                                                   \
        atomic_fetch_add(&kept, n + (arg != NULL));                                                \
        return result;                                                                             \
    }
#define TEN(f, n) f(n##0) f(n##1) f(n##2) f(n##3) f(n##4) f(n##5) f(n##6) f(n##7) f(n##8) f(n##9)
#define HUNDRED(f, n)                                                                              \
    TEN(f, n##0)                                                                                   \
    TEN(f, n##1)                                                                                   \
    TEN(f, n##2)                                                                                   \
    TEN(f, n##3) TEN(f, n##4) TEN(f, n##5) TEN(f, n##6) TEN(f, n##7) TEN(f, n##8) TEN(f, n##9)
#define EACH(f) HUNDRED(f, 1) HUNDRED(f, 2) HUNDRED(f, 3) HUNDRED(f, 4)
EACH(WAITS)

TEST(more_functions_than_names_are_kept) {
    /* Each of 400 is told by its own name, in whatever order they come. */
#define ADDRESS(n) waits_##n,
#define NAME(n) " (waits_" #n "+0x",
    NOT_BY_POSIX("names of functions");
    static const thrum_fn functions[] = {EACH(ADDRESS)};
    static const char *const names[] = {EACH(NAME)};
    rig r;
    rig_begin(&r, 1);
    thrum_sem_init(&sem, 0);
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        rig_go(&r, functions[i], NULL);
    }
    SPIN_UNTIL(thrum_sched_wait_idle(r.sched, 0) == 0);
    char *text = printed(r.sched, THRUM_TEXT);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        CHECK(strstr(text, names[i]) != NULL);
    }
    free(text);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        thrum_sem_post(&sem);
    }
    rig_stop(&r);
}
