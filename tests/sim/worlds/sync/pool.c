/*
 * pool.c: the pool of objects (src/sync/COUNTERS.md, "Pool"): giving back against borrowing, one or
 * several, giving up, failing hooks, destroying.
 */
#include <errno.h>

#include "base/atomic.h"
#include "crew.h"
#include "whole.h"

#define LATER 1000000

typedef struct object {
    unsigned uses; /* plain: its borrowers' writes */
} object;

static thrum_pool *pool;
static uint32_t xconstructed, xdestructed, xfails, xlast;
static unsigned codes[4];

static int construct(void *item, void *ctx) {
    (void)ctx;
    object *o = item;
    /* relaxed, as all counts: it must order nothing */
    uint32_t left = th_load_relaxed(&xfails);
    if (left && th_cas_relaxed(&xfails, &left, left - 1)) {
        return -EIO;
    }
    o->uses = 0;
    th_add_relaxed(&xconstructed, 1u);
    return 0;
}

static void destruct(void *item, void *ctx) {
    (void)ctx;
    object *o = item;
    o->uses = 0;
    th_add_relaxed(&xdestructed, 1u);
}

static void make(size_t capacity, bool preserve) {
    thrum_pool_config config = THRUM_POOL_CONFIG_INIT;
    config.item_size = sizeof(object);
    config.capacity = capacity;
    config.construct = construct;
    config.destruct = destruct;
    config.preserve = preserve;
    sim_check(thrum_pool_create(&pool, &config) == 0);
}

static void end(void) {
    sim_check(thrum_pool_destroy(pool) == 0);
    sim_check(th_load_relaxed(&xconstructed) == th_load_relaxed(&xdestructed));
    crew_scrub();
}

static void use(void *item) {
    ((object *)item)->uses++;
}

/* ---- one object each ---- */

static void make_one(void) {
    make(1, false);
}

static void make_one_kept(void) {
    make(1, true);
}

static void make_unbounded(void) {
    make(0, false);
}

static void make_unbounded_kept(void) {
    make(0, true);
}

static void borrow(void *unused) {
    (void)unused;
    void *item;
    sim_check(thrum_pool_borrow(pool, &item) == 0);
    use(item);
    thrum_pool_give_back(pool, item);
    crew_scrub();
}

static void borrow_if_free(void *unused) {
    (void)unused;
    void *item;
    int result = thrum_pool_try_borrow(pool, &item);
    sim_check(result == 0 || result == -EAGAIN);
    if (!result) {
        use(item);
        thrum_pool_give_back(pool, item);
    }
}

/* One object goes round. */
static const crew_play one = {make_one, end, 3, {borrow, borrow, borrow_if_free}};
CREW_WORLDS(pool_one, one, .exhaustive = true)
CREW_WORLD_SCHED(pool_one, one)

/* An object's contents go with it. */
static void used_twice(void) {
    void *item;
    sim_check(thrum_pool_try_borrow(pool, &item) == 0);
    sim_check(((object *)item)->uses == 2);
    thrum_pool_give_back(pool, item);
    end();
    sim_check(th_load_relaxed(&xconstructed) == 1);
}

static const crew_play kept = {make_one_kept, used_twice, 2, {borrow, borrow}};
CREW_WORLDS(pool_kept, kept, .exhaustive = true)

static const crew_play unbounded = {make_unbounded, end, 3, {borrow, borrow, borrow_if_free}};
CREW_WORLDS(pool_unbounded, unbounded, .exhaustive = true)

/* A new object is made only where none is free. */
static void at_most_two(void) {
    sim_check(th_load_relaxed(&xconstructed) >= 1 && th_load_relaxed(&xconstructed) <= 2);
    end();
}

static const crew_play unbounded_kept = {make_unbounded_kept, at_most_two, 2, {borrow, borrow}};
CREW_WORLDS(pool_unbounded_kept, unbounded_kept, .exhaustive = true)

/* ---- several at a time ---- */

static void make_two(void) {
    make(2, true);
}

static void borrow_two(void *unused) {
    (void)unused;
    void *items[2];
    sim_check(thrum_pool_borrow_n(pool, items, 2) == 0);
    use(items[0]);
    use(items[1]);
    thrum_pool_give_back(pool, items[0]);
    thrum_pool_give_back(pool, items[1]);
    crew_scrub();
}

/* Two borrowers that need both never wait for each other. */
static const crew_play both = {make_two, end, 3, {borrow_two, borrow_two, borrow}};
CREW_WORLDS(pool_both, both, .exhaustive = true)
CREW_WORLD_SCHED(pool_both, both)

/* ---- with a deadline ---- */

static void borrow_two_or_late(void *unused) {
    (void)unused;
    void *items[2];
    int result = thrum_pool_borrow_n_until(pool, items, 2, thrum_after(LATER));
    crew_scrub();
    sim_check(result == 0 || result == -ETIMEDOUT);
    if (!result) {
        use(items[0]);
        use(items[1]);
        thrum_pool_give_back(pool, items[0]);
        thrum_pool_give_back(pool, items[1]);
    }
}

static void borrow_or_late(void *unused) {
    (void)unused;
    void *item;
    int result = thrum_pool_borrow_until(pool, &item, thrum_after(2 * LATER));
    crew_scrub();
    sim_check(result == 0 || result == -ETIMEDOUT);
    if (!result) {
        use(item);
        thrum_pool_give_back(pool, item);
    }
}

/* A late borrower makes room for those behind it, and takes nothing with it. */
static const crew_play timed = {
    make_two, end, 4, {borrow, borrow_two_or_late, borrow_or_late, borrow}};
CREW_WORLDS(pool_timed, timed, .timers_max = 3)

static const crew_play timed_one = {make_one, end, 3, {borrow, borrow_or_late, borrow}};
CREW_WORLDS(pool_timed_one, timed_one, .exhaustive = true, .timers_max = 2)
CREW_WORLD_SCHED(pool_timed_one, timed_one)

/* ---- a hook that fails ---- */

static void make_failing(void) {
    make(2, false);
    th_store_relaxed(&xfails, 1u);
}

static void borrow_two_may_fail(void *unused) {
    (void)unused;
    void *items[2];
    int result = thrum_pool_borrow_n(pool, items, 2);
    sim_check(result == 0 || result == -EIO);
    if (!result) {
        thrum_pool_give_back(pool, items[0]);
        thrum_pool_give_back(pool, items[1]);
    }
    crew_scrub();
}

/* The borrower that gets the error has nothing; the other one gets both. */
static const crew_play failing = {make_failing, end, 2, {borrow_two_may_fail, borrow_two_may_fail}};
CREW_WORLDS(pool_failing, failing, .exhaustive = true)

/* ---- destroying ---- */

static void make_for_two(void) {
    make(1, true);
    xlast = 2;
}

static void borrow_and_tell(void *unused) {
    (void)unused;
    void *item;
    sim_check(thrum_pool_borrow(pool, &item) == 0);
    use(item);
    /* relaxed: the pool must order the following access */
    th_sub_relaxed(&xlast, 1u);
    thrum_pool_give_back(pool, item);
    crew_scrub();
}

static void destroy_when_back(void *unused) {
    (void)unused;
    crew_until(th_load_relaxed(&xlast) == 0);
    crew_until(thrum_pool_destroy(pool) == 0);
    sim_check(th_load_relaxed(&xdestructed) == 1);
}

/* All have borrowed; the last give-back has touched the pool for the last time when it is seen. */
static const crew_play destroyed = {
    make_for_two, NULL, 3, {destroy_when_back, borrow_and_tell, borrow_and_tell}};
CREW_WORLDS(pool_destroyed, destroyed, .exhaustive = true)

/* ---- cancelled ---- */

static thrum_sched *sched;

static int borrows_two(void *arg) {
    unsigned i = *(unsigned *)arg;
    void *items[2];
    int result = thrum_pool_borrow_n(pool, items, 2);
    crew_scrub();
    sim_check(result == 0 || result == -ECANCELED);
    codes[i] = result == 0;
    if (!result) {
        use(items[0]);
        use(items[1]);
        thrum_pool_give_back(pool, items[0]);
        thrum_pool_give_back(pool, items[1]);
    }
    return 0;
}

static unsigned numbers[2] = {0, 1};
static void *held;

static void give_back_held(void *unused) {
    (void)unused;
    use(held);
    thrum_pool_give_back(pool, held);
}

/* A cancelled borrower has nothing; the object that comes back meanwhile is there in the end. */
SIM_WORLD(pool_cancelled, .heavy = true) {
    thrum_config config = whole_config(1);
    sched = whole_start(&config);
    make(2, true);
    sim_check(thrum_pool_borrow(pool, &held) == 0);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    sim_check(thrum_go_with(&attr, borrows_two, &numbers[0]) == 0);
    sim_check(thrum_go_with(&attr, borrows_two, &numbers[1]) == 0);
    int thread = sim_spawn(give_back_held, NULL);
    int code = thrum_sched_stop_until(sched, thrum_now());
    if (code) {
        whole_stop(sched);
    }
    sim_join(thread);
    void *items[2];
    sim_check(thrum_pool_borrow_n(pool, items, 2) == 0);
    thrum_pool_give_back(pool, items[0]);
    thrum_pool_give_back(pool, items[1]);
    end();
}
