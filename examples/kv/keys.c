/*
 * keys.c: keys as such: whether they are there, and until when.
 */
#include "command.h"
#include "store.h"

void command_del(struct session *s) {
    int64_t removed = 0;
    for (unsigned i = 1; i < s->request.count; i++) {
        const struct key key = store_key(request_argument(&s->request, i));
        struct shard *shard = store_write(&key);
        struct item *item = shard_find(shard, &key);
        if (item) {
            shard_remove(shard, item);
        }
        thrum_rwlock_unlock(&shard->lock);
        if (item) {
            item_free(item);
            removed++;
        }
    }
    reply_integer(&s->reply, removed);
}

void command_exists(struct session *s) {
    int64_t there = 0;
    for (unsigned i = 1; i < s->request.count; i++) {
        const struct key key = store_key(request_argument(&s->request, i));
        struct shard *shard = store_read(&key);
        there += shard_find(shard, &key) != NULL;
        thrum_rwlock_unlock(&shard->lock);
    }
    reply_integer(&s->reply, there);
}

/* ---- deadlines ---- */

static void expire(struct session *s, thrum_time unit) {
    thrum_time deadline;
    const char *error = command_deadline(s, 2, unit, &deadline);
    if (error) {
        reply_error(&s->reply, error);
        return;
    }
    const struct key key = store_key(request_argument(&s->request, 1));
    struct shard *shard = store_write(&key);
    struct item *item = shard_find(shard, &key);
    struct item *gone = item && deadline <= thrum_now() ? item : NULL;
    if (gone) {
        shard_remove(shard, gone);
    } else if (item) {
        shard_set_deadline(shard, item, deadline);
    }
    thrum_rwlock_unlock(&shard->lock);
    if (gone) {
        item_free(gone);
    }
    reply_integer(&s->reply, item != NULL);
}

void command_expire(struct session *s) {
    expire(s, THRUM_S(1));
}

void command_pexpire(struct session *s) {
    expire(s, THRUM_MS(1));
}

/* Answers how many units are left, rounded; -1 without a deadline, -2 without the key. */
static void answer_left(struct session *s, thrum_time unit) {
    const struct key key = store_key(request_argument(&s->request, 1));
    struct shard *shard = store_read(&key);
    const struct item *item = shard_find(shard, &key);
    thrum_time deadline = !item ? -2 : item->deadline == 0 ? -1 : item->deadline;
    thrum_rwlock_unlock(&shard->lock);
    if (deadline > 0) {
        thrum_time left = deadline - thrum_now();
        deadline = left > 0 ? left / unit + (left % unit >= unit / 2) : 0;
    }
    reply_integer(&s->reply, deadline);
}

void command_ttl(struct session *s) {
    answer_left(s, THRUM_S(1));
}

void command_pttl(struct session *s) {
    answer_left(s, THRUM_MS(1));
}

void command_persist(struct session *s) {
    const struct key key = store_key(request_argument(&s->request, 1));
    struct shard *shard = store_write(&key);
    struct item *item = shard_find(shard, &key);
    bool had = item && item->deadline != 0;
    if (had) {
        shard_set_deadline(shard, item, 0);
    }
    thrum_rwlock_unlock(&shard->lock);
    reply_integer(&s->reply, had);
}

/* ---- all keys ---- */

void command_dbsize(struct session *s) {
    reply_integer(&s->reply, (int64_t)store_count());
}

void command_flushall(struct session *s) {
    store_clear();
    reply_simple(&s->reply, "OK");
}
