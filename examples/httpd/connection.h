/*
 * connection.h: one connection: requests in, answers out, in order, until one side has had enough.
 */
#ifndef HTTPD_CONNECTION_H
#define HTTPD_CONNECTION_H

#include "body.h"
#include "date.h"
#include "input.h"
#include "output.h"
#include "path.h"
#include "request.h"
#include "server.h"

struct connection {
    struct server *server;
    struct input in;
    struct output out;
    struct request request;
    struct body body;
    struct date_now now;
    bool served;                   /* a request, at least */
    char peer[THRUM_ADDRESS_TEXT]; /* for the log; else empty */

    /* For the request that is being answered. */
    char path[PATH_SIZE]; /* of its target, decoded; empty as long as that is not known */
    int status;           /* of its answer */
    uint64_t length;      /* of its answer's body */
    bool ends;            /* no other answer follows: known when the answer begins */
    bool lingers;         /* it ends while the other side may be in the middle of sending */
};

/*
 * Whether an answer that begins now is the last one: since it refuses; as the request's sender
 * wishes; or since others wait for its place, or the server ends, once all is answered that had
 * come.
 */
bool connection_is_last(const struct connection *c);

/* Serves a connection: the function that thrum_serve calls; `server` is a struct server. */
int connection_serve(thrum_io io, void *server);

#endif
