/*
 * thrum/pool.h: a pool of objects that are borrowed and given back.
 *
 * A *bounded* pool has `capacity` objects; who finds none waits, first come, first served. Whoever
 * borrows several gets all of them at once, in turn, so that two who do so never wait for each
 * other with half of theirs in hand. An *unbounded* pool makes a new object when none is free.
 *
 * Without `preserve` an object is constructed at each borrow and destructed when it is given back.
 * With it, objects keep their state in between: a bounded pool constructs all of them when it is
 * created, an unbounded one each when it is made; they are destructed with the pool.
 */
#ifndef THRUM_POOL_H
#define THRUM_POOL_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

typedef struct thrum_pool thrum_pool;

typedef struct thrum_pool_config {
    size_t size;      /* sizeof(thrum_pool_config); set by the init */
    size_t item_size; /* bytes of an object, at least 1; each is 16-byte aligned */
    size_t capacity;  /* how many there are; 0: unbounded */

    /*
     * May each be NULL. They run in the caller of the borrow, the give-back, the create or the
     * destroy, with no lock held, and may block. The memory of a new object is zero. `construct`
     * returns 0 or more, or a negative code, which is passed on; such an object is not destructed.
     */
    int (*construct)(void *item, void *ctx);
    void (*destruct)(void *item, void *ctx);
    void *ctx;     /* for the hooks; the pool only passes it on */
    bool preserve; /* see above */

    /* Where memory comes from, as in thrum_config: both or neither; any thread that uses the pool.
     */
    void *(*alloc)(void *ctx, size_t size); /* 16-byte aligned memory, or NULL */
    void (*free)(void *ctx, void *ptr);
} thrum_pool_config;

/* clang-format off */
#define THRUM_POOL_CONFIG_INIT { sizeof(thrum_pool_config), 0, 0, NULL, NULL, NULL, 0, NULL, NULL }
/* clang-format on */

/* Sets the defaults: the values of THRUM_POOL_CONFIG_INIT. Any thread; never suspends. */
THRUM_API void thrum_pool_config_init(thrum_pool_config *config);

/*
 * Makes a pool; the config is not kept. A bounded one has its memory from then on: borrowing from
 * it allocates nothing. Any thread; suspends only where the hooks do. -EINVAL, -ENOMEM, or what
 * `construct` failed with: then nothing is left.
 */
THRUM_API THRUM_NODISCARD int thrum_pool_create(thrum_pool **out, const thrum_pool_config *config);

/*
 * Destructs the objects and frees everything. -EBUSY, unchanged, while one is borrowed or waited
 * for. Nobody may use the pool meanwhile; it may be called as soon as the last give-back can be
 * seen to have been made.
 */
THRUM_API int thrum_pool_destroy(thrum_pool *pool);

/*
 * Borrows an object, waiting until there is one; it is the caller's until it is given back, by
 * whomever. Any thread; may suspend. What was written before it was given back is visible.
 * -ECANCELED (thrum_sched_stop_until), -ENOMEM (unbounded), or what `construct` failed with:
 * nothing was borrowed, and *item is unchanged.
 */
THRUM_API THRUM_NODISCARD int thrum_pool_borrow(thrum_pool *pool, void **item);
/* The same until the deadline: -ETIMEDOUT, and nothing was borrowed. */
THRUM_API THRUM_NODISCARD int thrum_pool_borrow_until(thrum_pool *pool, void **item,
                                                      thrum_time deadline);
/* The same if there is one and nobody waits, else -EAGAIN. Suspends only where the hooks do. */
THRUM_API THRUM_NODISCARD int thrum_pool_try_borrow(thrum_pool *pool, void **item);

/*
 * Borrows n objects, all at the same moment: whoever comes later waits until these have been
 * served. -EINVAL for more than the capacity; else as thrum_pool_borrow, and on failure the
 * contents of `items` mean nothing. They are given back one by one.
 */
THRUM_API THRUM_NODISCARD int thrum_pool_borrow_n(thrum_pool *pool, void *items[], size_t n);
THRUM_API THRUM_NODISCARD int thrum_pool_borrow_n_until(thrum_pool *pool, void *items[], size_t n,
                                                        thrum_time deadline);

/*
 * Gives an object back, to the first who waits if there is any. Any thread; suspends only where
 * `destruct` does. Aborts for what is not borrowed from this pool (as far as can be seen).
 */
THRUM_API void thrum_pool_give_back(thrum_pool *pool, void *item);

THRUM_END_DECLS

#endif
