/*
 * pool.c: the pool of objects.
 *
 *     word    bit 0  LOCKED   the list lock (wordlock.h)
 *             bit 1  WAITERS  the list of waiters is not empty
 *
 * LOCKED protects the list of waiters, the free objects, and the counts. An object is *free* (in
 * the list `free`) or *out* (borrowed, or between the two while its hook runs). In front of each is
 * an `item`, which belongs to the pool while it is free and to the borrower while it is out.
 *
 * Invariant, for all but the holder of LOCKED and a waiter that is leaving: the first waiter wants
 * more objects than are free. So a caller that gives back, or leaves, serves as many waiters as it
 * can, in order; and a caller that borrows while there are waiters queues behind them.
 * sync/COUNTERS.md has the argument.
 */
#include "thrum/pool.h"

#include <stdalign.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/check.h"
#include "core/basis/config.h"
#include "core/state/thread.h"
#include "core/task/await.h"
#include "platform/platform.h"
#include "sync/waitlist.h"
#include "sync/wordlock.h"

typedef struct item {
    alignas(16) struct item *next; /* the link in `free`, or in a chain to be put there */
    struct item *all_next;         /* the link in `all`, in unbounded pools */
    const thrum_pool *pool;        /* the pool that it belongs to; constant */
    bool out;                      /* true while it is not free */
    bool constructed;
} item;

_Static_assert(sizeof(item) % 16 == 0, "what lies behind it is 16-byte aligned");

struct thrum_pool {
    uint32_t xword;
    void *first; /* the list of waiters; LOCKED protects it and all fields up to the config */
    void *last;
    item *free;
    size_t free_count;
    size_t out_count;
    item *all;                /* all items that were made, in unbounded pools */
    thrum_pool_config config; /* constant */
    size_t stride;            /* the bytes from one item to the next; constant */
    char *block;              /* the items of a bounded pool; constant */
};

/* Lives on the waiter's stack, or is the beginning of a th_await. */
struct borrower {
    th_waiter waiter; /* the list's element; it must be the first field */
    void **items;     /* the array to be filled; constant */
    size_t n;         /* the number of objects asked for; constant */
};
_Static_assert(offsetof(th_await, items) == offsetof(struct borrower, items) &&
                   offsetof(th_await, n) == offsetof(struct borrower, n),
               "as a th_await");

static inline th_waitlist list_of(thrum_pool *pool) {
    return (th_waitlist){&pool->first, &pool->last};
}

static inline item *item_of(void *object) {
    return (item *)object - 1;
}

/* A caller that meets another pauses, so that one of them makes several calls: wordlock.h. */
static TH_COLD void lock_pool_slow(thrum_pool *pool) {
    th_stand_back();
    (void)th_word32_lock_list(&pool->xword);
}

static TH_ALWAYS_INLINE void lock_pool(thrum_pool *pool) {
    /* relaxed: the compare-exchange decides */
    uint32_t seen = th_load_relaxed(&pool->xword);
    if (th_unlikely((seen & TH_WORD_LOCKED) != 0) ||
        th_unlikely(!th_word32_lock(&pool->xword, seen))) {
        lock_pool_slow(pool);
    }
}

static void unlock_pool(thrum_pool *pool) {
    th_word32_publish(&pool->xword, th_word32_with(0, list_of(pool)));
}

/* ---- with the lock ---- */

/* Makes n free objects, of which there are enough, the borrower's. */
static void hand_out(thrum_pool *pool, void *items[], size_t n) {
    for (size_t i = 0; i < n; i++) {
        item *it = pool->free;
        pool->free = it->next;
        it->out = true;
        items[i] = it + 1;
    }
    pool->free_count -= n;
    pool->out_count += n;
}

/* Serves as many waiters as it can, in order; returns those to wake once the lock is given up. */
static th_waiter *serve(thrum_pool *pool) {
    th_waiter *chain = NULL;
    th_waiter **link = &chain;
    th_waiter *first;
    while ((first = th_waitlist_first(list_of(pool)))) {
        struct borrower *borrower = (struct borrower *)(void *)first;
        if (borrower->n > pool->free_count) {
            break;
        }
        th_waitlist_leave(list_of(pool), first);
        if (first->timed && !th_waiter_claim(first, TH_WAIT_WOKEN)) {
            continue; /* its time is out, and it is about to leave the list */
        }
        hand_out(pool, borrower->items, borrower->n);
        *link = first;
        link = &first->next;
        *link = NULL;
    }
    return chain;
}

/* ---- the hooks ---- */

/* Constructs those of n objects that are not, all of them out; stops at the first error. */
static int construct(thrum_pool *pool, void *items[], size_t n) {
    const thrum_pool_config *config = &pool->config;
    for (size_t i = 0; i < n; i++) {
        item *it = item_of(items[i]);
        if (it->constructed) {
            continue;
        }
        int result = config->construct ? config->construct(items[i], config->ctx) : 0;
        if (result >= 0) {
            it->constructed = true;
            continue;
        }
        return result;
    }
    return 0;
}

static void destruct(thrum_pool *pool, item *it) {
    if (it->constructed) {
        it->constructed = false;
        if (pool->config.destruct) {
            pool->config.destruct(it + 1, pool->config.ctx);
        }
    }
}

/* ---- giving back ---- */

/* Gives back n objects that are out. */
static TH_ALWAYS_INLINE void put_back(thrum_pool *pool, void *items[], size_t n) {
    if (!pool->config.preserve) {
        for (size_t i = 0; i < n; i++) {
            destruct(pool, item_of(items[i]));
        }
    }
    lock_pool(pool);
    for (size_t i = n; i > 0; i--) {
        item *it = item_of(items[i - 1]);
        it->out = false;
        it->next = pool->free;
        pool->free = it;
    }
    pool->free_count += n;
    pool->out_count -= n;
    if (th_likely(th_waitlist_is_empty(list_of(pool)))) {
        th_word32_publish(&pool->xword, 0);
        return;
    }
    th_waiter *chain = serve(pool);
    unlock_pool(pool);
    th_waitlist_wake_all(chain);
}

void thrum_pool_give_back(thrum_pool *pool, void *object) {
    if (th_unlikely(!object) || th_unlikely(item_of(object)->pool != pool) ||
        th_unlikely(!item_of(object)->out)) {
        th_misuse("thrum_pool_give_back", "not borrowed from this pool", object);
    }
    put_back(pool, &object, 1);
}

/* ---- borrowing ---- */

/* Takes a waiter that gives up off the list. False: it was off the list already. */
static bool leave(void *object, th_waiter *me) {
    thrum_pool *pool = object;
    lock_pool(pool);
    bool listed = th_waitlist_leave(list_of(pool), me);
    th_waiter *chain = serve(pool); /* the waiters behind it may need fewer than it did */
    unlock_pool(pool);
    th_waitlist_wake_all(chain);
    return listed;
}

/* Allocates an item, which is out from the beginning; NULL when there is no memory. */
static item *make_item(thrum_pool *pool) {
    item *it = pool->config.alloc(pool->config.ctx, pool->stride);
    if (it) {
        memset(it, 0, pool->stride);
        it->pool = pool;
        it->out = true;
    }
    return it;
}

/* In unbounded pools: makes the missing objects, items[from] to items[n - 1]. */
static int make_missing(thrum_pool *pool, void *items[], size_t from, size_t n) {
    item *chain = NULL;
    item **link = &chain;
    size_t made = from;
    while (made < n) {
        item *it = make_item(pool);
        if (!it) {
            break;
        }
        items[made] = it + 1;
        made++;
        *link = it;
        link = &it->all_next;
    }
    lock_pool(pool);
    *link = pool->all;
    pool->all = chain;
    pool->out_count += made - from;
    unlock_pool(pool);
    if (made < n) {
        put_back(pool, items, made); /* the pool keeps the objects that were made */
        items[0] = NULL;             /* no constructor's code: thrum_pool_borrow_on_until */
        return -ENOMEM;
    }
    return 0;
}

/* They are handed out: their constructors run, which may fail. 0, or a code with none of them. */
static int construct_or_put_back(thrum_pool *pool, void *items[], size_t n) {
    int result = construct(pool, items, n);
    if (th_unlikely(result)) {
        put_back(pool, items, n);
    }
    return result;
}

/* With the lock of a bounded pool, which is given up if n objects were there for the caller. */
static inline bool take(thrum_pool *pool, void *items[], size_t n) {
    if (th_likely(th_waitlist_is_empty(list_of(pool))) && th_likely(pool->free_count >= n)) {
        hand_out(pool, items, n);
        th_word32_publish(&pool->xword, 0);
        return true;
    }
    return false;
}

/* For a waiter without a stack: objects that it has got at once are constructed. */
static int stand(void *object, th_waiter *waiter, bool late) {
    thrum_pool *pool = object;
    const th_await *me = (th_await *)(void *)waiter;
    lock_pool(pool);
    if (take(pool, me->items, me->n)) {
        int code = construct_or_put_back(pool, me->items, me->n);
        return code ? code : 1;
    }
    if (!late) {
        th_waitlist_push(list_of(pool), waiter);
    }
    unlock_pool(pool);
    return late ? -ETIMEDOUT : 0;
}

/* In the run that has got them. */
static void construct_in_run(void *object, th_waiter *waiter) {
    th_await *me = (th_await *)(void *)waiter;
    me->status = construct_or_put_back(object, me->items, me->n);
}

static const th_wait_kind waits = {
    .on = TH_ON_POOL, .stand = stand, .leave = leave, .got = construct_in_run};

/* With the lock, which it gives up. Queues the caller, and waits until it is served. */
static int wait_for_items(thrum_pool *pool, void *items[], size_t n, thrum_time deadline) {
    const bool timed = deadline != THRUM_FOREVER;
    struct borrower me = {.items = items, .n = n};
    th_waiter_init_for(&me.waiter, TH_ON_POOL, pool, timed, leave);
    th_waitlist_push(list_of(pool), &me.waiter);
    unlock_pool(pool);
    return th_wait_queued(&waits, pool, &me.waiter, timed, deadline);
}

/* A borrower's behaviour when there are too few. */
typedef enum { WAIT, TRY } manner;

/* With the lock of a bounded pool, which it gives up. */
static int get_of_bounded(thrum_pool *pool, void *items[], size_t n, manner how,
                          thrum_time deadline) {
    if (take(pool, items, n)) {
        return 0;
    }
    if (how == TRY) {
        unlock_pool(pool);
        return -EAGAIN;
    }
    return wait_for_items(pool, items, n, deadline);
}

static int get_items(thrum_pool *pool, void *items[], size_t n, manner how, thrum_time deadline) {
    bool bounded = pool->config.capacity != 0;
    lock_pool(pool);
    if (bounded) {
        return get_of_bounded(pool, items, n, how, deadline);
    }
    size_t there = pool->free_count < n ? pool->free_count : n;
    hand_out(pool, items, there);
    unlock_pool(pool);
    return there < n ? make_missing(pool, items, there, n) : 0;
}

static int borrow(thrum_pool *pool, void *items[], size_t n, manner how, thrum_time deadline) {
    if (pool->config.capacity && n > pool->config.capacity) {
        return -EINVAL;
    }
    if (n == 0) {
        return 0;
    }
    int result = get_items(pool, items, n, how, deadline);
    if (result) {
        return result;
    }
    return construct_or_put_back(pool, items, n);
}

static int borrow_one(thrum_pool *pool, void **object, manner how, thrum_time deadline) {
    void *borrowed;
    int result;
    if (th_likely(pool->config.capacity != 0) && pool->config.preserve) {
        lock_pool(pool);
        result = get_of_bounded(pool, &borrowed, 1, how, deadline); /* all are constructed */
    } else {
        result = borrow(pool, &borrowed, 1, how, deadline);
    }
    if (!result) {
        *object = borrowed;
    }
    return result;
}

int thrum_pool_borrow(thrum_pool *pool, void **object) {
    return borrow_one(pool, object, WAIT, THRUM_FOREVER);
}

int thrum_pool_borrow_until(thrum_pool *pool, void **object, thrum_time deadline) {
    return borrow_one(pool, object, WAIT, deadline);
}

int thrum_pool_try_borrow(thrum_pool *pool, void **object) {
    return borrow_one(pool, object, TRY, THRUM_FOREVER);
}

int thrum_pool_borrow_n(thrum_pool *pool, void *items[], size_t n) {
    return borrow(pool, items, n, WAIT, THRUM_FOREVER);
}

int thrum_pool_borrow_n_until(thrum_pool *pool, void *items[], size_t n, thrum_time deadline) {
    return borrow(pool, items, n, WAIT, deadline);
}

/* ---- waits of tasks ---- */

int thrum_pool_borrow_on_until(thrum_pool *pool, void *items[], size_t n, thrum_await *await,
                               thrum_task *task, thrum_time deadline) {
    bool bounded = pool->config.capacity != 0;
    int code =
        bounded && n > pool->config.capacity ? -EINVAL : th_await_init(await, task, &waits, pool);
    if (code) {
        return code;
    }
    if (n == 0 || !bounded) {
        code = borrow(pool, items, n, TRY, THRUM_FOREVER);
        return code ? code : 1;
    }
    th_await_of(await)->items = items;
    th_await_of(await)->n = n;
    return th_await_standing(await, deadline);
}

/* ---- the beginning and the end ---- */

void thrum_pool_config_init(thrum_pool_config *config) {
    *config = (thrum_pool_config)THRUM_POOL_CONFIG_INIT;
}

/* Destructs and frees everything; no thread uses the pool any longer. */
static void free_all(thrum_pool *pool) {
    thrum_pool_config config = pool->config;
    for (size_t i = 0; i < config.capacity; i++) {
        destruct(pool, (item *)(void *)(pool->block + i * pool->stride));
    }
    for (item *it = pool->all; it;) {
        item *next = it->all_next;
        destruct(pool, it);
        config.free(config.ctx, it);
        it = next;
    }
    if (pool->block) {
        config.free(config.ctx, pool->block);
    }
    config.free(config.ctx, pool);
}

/* Allocates the items of a bounded pool, and with `preserve` constructs its objects. */
static int fill(thrum_pool *pool) {
    size_t capacity = pool->config.capacity;
    if (capacity > SIZE_MAX / pool->stride) {
        return -ENOMEM;
    }
    pool->block = pool->config.alloc(pool->config.ctx, capacity * pool->stride);
    if (!pool->block) {
        return -ENOMEM;
    }
    memset(pool->block, 0, capacity * pool->stride);
    for (size_t i = capacity; i > 0; i--) {
        item *it = (item *)(void *)(pool->block + (i - 1) * pool->stride);
        it->pool = pool;
        it->next = pool->free;
        pool->free = it;
    }
    pool->free_count = capacity;
    int result = 0;
    for (item *it = pool->free; it && !result && pool->config.preserve; it = it->next) {
        void *object = it + 1;
        result = construct(pool, &object, 1);
    }
    return result;
}

static bool config_is_valid(const thrum_pool_config *config) {
    return config && config->size == sizeof *config && config->item_size > 0 &&
           !config->alloc == !config->free;
}

int thrum_pool_create(thrum_pool **out, const thrum_pool_config *config) {
    if (!out || !config_is_valid(config)) {
        return -EINVAL;
    }
    thrum_pool_config kept = *config;
    if (!kept.alloc) {
        kept.alloc = th_alloc_default;
        kept.free = th_free_default;
    }
    if (kept.item_size > SIZE_MAX - sizeof(item) - 15) {
        return -ENOMEM;
    }
    thrum_pool *pool = kept.alloc(kept.ctx, sizeof *pool);
    if (!pool) {
        return -ENOMEM;
    }
    *pool = (thrum_pool){.config = kept,
                         .stride = sizeof(item) + ((kept.item_size + 15) & ~(size_t)15)};
    int result = kept.capacity ? fill(pool) : 0;
    if (result) {
        pool->config.capacity = pool->block ? kept.capacity : 0;
        free_all(pool);
        return result;
    }
    *out = pool;
    return 0;
}

int thrum_pool_destroy(thrum_pool *pool) {
    lock_pool(pool);
    bool busy = pool->out_count != 0 || !th_waitlist_is_empty(list_of(pool));
    unlock_pool(pool);
    if (busy) {
        return -EBUSY;
    }
    free_all(pool);
    return 0;
}
