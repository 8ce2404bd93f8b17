/*
 * pools.h: a pool of objects whose hooks count, for the tests of pools.
 */
#ifndef POOLS_H
#define POOLS_H

#include "support/sync/actors.h"

typedef struct object {
    atomic_int users; /* present borrowers: 0 or 1 */
    int plain;        /* counted by its borrowers */
    char rest[37];    /* makes the size an odd one */
} object;

/* The hooks' counts. The rig comes first: the pool uses its allocator. */
typedef struct stage {
    rig r;
    thrum_pool *pool;
    order log;
    atomic_int constructed, destructed, borrowed, most, late, cancelled;
    atomic_int fail_in; /* the number of the next construct that fails, from 1; 0: none */
    int rounds, n;
    bool blocks; /* the hooks suspend */
} stage;

static inline int construct(void *item, void *ctx) {
    stage *s = ctx;
    object *o = item;
    CHECK_EQ((uintptr_t)item % 16, 0);
    if (s->blocks) {
        thrum_yield();
    }
    if (atomic_load(&s->fail_in) > 0 && atomic_fetch_sub(&s->fail_in, 1) == 1) {
        return -EIO;
    }
    atomic_store(&o->users, 0);
    o->plain = 0;
    memset(o->rest, 0x11, sizeof(o->rest));
    atomic_fetch_add(&s->constructed, 1);
    return 0;
}

static inline void destruct(void *item, void *ctx) {
    stage *s = ctx;
    object *o = item;
    CHECK_EQ(atomic_load(&o->users), 0);
    if (s->blocks) {
        thrum_yield();
    }
    memset(o->rest, 0x22, sizeof(o->rest));
    atomic_fetch_add(&s->destructed, 1);
}

static inline thrum_pool_config config_of(stage *s, size_t capacity, bool preserve) {
    thrum_pool_config config;
    thrum_pool_config_init(&config);
    config.item_size = sizeof(object);
    config.capacity = capacity;
    config.construct = construct;
    config.destruct = destruct;
    config.ctx = s;
    config.preserve = preserve;
    config.alloc = rig_alloc;
    config.free = rig_free;
    return config;
}

/* Begins without a pool. */
static inline stage *stage_bare(void) {
    stage *s = calloc(1, sizeof(*s));
    CHECK(s != NULL);
    rig_begin(&s->r, 0);
    return s;
}

static inline stage *stage_new(size_t capacity, bool preserve) {
    stage *s = stage_bare();
    thrum_pool_config config = config_of(s, capacity, preserve);
    CHECK_EQ(thrum_pool_create(&s->pool, &config), 0);
    return s;
}

/* Nothing is out: all constructed objects have been destructed, and all memory is given back. */
static inline void stage_end(stage *s) {
    CHECK_EQ(thrum_pool_destroy(s->pool), 0);
    CHECK_EQ(atomic_load(&s->constructed), atomic_load(&s->destructed));
    rig_stop(&s->r);
    free(s);
}

static inline void use(object *o) {
    CHECK_EQ(atomic_fetch_add(&o->users, 1), 0);
    CHECK_EQ(o->rest[sizeof(o->rest) - 1], 0x11);
    o->plain++;
}

static inline void end_use(object *o) {
    CHECK_EQ(atomic_fetch_sub(&o->users, 1), 1);
}

static inline object *borrowed(stage *s) {
    void *item = NULL;
    CHECK_EQ(thrum_pool_borrow(s->pool, &item), 0);
    use(item);
    return item;
}

static inline void give_back(stage *s, object *o) {
    end_use(o);
    thrum_pool_give_back(s->pool, o);
}

#endif
