/*
 * dump_groups.c: dumps of many fibers: those that do the same are told together, as text and JSON.
 * The sanitizers' builds optimize it, too: otherwise clang leaves old return addresses in frames.
 */
/* matrix: policy workers */
/* compile: -O1 -g1 */
#include "support/report/dumped.h"
#include "support/report/json.h"
#include "support/support.h"
#include "support/times.h"
#include "support/report/watched.h"

static void check_count(const page *p, const char *part, int n) {
    if (count_of(p, part) != n) {
        check_failed(__FILE__, __LINE__, "\"%s\" is there %d times, not %d: %.700s", part,
                     count_of(p, part), n, p->text);
    }
}

/* ---- tasks that wait in different calls ---- */

enum { KINDS = 10 };

static thrum_sem sems[KINDS];

/* After the wait there is something left to do, so that the call is no jump. */
#define WAITS_AS(n)                                                                                \
    static __attribute__((noinline)) int waits_as_##n(void *arg) {                                 \
        const int code = thrum_sem_wait(arg);                                                      \
        CHECK(code == 0 || code == -ECANCELED);                                                    \
        return code;                                                                               \
    }
WAITS_AS(0)
WAITS_AS(1)
WAITS_AS(2)
WAITS_AS(3)
WAITS_AS(4)
WAITS_AS(5)
WAITS_AS(6)
WAITS_AS(7)
WAITS_AS(8)
WAITS_AS(9)

static const thrum_fn kinds[KINDS] = {waits_as_0, waits_as_1, waits_as_2, waits_as_3, waits_as_4,
                                      waits_as_5, waits_as_6, waits_as_7, waits_as_8, waits_as_9};

static void spawn_n(const rig *r, int n, const char *name, thrum_fn fn, void *arg) {
    thrum_attr attr = rig_attr(r);
    attr.name = name;
    for (int i = 0; i < n; i++) {
        CHECK_EQ(thrum_go_with(&attr, fn, arg), 0);
    }
}

static void begin_small(rig *r) {
    rig_init(r);
    r->config.stack_size = 16384;
    rig_start(r);
    for (int i = 0; i < KINDS; i++) {
        thrum_sem_init(&sems[i], 0);
    }
}

static void settle(const rig *r) {
    CHECK_EQ(thrum_sched_wait_idle(r->sched, THRUM_FOREVER), 0);
}

/* ---- text ---- */

TEST(ten_thousand_fibers_are_ten_groups) {
    /* Each group is told once, with how many there are, some of them, and their calls. */
    char line[128];
    rig r;
    begin_small(&r);
    const int each = UNDER_TSAN ? 50 : check_scaled(1000) < 50 ? 50 : check_scaled(1000);
    for (int i = 0; i < KINDS; i++) {
        snprintf(line, sizeof(line), "kind %d", i);
        spawn_n(&r, each, line, kinds[i], &sems[i]);
    }
    settle(&r);
    page p = dump(r.sched, THRUM_TEXT);
    snprintf(line, sizeof(line), ": %d waiting, 0 ready, 0 running\n", KINDS * each);
    check_has(&p, line);
    for (int i = 0; i < KINDS; i++) {
        snprintf(line, sizeof(line), "  %d fibers wait for semaphore 0x%" PRIxPTR ": ", each,
                 (uintptr_t)&sems[i]);
        check_count(&p, line, 1);
        snprintf(line, sizeof(line), " \"kind %d\"", i);
        check_count(&p, line, 5); /* four, and the one that has waited longest */
        snprintf(line, sizeof(line), "(waits_as_%d+0x", i);
        CHECK(!HAS_CALLS || UNDER_ASAN || count_of(&p, line) <= 1);
    }
    snprintf(line, sizeof(line), " and %d more\n", each - 4);
    check_count(&p, line, KINDS);
    check_count(&p, "    the longest: fiber ", KINDS);
    check_count(&p, "\n  fiber ", 0);
    CHECK(!HAS_CALLS || count_of(&p, "    at ") >= KINDS);
    free(p.text);
    for (int i = 0; i < KINDS; i++) {
        thrum_sem_post_n(&sems[i], (unsigned)each);
    }
    rig_wait_done(&r);
    p = dump(r.sched, THRUM_TEXT);
    check_count(&p, "fiber", 0);
    free(p.text);
    rig_stop(&r);
}

TEST(the_largest_group_comes_first) {
    /* A fiber that is alone in its calls is told as in a small dump. */
    rig r;
    begin_small(&r);
    spawn_n(&r, 1, "alone", waits_as_0, &sems[0]);
    spawn_n(&r, 30, NULL, waits_as_1, &sems[1]);
    spawn_n(&r, 80, NULL, waits_as_2, &sems[2]);
    settle(&r);
    const page p = dump(r.sched, THRUM_TEXT);
    const char *large = strstr(p.text, "  80 fibers wait for ");
    const char *small = strstr(p.text, "  30 fibers wait for ");
    const char *alone = strstr(p.text, " \"alone\" waits for semaphore ");
    CHECK(large && small && alone);
    CHECK(large < small && small < alone);
    free(p.text);
    thrum_sem_post(&sems[0]);
    thrum_sem_post_n(&sems[1], 30);
    thrum_sem_post_n(&sems[2], 80);
    rig_stop(&r);
}

TEST(a_hundred_are_told_one_by_one) {
    /* One more, and they are a group. */
    rig r;
    begin_small(&r);
    spawn_n(&r, 100, NULL, waits_as_0, &sems[0]);
    settle(&r);
    page p = dump(r.sched, THRUM_TEXT);
    check_count(&p, "\n  fiber ", 100);
    check_count(&p, " waits for semaphore 0x", 100);
    free(p.text);
    spawn_n(&r, 1, NULL, waits_as_0, &sems[0]);
    settle(&r);
    p = dump(r.sched, THRUM_TEXT);
    check_count(&p, "\n  fiber ", 0);
    check_count(&p, "  101 fibers wait for semaphore 0x", 1);
    free(p.text);
    thrum_sem_post_n(&sems[0], 101);
    rig_stop(&r);
}

enum { MANY = 120 };

static thrum_sem own[MANY];

static int waits_until_then(void *arg) {
    const int code = thrum_sem_wait_until(arg, far_off());
    CHECK_EQ(code, 0);
    return code;
}

TEST(the_calls_decide_and_not_the_object) {
    /* Those that wait in the same calls, each for a thing of its own, are one group. */
    if (!HAS_CALLS) {
        CHECK_SKIP("no calls are found on this processor or system");
    }
    rig r;
    begin_small(&r);
    for (int i = 0; i < MANY; i++) {
        thrum_sem_init(&own[i], 0);
        spawn_n(&r, 1, NULL, waits_until_then, &own[i]);
    }
    spawn_n(&r, MANY, NULL, waits_as_0, &sems[0]);
    spawn_n(&r, MANY, NULL, waits_as_1, &sems[0]);
    settle(&r);
    page p = dump(r.sched, THRUM_TEXT);
    check_count(&p, "  120 fibers wait for semaphore, not all for the same one: ", 1);
    check_count(&p, "    the first of their deadlines is due in ", 1);
    check_count(&p, "  120 fibers wait for semaphore 0x", 2);
    free(p.text);
    for (int i = 0; i < MANY; i++) {
        thrum_sem_post(&own[i]);
    }
    thrum_sem_post_n(&sems[0], 2 * MANY);
    rig_stop(&r);
}

static atomic_int turns;

/* What it leaves on the stack lies within the next function's buffer. */
static __attribute__((noinline)) int leaves_calls(int depth) {
    volatile int kept = depth;
    const int below = depth > 0 ? leaves_calls(depth - 1) : 0;
    return below + kept;
}

static __attribute__((noinline)) int waits_with_a_buffer(thrum_sem *sem) {
    volatile char buffer[1000];
    buffer[0] = 0;
    const int code = thrum_sem_wait(sem);
    return code + buffer[0];
}

static int waits_after_calls(void *arg) {
    CHECK(leaves_calls(atomic_fetch_add(&turns, 1) % 8) >= 0);
    const int code = waits_with_a_buffer(arg);
    CHECK_EQ(code, 0);
    return code;
}

TEST(calls_that_are_over_split_no_group) {
    /* Each has other return addresses in a buffer that it has not written. */
    if (!HAS_CALLS || UNDER_ASAN) {
        CHECK_SKIP("no calls are found on this processor or system, or buffers lie elsewhere");
    }
    rig r;
    begin_small(&r);
    spawn_n(&r, MANY, NULL, waits_after_calls, &sems[0]);
    settle(&r);
    const page p = dump(r.sched, THRUM_TEXT);
    check_count(&p, "  120 fibers wait for semaphore 0x", 1);
    check_count(&p, "(leaves_calls+0x", 0);
    check_count(&p, "(waits_with_a_buffer+0x", 1);
    check_count(&p, "(waits_after_calls+0x", 1);
    free(p.text);
    thrum_sem_post_n(&sems[0], MANY);
    rig_stop(&r);
}

/* ---- more kinds of calls than are kept ---- */

static volatile int kept_busy;

static int zero(unsigned bits, int left);
static int one(unsigned bits, int left);

/* Each of ten bits decides which of two functions is called next: 1024 stacks. */
#define DEEPER(name, n)                                                                            \
    static __attribute__((noinline)) int name(unsigned bits, int left) {                           \
        const int code = left == 0  ? thrum_sem_wait(&sems[0])                                     \
                         : bits & 1 ? one(bits >> 1, left - 1)                                     \
                                    : zero(bits >> 1, left - 1);                                   \
        kept_busy = code + (n);                                                                    \
        return code;                                                                               \
    }
DEEPER(zero, 0)
DEEPER(one, 1)

static int waits_by_bits(void *arg) {
    return zero((unsigned)(uintptr_t)arg, 10);
}

TEST(groups_are_limited) {
    /* What would need one more is counted by what it waits for; nothing is lost. */
    enum { STACKS = 700 };
    if (!HAS_CALLS || UNDER_ASAN || UNDER_TSAN) {
        CHECK_SKIP(
            "calls of these depths are not found on this processor or system, or in this build");
    }
    rig r;
    rig_begin(&r, 0);
    thrum_sem_init(&sems[0], 0);
    for (unsigned i = 0; i < STACKS; i++) {
        spawn_n(&r, 1, NULL, waits_by_bits, (void *)(uintptr_t)i);
    }
    settle(&r);
    page p = dump(r.sched, THRUM_TEXT);
    check_has(&p, ": 700 waiting, 0 ready, 0 running\n");
    const char *more = strstr(p.text, " more, beside 512 groups:");
    int left = 0;
    for (const char *at = p.text; (at = strstr(at, " fibers wait for semaphore")) != NULL; at++) {
        const char *line = at;
        while (line[-1] != '\n') {
            line--;
        }
        left += (int)strtol(line, NULL, 10) - 1;
    }
    if (more) { /* as many as were put into no group */
        char line[128];
        const int rest = STACKS - 512 - left;
        snprintf(line, sizeof(line), "  and %d more, beside 512 groups: %d wait for semaphore\n",
                 rest, rest);
        check_has(&p, line);
    } else {
        check_failed(__FILE__, __LINE__, "fewer than 512 groups: %.900s", p.text);
    }
    free(p.text);
    p = dump(r.sched, THRUM_JSON);
    check_json(p.text);
    check_count(&p, "{\"count\": ", 512);
    check_count(&p, "\"ungrouped\": 0", 0);
    free(p.text);
    thrum_sem_post_n(&sems[0], STACKS);
    rig_stop(&r);
}

TEST(without_memory_for_groups_they_are_told_one_by_one) {
    /* The dump is as long as before, and has no calls. */
    rig r;
    begin_small(&r);
    spawn_n(&r, MANY, NULL, waits_as_0, &sems[0]);
    settle(&r);
    atomic_store(&r.fail_all, true);
    page p = dump(r.sched, THRUM_TEXT);
    check_count(&p, "\n  fiber ", MANY);
    free(p.text);
    p = dump(r.sched, THRUM_JSON);
    check_json(p.text);
    check_count(&p, "{\"id\": ", MANY);
    check_has(&p, "\"group\": []");
    free(p.text);
    atomic_store(&r.fail_all, false);
    thrum_sem_post_n(&sems[0], MANY);
    rig_stop(&r);
}

/* ---- JSON ---- */

#define ODD "od\"d\\\n\x1b[2J\x7f\xc2\x9b\xff\xed\xa0\x80\xc3\xa4\xe2\x82"
#define ODD_QUOTED "\"od\\\"d\\\\??[2J??????\xc3\xa4??\""

TEST(json_has_fibers_and_their_groups) {
    /* Each fiber is there as before, with its group's number; whatever names hold, it is JSON. */
    char line[128];
    rig r;
    rig_init(&r);
    r.config.name = ODD;
    r.config.stack_size = 16384;
    rig_start(&r);
    thrum_sem_init(&sems[0], 0);
    thrum_sem_init(&sems[1], 0);
    spawn_n(&r, MANY, ODD, waits_as_0, &sems[0]);
    spawn_n(&r, 2, "two", waits_as_1, &sems[1]);
    settle(&r);
    page p = dump(r.sched, THRUM_JSON);
    check_json(p.text);
    check_count(&p, "\"pinned\": ", MANY + 2);
    check_count(&p, ODD_QUOTED, 1 + MANY + 4 + 1); /* and the scheduler; members; the longest */
    snprintf(line, sizeof(line),
             "{\"count\": 120, \"on\": \"semaphore\", \"object\": \"0x%" PRIxPTR
             "\", \"state\": \"blocked\", "
             "\"members\": [{\"id\": \"",
             (uintptr_t)&sems[0]);
    check_count(&p, line, 1);
    check_count(&p, "{\"count\": 2, ", 1);
    check_has(&p, "\"ungrouped\": 0,\n");
    check_count(&p, "\"group\": 0", MANY + 2 - count_of(&p, "\"group\": 1"));
    free(p.text);
    p = dump(r.sched, THRUM_TEXT);
    check_count(&p, " " ODD_QUOTED, 4 + 1 + 1);
    free(p.text);
    thrum_sem_post_n(&sems[0], MANY);
    thrum_sem_post_n(&sems[1], 2);
    rig_stop(&r);
}

/* ---- a deadlock of many ---- */

static _Atomic(char *) reported;

static void keeps_report(void *ctx, const char *report) {
    (void)ctx;
    free(atomic_exchange(&reported, strdup(report)));
}

TEST(a_deadlock_of_many_is_told_in_groups) {
    /* The report has the same form as a dump. */
    rig r;
    rig_init(&r);
    r.config.stack_size = 16384;
    r.config.deadlock = keeps_report;
    rig_start(&r);
    thrum_sem_init(&sems[0], 0);
    spawn_n(&r, MANY, NULL, waits_as_0, &sems[0]);
    page p = {NULL, 0};
    /* while they are spawned one may be all that there is: the report is made anew for more */
    for (;;) {
        SPIN_UNTIL((p.text = atomic_exchange(&reported, NULL)) != NULL);
        if (strstr(p.text, ": 120 wait, nothing runs")) {
            break;
        }
        free(p.text);
    }
    check_count(&p, "  120 fibers wait for semaphore 0x", 1);
    free(p.text);
    thrum_sem_post_n(&sems[0], MANY);
    rig_stop(&r);
    free(atomic_exchange(&reported, NULL));
}

/* ---- while they come and go ---- */

static atomic_bool over;
static atomic_long dumps;

static int passes_by(void *arg) {
    const int code = thrum_sem_wait_until(arg, soon());
    CHECK(code == 0 || code == -ETIMEDOUT);
    return 0;
}

static int keeps_going(void *arg) {
    (void)arg;
    for (int round = 0; round < SCALED(100) || atomic_load(&dumps) < 8; round++) {
        thrum_handle *handles[150];
        for (int i = 0; i < 150; i++) {
            CHECK_EQ(thrum_spawn(&handles[i], passes_by, &sems[i % KINDS]), 0);
        }
        for (int i = 0; i < 150; i++) {
            CHECK_EQ(thrum_join(handles[i], NULL), 0);
        }
    }
    atomic_store(&over, true);
    return 0;
}

static void *dumps_on(void *seat_arg) {
    const crew_seat *seat = seat_arg;
    rig *r = seat->arg;
    while (!atomic_load(&over)) {
        page p = dump(r->sched, seat->index ? THRUM_JSON : THRUM_TEXT);
        if (seat->index) {
            check_json(p.text);
        }
        free(p.text);
        atomic_fetch_add(&dumps, 1);
    }
    return NULL;
}

TEST(grouped_while_fibers_come_and_go) {
    /* Two threads dump at a time, one of them as JSON, which stays JSON. */
    rig r;
    crew c;
    begin_small(&r);
    crew_start(&c, 2, dumps_on, &r);
    CHECK_EQ(rig_run(&r, keeps_going, NULL), 0);
    crew_join(&c);
    rig_stop(&r);
}
