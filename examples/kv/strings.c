/*
 * strings.c: reading and setting values.
 */
#include "command.h"
#include "store.h"

/* ---- reading ---- */

/* Answers with a key's value, or nil. A small value is copied once, under the lock. */
static void answer_value(struct session *s, unsigned i) {
    const struct key key = store_key(request_argument(&s->request, i));
    struct value *large = NULL;
    struct shard *shard = store_read(&key);
    const struct item *item = shard_find(shard, &key);
    if (!item) {
        reply_value(&s->reply, NULL);
    } else if (reply_fits(&s->reply, item->value->size)) {
        reply_value(&s->reply, item->value);
    } else {
        large = value_hold(item->value);
    }
    thrum_rwlock_unlock(&shard->lock);
    if (large) {
        reply_value(&s->reply, large); /* it may wait for the client */
        value_drop(large);
    }
}

void command_get(struct session *s) {
    answer_value(s, 1);
}

void command_mget(struct session *s) {
    reply_array(&s->reply, s->request.count - 1);
    for (unsigned i = 1; i < s->request.count && s->reply.error == 0; i++) {
        reply_make_room(&s->reply);
        answer_value(s, i);
    }
}

/* ---- setting ---- */

struct set {
    bool only_new, only_old; /* NX, XX */
    bool keeps_deadline;     /* KEEPTTL */
    bool gets;               /* GET */
    bool has_deadline;       /* EX, PX */
    thrum_time deadline;
};

/* Reads the options behind the value. Returns NULL, or the error to answer with. */
static const char *read_options(struct session *s, struct set *set) {
    for (unsigned i = 3; i < s->request.count; i++) {
        const struct text word = request_argument(&s->request, i);
        bool ex = text_is(word, "ex");
        if (text_is(word, "nx")) {
            set->only_new = true;
        } else if (text_is(word, "xx")) {
            set->only_old = true;
        } else if (text_is(word, "keepttl")) {
            set->keeps_deadline = true;
        } else if (text_is(word, "get")) {
            set->gets = true;
        } else if ((ex || text_is(word, "px")) && !set->has_deadline && i + 1 < s->request.count) {
            const char *error =
                command_deadline(s, ++i, ex ? THRUM_S(1) : THRUM_MS(1), &set->deadline);
            if (error) {
                return error;
            }
            if (set->deadline == INT64_MIN) {
                return "ERR invalid expire time in 'set' command";
            }
            set->has_deadline = true;
        } else {
            return COMMAND_SYNTAX;
        }
    }
    bool clash = (set->only_new && set->only_old) || (set->keeps_deadline && set->has_deadline);
    return clash ? COMMAND_SYNTAX : NULL;
}

/* The result for a value. */
struct outcome {
    int err;           /* 0: the store has it; -EPERM: a condition does not hold; -ENOMEM */
    bool was_there;    /* the key had a value, as far as clients can see */
    struct value *old; /* that one, or one whose deadline has passed; the caller drops it */
};

static struct outcome put(const struct key *key, struct value *value, const struct set *set) {
    struct outcome outcome = {.err = -EPERM};
    struct shard *shard = store_write(key);
    const struct item *item = shard_find(shard, key);
    outcome.was_there = item != NULL;
    if (item ? !set->only_new : !set->only_old) {
        thrum_time deadline = item && set->keeps_deadline ? item->deadline : set->deadline;
        outcome.err = shard_put(shard, key, value, deadline, &outcome.old);
    } else if (item) {
        outcome.old = value_hold(item->value);
    }
    thrum_rwlock_unlock(&shard->lock);
    return outcome;
}

/* Does the same with a copy of an argument. */
static struct outcome put_copy(struct session *s, unsigned i, const struct set *set) {
    const struct key key = store_key(request_argument(&s->request, i));
    struct value *value = value_new(request_argument(&s->request, i + 1));
    struct outcome outcome = {.err = -ENOMEM};
    if (value) {
        outcome = put(&key, value, set);
    }
    if (outcome.err) {
        value_drop(value);
    }
    return outcome;
}

void command_set(struct session *s) {
    struct set set = {.deadline = 0};
    const char *error = read_options(s, &set);
    if (error) {
        reply_error(&s->reply, error);
        return;
    }
    struct outcome outcome = put_copy(s, 1, &set);
    if (outcome.err == -ENOMEM) {
        reply_error(&s->reply, COMMAND_NO_MEMORY);
    } else if (set.gets) {
        reply_value(&s->reply, outcome.was_there ? outcome.old : NULL);
    } else if (outcome.err == 0) {
        reply_simple(&s->reply, "OK");
    } else {
        reply_nil(&s->reply);
    }
    value_drop(outcome.old);
}

/* One key after the other: others may see the first ones before the last is there. */
void command_mset(struct session *s) {
    const struct set set = {.deadline = 0};
    int err = 0;
    if (s->request.count % 2 == 0) {
        reply_error(&s->reply, "ERR wrong number of arguments for 'mset' command");
        return;
    }
    for (unsigned i = 1; i < s->request.count && err == 0; i += 2) {
        struct outcome outcome = put_copy(s, i, &set);
        value_drop(outcome.old);
        err = outcome.err;
    }
    if (err) {
        reply_error(&s->reply, COMMAND_NO_MEMORY);
    } else {
        reply_simple(&s->reply, "OK");
    }
}
