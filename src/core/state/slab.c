/*
 * slab.c: the depot behind the caches.
 */
#include "core/state/slab.h"

#include <string.h>

#include "base/annotate.h"
#include "base/atomic.h"
#include "base/check.h"
#include "core/state/reclaim_want.h"
#include "platform/platform.h"

#define CHUNK_BYTES TH_LIMIT((size_t)64 * 1024, (size_t)2 * 1024)
#define CHUNK_HEAD sizeof(th_slab_chunk)
/* Magazines that the depot keeps and never gives back. */
#define KEPT TH_LIMIT(256, 4)

_Static_assert(CHUNK_HEAD % 16 == 0, "objects are aligned");

static bool carve(th_slab *slab, th_slab_cache *cache);
static void take_loose(th_slab *slab, th_slab_cache *cache, unsigned most);

/* With the lock. */
static void put_magazine(th_slab *slab, th_slab_object *first) {
    first->next_magazine = slab->magazines;
    slab->magazines = first;
    slab->magazines_count++;
}

/* With the lock. */
static void put_loose(th_slab *slab, th_slab_object *object) {
    th_slab_link(object, slab->loose);
    slab->loose = object;
    slab->loose_count++;
}

/* Cuts the list behind its first `count` objects; returns the rest. */
static th_slab_object *cut(th_slab_object *first, unsigned count) {
    for (unsigned i = 1; i < count; i++) {
        first = th_slab_next(first);
    }
    th_slab_object *rest = th_slab_next(first);
    th_slab_link(first, NULL);
    return rest;
}

/* With the lock: a full magazine, or NULL. */
static th_slab_object *take_magazine(th_slab *slab) {
    th_slab_object *first = slab->magazines;
    if (first) {
        slab->magazines = first->next_magazine;
        slab->magazines_count--;
        if (slab->magazines_count < slab->magazines_least) {
            slab->magazines_least = slab->magazines_count;
        }
    }
    return first;
}

/* With the lock: the number of objects that are in caches and tasks. */
static size_t out(const th_slab *slab) {
    return slab->total - slab->loose_count - slab->magazines_count * TH_MAGAZINE;
}

/*
 * With the lock: whether the depot holds more than is kept, not counting magazines taken for
 * nothing; those are tried again when half of the objects that were out at that time have come
 * back.
 */
static bool has_more(const th_slab *slab) {
    size_t count = slab->magazines_count;
    return count > KEPT &&
           (count > slab->magazines_put_back + KEPT || 2 * out(slab) < slab->out_then);
}

void th_slab_refuse(th_slab *slab, bool refuses) {
    th_store_relaxed(&slab->xrefuses, refuses); /* relaxed: a hint, which publishes nothing */
}

bool th_slab_fill(th_slab_cache *cache) {
    if (th_unlikely(th_load_relaxed(&cache->slab->xrefuses))) { /* relaxed: a hint */
        return false;
    }
    if (cache->spare) {
        cache->first = cache->spare;
        cache->spare = NULL;
        cache->count = TH_MAGAZINE;
        return true;
    }
    th_slab *slab = cache->slab;
    th_lock_acquire(&slab->lock);
    th_slab_object *object = take_magazine(slab);
    if (object) {
        cache->count = TH_MAGAZINE;
        cache->first = object;
    } else {
        take_loose(slab, cache, TH_MAGAZINE);
    }
    th_lock_release(&slab->lock);
    return cache->first || carve(slab, cache);
}

static size_t per_chunk(const th_slab *slab) {
    return (CHUNK_BYTES - CHUNK_HEAD) / slab->object_size / TH_MAGAZINE * TH_MAGAZINE;
}

/*
 * With the lock: the number of chunks in the table that begin at the address or below; the last of
 * them is one place before it.
 */
static size_t chunks_below(const th_slab *slab, uintptr_t address) {
    size_t low = 0;
    size_t high = slab->chunks_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uintptr_t)slab->chunks[middle] <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* With the lock: enters the chunk into the table. False: no memory for the table. */
static bool list_chunk(th_slab *slab, th_slab_chunk *chunk) {
    if (slab->chunks_count == slab->chunks_room) {
        size_t room = slab->chunks_room ? 2 * slab->chunks_room : 16;
        th_slab_chunk **chunks = slab->alloc(slab->ctx, room * sizeof(th_slab_chunk *));
        if (!chunks) {
            return false;
        }
        if (slab->chunks) {
            memcpy(chunks, slab->chunks, slab->chunks_count * sizeof *chunks);
            slab->free(slab->ctx, slab->chunks);
        }
        slab->chunks = chunks;
        slab->chunks_room = room;
    }
    size_t at = chunks_below(slab, (uintptr_t)chunk);
    memmove(slab->chunks + at + 1, slab->chunks + at,
            (slab->chunks_count - at) * sizeof *slab->chunks);
    slab->chunks[at] = chunk;
    slab->chunks_count++;
    return true;
}

/* Cuts a fresh chunk into magazines: the first for the cache, the rest for the depot. */
static bool carve(th_slab *slab, th_slab_cache *cache) {
    char *chunk = slab->alloc(slab->ctx, CHUNK_BYTES);
    if (!chunk) {
        return false;
    }
#if UINTPTR_MAX > 0xffffffff
    if ((uintptr_t)chunk >> 48) { /* handle.h: handles have their generation there */
        th_misuse("thrum_config.alloc", "it returned an address of more than 48 bits", chunk);
    }
#endif
    memset(chunk, 0, CHUNK_BYTES);
    size_t count = per_chunk(slab);
    /* the remainder at its end stays unused */
    th_slab_object *magazines = NULL;
    char *at = chunk + CHUNK_HEAD + count * slab->object_size;
    for (size_t i = count / TH_MAGAZINE; i > 0; i--) {
        th_slab_object *first = NULL;
        for (int j = 0; j < TH_MAGAZINE; j++) {
            at -= slab->object_size;
            th_slab_object *object = (th_slab_object *)(void *)at;
            th_slab_link(object, first);
            first = object;
        }
        first->next_magazine = magazines;
        magazines = first;
    }
    th_tsan_release(slab); /* the worker has written fresh memory here: th_slab_seen */
    th_lock_acquire(&slab->lock);
    bool listed = list_chunk(slab, (th_slab_chunk *)(void *)chunk);
    if (listed) {
        cache->first = magazines;
        cache->count = TH_MAGAZINE;
        slab->total += count;
        for (th_slab_object *m = magazines->next_magazine; m;) {
            th_slab_object *next = m->next_magazine;
            put_magazine(slab, m);
            m = next;
        }
    }
    th_lock_release(&slab->lock);
    if (!listed) {
        slab->free(slab->ctx, chunk);
    }
    return listed;
}

/* With the lock: moves loose objects into the cache until it holds `most`. */
static void take_loose(th_slab *slab, th_slab_cache *cache, unsigned most) {
    while (slab->loose && cache->count < most) {
        th_slab_object *object = slab->loose;
        slab->loose = th_slab_next(object);
        slab->loose_count--;
        th_slab_link(object, cache->first);
        cache->first = object;
        cache->count++;
    }
}

/* Moves all but the first `kept` objects to the depot. The cache holds more. */
static void flush_rest(th_slab_cache *cache, unsigned kept) {
    th_slab_cache rest = {.slab = cache->slab, .first = cut(cache->first, kept)};
    cache->count = kept;
    th_slab_flush(&rest);
}

bool th_slab_fill_part(th_slab_cache *cache) {
    th_slab *slab = cache->slab;
    if (th_unlikely(th_load_relaxed(&slab->xrefuses))) { /* relaxed: a hint */
        return false;
    }
    cache->part = cache->part ? 2 * cache->part : 1;
    if (cache->spare || cache->part >= TH_MAGAZINE) {
        cache->part = TH_MAGAZINE;
        return th_slab_fill(cache);
    }
    th_lock_acquire(&slab->lock);
    take_loose(slab, cache, cache->part);
    th_lock_release(&slab->lock);
    if (!cache->first) {
        if (!th_slab_fill(cache)) {
            return false;
        }
        if (cache->count > cache->part) {
            flush_rest(cache, cache->part);
        }
    }
    return true;
}

void th_slab_spill(th_slab_cache *cache) {
    th_slab_object *full = cache->spare;
    cache->spare = cache->first;
    cache->first = NULL;
    cache->count = 0;
    if (full) {
        th_slab *slab = cache->slab;
        th_lock_acquire(&slab->lock);
        put_magazine(slab, full);
        bool more = cache->owner && has_more(slab);
        th_lock_release(&slab->lock);
        if (more) {
            th_reclaim_want(cache->owner);
        }
    }
}

void th_slab_flush(th_slab_cache *cache) {
    th_slab *slab = cache->slab;
    if (!slab) {
        return;
    }
    TH_LOCKED(&slab->lock);
    if (cache->spare) {
        put_magazine(slab, cache->spare);
        cache->spare = NULL;
    }
    while (cache->first) {
        th_slab_object *object = cache->first;
        cache->first = th_slab_next(object);
        put_loose(slab, object);
    }
    cache->count = 0;
}

static void slab_free(th_slab *slab) {
    for (size_t i = 0; i < slab->chunks_count; i++) {
        slab->free(slab->ctx, slab->chunks[i]);
    }
    if (slab->chunks) {
        slab->free(slab->ctx, slab->chunks);
    }
    slab->free(slab->ctx, slab);
}

void th_slab_put_external(th_slab *slab, void *ptr) {
    if (th_unlikely(slab->abandoned)) {
        return;
    }
    th_lock_acquire(&slab->lock);
    put_loose(slab, ptr);
    bool last = slab->closed && --slab->live == 0;
    th_lock_release(&slab->lock);
    if (last) {
        slab_free(slab);
    }
}

void *th_slab_get_external(th_slab *slab) {
    th_slab_cache cache = {.slab = slab};
    return th_slab_get_part(&cache); /* the first part is one object */
}

th_slab *th_slab_new(size_t object_size, void *(*alloc)(void *, size_t),
                     void (*free)(void *, void *), void *ctx) {
    th_check(object_size % 16 == 0 && object_size >= sizeof(th_slab_object));
    th_slab *slab = alloc(ctx, sizeof *slab);
    if (slab) {
        *slab = (th_slab){.object_size = object_size, .alloc = alloc, .free = free, .ctx = ctx};
    }
    return slab;
}

void th_slab_close(th_slab *slab) {
    th_lock_acquire(&slab->lock);
    size_t unused = slab->loose_count + slab->held + slab->magazines_count * TH_MAGAZINE;
    slab->live = slab->total - unused;
    slab->closed = true;
    bool free_now = slab->live == 0;
    th_lock_release(&slab->lock);
    if (free_now) {
        slab_free(slab);
    }
}

void th_slab_each(th_slab *slab, void (*see)(void *ctx, void *object), void *ctx) {
    const size_t count = per_chunk(slab);
    TH_LOCKED(&slab->lock);
    for (size_t i = 0; i < slab->chunks_count; i++) {
        for (size_t j = 0; j < count; j++) {
            see(ctx, (char *)slab->chunks[i] + CHUNK_HEAD + j * slab->object_size);
        }
    }
}

/* ---- giving memory back ---- */

bool th_slab_period(th_slab *slab, bool first) {
    TH_LOCKED(&slab->lock);
    size_t unused = slab->magazines_least;
    slab->magazines_least = slab->magazines_count;
    if (slab->magazines_put_back > slab->magazines_count) {
        slab->magazines_put_back = slab->magazines_count;
    }
    bool more = has_more(slab);
    slab->taking = more && !first && unused > KEPT ? unused : 0;
    if (!slab->open) {
        slab->put_back = 0; /* else the objects in hand are still to be put back, and counted */
    }
    return more || slab->open;
}

static void open_chunk(th_slab *slab, th_slab_chunk *chunk) {
    TH_LIST_PUSH(&slab->open, chunk, next, prev);
}

static void close_chunk(th_slab *slab, th_slab_chunk *chunk) {
    TH_LIST_TAKE(&slab->open, chunk, next, prev);
    slab->held -= chunk->count;
}

/* All objects of the chunk are in hand, so none is in use. */
static void free_chunk(th_slab *slab, th_slab_chunk *chunk) {
    close_chunk(slab, chunk);
    th_lock_acquire(&slab->lock);
    size_t at = chunks_below(slab, (uintptr_t)chunk) - 1;
    slab->chunks_count--;
    memmove(slab->chunks + at, slab->chunks + at + 1,
            (slab->chunks_count - at) * sizeof *slab->chunks);
    slab->total -= per_chunk(slab);
    th_lock_release(&slab->lock);
    if (slab->discards) {
        uintptr_t page = th_os_page_size();
        uintptr_t low = ((uintptr_t)chunk + page - 1) & ~(page - 1);
        uintptr_t high = ((uintptr_t)chunk + CHUNK_BYTES) & ~(page - 1);
        if (low < high) {
            th_os_discard((char *)chunk + (low - (uintptr_t)chunk), high - low);
        }
    }
    slab->free(slab->ctx, chunk);
}

/* Takes a magazine in hand. The objects are cold, so they are read before the lock is taken. */
static void take_in_hand(th_slab *slab) {
    th_slab_object *objects[TH_MAGAZINE];
    th_slab_chunk *chunks[TH_MAGAZINE];
    th_lock_acquire(&slab->lock);
    th_slab_object *next = take_magazine(slab);
    th_lock_release(&slab->lock);
    if (!next) {
        slab->taking = 0;
        return;
    }
    slab->taking--;
    for (int i = 0; i < TH_MAGAZINE; i++) {
        objects[i] = next;
        next = th_slab_next(next);
    }
    th_lock_acquire(&slab->lock);
    for (int i = 0; i < TH_MAGAZINE; i++) {
        chunks[i] = slab->chunks[chunks_below(slab, (uintptr_t)objects[i]) - 1];
    }
    th_lock_release(&slab->lock);
    slab->held += TH_MAGAZINE;
    for (int i = 0; i < TH_MAGAZINE; i++) {
        th_slab_chunk *chunk = chunks[i];
        if (chunk->count == 0) {
            open_chunk(slab, chunk);
        }
        th_slab_link(objects[i], chunk->objects);
        chunk->objects = objects[i];
        if (++chunk->count == per_chunk(slab)) {
            free_chunk(slab, chunk);
        }
    }
}

/* With the lock: makes magazines of loose objects, which would never be taken in hand otherwise. */
static void gather_loose(th_slab *slab) {
    while (slab->loose_count >= TH_MAGAZINE) {
        th_slab_object *first = slab->loose;
        slab->loose = cut(first, TH_MAGAZINE);
        slab->loose_count -= TH_MAGAZINE;
        put_magazine(slab, first);
        slab->put_back++;
    }
}

/* Some objects of the chunk are in use: the ones in hand go back to the depot. */
static void put_back(th_slab *slab, th_slab_chunk *chunk) {
    close_chunk(slab, chunk);
    TH_LOCKED(&slab->lock);
    for (; chunk->count >= TH_MAGAZINE; chunk->count -= TH_MAGAZINE) {
        th_slab_object *first = chunk->objects;
        chunk->objects = cut(first, TH_MAGAZINE);
        put_magazine(slab, first);
        slab->put_back++;
    }
    for (; chunk->count > 0; chunk->count--) {
        th_slab_object *object = chunk->objects;
        chunk->objects = th_slab_next(object);
        put_loose(slab, object);
    }
    gather_loose(slab);
}

bool th_slab_reclaim(th_slab *slab) {
    if (slab->taking) {
        take_in_hand(slab);
        return true;
    }
    if (slab->open) {
        put_back(slab, slab->open);
        return true;
    }
    TH_LOCKED(&slab->lock);
    slab->magazines_put_back = slab->put_back;
    slab->out_then = out(slab);
    slab->magazines_least = slab->magazines_count; /* the magazines in hand were not in use */
    return false;
}
