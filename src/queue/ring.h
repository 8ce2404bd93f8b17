/*
 * ring.h: a worker's bounded queue. The owner pushes at the tail; the owner and any thief take from
 * the head with one compare-exchange, a thief up to half of the work in it.
 *
 * Words:      head and tail only grow (64 bits never wrap); slot i is at i & mask.
 * Invariant:  0 <= tail - head <= capacity; the slots in [head, tail) hold work.
 * Writers:    the owner writes tail and the slots; every thread that takes writes head.
 * Progress:   push is wait-free. A take is lock-free: it fails only when another thread took. A
 *             thief that is preempted, wherever it is, blocks no other thread.
 *
 * Why a thief may copy slots before it owns them: see queue/README.md, "ring".
 */
#ifndef TH_RING_H
#define TH_RING_H

#include <stdalign.h>

#include "base/atomic.h"
#include "base/check.h"
#include "queue/work.h"

typedef struct th_ring {
    alignas(TH_CACHE_LINE) uint64_t xhead; /* the next position to take; written by all takers */
    alignas(TH_CACHE_LINE) uint64_t xtail; /* the next position to fill; written by the owner */
    uint64_t head_seen;                    /* a head that the owner has acquired; the owner's */
    uint64_t mask;                         /* capacity - 1; constant */
    th_work **xslots;                      /* constant; capacity slots, written by the owner */
} th_ring;

static inline void th_ring_init(th_ring *ring, th_work **slots, uint64_t capacity) {
    th_debug(capacity && (capacity & (capacity - 1)) == 0);
    *ring = (th_ring){.mask = capacity - 1, .xslots = slots};
}

static inline uint64_t th_ring_capacity(const th_ring *ring) {
    return ring->mask + 1;
}

/* How much is in it: exact for the owner while no thief takes, else of some recent moment. */
static inline uint64_t th_ring_size(const th_ring *ring) {
    /* relaxed: a guess; a caller that acts on it takes by compare-exchange */
    uint64_t head = th_load_relaxed(&ring->xhead);
    uint64_t tail = th_load_relaxed(&ring->xtail);
    return tail > head ? tail - head : 0;
}

/*
 * For a thread that is about to park, after its fence: not less than its contents, while only the
 * owner takes. In a plain guess a new head and an old tail could make a long queue look short.
 */
static inline uint64_t th_ring_size_parking(const th_ring *ring) {
    /* pairs: th_ring_pop, th_ring_pop_many; the tail read next is not older than this head */
    uint64_t head = th_load_acquire(&ring->xhead);
    uint64_t tail = th_load_relaxed(&ring->xtail); /* relaxed: ordered by the fence and that load */
    return tail > head ? tail - head : 0;
}

/* Owner only. The position of the next push. */
static inline uint64_t th_ring_tail(const th_ring *ring) {
    return th_load_relaxed(&ring->xtail); /* relaxed: only the owner writes it */
}

/* Owner only. The position of the next take, or one before it if a thief has taken since. */
static inline uint64_t th_ring_head(const th_ring *ring) {
    return th_load_relaxed(&ring->xhead); /* relaxed: it only grows */
}

static inline th_work **th_ring_slot(const th_ring *ring, uint64_t index) {
    return &ring->xslots[index & ring->mask];
}

/* Owner only. How many more fit. */
static inline uint64_t th_ring_free(th_ring *ring) {
    uint64_t tail = th_load_relaxed(&ring->xtail); /* relaxed: only the owner writes it */
    /* pairs: th_ring_steal, th_ring_pop; their reads of the slots come before the next writes */
    ring->head_seen = th_load_acquire(&ring->xhead);
    return th_ring_capacity(ring) - (tail - ring->head_seen);
}

/* Owner only. False when the ring is full. */
static inline bool th_ring_push(th_ring *ring, th_work *work) {
    uint64_t tail = th_load_relaxed(&ring->xtail); /* relaxed: only the owner writes it */
    if (th_unlikely(tail - ring->head_seen > ring->mask) && th_ring_free(ring) == 0) {
        return false;
    }
    th_store_relaxed(th_ring_slot(ring, tail), work); /* relaxed: published by the tail */
    /* pairs: th_ring_steal; publishes the slot and the work behind it */
    th_store_release(&ring->xtail, tail + 1);
    return true;
}

/* Owner only. Appends up to `count` from the chain with one publication; returns how many. */
static inline uint64_t th_ring_push_chain(th_ring *ring, th_chain *chain, uint64_t count) {
    uint64_t tail = th_load_relaxed(&ring->xtail); /* relaxed: only the owner writes it */
    uint64_t room = th_ring_free(ring);
    uint64_t pushed = 0;
    while (pushed < count && pushed < room && chain->first) {
        /* relaxed: published by the tail */
        th_store_relaxed(th_ring_slot(ring, tail + pushed), th_chain_take(chain));
        pushed++;
    }
    /* pairs: th_ring_steal; publishes the slots and the work behind them */
    th_store_release(&ring->xtail, tail + pushed);
    return pushed;
}

/* Owner only. Takes the oldest work; NULL when there is none. */
static inline th_work *th_ring_pop(th_ring *ring) {
    uint64_t tail = th_load_relaxed(&ring->xtail); /* relaxed: only the owner writes it */
    uint64_t head = th_load_relaxed(&ring->xhead); /* relaxed: the exchange decides */
    /* lock-free: it fails only when a thief has taken; no ABA: head never comes back */
    while (head != tail) {
        th_work *work = th_load_relaxed(th_ring_slot(ring, head)); /* relaxed: the owner wrote it */
        /* pairs: th_ring_steal; a thief that acquires this head sees a tail not behind it */
        if (th_cas_release(&ring->xhead, &head, head + 1)) {
            return work;
        }
    }
    return NULL;
}

/*
 * Owner only. Takes up to `want` of the oldest, but at most half (rounded up), into `out`; returns
 * their number, and in *at the position of the first. The slots are read after they are taken, as
 * in th_ring_spill.
 */
static inline uint64_t th_ring_pop_many(th_ring *ring, th_work **out, uint64_t want, uint64_t *at) {
    uint64_t tail = th_load_relaxed(&ring->xtail); /* relaxed: only the owner writes it */
    uint64_t head = th_load_relaxed(&ring->xhead); /* relaxed: the exchange decides */
    while (head != tail) {
        uint64_t size = tail - head;
        uint64_t n = size - size / 2 < want ? size - size / 2 : want;
        /* lock-free: it fails only when a thief has taken; no ABA: head never comes back */
        /* pairs: th_ring_steal; as th_ring_pop */
        if (th_cas_release(&ring->xhead, &head, head + n)) {
            *at = head;
            for (uint64_t i = 0; i < n; i++) {
                /* relaxed: the owner wrote it */
                th_work_keep(&out[i], th_load_relaxed(th_ring_slot(ring, head + i)));
            }
            return n;
        }
    }
    return 0;
}

/*
 * Any thread. Takes up to half (rounded up), and at most `want`, of the oldest into `out`; returns
 * how many.
 */
static inline uint64_t th_ring_steal(th_ring *ring, th_work **out, uint64_t want) {
    for (;;) {
        /* pairs: th_ring_pop, th_ring_steal; the tail read next is not older than this head */
        uint64_t head = th_load_acquire(&ring->xhead);
        /* pairs: th_ring_push, th_ring_push_chain; the slots below it are written */
        uint64_t tail = th_load_acquire(&ring->xtail);
        uint64_t size = tail - head;
        if (size > th_ring_capacity(ring)) {
            continue; /* head moved on between the two loads */
        }
        uint64_t n = size - size / 2;
        n = n < want ? n : want;
        if (n == 0) {
            return 0;
        }
        for (uint64_t i = 0; i < n; i++) {
            /* relaxed: if the owner has written it again the exchange fails */
            th_work_keep(&out[i], th_load_relaxed(th_ring_slot(ring, head + i)));
        }
        /* lock-free: it fails only when another thread took; no ABA: head never comes back */
        /* pairs: th_ring_free, th_ring_steal; the slots are read before the owner's next write */
        if (th_cas_release(&ring->xhead, &head, head + n)) {
            return n;
        }
    }
}

/*
 * Owner only. Takes up to `want` of the oldest as a chain. The slots are read after they are taken,
 * which only the owner may do, since no other thread writes them; and the links may be written only
 * by the thread that has taken the work.
 */
static inline th_chain th_ring_spill(th_ring *ring, uint64_t want) {
    th_chain chain = {0};
    uint64_t tail = th_load_relaxed(&ring->xtail); /* relaxed: only the owner writes it */
    uint64_t head = th_load_relaxed(&ring->xhead); /* relaxed: the exchange decides */
    while (head != tail) {
        uint64_t n = tail - head < want ? tail - head : want;
        /* lock-free: it fails only when a thief has taken; no ABA: head never comes back */
        /* pairs: th_ring_steal; as th_ring_pop */
        if (th_cas_release(&ring->xhead, &head, head + n)) {
            for (uint64_t i = 0; i < n; i++) {
                /* relaxed: the owner wrote it */
                th_chain_append(&chain, th_load_relaxed(th_ring_slot(ring, head + i)));
            }
            break;
        }
    }
    return chain;
}

/* For debug builds, while no thread uses the ring. */
static inline bool th_ring_is_valid(const th_ring *ring) {
    return ring->xtail >= ring->xhead && ring->xtail - ring->xhead <= th_ring_capacity(ring) &&
           ring->head_seen <= ring->xhead;
}

#endif
