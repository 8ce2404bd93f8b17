/*
 * client.h: a client of the replicas in a test.
 */
#ifndef KV_CLIENT_H
#define KV_CLIENT_H

#include "history.h"
#include "replica.h"

struct client {
    unsigned number;
    unsigned replica; /* the one that it asks */
    bool is_open;     /* it has a connection to it */
    thrum_io io;
};

/* Looks up the addresses of the replicas. */
void clients_begin(const char *const names[REPLICAS]);

/* Calls an operation once, and adds it to the history unless it has no effect. Returns whether it
   has an answer. After a failure, the client asks the next replica. */
bool client_call(struct client *c, struct call *call, thrum_time patience);

void client_close(struct client *c);

#endif
