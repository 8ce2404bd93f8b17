/*
 * local.c: keys, and the values under them.
 *
 * Keys live in one table of the process. Each has a serial number that changes when the key is made
 * and when it is deleted, so that a value is found only under the key that it was set under.
 */
#include "core/state/local.h"

#include <string.h>

#include "base/atomic.h"
#include "core/state/driver.h"
#include "core/state/fiber_state.h"
#include "core/state/lock.h"
#include "core/state/thread_exit.h"
#include "core/state/worker.h"
#include "platform/platform.h"
#include "thrum/spawn.h"

/* Destructors may set values again; POSIX promises at least four rounds. */
#define ROUNDS 4

typedef struct th_key {
    uint32_t xserial;                /* odd: it exists; written under the lock, any thread reads */
    void (*destructor)(void *value); /* constant while the key exists */
} th_key;

th_lock th_keys_lock = TH_LOCK_INIT; /* protects making and deleting */
static th_key keys[THRUM_KEYS_MAX];

/* The key's serial if it exists, else 0. */
static uint32_t serial_of(thrum_key key) {
    if (key.index == 0 || key.index > THRUM_KEYS_MAX) {
        return 0;
    }
    /* pairs: thrum_key_create; publishes the destructor */
    uint32_t serial = th_load_acquire(&keys[key.index - 1].xserial);
    return serial & 1 ? serial : 0;
}

int thrum_key_create(thrum_key *key, void (*destructor)(void *value)) {
    if (!key) {
        return -EINVAL;
    }
    int result = -EAGAIN;
    th_lock_acquire(&th_keys_lock);
    for (uint32_t i = 0; i < THRUM_KEYS_MAX; i++) {
        uint32_t serial = th_load_relaxed(&keys[i].xserial); /* relaxed: under the lock */
        if (!(serial & 1)) {
            keys[i].destructor = destructor;
            /* pairs: serial_of; publishes the destructor */
            th_store_release(&keys[i].xserial, serial + 1);
            key->index = i + 1;
            result = 0;
            break;
        }
    }
    th_lock_release(&th_keys_lock);
    return result;
}

int thrum_key_delete(thrum_key key) {
    th_lock_acquire(&th_keys_lock);
    uint32_t serial = serial_of(key);
    if (serial) {
        /* relaxed: no other call may use the key meanwhile */
        th_store_relaxed(&keys[key.index - 1].xserial, serial + 1);
    }
    th_lock_release(&th_keys_lock);
    return serial ? 0 : -EINVAL;
}

/* The values of the running task, else of the thread. */
static th_locals *mine(th_fiber **fiber) {
    *fiber = th_fiber_self();
    if (*fiber && (*fiber)->root) {
        *fiber = NULL; /* a bound thread has values of its own */
    }
    return *fiber ? &(*fiber)->locals : &th_thread_self()->locals;
}

static th_local *find(th_locals *locals, uint32_t index) {
    for (int i = 0; i < TH_LOCALS_INLINE; i++) {
        if (locals->few[i].key == index) {
            return &locals->few[i];
        }
    }
    return locals->more ? &locals->more[index - 1] : NULL;
}

void *thrum_key_get(thrum_key key) {
    th_fiber *fiber;
    uint32_t serial = serial_of(key);
    th_local *local = serial ? find(mine(&fiber), key.index) : NULL;
    return local && local->key == key.index && local->serial == serial ? local->value : NULL;
}

/* A place for a key that has none yet, or NULL. */
static th_local *make(th_locals *locals, uint32_t index, thrum_sched *sched) {
    const size_t bytes = THRUM_KEYS_MAX * sizeof(th_local);
    for (int i = 0; i < TH_LOCALS_INLINE; i++) {
        th_local *local = &locals->few[i];
        if (!local->key || !serial_of((thrum_key){local->key})) {
            return local;
        }
    }
    if (!locals->more) {
        locals->more = sched ? th_sched_alloc(sched, bytes) : th_os_alloc(bytes);
        if (locals->more) {
            memset(locals->more, 0, bytes);
        }
        locals->sched = sched;
    }
    return locals->more ? &locals->more[index - 1] : NULL;
}

int thrum_key_set(thrum_key key, void *value) {
    th_fiber *fiber;
    uint32_t serial = serial_of(key);
    if (!serial) {
        return -EINVAL;
    }
    th_locals *locals = mine(&fiber);
    th_local *local = find(locals, key.index);
    if (!local && !(local = make(locals, key.index, fiber ? fiber->sched : NULL))) {
        return -ENOMEM;
    }
    if (fiber) {
        fiber->dirty = true;
    } else {
        /* if it is refused, the values' memory stays until the process ends */
        (void)th_thread_keep(th_thread_self(), TH_EXIT_LOCALS, th_locals_end_with);
    }
    *local = (th_local){key.index, serial, value};
    return 0;
}

/* Deletes a value; true when there was a destructor to call. */
static bool destroy(th_local *local) {
    void *value = local->value;
    uint32_t serial = local->key ? serial_of((thrum_key){local->key}) : 0;
    bool ours = value && serial && serial == local->serial;
    void (*destructor)(void *) = ours ? keys[local->key - 1].destructor : NULL;
    *local = (th_local){0};
    if (destructor) {
        destructor(value);
    }
    return destructor != NULL;
}

void th_locals_end(th_locals *locals, bool destruct) {
    bool again = destruct;
    for (int round = 0; again && round < ROUNDS; round++) {
        again = false;
        for (int i = 0; i < TH_LOCALS_INLINE; i++) {
            again |= destroy(&locals->few[i]);
        }
        for (int i = 0; locals->more && i < THRUM_KEYS_MAX; i++) {
            again |= destroy(&locals->more[i]);
        }
    }
    if (locals->more && locals->sched) {
        th_sched_free(locals->sched, locals->more);
    } else if (locals->more) {
        th_os_free(locals->more);
    }
    *locals = (th_locals){0};
}

void th_locals_end_with(th_thread *thread) {
    th_locals_end(&thread->locals, false);
}
