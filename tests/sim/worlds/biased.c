/*
 * biased.c: the lock that costs its favourite nothing (sync/biased.h; src/sync/README.md, "The
 * channel's lock").
 */
#include "sync/biased.h"

#include "core/state/thread.h"
#include "platform/platform.h"
#include "sim.h"

typedef struct object {
    th_biased lock;
    th_biased_price price;
    unsigned inside;  /* under the lock */
    unsigned entered; /* under the lock */
    unsigned users;   /* under the lock */
} object;

static object shared;

static uint32_t *enter(object *o) {
    uint32_t *held;
    if (!th_biased_try(&o->lock, &o->price, th_thread_self()->number, &held)) {
        do {
            while (th_load_relaxed(&o->lock.xlock) != 0) {
                th_os_relax();
            }
        } while (!th_biased_try_slow(&o->lock, &o->price, &held));
    }
    unsigned before = o->inside++;
    sim_check(before == 0);
    o->entered++;
    return held;
}

static void leave(object *o, uint32_t *held) {
    o->inside--;
    th_biased_unlock(held);
}

/* A thread that has its number already, as one that was a favourite before. */
static void be(uint32_t number) {
    th_thread_self()->number = number;
}

static void once(void *arg) {
    be(2);
    leave(arg, enter(arg));
}

static bool all_free(void) {
    return shared.lock.xlock == 0 && shared.price.xinside[0] == 0 && shared.price.xinside[1] == 0;
}

/* The favourite comes and goes while another one comes: whoever is inside is alone, and knows what
 * was done before. */
SIM_WORLD(biased_revoked, .exhaustive = true, .preemptions = 3, .inserts = true) {
    be(1);
    shared.lock.xfavourite = 1;
    int t = sim_spawn(once, &shared);
    leave(&shared, enter(&shared));
    leave(&shared, enter(&shared));
    sim_join(t);
    sim_check(shared.entered == 3 && shared.lock.xfavourite == 0);
    sim_check(all_free());
}

static void thrice_noted(void *arg) {
    be((uint32_t)(uintptr_t)arg);
    for (unsigned i = 0; i < 3; i++) {
        uint32_t *held = enter(&shared);
        th_biased_note(&shared.lock, &shared.price, 1000);
        leave(&shared, held);
    }
}

/* Who has it often enough becomes the favourite, again and again; some barriers are refused. */
SIM_WORLD(biased_regained, .exhaustive = true, .refusals = 2) {
    int t = sim_spawn(thrice_noted, (void *)(uintptr_t)2);
    thrice_noted((void *)(uintptr_t)1);
    sim_join(t);
    sim_check(shared.entered == 6 && all_free());
}

static void once_again(void *arg) {
    be(2);
    for (unsigned i = 0; i < 2; i++) {
        leave(arg, enter(arg));
    }
}

/* The favourite notes itself while it is being revoked: that makes it nothing. (It did once: a
 * channel lost an element, docs/found.md.) */
SIM_WORLD(biased_noted, .refusals = 1) {
    be(1);
    shared.lock.xfavourite = 1;
    shared.price = (th_biased_price){.owners = {0, 1}, .last = 1, .uses = 100};
    int t = sim_spawn(once_again, &shared);
    for (unsigned i = 0; i < 3; i++) {
        uint32_t *held = enter(&shared);
        th_biased_note(&shared.lock, &shared.price, 1);
        leave(&shared, held);
    }
    sim_join(t);
    sim_check(shared.entered == 5 && all_free());
}

static void three(uint32_t first, uint32_t second, uint32_t third) {
    int a = sim_spawn(thrice_noted, (void *)(uintptr_t)second);
    int b = sim_spawn(thrice_noted, (void *)(uintptr_t)third);
    thrice_noted((void *)(uintptr_t)first);
    sim_join(a);
    sim_join(b);
    sim_check(shared.entered == 9 && all_free());
}

/* Two that can be favourites, and one that has no number, as a plain thread. An old favourite that
 * is late must not tell lies about the new one. */
SIM_WORLD(biased_three, .refusals = 2) {
    three(1, 2, 0);
}

/* Three that can; two of them want the same place. */
SIM_WORLD(biased_crowd) {
    three(1, 2, 3);
}

static void leave_for_good(object *o) {
    uint32_t *held = enter(o);
    bool last = --o->users == 0;
    leave(o, held);
    if (last) {
        sim_free(o);
    }
}

static void second_leaves(void *arg) {
    be(2);
    leave_for_good(arg);
}

/* The unlock is the last access of whoever had it: who comes last may free it. */
SIM_WORLD(biased_freed_by_last, .exhaustive = true, .preemptions = 3) {
    object *o = sim_alloc(sizeof *o);
    *o = (object){.lock = {.xfavourite = 1}, .users = 2};
    int t = sim_spawn(second_leaves, o);
    be(1);
    leave_for_good(o);
    sim_join(t);
}
