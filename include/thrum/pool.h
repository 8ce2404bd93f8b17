/*
 * thrum/pool.h: pools of objects that are borrowed and given back.
 *
 * A bounded pool has `capacity` objects. A caller that finds none waits; waiters are served in the
 * order in which they come. A caller that borrows several objects gets all of them at once, so two
 * such callers never wait for each other with half of theirs in hand. An unbounded pool makes a new
 * object when none is free.
 *
 * Without `preserve`, an object is constructed at each borrow and destructed when it is given back.
 * With `preserve`, objects keep their state in between: a bounded pool constructs all of them when
 * it is created, an unbounded one constructs each when it makes it. They are destructed with the
 * pool.
 */
#ifndef THRUM_POOL_H
#define THRUM_POOL_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/* A pool. It belongs to the caller of thrum_pool_create until thrum_pool_destroy. */
typedef struct thrum_pool thrum_pool;

/*
 * The description of a pool. It is the caller's, and thrum_pool_create does not keep it.
 * THRUM_POOL_CONFIG_INIT or thrum_pool_config_init sets the defaults.
 *
 * The hooks may be NULL. They run in the caller of the borrow, the give-back, the create or the
 * destroy, with no lock held, and may block.
 */
typedef struct thrum_pool_config {
    size_t size;      /* sizeof(thrum_pool_config); set by the init */
    size_t item_size; /* the size of an object in bytes, at least 1; each is aligned to 16 bytes */
    size_t capacity;  /* the number of objects; 0: unbounded */

    /*
     * A hook that makes an object; the memory of a new one is zero. It returns 0 or more, or a
     * negative code, which the call passes on as it is, also if it is one of the call's own codes.
     * An object that could not be made is not destructed.
     */
    int (*construct)(void *item, void *ctx);
    void (*destruct)(void *item, void *ctx); /* a hook that ends an object */
    void *ctx;     /* for the hooks and the allocator; the pool only passes it on */
    bool preserve; /* whether objects keep their state from one borrow to the next */

    /* The allocator: memory that is aligned to 16 bytes, or NULL. Both functions are set, or
     * neither: then it is malloc. Any thread that uses the pool may call them. */
    void *(*alloc)(void *ctx, size_t size);
    void (*free)(void *ctx, void *ptr); /* gives the memory back */
} thrum_pool_config;

/*
 * Sets the defaults: no item_size yet, an unbounded pool, no hooks, the memory of malloc.
 * THRUM_POOL_CONFIG_INIT is the same as an initializer.
 *
 * Parameters:
 *   config  the description, whose fields are all overwritten
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example: examples/pool.c
 * See also: thrum_pool_create
 */
/* clang-format off */
#define THRUM_POOL_CONFIG_INIT { sizeof(thrum_pool_config), 0, 0, NULL, NULL, NULL, 0, NULL, NULL }
/* clang-format on */
THRUM_API void thrum_pool_config_init(thrum_pool_config *config);

/*
 * Makes a pool. A bounded pool allocates all of its memory here: borrowing from it allocates
 * nothing.
 *
 * Parameters:
 *   out     gets the pool, which is the caller's until thrum_pool_destroy
 *   config  the description, which is not kept
 * Returns: 0, or a negative error code with nothing left behind and *out unchanged. With
 *   `preserve`, the code that `construct` failed with is returned as it is.
 * Errors:
 *   -EINVAL  out or config is NULL, its `size` was not set by the init, its item_size is 0, or only
 *            one of alloc and free is set
 *   -ENOMEM  there is no memory
 * Context: any thread; may suspend; not cancellable. It suspends only if a hook does.
 * Ordering: none.
 * Example: examples/pool.c
 * See also: thrum_pool_config, thrum_pool_borrow, thrum_pool_destroy
 */
THRUM_API THRUM_NODISCARD int thrum_pool_create(thrum_pool **out, const thrum_pool_config *config);

/*
 * Destructs the objects and frees the pool. No other call may use the pool meanwhile; a caller that
 * can see that the last give-back was made may destroy the pool at once.
 *
 * Parameters:
 *   pool  the pool, with all objects given back
 * Returns: 0, or -EBUSY with nothing changed.
 * Errors:
 *   -EBUSY  an object is borrowed or waited for
 * Context: any thread; may suspend; not cancellable. It suspends only if `destruct` does.
 * Ordering: on success, `destruct` sees the writes before the objects were given back.
 * See also: thrum_pool_create
 */
THRUM_API int thrum_pool_destroy(thrum_pool *pool);

/*
 * Borrows an object. It is the caller's until any task or thread gives it back. thrum_pool_borrow
 * waits until there is one, thrum_pool_borrow_until gives up at the deadline, and
 * thrum_pool_try_borrow does not wait. An object that is free is borrowed even past the deadline or
 * by a cancelled caller.
 *
 * Parameters:
 *   pool      the pool
 *   item      gets the object
 *   deadline  thrum_pool_borrow_until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: 0, or a negative error code with nothing borrowed and *item unchanged. The code that
 *   `construct` failed with is returned as it is.
 * Errors:
 *   -ECANCELED  the caller was cancelled; not from thrum_pool_try_borrow
 *   -ETIMEDOUT  thrum_pool_borrow_until: the deadline passed
 *   -EAGAIN     thrum_pool_try_borrow: a bounded pool has no free object, or other callers wait
 *   -ENOMEM     an unbounded pool has no memory for an object
 *   -ESHUTDOWN  in the child of a fork (thrum/sched.h): no thread is left to end the wait
 * Context: any thread; may suspend; cancellable. thrum_pool_try_borrow suspends only if a hook
 *   does.
 * Ordering: the writes before the object was given back are visible.
 * Example:
 *    void *connection;
 *    int err = thrum_pool_borrow_until(connections, &connection, thrum_after_ms(100));
 * See also: thrum_pool_give_back, thrum_pool_borrow_n, thrum_pool_borrow_on_until
 */
THRUM_API THRUM_NODISCARD int thrum_pool_borrow(thrum_pool *pool, void **item);
THRUM_API THRUM_NODISCARD int thrum_pool_borrow_until(thrum_pool *pool, void **item,
                                                      thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_pool_try_borrow(thrum_pool *pool, void **item);

/*
 * Borrows n objects, all at the same moment. thrum_pool_borrow_n_until gives up at the deadline.
 * Callers that come later wait until this one has been served. The objects are given back one by
 * one.
 *
 * Parameters:
 *   pool      the pool
 *   items     gets the n objects; after an error its contents mean nothing
 *   n         the number of objects, at most the capacity of a bounded pool; 0 objects are there at
 *             once
 *   deadline  thrum_pool_borrow_n_until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: 0, or a negative error code with nothing borrowed. The code that `construct` failed with
 *   is returned as it is.
 * Errors:
 *   -EINVAL     n is above the capacity
 *   -ECANCELED  the caller was cancelled
 *   -ETIMEDOUT  thrum_pool_borrow_n_until: the deadline passed
 *   -ENOMEM     an unbounded pool has no memory for the objects
 *   -ESHUTDOWN  in the child of a fork (thrum/sched.h): no thread is left to end the wait
 * Context: any thread; may suspend; cancellable.
 * Ordering: the writes before the objects were given back are visible.
 * Example: examples/pool.c
 * See also: thrum_pool_give_back, thrum_pool_borrow
 */
THRUM_API THRUM_NODISCARD int thrum_pool_borrow_n(thrum_pool *pool, void *items[], size_t n);
THRUM_API THRUM_NODISCARD int thrum_pool_borrow_n_until(thrum_pool *pool, void *items[], size_t n,
                                                        thrum_time deadline);

/*
 * Gives an object back. If callers wait for objects, they are served in their order.
 *
 * Parameters:
 *   pool  the pool that the object was borrowed from
 *   item  the object
 * Context: any thread; may suspend; not cancellable. It suspends only if `destruct` does.
 * Ordering: the writes before the call are visible to the next borrower of the object.
 * Misuse: the object is not borrowed from this pool, as far as can be seen.
 * Example: examples/pool.c
 * See also: thrum_pool_borrow
 */
THRUM_API void thrum_pool_give_back(thrum_pool *pool, void *item);

THRUM_END_DECLS

#endif
