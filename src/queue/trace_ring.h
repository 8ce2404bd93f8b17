/*
 * trace_ring.h: a trace ring: the last marks that a thread has left, which other threads may read
 * at any time.
 *
 * Words:      a *mark* is TH_TRACE_RING_WORDS words. The *owner* adds marks; mark n is in slot n %
 *             slots, and replaces the mark before it there. A mark may be left open: its owner sets
 *             its end later, in place. *Readers* copy marks, and learn which were overwritten.
 * Invariants: marks [0, xtail) were added. While the owner writes mark n, xtail is n; so the
 *             earlier marks from n - slots + 1 on are whole.
 * Progress:   each step of the owner is wait-free, and none is a locked instruction. Readers write
 *             nothing.
 *
 * queue/README.md, "trace ring", has the argument.
 */
#ifndef TH_TRACE_RING_H
#define TH_TRACE_RING_H

#include "base/atomic.h"

#define TH_TRACE_RING_WORDS 9
#define TH_TRACE_RING_END 0 /* the word that is set last; it is 0 while the mark is open */
#define TH_TRACE_RING_HOW 1 /* the word that is set just before it */

typedef struct th_mark {
    uint64_t word[TH_TRACE_RING_WORDS];
} th_mark;

typedef struct th_trace_ring {
    uint64_t mask;    /* constant: slots - 1 */
    uint64_t *xwords; /* constant; the owner writes the words */
    uint64_t xtail;   /* the number of marks added so far; the owner writes it */
} th_trace_ring;

/* `slots` is a power of two; `words` has room for that many marks, and is all zeroes. */
static inline void th_trace_ring_init(th_trace_ring *ring, uint64_t *words, uint64_t slots) {
    *ring = (th_trace_ring){.mask = slots - 1, .xwords = words};
}

static TH_INLINE_NO_TSAN uint64_t *th_trace_ring_slot(const th_trace_ring *ring, uint64_t n) {
    return &ring->xwords[(n & ring->mask) * TH_TRACE_RING_WORDS];
}

/* Owner only. Adds a mark, and returns its number. */
static TH_INLINE_NO_TSAN uint64_t th_trace_ring_add(th_trace_ring *ring, const th_mark *mark) {
    uint64_t n = th_load_relaxed(&ring->xtail); /* relaxed: only the owner writes it */
    uint64_t *slot = th_trace_ring_slot(ring, n);
    /* pairs: th_trace_ring_read; a reader of one of the words below sees xtail at n or beyond */
    th_fence_release();
    for (unsigned i = 0; i < TH_TRACE_RING_WORDS; i++) {
        th_store_relaxed(&slot[i], mark->word[i]); /* relaxed: published by xtail */
    }
    /* pairs: th_trace_ring_tail; publishes the mark */
    th_store_release(&ring->xtail, n + 1);
    return n;
}

/* Owner only. Sets the end of an open mark. False when it has been overwritten. */
static TH_INLINE_NO_TSAN bool th_trace_ring_end(th_trace_ring *ring, uint64_t n, uint64_t end,
                                                uint64_t how) {
    uint64_t *slot = th_trace_ring_slot(ring, n);
    /* relaxed: only the owner writes it */
    if (th_load_relaxed(&ring->xtail) - n > ring->mask) {
        return false;
    }
    th_store_relaxed(&slot[TH_TRACE_RING_HOW], how); /* relaxed: published by the end */
    /* pairs: th_trace_ring_read; publishes how it ended */
    th_store_release(&slot[TH_TRACE_RING_END], end);
    return true;
}

/* Owner only. Changes a word of an open mark; a reader may still see the old word. */
static TH_INLINE_NO_TSAN void th_trace_ring_change(th_trace_ring *ring, uint64_t n, unsigned i,
                                                   uint64_t word) {
    /* relaxed: only the owner writes it */
    if (th_load_relaxed(&ring->xtail) - n <= ring->mask) {
        th_store_relaxed(&th_trace_ring_slot(ring, n)[i],
                         word); /* relaxed: nothing depends on it */
    }
}

/* Any thread. How many marks were added; all of them may be asked for. */
static inline uint64_t th_trace_ring_tail(const th_trace_ring *ring) {
    return th_load_acquire(&ring->xtail); /* pairs: th_trace_ring_add; the marks */
}

/* The oldest mark that can still be there when `tail` marks were added. */
static inline uint64_t th_trace_ring_first(const th_trace_ring *ring, uint64_t tail) {
    return tail > ring->mask ? tail - ring->mask : 0;
}

/* Any thread. Copies mark n, which was added. False when it is, or may be, overwritten. */
static inline bool th_trace_ring_read(const th_trace_ring *ring, uint64_t n, th_mark *mark) {
    const uint64_t *slot = th_trace_ring_slot(ring, n);
    /* pairs: th_trace_ring_end; how it ended */
    mark->word[TH_TRACE_RING_END] = th_load_acquire(&slot[TH_TRACE_RING_END]);
    for (unsigned i = 0; i < TH_TRACE_RING_WORDS; i++) {
        if (i != TH_TRACE_RING_END) {
            /* relaxed: th_trace_ring_tail has acquired them; the fence below reveals newer words */
            mark->word[i] = th_load_relaxed(&slot[i]);
        }
    }
    th_fence_acquire(); /* pairs: th_trace_ring_add; xtail as it was before the newest word read */
    /* relaxed: ordered by the fence */
    return th_load_relaxed(&ring->xtail) - n <= ring->mask;
}

#endif
