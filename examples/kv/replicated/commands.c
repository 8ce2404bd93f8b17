/*
 * commands.c: the commands of a replica. Those about keys have one key and no deadline, because
 * each replica runs them at a time of its own.
 */
#include "command.h"

#include <errno.h>
#include <stdlib.h>

#include "log.h"
#include "replica.h"

static const struct command commands[] = {
    {"get", 2, 2, command_get},       {"set", 3, 3, command_set},
    {"incr", 2, 2, command_incr},     {"decr", 2, 2, command_decr},
    {"incrby", 3, 3, command_incrby}, {"decrby", 3, 3, command_decrby},
    {"del", 2, 2, command_del},       {"exists", 2, 2, command_exists},
    {"ping", 1, 2, command_ping},     {"quit", 1, 1, command_quit},
};

static bool needs_no_log(const struct command *command) {
    return command->run == command_ping || command->run == command_quit ||
           (command->run == command_get && replica_reads_locally());
}

static void submit(struct session *s) {
    if (s->request.at > REQUEST_MAX) {
        reply_error(&s->reply, "ERR the request is too long");
        return;
    }
    switch (replica_submit(s)) {
    case SUBMITTED_DONE:
        break;
    case SUBMITTED_REFUSED:
        reply_error(&s->reply, "TRYAGAIN this replica is not the leader");
        break;
    case SUBMITTED_UNKNOWN:
        reply_error(&s->reply, "ERR no majority: the request may still be done");
        break;
    }
}

static const struct command *find(struct session *s) {
    return command_find(s, commands, sizeof commands / sizeof commands[0]);
}

void command_run(struct session *s) {
    const struct command *command = find(s);
    if (command && needs_no_log(command)) {
        command->run(s);
    } else if (command) {
        submit(s);
    }
}

/* ---- committed requests ---- */

/* A session with a request whose answer nobody reads, or NULL without memory. */
static struct session *session_without_client(struct text request) {
    static struct session *s;
    const char *why;
    s = s ? s : malloc(sizeof *s);
    if (s) {
        s->ends = false;
        reply_begin(&s->reply, (thrum_io){0}, 0);
        s->reply.error = -EPIPE; /* it writes nothing */
        s->request.value_max = REQUEST_MAX;
        request_begin(&s->request);
        (void)request_parse(&s->request, request, &why); /* the leader has parsed it before */
    }
    return s;
}

int commands_apply(struct session *s, struct text request) {
    s = s ? s : session_without_client(request);
    if (!s) {
        return -ENOMEM;
    }
    find(s)->run(s);
    return 0;
}
