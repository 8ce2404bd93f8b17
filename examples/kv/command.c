/*
 * command.c: finding the command of a request.
 */
#include "command.h"

#include <stdio.h>
#include <string.h>

enum { NAME_MAX_SIZE = 8 };

static const struct command *find(const struct command *commands, size_t count, struct text name) {
    char small[NAME_MAX_SIZE + 1] = "";
    if (name.size > NAME_MAX_SIZE) {
        return NULL;
    }
    for (size_t i = 0; i < name.size; i++) {
        char c = name.at[i];
        small[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(small, commands[i].name) == 0 && strlen(small) == name.size) {
            return &commands[i];
        }
    }
    return NULL;
}

/* The name is in the answer, as far as it is text. */
static void refuse_unknown(struct session *s, struct text name) {
    char shown[65];
    char text[128];
    size_t size = name.size < sizeof shown - 1 ? name.size : sizeof shown - 1;
    for (size_t i = 0; i < size; i++) {
        shown[i] = (char)(name.at[i] >= ' ' && name.at[i] < 127 ? name.at[i] : '?');
    }
    shown[size] = '\0';
    snprintf(text, sizeof text, "ERR unknown command '%s'", shown);
    reply_error(&s->reply, text);
    /* A browser that was led here by somebody's page: the rest is not the user's will. */
    s->ends = s->ends || text_is(name, "post") || text_is(name, "host:");
}

const struct command *command_find(struct session *s, const struct command *commands,
                                   size_t count) {
    const struct text name = request_argument(&s->request, 0);
    const struct command *command = find(commands, count, name);
    reply_make_room(&s->reply);
    if (!command) {
        refuse_unknown(s, name);
    } else if (s->request.count < command->least || s->request.count > command->most) {
        char text[96];
        snprintf(text, sizeof text, "ERR wrong number of arguments for '%s' command",
                 command->name);
        reply_error(&s->reply, text);
        command = NULL;
    }
    return command;
}

const char *command_deadline(struct session *s, unsigned i, thrum_time unit, thrum_time *deadline) {
    int64_t number, ns;
    if (!number_parse(&number, request_argument(&s->request, i))) {
        return COMMAND_NO_NUMBER;
    }
    if (__builtin_mul_overflow(number, (int64_t)unit, &ns)) {
        return "ERR invalid expire time";
    }
    *deadline = ns > 0 ? thrum_after(ns) : INT64_MIN;
    return NULL;
}
