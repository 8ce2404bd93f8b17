/*
 * emptied.h: a pool whose only object is borrowed: the next borrower waits.
 */
#ifndef EMPTIED_H
#define EMPTIED_H

#include "support/support.h"

typedef struct emptied {
    thrum_pool *pool;
    void *item;
} emptied;

static inline void emptied_begin(emptied *e) {
    thrum_pool_config config = THRUM_POOL_CONFIG_INIT;
    config.item_size = sizeof(int);
    config.capacity = 1;
    CHECK_EQ(thrum_pool_create(&e->pool, &config), 0);
    CHECK_EQ(thrum_pool_borrow(e->pool, &e->item), 0);
}

static inline void emptied_end(emptied *e) {
    thrum_pool_give_back(e->pool, e->item);
    CHECK_EQ(thrum_pool_destroy(e->pool), 0);
}

#endif
