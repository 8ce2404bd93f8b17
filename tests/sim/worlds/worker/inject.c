/*
 * inject.c: the inject queue (queue/README.md, "inject and inbox"): producers push onto a stack,
 * consumers take turns; and the same struct with one consumer, a pinned inbox.
 */
#include "queue/inject.h"

#include "items.h"
#include "platform/platform.h"

static th_inject inject;

/* If one producer pushes two items, the one whose exchange came first is served first. */
static int last_of[2];

static void serve(th_work *work) {
    unsigned i = item_take(work);
    unsigned producer = i / 3;
    sim_check((int)i > last_of[producer]); /* written under the turn's protection, plainly */
    last_of[producer] = (int)i;
}

/* Serves while it has the turn: the order of service is one order. */
static bool take_turn(size_t of, size_t most) {
    if (!th_inject_turn_begin(&inject)) {
        return false;
    }
    th_chain chain = th_inject_take(&inject, of, most);
    size_t n = 0;
    th_work *work;
    sim_check((chain.first == NULL) == (chain.count == 0));
    while ((work = th_chain_take(&chain))) {
        serve(work);
        n++;
    }
    sim_check(n <= most && !chain.last && !chain.count);
    th_inject_turn_end(&inject);
    return n != 0;
}

static void begin(void) {
    th_inject_init(&inject);
    last_of[0] = last_of[1] = -1;
}

/* Takes everything that is left, alone; nothing is left when the queue is reported as empty. */
static void finish(unsigned n) {
    while (!th_inject_is_empty(&inject)) {
        sim_check(take_turn(1, 8));
    }
    items_all_taken(n);
}

/* One producer pushes three: one, then two as a chain. */
static void produce(unsigned first) {
    th_inject_push(&inject, item_make(first), 1);
    th_chain chain = items_chain(first + 1, first + 3);
    th_inject_push(&inject, chain.first, chain.count);
}

static void producer_0(void *arg) {
    (void)arg;
    produce(0);
}

static void producer_1(void *arg) {
    (void)arg;
    produce(3);
}

/* Takes half of the items; the rest is served before later ones. */
static void consumer(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 2; i++) {
        take_turn(2, 2);
    }
}

/* A producer and a consumer: a push is seen whole, with its links; the rest stays in order. */
SIM_WORLD(inject_push, .exhaustive = true, .preemptions = 4) {
    begin();
    int t = sim_spawn(producer_0, NULL);
    take_turn(2, 1);
    take_turn(1, 8);
    sim_join(t);
    finish(3);
}

/* Two producers meet at the top: no part of a chain is seen alone, and the order of each holds. */
SIM_WORLD(inject_two_producers, .exhaustive = true) {
    begin();
    int a = sim_spawn(producer_0, NULL);
    int b = sim_spawn(producer_1, NULL);
    consumer(NULL);
    sim_join(a);
    sim_join(b);
    finish(6);
}

/* Two consumers never have the turn at once, and find the list as the last holder left it. */
SIM_WORLD(inject_two_consumers, .exhaustive = true) {
    begin();
    produce(0);
    int a = sim_spawn(consumer, NULL);
    int b = sim_spawn(consumer, NULL);
    th_inject_push(&inject, item_make(3), 1);
    sim_join(a);
    sim_join(b);
    finish(4);
}

/* All of this at once: two producers and two consumers. */
SIM_WORLD(inject_two_and_two) {
    begin();
    void (*const entries[])(void *) = {producer_0, producer_1, consumer, consumer};
    sim_together(4, entries, NULL);
    finish(6);
}

/* ---- memory that is freed once it is taken ---- */

/*
* Two races. Another consumer reads a taken work's link after its body has freed it. ABA at the
* top: the body frees its work, and a producer gets the same address for the next.
 */
static unsigned freed;

static void run_and_free(void) {
    if (!th_inject_turn_begin(&inject)) {
        return;
    }
    th_chain chain = th_inject_take(&inject, 2, 2);
    th_inject_turn_end(&inject);
    th_work *work;
    while ((work = th_chain_take(&chain))) {
        sim_check(work->worker == -1);
        sim_free(work);
        freed++; /* only the main thread changes it */
    }
}

static void allocating_producer(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 2; i++) {
        th_work *work = sim_alloc(sizeof *work);
        *work = (th_work){.kind = TH_WORK_TASK, .worker = -1};
        th_inject_push(&inject, work, 1);
    }
}

SIM_WORLD(inject_freed_at_once, .exhaustive = true) {
    begin();
    int a = sim_spawn(allocating_producer, NULL);
    int b = sim_spawn(allocating_producer, NULL);
    for (unsigned i = 0; i < 3; i++) {
        run_and_free();
    }
    sim_join(a);
    sim_join(b);
    while (!th_inject_is_empty(&inject)) {
        run_and_free();
    }
    sim_check(freed == 4);
}

/* ---- as the parker uses it: a sleeper and its waker (core/worker/PARKING.md, D3 and D6) ---- */

#define ALL 3u

static uint32_t xparked; /* 1: the parker sleeps, or is about to */
static uint32_t xserved; /* how many have been served */
static size_t at_once;   /* how much is taken in one turn */

static void wake_parker(void) {
    uint32_t parked = 1;
    /* relaxed: ordered by the caller's fence */
    if (th_load_relaxed(&xparked) && th_cas_relaxed(&xparked, &parked, 0)) {
        th_os_futex_wake(&xparked, 1);
    }
}

/* Called after a push, or when all is done: before the park word is read. */
static void notify(void) {
    th_fence_seq();
    wake_parker();
}

static void serve_turn(void) {
    if (!th_inject_turn_begin(&inject)) {
        return; /* its holder looks again */
    }
    th_chain chain = th_inject_take(&inject, 1, at_once);
    th_inject_turn_end(&inject);
    th_fence_seq(); /* orders the release of the turn before the read of the queue (take_inject) */
    if (!th_inject_is_empty(&inject)) {
        wake_parker();
    }
    th_work *work;
    while ((work = th_chain_take(&chain))) {
        item_take(work);
        if (th_add_release(&xserved, 1) + 1 == ALL) {
            notify();
        }
    }
}

static bool pending(void) {
    return !th_inject_is_empty(&inject) && !th_inject_is_taken(&inject);
}

static bool all_served(void) {
    return th_load_acquire(&xserved) == ALL;
}

/* Announces, fences, looks, sleeps. A lost wakeup is a deadlock: no other thread serves. */
static void park_and_serve(void) {
    while (!all_served()) {
        th_store_relaxed(&xparked, 1u);
        th_fence_seq();
        if (!pending() && !all_served()) {
            (void)th_os_futex_wait(&xparked, 1, TH_FOREVER);
        }
        th_store_relaxed(&xparked, 0u);
        if (!th_inject_is_empty(&inject)) {
            serve_turn();
        }
    }
}

static void notifying_producer(void *arg) {
    (void)arg;
    th_inject_push(&inject, item_make(0), 1);
    notify();
    th_chain chain = items_chain(1, ALL);
    th_inject_push(&inject, chain.first, chain.count);
    notify();
}

/* Takes one turn and goes away: the parker must take the rest. */
static void passing_consumer(void *arg) {
    (void)arg;
    serve_turn();
}

/*
 * A parker sees an empty queue while the holder has it all in hand, or sees the turn taken: the
 * holder leaves two of three, and wakes it.
 */
SIM_WORLD(inject_parked_consumer, .exhaustive = true) {
    begin();
    at_once = 1;
    int a = sim_spawn(notifying_producer, NULL);
    int b = sim_spawn(passing_consumer, NULL);
    park_and_serve();
    sim_join(a);
    sim_join(b);
    items_all_taken(ALL);
}

/* One push meets the parker. */
SIM_WORLD(inject_parked_push, .exhaustive = true, .preemptions = 3) {
    begin();
    at_once = 2;
    int a = sim_spawn(notifying_producer, NULL);
    park_and_serve();
    sim_join(a);
    items_all_taken(ALL);
}

/* ---- the inbox: one consumer ---- */

static void pin_0(void *arg) {
    (void)arg;
    th_inject_push(&inject, item_make(0), 1);
    th_inject_push(&inject, item_make(1), 1);
    notify();
}

static void pin_3(void *arg) {
    (void)arg;
    th_inject_push(&inject, item_make(3), 1);
    notify();
}

/*
 * In a pinned inbox the turn is always free; each poster's order holds, and no post is slept over.
 */
SIM_WORLD(inject_inbox, .exhaustive = true) {
    begin();
    void (*const posters[])(void *) = {pin_0, pin_3};
    int threads[] = {sim_spawn(posters[0], NULL), sim_spawn(posters[1], NULL)};
    for (unsigned served = 0; served < ALL;) {
        th_store_relaxed(&xparked, 1u);
        th_fence_seq();
        if (th_inject_is_empty(&inject)) {
            (void)th_os_futex_wait(&xparked, 1, TH_FOREVER);
        }
        th_store_relaxed(&xparked, 0u);
        if (!th_inject_is_empty(&inject)) {
            sim_check(th_inject_turn_begin(&inject));
            th_chain chain = th_inject_take(&inject, 1, 2);
            th_inject_turn_end(&inject);
            for (th_work *work; (work = th_chain_take(&chain)); served++) {
                serve(work);
            }
        }
    }
    sim_join(threads[0]);
    sim_join(threads[1]);
    sim_check(th_inject_is_empty(&inject));
}
