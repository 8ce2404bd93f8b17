/*
 * backtrace.c: the calls that fibers are in, as thrum_dump prints them.
 *
 * Functions of the test lie in sections of their own, so that it knows where each begins and ends.
 */
/* matrix: policy workers */
#define _GNU_SOURCE
#include <semaphore.h>

#include "support/report/printed.h"
#include "support/program.h"
#include "support/support.h"
#include "support/times.h"
#include "support/sync/emptied.h"

#define IN_SECTION(name_) __attribute__((noinline, section(#name_)))
#define SECTION(name_)                                                                             \
    extern const char __start_##name_[];                                                           \
    extern const char __stop_##name_[];
SECTION(bt_inner)
SECTION(bt_middle)
SECTION(bt_outer)
SECTION(bt_waits)

#define IS_IN(name_, at_) ((at_) >= (uintptr_t)__start_##name_ && (at_) < (uintptr_t)__stop_##name_)

/* ---- what was dumped ---- */

static char *dump(const thrum_sched *sched, thrum_format format) {
    size_t length = 0;
    FILE *out = tmpfile();
    CHECK(out != NULL);
    CHECK_EQ(thrum_dump(sched, out, format), 0);
    return printed_end(out, &length);
}

/*
 * The calls told behind the line that has `of`, in their order; only those in the test's sections:
 * others may be among them that are over.
 */
typedef struct calls {
    int count;
    uintptr_t at[16];
} calls;

static bool is_ours(uintptr_t at) {
    return IS_IN(bt_inner, at) || IS_IN(bt_middle, at) || IS_IN(bt_outer, at) ||
           IS_IN(bt_waits, at);
}

static calls calls_of(const char *text, const char *of) {
    static const char before[] = "    at ";
    calls found = {0, {0}};
    const char *line = strstr(text, of);
    CHECK(line != NULL);
    while ((line = strchr(line, '\n')) && strncmp(++line, before, 7) == 0) {
        CHECK(found.count < 16);
        found.at[found.count] = program_address(line + 7);
        found.count += is_ours(found.at[found.count]);
    }
    return found;
}

static void spawn_named(const rig *r, const char *name, thrum_fn fn, void *arg) {
    thrum_attr attr = rig_attr(r);
    attr.name = name;
    CHECK_EQ(thrum_go_with(&attr, fn, arg), 0);
}

/* ---- three deep ---- */

static thrum_sem sem;
static atomic_int kept; /* added behind a call, so that it is no jump */

IN_SECTION(bt_inner) static int inner(int depth) {
    const int result = thrum_sem_wait(&sem);
    atomic_fetch_add(&kept, depth);
    return result;
}

IN_SECTION(bt_middle) static int middle(int depth) {
    const int result = inner(depth + 1);
    atomic_fetch_add(&kept, depth);
    return result;
}

IN_SECTION(bt_outer) static int outer(void *arg) {
    const int result = middle(1);
    atomic_fetch_add(&kept, (int)(intptr_t)arg);
    return result;
}

/* Demands these calls in this order, and nothing else of the test's above the innermost. */
static void check_three(const char *text, const calls *c) {
    int i = 0;
    if (c->count < 3 || !IS_IN(bt_inner, c->at[0])) {
        check_failed(__FILE__, __LINE__, "the innermost call is not the first in: %.900s", text);
    }
    for (; i < c->count && !IS_IN(bt_middle, c->at[i]); i++) {
    }
    for (; i < c->count && !IS_IN(bt_outer, c->at[i]); i++) {
    }
    if (i == c->count) {
        check_failed(__FILE__, __LINE__, "a call is missing, or out of order, in: %.900s", text);
    }
}

TEST(calls_are_told_the_innermost_first) {
    /* A fiber that waits in the third of three functions: all of them, in order. */
    NEEDS_CALLS();
    rig r;
    rig_begin(&r, 0);
    thrum_sem_init(&sem, 0);
    spawn_named(&r, "deep", outer, NULL);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    char *text = dump(r.sched, THRUM_TEXT);
    const calls c = calls_of(text, "\"deep\" waits for semaphore");
    check_three(text, &c);
    free(text);
    thrum_sem_post(&sem);
    rig_stop(&r);
}

TEST(json_has_them_as_strings) {
    /* The calls are in an array. */
    NEEDS_CALLS();
    rig r;
    rig_begin(&r, 0);
    thrum_sem_init(&sem, 0);
    spawn_named(&r, "deep", outer, NULL);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    char *text = dump(r.sched, THRUM_JSON);
    const char *first = strstr(text, ", \"calls\": [\"");
    CHECK(first != NULL);
    for (first += 13; !is_ours(program_address(first)); first += 4) {
        first = strstr(first, "\", \"");
        CHECK(first != NULL);
    }
    CHECK(IS_IN(bt_inner, program_address(first)));
    CHECK(strstr(first, "\"]}],\n \"external\"") != NULL);
    free(text);
    thrum_sem_post(&sem);
    rig_stop(&r);
}

TEST(a_crowd_that_waits_in_one_place_is_told_once) {
    /* A fiber in the same calls as the one before is said to be just that. */
    NEEDS_CALLS();
    rig r;
    rig_begin(&r, 0);
    thrum_sem_init(&sem, 0);
    for (int i = 0; i < 50; i++) {
        spawn_named(&r, "deep", outer, NULL);
    }
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    char *text = dump(r.sched, THRUM_TEXT);
    CHECK(strstr(text, "\n    at the same calls as the one above\n") != NULL);
    const calls c = calls_of(text, "\"deep\" waits for semaphore");
    check_three(text, &c);
    free(text);
    for (int i = 0; i < 50; i++) {
        thrum_sem_post(&sem);
    }
    rig_stop(&r);
}

/* ---- each kind of wait ---- */

typedef struct things {
    thrum_event event;
    thrum_waitgroup wg;
    thrum_mutex mutex;
    thrum_mutex of_cond;
    thrum_rwlock rwlock;
    thrum_cond cond;
    thrum_barrier barrier;
    thrum_chan *chan;
    thrum_bcast *bcast;
    thrum_once once;
    thrum_tickets tickets;
    thrum_ticket first;
    thrum_ticket second;
    emptied empty;
    thrum_handle *child;
} things;

static things it;

IN_SECTION(bt_waits) static int on_event(void *arg) {
    const int result = thrum_event_wait(&it.event);
    atomic_fetch_add(&kept, arg != NULL);
    return result;
}

IN_SECTION(bt_waits) static int on_events(void *arg) {
    thrum_event *const one = &it.event;
    const int result = thrum_event_wait_any(&one, 1, THRUM_FOREVER);
    atomic_fetch_add(&kept, arg != NULL);
    return result;
}

IN_SECTION(bt_waits) static int on_waitgroup(void *arg) {
    const int result = thrum_waitgroup_wait(&it.wg);
    atomic_fetch_add(&kept, arg != NULL);
    return result;
}

IN_SECTION(bt_waits) static int on_mutex(void *arg) {
    thrum_mutex_lock(&it.mutex);
    atomic_fetch_add(&kept, arg != NULL);
    return 0;
}

IN_SECTION(bt_waits) static int on_read(void *arg) {
    thrum_rwlock_rdlock(&it.rwlock);
    atomic_fetch_add(&kept, arg != NULL);
    return 0;
}

IN_SECTION(bt_waits) static int on_cond(void *arg) {
    thrum_mutex_lock(&it.of_cond);
    const int result = thrum_cond_wait(&it.cond, &it.of_cond);
    thrum_mutex_unlock(&it.of_cond);
    atomic_fetch_add(&kept, arg != NULL);
    return result;
}

IN_SECTION(bt_waits) static int on_barrier(void *arg) {
    const int result = thrum_barrier_wait(&it.barrier);
    atomic_fetch_add(&kept, arg != NULL);
    return result;
}

IN_SECTION(bt_waits) static int on_receive(void *arg) {
    int value = 0;
    const int result = thrum_chan_recv(it.chan, &value);
    atomic_fetch_add(&kept, arg != NULL);
    return result;
}

IN_SECTION(bt_waits) static int on_select(void *arg) {
    int value = 0;
    thrum_case cases[] = {THRUM_RECV_CASE(it.chan, &value)};
    const int result = thrum_select(cases, 1, THRUM_FOREVER);
    atomic_fetch_add(&kept, arg != NULL);
    return result;
}

static int runs_once(void *arg) {
    return thrum_once_run(&it.once, outer, arg);
}

IN_SECTION(bt_waits) static int on_once(void *arg) {
    const int result = thrum_once_run(&it.once, outer, arg);
    atomic_fetch_add(&kept, arg != NULL);
    return result;
}

IN_SECTION(bt_waits) static int on_ticket(void *arg) {
    const int result = thrum_ticket_wait(&it.second);
    atomic_fetch_add(&kept, arg != NULL);
    return result;
}

IN_SECTION(bt_waits) static int on_pool(void *arg) {
    void *item;
    const int result = thrum_pool_borrow(it.empty.pool, &item);
    atomic_fetch_add(&kept, arg != NULL);
    return result;
}

IN_SECTION(bt_waits) static int on_bcast(void *arg) {
    thrum_bcast_receiver receiver;
    int value;
    thrum_bcast_subscribe(it.bcast, &receiver);
    const int result = thrum_bcast_recv(&receiver, &value);
    atomic_fetch_add(&kept, arg != NULL);
    return result;
}

IN_SECTION(bt_waits) static int on_sleep(void *arg) {
    const int result = thrum_sleep_until(far_off());
    atomic_fetch_add(&kept, arg != NULL);
    return result;
}

IN_SECTION(bt_waits) static int on_join(void *arg) {
    const int result = thrum_join(it.child, NULL);
    atomic_fetch_add(&kept, arg != NULL);
    return result == 0 ? 0 : thrum_detach(it.child);
}

TEST(calls_of_each_kind_of_wait) {
    /* The first call told is the test's own, whatever of the library lies above it. */
    NEEDS_CALLS();
    static const struct {
        thrum_fn fn;
        const char *name;
    } waits[] = {{on_event, "event"},     {on_events, "events"},   {on_waitgroup, "waitgroup"},
                 {on_mutex, "mutex"},     {on_read, "read"},       {on_cond, "cond"},
                 {on_barrier, "barrier"}, {on_receive, "receive"}, {on_select, "select"},
                 {on_once, "once"},       {on_ticket, "ticket"},   {on_pool, "pool"},
                 {on_bcast, "bcast"},     {on_sleep, "sleep"},     {on_join, "join"}};
    rig r;
    rig_begin(&r, 0);
    const thrum_attr attr = rig_attr(&r);
    thrum_sem_init(&sem, 0);
    thrum_event_init(&it.event, THRUM_EVENT_MANUAL, false);
    thrum_waitgroup_init(&it.wg, 1);
    thrum_mutex_init(&it.mutex);
    thrum_mutex_init(&it.of_cond);
    thrum_rwlock_init(&it.rwlock);
    thrum_cond_init(&it.cond);
    thrum_barrier_init(&it.barrier, 2);
    CHECK_EQ(thrum_chan_create(&it.chan, sizeof(int), 0), 0);
    CHECK_EQ(thrum_bcast_create(&it.bcast, sizeof(int), 1), 0);
    thrum_once_init(&it.once);
    thrum_tickets_init(&it.tickets);
    thrum_tickets_take(&it.tickets, &it.first);
    thrum_tickets_take(&it.tickets, &it.second);
    emptied_begin(&it.empty);
    thrum_mutex_lock(&it.mutex);
    thrum_rwlock_wrlock(&it.rwlock);
    CHECK_EQ(thrum_spawn_with(&it.child, &attr, outer, NULL), 0);
    spawn_named(&r, "runner", runs_once, NULL);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        spawn_named(&r, waits[i].name, waits[i].fn, NULL);
    }
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    char *text = dump(r.sched, THRUM_TEXT);
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        char line[64];
        snprintf(line, sizeof(line), "\"%s\" waits for ", waits[i].name);
        const calls c = calls_of(text, line);
        if (c.count < 1 || !IS_IN(bt_waits, c.at[0])) {
            check_failed(__FILE__, __LINE__, "%s: no call, or a wrong one, in: %s", waits[i].name,
                         text);
        }
    }
    free(text);
    watchdog_remove(&r);
    thrum_mutex_unlock(&it.mutex);
    thrum_rwlock_unlock(&it.rwlock);
    CHECK_EQ(thrum_sched_stop_until(r.sched, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_sched_stop(r.sched), 0);
    CHECK_EQ(thrum_chan_destroy(it.chan), 0);
    CHECK_EQ(thrum_bcast_destroy(it.bcast), 0);
    thrum_ticket_done(&it.first);
    thrum_ticket_done(&it.second);
    emptied_end(&it.empty);
}

/* ---- fibers that do not wait ---- */

static atomic_bool over;

IN_SECTION(bt_waits) static int yields_on(void *arg) {
    while (!atomic_load(&over)) {
        thrum_yield();
    }
    atomic_fetch_add(&kept, arg != NULL);
    return 0;
}

/* It is tied to one worker with the one that yields, so that is ready, or has not begun. */
static int dumps_ready(void *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.name = "yields";
    attr.flags = THRUM_PINNED;
    CHECK_EQ(thrum_go_with(&attr, yields_on, NULL), 0);
    CHECK_EQ(thrum_set_name("director"), 0);
    char *text = dump(arg, THRUM_TEXT);
    for (; !strstr(text, "\"yields\" is ready"); text = dump(arg, THRUM_TEXT)) {
        free(text);
        thrum_yield();
    }
    calls c = calls_of(text, "\"yields\" is ready");
    if (c.count < 1 || !IS_IN(bt_waits, c.at[0])) {
        check_failed(__FILE__, __LINE__, "no call, or a wrong one, in: %s", text);
    }
    c = calls_of(text, "\"director\" runs on worker");
    CHECK_EQ(c.count, 0);
    free(text);
    atomic_store(&over, true);
    return 0;
}

TEST(ready_has_calls_and_running_has_none) {
    /* A fiber that gave way is told with its calls, too; a running one is only said to run. */
    NEEDS_CALLS();
    rig r;
    rig_begin(&r, 0);
    thrum_attr attr = rig_attr(&r);
    thrum_handle *handle = NULL;
    attr.flags = THRUM_PINNED;
    CHECK_EQ(thrum_spawn_with(&handle, &attr, dumps_ready, r.sched), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    rig_stop(&r);
}

/* ---- a fiber whose thread waits in a system call ---- */

static int ends[2];

IN_SECTION(bt_inner) static int reads(int depth) {
    char c;
    const ssize_t result = read(ends[0], &c, 1);
    atomic_fetch_add(&kept, depth);
    return (int)result;
}

IN_SECTION(bt_middle) static int calls_reads(int depth) {
    const int result = reads(depth + 1);
    atomic_fetch_add(&kept, depth);
    return result;
}

IN_SECTION(bt_outer) static int blocks_its_thread(void *arg) {
    const int result = calls_reads(1);
    atomic_fetch_add(&kept, (int)(intptr_t)arg);
    return result;
}

/* Whether the system tells where the stack of a thread is that waits in a system call. */
static bool stacks_are_told(void) {
#if defined(_WIN32)
    return true;
#else
    const char here = 0;
    unsigned long long own = 0;
    FILE *of_this = fopen("/proc/thread-self/syscall", "re");
    if (of_this) {
        if (fscanf(of_this, "%*d %*x %*x %*x %*x %*x %*x %llx", &own) != 1) {
            own = 0;
        }
        fclose(of_this);
    }
    return own < (uintptr_t)&here && own + (1 << 16) > (uintptr_t)&here;
#endif
}

TEST(a_blocked_thread_has_calls) {
    /* The task runs, but its thread reads an empty pipe: all three calls are told, in order. */
    NEEDS_CALLS();
    rig r;
    if (!stacks_are_told()) {
        CHECK_SKIP("the system does not tell where the stacks of threads are");
    }
    rig_begin(&r, 0);
    CHECK_EQ(pipe(ends), 0);
    spawn_named(&r, "reader", blocks_its_thread, NULL);
    char *text = dump(r.sched, THRUM_TEXT);
    /* Its line comes when it has begun, its calls when its thread waits. */
    while (!strstr(text, "\"reader\" runs on worker") ||
           calls_of(text, "\"reader\" runs on worker").count == 0) {
        free(text);
        sched_yield();
        text = dump(r.sched, THRUM_TEXT);
    }
    const calls c = calls_of(text, "\"reader\" runs on worker");
    check_three(text, &c);
    free(text);
    CHECK_EQ(close(ends[1]), 0);
    rig_stop(&r);
    CHECK_EQ(close(ends[0]), 0);
}

/* ---- threads ---- */

static char *of_root;

static int dumps_for_root(void *arg) {
    of_root = dump(arg, THRUM_TEXT);
    thrum_sem_post(&sem);
    return 0;
}

/* It is bound to a scheduler without workers, and waits three deep. */
static void *binds(void *sched) {
    thrum_attr attr = THRUM_ATTR_INIT;
    CHECK_EQ(thrum_sched_bind(sched), 0);
    attr.sched = sched;
    CHECK_EQ(thrum_go_with(&attr, dumps_for_root, sched), 0);
    CHECK_EQ(outer(NULL), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    const calls c = calls_of(of_root, "  bound thread 0 waits for semaphore");
    check_three(of_root, &c);
    free(of_root);
    return NULL;
}

TEST(a_bound_thread_has_calls) {
    /* It waits on the stack of the program's main thread, and of another. */
    NEEDS_CALLS();
    rig r;
    pthread_t thread;
    rig_init(&r);
    r.config.workers = 0;
    rig_start(&r);
    thrum_sem_init(&sem, 0);
    binds(r.sched);
    CHECK_EQ(pthread_create(&thread, NULL, binds, r.sched), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    rig_stop(&r);
}

/* ---- on a small stack, and in the report ---- */

static int dumps_here(void *arg) {
    char *text = dump(arg, THRUM_TEXT);
    const calls c = calls_of(text, "\"deep\" waits for semaphore");
    check_three(text, &c);
    free(text);
    text = dump(arg, THRUM_JSON);
    CHECK(strstr(text, "\"calls\"") != NULL);
    free(text);
    return 0;
}

TEST(dumped_on_a_small_stack) {
    /* The least stack that there is suffices for the dump, where no tool makes frames larger. */
    NEEDS_CALLS();
    rig r;
    rig_init(&r);
    r.config.stack_size = UNDER_ASAN || UNDER_TSAN ? r.config.stack_size : 16384;
    rig_start(&r);
    thrum_sem_init(&sem, 0);
    spawn_named(&r, "deep", outer, NULL);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(rig_run(&r, dumps_here, r.sched), 0);
    thrum_sem_post(&sem);
    rig_stop(&r);
}

static char report[16384];
static sem_t reported;

static void keep_report(void *ctx, const char *text) {
    (void)ctx;
    snprintf(report, sizeof(report), "%s", text);
    CHECK_EQ(sem_post(&reported), 0);
}

IN_SECTION(bt_outer) static int recurses(void *arg) {
    const intptr_t n = (intptr_t)arg;
    const int result = n == 0 ? thrum_sem_wait(&sem) : recurses((void *)(n - 1));
    atomic_fetch_add(&kept, (int)n);
    return result;
}

TEST(the_report_of_a_deadlock_has_the_innermost) {
    /* It has four of ten calls. */
    NEEDS_CALLS();
    rig r;
    CHECK_EQ(sem_init(&reported, 0, 0), 0);
    rig_init(&r);
    r.config.deadlock = keep_report;
    rig_start(&r);
    thrum_sem_init(&sem, 0);
    spawn_named(&r, "deep", recurses, (void *)10);
    /* Asleep: for a plain thread that runs the report waits for ten seconds. */
    while (sem_wait(&reported) != 0) {
        CHECK_EQ(errno, EINTR);
    }
    const calls c = calls_of(report, "\"deep\" waits for semaphore");
    CHECK(c.count > 0 && c.count <= 4);
    for (int i = 0; i < c.count; i++) {
        CHECK(IS_IN(bt_outer, c.at[i]));
    }
    char *line = strstr(report, "\"deep\" waits");
    int told = 0;
    while ((line = strchr(line, '\n')) && strncmp(++line, "    at ", 7) == 0) {
        told++;
    }
    CHECK_EQ(told, 4);
    thrum_sem_post(&sem);
    rig_stop(&r);
}

TEST(without_memory_the_rest_is_told) {
    /* The calls need memory; when that is refused, everything but them is there. */
    NEEDS_CALLS();
    rig r;
    rig_begin(&r, 0);
    thrum_sem_init(&sem, 0);
    spawn_named(&r, "deep", outer, NULL);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    atomic_store(&r.fail_all, true);
    char *text = dump(r.sched, THRUM_TEXT);
    char *json = dump(r.sched, THRUM_JSON);
    atomic_store(&r.fail_all, false);
    CHECK(strstr(text, "\"deep\" waits for semaphore") != NULL);
    CHECK(strstr(text, "\n    at ") == NULL);
    CHECK(strstr(json, "\"on\": \"semaphore\"") != NULL);
    CHECK(strstr(json, "\"calls\"") == NULL);
    CHECK(atomic_load(&r.refused) >= 2);
    free(text);
    free(json);
    thrum_sem_post(&sem);
    rig_stop(&r);
}
