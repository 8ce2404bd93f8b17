/*
 * items.h: work that a world's threads hand to each other, and the proof that each piece came to
 * exactly one of them, whole. All of it is plain data: if maker and taker, or two takers, are not
 * ordered, that shows as a race.
 */
#ifndef ITEMS_H
#define ITEMS_H

#include "queue/work.h"
#include "sim.h"

#define ITEMS_MAX 8u

typedef struct item {
    th_work work;
    unsigned value; /* written by its maker, read by its taker */
    unsigned taken;
} item;

static item items[ITEMS_MAX];

/* The i-th item for its pusher; no other thread knows it yet. */
static inline th_work *item_make(unsigned i) {
    items[i].value = i + 1;
    return &items[i].work;
}

/* The i-th to the n-th, but not that one, as a chain. */
static inline th_chain items_chain(unsigned i, unsigned n) {
    th_chain chain = {0};
    while (i < n) {
        th_chain_append(&chain, item_make(i++));
    }
    return chain;
}

/* Called by the taker of an item; returns its number. */
static inline unsigned item_take(th_work *work) {
    unsigned i = (unsigned)((item *)(void *)work - items);
    sim_check(i < ITEMS_MAX);
    sim_check(items[i].value == i + 1);
    unsigned before = items[i].taken++;
    sim_check(before == 0);
    return i;
}

/* One thread takes items from a queue in the order in which they were pushed. */
static inline void item_take_after(th_work *work, int *last) {
    int i = (int)item_take(work);
    sim_check(i > *last);
    *last = i;
}

static inline void items_all_taken(unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        sim_check(items[i].taken == 1);
    }
}

#endif
