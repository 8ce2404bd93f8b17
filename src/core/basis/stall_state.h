/*
 * stall_state.h: watching for stalls, if the config asks for that (core/watch/STALLS.md).
 */
#ifndef TH_STALL_STATE_H
#define TH_STALL_STATE_H

#include "base/cc.h"
#include "core/basis/lock.h"
#include "platform/platform.h"

/* The watcher's state; it sleeps on the word. */
enum { TH_STALLS_LOOKS, TH_STALLS_RESTS, TH_STALLS_ENDS };

typedef struct th_stalls {
    uint32_t xstate; /* as above */
    bool watched;    /* the watcher has a thread; written by the start, read by the stop */
    int signal;      /* constant: the signal for questions; else 0: none is wanted, or a code */
    th_os_thread thread;
    int64_t xpatience;               /* until then a report waits for stderr; the stop lowers it */
    uint64_t xtold;                  /* stalls that were reported; written by the watcher alone */
    struct th_stalls_memory *memory; /* the watcher's; NULL: stalls are not watched */
    th_lock lock;                    /* protects the latest stalls in `memory` */
} th_stalls;

#endif
