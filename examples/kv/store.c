/*
 * store.c: see store.h. The upper bits of a hash choose the shard, the lower ones the place in its
 * table.
 */
#include "store.h"

#include <sodium.h>
#include <string.h>

#include "sweep.h"

enum { SHARD_BITS = 8, SHARDS = 1 << SHARD_BITS, FREED_AT_A_TIME = 1024 };

static struct shard shards[SHARDS] = {[0 ... SHARDS - 1] = {.lock = THRUM_RWLOCK_INIT}};
static unsigned char secret[crypto_shorthash_KEYBYTES];

int store_start(void) {
    if (sodium_init() < 0) {
        return -ENOSYS;
    }
    crypto_shorthash_keygen(secret);
    return 0;
}

void store_end(void) {
    store_clear();
}

/* ---- finding ---- */

struct key store_key(struct text text) {
    struct key key = {.text = text};
    _Static_assert(sizeof key.hash == crypto_shorthash_BYTES, "a hash is a word");
    crypto_shorthash((unsigned char *)&key.hash, (const unsigned char *)text.at, text.size, secret);
    return key;
}

static struct shard *shard_of(const struct key *key) {
    return &shards[key->hash >> (64 - SHARD_BITS)];
}

struct shard *store_read(const struct key *key) {
    struct shard *shard = shard_of(key);
    thrum_rwlock_rdlock(&shard->lock);
    return shard;
}

struct shard *store_write(const struct key *key) {
    struct shard *shard = shard_of(key);
    thrum_rwlock_wrlock(&shard->lock);
    return shard;
}

/* The item of the key, regardless of its deadline. */
static struct item *look_up(struct shard *shard, const struct key *key) {
    struct item *item;
    HASH_FIND_BYHASHVALUE(hh, shard->items, key->text.at, key->text.size, (unsigned)key->hash,
                          item);
    return item;
}

struct item *shard_find(struct shard *shard, const struct key *key) {
    struct item *item = look_up(shard, key);
    return item && item->deadline != 0 && item->deadline <= thrum_now() ? NULL : item;
}

/* ---- changing ---- */

static struct item *item_new(const struct key *key, struct value *value) {
    struct item *item = memory_take(&memory_of_keys, sizeof *item + key->text.size);
    if (item) {
        item->deadline = 0;
        item->value = value;
        item->size = key->text.size;
        memcpy(item->key, key->text.at, key->text.size);
    }
    return item;
}

/* Frees the item alone. */
static void give_back(struct item *item) {
    memory_give(&memory_of_keys, item, sizeof *item + item->size);
}

void item_free(struct item *item) {
    value_drop(item->value);
    give_back(item);
}

int shard_put(struct shard *shard, const struct key *key, struct value *value, thrum_time deadline,
              struct value **old) {
    struct item *item = look_up(shard, key);
    *old = NULL;
    if (item) {
        *old = item->value;
        item->value = value;
    } else {
        item = item_new(key, value);
        if (!item) {
            return -ENOMEM;
        }
        HASH_ADD_KEYPTR_BYHASHVALUE(hh, shard->items, item->key, item->size, (unsigned)key->hash,
                                    item);
        if (!item->hh.tbl) {
            give_back(item);
            return -ENOMEM;
        }
    }
    shard_set_deadline(shard, item, deadline);
    return 0;
}

void shard_set_deadline(struct shard *shard, struct item *item, thrum_time deadline) {
    if (item->deadline != 0 && deadline == 0) {
        DL_DELETE(shard->mortal, item);
        sweep_less(1);
    } else if (item->deadline == 0 && deadline != 0) {
        DL_APPEND(shard->mortal, item);
        sweep_more();
    }
    item->deadline = deadline;
}

void shard_remove(struct shard *shard, struct item *item) {
    shard_set_deadline(shard, item, 0);
    HASH_DELETE(hh, shard->items, item);
}

/* ---- all of them ---- */

size_t store_count(void) {
    size_t count = 0;
    for (size_t i = 0; i < SHARDS; i++) {
        thrum_rwlock_rdlock(&shards[i].lock);
        count += HASH_COUNT(shards[i].items);
        thrum_rwlock_unlock(&shards[i].lock);
    }
    return count;
}

/* Takes a whole table out, so that its keys are freed without the lock. */
static struct item *take_all(struct shard *shard) {
    struct item *mortal;
    size_t gone = 0;
    thrum_rwlock_wrlock(&shard->lock);
    struct item *first = shard->items;
    DL_COUNT(shard->mortal, mortal, gone);
    shard->mortal = NULL;
    HASH_CLEAR(hh, shard->items);
    thrum_rwlock_unlock(&shard->lock);
    sweep_less(gone);
    return first;
}

void store_clear(void) {
    for (size_t i = 0; i < SHARDS; i++) {
        unsigned freed = 0;
        for (struct item *item = take_all(&shards[i]), *next; item; item = next) {
            next = item->hh.next;
            item_free(item);
            if (++freed % FREED_AT_A_TIME == 0) {
                thrum_yield();
            }
        }
    }
}

/* ---- expired items ---- */

enum { SWEPT_AT_A_TIME = 32 };

/*
 * Looks at the mortal items that were not looked at for the longest time, and returns how many of
 * them it has removed.
 */
static unsigned sweep_some(struct shard *shard) {
    struct item *gone = NULL;
    unsigned removed = 0;
    thrum_time now = thrum_now();
    thrum_rwlock_wrlock(&shard->lock);
    struct item *item = shard->mortal;
    struct item *last = item ? item->prev : NULL; /* utlist keeps it there */
    for (unsigned i = 0; i < SWEPT_AT_A_TIME && item; i++) {
        struct item *next = item == last ? NULL : item->next;
        if (item->deadline <= now) {
            shard_remove(shard, item);
            item->next = gone;
            gone = item;
            removed++;
        } else {
            DL_DELETE(shard->mortal, item);
            DL_APPEND(shard->mortal, item);
        }
        item = next;
    }
    thrum_rwlock_unlock(&shard->lock);
    while (gone) {
        item = gone;
        gone = item->next;
        item_free(item);
    }
    return removed;
}

int store_sweep(void *unused) {
    int err;
    (void)unused;
    while ((err = sweep_wait()) == 0) {
        for (size_t i = 0; i < SHARDS; i++) {
            /* Where many have passed, more of them have than were looked at. */
            while (sweep_some(&shards[i]) > SWEPT_AT_A_TIME / 4) {
                thrum_yield();
            }
        }
    }
    return err;
}
