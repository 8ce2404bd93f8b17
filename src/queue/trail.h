/*
 * trail.h: a trace ring: the last marks that a thread has left, which other threads may read at any
 * time.
 *
 * Words:      a *mark* is TH_TRAIL_WORDS words. The *owner* adds marks; mark n stands in slot
 *             n % slots, in place of the one that stood there. A mark may be left open: its owner
 *             sets its end later, in place. *Readers* copy marks, and learn which were overwritten.
 * Invariants: marks [0, xtail) were added. While the owner writes mark n, xtail is n; so of the
 *             marks before it those from n - slots + 1 on are whole.
 * Progress:   each step of the owner is wait-free, and none is a locked instruction. Readers write
 *             nothing.
 *
 * queue/README.md, "trail", has the argument.
 */
#ifndef TH_TRAIL_H
#define TH_TRAIL_H

#include "base/atomic.h"

#define TH_TRAIL_WORDS 9
#define TH_TRAIL_END 0 /* the word that is set last; it is 0 while the mark is open */
#define TH_TRAIL_HOW 1 /* the word that is set just before it */

typedef struct th_mark {
    uint64_t word[TH_TRAIL_WORDS];
} th_mark;

typedef struct th_trail {
    uint64_t mask;    /* constant: slots - 1 */
    uint64_t *xwords; /* constant; the owner writes the words */
    uint64_t xtail;   /* the number of marks added so far; the owner writes it */
} th_trail;

/* `slots` is a power of two; `words` has room for that many marks, and is all zeroes. */
static inline void th_trail_init(th_trail *trail, uint64_t *words, uint64_t slots) {
    *trail = (th_trail){.mask = slots - 1, .xwords = words};
}

static TH_INLINE_NO_TSAN uint64_t *th_trail_slot(const th_trail *trail, uint64_t n) {
    return &trail->xwords[(n & trail->mask) * TH_TRAIL_WORDS];
}

/* Owner only. Adds a mark, and returns its number. */
static TH_INLINE_NO_TSAN uint64_t th_trail_add(th_trail *trail, const th_mark *mark) {
    uint64_t n = th_load_relaxed(&trail->xtail); /* relaxed: only the owner writes it */
    uint64_t *slot = th_trail_slot(trail, n);
    /* pairs: th_trail_read; a reader of one of the words below sees xtail at n or beyond */
    th_fence_release();
    for (unsigned i = 0; i < TH_TRAIL_WORDS; i++) {
        th_store_relaxed(&slot[i], mark->word[i]); /* relaxed: published by xtail */
    }
    /* pairs: th_trail_tail; publishes the mark */
    th_store_release(&trail->xtail, n + 1);
    return n;
}

/* Owner only. Sets the end of an open mark. False when it has been overwritten. */
static TH_INLINE_NO_TSAN bool th_trail_end(th_trail *trail, uint64_t n, uint64_t end,
                                           uint64_t how) {
    uint64_t *slot = th_trail_slot(trail, n);
    /* relaxed: only the owner writes it */
    if (th_load_relaxed(&trail->xtail) - n > trail->mask) {
        return false;
    }
    th_store_relaxed(&slot[TH_TRAIL_HOW], how); /* relaxed: published by the end */
    /* pairs: th_trail_read; publishes how it ended */
    th_store_release(&slot[TH_TRAIL_END], end);
    return true;
}

/* Owner only. Changes a word of an open mark; a reader may still see the old word. */
static TH_INLINE_NO_TSAN void th_trail_change(th_trail *trail, uint64_t n, unsigned i,
                                              uint64_t word) {
    /* relaxed: only the owner writes it */
    if (th_load_relaxed(&trail->xtail) - n <= trail->mask) {
        th_store_relaxed(&th_trail_slot(trail, n)[i], word); /* relaxed: nothing depends on it */
    }
}

/* Any thread. How many marks were added; all of them may be asked for. */
static inline uint64_t th_trail_tail(const th_trail *trail) {
    return th_load_acquire(&trail->xtail); /* pairs: th_trail_add; the marks */
}

/* The oldest mark that can still be there when `tail` marks were added. */
static inline uint64_t th_trail_first(const th_trail *trail, uint64_t tail) {
    return tail > trail->mask ? tail - trail->mask : 0;
}

/* Any thread. Copies mark n, which was added. False when it is, or may be, overwritten. */
static inline bool th_trail_read(const th_trail *trail, uint64_t n, th_mark *mark) {
    const uint64_t *slot = th_trail_slot(trail, n);
    /* pairs: th_trail_end; how it ended */
    mark->word[TH_TRAIL_END] = th_load_acquire(&slot[TH_TRAIL_END]);
    for (unsigned i = 0; i < TH_TRAIL_WORDS; i++) {
        if (i != TH_TRAIL_END) {
            /* relaxed: th_trail_tail has acquired them; the fence below reveals newer words */
            mark->word[i] = th_load_relaxed(&slot[i]);
        }
    }
    th_fence_acquire(); /* pairs: th_trail_add; xtail as it was before the newest word read */
    /* relaxed: ordered by the fence */
    return th_load_relaxed(&trail->xtail) - n <= trail->mask;
}

#endif
