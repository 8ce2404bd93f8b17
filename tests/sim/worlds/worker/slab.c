/*
 * slab.c: task objects out of slabs (core/state/slab.h): caches of two workers, objects that go
 * home to another cache than they came from, strangers without a cache, slabs that outlive their
 * scheduler. Magazines of 4 and four of them in a chunk, so that caches fill, spill and run dry.
 */
#include "core/state/slab.h"

#include "platform/platform.h"
#include "queue/inject.h"
#include "sim.h"

/* Sixteen of them are a chunk. It begins with the memory of the slab's links. */
typedef struct thing {
    th_work work;
    unsigned owner; /* plain: two owners at once would race */
    char rest[112 - sizeof(th_work) - sizeof(unsigned)];
} thing;
_Static_assert(sizeof(thing) == 112, "four magazines in a chunk");

static th_slab *slab;
static th_slab_cache caches[2];
static th_inject passed; /* objects that one worker has got and the other gives back */

static void *alloc(void *ctx, size_t size) {
    (void)ctx;
    return th_os_alloc(size);
}

static void give_back(void *ctx, void *ptr) {
    (void)ctx;
    th_os_free(ptr);
}

static void begin(void) {
    slab = th_slab_new(sizeof(thing), alloc, give_back, NULL);
    sim_check(slab);
    caches[0].slab = caches[1].slab = slab;
}

static thing *mine(void *object) {
    thing *t = object;
    if (t) {
        t->owner = sim_thread_number();
    }
    return t;
}

static void check_mine(thing *t) {
    sim_check(t->owner == sim_thread_number());
    t->owner = ~0u;
}

#define SWING (2 * TH_MAGAZINE + 1)

static void get_and_put(th_slab_cache *cache, unsigned n) {
    thing *got[SWING];
    for (unsigned i = 0; i < n; i++) {
        got[i] = mine(th_slab_get(cache));
    }
    for (unsigned i = 0; i < n; i++) {
        check_mine(got[i]);
        th_slab_put(cache, got[i]);
    }
}

/*
 * Gets so many at once that giving them back sends a full magazine home; then the spare one is
 * used.
 */
static void swing(void *arg) {
    th_slab_cache *cache = arg;
    get_and_put(cache, SWING);
    get_and_put(cache, TH_MAGAZINE + 1);
    th_slab_flush(cache);
}

static void flush_and_close(void) {
    th_slab_flush(&caches[0]);
    th_slab_flush(&caches[1]);
    th_slab_close(slab);
}

/* Two caches that run dry, fill from the depot and go home to it. */
SIM_WORLD(slab_two_caches, .exhaustive = true) {
    begin();
    int t = sim_spawn(swing, &caches[1]);
    swing(&caches[0]);
    sim_join(t);
    flush_and_close();
}

static void give(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 10; i++) {
        thing *t = mine(th_slab_get(&caches[1]));
        th_inject_push(&passed, &t->work, 1);
    }
    th_slab_flush(&caches[1]);
}

/* One worker gets, the other gives back: whole magazines travel through the depot. */
SIM_WORLD(slab_one_way, .exhaustive = true) {
    begin();
    th_inject_init(&passed);
    int t = sim_spawn(give, NULL);
    for (unsigned n = 0; n < 10;) {
        if (th_inject_is_empty(&passed)) {
            th_os_relax();
            continue;
        }
        sim_check(th_inject_turn_begin(&passed));
        th_chain chain = th_inject_take(&passed, 1, 10);
        th_inject_turn_end(&passed);
        for (th_work *work; (work = th_chain_take(&chain)); n++) {
            thing *back = mine(work);
            check_mine(back);
            th_slab_put(&caches[0], back);
        }
    }
    sim_join(t);
    flush_and_close();
}

static void stranger(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 2; i++) {
        thing *t = mine(th_slab_get_external(slab));
        check_mine(t);
        th_slab_put_external(slab, t);
    }
}

static void part_stranger(void *arg) {
    (void)arg;
    th_slab_cache cache = {.slab = slab};
    thing *got[5];
    for (unsigned i = 0; i < 5; i++) {
        got[i] = mine(th_slab_get_part(&cache));
        sim_check(cache.count <= i); /* it fetches one, two, then a magazine of four */
    }
    for (unsigned i = 0; i < 5; i++) {
        check_mine(got[i]);
        th_slab_put(&cache, got[i]);
    }
    th_slab_flush(&cache);
}

/* External threads with caches of their own, which begin with single objects. */
SIM_WORLD(slab_parts, .exhaustive = true) {
    begin();
    int a = sim_spawn(part_stranger, NULL);
    part_stranger(NULL);
    sim_join(a);
    flush_and_close();
}

/* Two threads without a cache beside a worker with one: objects that came back one by one. */
SIM_WORLD(slab_external, .exhaustive = true) {
    begin();
    int a = sim_spawn(stranger, NULL);
    int b = sim_spawn(stranger, NULL);
    thing *got = mine(th_slab_get(&caches[0]));
    th_slab_flush(&caches[0]);
    check_mine(got);
    th_slab_put_external(slab, got);
    sim_join(a);
    sim_join(b);
    flush_and_close();
}

static thing *kept[2];

static void put_first(void *arg) {
    (void)arg;
    th_slab_put_external(slab, kept[0]);
}

static void put_second(void *arg) {
    (void)arg;
    th_slab_put_external(slab, kept[1]);
}

/* Handles are joined after their scheduler has stopped, or just then: the slab is freed once, by
 * the closer or by the last that is given back. */
SIM_WORLD(slab_close_with_live, .exhaustive = true, .preemptions = 3) {
    begin();
    kept[0] = th_slab_get(&caches[0]);
    kept[1] = th_slab_get(&caches[0]);
    th_slab_flush(&caches[0]);
    int a = sim_spawn(put_first, NULL);
    int b = sim_spawn(put_second, NULL);
    th_slab_close(slab);
    sim_join(a);
    sim_join(b);
}

static void get_some(void *arg) {
    th_slab_cache *cache = arg;
    thing *got[3];
    for (unsigned i = 0; i < 3; i++) {
        got[i] = mine(th_slab_get(cache));
    }
    for (unsigned i = 0; i < 3; i++) {
        if (got[i]) {
            check_mine(got[i]);
            th_slab_put(cache, got[i]);
        }
    }
    thing *again = mine(th_slab_get_external(slab));
    if (again) {
        check_mine(again);
        th_slab_put_external(slab, again);
    }
    th_slab_flush(cache);
}

/* Chunks are refused: the caller gets NULL, and nothing is lost. */
SIM_WORLD(slab_refused, .exhaustive = true, .refusals = 4) {
    slab = th_slab_new(sizeof(thing), alloc, give_back, NULL);
    if (!slab) {
        return;
    }
    caches[0].slab = caches[1].slab = slab;
    int t = sim_spawn(get_some, &caches[1]);
    get_some(&caches[0]);
    sim_join(t);
    flush_and_close();
}
