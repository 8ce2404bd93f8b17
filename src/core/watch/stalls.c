/*
 * stalls.c: see stalls.h.
 */
#include "core/watch/stalls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/annotate.h"
#include "base/text.h"
#include "core/fiber/stack.h"
#include "core/inspect/gauges.h"
#include "core/inspect/print.h"
#include "core/record/recorder.h"
#include "core/report/words.h"
#include "core/due/fork_slots.h"
#include "core/basis/parkword.h"
#include "core/trace/tick_marks.h"
#include "platform/asymmetric.h"
#include "platform/platform.h"

#define LOOKS 2               /* looks in `stall_ms` */
#define ANSWER_NS 500000000ll /* the longest wait for an answer of a thread */
#define OVERDUE_NS 1000000    /* a deadline that is later by so much waits */

/* The result of the looks at one worker. */
typedef struct th_seen_run {
    uint64_t tick; /* its xtick at the last look */
    unsigned lone; /* its lone_yields at the last look */
    int64_t since; /* the time of the look that first saw this tick; 0: there was none */
    int64_t held;  /* the time that the looks since then represent */
    uint64_t told; /* the number of its report; 0: it has not been reported */
} th_seen_run;

struct th_stalls_memory {
    int64_t looked_at; /* the time of the last look */
    th_os_answer answer;
    uint64_t told;                     /* reports so far; this and the next with the lock */
    th_stalled latest[TH_STALLED_MAX]; /* number n is at n % TH_STALLED_MAX */
    th_seen_run runs[];                /* of each worker, by its number */
};

/* A run that is reported. */
typedef struct th_stall {
    const th_worker *worker;
    const th_seen_run *run;
    uint64_t id;
    uintptr_t fn;             /* the task's function, or 0 */
    th_backtrace_stack stack; /* of its fiber */
    unsigned stack_class;     /* likewise */
    char name[THRUM_NAME_MAX + 1];
    int64_t found_at;  /* the time at which it was found */
    bool waits;        /* its thread waits in a system call */
    bool computes;     /* its thread runs, or waits for a processor */
    uintptr_t at;      /* the place where its thread is, or 0 */
    unsigned calls;    /* words of its backtrace */
    const char *blind; /* why there are no calls, or NULL */
} th_stall;

static int64_t interval(const thrum_sched *sched) {
    return (int64_t)sched->config.stall_ms * 1000000 / LOOKS;
}

/* ---- the run ---- */

static bool is_over(const th_stall *stall) {
    const uint64_t tick = th_load_relaxed(&stall->worker->xtick); /* relaxed: as of some moment */
    return tick != stall->run->tick;
}

/*
 * Finds the task that runs on the worker; false: no task's body runs, or it has picked again
 * meanwhile. Hidden from the thread sanitizer, like all such reads (snapshot.c).
 */
static TH_NO_TSAN bool see(th_stall *stall) {
    const th_fiber *fiber = th_running_on(stall->worker);
    if (!fiber) {
        return false;
    }
    stall->id = fiber->run_id;
    stall->fn = th_fiber_function(fiber);
    stall->stack = (th_backtrace_stack){(uintptr_t)fiber->stack.bottom, (uintptr_t)fiber};
    stall->stack_class = fiber->stack.class_index;
    th_snapshot_name(stall->name, sizeof stall->name, fiber->name);
    return !is_over(stall);
}

/* ---- the latest ---- */

/* With the lock: the report of a run, or NULL: there were so many since. */
static th_stalled *kept(const thrum_sched *sched, uint64_t number) {
    th_stalled *stalled = &sched->stalls.memory->latest[number % TH_STALLED_MAX];
    return number && stalled->number == number ? stalled : NULL;
}

/* Before its names are known. Its number. */
static uint64_t keep(thrum_sched *sched, const th_stall *stall) {
    struct th_stalls_memory *memory = sched->stalls.memory;
    TH_LOCKED(&sched->stalls.lock);
    const uint64_t number = ++memory->told;
    th_stalled *stalled = &memory->latest[number % TH_STALLED_MAX];
    *stalled = (th_stalled){.number = number,
                            .since = stall->run->since,
                            .until = stall->found_at,
                            .tick = stall->run->tick,
                            .worker = stall->worker->index,
                            .id = stall->id};
    memcpy(stalled->name, stall->name, sizeof stalled->name);
    return number;
}

static void copy_text(char to[TH_CALL_TEXT], const char *from) {
    const size_t length = strnlen(from, TH_CALL_TEXT - 1);
    memcpy(to, from, length);
    to[length] = '\0';
}

static void keep_texts(th_text *text, const th_stall *stall, uint64_t number) {
    char function[TH_CALL_TEXT] = "";
    char call[TH_CALL_TEXT] = "";
    unsigned at = 0;
    const th_known_call *place =
        stall->at ? th_code_names_known(&text->names, stall->at, false) : NULL;
    const char *first = place && place->is_call ? place->text : NULL;
    if (!first && text->backtrace) {
        first = th_backtrace_next(text->backtrace, 0, stall->calls, &at, 0);
    }
    copy_text(call, first ? first : "");
    if (stall->fn) {
        char found[TH_CALL_TEXT];
        copy_text(function, th_code_names_function(&text->names, stall->fn, found));
    }
    TH_LOCKED(&text->sched->stalls.lock);
    th_stalled *stalled = kept(text->sched, number);
    if (stalled) {
        stalled->waits = stall->waits;
        memcpy(stalled->function, function, sizeof function);
        memcpy(stalled->call, call, sizeof call);
    }
}

/* A run that was reported goes on, or is over. */
static void follow(thrum_sched *sched, uint64_t number, int64_t now, bool over) {
    TH_LOCKED(&sched->stalls.lock);
    th_stalled *stalled = kept(sched, number);
    if (stalled) {
        stalled->over = over;
        stalled->until = over ? stalled->until : now;
    }
}

unsigned th_stalls_latest(thrum_sched *sched, th_stalled out[]) {
    const struct th_stalls_memory *memory = sched->stalls.memory;
    unsigned n = 0;
    TH_LOCKED(&sched->stalls.lock);
    for (uint64_t number = memory ? memory->told : 0; number && n < TH_STALLED_MAX; number--) {
        out[n] = memory->latest[number % TH_STALLED_MAX];
        const th_worker *worker = &sched->workers[out[n].worker];
        /* relaxed: only whether it has moved; the watchdog may rest since */
        const bool moved = th_load_relaxed(&worker->xtick) != out[n].tick;
        out[n].over = out[n].over || moved || th_seems_parked(worker);
        n++;
    }
    return n;
}

/* ---- its calls ---- */

/* Asks the thread, which runs. */
static void ask(th_stall *stall, th_backtrace *backtrace) {
    const th_stalls *stalls = &stall->worker->sched->stalls;
    th_os_answer *answer = &stalls->memory->answer;
    const th_os_question question = {
        .number = th_load_relaxed(&stall->worker->xtid), /* relaxed: written at its beginning */
        .low = stall->stack.low,
        .high = stall->stack.high,
        .xtick = &stall->worker->xtick,
        .tick = stall->run->tick,
    };
    if (stalls->signal <= 0) {
        stall->blind = stalls->signal ? "there is no signal for it" : "stall_signal is 0";
        return;
    }
    int code = th_os_probe(stalls->signal, &question, th_os_now() + ANSWER_NS, answer);
    if (code) {
        stall->blind = code == -ESRCH       ? "it has gone on"
                       : code == -ETIMEDOUT ? "its thread did not answer"
                                            : "there is no signal for it";
        return;
    }
    stall->computes = true;
    stall->at = answer->at;
    if (answer->after) { /* it comes before the calls on the stack */
        answer->count -= answer->count == TH_OS_PROBE_WORDS;
        memmove(answer->words + 1, answer->words, answer->count * sizeof answer->words[0]);
        answer->words[0] = answer->after;
        answer->count++;
    }
    if (backtrace) {
        stall->calls = th_backtrace_take(backtrace, 0, answer->words, answer->count);
    }
}

/*
 * Finds the calls. A thread that waits in a system call is read from outside, as in a dump: a
 * signal would end some calls early. Only a thread that runs, or waits for a processor, gets the
 * signal.
 */
static void find_calls(th_stall *stall, th_backtrace *backtrace) {
    th_stacks *stacks = &stall->worker->sched->stacks;
    uint64_t number = th_load_relaxed(&stall->worker->xtid); /* relaxed: as in ask */
    th_stacks_hold(stacks, stall->stack_class); /* else it may go on, and the stack be trimmed */
    uintptr_t pointer = number ? th_os_thread_pointer(number) : 0;
    const bool is_there = pointer >= stall->stack.low && pointer < stall->stack.high;
    if (is_there && backtrace) {
        stall->calls = th_backtrace_scan(backtrace, 0, stall->stack, pointer, NULL);
    }
    th_stacks_let_go(stacks, stall->stack_class);
    if (backtrace) {
        th_backtrace_ends(backtrace, 0, stall->fn);
    }
    stall->waits = pointer != 0;
    /* If the system does not report it, the thread may be asleep: a signal would end that. */
    stall->computes = !pointer && th_os_thread_runs(number);
    if (stall->computes) {
        ask(stall, backtrace);
    } else if (!pointer) {
        stall->blind = "the system does not give them";
    } else if (!is_there) {
        stall->blind = "it is on another stack";
    } else if (backtrace && is_over(stall)) {
        stall->calls = 0; /* words of several moments */
        stall->blind = "it has gone on";
    }
}

static void add_calls(th_text *text, const th_stall *stall) {
    unsigned at = 0;
    unsigned told = 0;
    const char *call;
    const th_known_call *place =
        stall->at ? th_code_names_known(&text->names, stall->at, false) : NULL;
    if (place && place->is_call) {
        th_text_add_plain(text, "    in ", place->text);
        th_text_add(text, "\n");
    }
    while (text->backtrace && told < text->calls_max &&
           (call = th_backtrace_next(text->backtrace, 0, stall->calls, &at, told))) {
        told++;
        th_text_add_plain(text, "    at ", call);
        th_text_add(text, "\n");
    }
    if (stall->blind) {
        th_text_add(text, "    its calls are not known: %s\n", stall->blind);
    }
}

/* ---- work waiting behind it ---- */

/* Pinned work that the worker has collected: its own list, so not shown to the sanitizer. */
static TH_NO_TSAN uint64_t pinned_at(const th_worker *worker) {
    return *(const volatile size_t *)&worker->pinned.count +
           *(const volatile size_t *)&worker->pinned_yields.count;
}

/* Adds "behind it wait ", or ", ", before the next kind. */
static void add_kind(th_text *text, bool *any) {
    th_text_add(text, *any ? ", " : "  behind it wait: ");
    *any = true;
}

static void add_behind(th_text *text, const th_worker *worker) {
    bool any = false;
    const uint64_t queued = th_gauges_queued_at(worker);
    const int64_t now = th_os_now();
    /* relaxed: a guess */
    const int64_t first = th_load_relaxed(&worker->own_timers.xearliest);
    if (queued) {
        add_kind(text, &any);
        th_text_add(text, "%" PRIu64 " queued at the worker", queued);
    }
    if (pinned_at(worker) || !th_inject_is_empty(&worker->inbox) ||
        th_load_relaxed(&worker->xtied_priorities)) { /* relaxed: a guess */
        add_kind(text, &any);
        th_text_add(text, "work that is tied to the worker");
    }
    if (th_forks_left_at(worker)) {
        add_kind(text, &any);
        th_text_add(text, "forks of its own");
    }
    if (first != INT64_MAX && now - first >= OVERDUE_NS) {
        add_kind(text, &any);
        th_text_add(text, "a deadline");
        th_text_add_deadline(text, first);
    }
    th_text_add(text, any ? "\n" : "  nothing waits behind it\n");
}

/* "  9 queued in all; 2 of 4 workers are free, 1 spare takes over": these count apart. */
static void add_all(th_text *text, thrum_sched *sched) {
    th_gauges gauges;
    unsigned runs = 0;
    unsigned idle = 0;
    for (unsigned i = 0; i < th_workers_end(sched); i++) {
        const bool parked = th_seems_parked(&sched->workers[i]);
        runs += !parked;
        idle += parked && !th_is_spare(&sched->workers[i]);
    }
    const unsigned regular = sched->workers_regular;
    /* relaxed: a guess */
    const unsigned idle_spares = th_load_relaxed(&sched->spare_set.xidle_spares);
    const unsigned spares = sched->workers_count - regular - idle_spares;
    th_gauges_take(sched, &gauges);
    const uint64_t busy = runs + gauges.deferred;
    const uint64_t queued = gauges.runnable > busy ? gauges.runnable - busy : 0;
    th_text_add(text, "  %" PRIu64 " queued in all; ", queued);
    if (idle) {
        th_text_add(text, "%u of %u workers %s free", idle, regular, idle == 1 ? "is" : "are");
    } else {
        th_text_add(text, "no worker is free");
    }
    if (spares) {
        th_text_add(text, ", %u spare%s", spares, spares == 1 ? " takes over" : "s take over");
    }
    th_text_add(text, "\n");
}

/* ---- reporting ---- */

static void add_head(th_text *text, const th_stall *stall) {
    const thrum_sched *sched = text->sched;
    th_text_add_quoted(text, "thrum: stall in scheduler ", sched->name);
    th_text_add(text, ": fiber ");
    th_words_fiber(text, stall->id, stall->name);
    th_words_function(text, stall->fn);
    th_text_add(text, " runs on worker %u for at least ", stall->worker->index);
    th_text_add_duration(text, (uint64_t)(stall->found_at - stall->run->since));
    th_text_add(text, "%s%s\n",
                stall->waits      ? ", in a system call"
                : stall->computes ? ", computing"
                                  : "",
                is_over(stall) ? "; it has gone on since" : "");
}

static void hand_over(thrum_sched *sched, const char *report) {
    const thrum_config *config = &sched->config;
    th_count(&sched->stalls.xtold, 1);
    if (config->stall) {
        config->stall(config->hook_ctx, report);
    } else {
        th_print_until(report, &sched->stalls.xpatience);
    }
}

static void tell(thrum_sched *sched, th_stall *stall, uint64_t number) {
    th_text text;
    th_text_begin(&text, sched);
    text.calls_max = TH_CALLS_OF_DUMP;
    th_code_names_begin(&text.names, sched);
    text.backtrace = th_backtrace_begin(sched, &text.names);
    find_calls(stall, text.backtrace);
    keep_texts(&text, stall, number);
    add_head(&text, stall);
    add_calls(&text, stall);
    add_behind(&text, stall->worker);
    add_all(&text, sched);
    th_backtrace_end(sched, text.backtrace);
    th_code_names_end(&text.names);
    hand_over(sched, text.bytes ? text.bytes : "thrum: stall; no memory for the report\n");
    th_text_free(&text);
    th_recorder_write_stall(sched);
}

/* ---- looking ---- */

/* Yields that found no other work are no picks, and yet the task would let others go first. */
static TH_NO_TSAN unsigned lone_yields_of(const th_worker *worker) {
    return *(const volatile unsigned *)&worker->lone_yields;
}

static void look_at(thrum_sched *sched, unsigned i, int64_t now, int64_t span) {
    const th_worker *worker = &sched->workers[i];
    th_seen_run *run = &sched->stalls.memory->runs[i];
    uint64_t tick = th_load_relaxed(&worker->xtick); /* relaxed: only whether it moves */
    const unsigned lone = lone_yields_of(worker);
    const th_seen_run fresh = {.tick = tick, .lone = lone, .since = now};
    if (!run->since || tick != run->tick || lone != run->lone || th_seems_parked(worker)) {
        if (run->told) {
            follow(sched, run->told, now, true);
        }
        *run = fresh;
        return;
    }
    if (run->told) {
        follow(sched, run->told, now, false);
        return;
    }
    run->held += span;
    if (run->held >= (int64_t)sched->config.stall_ms * 1000000) {
        th_stall stall = {.worker = worker, .run = run, .found_at = now};
        if (!see(&stall)) { /* it looks for work */
            *run = fresh;
            return;
        }
        run->told = keep(sched, &stall);
        tell(sched, &stall, run->told);
    }
}

/* A late look counts as one in time: perhaps the process was stopped, or starved. */
static void look(thrum_sched *sched) {
    struct th_stalls_memory *memory = sched->stalls.memory;
    int64_t now = th_os_now();
    int64_t span = now - memory->looked_at;
    span = span < interval(sched) ? span : interval(sched);
    memory->looked_at = now;
    th_tick_marks_note(sched, now);
    for (unsigned i = 0; i < th_workers_end(sched); i++) {
        look_at(sched, i, now, span);
    }
}

/* ---- the watchdog ---- */

static bool all_parked(const thrum_sched *sched) {
    /* relaxed: a guess, or ordered by the fence in rest */
    return th_park_parked(th_load_relaxed(&sched->xpark)) == sched->workers_count;
}

/*
 * Announces that it rests, and looks again: then each worker that goes on is seen here, or sees the
 * announcement when it has found work (th_watched_find).
 */
static void rest(thrum_sched *sched) {
    th_stalls *stalls = &sched->stalls;
    uint32_t state = TH_STALLS_LOOKS;
    /* relaxed: ordered by the fence; it publishes nothing */
    if (!th_cas_relaxed(&stalls->xstate, &state, (uint32_t)TH_STALLS_RESTS)) {
        return;
    }
    if (th_fence_heavy() && all_parked(sched)) {
        /* relaxed: the futex compares it again */
        while (th_load_relaxed(&stalls->xstate) == TH_STALLS_RESTS) {
            (void)th_os_futex_wait(&stalls->xstate, TH_STALLS_RESTS, TH_FOREVER);
        }
    }
    state = TH_STALLS_RESTS;
    /* relaxed: as above; it may have been roused, or ended */
    (void)th_cas_relaxed(&stalls->xstate, &state, (uint32_t)TH_STALLS_LOOKS);
}

/* Between two rests there is a sleep, so that workers are not troubled at each of their own. */
static void watch(void *arg) {
    thrum_sched *sched = arg;
    th_stalls *stalls = &sched->stalls;
    th_os_thread_reports();
    th_thread_self()->watches = sched; /* a stop in a hook would wait for this thread */
    /* relaxed: the stopper's earlier writes do not matter here */
    while (th_load_relaxed(&stalls->xstate) != TH_STALLS_ENDS) {
        look(sched);
        int64_t until = th_os_now() + interval(sched);
        /* relaxed: as above */
        while (th_load_relaxed(&stalls->xstate) == TH_STALLS_LOOKS &&
               th_os_futex_wait(&stalls->xstate, TH_STALLS_LOOKS, until) != -ETIMEDOUT) {
        }
        if (all_parked(sched)) {
            rest(sched);
        }
    }
}

/* ---- beginning and end ---- */

bool th_stalls_make(thrum_sched *sched) {
    th_stalls *stalls = &sched->stalls;
    if (!sched->config.stall_ms || !sched->workers_count) {
        return true;
    }
    size_t runs = sched->workers_count * sizeof(th_seen_run);
    stalls->memory = th_sched_alloc(sched, sizeof *stalls->memory + runs);
    if (!stalls->memory) {
        return false;
    }
    stalls->xpatience = TH_FOREVER;
    unsigned wanted = sched->config.stall_signal;
    if (wanted) {
        stalls->signal = th_os_probe_open(wanted == THRUM_SIGNAL_AUTO ? 0 : (int)wanted,
                                          sched->config.dump_signal);
    }
    return true;
}

void th_stalls_start(thrum_sched *sched) {
    th_stalls *stalls = &sched->stalls;
    char name[24]; /* the system keeps 15 bytes of it */
    if (!stalls->memory) {
        return;
    }
    snprintf(name, sizeof name, "%.*s/stalls", (int)th_text_cut(sched->name, 8), sched->name);
    stalls->watched = th_os_thread_start(&stalls->thread, name, watch, sched) == 0;
}

void th_stalls_stop(thrum_sched *sched, int64_t deadline) {
    th_stalls *stalls = &sched->stalls;
    if (stalls->watched) {
        th_store_relaxed(&stalls->xpatience, deadline); /* relaxed: a time, seen soon */
        th_store_relaxed(&stalls->xstate, (uint32_t)TH_STALLS_ENDS); /* relaxed: see watch */
        th_os_futex_wake(&stalls->xstate, 1);
        th_os_thread_join(stalls->thread);
    }
}

void th_stalls_free(thrum_sched *sched) {
    if (sched->stalls.signal > 0) {
        th_os_probe_close(sched->stalls.signal);
    }
    th_sched_free(sched, sched->stalls.memory);
}
