/*
 * thrum/pool.h: a pool of objects that are borrowed and given back.
 *
 * A *bounded* pool has `capacity` objects; a caller that finds none waits, first come, first
 * served. A caller that borrows several gets all of them at once, in turn, so that two such callers
 * never wait for each other with half of theirs in hand. An *unbounded* pool makes a new object
 * when none is free.
 *
 * Without `preserve` an object is constructed at each borrow and destructed when it is given back.
 * With it, objects keep their state in between: a bounded pool constructs all of them when it is
 * created, an unbounded one constructs each when it makes it; they are destructed with the pool.
 */
#ifndef THRUM_POOL_H
#define THRUM_POOL_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

typedef struct thrum_pool thrum_pool;

/* What a pool is made from; THRUM_POOL_CONFIG_INIT sets the defaults. */
typedef struct thrum_pool_config {
    size_t size;      /* sizeof(thrum_pool_config); set by the init */
    size_t item_size; /* bytes of an object, at least 1; each is 16-byte aligned */
    size_t capacity;  /* the number of objects; 0: unbounded */

    /*
     * Hooks, each of which may be NULL. They run in the caller of the borrow, the give-back, the
     * create or the destroy, with no lock held, and may block. The memory of a new object is zero.
     * `construct` returns 0 or more, or a negative code, which is passed on as it is, also where
     * the borrow's own codes are the same; such an object is not destructed.
     */
    int (*construct)(void *item, void *ctx);
    void (*destruct)(void *item, void *ctx);
    void *ctx;     /* for the hooks; the pool only passes it on */
    bool preserve; /* whether objects keep their state from one borrow to the next */

    /* The allocator, as in thrum_config: both or neither; called from any thread that uses the
     * pool. */
    void *(*alloc)(void *ctx, size_t size); /* 16-byte aligned memory, or NULL */
    void (*free)(void *ctx, void *ptr);
} thrum_pool_config;

/* clang-format off */
#define THRUM_POOL_CONFIG_INIT { sizeof(thrum_pool_config), 0, 0, NULL, NULL, NULL, 0, NULL, NULL }
/* clang-format on */

/*
 * Sets the defaults, which are the values of THRUM_POOL_CONFIG_INIT. Any thread may call it. It
 * never suspends and cannot fail.
 */
THRUM_API void thrum_pool_config_init(thrum_pool_config *config);

/*
 * Makes a pool, which is the caller's until thrum_pool_destroy; the config is not kept. A bounded
 * one has its memory from then on: borrowing from it allocates nothing. Any thread may call it. It
 * suspends only where the hooks do. Errors, with nothing left behind: -EINVAL when `out` is NULL or
 * the config makes no sense, -ENOMEM, or what `construct` failed with.
 */
THRUM_API THRUM_NODISCARD int thrum_pool_create(thrum_pool **out, const thrum_pool_config *config);

/*
 * Destructs the objects and frees everything. Any thread may call it while no other uses the pool,
 * as soon as the last give-back can be seen to have been made. It suspends only where `destruct`
 * does. It returns 0, or -EBUSY with nothing changed while an object is borrowed or waited for.
 */
THRUM_API int thrum_pool_destroy(thrum_pool *pool);

/*
 * Borrows an object, waiting until there is one; it is the program's until it is given back, by any
 * task or thread. What was written before it was given back is visible. Any thread may call it. It
 * may suspend. It returns 0, or with nothing borrowed and *item unchanged: -ECANCELED when the
 * caller is cancelled, by thrum_cancel or in another way; -ENOMEM from an unbounded pool; or what
 * `construct` failed with.
 */
THRUM_API THRUM_NODISCARD int thrum_pool_borrow(thrum_pool *pool, void **item);
/* Does the same until the deadline. Past it, it returns -ETIMEDOUT, and nothing was borrowed. */
THRUM_API THRUM_NODISCARD int thrum_pool_borrow_until(thrum_pool *pool, void **item,
                                                      thrum_time deadline);
/*
 * Does the same if there is an object and no other caller waits, else returns -EAGAIN. It suspends
 * only where the hooks do.
 */
THRUM_API THRUM_NODISCARD int thrum_pool_try_borrow(thrum_pool *pool, void **item);

/*
 * Borrows n objects, all at the same moment: callers that come later wait until this one has been
 * served. The objects are given back one by one. Any thread may call it. It may suspend. Errors are
 * those of thrum_pool_borrow and thrum_pool_borrow_until, and -EINVAL for more than the capacity;
 * on failure the contents of `items` mean nothing.
 */
THRUM_API THRUM_NODISCARD int thrum_pool_borrow_n(thrum_pool *pool, void *items[], size_t n);
THRUM_API THRUM_NODISCARD int thrum_pool_borrow_n_until(thrum_pool *pool, void *items[], size_t n,
                                                        thrum_time deadline);

/*
 * Gives an object back, to the first waiter if there is any. Any thread may call it. It suspends
 * only where `destruct` does. It aborts for what is not borrowed from this pool (as far as can be
 * seen).
 */
THRUM_API void thrum_pool_give_back(thrum_pool *pool, void *item);

THRUM_END_DECLS

#endif
