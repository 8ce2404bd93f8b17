/*
 * spares_ids.c: the numbers of spare workers, what is tied to them, how many there are, and what
 * metrics, dumps and traces tell of them.
 */
/* matrix: policy workers */
#include "support/report/printed.h"
#include "support/sync/held.h"
#include "support/times.h"
#include "support/report/traces.h"

/* A hold with spares, whatever the number of workers. */
static void begin_with_spares(hold *h) {
    held_init_spares(h);
    held_start(h);
    CHECK(held_spares(h) >= 2);
}

/* ---- numbers ---- */

static void note_spare(thrum_task *self, void *arg) {
    hold *h = arg;
    (void)self;
    const int id = thrum_worker_id();
    CHECK(id >= held_regular(h) && id < (int)thrum_sched_workers(h->r.sched));
    atomic_store(&h->passes, id);
    held_open(h);
}

/* Holds all regular workers up until a spare has told its number. */
static int seen_spare(hold *h) {
    held_begin(h, HELD_READING, held_regular(h), true);
    thrum_task_init(&h->openers[0], note_spare, h);
    CHECK_EQ(thrum_task_post(h->r.sched, &h->openers[0]), 0);
    held_end(h);
    held_settle(h);
    return atomic_load(&h->passes);
}

TEST(spares_have_numbers_behind_those_of_the_workers) {
    /* An array with thrum_sched_workers places has one for each. */
    static hold h;
    begin_with_spares(&h);
    for (int i = 0; i < 3; i++) {
        CHECK(seen_spare(&h) < held_regular(&h) + held_spares(&h));
    }
    held_stop(&h);
}

static void check_count(unsigned workers, unsigned spare, unsigned ms, bool pin_all, int expected) {
    hold h;
    held_init(&h);
    h.r.config.workers = workers;
    h.r.config.workers_spare = spare;
    h.r.config.stall_rescue_ms = ms;
    h.r.config.pin_all = pin_all;
    held_start(&h);
    CHECK_EQ(held_spares(&h), expected);
    CHECK_EQ(held_regular(&h), workers);
    held_stop(&h);
}

TEST(how_many_spares_there_are) {
    /* By default as many as workers, but none for one worker, nor where fibers are pinned. */
    check_count(0, 3, 10, false, 0);
    check_count(1, THRUM_SPARE_AUTO, 10, false, 0);
    check_count(1, 1, 10, false, 1);
    check_count(1, 5, 10, false, 5);
    check_count(4, THRUM_SPARE_AUTO, 10, false, 4);
    check_count(4, 0, 10, false, 0);
    check_count(4, 1, 10, false, 1);
    check_count(4, 9, 10, false, 9);
    check_count(4, 9, 0, false, 0);
    check_count(4, 9, 10, true, 0);
    check_count(4, THRUM_SPARE_AUTO, 10, true, 0);
}

/* ---- tied to a worker ---- */

typedef struct tied {
    thrum_task task;
    int worker;
} tied;

static void runs_there(thrum_task *self, void *arg) {
    const tied *t = arg;
    (void)self;
    CHECK_EQ(thrum_worker_id(), t->worker);
}

static int stays_there(void *arg) {
    const tied *t = arg;
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(thrum_worker_id(), t->worker);
        thrum_yield();
    }
    nap();
    CHECK_EQ(thrum_worker_id(), t->worker);
    return 0;
}

TEST(what_is_tied_to_a_held_worker_waits_for_it) {
    /* No spare runs it. */
    static hold h;
    static tied tasks[HELD_MAX];
    static tied fibers[HELD_MAX];
    begin_with_spares(&h);
    const int n = held_regular(&h);
    for (int round = 0; round < 2; round++) {
        held_begin(&h, round ? HELD_COMPUTING : HELD_WAITING, n, true);
        for (int i = 0; i < n; i++) {
            thrum_attr attr = rig_attr(&h.r);
            attr.flags = THRUM_PINNED;
            attr.worker = i;
            tasks[i].worker = i;
            fibers[i].worker = i;
            thrum_task_init(&tasks[i].task, runs_there, &tasks[i]);
            thrum_task_set_worker(&tasks[i].task, i);
            CHECK_EQ(thrum_task_post(h.r.sched, &tasks[i].task), 0);
            CHECK_EQ(thrum_go_with(&attr, stays_there, &fibers[i]), 0);
        }
        open_by_post(&h);
        held_end(&h);
        rig_wait_done(&h.r);
    }
    held_stop(&h);
}

TEST(nothing_can_be_tied_to_a_spare_that_never_stood_in) {
    /* It is -EINVAL, as for numbers that no worker has. */
    static hold h;
    thrum_task task;
    begin_with_spares(&h);
    for (int i = held_regular(&h); i < held_regular(&h) + held_spares(&h) + 2; i++) {
        thrum_attr attr = rig_attr(&h.r);
        attr.flags = THRUM_PINNED;
        attr.worker = i;
        CHECK_EQ(thrum_go_with(&attr, opening_fiber, &h), -EINVAL);
        thrum_task_init(&task, opening_body, &h);
        thrum_task_set_worker(&task, i);
        CHECK_EQ(thrum_task_post(h.r.sched, &task), -EINVAL);
    }
    held_stop(&h);
}

TEST(what_is_tied_to_a_spare_runs_there) {
    /* It took over before and is idle; it runs this all the same, and goes back. */
    static hold h;
    tied task;
    tied fiber;
    begin_with_spares(&h);
    task.worker = fiber.worker = seen_spare(&h);
    for (int i = 0; i < 20; i++) {
        thrum_attr attr = rig_attr(&h.r);
        attr.flags = THRUM_PINNED;
        attr.worker = fiber.worker;
        thrum_task_init(&task.task, runs_there, &task);
        thrum_task_set_worker(&task.task, task.worker);
        CHECK_EQ(thrum_task_post(h.r.sched, &task.task), 0);
        CHECK_EQ(thrum_go_with(&attr, stays_there, &fiber), 0);
        rig_wait_done(&h.r);
    }
    held_stop(&h);
}

enum { STAY_NS = 80000000 }; /* longer than a spare stays, if all is in time */

static int opens_and_sleeps(void *arg) {
    hold *h = arg;
    CHECK(thrum_worker_id() >= held_regular(h));
    held_open(h);
    CHECK_EQ(thrum_sem_wait_until(&h->sem, soon() + STAY_NS), -ETIMEDOUT);
    atomic_fetch_add(&h->ran, 1);
    return 0;
}

TEST(a_deadline_set_on_a_spare_is_met) {
    /* Also when the spare is idle by then. */
    static hold h;
    begin_with_spares(&h);
    thrum_sem_init(&h.sem, 0);
    for (int i = 0; i < 3; i++) {
        held_begin(&h, HELD_READING, held_regular(&h), true);
        rig_go(&h.r, opens_and_sleeps, &h);
        held_end(&h);
        rig_wait_done(&h.r);
        CHECK_EQ(atomic_load(&h.ran), i + 1);
        held_settle(&h);
    }
    held_stop(&h);
}

/* Holds up the regular workers and a spare, in either order. */
static void hold_with_spare(hold *h, int spare, bool spare_first) {
    const int n = held_regular(h);
    held_post(h, HELD_READING, 0, true);
    h->count = n + 1;
    for (int k = 0; k <= n; k++) {
        const int at = spare_first ? k - 1 : k;
        thrum_task_init(&h->tasks[k], held_body, h);
        thrum_task_set_worker(&h->tasks[k], at < 0 || at == n ? spare : at);
        CHECK_EQ(thrum_task_post(h->r.sched, &h->tasks[k]), 0);
        SPIN_UNTIL(atomic_load(&h->in) == k + 1);
    }
}

/* By tasks that are tied to them; `latest`: the spare that took over last, or another one. */
static void check_spare_is_held(bool spare_first, bool latest) {
    static hold h;
    begin_with_spares(&h);
    int other = seen_spare(&h);
    for (int i = 0; i < 3; i++) {
        int spare = seen_spare(&h);
        hold_with_spare(&h, latest ? spare : other, spare_first);
        i == 1 ? open_by_timer(&h) : open_by_post(&h);
        held_end(&h);
        held_settle(&h);
        other = spare;
    }
    held_stop(&h);
}

TEST(an_idle_spare_is_held_up_too) {
    /* Another spare takes over for all of them. */
    NEEDS_STATES_OF_THREADS(); /* more of them than processors: only so they count as blocked */
    check_spare_is_held(false, true);
    check_spare_is_held(false, false);
}

TEST(a_spare_is_held_up_before_the_workers_are) {
    /* Another spare takes over for all of them, whichever of them was the monitor. */
    NEEDS_STATES_OF_THREADS(); /* more of them than processors: only so they count as blocked */
    check_spare_is_held(true, true);
    check_spare_is_held(true, false);
}

/* ---- what is told ---- */

static char *dumped(const hold *h, thrum_format format) {
    size_t length;
    FILE *out = tmpfile();
    CHECK(out != NULL);
    CHECK_EQ(thrum_dump(h->r.sched, out, format), 0);
    return printed_end(out, &length);
}

/* How often a text is in another one. */
static int count_of(const char *text, const char *part) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++) {
        n++;
    }
    return n;
}

static void dumps_and_opens(thrum_task *self, void *arg) {
    hold *h = arg;
    (void)self;
    char *text = dumped(h, THRUM_TEXT);
    CHECK(count_of(text, "held up for ") >= 1);
    CHECK_EQ(count_of(text, "; worker "), count_of(text, " takes over"));
    CHECK(count_of(text, " takes over") >= 1); /* more, if this one was late to take its task */
    /* Which of the two: by the thread's processor time, and others use the processors, too. */
    CHECK(count_of(text, "computing") + count_of(text, "its thread blocked") >= 1);
    CHECK(count_of(text, ", a spare, is awake") >= 1);
    free(text);
    text = dumped(h, THRUM_JSON);
    CHECK(count_of(text, "\"held_ns\": ") >= 1);
    CHECK_EQ(count_of(text, "\"held\": "), count_of(text, "\"held_ns\": "));
    CHECK(count_of(text, "\"taken_over_by\": ") >= 1);
    CHECK(count_of(text, "\"spare\": true, \"idle\": false") >= 1);
    free(text);
    held_open(h);
}

static bool says_held(const hold *h) {
    char *text = dumped(h, THRUM_TEXT);
    const bool says = count_of(text, "held up") > 0;
    free(text);
    return says;
}

TEST(the_dump_shows_who_is_held_up_and_who_took_over) {
    /* The spare itself prints it; afterwards it is said of no worker any more. */
    static hold h;
    held_way ways[] = {HELD_READING, HELD_COMPUTING};
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        begin_with_spares(&h); /* so that no spare takes part already */
        held_begin(&h, ways[i], held_regular(&h), true);
        thrum_task_init(&h.openers[0], dumps_and_opens, &h);
        CHECK_EQ(thrum_task_post(h.r.sched, &h.openers[0]), 0);
        held_end(&h);
        SPIN_UNTIL(held_metrics(&h).stalls > 0);
        SPIN_UNTIL(held_metrics(&h).spare_activations > 0);
        SPIN_UNTIL(!says_held(&h));
        held_stop(&h);
    }
}

TEST(a_trace_has_marks_of_spares) {
    /* It tells when they stand in and when they go back. */
    static hold h;
    for (int i = 0; i < 2; i++) {
        begin_with_spares(&h); /* so that no spare takes part already */
        CHECK_EQ(thrum_trace_start(h.r.sched, 0), 0);
        held_begin(&h, HELD_READING, held_regular(&h), true);
        open_by_post(&h);
        held_end(&h);
        held_settle(&h);
        const bool all_sit = held_active_spares(&h) == 0;
        CHECK_EQ(thrum_trace_stop(h.r.sched), 0);
        trace_page page = trace_written(h.r.sched);
        CHECK(trace_count(&page, "take over") >= 1);
        if (all_sit) {
            CHECK_EQ(trace_count(&page, "retire"), trace_count(&page, "take over"));
        }
        trace_end(&page);
        held_stop(&h);
    }
}

/* How often a worker has taken over, or all of them. */
static uint64_t activations_of(const hold *h, int worker) {
    thrum_metrics m = THRUM_METRICS_INIT;
    CHECK_EQ(thrum_metrics_read(h->r.sched, worker, &m), 0);
    return m.spare_activations;
}

TEST(metrics_are_printed_for_spares_that_stood_in) {
    /* Those that never did are in no column. */
    static hold h;
    begin_with_spares(&h);
    thrum_metrics m = held_metrics(&h);
    CHECK_EQ(m.workers, held_regular(&h));
    const int spare = seen_spare(&h);
    m = held_metrics(&h);
    CHECK(m.workers > (unsigned)spare);
    SPIN_UNTIL(activations_of(&h, THRUM_ALL_WORKERS) >= 1);
    SPIN_UNTIL(activations_of(&h, spare) >= 1);
    CHECK_EQ(thrum_metrics_read(h.r.sched, spare, &m), 0);
    CHECK(m.tasks_started >= 1);
    CHECK_EQ(thrum_metrics_read(h.r.sched, (int)thrum_sched_workers(h.r.sched), &m), -EINVAL);
    held_stop(&h);
}
