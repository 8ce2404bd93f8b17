/*
 * metrics.c: what the workers count, read and printed.
 */
/* matrix: policy workers */
#include "support/report/printed.h"
#include "support/support.h"

static thrum_metrics read_of(const rig *r, int worker) {
    thrum_metrics m = THRUM_METRICS_INIT;
    CHECK_EQ(thrum_metrics_read(r->sched, worker, &m), 0);
    return m;
}

static thrum_metrics read_all(const rig *r) {
    return read_of(r, THRUM_ALL_WORKERS);
}

static uint64_t runs_of(const thrum_metrics *m) {
    return m->runs_lifo + m->runs_ring + m->runs_inject + m->runs_stolen + m->runs_pinned;
}

/* Each counter, for loops over all of them. */
static const uint64_t *counters_of(const thrum_metrics *m) {
    return &m->runs_lifo;
}
#define AT(field) ((offsetof(thrum_metrics, field) - offsetof(thrum_metrics, runs_lifo)) / 8)
#define COUNTERS (AT(wakes_polling) + 1)

/* All tasks have ended: each run had one source, and whoever suspended has gone on. */
static thrum_metrics read_quiet(const rig *r) {
    const thrum_metrics m = read_all(r);
    CHECK_EQ(runs_of(&m), m.tasks_started + m.fibers_resumed);
    CHECK_EQ(m.suspends, m.fibers_resumed);
    CHECK(m.stacks_freed <= m.stacks_created);
    SPIN_UNTIL(read_all(r).steals_done <= read_all(r).steals_tried && /* thieves may be at work */
               read_all(r).steals_done <= read_all(r).stolen);
    return m;
}

/* ---- work that does a bit of everything ---- */

typedef struct mill {
    rig *r;
    thrum_sem sem;
    thrum_task tasks[100];
    atomic_int runs;
} mill;

static void mill_task(thrum_task *self, void *arg) {
    mill *m = arg;
    (void)self;
    if (atomic_fetch_add(&m->runs, 1) % 2 == 0) {
        thrum_yield();
    }
}

static int mill_wait(void *arg) {
    return thrum_sem_wait(&((mill *)arg)->sem);
}

static int mill_main(void *arg) {
    mill *m = arg;
    thrum_attr attr = rig_attr(m->r);
    for (int i = 0; i < 100; i++) {
        thrum_task_init(&m->tasks[i], mill_task, m);
        thrum_task_set_worker(&m->tasks[i], i % 10 == 0 ? 0 : -1);
        CHECK_EQ(thrum_task_post_hint(m->r->sched, &m->tasks[i], (thrum_hint)(i % 3)), 0);
    }
    for (int i = 0; i < 50; i++) {
        attr.flags = i % 3 == 0 ? THRUM_NEXT : 0;
        CHECK_EQ(thrum_go_with(&attr, mill_wait, m), 0);
    }
    thrum_yield();
    for (int i = 0; i < 50; i++) {
        thrum_sem_post(&m->sem);
    }
    return 0;
}

static void run_mill(rig *r) {
    static mill m;
    m = (mill){.r = r};
    thrum_sem_init(&m.sem, 0);
    CHECK_EQ(rig_run(r, mill_main, &m), 0);
    rig_wait_done(r);
    CHECK_EQ(atomic_load(&m.runs), 100);
}

TEST(sources_sum_up_to_what_was_run) {
    /* In a quiet moment every run is a body begun or a fiber resumed, and has one source. */
    rig r;
    rig_begin(&r, 0);
    for (int round = 0; round < 10; round++) {
        run_mill(&r);
        const thrum_metrics m = read_quiet(&r);
        CHECK_EQ(m.tasks_started, (uint64_t)(round + 1) * 151);
    }
    rig_stop(&r);
}

TEST(sum_of_the_workers_is_the_whole) {
    /* In a quiet moment this holds for all that workers count. */
    static const size_t steady[] = {AT(tasks_started), AT(fibers_resumed), AT(suspends), AT(yields),
                                    AT(runs_ring)};
    uint64_t sums[COUNT_OF(steady)] = {0};
    rig r;
    rig_begin(&r, 0);
    run_mill(&r);
    const unsigned workers = thrum_sched_parallelism(r.sched);
    for (unsigned i = 0; i < workers; i++) {
        const thrum_metrics m = read_of(&r, (int)i);
        CHECK_EQ(m.workers, 1);
        CHECK_EQ(m.size, sizeof(m));
        for (size_t k = 0; k < COUNT_OF(steady); k++) {
            sums[k] += counters_of(&m)[steady[k]];
        }
    }
    const thrum_metrics all = read_quiet(&r);
    CHECK_EQ(all.workers, workers);
    CHECK_EQ(all.size, sizeof(all));
    for (size_t k = 0; k < COUNT_OF(steady); k++) {
        CHECK_EQ(sums[k], counters_of(&all)[steady[k]]);
    }
    rig_stop(&r);
}

TEST(counters_never_shrink) {
    /* They are read while the workers run; only blocking_threads, and io_served, may fall. */
    rig r;
    thrum_metrics before, now;
    static mill m;
    rig_begin(&r, 0);
    before = read_all(&r);
    for (int round = 0; round < 5; round++) {
        memset(&m, 0, sizeof(m));
        m.r = &r;
        thrum_sem_init(&m.sem, 0);
        rig_go(&r, mill_main, &m);
        while (thrum_sched_wait_done(r.sched, 0) != 0) {
            now = read_all(&r);
            for (size_t i = 0; i < COUNTERS; i++) {
                const uint64_t *counter = counters_of(&now) + i;
                if (counter != &now.blocking_threads && counter != &now.io_served) {
                    CHECK(*counter >= counters_of(&before)[i]);
                }
            }
            before = now;
        }
    }
    rig_stop(&r);
}

/* ---- single counters ---- */

static int end_at_once(void *arg) {
    (void)arg;
    return 0;
}

TEST(tasks_are_counted) {
    /* There is one for each body that began. */
    rig r;
    rig_begin(&r, 0);
    const thrum_metrics before = read_all(&r);
    for (int i = 0; i < 77; i++) {
        rig_go(&r, end_at_once, NULL);
    }
    rig_wait_done(&r);
    const thrum_metrics after = read_all(&r);
    CHECK_EQ(after.tasks_started - before.tasks_started, 77);
    CHECK_EQ(after.fibers_resumed, before.fibers_resumed);
    rig_stop(&r);
}

static int yield_100(void *arg) {
    (void)arg;
    for (int i = 0; i < 100; i++) {
        thrum_yield();
    }
    return 0;
}

TEST(yields_are_counted) {
    /* A yield counts if it gave way to another: of two fibers on one worker, while both live. */
    rig r;
    holder h;
    rig_begin(&r, 1);
    holder_begin(&r, &h, -1);
    rig_go(&r, yield_100, NULL);
    rig_go(&r, yield_100, NULL);
    holder_end(&h);
    rig_wait_done(&r);
    const thrum_metrics m = read_all(&r);
    CHECK(m.yields >= 199 && m.yields <= 200);
    CHECK_EQ(m.fibers_resumed, m.yields);
    rig_stop(&r);
}

typedef struct pair {
    thrum_sem a, b;
} pair;

static int ping(void *arg) {
    pair *p = arg;
    for (int i = 0; i < 100; i++) {
        thrum_sem_post(&p->b);
        CHECK_EQ(thrum_sem_wait(&p->a), 0);
    }
    return 0;
}

static int pong(void *arg) {
    pair *p = arg;
    CHECK_EQ(thrum_go(ping, p), 0);
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(thrum_sem_wait(&p->b), 0);
        thrum_sem_post(&p->a);
    }
    return 0;
}

TEST(waits_and_switches_are_counted) {
    /* A ping-pong of two fibers on one worker suspends, switches and resumes. */
    rig r;
    pair p = {.a = THRUM_SEM_INIT(0), .b = THRUM_SEM_INIT(0)};
    rig_begin(&r, 1);
    rig_go(&r, pong, &p);
    rig_wait_done(&r);
    const thrum_metrics m = read_quiet(&r);
    CHECK(m.fibers_resumed >= 100);
    CHECK_EQ(m.tasks_started, 2);
    SPIN_UNTIL(read_all(&r).switches >= 100 && read_all(&r).stacks_created >= 2);
    rig_stop(&r);
}

TEST(lifo_slot_is_counted) {
    /* The same ping-pong goes through the slot on the sharded policy. */
    rig r;
    pair p = {.a = THRUM_SEM_INIT(0), .b = THRUM_SEM_INIT(0)};
    rig_init(&r);
    r.config.workers = 1;
    r.config.policy = THRUM_SHARDED;
    rig_start(&r);
    rig_go(&r, pong, &p);
    rig_wait_done(&r);
    CHECK(read_all(&r).runs_lifo > 0);
    rig_stop(&r);
}

TEST(stacks_are_counted) {
    /* Stacks of fibers that blocked at once were set up, those of a later crowd are reused. */
    rig r;
    mill m = {.r = &r, .sem = THRUM_SEM_INIT(0)};
    enum { CROWD = 500 };     /* more than a worker keeps for itself */
    bool reused = UNDER_TSAN; /* under that each task gets a fresh one */
    rig_begin(&r, 1);
    for (int round = 0; round < 2 || !reused; round++) {
        for (int i = 0; i < CROWD; i++) {
            rig_go(&r, mill_wait, &m);
        }
        SPIN_UNTIL(read_all(&r).stacks_created >= CROWD);
        CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
        for (int i = 0; i < CROWD; i++) {
            thrum_sem_post(&m.sem);
        }
        rig_wait_done(&r);
        reused = reused || read_all(&r).stacks_reused > 0;
    }
    rig_stop(&r);
}

static __attribute__((noinline)) int go_deep(void *arg) {
    volatile char block[64 << 10];
    for (size_t i = sizeof(block); i > 0; i -= 256) {
        block[i - 1] = 1;
    }
    (void)arg;
    return block[sizeof(block) / 2] == 1;
}

TEST(stack_high_water_is_seen) {
    /* A task that used 64 KiB of its stack shows when that stack is kept. */
    rig r;
    if (UNDER_TSAN) {
        CHECK_SKIP("each task has a stack of its own there, and none is kept");
    }
    rig_begin(&r, 1);
    for (int i = 0; i < 10; i++) {
        rig_run(&r, go_deep, NULL);
        rig_run(&r, yield_100, NULL);
    }
    SPIN_UNTIL(read_all(&r).stack_high_water >= 64u << 10);
    CHECK(read_all(&r).stack_high_water <= 128u << 10);
    rig_stop(&r);
}

static int spawn_many(void *arg) {
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(thrum_go(end_at_once, arg), 0);
    }
    return 0;
}

TEST(offloads_are_counted) {
    /* A full local queue spills into the inject queue. */
    rig r;
    rig_init(&r);
    r.config.workers = 1;
    r.config.policy = THRUM_SHARDED;
    r.config.local_capacity = 4;
    rig_start(&r);
    CHECK_EQ(rig_run(&r, spawn_many, NULL), 0);
    rig_wait_done(&r);
    const thrum_metrics m = read_all(&r);
    CHECK(m.offloads > 0);
    CHECK(m.offloaded >= m.offloads);
    CHECK(m.runs_inject > 0);
    rig_stop(&r);
}

static void tied_body(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
}

TEST(pinned_runs_are_counted) {
    /* They are counted by their source, on their worker. */
    rig r;
    thrum_task tasks[20];
    rig_begin(&r, 0);
    for (int i = 0; i < 20; i++) {
        thrum_task_init(&tasks[i], tied_body, NULL);
        thrum_task_set_worker(&tasks[i], 0);
        CHECK_EQ(thrum_task_post(r.sched, &tasks[i]), 0);
    }
    rig_wait_done(&r);
    CHECK_EQ(read_of(&r, 0).runs_pinned, 20);
    CHECK_EQ(read_all(&r).runs_pinned, 20);
    rig_stop(&r);
}

TEST(parks_and_wakes_are_counted) {
    /* Workers with nothing to do sleep; a post wakes one, unless one is about to come anyway. */
    rig r;
    rig_begin(&r, 0);
    uint64_t parks = thrum_sched_parallelism(r.sched);
    for (; read_all(&r).wakes_submit == 0 || read_all(&r).futex_waits == 0; parks++) {
        SPIN_UNTIL(read_all(&r).parks >= parks);
        rig_run(&r, end_at_once, NULL);
    }
    rig_stop(&r);
}

static int fan_and_spin(void *arg) {
    mill *m = arg;
    for (int i = 0; i < 50; i++) {
        thrum_task_init(&m->tasks[i], mill_task, m);
        CHECK_EQ(thrum_task_post(m->r->sched, &m->tasks[i]), 0);
    }
    SPIN_UNTIL(atomic_load(&m->runs) == 50); /* without giving the worker up */
    return 0;
}

TEST(steals_are_counted) {
    /* Another worker takes what a busy one has queued. */
    rig r;
    mill m = {.r = &r};
    rig_init(&r);
    r.config.workers = 2;
    r.config.policy = THRUM_SHARDED;
    rig_start(&r);
    CHECK_EQ(rig_run(&r, fan_and_spin, &m), 0);
    rig_wait_done(&r);
    SPIN_UNTIL(read_quiet(&r).stolen + read_all(&r).rescues > 0);
    rig_stop(&r);
}

/* On a thread for such calls: there is one at least. */
static int look_at_threads(void *arg) {
    const rig *r = arg;
    const uint64_t threads = read_all(r).blocking_threads;
    CHECK(threads >= 1 && threads <= r->config.blocking_threads_max);
    return 0;
}

static int block_often(void *arg) {
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(thrum_blocking(look_at_threads, arg, NULL), 0);
    }
    return 0;
}

TEST(blocking_calls_are_counted) {
    /* The counters are the calls, and the threads that there are now. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, block_often, &r), 0);
    CHECK_EQ(read_all(&r).blocking_calls, 10);
    rig_stop(&r);
}

/* ---- errors ---- */

TEST(read_refuses_what_does_not_exist) {
    /* It refuses a worker's number, a size, and a missing place. */
    rig r;
    thrum_metrics m = THRUM_METRICS_INIT;
    rig_begin(&r, 0);
    CHECK_EQ(thrum_metrics_read(r.sched, (int)thrum_sched_workers(r.sched), &m), -EINVAL);
    CHECK_EQ(thrum_metrics_read(r.sched, -2, &m), -EINVAL);
    CHECK_EQ(thrum_metrics_read(r.sched, 0, NULL), -EINVAL);
    CHECK_EQ(thrum_metrics_read(NULL, 0, &m), -EINVAL);
    m.size = 0;
    CHECK_EQ(thrum_metrics_read(r.sched, 0, &m), -EINVAL);
    m.size = SIZE_MAX;
    CHECK_EQ(thrum_metrics_read(r.sched, 0, &m), -EINVAL);
    rig_stop(&r);
}

/* ---- printing ---- */

static char *print(const rig *r, thrum_format format) {
    size_t length = 0;
    FILE *out = tmpfile();
    CHECK(out != NULL);
    CHECK_EQ(thrum_metrics_print(r->sched, out, format), 0);
    char *text = printed_end(out, &length);
    CHECK(length > 0);
    CHECK(text[length - 1] == '\n');
    return text;
}

TEST(text_has_a_line_for_each_counter) {
    /* The lines are named as in the header. */
    static const char *const names[] = {"tasks_started", "runs_ring", "parks", "stolen",
                                        "switches"};
    rig r;
    rig_begin(&r, 0);
    run_mill(&r);
    char *text = print(&r, THRUM_TEXT);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        CHECK(strstr(text, names[i]) != NULL);
    }
    free(text);
    rig_stop(&r);
}

TEST(text_of_many_workers_has_the_least_and_the_most) {
    /* A dozen workers have no columns; the name's quotes and odd characters are made harmless. */
    rig r;
    rig_init(&r);
    r.config.workers = 12;
    r.config.name = "a\"b\\c\nd\te";
    rig_start(&r);
    CHECK_EQ(rig_run(&r, end_at_once, NULL), 0);
    char *text = print(&r, THRUM_TEXT);
    CHECK(strstr(text, "\"a\\\"b\\\\c?d?e\", 12 workers\n") != NULL);
    CHECK(strstr(text, " least ") && strstr(text, " most "));
    CHECK(strstr(text, "tasks_started") != NULL);
    free(text);
    rig_stop(&r);
}

/* Skips one JSON value; returns what follows it. */
static const char *skip_json(const char *p) {
    int depth = 0;
    do {
        if (*p == '"') {
            for (p++; *p != '"'; p++) {
                CHECK(*p != '\0');
                p += *p == '\\';
            }
        } else if (*p == '{' || *p == '[') {
            depth++;
        } else if (*p == '}' || *p == ']') {
            depth--;
        }
        CHECK(*p != '\0');
        p++;
    } while (depth > 0);
    return p;
}

TEST(json_is_one_object) {
    /* It is balanced, with the counters by name. */
    rig r;
    rig_init(&r);
    r.config.name = "a \"quoted\\\" name";
    rig_start(&r);
    run_mill(&r);
    char *text = print(&r, THRUM_JSON);
    CHECK(text[0] == '{');
    const char *rest = skip_json(text);
    CHECK_EQ(strspn(rest, " \n"), strlen(rest));
    CHECK(strstr(text, "\"tasks_started\"") != NULL);
    CHECK(strstr(text, "\"futex_wakes\"") != NULL);
    free(text);
    rig_stop(&r);
}

TEST(prometheus_lines_are_well_formed) {
    /* Lines are comments, or: name, labels in braces, a number. */
    rig r;
    rig_begin(&r, 0);
    run_mill(&r);
    char *text = print(&r, THRUM_PROMETHEUS);
    char *save = NULL;
    int samples = 0;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (line[0] == '#') {
            CHECK(strncmp(line, "# HELP thrum_", 13) == 0 ||
                  strncmp(line, "# TYPE thrum_", 13) == 0);
            continue;
        }
        CHECK(strncmp(line, "thrum_", 6) == 0);
        char *p = line + strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789_");
        if (*p == '{') {
            p = strchr(p, '}');
            CHECK(p != NULL);
            p++;
        }
        CHECK(*p == ' ');
        char *end = NULL;
        strtod(p + 1, &end);
        CHECK(end != p + 1 && *end == '\0');
        samples++;
    }
    CHECK(samples > 20);
    free(text);
    rig_stop(&r);
}

TEST(print_reports_errors) {
    /* The errors are an unknown format, no stream, and a stream that cannot be written. */
    rig r;
    rig_begin(&r, 0);
    FILE *full = check_full_stream();
    CHECK(full != NULL);
    setvbuf(full, NULL, _IONBF, 0);
    CHECK_EQ(thrum_metrics_print(r.sched, full, THRUM_TEXT), -EIO);
    fclose(full);
    full = check_full_stream(); /* with a buffer that is found out at the end */
    CHECK(full && setvbuf(full, NULL, _IOFBF, (size_t)1 << 20) == 0);
    CHECK_EQ(thrum_metrics_print(r.sched, full, THRUM_TEXT), -EIO);
    fclose(full);
    CHECK_EQ(thrum_metrics_print(r.sched, stdout, (thrum_format)17), -EINVAL);
    CHECK_EQ(thrum_metrics_print(r.sched, NULL, THRUM_TEXT), -EINVAL);
    CHECK_EQ(thrum_metrics_print(NULL, stdout, THRUM_TEXT), -EINVAL);
    rig_stop(&r);
}
