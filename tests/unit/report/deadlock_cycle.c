/*
 * deadlock_cycle.c: tasks that wait for each other in a cycle are told while timers tick and other
 * tasks run, as a chain, in reports and in dumps.
 */
/* matrix: policy workers */
#include "support/report/dumped.h"
#include "support/report/json.h"
#include "support/support.h"
#include "support/times.h"
#include "support/report/watched.h"

enum { THINGS = 3 };

/* What the tasks of one program hold and wait for. */
typedef struct knot {
    thrum_mutex mutex[THINGS];
    thrum_rwlock lock[THINGS];
    thrum_once once[THINGS];
    thrum_handle *handle[THINGS];
    thrum_barrier all_hold;
    thrum_event handles_there;
} knot;

static knot k;

static void knot_init(unsigned n) {
    for (int i = 0; i < THINGS; i++) {
        thrum_mutex_init(&k.mutex[i]);
        thrum_rwlock_init(&k.lock[i]);
        thrum_once_init(&k.once[i]);
    }
    thrum_barrier_init(&k.all_hold, n);
    thrum_event_init(&k.handles_there, THRUM_EVENT_MANUAL, false);
}

static void all_hold(void) {
    CHECK(thrum_barrier_wait(&k.all_hold) >= 0);
}

/* ---- members of a cycle ---- */

/* The i'th of n holds its own and wants that of the next. */
static __attribute__((noinline)) int hugs(unsigned i, unsigned n) {
    thrum_mutex_lock(&k.mutex[i]);
    all_hold();
    thrum_mutex_lock(&k.mutex[(i + 1) % n]);
    thrum_mutex_unlock(&k.mutex[(i + 1) % n]);
    thrum_mutex_unlock(&k.mutex[i]);
    return 0;
}

static int hugs_of_two(void *arg) {
    return hugs((unsigned)(uintptr_t)arg, 2);
}

static int hugs_of_three(void *arg) {
    return hugs((unsigned)(uintptr_t)arg, 3);
}

/* The second reads, and so waits for the writer. */
static int writes_and_wants(void *arg) {
    const unsigned i = (unsigned)(uintptr_t)arg;
    thrum_rwlock_wrlock(&k.lock[i]);
    all_hold();
    if (i) {
        thrum_rwlock_rdlock(&k.lock[0]);
    } else {
        thrum_rwlock_wrlock(&k.lock[1]);
    }
    return 0;
}

static int asks_the_other(void *arg);

static int does_once(void *arg) {
    return thrum_once_run(&k.once[(uintptr_t)arg], asks_the_other, arg);
}

static int runs_nothing(void *arg) {
    (void)arg;
    return 0;
}

static int asks_the_other(void *arg) {
    all_hold();
    return thrum_once_run(&k.once[(uintptr_t)arg ^ 1], runs_nothing, NULL);
}

static int joins_the_other(void *arg) {
    CHECK_EQ(thrum_event_wait(&k.handles_there), 0);
    return thrum_join(k.handle[(uintptr_t)arg ^ 1], NULL);
}

/* The first holds the mutex and joins the second, which wants it. */
static int holds_and_joins(void *arg) {
    if (arg) {
        all_hold();
        thrum_mutex_lock(&k.mutex[0]);
        return 0;
    }
    thrum_mutex_lock(&k.mutex[0]);
    all_hold();
    CHECK_EQ(thrum_event_wait(&k.handles_there), 0);
    return thrum_join(k.handle[1], NULL);
}

static int wants_the_mutex(void *arg) {
    (void)arg;
    thrum_mutex_lock(&k.mutex[0]);
    thrum_mutex_unlock(&k.mutex[0]);
    return 0;
}

/* One child of three wants what the task holds; the others end. */
static int holds_and_waits_for_children(void *arg) {
    thrum_scope scope;
    (void)arg;
    thrum_mutex_lock(&k.mutex[0]);
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_go(&scope, runs_nothing, NULL), 0);
    CHECK_EQ(thrum_scope_go(&scope, wants_the_mutex, NULL), 0);
    CHECK_EQ(thrum_scope_go(&scope, runs_nothing, NULL), 0);
    return thrum_scope_join(&scope);
}

/* ---- a program that has a cycle, and a timer ---- */

typedef struct cycle {
    thrum_fn fn;
    unsigned count; /* tasks that run it; each gets its number */
    const char *told[6];
} cycle;

static const cycle cycles[] = {
    {hugs_of_two,
     2,
     {": 2 wait for each other in a cycle, and nothing ends it\n  fiber ",
      " \"member 0\" waits for mutex 0x", " \"member 1\" waits for mutex 0x", ", held by fiber ",
      ", for "}},
    {hugs_of_three,
     3,
     {": 3 wait for each other in a cycle, and nothing ends it\n  fiber ",
      " \"member 2\" waits for mutex 0x"}},
    {writes_and_wants,
     2,
     {": 2 wait for each other in a cycle, and nothing ends it\n",
      " \"member 0\" waits for rwlock to write 0x", " \"member 1\" waits for rwlock to read 0x"}},
    {does_once,
     2,
     {": 2 wait for each other in a cycle, and nothing ends it\n",
      " \"member 0\" waits for once 0x", ", run by fiber "}},
    {joins_the_other,
     2,
     {": 2 wait for each other in a cycle, and nothing but a cancel ends it\n",
      " \"member 0\" waits for task 0x", " \"member 1\", which is fiber "}},
    {holds_and_joins,
     2,
     {": 2 wait for each other in a cycle, and nothing but a cancel ends it\n",
      " \"member 0\" waits for task 0x", " \"member 1\" waits for mutex 0x"}},
    {holds_and_waits_for_children,
     1,
     {": 2 wait for each other in a cycle, and nothing ends it\n",
      " \"member 0\" waits for scope 0x", ", a child of which is fiber ", " waits for mutex 0x"}},
};

/* For ever, so that there is always a deadline. */
static int ticks(void *arg) {
    (void)arg;
    for (;;) {
        nap();
    }
    return 0;
}

static void spawn_members(const cycle *c) {
    for (unsigned i = 0; i < c->count; i++) {
        thrum_attr attr = THRUM_ATTR_INIT;
        char name[32];
        snprintf(name, sizeof(name), "member %u", i);
        attr.name = name;
        CHECK_EQ(thrum_spawn_with(&k.handle[i], &attr, c->fn, (void *)(uintptr_t)i), 0);
    }
    thrum_event_signal(&k.handles_there);
}

static int ties(void *arg) {
    CHECK_EQ(thrum_go(ticks, NULL), 0);
    spawn_members(arg);
    return ticks(NULL);
}

static void check_report_has(const cycle *c, const char *report) {
    for (unsigned i = 0; i < COUNT_OF(c->told) && c->told[i]; i++) {
        if (!strstr(report, c->told[i])) {
            check_failed(__FILE__, __LINE__, "\"%s\" is not in: %s", c->told[i], report);
        }
    }
    fputs("all of it is told\n", stderr);
    abort();
}

/* The hook of a program that has one cycle. */
static void check_report(void *ctx, const char *report) {
    CHECK(strstr(report, "thrum: deadlock in scheduler \"knot\": ") == report);
    check_report_has(ctx, report);
}

static thrum_sched *knot_sched; /* of programs whose threads are not all its own */

static void run_until_told(void *arg) {
    const cycle *c = arg;
    thrum_config config;
    thrum_config_init(&config);
    config.deadlock = check_report;
    config.hook_ctx = arg;
    config.name = "knot";
    knot_init(c->count);
    (void)thrum_run(&config, ties, arg);
}

static void check_cycle(const cycle *c) {
    check_dies(run_until_told, (void *)(uintptr_t)c, "all of it is told\n");
}

static void run_and_abort(void *arg) {
    thrum_config config;
    (void)arg;
    thrum_config_init(&config);
    config.on_deadlock = THRUM_DEADLOCK_ABORT;
    knot_init(2);
    (void)thrum_run(&config, ties, (void *)(uintptr_t)&cycles[0]);
}

TEST(two_mutexes_crosswise) {
    /* The report comes while two timers tick, and tells who holds what, and for how long. */
    check_cycle(&cycles[0]);
}

TEST(three_mutexes_in_a_ring) {
    /* Each of the three members is told. */
    check_cycle(&cycles[1]);
}

TEST(a_rwlock_held_for_writing) {
    /* Readers and writers wait for the writer that holds it. */
    check_cycle(&cycles[2]);
}

TEST(two_onces_that_need_each_other) {
    /* A once waits for the caller that runs its function. */
    check_cycle(&cycles[3]);
}

TEST(two_tasks_that_join_each_other) {
    /* The report says that a cancel would end it. */
    check_cycle(&cycles[4]);
}

TEST(a_mutex_held_over_a_join) {
    /* Edges of different kinds make a cycle. */
    check_cycle(&cycles[5]);
}

TEST(a_mutex_held_over_a_scope) {
    /* Of a scope's children one is enough. */
    check_cycle(&cycles[6]);
}

/* ---- dumps ---- */

static bool is_told_by(page *p, thrum_format format, const char *told) {
    *p = dump(thrum_sched_current(), format);
    if (count_of(p, told) != 0) {
        return true;
    }
    free(p->text);
    return false;
}

/* Dumps until the cycle is closed: a dump tells it at once. */
static int ties_and_dumps(void *arg) {
    const cycle *c = arg;
    page text;
    page json;
    CHECK_EQ(thrum_go(ticks, NULL), 0);
    spawn_members(arg);
    YIELD_UNTIL(is_told_by(&text, THRUM_TEXT, "\n  deadlock: "));
    for (unsigned i = 0; i < COUNT_OF(c->told) && c->told[i]; i++) {
        check_has(&text, c->told[i]);
    }
    YIELD_UNTIL(is_told_by(&json, THRUM_JSON, "\"cancel_ends_it\": "));
    check_json(json.text);
    check_has(&json, "\"deadlock\": [\n  {\"count\": ");
    fputs("all of it is told\n", stderr);
    abort();
}

static void run_and_dump(void *arg) {
    const cycle *c = arg;
    thrum_config config;
    thrum_config_init(&config);
    knot_init(c->count);
    (void)thrum_run(&config, ties_and_dumps, arg);
}

TEST(a_dump_tells_it_at_once) {
    /* As text and as JSON, also where reports are off. */
    for (size_t i = 0; i < COUNT_OF(cycles); i++) {
        check_dies(run_and_dump, (void *)(uintptr_t)&cycles[i], "all of it is told\n");
    }
}

TEST(a_report_can_end_the_program) {
    /* THRUM_DEADLOCK=abort does so for a cycle, too. */
    check_dies(run_and_abort, NULL, ": 2 wait for each other in a cycle, and nothing ends it\n");
}

/* ---- a thread that is bound ---- */

static const cycle with_bound_thread = {
    hugs_of_two,
    1,
    {": 2 wait for each other in a cycle, and nothing ends it\n", "\n  bound thread ",
     ", held by bound thread ", " waits for mutex 0x"},
};

static void tie_with_bound_thread(void *arg) {
    thrum_config config;
    thrum_sched *sched = NULL;
    thrum_config_init(&config);
    config.deadlock = check_report;
    config.hook_ctx = arg;
    config.name = "knot";
    CHECK_EQ(thrum_sched_start(&sched, &config), 0);
    knot_init(2);
    CHECK_EQ(thrum_sched_bind(sched), 0);
    CHECK_EQ(thrum_go(ticks, NULL), 0);
    CHECK_EQ(thrum_go(hugs_of_two, (void *)1), 0);
    (void)hugs(0, 2);
}

TEST(a_bound_thread_in_the_cycle) {
    /* It holds one mutex as a thread, and is told by its number. */
    check_dies(tie_with_bound_thread, (void *)(uintptr_t)&with_bound_thread, "all of it is told\n");
}

/* ---- threads that are not bound ---- */

static const cycle with_threads = {
    hugs_of_three,
    1,
    {": 3 wait for each other in a cycle, and nothing ends it\n", "\n  fiber ", "\n  thread ",
     ", held by thread ", " waits for mutex 0x", ", held by fiber "},
};

static const cycle with_threads_json = {
    hugs_of_three,
    1,
    {"\"deadlock\": [\n  {\"count\": 3, \"cancel_ends_it\": false", "{\"external\": ",
     "\"state\": \"blocked\", \"on\": \"mutex\", \"object\": \"0x", "\"holder\": \"thread "},
};

/* The scheduler knows it from its first call. */
static void *hugs_in_a_thread(void *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = knot_sched;
    CHECK_EQ(thrum_go_with(&attr, runs_nothing, NULL), 0);
    (void)hugs((unsigned)(uintptr_t)arg, 3);
    return NULL;
}

static void tie_with_threads(const cycle *c, bool tell) {
    thrum_config config;
    pthread_t threads[2];
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_config_init(&config);
    config.deadlock = tell ? check_report : NULL;
    config.hook_ctx = (void *)(uintptr_t)c;
    config.name = "knot";
    config.workers = 1;
    CHECK_EQ(thrum_sched_start(&knot_sched, &config), 0);
    knot_init(3);
    attr.sched = knot_sched;
    CHECK_EQ(thrum_go_with(&attr, ticks, NULL), 0);
    CHECK_EQ(thrum_go_with(&attr, hugs_of_three, (void *)1), 0);
    for (uintptr_t i = 0; i < 2; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, hugs_in_a_thread, (void *)(2 * i)), 0);
    }
    while (!tell) {
        page json = dump(knot_sched, THRUM_JSON);
        if (strstr(json.text, c->told[0])) {
            check_json(json.text);
            check_report_has(c, json.text);
        }
        free(json.text);
    }
    (void)pthread_join(threads[0], NULL);
}

static void tie_and_report(void *arg) {
    (void)arg;
    tie_with_threads(&with_threads, true);
}

static void tie_and_dump(void *arg) {
    (void)arg;
    tie_with_threads(&with_threads_json, false);
}

TEST(plain_threads_in_the_cycle) {
    /* Two of three are threads that are not bound, and are told by their numbers. */
    check_dies(tie_and_report, NULL, "all of it is told\n");
    check_dies(tie_and_dump, NULL, "all of it is told\n");
}
