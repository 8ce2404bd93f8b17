/*
 * kit.c: the calls of thrum/test.h in a test, and a run: a scheduler whose first task is the test's
 * function.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/state/handle.h"
#include "core/state/worker.h"
#include "file/pool.h"
#include "hosts/hosts.h"
#include "kit.h"
#include "platform/platform.h"
#include "thrum.h"

/* ---- calls ---- */

void thrum_test_fail(const char *file, int line, const char *condition) {
    if (!file && !kit_is_outside()) {
        fail("exception", "%s", condition);
    }
    file = file ? file : "exception";
    const char *base = strrchr(file, '/');
    if (kit_is_outside()) {
        if (kit_is_beside()) {
            char text[160];
            snprintf(text, sizeof text, "%s:%d: %s", base ? base + 1 : file, line, condition);
            kit_fail_beside("check", text);
        }
        fprintf(stderr, "%s:%d: %s\n", file, line, condition);
        exit(1);
    }
    if (E->tracing) {
        kit_step("THRUM_TEST fails", NULL, (uintptr_t)__builtin_return_address(0));
    }
    fail("check", "%s:%d: THRUM_TEST(%s)", base ? base + 1 : file, line, condition);
}

void thrum_test_advance(thrum_time ns) {
    if (!kit_is_outside() && ns > 0) {
        sim_advance(ns);
        kit_point("thrum_test_advance", (uintptr_t)__builtin_return_address(0));
    }
}

uint32_t thrum_test_random(void) {
    uint32_t value = 0;
    for (int i = 0; i < 4 && !kit_is_outside(); i++) {
        value = value << 8 | sim_choose(SIM_WORLD, 256);
    }
    return value;
}

/* A thread of the test or of the kit, which is never refused by a fault. */
static int start_thread(th_os_thread *out, const char *name, void (*fn)(void *arg), void *arg) {
    E->spared = E->current;
    const int code = th_os_thread_start(out, name, fn, arg);
    E->spared = NULL;
    return code;
}

int thrum_test_thread_start(thrum_test_thread *thread, void (*fn)(void *arg), void *arg) {
    th_os_thread started = {0};
    const uintptr_t after = (uintptr_t)__builtin_return_address(0);
    kit_point("thrum_test_thread_start", after);
    const int code = start_thread(&started, PLAIN_THREAD, fn, arg);
    thread->reserved_[0] = started.handle;
    if (code == 0) {
        E->threads[started.handle].started = after;
    }
    return code;
}

void thrum_test_thread_join(thrum_test_thread *thread) {
    sim_thread *t = &E->threads[thread->reserved_[0] % SIM_THREADS];
    kit_point("thrum_test_thread_join", (uintptr_t)__builtin_return_address(0));
    if (t->joined) {
        fail("abort", "thrum_test_thread_join: the thread has already been joined");
    }
    t->joined = true;
    th_os_thread_join((th_os_thread){.handle = thread->reserved_[0]});
}

/* ---- settling ---- */

/*
 * A task that waits until all others are blocked waits for an event, so that its worker runs other
 * tasks. A thread of its own signals the events at that moment.
 */
typedef struct settling {
    thrum_event event;
    struct settling *next;
} settling;

static struct {
    uint32_t xwanted; /* the thread's futex: tasks wait, or it is to end */
    bool ends;
    bool started;
    settling *waiting;
    sim_order order; /* of the tasks' accesses before, for libthrum-test-race */
    th_os_thread thread;
} settler;

static void settler_main(void *arg) {
    (void)arg;
    while (!settler.ends) {
        if (!settler.waiting) {
            settler.xwanted = 0;
            (void)th_os_futex_wait(&settler.xwanted, 0, INT64_MAX);
            continue;
        }
        sim_settle();
        sim_order_acquire(&settler.order);
        settling *first = settler.waiting;
        settler.waiting = NULL;
        while (first) {
            settling *next = first->next;
            INNER(thrum_event_signal)(&first->event);
            first = next;
        }
    }
}

static void wake_settler(void) {
    settler.xwanted = 1;
    th_os_futex_wake(&settler.xwanted, 1);
}

void thrum_test_settle(void) {
    if (kit_is_outside()) {
        return;
    }
    kit_point("thrum_test_settle", (uintptr_t)__builtin_return_address(0));
    if (!th_fiber_self()) {
        sim_settle();
        return;
    }
    if (!settler.started) {
        settler.started = true; /* another task may come in between from now on */
        if (start_thread(&settler.thread, "settler", settler_main, NULL) != 0) {
            fail("limit", "too many threads");
        }
    }
    settling mine = {.event = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false), .next = settler.waiting};
    settler.waiting = &mine;
    sim_order_release(&settler.order);
    wake_settler();
    INNER(thrum_shield_begin)();
    int code;
    do { /* a wait may fail for lack of memory, if the test asks for that */
        code = INNER(thrum_event_wait)(&mine.event);
    } while (code == -ENOMEM);
    if (code != 0) {
        fail("limit", "thrum_test_settle cannot wait here");
    }
    INNER(thrum_shield_end)();
}

static void end_settler(void) {
    if (settler.started) {
        settler.ends = true;
        wake_settler();
        th_os_thread_join(settler.thread);
    }
}

/* ---- a run ---- */

typedef struct running {
    thrum_sched *sched;
    thrum_fn fn;
    void *arg;
    const char *name;
    int result;
} running;
static running run; /* of the host */

/* The earliest timer of all workers, as core/due/timer.c computes it for the sentinel. */
int64_t kit_first_timer(void) {
    int64_t first = INT64_MAX;
    for (unsigned h = 0; h < H->count; h++) {
        const thrum_sched *sched = H->host[h].sched;
        for (unsigned i = 0; sched && i < sched->workers_regular; i++) {
            const int64_t theirs = sched->workers[i].own_timers.xearliest;
            const int64_t at =
                theirs < INT64_MAX ? clock_comes_to(&E->clocks[h], theirs) : INT64_MAX;
            first = at < first ? at : first;
        }
    }
    return first;
}

uint64_t kit_tasks_begun(void) {
    uint64_t begun = 0;
    for (unsigned h = 0; h < H->count; h++) {
        const thrum_sched *sched = H->host[h].sched;
        for (unsigned i = 0; sched && i < sched->workers_regular; i++) {
            begun += sched->workers[i].counters.xtasks_started;
        }
    }
    return begun;
}

static int root(void *arg) {
    (void)arg;
    INNER(thrum_set_name)(run.name);
    run.result = run.fn(run.arg);
    if (!sim_host_here()) {
        kit_faults_end();
    }
    return 0;
}

typedef struct looking {
    void (*see)(void *ctx, const thrum_handle *handle);
    void *ctx;
} looking;

static void look(void *arg, void *object) {
    const looking *l = arg;
    const thrum_handle *handle = object;
    if (handle->xjoin == TH_JOIN_DONE) {
        l->see(l->ctx, handle);
    }
}

void kit_handles_left(void (*see)(void *ctx, const thrum_handle *handle), void *ctx) {
    looking l = {see, ctx};
    if (run.sched) {
        th_slab_each(run.sched->spawn_slab, look, &l);
    }
}

static void count(void *ctx, const thrum_handle *handle) {
    (void)handle;
    ++*(unsigned *)ctx;
}

/* Fails the run if tasks of the program are left; a task that waits forever is a leak. */
static void check_tasks(void) {
    thrum_metrics metrics = THRUM_METRICS_INIT;
    sim_settle();
    if (INNER(thrum_metrics_read)(run.sched, THRUM_ALL_WORKERS, &metrics) == 0 &&
        metrics.tasks_alive != 0) {
        const bool several = metrics.tasks_alive != 1;
        const unsigned host = sim_host_here();
        fail("leak", "%llu task%s left at the end of %s%s", (unsigned long long)metrics.tasks_alive,
             several ? "s are" : " is", host ? "host " : "the test", host ? hosts_name(host) : "");
    }
    unsigned handles = 0;
    kit_handles_left(count, &handles);
    if (handles) {
        fail("leak", "%u spawned task%s neither joined nor detached", handles,
             handles == 1 ? " was" : "s were");
    }
}

void kit_fail_result(const char *who, const char *name, int result) {
    fail("result", "%s%s returned %d%s%s", who, name, result, result < 0 ? ": " : "",
         result < 0 ? INNER(thrum_strerror)(result) : "");
}

#define KEPT THRUM_S(INT64_C(1000000000))

int kit_run_host(thrum_fn fn, void *arg, const char *name, const kit_test *test) {
    const bool first = sim_host_here() == 0;
    thrum_config config;
    thrum_handle *handle;
    const bool unwatched = E->unwatched;
    run = (running){.fn = fn, .arg = arg, .name = name};
    E->unwatched = true; /* most of a run's accesses are in the start and the end */
    INNER(thrum_config_init)(&config);
    config.workers = first ? test->workers : test->workers < 3 ? 1 : 2; /* threads are few */
    config.policy = kit_policies[test->policy];
    config.workers_spare = 0;
    /* A run may start few threads, so those that wait for calls that block stay. */
    config.blocking_keepalive = KEPT;
    th_file_jobs.linger = KEPT;
    config.stall_ms = 0;
    config.on_deadlock = THRUM_DEADLOCK_OFF;
    if (INNER(thrum_sched_start)(&run.sched, &config) != 0) {
        fail("limit", "the scheduler cannot be started");
    }
    E->unwatched = first ? false : unwatched;
    hosts_scheduler(run.sched);
    thrum_attr attr;
    INNER(thrum_attr_init)(&attr);
    attr.sched = run.sched;
    if (INNER(thrum_spawn_with)(&handle, &attr, root, NULL) != 0 ||
        INNER(thrum_join)(handle, NULL) != 0) {
        fail("limit", "the test cannot be started");
    }
    if (first) {
        E->unwatched = true; /* what follows sees the newest values */
        hosts_switch_off();
    }
    if (first && run.result != 0) {
        kit_fail_result("the test", "", run.result);
    }
    check_tasks();
    kit_check_end();
    hosts_scheduler(NULL);
    if (INNER(thrum_sched_stop)(run.sched) != 0) {
        fail("limit", "the scheduler cannot be stopped");
    }
    end_settler();
    return run.result;
}

void kit_body(void) {
    const kit_test *test = kit_test_now();
    (void)kit_run_host(test->fn, test->arg, hosts_name(0), test);
}

void kit_dump(FILE *out) {
    if (run.sched) {
        (void)!INNER(thrum_dump)(run.sched, out, THRUM_TEXT);
    }
}
