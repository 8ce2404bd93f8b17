/*
 * key.c: keys, and the values under them.
 *
 * Keys live in one table of the process. Each has a serial number that changes when the key is made
 * and when it is deleted, so that a value is found only under the key that it was set under.
 */
#include "core/state/key.h"

#include <string.h>

#include "base/atomic.h"
#include "core/state/driver.h"
#include "core/state/fiber_state.h"
#include "core/basis/lock.h"
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
    TH_LOCKED(&th_keys_lock);
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
    return result;
}

int thrum_key_delete(thrum_key key) {
    TH_LOCKED(&th_keys_lock);
    uint32_t serial = serial_of(key);
    if (serial) {
        /* relaxed: no other call may use the key meanwhile */
        th_store_relaxed(&keys[key.index - 1].xserial, serial + 1);
    }
    return serial ? 0 : -EINVAL;
}

/* The values of the running task, else of the thread. */
static th_key_values *mine(th_fiber **fiber) {
    *fiber = th_fiber_self();
    if (*fiber && (*fiber)->root) {
        *fiber = NULL; /* a bound thread has values of its own */
    }
    return *fiber ? &(*fiber)->key_values : &th_thread_self()->key_values;
}

static th_key_value *find(th_key_values *key_values, uint32_t index) {
    for (int i = 0; i < TH_KEY_VALUES_INLINE; i++) {
        if (key_values->few[i].key == index) {
            return &key_values->few[i];
        }
    }
    return key_values->more ? &key_values->more[index - 1] : NULL;
}

void *thrum_key_get(thrum_key key) {
    th_fiber *fiber;
    uint32_t serial = serial_of(key);
    th_key_value *entry = serial ? find(mine(&fiber), key.index) : NULL;
    return entry && entry->key == key.index && entry->serial == serial ? entry->value : NULL;
}

/* A place for a key that has none yet, or NULL. */
static th_key_value *make(th_key_values *key_values, uint32_t index, thrum_sched *sched) {
    const size_t bytes = THRUM_KEYS_MAX * sizeof(th_key_value);
    for (int i = 0; i < TH_KEY_VALUES_INLINE; i++) {
        th_key_value *entry = &key_values->few[i];
        if (!entry->key || !serial_of((thrum_key){entry->key})) {
            return entry;
        }
    }
    if (!key_values->more) {
        key_values->more = sched ? th_sched_alloc(sched, bytes) : th_os_alloc(bytes);
        if (key_values->more) {
            memset(key_values->more, 0, bytes);
        }
        key_values->sched = sched;
    }
    return key_values->more ? &key_values->more[index - 1] : NULL;
}

int thrum_key_set(thrum_key key, void *value) {
    th_fiber *fiber;
    uint32_t serial = serial_of(key);
    if (!serial) {
        return -EINVAL;
    }
    th_key_values *key_values = mine(&fiber);
    th_key_value *entry = find(key_values, key.index);
    if (!entry && !(entry = make(key_values, key.index, fiber ? fiber->sched : NULL))) {
        return -ENOMEM;
    }
    if (fiber) {
        fiber->dirty = true;
    } else {
        /* if it is refused, the values' memory stays until the process ends */
        (void)th_thread_keep(th_thread_self(), TH_EXIT_KEYS, th_key_values_end_with);
    }
    *entry = (th_key_value){key.index, serial, value};
    return 0;
}

/* Deletes a value; true when there was a destructor to call. */
static bool destroy(th_key_value *entry) {
    void *value = entry->value;
    uint32_t serial = entry->key ? serial_of((thrum_key){entry->key}) : 0;
    bool ours = value && serial && serial == entry->serial;
    void (*destructor)(void *) = ours ? keys[entry->key - 1].destructor : NULL;
    *entry = (th_key_value){0};
    if (destructor) {
        destructor(value);
    }
    return destructor != NULL;
}

void th_key_values_end(th_key_values *key_values, bool destruct) {
    bool again = destruct;
    for (int round = 0; again && round < ROUNDS; round++) {
        again = false;
        for (int i = 0; i < TH_KEY_VALUES_INLINE; i++) {
            again |= destroy(&key_values->few[i]);
        }
        for (int i = 0; key_values->more && i < THRUM_KEYS_MAX; i++) {
            again |= destroy(&key_values->more[i]);
        }
    }
    if (key_values->more && key_values->sched) {
        th_sched_free(key_values->sched, key_values->more);
    } else if (key_values->more) {
        th_os_free(key_values->more);
    }
    *key_values = (th_key_values){0};
}

void th_key_values_end_with(th_thread *thread) {
    th_key_values_end(&thread->key_values, false);
}
