/*
 * dump_signal.c: see dump_signal.h.
 */
#include "core/watch/dump_signal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/record/recorder.h"
#include "core/report/report.h"
#include "core/basis/caught.h"
#include "core/basis/config.h"
#include "platform/platform.h"

/* Bytes that are written at once. */
#define PAGE_BYTES 4096u

/* How long it waits for stderr before it looks whether a stop cannot wait any longer. */
#define PATIENCE_MS 20

static th_lock turn = TH_LOCK_INIT;   /* taken for a whole begin or end; protects the next three */
static unsigned users[TH_OS_SIGNALS]; /* schedulers that each signal asks */
static th_os_thread thread;           /* while there are some */
static unsigned asked_count;          /* how many there are */

static th_lock lock = TH_LOCK_INIT; /* protects the next four, and the list's members */
static thrum_sched *asked;          /* schedulers that a signal dumps, by next_asked */
static thrum_sched *dumped;         /* the scheduler being dumped, without the lock; or NULL */
static bool over;                   /* the thread is to end */
static uint32_t xdumps;             /* grows with each dump that is over; stops sleep on it */
static uint32_t xhurry;             /* 1: the dump's scheduler cannot wait for stderr any longer */

static uint32_t xcame[TH_OS_SIGNALS]; /* how often each signal has come */
static uint32_t xsequence;            /* grows with each of them; the thread sleeps on it */

/* In a handler, on any thread. */
static void on_signal(int number) {
    th_add_release(&xcame[number], 1u); /* pairs: dump_those_asked; the sender's writes */
    th_add_release(&xsequence, 1u);     /* pairs: serve; the count */
    th_os_futex_wake(&xsequence, 1);
}

/* ---- printing ---- */

/*
 * Waits until stderr takes a page: it may be a pipe that is full. False: a stop cannot wait any
 * longer, so the rest of the dump is dropped.
 */
static bool can_print(void) {
    /* relaxed: a flag; the stop's earlier writes do not matter here */
    while (!th_os_stderr_waits(PATIENCE_MS)) {
        if (th_load_relaxed(&xhurry)) {
            return false;
        }
    }
    return true;
}

static void to_stderr(void *ctx, const char *bytes, size_t length) {
    bool *left_out = ctx; /* nothing else is printed */
    *left_out = *left_out || !can_print();
    if (!*left_out) {
        th_os_stderr(bytes, length);
    }
}

static void dump(thrum_sched *sched) {
    bool left_out = false;
    char bytes[PAGE_BYTES];
    th_plain page = {.take = to_stderr, .ctx = &left_out, .bytes = bytes, .room = sizeof bytes};
    th_text text = {.put = th_text_put_plain, .ctx = &page, .sched = sched};
    th_report_dump(&text);
    th_plain_flush(&page);
    if (!left_out && can_print()) {
        th_recorder_write(sched);
    }
}

/* With the lock: one whose signal has come since it was dumped last, or NULL. */
static thrum_sched *next_asked(void) {
    for (thrum_sched *sched = asked; sched; sched = sched->next_asked) {
        /*
         * pairs: on_signal; the sender's writes. Signals that come from now on cause another
         * dump
         */
        uint32_t came = th_load_acquire(&xcame[sched->config.dump_signal]);
        if (came != sched->asked_told) {
            sched->asked_told = came;
            return sched;
        }
    }
    return NULL;
}

/* With the lock, which is not held during a dump: stderr may be a pipe that nobody reads. */
static void dump_those_asked(void) {
    while ((dumped = next_asked())) {
        thrum_sched *sched = dumped;
        th_store_relaxed(&xhurry, 0u); /* relaxed: with the lock, under which a stop sets it */
        th_lock_release(&lock);
        dump(sched);
        th_lock_acquire(&lock);
        dumped = NULL;
        th_add_relaxed(&xdumps, 1u); /* relaxed: the lock orders it */
        th_os_futex_wake(&xdumps, INT32_MAX);
    }
}

/* The thread: it ends when no scheduler is left. */
static void serve(void *arg) {
    (void)arg;
    th_os_thread_reports();
    for (;;) {
        uint32_t seen = th_load_acquire(&xsequence); /* pairs: on_signal, th_dump_signal_end */
        th_lock_acquire(&lock);
        dump_those_asked();
        bool ends = over;
        th_lock_release(&lock);
        if (ends) {
            return;
        }
        (void)th_os_futex_wait(&xsequence, seen, TH_FOREVER);
    }
}

/* ---- beginning and ending ---- */

static void enlist(thrum_sched *sched) {
    TH_LOCKED(&lock);
    /* relaxed: signals from before the start ask nothing of it */
    sched->asked_told = th_load_relaxed(&xcame[sched->config.dump_signal]);
    sched->next_asked = asked;
    asked = sched;
}

/* True: it was there. */
static bool strike(thrum_sched *sched) {
    TH_LOCKED(&lock);
    return TH_UNLINK(&asked, sched, next_asked);
}

/* Waits until a dump of it that has begun is over; from the deadline on that is cut short. */
static void await_dump(const thrum_sched *sched, int64_t deadline) {
    th_lock_acquire(&lock);
    while (dumped == sched) {
        const uint32_t seen = th_load_relaxed(&xdumps); /* relaxed: changes with the lock */
        th_lock_release(&lock);
        if (th_os_futex_wait(&xdumps, seen, deadline) == -ETIMEDOUT) {
            th_lock_acquire(&lock);
            /* relaxed: see can_print */
            th_store_relaxed(&xhurry, dumped == sched ? 1u : th_load_relaxed(&xhurry));
            th_lock_release(&lock);
            deadline = TH_FOREVER;
        }
        th_lock_acquire(&lock);
    }
    th_lock_release(&lock);
}

/* Both with `turn`. */
static int use(int signal) {
    int code = users[signal] ? 0 : th_caught_begin(signal, TH_OS_CATCH_DUMPS, on_signal);
    users[signal] += !code;
    return code;
}

static void unuse(int signal) {
    if (--users[signal] == 0) {
        th_caught_end(signal, TH_OS_CATCH_DUMPS);
    }
}

static int begin(thrum_sched *sched, int signal) {
    TH_LOCKED(&turn);
    int code = use(signal);
    if (!code) {
        enlist(sched);
        code = asked_count ? 0 : th_os_thread_start(&thread, "thrum/dump", serve, NULL);
        asked_count += !code;
    }
    if (code && strike(sched)) {
        unuse(signal);
    }
    return code;
}

/*
 * A wish of the environment is no reason to refuse to start: prints one line, and makes no
 * dumps.
 */
static int do_without(thrum_sched *sched, int code) {
    char name[TH_OS_SIGNAL_TEXT];
    char line[160];
    const char *why = th_os_error_text(-code);
    th_os_signal_name(sched->config.dump_signal, name);
    int length = snprintf(line, sizeof line, "thrum: THRUM_DUMP: no dumps at %s: %s\n", name,
                          why ? why : "the system refuses it");
    th_os_stderr(line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
    sched->config.dump_signal = 0;
    return 0;
}

int th_dump_signal_begin(thrum_sched *sched) {
    const int signal = sched->config.dump_signal;
    int code = signal ? begin(sched, signal) : 0;
    return code && th_config_env_dump() == signal ? do_without(sched, code) : code;
}

void th_dump_signal_end(thrum_sched *sched, int64_t deadline) {
    if (!sched->config.dump_signal || !strike(sched)) {
        return;
    }
    await_dump(sched, deadline); /* not with `turn`: others start and stop meanwhile */
    TH_LOCKED(&turn);
    unuse(sched->config.dump_signal);
    if (--asked_count == 0) {
        th_lock_acquire(&lock);
        over = true;
        th_lock_release(&lock);
        th_add_release(&xsequence, 1u); /* pairs: serve; that it is over */
        th_os_futex_wake(&xsequence, 1);
        th_os_thread_join(thread);
        over = false; /* no thread is left that reads it */
    }
}

void th_dump_signal_in_child(void) {
    th_lock_init(&turn);
    th_lock_init(&lock);
    asked = NULL;
    dumped = NULL;
    over = false;
    asked_count = 0;
    for (int i = 1; i < TH_OS_SIGNALS; i++) {
        th_caught_end(i, TH_OS_CATCH_DUMPS); /* also without users, as in io/signal.c */
        users[i] = 0;
    }
}
