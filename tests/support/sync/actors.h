/*
 * actors.h: tests of primitives that fibers and plain threads use alike.
 *
 *   actor     a fiber of the rig's scheduler, or a plain thread that never bound to anything
 *   waiting   how many waiters a primitive's list holds: a test waits for that, it never sleeps
 */
#ifndef ACTORS_H
#define ACTORS_H

#include "core/state/handle.h"
#include "support/support.h"
#include "sync/waitlist.h"
#include "sync/wordlock.h"

#define ACTORS_MAX 2048

typedef struct actor {
    void *arg;
    int index;  /* its number from 0, over the whole cast */
    bool fiber; /* otherwise a plain thread */
    thrum_fn fn;
    thrum_handle *handle;
    pthread_t thread;
} actor;

typedef struct cast {
    rig *r;
    int count;
    actor actors[ACTORS_MAX];
} cast;

static inline void *actor_thread(void *arg) {
    actor *a = arg;
    CHECK(thrum_sched_current() == NULL);
    CHECK_EQ(a->fn(a), 0);
    return NULL;
}

static inline cast *cast_new(rig *r) {
    cast *c = calloc(1, sizeof(*c));
    CHECK(c != NULL);
    c->r = r;
    return c;
}

/* Starts one more: fn gets its actor. Any thread may call it. */
static inline void cast_add(cast *c, bool fiber, thrum_fn fn, void *arg) {
    CHECK(c->count < ACTORS_MAX);
    actor *a = &c->actors[c->count];
    *a = (actor){.arg = arg, .index = c->count, .fiber = fiber, .fn = fn};
    c->count++;
    if (fiber) {
        const thrum_attr attr = rig_attr(c->r);
        CHECK_EQ(thrum_spawn_with(&a->handle, &attr, fn, a), 0);
    } else {
        CHECK_EQ(pthread_create(&a->thread, NULL, actor_thread, a), 0);
    }
}

/* Starts that many fibers and threads, in turn as long as there are both. */
static inline void cast_add_mixed(cast *c, int fibers, int threads, thrum_fn fn, void *arg) {
    while (fibers > 0 || threads > 0) {
        if (fibers > 0) {
            cast_add(c, true, fn, arg);
            fibers--;
        }
        if (threads > 0) {
            cast_add(c, false, fn, arg);
            threads--;
        }
    }
}

/* Waits for all and frees the cast. */
static inline void cast_join(cast *c) {
    for (int i = 0; i < c->count; i++) {
        actor *a = &c->actors[i];
        int result = 0;
        if (a->fiber) {
            CHECK_EQ(thrum_join(a->handle, &result), 0);
            CHECK_EQ(result, 0);
        } else {
            CHECK_EQ(pthread_join(a->thread, NULL), 0);
        }
    }
    free(c);
}

/* ---- lists ---- */

static inline int waiting_count(void *const *first) {
    int n = 0;
    for (const th_waiter *w = *first; w; w = w->next) {
        n++;
    }
    return n;
}

/* For a word that only the holder of its list lock changes: mutex, cond, event. */
static inline int waiting32(uint32_t *xword, void *const *first) {
    for (;;) {
        uint32_t seen = th_load_relaxed(xword);
        if ((seen & TH_WORD_LOCKED) == 0 && th_word32_lock(xword, seen)) {
            int n = waiting_count(first);
            th_word32_publish(xword, seen);
            return n;
        }
        sched_yield();
    }
}

/* The same for 64 bits: a semaphore; a waitgroup only while its count cannot change. */
static inline int waiting64(uint64_t *xword, void *const *first) {
    for (;;) {
        uint64_t seen = th_load_relaxed(xword);
        if ((seen & TH_WORD_LOCKED) == 0 && th_word64_lock(xword, seen)) {
            int n = waiting_count(first);
            th_word64_publish(xword, seen);
            return n;
        }
        sched_yield();
    }
}

#define MUTEX_WAITING(m) waiting32(&(m)->reserved_word, &(m)->reserved_first)
#define COND_WAITING(c) waiting32(&(c)->reserved_word, &(c)->reserved_first)
#define EVENT_WAITING(e) waiting32(&(e)->reserved_word, &(e)->reserved_first)
#define SEM_WAITING(s) waiting64(&(s)->reserved_word, &(s)->reserved_first)
#define WAITGROUP_WAITING(w) waiting64(&(w)->reserved_word, &(w)->reserved_first)

#define ONCE_WAITING(o) waiting32(&(o)->reserved_word, &(o)->reserved_first)
#define BARRIER_WAITING(b) waiting32(&(b)->reserved_word, &(b)->reserved_first)
#define READERS_WAITING(l) waiting64(&(l)->reserved_word, &(l)->reserved_readers[0])
#define WRITERS_WAITING(l) waiting64(&(l)->reserved_word, &(l)->reserved_writers[0])
#define TICKET_WAITING(t) waiting32(&(t)->reserved_tickets->reserved_word, &(t)->reserved_first)
/* A pool begins with its word and the list's first waiter. */
#define POOL_WAITING(p) waiting32((uint32_t *)(void *)(p), (void **)(void *)(p) + 1)
/* So does a broadcast channel. */
#define BCAST_WAITING(b) POOL_WAITING(b)

#endif
