/*
 * trace_series.c: short runs that share a mark in the flight recorder's trace, as
 * core/inspect/TRACE.md, "Series", has it: none is lost, and what is long or has a name stands out.
 */
/* matrix: policy workers */
/* matrix: quick 1 2 4 */
#include "support/printed.h"
#include "support/traces.h"

#define RUNS 1000

static rig r;
static thrum_waitgroup group;
static atomic_long long_ns; /* how long `now_and_then_long` took when it was */
static atomic_int turn;

static void begin(void) {
    rig_init(&r);
    r.config.trace = true;
    rig_start(&r);
}

static int nothing(void *arg) {
    (void)arg;
    thrum_waitgroup_done(&group);
    return 0;
}

static int names_itself(void *arg) {
    CHECK_EQ(thrum_set_name(arg), 0);
    thrum_waitgroup_done(&group);
    return 0;
}

static int now_and_then_long(void *arg) {
    (void)arg;
    if (atomic_fetch_add(&turn, 1) == RUNS / 2) {
        const thrum_time began = thrum_now();
        while (thrum_now() - began < 20000000) {
        }
        atomic_store(&long_ns, (long)(thrum_now() - began));
    }
    thrum_waitgroup_done(&group);
    return 0;
}

static int another(void *arg) {
    return nothing(arg);
}

/* Starts so many from a task, so that they are in its worker's queue, and waits for them. */
static int starts(void *arg) {
    thrum_waitgroup_add(&group, RUNS);
    for (int i = 0; i < RUNS; i++) {
        CHECK_EQ(thrum_go(*(thrum_fn *)arg, "named"), 0);
    }
    CHECK_EQ(thrum_waitgroup_wait(&group), 0);
    return 0;
}

static void run(thrum_fn fn) {
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_handle *h;
    attr.sched = r.sched;
    CHECK_EQ(thrum_spawn_with(&h, &attr, starts, &fn), 0);
    CHECK_EQ(thrum_join(h, NULL), 0);
}

/* The same with two functions in blocks, so that each of them has series. */
static int starts_both(void *arg) {
    (void)arg;
    thrum_waitgroup_add(&group, 2 * RUNS);
    for (int i = 0; i < 2 * RUNS; i++) {
        CHECK_EQ(thrum_go(i / 100 % 2 ? another : nothing, NULL), 0);
    }
    CHECK_EQ(thrum_waitgroup_wait(&group), 0);
    return 0;
}

/*
 * Waits until all workers sleep. One whose queue was emptied by others may have the mark of a
 * series open until then, which lacks its last runs.
 */
static void await_sleep(void) {
    bool awake;
    do {
        size_t size;
        FILE *out = tmpfile();
        CHECK(out != NULL);
        CHECK_EQ(thrum_dump(r.sched, out, THRUM_JSON), 0);
        char *text = printed_end(out, &size);
        awake = strstr(text, "\"asleep\": false") != NULL;
        free(text);
    } while (awake);
}

/* Of all slices of a function: the runs in them, and how many slices have several. */
static long runs_of(const trace_page *p, const char *function, long *shared) {
    char key[64];
    long runs = 0;
    *shared = 0;
    snprintf(key, sizeof(key), "\"function\":\"%s\"", function);
    for (const char *at = p->text; (at = strstr(at, key)) != NULL;) {
        long n = 1;
        at += strlen(key);
        *shared += sscanf(at, ",\"runs\":%ld", &n) == 1;
        runs += n;
    }
    return runs;
}

TEST(no_run_is_lost) {
    /*
     * Rounds of short runs, until some have shared a mark: each run is counted once. What takes
     * more than a microsecond is no short run: so it is with counting on a slow processor.
     */
    long shared = 0;
    long rounds = 0;
    thrum_time least = INT64_MAX; /* a round has taken, with its starts */
    begin();
    do {
        const thrum_time began = thrum_now();
        run(nothing);
        const thrum_time took = thrum_now() - began;
        least = took < least ? took : least;
        rounds++;
        await_sleep();
        trace_page p = trace_written(r.sched);
        CHECK_EQ(p.dropped, 0);
        CHECK_EQ(runs_of(&p, WITH_FUNCTION("", nothing, ""), &shared), rounds * RUNS);
        trace_end(&p);
    } while (shared == 0 && rounds < 20);
    /* The thread sanitizer's builds give each task a fiber; the other policies need not have a
     * queue that tells a worker that more is at hand. */
    CHECK(shared > 0 || UNDER_TSAN || r.config.policy != THRUM_SHARDED ||
          least > RUNS * (thrum_time)1000);
    rig_stop(&r);
}

TEST(functions_are_told_apart_where_stalls_are_watched) {
    /* Each run notes its function for the watcher as well; a series has the runs of one all the
     * same. */
    long shared = 0;
    thrum_handle *h;
    thrum_attr attr = THRUM_ATTR_INIT;
    rig_init(&r);
    r.config.trace = true;
    r.config.stall_ms = 1000000;
    rig_start(&r);
    attr.sched = r.sched;
    for (long rounds = 1; rounds <= 3; rounds++) {
        CHECK_EQ(thrum_spawn_with(&h, &attr, starts_both, NULL), 0);
        CHECK_EQ(thrum_join(h, NULL), 0);
        await_sleep();
        trace_page p = trace_written(r.sched);
        CHECK_EQ(p.dropped, 0);
        CHECK_EQ(runs_of(&p, WITH_FUNCTION("", nothing, ""), &shared), rounds * RUNS);
        CHECK_EQ(runs_of(&p, WITH_FUNCTION("", another, ""), &shared), rounds * RUNS);
        trace_end(&p);
    }
    rig_stop(&r);
}

TEST(a_long_run_stands_out) {
    /* It is alone, or one of at most 32, and the mark has its length. */
    const char *function = WITH_FUNCTION("\"function\":\"", now_and_then_long, "\"");
    long longest = 0;
    long its_runs = 0;
    begin();
    run(now_and_then_long);
    trace_page p = trace_written(r.sched);
    for (const char *at = p.text; (at = strstr(at, "\"ph\":\"X\"")) != NULL; at++) {
        const char *dur = strstr(at, "\"dur\":");
        const char *end = strchr(at, '\n');
        const char *fn = strstr(at, function);
        if (fn == NULL || end == NULL || fn > end) {
            continue;
        }
        const long us = strtol(dur + strlen("\"dur\":"), NULL, 10);
        long n = 1;
        sscanf(fn + strlen(function), ",\"runs\":%ld", &n);
        if (us > longest) {
            longest = us;
            its_runs = n;
        }
    }
    CHECK(longest >= atomic_load(&long_ns) / 1000 - 1);
    CHECK(its_runs >= 1 && its_runs <= 32);
    trace_end(&p);
    rig_stop(&r);
}

TEST(a_run_with_a_name_is_alone) {
    /* From the moment at which it has one, each has a slice. */
    long shared;
    begin();
    run(names_itself);
    trace_page p = trace_written(r.sched);
    CHECK_EQ(trace_count(&p, "\"name\":\"named\""), RUNS);
    runs_of(&p, WITH_FUNCTION("", names_itself, ""), &shared);
    CHECK(trace_count(&p, "\"name\":\"named\"") >= RUNS && p.dropped == 0);
    trace_end(&p);
    rig_stop(&r);
}

TEST(a_trace_that_is_asked_for_has_each_run) {
    /* The recorder's is stopped, another one begins: there no two runs share a mark. */
    long shared;
    begin();
    CHECK_EQ(thrum_trace_stop(r.sched), 0);
    CHECK_EQ(thrum_trace_start(r.sched, 0), 0);
    run(nothing);
    trace_page p = trace_written(r.sched);
    CHECK_EQ(runs_of(&p, WITH_FUNCTION("", nothing, ""), &shared), RUNS);
    CHECK_EQ(shared, 0);
    trace_end(&p);
    rig_stop(&r);
}
