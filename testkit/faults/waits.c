/*
 * waits.c: mutexes and condition variables of the C library, and so those of C++, in a program with
 * glibc. All simulated threads are one to the C library, so its own waits would be
 * forever. Here the simulated thread waits, as a real one would, and a lost wakeup is a deadlock.
 * A call of the program itself is also a point.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>

#include "kit.h"
#include "platform/platform.h"

int kit_library_lock(pthread_mutex_t *mutex);
int kit_library_unlock(pthread_mutex_t *mutex);

#ifdef __GLIBC__ /* in a program with musl, nothing replaces the calls */

extern char __executable_start[];
extern char etext[];

/* Weak, as those of the C library are in a static program. */
#pragma GCC visibility push(default)
int pthread_mutex_lock(pthread_mutex_t *mutex) __attribute__((weak));
int pthread_mutex_unlock(pthread_mutex_t *mutex) __attribute__((weak));
int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) __attribute__((weak));
int pthread_cond_signal(pthread_cond_t *cond) __attribute__((weak));
int pthread_cond_broadcast(pthread_cond_t *cond) __attribute__((weak));
#pragma GCC visibility pop

/* A word for each object for which a thread has waited, in the order of the first waits. Like the
   objects, it is data of the program, so it is new in each run. */
#define OBJECTS 256u
static struct object {
    const void *at;
    uint32_t xword;
} objects[OBJECTS];
static unsigned objects_used;

static struct object *find(const void *at, bool add) {
    unsigned i = 0;
    while (i < objects_used && objects[i].at != at) {
        i++;
    }
    if (i == objects_used && add) {
        if (i == OBJECTS) {
            fail("limit", "threads wait for more than %u objects of the C library", OBJECTS);
        }
        objects[objects_used++].at = at;
    }
    return i < objects_used ? &objects[i] : NULL;
}

static void wake(const void *at, int most) {
    struct object *o = find(at, false);
    if (o) {
        o->xword++;
        th_os_futex_wake(&o->xword, most);
    }
}

/* ---- the C library's own calls ---- */

typedef int on_mutex(pthread_mutex_t *mutex);
typedef int on_cond(pthread_cond_t *cond);
typedef int on_both(pthread_cond_t *cond, pthread_mutex_t *mutex);

/* Their other names, which only a static program has. */
#define STATIC extern __attribute__((weak))
STATIC on_mutex __pthread_mutex_lock, __pthread_mutex_unlock;
STATIC on_both __pthread_cond_wait;
STATIC on_cond __pthread_cond_signal, __pthread_cond_broadcast;

/* Those of condition variables have older versions, which dlsym may find. */
static void *real(const char *name, void *in_static) {
    if (__pthread_mutex_lock) {
        return in_static; /* NULL, if nothing in the program needs it */
    }
    void *found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    return found ? found : dlsym(RTLD_NEXT, name);
}

static int real_lock(pthread_mutex_t *mutex) {
    static on_mutex *call;
    call = call ? call : (on_mutex *)real("pthread_mutex_lock", (void *)__pthread_mutex_lock);
    return call(mutex);
}

static int real_unlock(pthread_mutex_t *mutex) {
    static on_mutex *call;
    call = call ? call : (on_mutex *)real("pthread_mutex_unlock", (void *)__pthread_mutex_unlock);
    return call(mutex);
}

/* Real threads beside the simulation may have the mutex, or signal. */
static bool is_simulated(void) {
    return !kit_is_outside() && kit_is_alone();
}

static void point(const char *call, uintptr_t after) {
    if (after < (uintptr_t)__executable_start || after >= (uintptr_t)etext) {
        return; /* of a library, which may call it in one run and not in the next */
    }
    if (E->tracing) {
        kit_step(call, NULL, after);
    }
    sim_point(); /* another thread, but no other task of this one */
    E->current->what = call;
    E->current->after = after;
}

#define CALLER ((uintptr_t)__builtin_return_address(0))

/* ---- mutexes ---- */

/* In libthrum-test-race, race/pthread.c has the points. */
static void point_of_mutex(const char *call, uintptr_t after) {
    if (kit_mode == M_SEQ) {
        point(call, after);
    }
}

static int lock(pthread_mutex_t *mutex) {
    int code;
    while ((code = pthread_mutex_trylock(mutex)) == EBUSY) {
        struct object *o = find(mutex, true);
        (void)th_os_futex_wait(&o->xword, o->xword, INT64_MAX);
    }
    kit_order_acquire(mutex);
    return code;
}

static int unlock(pthread_mutex_t *mutex) {
    kit_order_release(mutex);
    const int code = real_unlock(mutex);
    wake(mutex, 1);
    return code;
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    if (kit_is_outside()) {
        return real_lock(mutex);
    }
    point_of_mutex("pthread_mutex_lock", CALLER);
    const int code = pthread_mutex_trylock(mutex);
    if (code != EBUSY) {
        return code;
    }
    return kit_is_alone() ? lock(mutex) : real_lock(mutex);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    if (kit_is_outside()) {
        return real_unlock(mutex);
    }
    point_of_mutex("pthread_mutex_unlock", CALLER);
    return unlock(mutex);
}

/* ---- condition variables ---- */

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) {
    if (!is_simulated()) {
        on_both *call = (on_both *)real("pthread_cond_wait", (void *)__pthread_cond_wait);
        return call ? call(cond, mutex) : 0; /* it may wake without a reason */
    }
    const uintptr_t after = CALLER;
    if (E->tracing) {
        kit_step("pthread_cond_wait", NULL, after);
    }
    E->current->what = "pthread_cond_wait";
    E->current->after = after;
    struct object *o = find(cond, true);
    const uint32_t before = o->xword;
    unlock(mutex);
    (void)th_os_futex_wait(&o->xword, before, INT64_MAX);
    return lock(mutex);
}

static int signal_some(pthread_cond_t *cond, const char *call, on_cond *in_static, int most,
                       uintptr_t after) {
    if (!kit_is_outside()) {
        point(call, after);
        wake(cond, most);
    }
    on_cond *its = (on_cond *)real(call, (void *)in_static);
    return its ? its(cond) : 0;
}

int pthread_cond_signal(pthread_cond_t *cond) {
    return signal_some(cond, "pthread_cond_signal", __pthread_cond_signal, 1, CALLER);
}

int pthread_cond_broadcast(pthread_cond_t *cond) {
    return signal_some(cond, "pthread_cond_broadcast", __pthread_cond_broadcast, INT_MAX, CALLER);
}
/* The library's own calls (make_points): they are no points. */
int kit_library_lock(pthread_mutex_t *mutex) {
    return real_lock(mutex);
}

int kit_library_unlock(pthread_mutex_t *mutex) {
    return real_unlock(mutex);
}
#else
int kit_library_lock(pthread_mutex_t *mutex) {
    return pthread_mutex_lock(mutex);
}

int kit_library_unlock(pthread_mutex_t *mutex) {
    return pthread_mutex_unlock(mutex);
}
#endif
