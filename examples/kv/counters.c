/*
 * counters.c: values that are numbers.
 */
#include "command.h"
#include "store.h"

/* Adds under the lock, so that no two additions meet; the sum is the answer. */
static void add(struct session *s, int64_t summand) {
    const struct key key = store_key(request_argument(&s->request, 1));
    const char *error = NULL;
    struct value *old = NULL;
    int64_t sum = 0;
    struct shard *shard = store_write(&key);
    const struct item *item = shard_find(shard, &key);
    if (item && !number_parse(&sum, (struct text){item->value->bytes, item->value->size})) {
        error = COMMAND_NO_NUMBER;
    } else if (__builtin_add_overflow(sum, summand, &sum)) {
        error = "ERR increment or decrement would overflow";
    } else {
        char digits[NUMBER_MAX];
        struct value *value = value_new((struct text){digits, number_write(digits, sum)});
        thrum_time deadline = item ? item->deadline : 0;
        if (!value || shard_put(shard, &key, value, deadline, &old) != 0) {
            value_drop(value);
            error = COMMAND_NO_MEMORY;
        }
    }
    thrum_rwlock_unlock(&shard->lock);
    value_drop(old);
    if (error) {
        reply_error(&s->reply, error);
    } else {
        reply_integer(&s->reply, sum);
    }
}

void command_incr(struct session *s) {
    add(s, 1);
}

void command_decr(struct session *s) {
    add(s, -1);
}

void command_incrby(struct session *s) {
    int64_t number;
    if (number_parse(&number, request_argument(&s->request, 2))) {
        add(s, number);
    } else {
        reply_error(&s->reply, COMMAND_NO_NUMBER);
    }
}

void command_decrby(struct session *s) {
    int64_t number;
    if (!number_parse(&number, request_argument(&s->request, 2))) {
        reply_error(&s->reply, COMMAND_NO_NUMBER);
    } else if (number == INT64_MIN) {
        reply_error(&s->reply, "ERR decrement would overflow");
    } else {
        add(s, -number);
    }
}
