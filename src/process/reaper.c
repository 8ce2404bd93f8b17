/*
 * reaper.c: see reaper.h.
 *
 * The reaper is one thread of the process, which sleeps in a set of the descriptors of all it has.
 * It is started for the first of them and ends with the last; nothing joins it. A process whose
 * end cannot be asked for yet, since a debugger has it, is late: it is looked at every so often.
 */
#include "process/reaper.h"

#include <errno.h>

#include "core/control/atfork.h"
#include "io/record.h"
#include "thrum/io.h"
#include "thrum/spawn.h"

#define EVENTS_MAX 16u
#define KEPT 64u          /* closed handles */
#define LATE_NS 100000000 /* between two looks at late processes */

static struct {
    th_lock lock;
    thrum_process *first; /* all that it has */
    th_os_pollset set;    /* while it runs */
    bool runs;
    bool late;       /* some are to be looked at every so often */
    uint32_t xcount; /* of the list; written with the lock */
} reaper;

/* ---- closed handles ---- */

void th_process_free(thrum_process *process) {
    static thrum_process *xkept[KEPT];
    static uint32_t xlast;
    /* relaxed: only that callers spread */
    thrum_process **place = &xkept[th_add_relaxed(&xlast, 1u) % KEPT];
    /* pairs: th_process_free; that only a mistake still uses the previous content */
    th_os_free(th_xchg_acq_rel(place, process));
}

/* ---- the reaper ---- */

/* With the lock. */
static void unlink_process(thrum_process *process) {
    TH_LIST_TAKE(&reaper.first, process, next, prev);
    th_store_relaxed(&reaper.xcount, reaper.xcount - 1); /* relaxed: a hint without the lock */
}

/* With the lock: has the system forget it, if it has ended. */
static bool reap(thrum_process *process) {
    if (!th_os_process_reap(&process->os)) {
        return false;
    }
    unlink_process(process);
    if (reaper.runs) { /* a program that is starting may have it, too, so a close is not enough */
        (void)th_os_pollset_remove(&reaper.set, process->os.fd);
    }
    (void)th_os_io_close(process->os.fd);
    th_process_free(process);
    return true;
}

/* With the lock. */
static void reap_events(const th_os_event events[], int n) {
    for (int i = 0; i < n; i++) {
        if (events[i].key == TH_OS_WAKE) {
            th_os_pollset_wake_take(&reaper.set);
        } else if (!reap((thrum_process *)(uintptr_t)events[i].key)) {
            reaper.late = true;
        }
    }
}

/* With the lock: looks at each, and whether some are late still. */
static void reap_late(void) {
    thrum_process *next;
    reaper.late = false;
    for (thrum_process *process = reaper.first; process; process = next) {
        next = process->next;
        if (!reap(process)) {
            const bool over = th_os_io_poll(process->os.fd, TH_OS_IN, -1, 0) > 0;
            reaper.late = reaper.late || process->unwatched || over;
        }
    }
}

static void reaper_main(void *arg) {
    (void)arg;
    bool late = false;
    bool last = false;
    while (!last) {
        th_os_event events[EVENTS_MAX];
        const int64_t deadline = late ? th_os_now() + LATE_NS : TH_FOREVER;
        int n = th_os_pollset_wait(&reaper.set, events, EVENTS_MAX, deadline);
        TH_LOCKED(&reaper.lock);
        reap_events(events, n);
        if (reaper.late) {
            reap_late();
        }
        late = reaper.late;
        last = !reaper.first;
        if (last) {
            reaper.runs = false;
            th_os_pollset_close(&reaper.set);
        }
    }
}

/* With the lock: puts it into the set; if the system refuses, it is looked at. */
static void watch(thrum_process *process) {
    process->unwatched = th_os_pollset_add(&reaper.set, process->os.fd, (uintptr_t)process) != 0;
    if (process->unwatched) {
        reaper.late = true;
        (void)th_os_pollset_wake(&reaper.set);
    }
}

/* With the lock: a set with all that there are, and the thread. */
static int start_reaper(void) {
    th_os_thread thread;
    reaper.late = false;
    int code = th_os_pollset_open(&reaper.set);
    if (code) {
        return code;
    }
    for (thrum_process *process = reaper.first; process; process = process->next) {
        watch(process);
    }
    code = th_os_thread_start(&thread, "thrum-reap", reaper_main, NULL);
    if (code) {
        th_os_pollset_close(&reaper.set);
        return code;
    }
    th_os_thread_detach(thread);
    reaper.runs = true;
    return 0;
}

/* In the child of a fork, on its only thread: the processes are the parent's. */
static void in_child(void) {
    th_lock_init(&reaper.lock);
    if (reaper.runs) {
        th_os_pollset_close(&reaper.set);
    }
    reaper.runs = false;
    reaper.first = NULL;
    reaper.xcount = 0;
}

void th_reaper_take(thrum_process *process) {
    th_atfork_in_child(in_child);
    TH_LOCKED(&reaper.lock);
    TH_LIST_PUSH(&reaper.first, process, next, prev);
    th_store_relaxed(&reaper.xcount, reaper.xcount + 1); /* relaxed: a hint without the lock */
    if (reaper.runs) {
        watch(process);
    } else if (start_reaper()) {
        reap_late(); /* for the rest a later call tries again */
    }
}

void th_reaper_look(void) {
    if (th_load_relaxed(&reaper.xcount) == 0) { /* relaxed: a hint */
        return;
    }
    TH_LOCKED(&reaper.lock);
    if (reaper.first && !reaper.runs && start_reaper()) {
        reap_late();
    }
}

/* ---- a thread for a process ---- */

/* With the lock, which it gives up: the last one frees it. */
static void drop(thrum_process *process) {
    bool last = --process->references == 0;
    th_lock_release(&process->lock);
    if (last) {
        th_process_free(process);
    }
}

static void watcher_main(void *arg) {
    thrum_process *process = arg;
    uint32_t begun;
    /* pairs: th_watcher_go; the process's number */
    while (!(begun = th_load_acquire(&process->xbegun))) {
        (void)th_os_futex_wait(&process->xbegun, 0, TH_FOREVER);
    }
    if (begun == TH_PROCESS_RUNS) {
        th_os_process_await(&process->os);
    }
    th_lock_acquire(&process->lock);
    process->seen = true;
    if (!process->closed) {
        th_os_wakeup_set(process->io.fd);
    } else if (begun == TH_PROCESS_RUNS) {
        (void)th_os_process_reap(&process->os);
    }
    drop(process);
}

int th_watcher_begin(thrum_process *process) {
    th_os_thread thread;
    int code = th_record_wakeup(&process->io);
    if (code) {
        return code;
    }
    process->references = 2;
    code = th_os_thread_start(&thread, "thrum-reap", watcher_main, process);
    if (code) {
        process->references = 1;
        (void)thrum_io_close(process->io);
        return code;
    }
    th_os_thread_detach(thread);
    return 0;
}

void th_watcher_go(thrum_process *process, uint32_t begun) {
    th_store_release(&process->xbegun, begun); /* pairs: watcher_main; the process's number */
    th_os_futex_wake(&process->xbegun, 1);
}

/* For an ended process: the thread sees the end, too, and reports it. */
static void await_watcher(const thrum_process *process) {
    th_os_ended ended;
    if (th_os_process_ended(&process->os, &ended)) {
        thrum_shield_begin();
        const int ready = thrum_io_wait(process->io, THRUM_IO_READ, THRUM_FOREVER);
        thrum_shield_end();
        (void)ready; /* else the thread will see that the handle is closed */
    }
}

void th_watcher_leave(thrum_process *process) {
    const bool runs = process->xbegun == TH_PROCESS_RUNS; /* written by a call before this one */
    if (runs) {
        await_watcher(process);
    }
    th_lock_acquire(&process->lock);
    process->closed = true;
    /*
     * Unless the thread has seen the end, it may be about to ask for it: then the thread drops the
     * result.
     */
    if (runs && process->seen) {
        (void)th_os_process_reap(&process->os);
    }
    th_lock_release(&process->lock);
    (void)thrum_io_close(process->io);
    th_lock_acquire(&process->lock);
    drop(process);
}
