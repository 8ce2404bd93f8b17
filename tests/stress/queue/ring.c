/*
 * ring.c: the local queue itself (queue/ring.h): one owner against thieves.
 */
#include "support/support.h"

#include "queue/ring.h"

typedef struct item {
    th_work work; /* first */
    int number;   /* plain: published by the push */
    atomic_int taken;
} item;

typedef struct field {
    th_ring ring;
    th_work **slots;
    item *items;
    int count;
    bool one; /* whether thieves take one at a time */
    atomic_bool over;
    atomic_int taken;
} field;

static int take(field *f, th_work *work) {
    item *it = (item *)(void *)work;
    CHECK(it >= f->items && it < f->items + f->count);
    CHECK_EQ(atomic_fetch_add(&it->taken, 1), 0);
    atomic_fetch_add(&f->taken, 1);
    return it->number;
}

/* Checks that what one attempt takes stood in the queue one behind the other. */
static void take_batch(field *f, th_work **out, uint64_t n) {
    int last = -1;
    for (uint64_t i = 0; i < n; i++) {
        const int number = take(f, out[i]);
        CHECK(i == 0 || number == last + 1);
        last = number;
    }
}

static void take_chain(field *f, th_chain chain) {
    int last = -1;
    for (th_work *work; (work = th_chain_take(&chain)) != NULL;) {
        const int number = take(f, work);
        CHECK(last == -1 || number == last + 1);
        last = number;
    }
    CHECK_EQ(chain.count, 0);
}

static void *thief(void *seat) {
    const crew_seat *s = seat;
    field *f = s->arg;
    th_work *out[256];
    int last = -1;
    while (!atomic_load(&f->over)) {
        const uint64_t want = f->one ? 1 : s->index % 2 == 0 ? 256 : 3;
        const uint64_t n = th_ring_steal(&f->ring, out, want);
        CHECK(n <= want && n <= (th_ring_capacity(&f->ring) + 1) / 2);
        if (n > 0) {
            const int first = ((item *)(void *)out[0])->number;
            CHECK(first > last); /* no thread finds older work later */
            take_batch(f, out, n);
            last = first + (int)n - 1;
        } else {
            sched_yield();
        }
    }
    return NULL;
}

static void contend(uint64_t capacity, int thieves, bool one, int count) {
    static field f;
    crew c;
    memset(&f, 0, sizeof(f));
    f.one = one;
    f.count = count;
    f.items = calloc((size_t)count, sizeof(item));
    f.slots = calloc(capacity, sizeof(*f.slots));
    CHECK(f.items && f.slots);
    th_ring_init(&f.ring, f.slots, capacity);
    crew_start(&c, thieves, thief, &f);
    for (int i = 0; i < count; i++) {
        f.items[i].number = i;
        while (!th_ring_push(&f.ring, &f.items[i].work)) {
            /* full: spill, as a worker does, and pop one now and then */
            if (i % 3 == 0) {
                th_work *work = th_ring_pop(&f.ring);
                if (work) {
                    take(&f, work);
                }
            } else {
                take_chain(&f, th_ring_spill(&f.ring, capacity / 2));
            }
        }
        CHECK(th_ring_size(&f.ring) <= capacity);
        if (i % 5 == 0) {
            th_work *work = th_ring_pop(&f.ring);
            if (work) {
                take(&f, work);
            }
        }
    }
    for (th_work *work; (work = th_ring_pop(&f.ring)) != NULL;) {
        take(&f, work);
    }
    SPIN_UNTIL(atomic_load(&f.taken) == count);
    atomic_store(&f.over, true);
    crew_join(&c);
    CHECK(th_ring_is_valid(&f.ring));
    for (int i = 0; i < count; i++) {
        CHECK_EQ(atomic_load(&f.items[i].taken), 1);
    }
    free(f.items);
    free(f.slots);
}

TEST(owner_against_one_thief) {
    /* Each item is taken exactly once, with every capacity, half and one at a time. */
    for (uint64_t capacity = 2; capacity <= 256; capacity *= 2) {
        contend(capacity, 1, true, SCALED(60000));
        contend(capacity, 1, false, SCALED(60000));
    }
}

TEST(owner_against_several_thieves) {
    /* Each item is taken exactly once by thieves that compete as well. */
    for (uint64_t capacity = 2; capacity <= 256; capacity *= 2) {
        contend(capacity, 4, true, SCALED(60000));
        contend(capacity, 4, false, SCALED(60000));
    }
}

TEST(owner_alone_is_first_in_first_out) {
    /* Without thieves the ring keeps its order, is full at its capacity, and empty at the end. */
    for (uint64_t capacity = 2; capacity <= 64; capacity *= 2) {
        th_ring ring;
        th_work *slots[64];
        th_work works[64];
        th_ring_init(&ring, slots, capacity);
        for (int lap = 0; lap < 5; lap++) {
            CHECK(th_ring_pop(&ring) == NULL);
            for (uint64_t i = 0; i < capacity; i++) {
                CHECK_EQ(th_ring_free(&ring), capacity - i);
                CHECK(th_ring_push(&ring, &works[i]));
                CHECK_EQ(th_ring_size(&ring), i + 1);
            }
            CHECK(!th_ring_push(&ring, &works[0]));
            for (uint64_t i = 0; i < capacity; i++) {
                CHECK(th_ring_pop(&ring) == &works[i]);
            }
            CHECK(th_ring_is_valid(&ring));
        }
    }
}

TEST(chain_is_pushed_as_far_as_it_fits) {
    /* What does not fit stays in the chain, in order. */
    th_ring ring;
    th_work *slots[8];
    th_work works[12];
    th_chain chain = {0};
    for (int i = 0; i < 12; i++) {
        th_chain_append(&chain, &works[i]);
    }
    th_ring_init(&ring, slots, 8);
    CHECK_EQ(th_ring_push_chain(&ring, &chain, 3), 3);
    CHECK_EQ(chain.count, 9);
    CHECK_EQ(th_ring_push_chain(&ring, &chain, 100), 5);
    CHECK_EQ(chain.count, 4);
    CHECK(chain.first == &works[8]);
    for (int i = 0; i < 8; i++) {
        CHECK(th_ring_pop(&ring) == &works[i]);
    }
    CHECK_EQ(th_ring_push_chain(&ring, &chain, 100), 4);
    CHECK(!chain.first && !chain.last && chain.count == 0);
    CHECK_EQ(th_ring_push_chain(&ring, &chain, 100), 0);
    for (int i = 8; i < 12; i++) {
        CHECK(th_ring_pop(&ring) == &works[i]);
    }
}

TEST(thief_takes_half_rounded_up) {
    /* A thief takes one of one, two of three, the oldest, and never more than it wants. */
    th_ring ring;
    th_work *slots[8], *out[8];
    th_work works[8];
    for (uint64_t size = 0; size <= 8; size++) {
        for (uint64_t want = 1; want <= 8; want++) {
            th_ring_init(&ring, slots, 8);
            for (uint64_t i = 0; i < size; i++) {
                CHECK(th_ring_push(&ring, &works[i]));
            }
            const uint64_t half = (size + 1) / 2;
            const uint64_t n = th_ring_steal(&ring, out, want);
            CHECK_EQ(n, half < want ? half : want);
            for (uint64_t i = 0; i < n; i++) {
                CHECK(out[i] == &works[i]);
            }
            for (uint64_t i = n; i < size; i++) {
                CHECK(th_ring_pop(&ring) == &works[i]);
            }
        }
    }
}

TEST(owner_spills_the_oldest) {
    /* The owner spills as many as it wants, in order. */
    th_ring ring;
    th_work *slots[8];
    th_work works[8];
    for (uint64_t want = 0; want <= 10; want++) {
        th_ring_init(&ring, slots, 8);
        for (int i = 0; i < 8; i++) {
            CHECK(th_ring_push(&ring, &works[i]));
        }
        th_chain chain = th_ring_spill(&ring, want);
        const uint64_t n = want < 8 ? want : 8;
        CHECK_EQ(chain.count, n);
        for (uint64_t i = 0; i < n; i++) {
            CHECK(th_chain_take(&chain) == &works[i]);
        }
        CHECK(th_chain_take(&chain) == NULL);
        CHECK_EQ(th_ring_size(&ring), 8 - n);
    }
}
