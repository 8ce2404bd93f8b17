/*
 * combiner.h: the choice of the combiner: at most one thread is, no thread waits to become it, and
 * a one-bit signal reaches it.
 *
 * A thread that finds another combiner sets the signal and goes away. The combiner sees it in the
 * step that gives its place up, and then does that thread's work. So no thread blocks: one that
 * must wait sleeps where any work wakes it.
 *
 *     0              there is no combiner
 *     HELD           a thread is the combiner
 *     HELD | SIGNAL  a thread is the combiner, and another has come since
 *
 * Progress:  wait-free except for a bounded number of rounds: each other writer ends the loop.
 * Cost:      one locked instruction to take the place, one to give it up, one to signal; a signal
 *            that is already set costs only a load.
 */
#ifndef TH_COMBINER_H
#define TH_COMBINER_H

#include "base/atomic.h"

#define TH_COMBINER_HELD 1u
#define TH_COMBINER_SIGNAL 2u

typedef struct th_combiner {
    uint32_t xcombiner;
} th_combiner;

/* True: the caller is the combiner now. False: another thread is, and the signal is set. */
static inline bool th_combiner_take(th_combiner *combiner) {
    /* relaxed: the exchange decides. Only a caller that has not fenced may read a signal that is
     * gone by now, and such a caller looks again before it sleeps (th_combiner_signal) */
    uint32_t word = th_load_relaxed(&combiner->xcombiner);
    while (word != (TH_COMBINER_HELD | TH_COMBINER_SIGNAL)) {
        /* lock-free: it fails only when the place was taken, given up or signalled meanwhile */
        /* pairs: th_combiner_give; the last combiner's writes */
        if (th_cas_acquire(&combiner->xcombiner, &word,
                           word ? word | TH_COMBINER_SIGNAL : TH_COMBINER_HELD)) {
            return !word;
        }
    }
    return false;
}

/*
 * For a thread that is about to sleep, after a full fence. True: another thread is the combiner,
 * and will look at the queues when it ends. False: there is none, or was none at a moment of the
 * call.
 */
static inline bool th_combiner_signal(th_combiner *combiner) {
    uint32_t word = th_load_relaxed(&combiner->xcombiner); /* relaxed: ordered by the fence */
    while (word == TH_COMBINER_HELD) {
        /* lock-free: it fails only when the place was given up or signalled */
        /* relaxed: the caller's fence and the combiner's order the caller's earlier writes */
        if (th_cas_relaxed(&combiner->xcombiner, &word, TH_COMBINER_HELD | TH_COMBINER_SIGNAL)) {
            return true;
        }
    }
    return word != 0;
}

/*
 * The combiner gives its place up. True when another came for it: the caller then fences, and
 * looks.
 */
static inline bool th_combiner_give(th_combiner *combiner) {
    /*
     * pairs: th_combiner_take; the combiner's writes. The signallers' writes are seen after the
     * fence
     */
    return th_xchg_release(&combiner->xcombiner, 0u) & TH_COMBINER_SIGNAL;
}

#endif
