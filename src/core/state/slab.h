/*
 * slab.h: task objects. A worker takes them from and gives them back to a cache of its own; a full
 * cache sends a magazine of them home to the depot, where empty ones come for it. So a worker that
 * spawns and one that runs do not move memory one object at a time, and thieves do not keep it.
 *
 * The depot is under a lock, taken once a magazine. The slab of what has handles may outlive its
 * scheduler: handles can be joined after it has stopped.
 *
 * Objects are carved from *chunks*. A slab that gives back (reclaim.h) takes magazines out of the
 * depot that lay unused there, and counts whose chunk's they are: a chunk all of whose objects it
 * has in hand is freed, the others' objects go back to the depot. An object is in one place at a
 * time (a cache, the depot, a task, that hand), so nobody has one of a chunk that is freed.
 */
#ifndef TH_SLAB_H
#define TH_SLAB_H

#include "base/annotate.h"
#include "base/cc.h"
#include "core/state/lock.h"

#define TH_MAGAZINE TH_LIMIT(128, 4)

typedef struct th_slab_object {
    struct th_slab_object *next;          /* in a magazine */
    struct th_slab_object *next_magazine; /* the first of a full magazine, in the depot */
} th_slab_object;

/* The head of a chunk. */
typedef struct th_slab_chunk {
    struct th_slab_chunk *next; /* while some of its objects are in hand: others like it */
    struct th_slab_chunk *prev;
    th_slab_object *objects; /* those of its objects */
    size_t count;            /* how many those are */
} th_slab_chunk;

typedef struct th_slab {
    size_t object_size;                     /* constant */
    void *(*alloc)(void *ctx, size_t size); /* constant */
    void (*free)(void *ctx, void *ptr);
    void *ctx;
    bool
        discards; /* constant: pages of what it frees go back first, since malloc would keep them */

    th_lock lock;              /* protects the rest */
    th_slab_object *magazines; /* full ones */
    size_t magazines_count;
    size_t magazines_least; /* the lowest count in the present period (reclaim.h) */
    size_t magazines_stuck; /* those that no chunk could be put together from */
    size_t stuck_out;       /* how many objects were elsewhere then */
    th_slab_object *loose;  /* what came back one by one */
    th_slab_chunk **chunks; /* all memory, by address */
    size_t chunks_count;
    size_t chunks_room;
    size_t total; /* objects in it */
    size_t loose_count;
    size_t live;    /* once closed: objects still out */
    bool closed;    /* its scheduler is gone: the last object frees it */
    bool abandoned; /* in the child of a fork: a thread that is not there may have its lock */

    /* Of the worker that gives back; one at a time. */
    size_t taking;       /* so many magazines lay unused, and are to be taken */
    size_t put_back;     /* so many it had in vain */
    size_t held;         /* objects in hand */
    th_slab_chunk *open; /* chunks that some of them belong to */
} th_slab;

typedef struct th_slab_cache {
    th_slab *slab;
    th_slab_object *first;
    unsigned count;
    th_slab_object *spare; /* a second magazine, full or NULL: a cache that swings costs no lock */
    struct th_worker *owner; /* asks for what is too much to be given back; NULL: nobody does */
} th_slab_cache;

th_slab *th_slab_new(size_t object_size, void *(*alloc)(void *, size_t),
                     void (*free)(void *, void *), void *ctx);

/* Every cache has been flushed. Frees it, now or with the last object that is still out. */
void th_slab_close(th_slab *slab);

/* For the child of a fork: the lock is taken no more, and what comes back is forgotten. */
void th_slab_abandon(th_slab *slab);

void th_slab_flush(th_slab_cache *cache); /* all that it keeps goes to the depot */

/* Any thread: gives one back without a cache; the slab may be gone afterwards. Takes one; NULL. */
void th_slab_put_outside(th_slab *slab, void *object);
void *th_slab_get_outside(th_slab *slab);

/*
 * A period begins; what lay unused in the one before is to be taken, unless it is the first. False:
 * the depot holds no more than is kept.
 */
bool th_slab_period(th_slab *slab, bool first);

/* Gives back a little of that; true while there is more. One caller at a time. */
bool th_slab_reclaim(th_slab *slab);

/* For the thread sanitizer, in a task's context: the slab's memory was made before. */
#define th_slab_seen(slab) th_tsan_acquire(slab)

/* The slow halves. */
bool th_slab_fill(th_slab_cache *cache);
void th_slab_spill(th_slab_cache *cache);

/*
 * The links lie in objects that tasks write too, in contexts of their own: not shown to the thread
 * sanitizer, as those of queue/work.h.
 */
static TH_INLINE_NO_TSAN th_slab_object *th_slab_next(const th_slab_object *object) {
    return object->next;
}

static TH_INLINE_NO_TSAN void th_slab_link(th_slab_object *object, th_slab_object *next) {
    object->next = next;
}

/* The cache's owner. NULL: no memory. */
static inline void *th_slab_get(th_slab_cache *cache) {
    if (th_unlikely(!cache->first) && !th_slab_fill(cache)) {
        return NULL;
    }
    th_slab_object *object = cache->first;
    cache->first = th_slab_next(object);
    cache->count--;
    return object;
}

static inline void th_slab_put(th_slab_cache *cache, void *ptr) {
    th_slab_object *object = ptr;
    if (th_unlikely(cache->count == TH_MAGAZINE)) {
        th_slab_spill(cache);
    }
    th_slab_link(object, cache->first);
    cache->first = object;
    cache->count++;
}

#endif
