/*
 * pthread.c: mutexes, rwlocks and pthread_once of the C library in libthrum-test-race: they order
 * accesses, and a thread that waits for one lets others run. The linker sends the program's calls
 * here (--wrap). All simulated threads are one to the C library, so its own wait would be forever.
 */
#include <errno.h>
#include <pthread.h>

#include "kit.h"

/*
 * The order that each object gives. This is data of the program, so it is new in each run. Objects
 * are found in the order of their first use: their addresses must have no influence.
 */
#define OBJECTS 256u /* the later ones share one order, so that a race may be missed */
static struct object {
    const void *at;
    sim_order order;
    bool runs; /* a function of pthread_once */
} objects[OBJECTS];
static unsigned objects_used;

static struct object *object_of(const void *at) {
    for (unsigned i = 0; i < objects_used; i++) {
        if (objects[i].at == at) {
            return &objects[i];
        }
    }
    if (objects_used < OBJECTS) {
        objects[objects_used++].at = at;
    }
    return &objects[objects_used - 1];
}

void kit_order_acquire(const void *mutex) {
    sim_order_acquire(&object_of(mutex)->order);
}

void kit_order_release(const void *mutex) {
    sim_order_release(&object_of(mutex)->order);
}

static void point(const char *call, uintptr_t after) {
    if (E->tracing) {
        kit_step(call, NULL, after);
    }
    sim_point(); /* another thread, but no other task of this one: the lock keeps the thread */
    E->current->what = call;
    E->current->after = after;
}

/* `LOCK(mutex, lock, trylock)`: pthread_mutex_lock, by pthread_mutex_trylock. */
#define CALLER ((uintptr_t)__builtin_return_address(0))
#define DECLARE(kind, call)                                                                        \
    int __real_pthread_##kind##_##call(pthread_##kind##_t *at);                                    \
    __attribute__((visibility("default"))) int __wrap_pthread_##kind##_##call(                     \
        pthread_##kind##_t *at)
#define TRY(kind, call)                                                                            \
    DECLARE(kind, call);                                                                           \
    int __wrap_pthread_##kind##_##call(pthread_##kind##_t *at) {                                   \
        if (!is_watched()) {                                                                       \
            return __real_pthread_##kind##_##call(at);                                             \
        }                                                                                          \
        point("pthread_" #kind "_" #call, CALLER);                                                 \
        const int code = __real_pthread_##kind##_##call(at);                                       \
        if (code == 0) {                                                                           \
            sim_order_acquire(&object_of(at)->order);                                              \
        }                                                                                          \
        return code;                                                                               \
    }
#define LOCK(kind, call, try)                                                                      \
    DECLARE(kind, call);                                                                           \
    int __wrap_pthread_##kind##_##call(pthread_##kind##_t *at) {                                   \
        int code;                                                                                  \
        if (!is_watched()) {                                                                       \
            return __real_pthread_##kind##_##call(at);                                             \
        }                                                                                          \
        point("pthread_" #kind "_" #call, CALLER);                                                 \
        while ((code = __real_pthread_##kind##_##try(at)) == EBUSY) {                              \
            sim_turn();                                                                            \
        }                                                                                          \
        if (code == 0) {                                                                           \
            sim_order_acquire(&object_of(at)->order);                                              \
        }                                                                                          \
        return code;                                                                               \
    }
#define UNLOCK(kind)                                                                               \
    DECLARE(kind, unlock);                                                                         \
    int __wrap_pthread_##kind##_unlock(pthread_##kind##_t *at) {                                   \
        if (is_watched()) {                                                                        \
            point("pthread_" #kind "_unlock", CALLER);                                             \
            sim_order_release(&object_of(at)->order);                                              \
        }                                                                                          \
        return __real_pthread_##kind##_unlock(at);                                                 \
    }
TRY(mutex, trylock)
LOCK(mutex, lock, trylock)
UNLOCK(mutex)
TRY(rwlock, tryrdlock)
TRY(rwlock, trywrlock)
LOCK(rwlock, rdlock, tryrdlock)
LOCK(rwlock, wrlock, trywrlock)
UNLOCK(rwlock)

/* ---- pthread_once ---- */

int __real_pthread_once(pthread_once_t *once, void (*fn)(void));
__attribute__((visibility("default"))) int __wrap_pthread_once(pthread_once_t *once,
                                                               void (*fn)(void));

static bool is_first;

static void note_first(void) {
    is_first = true;
}

int __wrap_pthread_once(pthread_once_t *once, void (*fn)(void)) {
    if (!is_watched()) {
        return __real_pthread_once(once, fn);
    }
    if (E->tracing) {
        kit_step("pthread_once", NULL, CALLER);
    }
    /* No point: std::call_once has told the function by a thread-local, which all threads share. */
    is_first = false;
    const int code = __real_pthread_once(once, note_first);
    struct object *o = object_of(once);
    if (is_first) {
        is_first = false;
        o->runs = true;
        fn();
        o->runs = false;
        sim_order_release(&o->order);
    }
    while (o->runs) {
        sim_turn();
    }
    sim_order_acquire(&o->order);
    return code;
}
