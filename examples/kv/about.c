/*
 * about.c: the connection and the server: clients' first commands.
 */
#include <stdio.h>

#include "command.h"
#include "memory.h"
#include "store.h"

void command_ping(struct session *s) {
    if (s->request.count == 1) {
        reply_simple(&s->reply, "PONG");
    } else {
        command_echo(s);
    }
}

void command_echo(struct session *s) {
    reply_bulk(&s->reply, request_argument(&s->request, 1));
}

void command_quit(struct session *s) {
    reply_simple(&s->reply, "OK");
    s->ends = true;
}

void command_select(struct session *s) {
    int64_t number;
    if (!number_parse(&number, request_argument(&s->request, 1))) {
        reply_error(&s->reply, COMMAND_NO_NUMBER);
    } else if (number != 0) {
        reply_error(&s->reply, "ERR DB index is out of range");
    } else {
        reply_simple(&s->reply, "OK");
    }
}

/* Only the second version of the protocol is spoken here. */
void command_hello(struct session *s) {
    if (s->request.count > 1 && !text_is(request_argument(&s->request, 1), "2")) {
        reply_error(&s->reply, "NOPROTO unsupported protocol version");
    } else if (s->request.count > 2) {
        reply_error(&s->reply, COMMAND_SYNTAX);
    } else {
        reply_array(&s->reply, 6);
        reply_word(&s->reply, "server");
        reply_word(&s->reply, "kv");
        reply_word(&s->reply, "version");
        reply_word(&s->reply, thrum_version());
        reply_word(&s->reply, "proto");
        reply_integer(&s->reply, 2);
    }
}

/* Clients send their names, which are not used here. */
void command_client(struct session *s) {
    const struct text what = request_argument(&s->request, 1);
    if (text_is(what, "setname") || text_is(what, "setinfo")) {
        reply_simple(&s->reply, "OK");
    } else {
        reply_error(&s->reply, "ERR unknown subcommand");
    }
}

/* A client that asks for a description of the commands gets none. */
void command_command(struct session *s) {
    reply_array(&s->reply, 0);
}

void command_config(struct session *s) {
    const struct text name =
        s->request.count == 3 ? request_argument(&s->request, 2) : (struct text){"", 0};
    if (!text_is(request_argument(&s->request, 1), "get") || s->request.count != 3) {
        reply_error(&s->reply, "ERR unknown subcommand or wrong number of arguments");
    } else if (text_is(name, "save") || text_is(name, "appendonly")) {
        reply_array(&s->reply, 2);
        reply_bulk(&s->reply, name);
        reply_word(&s->reply, text_is(name, "save") ? "" : "no");
    } else if (text_is(name, "maxmemory")) {
        reply_array(&s->reply, 2);
        reply_bulk(&s->reply, name);
        char digits[NUMBER_MAX];
        reply_bulk(&s->reply,
                   (struct text){digits, number_write(digits, (int64_t)memory_of_keys.max)});
    } else {
        reply_array(&s->reply, 0);
    }
}

void command_info(struct session *s) {
    char text[512];
    int size = snprintf(text, sizeof text,
                        "# Server\r\nserver_name:kv\r\nthrum_version:%s\r\nworkers:%u\r\n"
                        "\r\n# Clients\r\nconnected_clients:%u\r\n"
                        "\r\n# Memory\r\nused_memory:%zu\r\nmaxmemory:%zu\r\n"
                        "used_memory_requests:%zu\r\n"
                        "\r\n# Keyspace\r\ndb0:keys=%zu\r\n",
                        thrum_version(), thrum_sched_parallelism(thrum_sched_current()),
                        session_count(), memory_used(&memory_of_keys), memory_of_keys.max,
                        memory_used(&memory_of_requests), store_count());
    reply_bulk(&s->reply, (struct text){text, (size_t)size});
}
