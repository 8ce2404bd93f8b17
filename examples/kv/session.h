/*
 * session.h: one connection, from its first request to its end.
 */
#ifndef KV_SESSION_H
#define KV_SESSION_H

#include "input.h"
#include "options.h"
#include "reply.h"
#include "request.h"

struct session {
    const struct options *options;
    bool ends; /* it is to be closed when its answers are written */
    struct request request;
    struct input input;
    struct reply reply;
};

/* Serves a connection: the function of thrum_serve. `arg` is a struct options. */
int session_run(thrum_io io, void *arg);

/* Returns how many connections there are. */
unsigned session_count(void);

#endif
