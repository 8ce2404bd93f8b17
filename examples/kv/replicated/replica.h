/*
 * replica.h: one of three servers that keep the same keys, by the consensus protocol Raft. It has
 * no snapshots, and its members never change.
 *
 * The replicas elect a leader. The leader puts each request of a client into its log, and sends it
 * to the others. A request is *committed* when a majority has it on disk. Then each replica runs
 * it, in the order of the log, and the leader answers the client. In each *term* there is at most
 * one leader, because a replica votes once.
 */
#ifndef KV_REPLICA_H
#define KV_REPLICA_H

#include "message.h"
#include "session.h"

/* Bugs for the test, which must find them. */
enum planted {
    PLANTED_NOTHING,
    PLANTED_EARLY_ANSWER,  /* a request is answered before a majority has it */
    PLANTED_LOCAL_READ,    /* a leader reads without checking that it is still the leader */
    PLANTED_UNSYNCED_VOTE, /* a vote may be lost in a crash */
    PLANTED_UNCUT_LOG      /* entries that differ from those of the leader stay */
};

struct replica_options {
    const char *hosts[REPLICAS]; /* "127.0.0.1:7001": for clients by TCP, for replicas by UDP */
    unsigned me;                 /* an index of `hosts` */
    const char *log;             /* the path of the log's file */
    const int *stop_signals;     /* as for thrum_serve, as is `started` */
    void (*started)(thrum_io listener, void *arg);
    enum planted planted;
};

/* Runs a replica until a signal or an error ends it. A task's function; `arg` is a struct
   replica_options. */
int replica_run(void *arg); /* serve.c */

/* Its parts: opens the log and the sockets for messages; a task that exchanges messages, until an
   error or a cancel ends it. */
int replica_open(const struct replica_options *options);
int replica_exchange(void *unused);

/* How a request ended. */
enum submitted {
    SUBMITTED_DONE,    /* it has run, with its answer in the session */
    SUBMITTED_REFUSED, /* this replica is not the leader: it will not run */
    SUBMITTED_UNKNOWN  /* it has not run yet, and may never run */
};

/* Has the session's request run on all replicas, and waits for it. */
enum submitted replica_submit(struct session *s);

/* Whether this replica believes that it may answer a read at once: only with a planted bug. */
bool replica_reads_locally(void);

/* Runs a committed request. `s` is the session that waits for its answer, or NULL. Returns 0, or an
   error code. */
int commands_apply(struct session *s, struct text request); /* commands.c */

#endif
