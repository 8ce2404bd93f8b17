/*
 * trace.c: thrum_trace_*: what each worker did when, as a file for Perfetto. Every file that is
 * written here is read strictly (support/report/traces.h).
 */
/* matrix: policy workers */
#include "support/report/traces.h"

static int nothing(void *arg) {
    (void)arg;
    return 0;
}

static void go_named(const rig *r, const char *name, thrum_fn fn, void *arg) {
    thrum_attr attr = rig_attr(r);
    attr.name = name;
    CHECK_EQ(thrum_go_with(&attr, fn, arg), 0);
}

static void stop_at_rest(rig *r) {
    rig_wait_done(r);
    CHECK_EQ(thrum_trace_stop(r->sched), 0);
}

/* ---- what is told ---- */

TEST(tasks_are_slices) {
    /*
     * Each task is told once, by its name, with its number, and how it ended; each worker has a
     * track.
     */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(thrum_trace_start(r.sched, 0), 0);
    for (int i = 0; i < 100; i++) {
        go_named(&r, "bee", nothing, NULL);
    }
    stop_at_rest(&r);
    trace_page p = trace_written(r.sched);
    CHECK_EQ(trace_count(&p, ",\"name\":\"bee\",\"args\":{\"id\":\""), 100);
    CHECK_EQ(trace_count(&p, "\"ended\":\"finished\"}}"), 100);
    CHECK_EQ(p.buffers, thrum_sched_parallelism(r.sched));
    CHECK_EQ(trace_count(&p, "\"args\":{\"name\":\"worker 0\"}"), 1);
    CHECK_EQ(p.dropped, 0);
    CHECK_EQ(p.arrows_from + p.arrows_to, 0);
    trace_end(&p);
    rig_stop(&r);
}

static thrum_sem sem;

static int waits_thrice(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(thrum_sem_wait(&sem), 0);
    }
    return 0;
}

TEST(waits_are_told) {
    /*
     * A stretch between two waits is a slice; it has what it waits for, and arrows to where it goes
     * on.
     */
    char text[64];
    rig r;
    rig_begin(&r, 0);
    thrum_sem_init(&sem, 0);
    CHECK_EQ(thrum_trace_start(r.sched, 0), 0);
    go_named(&r, "waits", waits_thrice, NULL);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
        thrum_sem_post(&sem);
    }
    stop_at_rest(&r);
    trace_page p = trace_written(r.sched);
    CHECK_EQ(trace_count(&p, "\"name\":\"waits\""), 4);
    snprintf(text, sizeof(text), "\"on\":\"semaphore\",\"object\":\"0x%" PRIxPTR "\"}}",
             (uintptr_t)&sem);
    CHECK_EQ(trace_count(&p, text), 3);
    CHECK_EQ(trace_count(&p, "\"ended\":\"finished\""), 1);
    CHECK_EQ(p.arrows_from, 3);
    CHECK_EQ(p.arrows_to, 3);
    trace_end(&p);
    rig_stop(&r);
}

static int yields_to(void *arg) {
    thrum_waitgroup *all = arg;
    thrum_waitgroup_done(all);
    while (thrum_waitgroup_wait_until(all, INT64_MIN) != 0) {
        thrum_yield();
    }
    return 0;
}

static int calls(void *arg) {
    (void)arg;
    return thrum_blocking(nothing, NULL, NULL);
}

TEST(yields_and_blocking_calls_are_told) {
    /* Fibers yield to each other; a call is told from its begin until the task goes on. */
    static thrum_waitgroup all;
    rig r;
    rig_begin(&r, 0);
    thrum_waitgroup_init(&all, 3);
    CHECK_EQ(thrum_trace_start(r.sched, 500), 0);
    rig_go(&r, yields_to, &all);
    rig_go(&r, yields_to, &all);
    trace_page p = {0};
    do { /* one alone goes on at once, and is not told */
        trace_end(&p);
        p = trace_written(r.sched);
    } while (trace_count(&p, "\"ended\":\"yielded\"") == 0);
    trace_end(&p);
    thrum_waitgroup_done(&all);
    for (int i = 0; i < 10; i++) {
        rig_go(&r, calls, NULL);
    }
    stop_at_rest(&r);
    p = trace_written(r.sched);
    if (p.dropped == 0) {
        CHECK_EQ(p.calls_begun, p.calls_ended);
        CHECK_EQ(p.calls_begun, trace_count(&p, "\"on\":\"blocking call\""));
    }
    trace_end(&p);
    rig_stop(&r);
}

TEST(sleeps_of_workers_are_told) {
    /* They are slices of their own; so is the one that the worker is in. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(thrum_trace_start(r.sched, 0), 0);
    trace_page p = {0};
    for (int parked = 0; parked == 0; trace_end(&p)) {
        rig_go(&r, nothing, NULL);
        rig_wait_done(&r);
        p = trace_written(r.sched);
        parked = trace_count(&p, "\"cat\":\"sched\",\"name\":\"parked\"}");
    }
    rig_stop(&r);
}

static int renames(void *arg) {
    CHECK_EQ(thrum_set_name(arg), 0);
    thrum_yield();
    CHECK_EQ(thrum_set_name("later"), 0);
    return thrum_sem_wait(&sem);
}

TEST(names_may_hold_anything) {
    /*
     * They have quotes, bytes that are no characters, a name from the body, or the function's name.
     */
    rig r;
    rig_begin(&r, 0);
    thrum_sem_init(&sem, 1);
    CHECK_EQ(thrum_trace_start(r.sched, 0), 0);
    go_named(&r, "od\"d\\\n", nothing, NULL);
    go_named(&r, "\xff\xc3\xa4\xe2\x82", nothing, NULL);
    go_named(&r, "a name of 31 bytes, and no more!", nothing, NULL);
    go_named(&r, "earlier", renames, "now");
    rig_go(&r, nothing, NULL);
    stop_at_rest(&r);
    trace_page p = trace_written(r.sched);
    CHECK_EQ(trace_count(&p, "\"name\":\"od\\\"d\\\\?\""), 1);
    CHECK_EQ(trace_count(&p, "\"name\":\"?\xc3\xa4??\""), 1);
    CHECK_EQ(trace_count(&p, "\"name\":\"a name of 31 bytes, and no more\""), 1);
    CHECK_EQ(trace_count(&p, "\"name\":\"earlier\""), 0);
    CHECK(trace_count(&p, "\"name\":\"later\"") >= 1);
    CHECK_EQ(trace_count(&p, "\"function\":\""),
             p.slices - trace_count(&p, "\"cat\":\"sched\",\"name\":\"parked\"") -
                 trace_count(&p, "\"name\":\"backs off\""));
    trace_end(&p);
    rig_stop(&r);
}

/* ---- when it is on ---- */

TEST(off_nothing_is_noted) {
    /* This holds before the start and after the stop; a second trace begins anew. */
    rig r;
    rig_begin(&r, 0);
    go_named(&r, "before", nothing, NULL);
    rig_wait_done(&r);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(thrum_trace_start(r.sched, (size_t)10 << 2 * i), 0);
        go_named(&r, i % 2 ? "odd" : "even", nothing, NULL);
        stop_at_rest(&r);
        go_named(&r, "after", nothing, NULL);
        rig_wait_done(&r);
        trace_page p = trace_written(r.sched);
        CHECK_EQ(trace_count(&p, "\"name\":\"even\""), i % 2 ? 0 : 1);
        CHECK_EQ(trace_count(&p, "\"name\":\"odd\""), i % 2 ? 1 : 0);
        CHECK_EQ(trace_count(&p, "\"name\":\"before\""), 0);
        CHECK_EQ(trace_count(&p, "\"name\":\"after\""), 0);
        trace_end(&p);
    }
    rig_stop(&r);
}

static int traces_itself(void *arg) {
    rig *r = arg;
    CHECK_EQ(thrum_set_name("self"), 0);
    CHECK_EQ(thrum_trace_start(r->sched, 0), 0);
    trace_page p = trace_written(r->sched);
    CHECK_EQ(trace_count(&p, "\"name\":\"self\""), 1);
    CHECK_EQ(trace_count(&p, "\"ended\":\"running\""), 1);
    trace_end(&p);
    CHECK_EQ(thrum_trace_stop(r->sched), 0);
    p = trace_written(r->sched);
    CHECK_EQ(trace_count(&p, "\"name\":\"self\""), 1);
    CHECK_EQ(trace_count(&p, "\"ended\":\"running\""), 1);
    trace_end(&p);
    return 0;
}

TEST(a_task_traces_itself) {
    /* It sees what runs when the trace begins and ends by its own call. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, traces_itself, &r), 0);
    rig_stop(&r);
}

static int stops_later(void *arg) {
    rig *r = arg;
    CHECK_EQ(thrum_trace_stop(r->sched), 0);
    return 0;
}

static int waits_once(void *arg) {
    (void)arg;
    return thrum_sem_wait(&sem);
}

TEST(what_an_earlier_trace_left_open_is_not_told_again) {
    /* A stretch was running at the stop, and ended unseen. */
    rig r;
    rig_begin(&r, 0);
    thrum_sem_init(&sem, 0);
    CHECK_EQ(thrum_trace_start(r.sched, 0), 0);
    go_named(&r, "sleeper", waits_once, NULL);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    go_named(&r, "stopper", stops_later, &r);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    trace_page p = trace_written(r.sched);
    CHECK_EQ(trace_count(&p, "\"name\":\"stopper\""), 1);
    CHECK_EQ(trace_count(&p, "\"ended\":\"running\""), 1);
    trace_end(&p);
    CHECK_EQ(thrum_trace_start(r.sched, 0), 0);
    thrum_sem_post(&sem);
    stop_at_rest(&r);
    p = trace_written(r.sched);
    CHECK_EQ(trace_count(&p, "\"name\":\"stopper\""), 0);
    CHECK_EQ(trace_count(&p, "\"name\":\"sleeper\""), 1);
    CHECK_EQ(trace_count(&p, "\"ended\":\"running\""), 0);
    trace_end(&p);
    rig_stop(&r);
}

TEST(the_latest_are_kept) {
    /* Seven events a worker are kept: older ones make room, and are counted. */
    enum { TASKS = 200 };
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(thrum_trace_start(r.sched, 7), 0);
    for (int i = 0; i < TASKS; i++) {
        go_named(&r, i + 1 < TASKS ? "old" : "last", nothing, NULL);
        rig_wait_done(&r);
    }
    CHECK_EQ(thrum_trace_stop(r.sched), 0);
    trace_page p = trace_written(r.sched);
    CHECK_EQ(trace_count(&p, "\"name\":\"last\""), 1);
    for (int i = 0; i < BUFFER_MAX; i++) {
        CHECK(p.slices_of[i] <= 7);
    }
    CHECK(p.dropped >= TASKS - 7L * p.buffers);
    trace_end(&p);
    rig_stop(&r);
}

/* ---- mistakes, and what is refused ---- */

TEST(mistakes_are_codes) {
    /*
     * They are no scheduler, no stream, off or on already, none yet, and a stream that takes
     * nothing.
     */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(thrum_trace_start(NULL, 0), -EINVAL);
    CHECK_EQ(thrum_trace_stop(NULL), -EINVAL);
    CHECK_EQ(thrum_trace_write(NULL, stdout), -EINVAL);
    CHECK_EQ(thrum_trace_write(r.sched, NULL), -EINVAL);
    CHECK_EQ(thrum_trace_stop(r.sched), -EALREADY);
    CHECK_EQ(thrum_trace_write(r.sched, stdout), -ENODATA);
    CHECK_EQ(thrum_trace_start(r.sched, SIZE_MAX), -ENOMEM);
    CHECK_EQ(thrum_trace_write(r.sched, stdout), -ENODATA);
    CHECK_EQ(thrum_trace_start(r.sched, 0), 0);
    CHECK_EQ(thrum_trace_start(r.sched, 0), -EALREADY);
    FILE *full = fopen("/dev/full", "w");
    if (full) {
        CHECK_EQ(thrum_trace_write(r.sched, full), -EIO);
        fclose(full);
    }
    CHECK_EQ(thrum_trace_stop(r.sched), 0);
    CHECK_EQ(thrum_trace_stop(r.sched), -EALREADY);
    rig_stop(&r);
}

TEST(without_memory_nothing_begins) {
    /* Each allocation is refused in turn: there is a code, and the next try goes well. */
    rig r;
    rig_begin(&r, 0);
    int code = -ENOMEM;
    for (int i = 1; code != 0; i++) {
        atomic_store(&r.fail_at, atomic_load(&r.calls) + i);
        code = thrum_trace_start(r.sched, 10);
        CHECK(code == 0 || code == -ENOMEM);
        CHECK(code == 0 || thrum_trace_stop(r.sched) == -EALREADY);
    }
    atomic_store(&r.fail_at, 0);
    go_named(&r, "bee", nothing, NULL);
    stop_at_rest(&r);
    FILE *sink = fopen("/dev/null", "w");
    CHECK(sink != NULL);
    const long before = atomic_load(&r.live);
    code = -ENOMEM;
    for (int i = 1; code != 0; i++) { /* it can do without the last one, the cache of names */
        atomic_store(&r.fail_at, atomic_load(&r.calls) + i);
        code = thrum_trace_write(r.sched, sink);
        CHECK(code == 0 || code == -ENOMEM);
        CHECK_EQ(atomic_load(&r.live), before);
    }
    atomic_store(&r.fail_at, 0);
    fclose(sink);
    trace_page p = trace_written(r.sched);
    CHECK_EQ(trace_count(&p, "\"name\":\"bee\""), 1);
    trace_end(&p);
    CHECK_EQ(thrum_trace_start(r.sched, 0), 0);
    rig_stop(&r); /* it is on until the end */
}

static void count_down(thrum_task *self, void *arg) {
    int *left = arg;
    if (--*left > 0) {
        CHECK_EQ(thrum_task_post(thrum_sched_current(), self), 0);
    }
}

TEST(tracing_allocates_nothing) {
    /* From the start on it allocates nothing, whatever is noted and overwritten. */
    if (UNDER_TSAN) {
        CHECK_SKIP("there each run has a fiber of its own");
    }
    static thrum_task task;
    static int left = 5000;
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(thrum_trace_start(r.sched, 100), 0);
    thrum_task_init(&task, count_down, &left);
    const long before = atomic_load(&r.calls);
    CHECK_EQ(thrum_task_post(r.sched, &task), 0);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&r.calls), before);
    CHECK_EQ(left, 0);
    CHECK_EQ(thrum_trace_stop(r.sched), 0);
    trace_page p = trace_written(r.sched);
    CHECK(p.dropped >= 5000 - 127L * p.buffers);
    trace_end(&p);
    rig_stop(&r);
}

/* ---- bound threads ---- */

static int posts(void *arg) {
    thrum_sem_post(arg);
    return 0;
}

TEST(bound_threads_have_buffers) {
    /*
     * Without workers they have their own code and the tasks that run while they wait; they are
     * bound before or after the start.
     */
    rig r;
    rig_init(&r);
    r.config.workers = 0;
    rig_start(&r);
    thrum_sem_init(&sem, 0);
    for (int i = 0; i < 2; i++) {
        if (i == 0) {
            CHECK_EQ(thrum_trace_start(r.sched, 0), 0);
        }
        CHECK_EQ(thrum_sched_bind(r.sched), 0);
        if (i == 1) {
            CHECK_EQ(thrum_trace_start(r.sched, 0), 0);
        }
        go_named(&r, "posts", posts, &sem);
        CHECK_EQ(thrum_sem_wait(&sem), 0);
        CHECK_EQ(thrum_sched_unbind(), 0);
        CHECK_EQ(thrum_trace_stop(r.sched), 0);
        trace_page p = trace_written(r.sched);
        CHECK_EQ(trace_count(&p, "\"args\":{\"name\":\"bound thread 0\"}"), 1);
        CHECK_EQ(p.buffers, 1);
        CHECK_EQ(trace_count(&p, "\"name\":\"posts\""), 1);
        CHECK(trace_count(&p, "\"name\":\"own code\"") >= 2);
        CHECK_EQ(trace_count(&p, "\"on\":\"semaphore\""), 1);
        CHECK_EQ(p.untraced, 0);
        trace_end(&p);
    }
    rig_stop(&r);
}

static atomic_bool refuses_large;

static void *small_only(void *ctx, size_t size) {
    return atomic_load(&refuses_large) && size > 1000000 ? NULL : rig_alloc(ctx, size);
}

TEST(a_bound_thread_without_memory_is_counted) {
    /* It is bound all the same, and traced the next time there is memory. */
    rig r;
    rig_init(&r);
    r.config.alloc = small_only;
    rig_start(&r);
    CHECK_EQ(thrum_trace_start(r.sched, 20000), 0);
    for (int refused = 1; refused >= 0; refused--) {
        atomic_store(&refuses_large, refused);
        CHECK_EQ(thrum_sched_bind(r.sched), 0);
        CHECK_EQ(thrum_sched_unbind(), 0);
        trace_page p = trace_written(r.sched);
        CHECK_EQ(p.untraced, 1);
        CHECK_EQ(trace_count(&p, "\"name\":\"own code\""), 1 - refused);
        trace_end(&p);
    }
    rig_stop(&r);
}

/* ---- while thousands run ---- */

typedef struct traffic {
    rig *r;
    atomic_bool over;
    atomic_long pages;
    thrum_sem sem;
} traffic;

static int passes_by(void *arg) {
    traffic *t = arg;
    thrum_yield();
    CHECK_EQ(thrum_sem_wait(&t->sem), 0);
    return 0;
}

static int keeps_going(void *arg) {
    traffic *t = arg;
    for (int round = 0; round < SCALED(200) || atomic_load(&t->pages) < 30; round++) {
        thrum_handle *handles[16];
        thrum_attr attr = THRUM_ATTR_INIT;
        attr.name = "passer-by";
        for (int i = 0; i < 16; i++) {
            CHECK_EQ(thrum_spawn_with(&handles[i], &attr, passes_by, t), 0);
        }
        for (int i = 0; i < 16; i++) {
            thrum_sem_post(&t->sem);
        }
        for (int i = 0; i < 16; i++) {
            CHECK_EQ(thrum_join(handles[i], NULL), 0);
        }
    }
    atomic_store(&t->over, true);
    return 0;
}

/* One task starts and stops it, in all sizes; others write whatever is there. */
static void *traces_on(void *seat_arg) {
    const crew_seat *seat = seat_arg;
    traffic *t = seat->arg;
    for (int i = 0; !atomic_load(&t->over); i++) {
        if (seat->index == 0) {
            const int code = thrum_trace_start(t->r->sched, (size_t)(i % 5) * 100);
            CHECK_EQ(code, 0);
            trace_page p = trace_written(t->r->sched);
            trace_end(&p);
            CHECK_EQ(thrum_trace_stop(t->r->sched), 0);
        } else {
            FILE *sink = fopen("/dev/null", "w");
            CHECK(sink != NULL);
            const int code = thrum_trace_write(t->r->sched, sink);
            CHECK(code == 0 || code == -ENODATA);
            fclose(sink);
            sched_yield();
        }
        atomic_fetch_add(&t->pages, 1);
    }
    return NULL;
}

TEST(started_and_stopped_under_load) {
    /* One thread does so while another one writes, and tasks come and go. */
    static traffic t;
    rig r;
    crew c;
    rig_begin(&r, 0);
    t.r = &r;
    thrum_sem_init(&t.sem, 0);
    crew_start(&c, 2, traces_on, &t);
    CHECK_EQ(rig_run(&r, keeps_going, &t), 0);
    crew_join(&c);
    rig_stop(&r);
}

TEST(written_while_it_goes_on) {
    /* A full trace ring is overwritten all the time: what is read is whole. */
    static traffic t;
    rig r;
    rig_begin(&r, 0);
    t.r = &r;
    thrum_sem_init(&t.sem, 0);
    CHECK_EQ(thrum_trace_start(r.sched, 200), 0);
    rig_go(&r, keeps_going, &t);
    for (int i = 0; i < 30; i++) {
        trace_page p = trace_written(r.sched);
        CHECK_EQ(trace_count(&p, "\"name\":\"passer-by\""), trace_count(&p, "\"name\":\"passer"));
        trace_end(&p);
        atomic_fetch_add(&t.pages, 1);
    }
    rig_wait_done(&r);
    rig_stop(&r);
}
