/*
 * store.h: keys and their values, in shards with a lock each.
 *
 * The caller locks the shard of a key, does something quick and unlocks it: it never waits for a
 * client with the lock held. Leftovers of a change (an old value, a removed item) are freed after
 * the unlock.
 *
 *     struct key key = store_key(text);
 *     struct shard *shard = store_read(&key);
 *     const struct item *item = shard_find(shard, &key);
 *     ...
 *     thrum_rwlock_unlock(&shard->lock);
 *
 * Keys are found by SipHash under a random secret: without it, nobody can choose keys that all fall
 * into one place.
 */
#ifndef KV_STORE_H
#define KV_STORE_H

#include <thrum.h>

#include "table.h"
#include "text.h"
#include "value.h"

struct item {
    UT_hash_handle hh;
    struct item *prev, *next; /* its place in `mortal`, while it has a deadline */
    thrum_time deadline;      /* when it ends; 0: never */
    struct value *value;
    size_t size; /* of the key */
    char key[];
};

struct shard {
    _Alignas(64) thrum_rwlock lock;
    struct item *items;  /* all of them: uthash's table */
    struct item *mortal; /* items with a deadline: utlist's list */
};

struct key {
    struct text text;
    uint64_t hash;
};

/* Returns 0, or -ENOSYS when there is no random secret. To be called once, before anything else. */
int store_start(void);

/* Frees all. Nothing else may use the store any longer. */
void store_end(void);

struct key store_key(struct text text);

/* Lock the key's shard, for reading or writing, and return it. They may suspend. */
struct shard *store_read(const struct key *key);
struct shard *store_write(const struct key *key);

/* Returns the item of the key, or NULL when there is none or its deadline has passed. */
struct item *shard_find(struct shard *shard, const struct key *key);

/*
 * Gives the key a value and a deadline (0: none), and returns 0 with *old the value that it had, or
 * NULL: the caller drops it. Without memory: -ENOMEM with nothing changed, and `value` is still the
 * caller's. The caller has locked the shard for writing; so too below.
 */
int shard_put(struct shard *shard, const struct key *key, struct value *value, thrum_time deadline,
              struct value **old);

/* Gives an item another deadline (0: none). */
void shard_set_deadline(struct shard *shard, struct item *item, thrum_time deadline);

/* Takes an item out. The caller frees it by item_free. */
void shard_remove(struct shard *shard, struct item *item);
void item_free(struct item *item);

/* Returns how many keys there are, those included whose deadline has passed a moment ago. */
size_t store_count(void);

/* Removes all keys, one shard after the other. It may suspend. */
void store_clear(void);

/*
 * Removes keys whose deadline has passed, until it is cancelled; where no key has a deadline it
 * sleeps. A task's function: it returns -ECANCELED.
 */
int store_sweep(void *unused);

#endif
