/*
 * client.c: see client.h.
 */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/test.h>

static char addresses[REPLICAS][THRUM_ADDRESS_TEXT];

void clients_begin(const char *const names[REPLICAS]) {
    for (unsigned i = 0; i < REPLICAS; i++) {
        thrum_address address;
        char text[THRUM_ADDRESS_TEXT - 4];
        THRUM_TEST(thrum_resolve(names[i], 7000, THRUM_IPV4, &address, 1, THRUM_FOREVER) == 1);
        THRUM_TEST(thrum_address_text(&address, text, sizeof text) == 0);
        snprintf(addresses[i], sizeof addresses[i], "tcp:%s", text);
    }
}

void client_close(struct client *c) {
    if (c->is_open) {
        (void)thrum_io_close(c->io);
        c->is_open = false;
    }
}

/* An answer is a line, and a second one if the first is the length of a text. */
static bool is_whole(const char *answer) {
    const char *line = strchr(answer, '\n');
    return line && (*answer != '$' || answer[1] == '-' || strchr(line + 1, '\n'));
}

/* Reads an answer. Returns whether a whole one has come. */
static bool read_answer(thrum_io io, char *answer, size_t room, thrum_time deadline) {
    size_t size = 0;
    answer[0] = '\0';
    while (!is_whole(answer) && size < room - 1) {
        const int64_t n = thrum_read_until(io, answer + size, room - 1 - size, deadline);
        if (n <= 0) {
            return false;
        }
        size += (size_t)n;
        answer[size] = '\0';
    }
    return true;
}

static int64_t number_in(const char *answer) {
    if (*answer == '$') {
        return answer[1] == '-' ? 0 : atoll(strchr(answer, '\n') + 1);
    }
    return *answer == ':' ? atoll(answer + 1) : 0;
}

bool client_call(struct client *c, struct call *call, thrum_time patience) {
    static const char *const forms[] = {"GET %c\n", "SET %c %lld\n", "INCR %c\n"};
    const thrum_time deadline = thrum_after(patience);
    char request[64], answer[128] = "";
    call->client = c->number;
    if (!c->is_open) {
        c->is_open = thrum_dial(&c->io, addresses[c->replica], deadline) == 0;
    }
    if (c->is_open) {
        const int size = snprintf(request, sizeof request, forms[call->operation.kind],
                                  'x' + (char)call->key, (long long)call->operation.argument);
        history_called(call);
        if (thrum_write_until(c->io, request, (size_t)size, deadline) == size &&
            read_answer(c->io, answer, sizeof answer, deadline) && *answer != '-') {
            history_answered(call, number_in(answer));
            history_add(call);
            return true;
        }
        if (strncmp(answer, "-TRYAGAIN", 9) != 0) {
            history_add(call);
        }
    }
    client_close(c);
    c->replica = (c->replica + 1) % REPLICAS;
    return false;
}
