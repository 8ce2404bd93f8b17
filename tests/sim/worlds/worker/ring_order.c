/*
 * ring_order.c: properties of the ring's orders in queue/README.md that no run can show.
 *
 *   - "The thief's reads come before its releasing exchange; the owner writes the slot after
 *     acquiring a head beyond it." Without these orders a processor may read the slot late, after
 *     the owner has written it again (load buffering), and exchange the head all the same. No
 *     memory mode executes that. So each copy that a thief used is remembered with its moment, and
 *     must happen before the slot's next write.
 *   - "The thief sees a tail behind its head: it cannot." If it did it would only look again.
 *
 * ring.h is compiled here with loads, stores and exchanges that are watched; the access itself, its
 * order and its line stay what they are.
 */
#include "base/atomic.h"
#include "sim.h"

/* The watchers' own accesses are not the program's: no races are looked for in them. */
#define UNSEEN __attribute__((no_sanitize("thread"), noinline)) static

#define OWNER 0u
#define THIEVES_MAX 2u
#define COPIES_MAX 4u

typedef struct copy {
    const void *slot;
    sim_moment read;
    bool late; /* the slot was written again, not known to come after */
} copy;

typedef struct thief_record {
    copy copies[COPIES_MAX]; /* copies of this attempt, or of a successful one */
    unsigned count;
    bool used;
    uint64_t head; /* the head acquired last */
} thief_record;

static thief_record thieves[1 + THIEVES_MAX];

#define COPY_IN_TIME "a copy that was used was read before the slot was written again"
#define TAIL_NOT_BEHIND "a thief sees no tail behind its head"

UNSEEN void watch_u64_acquired(const uint64_t *word, uint64_t value);
UNSEEN void watch_slot_read(const void *slot);
UNSEEN void watch_slot_written(const void *slot);
UNSEEN void watch_exchange(bool done);

#undef th_load_relaxed
#undef th_load_acquire
#undef th_store_relaxed
#undef th_cas_release

#define IS_SLOT(p) _Generic((p), struct th_work * * : true, default : false)
#define th_load_relaxed(p)                                                                         \
    ({                                                                                             \
        __typeof__(*(p)) seen_ = __atomic_load_n((p), __ATOMIC_RELAXED);                           \
        IS_SLOT(p) ? watch_slot_read(p) : (void)0;                                                 \
        seen_;                                                                                     \
    })
#define th_store_relaxed(p, v)                                                                     \
    (__atomic_store_n((p), (v), __ATOMIC_RELAXED), IS_SLOT(p) ? watch_slot_written(p) : (void)0)
#define th_load_acquire(p)                                                                         \
    ({                                                                                             \
        uint64_t seen_ = __atomic_load_n((p), __ATOMIC_ACQUIRE);                                   \
        watch_u64_acquired((p), seen_);                                                            \
        seen_;                                                                                     \
    })
#define th_cas_release(p, expected, want)                                                          \
    ({                                                                                             \
        bool done_ = th_cas((p), (expected), (want), __ATOMIC_RELEASE, __ATOMIC_RELAXED);          \
        watch_exchange(done_);                                                                     \
        done_;                                                                                     \
    })

#include "queue/ring.h"

static th_work items[8];
static th_work *slots[4];
static th_ring ring;

UNSEEN void watch_u64_acquired(const uint64_t *word, uint64_t value) {
    thief_record *t = &thieves[sim_thread_number()];
    if (sim_thread_number() == OWNER) {
        return;
    }
    if (word == &ring.xhead) { /* an attempt begins here */
        t->head = value;
        t->count = 0;
        t->used = false;
    } else if (value < t->head) {
        sim_failed("check", __FILE__, __LINE__, TAIL_NOT_BEHIND);
    }
}

UNSEEN void watch_slot_read(const void *slot) {
    thief_record *t = &thieves[sim_thread_number()];
    if (sim_thread_number() != OWNER && t->count < COPIES_MAX) {
        t->copies[t->count++] = (copy){.slot = slot, .read = sim_moment_now()};
    }
}

UNSEEN void watch_slot_written(const void *slot) {
    for (unsigned i = 1; i <= THIEVES_MAX; i++) {
        thief_record *t = &thieves[i];
        for (unsigned k = 0; k < t->count; k++) {
            copy *c = &t->copies[k];
            if (c->slot != slot || sim_moment_before(c->read)) {
                continue;
            }
            if (t->used) {
                sim_failed("check", __FILE__, __LINE__, COPY_IN_TIME);
            }
            c->late = true;
        }
    }
}

UNSEEN void watch_exchange(bool done) {
    thief_record *t = &thieves[sim_thread_number()];
    if (sim_thread_number() == OWNER) {
        return;
    }
    if (!done) {
        t->count = 0;
    }
    t->used = done;
    for (unsigned k = 0; k < t->count; k++) {
        if (t->copies[k].late) {
            sim_failed("check", __FILE__, __LINE__, COPY_IN_TIME);
        }
    }
}

static void thief(void *arg) {
    (void)arg;
    th_work *got[4];
    for (unsigned round = 0; round < 2; round++) {
        th_ring_steal(&ring, got, 2);
    }
}

static void pop_one(void) {
    th_ring_pop(&ring);
}

static void pop_several(void) {
    th_work *got[2];
    uint64_t at;
    th_ring_pop_many(&ring, got, 2, &at);
}

static void spill(void) {
    th_ring_spill(&ring, th_ring_capacity(&ring) / 2);
}

/* Pushes, one by one or two as a chain, and takes as `take` does when the ring is full. */
static void own(uint64_t capacity, unsigned thieves_count, unsigned n, bool chains,
                void (*take)(void)) {
    int threads[THIEVES_MAX];
    th_ring_init(&ring, slots, capacity);
    for (unsigned i = 0; i < thieves_count; i++) {
        threads[i] = sim_spawn(thief, NULL);
    }
    for (unsigned i = 0; i < n;) {
        bool pushed;
        if (chains) {
            th_chain chain = {0};
            th_chain_append(&chain, &items[i]);
            pushed = th_ring_push_chain(&ring, &chain, 1);
        } else {
            pushed = th_ring_push(&ring, &items[i]);
        }
        i += pushed;
        if (!pushed) {
            take();
        }
    }
    for (unsigned i = 0; i < thieves_count; i++) {
        sim_join(threads[i]);
    }
}

/* The owner pops from a full ring of 2. */
SIM_WORLD(ring_order_pop, .exhaustive = true) {
    own(2, 2, 6, false, pop_one);
}

/* There is one thief. */
SIM_WORLD(ring_order_one_thief, .exhaustive = true) {
    own(2, 1, 4, false, pop_one);
}

/* Chains acquire the head each time. */
SIM_WORLD(ring_order_chain) {
    own(2, 2, 6, true, pop_one);
}

/* The owner takes two by one exchange. */
SIM_WORLD(ring_order_batch, .exhaustive = true) {
    own(4, 2, 6, false, pop_several);
}

/* The owner spills half of the ring. */
SIM_WORLD(ring_order_spill, .exhaustive = true) {
    own(4, 2, 6, false, spill);
}
