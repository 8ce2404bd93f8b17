/*
 * message.h: messages from one replica to another, as datagrams of UDP. They may be lost, repeated,
 * or overtake each other.
 */
#ifndef KV_MESSAGE_H
#define KV_MESSAGE_H

#include <thrum.h>

#include "log.h"

enum { REPLICAS = 3, MAJORITY = 2 };

/* All replicas run on machines of the same kind: a message is sent as it is in memory. */
struct message {
    enum { VOTE_REQUEST, VOTE, APPEND, APPENDED } kind;
    unsigned from;       /* the sender */
    bool yes;            /* VOTE, APPENDED: whether the sender agrees */
    uint64_t term;       /* the sender's */
    uint32_t index;      /* VOTE_REQUEST: its last entry; APPEND: the entry before this one;
                            APPENDED: up to this entry, its log is the leader's, or may be */
    uint32_t committed;  /* APPEND: the last entry that a majority has */
    uint64_t index_term; /* the term of the entry `index` */
    uint64_t entry_term; /* APPEND: the term of the entry that is sent */
    uint32_t size;       /* APPEND: the size of its request; 0: no entry is sent */
    char request[REQUEST_MAX];
};

/* Opens the sockets of a replica. `hosts` are texts such as "127.0.0.1:7001". It may suspend. */
int messages_open(const char *const hosts[REPLICAS], unsigned me);

/* Sends a message. If there is no room, it is lost. */
void message_send(unsigned to, const struct message *m);

/* Waits for a message from another replica. Returns 0, or an error code; -EBADMSG if something
   else has come. */
int message_receive(struct message *m, thrum_time deadline);

#endif
