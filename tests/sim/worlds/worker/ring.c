/*
 * ring.c: a worker's ring (queue/README.md, "ring"): the owner pushes, pops, takes batches and
 * spills, thieves steal. Rings of 2 and 4, so that pushes meet the end and slots are written again
 * at once. worlds/worker/ring_order.c has the properties that only the orders' own rules show.
 */
#include "queue/ring.h"

#include "items.h"
#include "queue/inject.h"

static th_work *slots[4];
static th_ring ring;

/* A thief's behaviour in this world. */
static unsigned thief_rounds;
static uint64_t thief_want;

static void begin(uint64_t capacity, unsigned rounds, uint64_t want) {
    th_ring_init(&ring, slots, capacity);
    thief_rounds = rounds;
    thief_want = want;
}

static void thief(void *arg) {
    (void)arg;
    th_work *got[4];
    int last = -1;
    for (unsigned round = 0; round < thief_rounds; round++) {
        uint64_t n = th_ring_steal(&ring, got, thief_want);
        sim_check(n <= thief_want && n <= (th_ring_capacity(&ring) + 1) / 2);
        for (uint64_t i = 0; i < n; i++) {
            item_take_after(got[i], &last);
        }
    }
}

static bool pop(int *last) {
    th_work *work = th_ring_pop(&ring);
    if (work) {
        item_take_after(work, last);
    }
    return work;
}

/*
 * Pushes items `first` to n one by one; when the ring is full one is popped first. Then it pops the
 * rest.
 */
static void push_and_pop(unsigned first, unsigned n, int *last) {
    for (unsigned i = first; i < n; i++) {
        th_work *work = item_make(i);
        while (!th_ring_push(&ring, work)) {
            pop(last);
        }
    }
    while (pop(last)) {
    }
}

static void finish(const int thieves[], unsigned n, unsigned count) {
    for (unsigned i = 0; i < n; i++) {
        sim_join(thieves[i]);
    }
    sim_check(th_ring_is_valid(&ring) && th_ring_size(&ring) == 0);
    items_all_taken(count);
}

/*
 * Owner and thief take the same work, and a slot is written again while it is read: a ring of 2 is
 * full at every second push.
 */
SIM_WORLD(ring_steal, .exhaustive = true) {
    int last = -1;
    begin(2, 2, 2);
    int t = sim_spawn(thief, NULL);
    push_and_pop(0, 4, &last);
    finish(&t, 1, 4);
}

/* Two thieves and the owner share one head. */
SIM_WORLD(ring_two_thieves, .exhaustive = true) {
    int last = -1;
    begin(2, 2, 2);
    int thieves[2] = {sim_spawn(thief, NULL), sim_spawn(thief, NULL)};
    push_and_pop(0, 4, &last);
    finish(thieves, 2, 4);
}

/* Thieves take half of 4: two at a time, over the end of the array. */
SIM_WORLD(ring_steal_half) {
    int last = -1;
    begin(4, 2, 4);
    int thieves[2] = {sim_spawn(thief, NULL), sim_spawn(thief, NULL)};
    push_and_pop(0, 7, &last);
    finish(thieves, 2, 7);
}

/* steal = one: the limit is below half. */
SIM_WORLD(ring_steal_one) {
    int last = -1;
    begin(4, 3, 1);
    int thieves[2] = {sim_spawn(thief, NULL), sim_spawn(thief, NULL)};
    push_and_pop(0, 6, &last);
    finish(thieves, 2, 6);
}

/*
 * The first batch is published at once as a whole; the second as far as it fits (submit_chain): the
 * rest stays in the chain, in order.
 */
SIM_WORLD(ring_push_chain, .exhaustive = true) {
    int last = -1;
    begin(4, 2, 2);
    int thieves[2] = {sim_spawn(thief, NULL), sim_spawn(thief, NULL)};
    th_chain chain = items_chain(0, 3);
    sim_check(th_ring_push_chain(&ring, &chain, 3) == 3 && !chain.first);
    chain = items_chain(3, 7);
    while (chain.first) {
        uint64_t before = chain.count;
        uint64_t pushed = th_ring_push_chain(&ring, &chain, chain.count);
        sim_check(chain.count == before - pushed);
        if (chain.first) {
            pop(&last);
        }
    }
    while (pop(&last)) {
    }
    finish(thieves, 2, 7);
}

/* Only the publication of a chain orders anything: the thief alone takes. */
SIM_WORLD(ring_chain_published, .exhaustive = true, .preemptions = 4) {
    begin(4, 3, 4);
    int t = sim_spawn(thief, NULL);
    th_chain chain = items_chain(0, 3);
    th_ring_push_chain(&ring, &chain, 3);
    sim_join(t);
    int last = -1;
    while (pop(&last)) {
    }
    finish(&t, 0, 3);
}

/* The owner takes several by one exchange and reads the slots after it (th_ring_pop_many). */
SIM_WORLD(ring_batch, .exhaustive = true) {
    int last = -1;
    begin(4, 2, 2);
    int thieves[2] = {sim_spawn(thief, NULL), sim_spawn(thief, NULL)};
    for (unsigned i = 0; i < 6; i++) {
        th_work *work = item_make(i);
        while (!th_ring_push(&ring, work)) {
            th_work *got[2];
            uint64_t at = 0;
            uint64_t n = th_ring_pop_many(&ring, got, 2, &at);
            sim_check(n <= 2 && at + n <= th_ring_tail(&ring));
            for (uint64_t k = 0; k < n; k++) {
                item_take_after(got[k], &last);
                sim_check(last ==
                          (int)(at + k)); /* pushed one by one: the position is the number */
            }
        }
    }
    while (pop(&last)) {
    }
    finish(thieves, 2, 6);
}

/* ---- out of a full ring ---- */

static th_inject inject;

/* Acts like take_inject: the turn, a share of the work, the turn back. */
static void drain(unsigned rounds) {
    for (unsigned round = 0; round < rounds; round++) {
        if (!th_inject_is_empty(&inject) && th_inject_turn_begin(&inject)) {
            th_chain chain = th_inject_take(&inject, 2, 4);
            th_inject_turn_end(&inject);
            th_work *work;
            while ((work = th_chain_take(&chain))) {
                item_take(work);
            }
        }
    }
}

/* A thief of the ring that also takes from the inject queue. */
static void helper(void *arg) {
    thief(arg);
    drain(2);
}

/*
 * policy_sharded, overflow: half of the full ring and the new one go to the inject queue as one
 * chain. A spill reads slots after its exchange; their takers write the links.
 */
SIM_WORLD(ring_overflow, .exhaustive = true) {
    int last = -1;
    begin(2, 2, 2);
    th_inject_init(&inject);
    int thieves[2] = {sim_spawn(helper, NULL), sim_spawn(thief, NULL)};
    for (unsigned i = 0; i < 5; i++) {
        th_work *work = item_make(i);
        if (!th_ring_push(&ring, work)) {
            th_chain chain = th_ring_spill(&ring, th_ring_capacity(&ring) / 2);
            th_chain_append(&chain, work);
            th_inject_push(&inject, chain.first, chain.count);
        }
    }
    while (pop(&last)) {
    }
    sim_join(thieves[0]);
    sim_join(thieves[1]);
    while (!th_inject_is_empty(&inject)) {
        drain(1);
    }
    finish(thieves, 0, 5);
}

/*
 * take_inject: the first of a share is run, the rest goes to the own ring, from which others steal
 * work that a third thread has made.
 */
static void producer(void *arg) {
    (void)arg;
    th_chain chain = items_chain(0, 3);
    th_inject_push(&inject, chain.first, chain.count);
    th_inject_push(&inject, item_make(3), 1);
}

SIM_WORLD(ring_share, .exhaustive = true) {
    begin(2, 2, 2);
    th_inject_init(&inject);
    int others[2] = {sim_spawn(producer, NULL), sim_spawn(thief, NULL)};
    bool joined = false;
    while (!joined || !th_inject_is_empty(&inject)) {
        if (th_inject_is_empty(&inject)) {
            sim_join(others[0]);
            joined = true;
            continue;
        }
        sim_check(th_inject_turn_begin(&inject));
        size_t room = (size_t)th_ring_free(&ring);
        th_chain chain = th_inject_take(&inject, 1, room + 1);
        th_inject_turn_end(&inject);
        item_take(th_chain_take(&chain));
        th_ring_push_chain(&ring, &chain, chain.count);
        sim_check(!chain.first); /* there was room for all */
        int last = -1;
        pop(&last);
    }
    int last = -1;
    while (pop(&last)) {
    }
    finish(others + 1, 1, 4);
}
