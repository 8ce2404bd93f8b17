/*
 * rows_memory.c: the total cost of a blocked fiber.
 *
 * Counted are the resident and swapped pages, the page tables, and the kernel's record of each
 * mapping, before and after; all of it by the fiber. The fibers are blocked for certain when this
 * is read: the scheduler has been idle. Afterwards all are woken and must be counted once each.
 *
 * The last rows count the most memory that tasks have resident at a time if each waits for others
 * that may not have begun. This depends on the order in which a policy takes work.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/cc.h"
#include "harness.h"

/*
 * The kernel's record of each mapping: a vm_area_struct and its share of the tree, rounded up.
 *
 */
#define MAPPING_BYTES 256

/* A thread's kernel stack on x86_64 and aarch64, for which no process is charged. */
#define KERNEL_STACK_BYTES 16384

/* Memory that must be there for each fiber, so that the machine does not begin to swap. */
#define NEEDED_PER_FIBER 6144

/* ---- memory in use ---- */

/* A figure of a /proc file, in bytes. */
static double proc_bytes(const char *path, const char *name) {
    FILE *file = fopen(path, "r");
    char line[256];
    size_t length = strlen(name);
    double kb = 0;
    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, name, length) == 0 && line[length] == ':') {
            kb = strtod(line + length + 1, NULL);
        }
    }
    if (file) {
        fclose(file);
    }
    return kb * 1024;
}

static double mappings(void) {
    FILE *file = fopen("/proc/self/maps", "r");
    double lines = 0;
    for (int c = file ? getc(file) : EOF; c != EOF; c = getc(file)) {
        lines += c == '\n';
    }
    if (file) {
        fclose(file);
    }
    return lines;
}

static double bytes_in_use(void) {
    static const char status[] = "/proc/self/status";
    return proc_bytes(status, "VmRSS") + proc_bytes(status, "VmSwap") +
           proc_bytes(status, "VmPTE") + mappings() * MAPPING_BYTES;
}

/* ---- blocked fibers ---- */

typedef struct block {
    unsigned fibers;
    thrum_waitgroup waiting; /* fibers that have not yet come to the gate */
    thrum_waitgroup running; /* fibers that have not yet gone */
    thrum_event gate;
} block;

static block blocked;

static int block_fiber(void *arg) {
    unsigned char *woken = arg;
    thrum_waitgroup_done(&blocked.waiting);
    bench_ok(thrum_event_wait(&blocked.gate));
    ++*woken;
    thrum_waitgroup_done(&blocked.running);
    return 0;
}

static int block_all(void *arg) {
    unsigned char *woken = arg;
    for (unsigned i = 0; i < blocked.fibers; i++) {
        bench_ok(thrum_go(block_fiber, &woken[i]));
    }
    return 0;
}

static void run_blocked(const bench_args *args, bench_sample *out, unsigned fibers) {
    if (proc_bytes("/proc/meminfo", "MemAvailable") < (double)fibers * NEEDED_PER_FIBER) {
        bench_skip("not enough memory for %u fibers", fibers);
    }
    unsigned char *woken = malloc(fibers);
    bench_check(woken != NULL, "no memory");
    memset(woken, 0, fibers);
    blocked = (block){.fibers = fibers,
                      .waiting = THRUM_WAITGROUP_INIT(fibers),
                      .running = THRUM_WAITGROUP_INIT(fibers),
                      .gate = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false)};
    double before = bytes_in_use();
    bench_span span;
    thrum_sched *sched = bench_start(args);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    bench_span_begin(&span, sched);
    bench_ok(thrum_go_with(&attr, block_all, woken));
    bench_ok(thrum_waitgroup_wait(&blocked.waiting));
    bench_ok(thrum_sched_wait_idle(sched, thrum_after_s(60)));
    bench_span_end(&span);
    double after = bytes_in_use();
    thrum_event_signal(&blocked.gate);
    bench_ok(thrum_waitgroup_wait(&blocked.running));
    bench_stop(sched);
    for (unsigned i = 0; i < fibers; i++) {
        bench_check(woken[i] == 1, "fiber %u was woken %u times", i, (unsigned)woken[i]);
    }
    free(woken);
    out[0] = bench_span_value(&span, fibers, (after - before) / fibers);
    out[1] = bench_span_per_op(&span, fibers);
}

static void run_blocked_100k(const bench_args *args, bench_sample *out) {
    run_blocked(args, out, bench_scale(args, 100000, 10000));
}

static void run_blocked_1m(const bench_args *args, bench_sample *out) {
    run_blocked(args, out, bench_scale(args, 1000000, 50000));
}

/* ---- tasks that wait ---- */

static void woken_once(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
}

/* Posts tasks with and without a deadline in turn; the caller's own memory is the task itself. */
static void run_waiting(const bench_args *args, bench_sample *out) {
    unsigned n = bench_scale(args, 1000000, 50000);
    double before = bytes_in_use();
    bench_span span;
    thrum_sched *sched = bench_start(args);
    thrum_task *tasks = malloc(n * sizeof *tasks);
    bench_check(tasks != NULL, "no memory");
    thrum_time far = thrum_after_s(1000);
    bench_span_begin(&span, sched);
    for (unsigned i = 0; i < n; i++) {
        thrum_task_init(&tasks[i], woken_once, NULL);
        bench_ok(i % 2 ? thrum_task_post_until(sched, &tasks[i], far + i * 1000)
                       : thrum_task_post_wait(sched, &tasks[i]));
    }
    bench_span_end(&span);
    double after = bytes_in_use();
    for (unsigned i = 0; i < n; i++) {
        thrum_task_wakeup(&tasks[i]);
    }
    bench_stop(sched);
    free(tasks);
    out[0] = bench_span_value(&span, n, (after - before) / n);
    out[1] = bench_span_per_op(&span, n);
}

/* ---- tasks that wait in groups ---- */

#define GROUP 10

typedef struct group {
    uint32_t xcame; /* members that have begun */
    thrum_event all;
} group;

static struct {
    group *list;
    unsigned count;
    _Alignas(TH_CACHE_LINE) uint32_t xalive; /* members that have begun and not ended */
    uint32_t xmost;                          /* the most of these at a time */
} groups;

static void note_most(uint32_t alive) {
    uint32_t most = th_load_relaxed(&groups.xmost);
    while (alive > most && !th_cas_relaxed(&groups.xmost, &most, alive)) {
        continue;
    }
}

/* Waits for the last member of its group, which wakes the others. */
static int join_group(void *arg) {
    group *g = arg;
    note_most(th_add_relaxed(&groups.xalive, 1u) + 1);
    if (th_add_relaxed(&g->xcame, 1u) + 1 == GROUP) {
        thrum_event_signal(&g->all);
    } else {
        bench_ok(thrum_event_wait(&g->all));
    }
    th_sub_relaxed(&groups.xalive, 1u);
    return 0;
}

static int start_groups(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < groups.count * GROUP; i++) {
        bench_ok(thrum_go(join_group, &groups.list[i / GROUP]));
    }
    return 0;
}

/* The kernel keeps the peak of the pages; a sample's process begins with its present ones. */
static void run_groups(const bench_args *args, bench_sample *out) {
    groups.count = bench_scale(args, 100000, 10000) / GROUP;
    groups.list = calloc(groups.count, sizeof(groups.list[0]));
    bench_check(groups.list != NULL, "no memory");
    for (unsigned i = 0; i < groups.count; i++) {
        thrum_event_init(&groups.list[i].all, THRUM_EVENT_MANUAL, false);
    }
    unsigned tasks = groups.count * GROUP;
    double before = proc_bytes("/proc/self/status", "VmRSS");
    bench_span span;
    thrum_sched *sched = bench_start(args);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    bench_span_begin(&span, sched);
    bench_ok(thrum_go_with(&attr, start_groups, NULL));
    bench_ok(thrum_sched_wait_done(sched, THRUM_FOREVER));
    bench_span_end(&span);
    double peak = proc_bytes("/proc/self/status", "VmHWM");
    bench_stop(sched);
    bench_check(groups.xalive == 0, "%u have not ended", groups.xalive);
    free(groups.list);
    out[0] = bench_span_value(&span, tasks, (peak - before) / tasks);
    out[1] = bench_span_value(&span, tasks, groups.xmost);
    out[2] = bench_span_per_op(&span, tasks);
}

/* ---- blocked threads ---- */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *block_thread(void *arg) {
    pthread_barrier_t *ready = arg;
    pthread_barrier_wait(ready);
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    return NULL;
}

/* Threads with the smallest stack there is, one guard page and the kernel's records of them. */
static void base_threads(const bench_args *args, bench_sample *out) {
    unsigned n = bench_scale(args, 1000, 200);
    pthread_t *threads = calloc(n, sizeof(threads[0]));
    pthread_attr_t attr;
    pthread_barrier_t ready;
    bench_check(threads != NULL, "no memory");
    bench_ok(pthread_attr_init(&attr));
    bench_ok(pthread_attr_setstacksize(&attr, 16384));
    bench_ok(pthread_barrier_init(&ready, NULL, n + 1));
    bench_ok(pthread_mutex_lock(&gate));
    double before = bytes_in_use();
    int64_t begin = bench_now();
    for (unsigned i = 0; i < n; i++) {
        bench_ok(pthread_create(&threads[i], &attr, block_thread, &ready));
    }
    pthread_barrier_wait(&ready);
    double ns = (double)(bench_now() - begin);
    bench_sleep_us(20000);
    double after = bytes_in_use();
    bench_ok(pthread_mutex_unlock(&gate));
    for (unsigned i = 0; i < n; i++) {
        bench_ok(pthread_join(threads[i], NULL));
    }
    free(threads);
    out[0] = (bench_sample){.value = (after - before) / n + KERNEL_STACK_BYTES, .ops = n};
    out[1] = (bench_sample){.value = ns / n, .ops = n};
}

static const unsigned group_workers[] = {2, 0};

static const bench_case cases[] = {
    {.what = "bytes for each of 100,000 blocked fibers; the time to make and block one",
     .rows = {{.name = "blocked-memory",
               .unit = "bytes",
               .must = BENCH_FIXED,
               .limit = {4.4 * 1024, 4.4 * 1024}},
              {.name = "blocked-time", .unit = "ns/op"}},
     .count = 2,
     .workers_min = 1,
     .workers_same = true,
     .run = run_blocked_100k,
     .baseline = base_threads,
     .baseline_what = "blocked threads"},
    {.what = "the same for a million",
     .rows = {{.name = "blocked-memory-1m",
               .unit = "bytes",
               .must = BENCH_FIXED,
               .limit = {4.4 * 1024, 4.4 * 1024}},
              {.name = "blocked-time-1m", .unit = "ns/op"}},
     .count = 2,
     .workers_min = 1,
     .workers_same = true,
     .run = run_blocked_1m,
     .baseline = base_threads,
     .baseline_what = "blocked threads"},
    {.what = "bytes for each of a million tasks that wait, every other for a deadline",
     .rows = {{.name = "waiting-memory", .unit = "bytes", .must = BENCH_FIXED, .limit = {96, 96}},
              {.name = "waiting-time", .unit = "ns/op"}},
     .count = 2,
     .workers_min = 1,
     .workers_same = true,
     .run = run_waiting},
    {.what = "100,000 tasks in groups of ten wait for the last of their group: peak memory in bytes"
             " a task; the most that have begun and not ended",
     .rows = {{.name = "groups-memory", .unit = "bytes"},
              {.name = "groups-alive", .unit = "count"},
              {.name = "groups-time", .unit = "ns/op"}},
     .count = 3,
     .workers_min = 1,
     .workers_own = group_workers,
     .fifo_too = true,
     .global_too = true,
     .run = run_groups},
};

const bench_theme bench_memory = {cases, sizeof(cases) / sizeof(cases[0])};
