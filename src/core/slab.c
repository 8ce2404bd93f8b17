/*
 * slab.c: the depot behind the caches.
 */
#include "core/slab.h"

#include "base/annotate.h"
#include "base/check.h"

#define CHUNK_BYTES TH_LIMIT((size_t)64 * 1024, (size_t)2 * 1024)
#define CHUNK_HEAD 16

static bool carve(th_slab *slab, th_slab_cache *cache);
static void take_loose(th_slab *slab, th_slab_cache *cache);

bool th_slab_fill(th_slab_cache *cache) {
    if (cache->spare) {
        cache->first = cache->spare;
        cache->spare = NULL;
        cache->count = TH_MAGAZINE;
        return true;
    }
    th_slab *slab = cache->slab;
    th_lock_acquire(&slab->lock);
    th_slab_object *object = slab->magazines;
    if (object) {
        slab->magazines = object->next_magazine;
        cache->count = TH_MAGAZINE;
        cache->first = object;
    } else {
        take_loose(slab, cache);
    }
    th_lock_release(&slab->lock);
    return cache->first || carve(slab, cache);
}

/* A fresh chunk is cut into magazines: the first for the cache, the rest for the depot. */
static bool carve(th_slab *slab, th_slab_cache *cache) {
    char *chunk = slab->alloc(slab->ctx, CHUNK_BYTES);
    if (!chunk) {
        return false;
    }
    size_t count = (CHUNK_BYTES - CHUNK_HEAD) / slab->object_size / TH_MAGAZINE * TH_MAGAZINE;
    /* what is left over at its end is lost */
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
    th_tsan_release(slab); /* fresh memory was written here, by the worker: th_slab_seen */
    cache->first = magazines;
    cache->count = TH_MAGAZINE;
    th_lock_acquire(&slab->lock);
    *(void **)(void *)chunk = slab->chunks;
    slab->chunks = chunk;
    slab->total += count;
    for (th_slab_object *m = magazines->next_magazine; m;) {
        th_slab_object *next = m->next_magazine;
        m->next_magazine = slab->magazines;
        slab->magazines = m;
        m = next;
    }
    th_lock_release(&slab->lock);
    return true;
}

/* With the lock: up to a magazine of what came back one by one. */
static void take_loose(th_slab *slab, th_slab_cache *cache) {
    while (slab->loose && cache->count < TH_MAGAZINE) {
        th_slab_object *object = slab->loose;
        slab->loose = th_slab_next(object);
        slab->loose_count--;
        th_slab_link(object, cache->first);
        cache->first = object;
        cache->count++;
    }
}

void th_slab_spill(th_slab_cache *cache) {
    th_slab_object *full = cache->spare;
    cache->spare = cache->first;
    cache->first = NULL;
    cache->count = 0;
    if (full) {
        th_slab *slab = cache->slab;
        th_lock_acquire(&slab->lock);
        full->next_magazine = slab->magazines;
        slab->magazines = full;
        th_lock_release(&slab->lock);
    }
}

void th_slab_flush(th_slab_cache *cache) {
    th_slab *slab = cache->slab;
    if (!slab) {
        return;
    }
    if (cache->spare) {
        th_lock_acquire(&slab->lock);
        cache->spare->next_magazine = slab->magazines;
        slab->magazines = cache->spare;
        th_lock_release(&slab->lock);
        cache->spare = NULL;
    }
    th_lock_acquire(&slab->lock);
    while (cache->first) {
        th_slab_object *object = cache->first;
        cache->first = th_slab_next(object);
        th_slab_link(object, slab->loose);
        slab->loose = object;
        slab->loose_count++;
    }
    cache->count = 0;
    th_lock_release(&slab->lock);
}

static void slab_free(th_slab *slab) {
    for (void *chunk = slab->chunks; chunk;) {
        void *next = *(void **)chunk;
        slab->free(slab->ctx, chunk);
        chunk = next;
    }
    slab->free(slab->ctx, slab);
}

void th_slab_put_outside(th_slab *slab, void *ptr) {
    th_slab_object *object = ptr;
    th_lock_acquire(&slab->lock);
    th_slab_link(object, slab->loose);
    slab->loose = object;
    slab->loose_count++;
    bool last = slab->closed && --slab->live == 0;
    th_lock_release(&slab->lock);
    if (last) {
        slab_free(slab);
    }
}

/* A cache for one moment: its rest goes to the depot. */
void *th_slab_get_outside(th_slab *slab) {
    th_lock_acquire(&slab->lock);
    th_slab_object *object = slab->loose;
    if (object) {
        slab->loose = th_slab_next(object);
        slab->loose_count--;
    }
    th_lock_release(&slab->lock);
    if (!object) {
        th_slab_cache cache = {.slab = slab};
        object = th_slab_get(&cache);
        th_slab_flush(&cache);
    }
    return object;
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
    size_t unused = slab->loose_count;
    for (th_slab_object *m = slab->magazines; m; m = m->next_magazine) {
        unused += TH_MAGAZINE;
    }
    slab->live = slab->total - unused;
    slab->closed = true;
    bool free_now = slab->live == 0;
    th_lock_release(&slab->lock);
    if (free_now) {
        slab_free(slab);
    }
}
