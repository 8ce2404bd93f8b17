/*
 * process_state.h: a program that was started. README.md has the states and the argument.
 */
#ifndef TH_PROCESS_STATE_H
#define TH_PROCESS_STATE_H

#include "base/atomic.h"
#include "core/basis/lock.h"
#include "platform/platform.h"
#include "thrum/process.h"

struct thrum_process {
    th_os_process os; /* constant, like the following, once it is started */
    thrum_io io;      /* ready to be read when it has ended: its descriptor, or the wake-up */
    int owner;        /* the process that has started it: a fork of that one may not touch it */
    unsigned flags;
    uint32_t xopen;             /* 0: the handle is closed; for misuse */
    uint32_t xinside;           /* calls that use it; for misuse */
    struct thrum_process *next; /* in the reaper's list; with its lock */
    struct thrum_process *prev;
    bool unwatched; /* it is not in the reaper's set; with the same lock */
    /* For the thread that waits where the system has no descriptors of processes: */
    uint32_t xbegun;     /* 0: not yet; TH_PROCESS_RUNS, TH_PROCESS_FAILED */
    uint32_t references; /* the handle, that thread; with the lock */
    th_lock lock;
    bool closed; /* that thread may not touch `io`, and has the system forget it; with the lock */
    bool seen;   /* it no longer asks for the number: the close may; with the lock */
};

#define TH_PROCESS_RUNS 1u
#define TH_PROCESS_FAILED 2u

/* Whether it leads a group. */
static inline bool th_process_leads(const thrum_process *process) {
    return (process->flags & (THRUM_PROCESS_GROUP | THRUM_PROCESS_SESSION)) != 0;
}

/*
 * Ends it, with its group if it leads one: 0, or why the process itself did not get the signal,
 * -ESRCH if it is gone.
 */
int th_process_end(const thrum_process *process);

#endif
