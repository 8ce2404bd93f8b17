/*
 * trace_series.c: short runs that share a mark in the flight recorder's trace, as
 * core/trace/TRACE.md, "Series", has it: none is lost, and what is long or has a name stands out.
 */
/* matrix: policy workers */
#include "support/report/printed.h"
#include "support/times.h"
#include "support/report/traces.h"

#define RUNS 1000
#define FEW 200 /* so many are in a worker's queue at once */

static rig r;
static thrum_waitgroup group;
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
        for (int i = 0; i < 20; i++) {
            await_passed(soon()); /* a millisecond */
        }
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

/* The next slice of a function behind this place, or NULL: its runs, and its length. */
static const char *slice_of(const char *at, const char *function, long *runs, int64_t *ns) {
    char key[64];
    char us[32];
    snprintf(key, sizeof(key), "\"function\":\"%s\"", function);
    while ((at = strstr(at, "\"ph\":\"X\""))) {
        const char *dur = strstr(at, "\"dur\":");
        const char *end = strchr(at, '\n');
        const char *fn = strstr(at, key);
        at++;
        if (!fn || !end || fn > end) {
            continue;
        }
        CHECK_EQ(sscanf(dur, "\"dur\":%31[0-9.]", us), 1);
        *ns = trace_ns(us);
        *runs = 1;
        sscanf(fn + strlen(key), ",\"runs\":%ld", runs);
        return at;
    }
    return NULL;
}

/* Of all slices of a function: the runs in them, and how many slices have several. */
static long runs_of(const trace_page *p, const char *function, long *shared) {
    int64_t ns;
    long n;
    long runs = 0;
    *shared = 0;
    for (const char *at = p->text; (at = slice_of(at, function, &n, &ns));) {
        *shared += n > 1;
        runs += n;
    }
    return runs;
}

TEST(no_run_is_lost) {
    /* Each of many short runs is counted once, whether it shares a mark or not. */
    long shared = 0;
    begin();
    for (long rounds = 1; rounds <= 5; rounds++) {
        run(nothing);
        await_sleep();
        trace_page p = trace_written(r.sched);
        CHECK_EQ(p.dropped, 0);
        CHECK_EQ(runs_of(&p, WITH_FUNCTION("", nothing, ""), &shared), rounds * RUNS);
        trace_end(&p);
    }
    rig_stop(&r);
}

static int starts_few(void *arg) {
    (void)arg;
    thrum_waitgroup_add(&group, FEW);
    for (int i = 0; i < FEW; i++) {
        CHECK_EQ(thrum_go(nothing, NULL), 0);
    }
    CHECK_EQ(thrum_waitgroup_wait(&group), 0);
    return 0;
}

TEST(short_runs_share_marks) {
    /*
     * Of two runs that follow each other, and take less than 450 ns each, hardly any is
     * alone. How long each took is in the trace itself: on a slow processor none is as short.
     */
    const char *function = WITH_FUNCTION("", nothing, "");
    long runs;
    long shared = 0;
    long pairs = 0; /* of short ones that are alone */
    bool after_short = false;
    int64_t ns;
    if (UNDER_TSAN) {
        CHECK_SKIP("each task has a fiber of its own there");
    }
    rig_init(&r);
    r.config.trace = true;
    r.config.policy = THRUM_SHARDED;
    r.config.workers = 1; /* nobody takes what it has at hand */
    rig_start(&r);
    CHECK_EQ(rig_run(&r, starts_few, NULL), 0);
    await_sleep();
    trace_page p = trace_written(r.sched);
    for (const char *at = p.text; (at = slice_of(at, function, &runs, &ns));) {
        shared += runs > 1;
        const bool is_short = runs == 1 && ns < 450; /* longer ones have a mark each */
        pairs += is_short && after_short;
        after_short = is_short;
    }
    CHECK(shared > 0 || pairs < FEW / 10);
    trace_end(&p);
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
    const char *function = WITH_FUNCTION("", now_and_then_long, "");
    int64_t longest = 0;
    long its_runs = 0;
    int64_t ns;
    long n;
    begin();
    run(now_and_then_long);
    await_sleep(); /* a mark that is open has other runs, and lasts until now */
    trace_page p = trace_written(r.sched);
    for (const char *at = p.text; (at = slice_of(at, function, &n, &ns));) {
        if (ns > longest) {
            longest = ns;
            its_runs = n;
        }
    }
    CHECK(longest >= 10000000); /* of 20 ms, by another clock */
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
