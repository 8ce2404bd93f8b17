/*
 * network.h: the network between the hosts of a test.
 *
 * All that a host sends to another one is a packet: a request to connect, bytes, the end of a
 * connection, a datagram. It arrives when its time has come, after the latency of its link. Packets
 * of one connection arrive in the order in which they were sent. A packet of TCP that a partition
 * stops waits for the end of the partition, as TCP sends it again and again; a datagram is lost.
 */
#ifndef HOSTS_NETWORK_H
#define HOSTS_NETWORK_H

#include "platform/sim/files.h"
#include "platform/socket.h"

/* What has a direction, from one host to another. */
typedef struct network_link {
    int64_t latency_min, latency_max;
    uint64_t bandwidth; /* bytes in a second; 0: any number */
    unsigned loss;      /* of datagrams, in a thousand */
    bool cut;           /* by a partition */
    bool held;          /* nothing arrives, and nothing is lost, until it is released */
    int64_t free_at;    /* when the last byte has left the sender */
} network_link;

void network_begin(void); /* a run begins */
int64_t network_next(void);
void network_arrive(void);
network_link *network_between(unsigned from, unsigned to);
/* The link lets more through: packets that wait for it go on. */
void network_opened(unsigned from, unsigned to);
void network_break(unsigned a, unsigned b); /* resets all connections between them */
void network_host_off(unsigned host);       /* all its descriptors are gone */

void network_connect(sim_file *file, unsigned host, const th_os_address *address);
unsigned network_flow(unsigned from, unsigned to); /* a number for sim_flow.far */
void network_datagram(unsigned number, unsigned from, unsigned host, const th_os_address *to);

/* hosts.c: how many hosts there are, and the number of the one with that name, or -ENOENT. */
unsigned hosts_count(void);
int hosts_find(const char *name);

#endif
