/*
 * metrics.c: reads the workers' counters and prints them.
 *
 * Words: a *source* is a set of counters: each worker has one, and all external threads together
 * have one. The figures of the whole scheduler are the sum over all sources (for high-water marks
 * the maximum), and figures that only the whole scheduler has, such as its blocking pool's.
 *
 * Invariants:
 *   - Nothing here writes a counter or stops a worker: it loads words that have one writer each.
 *   - `fields` lists every figure of thrum_metrics; a static assertion counts them, so that a new
 *     one cannot be forgotten in print.
 *   - A struct of the caller's is filled up to the size that the caller knows, never beyond.
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/atomic.h"
#include "core/inspect/gauges.h"
#include "core/ready/external.h"
#include "core/basis/counters.h"
#include "core/state/driver.h"
#include "core/state/worker.h"
#include "core/trace/tick_marks.h"
#include "observe/dump_json.h"
#include "platform/platform.h"
#include "thrum/metrics.h"
#include "thrum/sched.h"

/* Up to this many workers the text has a column for each source; beyond, the least and the most. */
#define COLUMNS_MAX 8

/* ---- reading ---- */

static void add_counters(thrum_metrics *m, const th_counters *counters) {
/* relaxed: a counter has one writer, and orders nothing; any recent value will do */
#define ADD(name) m->name += th_load_relaxed(&counters->x##name);
    TH_COUNTERS(ADD)
#undef ADD
}

/* Only locks are written. */
static thrum_sched *writable(const thrum_sched *sched) {
    return (thrum_sched *)(uintptr_t)sched;
}

static void add_times(thrum_metrics *m, const th_gauges *gauges) {
    m->queued_oldest_ns = gauges->queued_oldest_ns;
    m->running_ns = gauges->running_ns;
    m->longest_run_ns = gauges->longest_run_ns;
}

static void read_worker(const thrum_sched *sched, unsigned worker, thrum_metrics *m) {
    *m = (thrum_metrics){.size = sizeof(*m)};
    m->workers = 1;
    add_counters(m, &sched->workers[worker].counters);
    m->stack_high_water = th_sched_stack_high_water(sched, (int)worker);
    if (worker < th_workers_end(sched)) { /* a spare's queues are made when it first takes over */
        th_gauges gauges;
        th_gauges_take_worker(&sched->workers[worker], th_os_now(), &gauges);
        m->queued_local = th_gauges_queued_at(&sched->workers[worker]);
        add_times(m, &gauges);
    }
}

/* The counts of external threads, and of presently bound threads. */
static void read_external(const thrum_sched *sched, thrum_metrics *m) {
    th_counters sum = {0};
    *m = (thrum_metrics){.size = sizeof(*m)};
    th_gauges_add_threads(writable(sched), &sum);
    add_counters(m, &sum);
}

static void add_gauges(const thrum_sched *sched, thrum_metrics *m) {
    th_gauges gauges;
    th_gauges_take(writable(sched), &gauges);
    m->runnable = gauges.runnable;
    m->tasks_alive = gauges.alive;
    m->tasks_deferred = gauges.deferred;
    m->timers = gauges.timers;
    m->stacks = gauges.stacks;
    m->stack_bytes = gauges.stack_bytes;
    add_times(m, &gauges);
}

static void read_all(const thrum_sched *sched, thrum_metrics *m) {
    read_external(sched, m);
    m->workers = th_workers_end(sched);
    for (unsigned worker = 0; worker < m->workers; worker++) {
        add_counters(m, &sched->workers[worker].counters);
        m->queued_local += th_gauges_queued_at(&sched->workers[worker]);
    }
    add_gauges(sched, m);
    m->stalls_reported = th_load_relaxed(&sched->stalls.xtold); /* relaxed: as in add_counters */
    m->stack_high_water = th_sched_stack_high_water(sched, THRUM_ALL_WORKERS);
    th_drivers_metrics(sched, m);
}

/*
 * Whether a struct of this size can be a thrum_metrics: it holds at least the head, ends with a
 * whole figure, and is not so large that the size was certainly never set.
 */
static bool size_is_known(size_t size) {
    return size >= offsetof(thrum_metrics, runs_lifo) && size % sizeof(uint64_t) == 0 &&
           size <= 16 * sizeof(thrum_metrics);
}

int thrum_metrics_read(const thrum_sched *sched, int worker_or_all, thrum_metrics *out) {
    if (!sched || !out || !size_is_known(out->size)) {
        return -EINVAL;
    }
    if (!th_external_is_live(sched)) {
        return -ESHUTDOWN;
    }
    thrum_metrics m;
    if (worker_or_all == THRUM_ALL_WORKERS) {
        read_all(sched, &m);
    } else if (worker_or_all >= 0 && (unsigned)worker_or_all < thrum_sched_workers(sched)) {
        th_tick_marks_note(writable(sched), th_os_now());
        read_worker(sched, (unsigned)worker_or_all, &m);
    } else {
        return -EINVAL;
    }
    m.size = out->size; /* the size that the caller knows, so that the struct can be used again */
    memcpy(out, &m, out->size < sizeof(m) ? out->size : sizeof(m));
    return 0;
}

/* ---- the fields ---- */

typedef enum {
    COUNTER,     /* a counter of every source */
    MAXIMUM,     /* a maximum of every worker; the scheduler's is the largest */
    ALL_COUNTER, /* a counter that only the whole scheduler has */
    GAUGE,       /* a figure of every worker that can fall */
    ALL_GAUGE    /* a figure that only the whole scheduler has, and that can fall */
} field_kind;

typedef struct field {
    const char *name;
    size_t offset;
    field_kind kind;
    const char *help;
} field;

/* clang-format off */
#define FIELD(name, kind, help) { #name, offsetof(thrum_metrics, name), kind, help }
/* clang-format on */

static const field fields[] = {
    FIELD(runs_lifo, COUNTER, "Work run from the LIFO slot."),
    FIELD(runs_ring, COUNTER, "Work run from the worker's own queues."),
    FIELD(runs_inject, COUNTER, "Work taken from a shared queue and run at once."),
    FIELD(runs_stolen, COUNTER, "Work taken from another worker and run at once."),
    FIELD(runs_pinned, COUNTER, "Work run from the pinned inbox."),
    FIELD(tasks_started, COUNTER, "Task bodies begun."),
    FIELD(fibers_resumed, COUNTER, "Fibers that went on after a wait."),
    FIELD(steals_tried, COUNTER, "Searches through the other workers."),
    FIELD(steals_done, COUNTER, "Searches that found something."),
    FIELD(stolen, COUNTER, "Work taken by stealing."),
    FIELD(rescues, COUNTER, "Times work was taken from a worker that did not come round."),
    FIELD(stalls, COUNTER, "Times a worker was found held up by one task."),
    FIELD(spare_activations, COUNTER, "Times a spare worker began to take over."),
    FIELD(offloads, COUNTER, "Times a full queue spilled into the shared one."),
    FIELD(offloaded, COUNTER, "Work moved by spilling."),
    FIELD(parks, COUNTER, "Times a worker found nothing to do and parked."),
    FIELD(wakes_submit, COUNTER, "Wakes sent because of new work."),
    FIELD(wakes_chain, COUNTER, "Wakes sent because a searcher found more than it needed."),
    FIELD(wakes_pinned, COUNTER, "Wakes sent because of pinned work."),
    FIELD(wakes_timer, COUNTER, "Sleeps that ended by themselves."),
    FIELD(wakes_empty, COUNTER, "Wakes that found nothing."),
    FIELD(switches, COUNTER, "Context switches between fibers."),
    FIELD(suspends, COUNTER, "Waits that gave up the worker."),
    FIELD(yields, COUNTER, "Yields that gave way to other work."),
    FIELD(stacks_created, COUNTER, "Fibers that were set up."),
    FIELD(stacks_reused, COUNTER, "Idle fibers taken from the scheduler's store."),
    FIELD(stacks_freed, COUNTER, "Stacks given back to the system."),
    FIELD(stack_high_water, MAXIMUM, "The most of a stack seen in use, in bytes."),
    FIELD(blocking_calls, ALL_COUNTER, "Calls that went to the blocking pool."),
    FIELD(blocking_threads, ALL_GAUGE, "Threads of the blocking pool at present."),
    FIELD(futex_waits, COUNTER, "System calls: sleeps of workers."),
    FIELD(futex_wakes, COUNTER, "System calls: wakes sent."),
    FIELD(io_waits, COUNTER, "Waits until a descriptor was ready."),
    FIELD(io_read_bytes, COUNTER, "Bytes read from descriptors."),
    FIELD(io_written_bytes, COUNTER, "Bytes written to descriptors."),
    FIELD(io_accepts, COUNTER, "Connections accepted."),
    FIELD(io_posts, COUNTER, "Tasks posted to wait for a descriptor."),
    FIELD(io_served, ALL_GAUGE, "Connections of servers at present."),
    FIELD(polls, COUNTER, "System calls: polls of sets of descriptors, and sleeps in one."),
    FIELD(poll_events, COUNTER, "Descriptors found ready."),
    FIELD(wakes_polling, COUNTER, "Wakes of workers that slept in their set of descriptors."),
    FIELD(queued_local, GAUGE, "Work queued at a worker at present."),
    FIELD(runnable, ALL_GAUGE, "Tasks and fibers queued or running at present."),
    FIELD(tasks_alive, ALL_GAUGE, "Tasks that have not ended."),
    FIELD(tasks_deferred, ALL_GAUGE, "Tasks that wait for memory for a stack."),
    FIELD(timers, ALL_GAUGE, "Waits and tasks with a deadline to come."),
    FIELD(stacks, ALL_GAUGE, "Stacks of fibers at present."),
    FIELD(stack_bytes, ALL_GAUGE, "Address space of the stacks of fibers, in bytes."),
    FIELD(blocking_queued, ALL_GAUGE, "Blocking calls that wait for a thread."),
    FIELD(blocking_running, ALL_GAUGE, "Blocking calls that a thread is in."),
    FIELD(stalls_reported, ALL_COUNTER, "Stalls that were reported."),
    FIELD(queued_oldest_ns, GAUGE, "For how long at least what is queued has waited."),
    FIELD(running_ns, GAUGE, "For how long at least a task has run at present."),
    FIELD(longest_run_ns, MAXIMUM, "For how long at least a task has run so far."),
};
#undef FIELD

#define FIELDS (sizeof(fields) / sizeof(fields[0]))
static_assert(offsetof(thrum_metrics, runs_lifo) + FIELDS * sizeof(uint64_t) ==
                  sizeof(thrum_metrics),
              "every figure of thrum_metrics is printed");

static uint64_t figure(const thrum_metrics *m, const field *f) {
    uint64_t value;
    memcpy(&value, (const char *)m + f->offset, sizeof(value));
    return value;
}

/* Whether each worker has this figure; otherwise only the whole scheduler has it. */
static bool workers_have(const field *f) {
    return f->kind == COUNTER || f->kind == MAXIMUM || f->kind == GAUGE;
}

/* Whether external threads can have counted this; they keep no stacks. */
static bool external_has(const field *f) {
    return f->kind == COUNTER;
}

static bool is_gauge(const field *f) {
    return f->kind == MAXIMUM || f->kind == GAUGE || f->kind == ALL_GAUGE;
}

/* ---- printing ---- */

static void print_columns(th_text *text, unsigned workers) {
    thrum_metrics columns[COLUMNS_MAX];
    thrum_metrics external;
    thrum_metrics all;
    th_text_add(text, "%-18s", "");
    for (unsigned worker = 0; worker < workers; worker++) {
        read_worker(text->sched, worker, &columns[worker]);
        th_text_add(text, "      worker %u", worker);
    }
    th_text_add(text, " %13s %13s\n", "external", "all");
    read_external(text->sched, &external);
    read_all(text->sched, &all);
    for (size_t i = 0; i < FIELDS; i++) {
        const field *f = &fields[i];
        th_text_add(text, "%-18s", f->name);
        for (unsigned worker = 0; worker < workers; worker++) {
            if (workers_have(f)) {
                th_text_add(text, " %13" PRIu64, figure(&columns[worker], f));
            } else {
                th_text_add(text, " %13s", "-");
            }
        }
        if (external_has(f)) {
            th_text_add(text, " %13" PRIu64, figure(&external, f));
        } else {
            th_text_add(text, " %13s", "-");
        }
        th_text_add(text, " %13" PRIu64 "\n", figure(&all, f));
    }
}

/* Prints the least and the most of any worker, for schedulers that are too wide for columns. */
static void print_ranges(th_text *text, unsigned workers) {
    thrum_metrics all;
    read_all(text->sched, &all);
    th_text_add(text, "%-18s %13s %13s %13s\n", "", "least", "most", "all");
    for (size_t i = 0; i < FIELDS; i++) {
        const field *f = &fields[i];
        th_text_add(text, "%-18s", f->name);
        if (workers_have(f)) {
            uint64_t least = UINT64_MAX;
            uint64_t most = 0;
            for (unsigned worker = 0; worker < workers; worker++) {
                thrum_metrics m;
                read_worker(text->sched, worker, &m);
                uint64_t value = figure(&m, f);
                least = value < least ? value : least;
                most = value > most ? value : most;
            }
            th_text_add(text, " %13" PRIu64 " %13" PRIu64, least, most);
        } else {
            th_text_add(text, " %13s %13s", "-", "-");
        }
        th_text_add(text, " %13" PRIu64 "\n", figure(&all, f));
    }
}

static void print_text(th_text *text) {
    unsigned workers = th_workers_end(text->sched);
    th_text_add_quoted(text, "scheduler ", text->sched->name);
    th_text_add(text, ", %u worker%s\n", workers, workers == 1 ? "" : "s");
    if (workers <= COLUMNS_MAX) {
        print_columns(text, workers);
    } else {
        print_ranges(text, workers);
    }
}

#define SAMPLE_NAME 64

static bool is_time(const field *f) {
    const size_t length = strlen(f->name);
    return strcmp(f->name + length - strlen("_ns"), "_ns") == 0;
}

/* "thrum_parks_total", "thrum_running_seconds": Prometheus has units in names, and seconds. */
static void name_sample(const field *f, char name[SAMPLE_NAME]) {
    const int length = (int)(strlen(f->name) - (is_time(f) ? strlen("_ns") : 0));
    (void)snprintf(name, SAMPLE_NAME, "thrum_%.*s%s%s", length, f->name,
                   is_time(f) ? "_seconds" : "", is_gauge(f) ? "" : "_total");
}

/* Seconds are not printed by %f, which writes a comma in some locales. */
static void print_sample(th_text *text, const field *f, const char *worker, uint64_t value) {
    char name[SAMPLE_NAME];
    name_sample(f, name);
    th_text_add(text, "%s{sched=", name);
    th_text_add_quoted(text, "", text->sched->name);
    if (worker) {
        th_text_add(text, ",worker=\"%s\"", worker);
    }
    if (is_time(f)) {
        th_text_add(text, "} %" PRIu64 ".%09" PRIu64 "\n", value / 1000000000, value % 1000000000);
    } else {
        th_text_add(text, "} %" PRIu64 "\n", value);
    }
}

/*
 * The format wants all samples of a name together, so each worker is read again for each name.
 * No sample is a sum: a query sums over `worker`, and so counts nothing twice.
 */
static void print_prometheus(th_text *text) {
    unsigned workers = th_workers_end(text->sched);
    th_text_add(text, "# HELP thrum_workers Threads that run tasks.\n# TYPE thrum_workers gauge\n");
    th_text_add_quoted(text, "thrum_workers{sched=", text->sched->name);
    th_text_add(text, "} %u\n", workers);
    thrum_metrics external;
    thrum_metrics all;
    read_external(text->sched, &external);
    read_all(text->sched, &all);
    for (size_t i = 0; i < FIELDS; i++) {
        const field *f = &fields[i];
        char name[SAMPLE_NAME];
        name_sample(f, name);
        th_text_add(text, "# HELP %s %s\n", name, f->help);
        th_text_add(text, "# TYPE %s %s\n", name, is_gauge(f) ? "gauge" : "counter");
        thrum_metrics m;
        for (unsigned worker = 0; workers_have(f) && worker < workers; worker++) {
            char label[16];
            snprintf(label, sizeof(label), "%u", worker);
            read_worker(text->sched, worker, &m);
            print_sample(text, f, label, figure(&m, f));
        }
        if (external_has(f)) {
            print_sample(text, f, "external", figure(&external, f));
        }
        if (!workers_have(f)) {
            print_sample(text, f, NULL, figure(&all, f));
        }
    }
}

static bool whole_has(const field *f) {
    return f != NULL;
}

/* Prints an object of the figures that its source has. */
static void print_object(th_text *text, const thrum_metrics *m, bool (*has)(const field *)) {
    const char *comma = "";
    th_text_add(text, "{");
    for (size_t i = 0; i < FIELDS; i++) {
        const field *f = &fields[i];
        if (!has(f)) {
            continue;
        }
        th_text_add(text, "%s\"%s\": %" PRIu64, comma, f->name, figure(m, f));
        comma = ", ";
    }
    th_text_add(text, "}");
}

void th_metrics_add(th_text *text) {
    unsigned workers = th_workers_end(text->sched);
    thrum_metrics m;
    th_text_add_quoted(text, "{\"sched\": ", text->sched->name);
    th_text_add(text, ",\n \"workers\": %u,\n \"all\": ", workers);
    read_all(text->sched, &m);
    print_object(text, &m, whole_has);
    th_text_add(text, ",\n \"external\": ");
    read_external(text->sched, &m);
    print_object(text, &m, external_has);
    th_text_add(text, ",\n \"worker\": [");
    for (unsigned worker = 0; worker < workers; worker++) {
        th_text_add(text, "%s", worker == 0 ? "\n  " : ",\n  ");
        read_worker(text->sched, worker, &m);
        print_object(text, &m, workers_have);
    }
    th_text_add(text, "]}\n");
}

int thrum_metrics_print(const thrum_sched *sched, FILE *out, thrum_format format) {
    static const th_dump_adder adders[TH_DUMP_FORMATS] = {[THRUM_TEXT] = print_text,
                                                          [THRUM_PROMETHEUS] = print_prometheus,
                                                          [THRUM_JSON] = th_metrics_add};
    return th_dump_print(sched, out, format, adders);
}
