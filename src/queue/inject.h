/*
 * inject.h: the unbounded inject queue; also used as a worker's inbox for pinned work.
 *
 * Producers push onto a stack (mpsc.h). Consumers take turns: the one with the turn takes the whole
 * stack, reverses it, and serves from that list, oldest first. The rest stays for the next turn.
 * Why turns: popping one by one from a shared list would read the link of work that another
 * consumer has already run and freed.
 *
 * Order:     of two pushes, the one whose exchange came first is served first.
 * Progress:  push is lock-free, without ABA, since only the whole stack is ever popped. A consumer
 *            that finds the turn taken gives up, and may sleep: the holder of the turn looks at the
 *            queue again after it has given the turn up, and wakes a worker if there is more.
 */
#ifndef TH_INJECT_H
#define TH_INJECT_H

#include <stdalign.h>

#include "queue/mpsc.h"

typedef struct th_inject {
    th_mpsc front;
    alignas(TH_CACHE_LINE) uint32_t xturn; /* 1 while a consumer has the turn */
    uint32_t xrest;                        /* 1 while `list` holds work; the holder writes it */
    th_chain list;                         /* work taken from `front`, oldest first; the holder's */
} th_inject;

static inline void th_inject_init(th_inject *inject) {
    *inject = (th_inject){0};
}

/* Any thread. Appends `count` works, linked from `first`. */
static inline void th_inject_push(th_inject *inject, th_work *first, size_t count) {
    th_mpsc_push(&inject->front, first, count);
}

/* Any thread. Whether it seems to be empty. After a full fence this is exact enough to park on. */
static inline bool th_inject_is_empty(const th_inject *inject) {
    /* relaxed: a guess, or ordered by the parker's fence */
    return th_mpsc_is_empty(&inject->front) && th_load_relaxed(&inject->xrest) == 0;
}

/* Any thread. The same as a number, for a caller that has more to test: 0 if it seems empty. */
static inline uintptr_t th_inject_seen(const th_inject *inject) {
    /* relaxed: a guess, as above */
    return (uintptr_t)th_load_relaxed(&inject->front.xtop) | th_load_relaxed(&inject->xrest);
}

/* Any thread. Whether a consumer has the turn; it looks again when it has given the turn up. */
static inline bool th_inject_is_taken(const th_inject *inject) {
    return th_load_relaxed(&inject->xturn) != 0; /* relaxed: as th_inject_is_empty */
}

/* Any thread. Takes the turn if it is free. */
static inline bool th_inject_turn_begin(th_inject *inject) {
    uint32_t free_turn = 0;
    /* relaxed: spares the exchange */
    return th_load_relaxed(&inject->xturn) == 0 &&
           /* pairs: th_inject_turn_end; the list as the last holder left it */
           th_cas_acquire(&inject->xturn, &free_turn, 1);
}

static inline void th_inject_turn_end(th_inject *inject) {
    /* relaxed: ordered before the turn's release; other threads only guess by it */
    th_store_relaxed(&inject->xrest, inject->list.first ? 1u : 0u);
    /* pairs: th_inject_turn_begin; publishes the list */
    th_store_release(&inject->xturn, 0);
}

/* With the turn. Takes one `of`th of the work (rounded up), but at most `most`, oldest first. */
static inline void th_inject_take_into(th_inject *inject, size_t of, size_t most, th_chain *taken) {
    th_chain_join(&inject->list, th_mpsc_drain(&inject->front));
    size_t want = inject->list.count / of + (inject->list.count % of ? 1 : 0);
    want = want < most ? want : most;
    *taken = (th_chain){0};
    if (want == 0) {
        return;
    }
    taken->first = inject->list.first;
    for (size_t i = 0; i < want; i++) {
        taken->last = inject->list.first;
        inject->list.first = th_work_next(inject->list.first);
    }
    if (!inject->list.first) {
        inject->list.last = NULL;
    }
    inject->list.count -= want;
    taken->count = want;
    th_work_link(taken->last, NULL);
}

static inline th_chain th_inject_take(th_inject *inject, size_t of, size_t most) {
    th_chain taken;
    th_inject_take_into(inject, of, most, &taken);
    return taken;
}

#endif
