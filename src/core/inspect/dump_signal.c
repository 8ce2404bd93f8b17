/*
 * dump_signal.c: see dump_signal.h.
 */
#include "core/inspect/dump_signal.h"

#include <string.h>

#include "core/inspect/recorder.h"
#include "core/inspect/report.h"
#include "core/state/caught.h"
#include "platform/platform.h"

/* Bytes that are written at once. */
#define PAGE_BYTES 4096u

static th_lock turn = TH_LOCK_INIT;   /* taken for a whole begin or end; protects the next three */
static unsigned users[TH_OS_SIGNALS]; /* schedulers that each signal asks */
static th_os_thread thread;           /* while there are some */
static unsigned asked_count;          /* how many there are */

static th_lock lock = TH_LOCK_INIT; /* protects the list and what it holds; held during a dump */
static thrum_sched *asked;          /* those that a signal asks, by next_asked */

static uint32_t xcame[TH_OS_SIGNALS]; /* how often each signal has come */
static uint32_t xsequence;            /* grows with each of them; the thread sleeps on it */

/* In a handler, on any thread. */
static void on_signal(int number) {
    th_add_release(&xcame[number], 1u); /* pairs: dump_those_asked; what the sender did */
    th_add_release(&xsequence, 1u);     /* pairs: serve; the count */
    th_os_futex_wake(&xsequence, 1);
}

/* ---- printing ---- */

typedef struct page {
    size_t length;
    char bytes[PAGE_BYTES];
} page;

static void flush(page *p) {
    th_os_stderr(p->bytes, p->length);
    p->length = 0;
}

static void put_on_page(th_text *text, const char *piece, size_t length) {
    page *p = text->ctx;
    if (length > sizeof p->bytes - p->length) {
        flush(p);
    }
    memcpy(p->bytes + p->length, piece, length); /* a piece is shorter than a page (words.h) */
    p->length += length;
}

static void dump(thrum_sched *sched) {
    page p = {.length = 0};
    th_text text = {.put = put_on_page, .ctx = &p, .sched = sched};
    th_report_dump(&text, sched);
    flush(&p);
}

/* With the lock. */
static void dump_those_asked(void) {
    for (thrum_sched *sched = asked; sched; sched = sched->next_asked) {
        /* pairs: on_signal; what the sender did. Signals that come from now on ask once more */
        uint32_t came = th_load_acquire(&xcame[sched->config.dump_signal]);
        if (came != sched->asked_told) {
            sched->asked_told = came;
            dump(sched);
            th_recorder_write(sched);
        }
    }
}

/* The thread: it ends when no scheduler is left. */
static void serve(void *arg) {
    (void)arg;
    th_os_thread_reports();
    for (;;) {
        uint32_t seen = th_load_acquire(&xsequence); /* pairs: on_signal, th_dump_signal_end */
        th_lock_acquire(&lock);
        bool over = !asked;
        dump_those_asked();
        th_lock_release(&lock);
        if (over) {
            return;
        }
        (void)th_os_futex_wait(&xsequence, seen, TH_FOREVER);
    }
}

/* ---- beginning and ending ---- */

static void enlist(thrum_sched *sched) {
    th_lock_acquire(&lock);
    /* relaxed: signals from before the start ask nothing of it */
    sched->asked_told = th_load_relaxed(&xcame[sched->config.dump_signal]);
    sched->next_asked = asked;
    asked = sched;
    th_lock_release(&lock);
}

/* True: it was there. */
static bool strike(thrum_sched *sched) {
    th_lock_acquire(&lock);
    thrum_sched **at = &asked;
    while (*at && *at != sched) {
        at = &(*at)->next_asked;
    }
    bool found = *at != NULL;
    if (found) {
        *at = sched->next_asked;
    }
    th_lock_release(&lock);
    return found;
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

int th_dump_signal_begin(thrum_sched *sched) {
    const int signal = sched->config.dump_signal;
    if (!signal) {
        return 0;
    }
    th_lock_acquire(&turn);
    int code = use(signal);
    if (!code) {
        enlist(sched);
        code = asked_count ? 0 : th_os_thread_start(&thread, "thrum/dump", serve, NULL);
        asked_count += !code;
    }
    if (code && strike(sched)) {
        unuse(signal);
    }
    th_lock_release(&turn);
    return code;
}

void th_dump_signal_end(thrum_sched *sched) {
    if (!sched->config.dump_signal) {
        return;
    }
    th_lock_acquire(&turn);
    if (strike(sched)) {
        unuse(sched->config.dump_signal);
        if (--asked_count == 0) {
            th_add_release(&xsequence, 1u); /* pairs: serve; the list is empty */
            th_os_futex_wake(&xsequence, 1);
            th_os_thread_join(thread);
        }
    }
    th_lock_release(&turn);
}

void th_dump_signal_in_child(void) {
    th_lock_init(&turn);
    th_lock_init(&lock);
    asked = NULL;
    asked_count = 0;
    for (int i = 1; i < TH_OS_SIGNALS; i++) {
        th_caught_end(i, TH_OS_CATCH_DUMPS); /* also without users, as in io/signal.c */
        users[i] = 0;
    }
}
