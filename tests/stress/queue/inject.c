/*
 * inject.c: the inject queue itself (queue/inject.h): many producers, consumers by turns.
 */
#include "support/support.h"

#include "queue/inject.h"

#define PRODUCERS 4

typedef struct item {
    th_work work; /* first */
    int producer, number;
} item;

typedef struct field {
    th_inject inject;
    int per_producer;
    int next[PRODUCERS]; /* plain: protected by the turn */
    atomic_int taken;
    size_t most; /* per take */
} field;

static item *make(int producer, int number) {
    item *it = malloc(sizeof(*it));
    CHECK(it != NULL);
    it->work = (th_work){.kind = TH_WORK_TASK, .worker = -1};
    it->producer = producer;
    it->number = number;
    return it;
}

static void *produce(void *seat) {
    const crew_seat *s = seat;
    field *f = s->arg;
    for (int i = 0; i < f->per_producer;) {
        th_chain chain = {0};
        const int size = i % 4 == 0 ? 1 : i % 9 + 1;
        for (int k = 0; k < size && i < f->per_producer; k++, i++) {
            th_chain_append(&chain, &make(s->index, i)->work);
        }
        th_inject_push(&f->inject, chain.first, chain.count);
        while (i * PRODUCERS - atomic_load(&f->taken) > 20000) {
            sched_yield(); /* memory stays bounded */
        }
    }
    return NULL;
}

/* Called in the turn. Each producer's items come in the order in which they were pushed. */
static void consume_chain(field *f, th_chain chain) {
    size_t n = 0;
    for (th_work *work; (work = th_chain_take(&chain)) != NULL; n++) {
        item *it = (item *)(void *)work;
        CHECK_EQ(f->next[it->producer], it->number);
        f->next[it->producer]++;
        free(it); /* no thread reads its link any more */
    }
    atomic_fetch_add(&f->taken, (int)n);
}

static void *consume(void *seat) {
    const crew_seat *s = seat;
    field *f = s->arg;
    while (atomic_load(&f->taken) < PRODUCERS * f->per_producer) {
        if (th_inject_is_empty(&f->inject) || !th_inject_turn_begin(&f->inject)) {
            sched_yield();
            continue;
        }
        const th_chain chain = th_inject_take(&f->inject, (size_t)s->index + 1, f->most);
        CHECK(chain.count <= f->most);
        consume_chain(f, chain);
        th_inject_turn_end(&f->inject);
    }
    return NULL;
}

static void contend(int producers, int consumers, size_t most, int count) {
    static field f;
    crew makers, takers;
    memset(&f, 0, sizeof(f));
    th_inject_init(&f.inject);
    f.per_producer = count;
    f.most = most;
    for (int i = producers; i < PRODUCERS; i++) {
        f.next[i] = count; /* not there */
    }
    atomic_store(&f.taken, (PRODUCERS - producers) * count);
    crew_start(&makers, producers, produce, &f);
    crew_start(&takers, consumers, consume, &f);
    crew_join(&makers);
    crew_join(&takers);
    CHECK(th_inject_is_empty(&f.inject));
    for (int i = 0; i < PRODUCERS; i++) {
        CHECK_EQ(f.next[i], count);
    }
}

TEST(one_producer_one_consumer) {
    /* One consumer takes them in order, singly and in handfuls. */
    contend(1, 1, 1, SCALED(200000));
    contend(1, 1, 64, SCALED(200000));
}

TEST(many_producers_one_consumer) {
    /* Several producers and one consumer use it as an inbox is used. */
    contend(4, 1, 1, SCALED(100000));
    contend(4, 1, 1000, SCALED(100000));
}

TEST(many_producers_many_consumers) {
    /* Consumers take by turns; each producer's order holds across them. */
    contend(4, 4, 1, SCALED(60000));
    contend(4, 4, 7, SCALED(100000));
    contend(4, 4, 128, SCALED(100000));
}

TEST(take_gives_a_share) {
    /* A grab takes one part of so many, rounded up, never more than asked for, oldest first. */
    th_inject inject;
    th_inject_init(&inject);
    CHECK(th_inject_is_empty(&inject));
    th_work works[10];
    th_chain chain = {0};
    for (int i = 0; i < 10; i++) {
        th_chain_append(&chain, &works[i]);
    }
    th_inject_push(&inject, chain.first, chain.count);
    CHECK(!th_inject_is_empty(&inject));
    CHECK(th_inject_turn_begin(&inject));
    CHECK(!th_inject_turn_begin(&inject)); /* taken */
    chain = th_inject_take(&inject, 4, 100);
    CHECK_EQ(chain.count, 3); /* of ten */
    CHECK(chain.first == &works[0] && chain.last == &works[2]);
    chain = th_inject_take(&inject, 1, 2);
    CHECK_EQ(chain.count, 2);
    CHECK(chain.first == &works[3] && chain.last == &works[4]);
    th_inject_turn_end(&inject);
    CHECK(!th_inject_is_empty(&inject));
    CHECK(th_inject_turn_begin(&inject));
    chain = th_inject_take(&inject, 1, 100);
    CHECK_EQ(chain.count, 5);
    chain = th_inject_take(&inject, 1, 100);
    CHECK_EQ(chain.count, 0);
    CHECK(chain.first == NULL);
    th_inject_turn_end(&inject);
    CHECK(th_inject_is_empty(&inject));
}
