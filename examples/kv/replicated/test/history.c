/*
 * history.c: see history.h.
 */
#include "history.h"

#include <stdio.h>
#include <thrum/test.h>

static struct call calls[KEYS * OPERATIONS_MAX];
static unsigned calls_count;
static uint64_t moments; /* calls and answers so far */
static thrum_time first_called;

void history_called(struct call *call) {
    call->called = thrum_now();
    first_called = first_called ? first_called : call->called;
    call->operation.called = ++moments;
    call->operation.answered = UINT64_MAX;
}

void history_answered(struct call *call, int64_t answer) {
    call->answered = thrum_now();
    call->operation.answer = answer;
    call->operation.answered = ++moments;
}

void history_add(const struct call *call) {
    THRUM_TEST(calls_count < KEYS * OPERATIONS_MAX);
    calls[calls_count++] = *call;
}

static double milliseconds(thrum_time at) {
    return (double)(at - first_called) / 1e6;
}

static void print(unsigned key, const struct call *call) {
    static const char *const names[] = {"get", "set", "incr"};
    const struct operation *o = &call->operation;
    printf("  client %u at %8.3f ms: %s %c", call->client, milliseconds(call->called),
           names[o->kind], 'x' + (char)key);
    if (o->kind == OPERATION_SET) {
        printf(" %lld", (long long)o->argument);
    }
    if (o->answered == UINT64_MAX) {
        printf(", without an answer\n");
    } else if (o->kind == OPERATION_SET) {
        printf(", done at %.3f ms\n", milliseconds(call->answered));
    } else {
        printf(" = %lld at %.3f ms\n", (long long)o->answer, milliseconds(call->answered));
    }
}

static bool is_linearizable(unsigned key) {
    struct operation operations[OPERATIONS_MAX];
    unsigned count = 0;
    for (unsigned i = 0; i < calls_count; i++) {
        if (calls[i].key == key) {
            THRUM_TEST(count < OPERATIONS_MAX);
            operations[count++] = calls[i].operation;
        }
    }
    if (linearizable(operations, count)) {
        return true;
    }
    printf("The history of %c is not linearizable:\n", 'x' + (char)key);
    for (unsigned i = 0; i < calls_count; i++) {
        if (calls[i].key == key) {
            print(key, &calls[i]);
        }
    }
    return false;
}

bool history_is_linearizable(void) {
    for (unsigned key = 0; key < KEYS; key++) {
        if (!is_linearizable(key)) {
            return false;
        }
    }
    return true;
}
