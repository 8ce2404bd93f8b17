/*
 * slab.h: task objects. A worker takes them from a cache of its own and gives them back to it. A
 * full cache sends a *magazine* of them to the depot, and an empty one fetches a magazine there. So
 * objects do not move one at a time from a worker that runs tasks to one that spawns them, and
 * thieves do not pile them up.
 *
 * An external thread (external.h) has a cache as well, which begins with single objects.
 *
 * The depot is under a lock, taken once per magazine, and for single objects. The slab of tasks
 * with handles may outlive its scheduler: handles can be joined after it has stopped.
 *
 * Objects are carved from *chunks*. To give memory back (reclaim.h), the slab takes magazines that
 * lay unused out of the depot, and counts the objects of each chunk among them. A chunk is freed
 * when all of its objects are *in hand*; the objects of the others go back to the depot. An object
 * is in one place at a time (a cache, the depot, a task, or in hand), so no object of a freed chunk
 * is in use.
 */
#ifndef TH_SLAB_H
#define TH_SLAB_H

#include "base/annotate.h"
#include "base/cc.h"
#include "core/basis/lock.h"

#define TH_MAGAZINE TH_LIMIT(128, 4)

typedef struct th_slab_object {
    struct th_slab_object *next;          /* in a magazine */
    struct th_slab_object *next_magazine; /* the depot's next; in a magazine's first object */
} th_slab_object;

/* The head of a chunk. */
typedef struct th_slab_chunk {
    struct th_slab_chunk *next; /* the list of chunks that have objects in hand */
    struct th_slab_chunk *prev;
    th_slab_object *objects; /* its objects in hand */
    size_t count;            /* the number of its objects in hand */
} th_slab_chunk;

typedef struct th_slab {
    size_t object_size;                     /* constant */
    void *(*alloc)(void *ctx, size_t size); /* constant */
    void (*free)(void *ctx, void *ptr);
    void *ctx;
    bool discards; /* constant: gives freed chunks' pages back itself, as malloc would keep them */

    th_lock lock;              /* protects the rest */
    th_slab_object *magazines; /* the full magazines of the depot */
    size_t magazines_count;
    size_t magazines_least;    /* the lowest count in the present period (reclaim.h) */
    size_t magazines_put_back; /* magazines put back, since their chunks were not complete */
    size_t out_then;           /* the number of objects in caches and tasks at that time */
    th_slab_object *loose;     /* objects that came back one by one */
    th_slab_chunk **chunks;    /* all chunks, by address */
    size_t chunks_count;
    size_t chunks_room;
    size_t total; /* objects in all chunks */
    size_t loose_count;
    size_t live;    /* once closed: objects still out */
    bool closed;    /* its scheduler is gone: the last object frees it */
    bool xrefuses;  /* gives nothing out except from caches: th_slab_refuse */
    bool abandoned; /* in the child of a fork: a thread that is not there may hold the lock */

    /* For the worker that gives memory back; one at a time. */
    size_t taking;       /* magazines that lay unused, and are still to be taken */
    size_t put_back;     /* magazines taken for nothing */
    size_t held;         /* objects in hand */
    th_slab_chunk *open; /* chunks with objects in hand */
} th_slab;

typedef struct th_slab_cache {
    th_slab *slab;
    th_slab_object *first;
    unsigned count;
    th_slab_object *spare;   /* a second magazine, full or NULL: ups and downs then cost no lock */
    struct th_worker *owner; /* the worker that asks to give back a surplus; NULL: none asks */
    unsigned part;           /* how many th_slab_get_part asked for last; 0: it has not yet */
} th_slab_cache;

th_slab *th_slab_new(size_t object_size, void *(*alloc)(void *, size_t),
                     void (*free)(void *, void *), void *ctx);

/* Frees the slab, now or with the last object that is still out. Every cache has been flushed. */
void th_slab_close(th_slab *slab);

/* While it refuses, empty caches are not refilled: callers that find one empty get no memory. */
void th_slab_refuse(th_slab *slab, bool refuses);

void th_slab_flush(th_slab_cache *cache); /* moves all its objects to the depot */

/* Put and get an object without a cache, on any thread. After a put the slab may be gone; get
 * returns NULL when there is no memory. */
void th_slab_put_external(th_slab *slab, void *object);
void *th_slab_get_external(th_slab *slab);

/*
 * Begins a period: magazines that lay unused in the previous one will be taken, unless this is the
 * first. False: the depot is within its limit.
 */
bool th_slab_period(th_slab *slab, bool first);

/* Gives back a little of them; true while there is more. One caller at a time. */
bool th_slab_reclaim(th_slab *slab);

/* Calls `see` for all objects, also those in caches, which are zeros before their first use. */
void th_slab_each(th_slab *slab, void (*see)(void *ctx, void *object), void *ctx);

/* Informs the thread sanitizer, in a task's context, that the slab's memory was made before. */
#define th_slab_seen(slab) th_tsan_acquire(slab)

/* The slow halves. */
bool th_slab_fill(th_slab_cache *cache);
bool th_slab_fill_part(th_slab_cache *cache);
void th_slab_spill(th_slab_cache *cache);

/*
 * The links lie in objects that tasks also write, in contexts of their own: so they are not shown
 * to the thread sanitizer, like those of queue/work.h.
 */
static TH_INLINE_NO_TSAN th_slab_object *th_slab_next(const th_slab_object *object) {
    return object->next;
}

static TH_INLINE_NO_TSAN void th_slab_link(th_slab_object *object, th_slab_object *next) {
    object->next = next;
}

/* The cache holds some. */
static inline void *th_slab_pop(th_slab_cache *cache) {
    th_slab_object *object = cache->first;
    cache->first = th_slab_next(object);
    cache->count--;
    return object;
}

/* Called by the cache's owner. NULL: no memory. */
static inline void *th_slab_get(th_slab_cache *cache) {
    if (th_unlikely(!cache->first) && !th_slab_fill(cache)) {
        return NULL;
    }
    return th_slab_pop(cache);
}

/*
 * The same for an owner that may be one of very many: when the cache is empty it fetches one
 * object, next time two, then four, up to a magazine. So an owner that takes few holds few unused.
 * Objects put there stay, as in every cache: two magazines at most.
 */
static inline void *th_slab_get_part(th_slab_cache *cache) {
    if (th_unlikely(!cache->first) && !th_slab_fill_part(cache)) {
        return NULL;
    }
    return th_slab_pop(cache);
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
