/*
 * socket.h: the sockets of a test: what socket.c, datagram.c and the network between its hosts
 * share.
 */
#ifndef INSIDE_SOCKET_H
#define INSIDE_SOCKET_H

#include "platform/file.h"
#include "platform/sim/files.h"
#include "platform/socket.h"

#define DATAGRAMS 64u /* on their way, in all */
#define DATAGRAM_BYTES 8192u
#define QUEUE 16u /* of a socket */

struct sim_socket {
    th_os_family family;
    th_os_style style;
    th_os_address local; /* empty: not bound */
    th_os_address peer;  /* empty: not connected */
    int64_t options[TH_OS_OPTIONS];
    unsigned waiting; /* datagrams, oldest first */
    uint8_t queue[QUEUE];
};

typedef struct sim_datagram {
    th_os_address from;
    size_t size;
    uint8_t bytes[DATAGRAM_BYTES];
} sim_datagram;

/* What lies behind the system's own memory, and is not zero when a run begins. */
typedef struct sim_rest {
    uint8_t bytes[SIM_FLOWS * SIM_ROOM];
    sim_socket sockets[SIM_FILES]; /* of the file with the same place */
    sim_datagram datagrams[DATAGRAMS];
} sim_rest;

_Static_assert(sizeof(sim_files) + sizeof(sim_rest) <= (size_t)SIM_KERNEL_BYTES, "it has room");

static inline sim_rest *sim_rest_here(void) {
    return (sim_rest *)(void *)(sim_files_here() + 1);
}

/* The file, and NULL if it is no socket; *code becomes the error. */
sim_file *sim_socket_file(int fd, int *code);
sim_file *sim_socket_new(unsigned host, th_os_family family, th_os_style style);
/* An IPv4 address that is written as one of IPv6 as what it is. */
th_os_address sim_socket_plain(th_os_address address);
/* As a socket of the family has it. */
th_os_address sim_socket_shown(th_os_address address, th_os_family family);
/* Whether it stands for all addresses of the host. */
bool sim_socket_is_any(const th_os_address *address);
/*
 * The host whose socket an address reaches, from the caller's host; the address becomes one by
 * which it can be found there. -EADDRNOTAVAIL: no host has it.
 */
int sim_socket_reach(th_os_address *address);
/* The caller's own address for the other side of a connection with the address. */
th_os_address sim_socket_near(const th_os_address *address);
/* The address of a host in the network. */
th_os_address sim_socket_of_host(unsigned host, uint16_t port);
/* The socket of the host that gets what is sent to the address; of several that share it any. */
sim_file *sim_socket_find(unsigned host, th_os_style style, const th_os_address *address);
/* Gives a socket an address if it has none: one at which the address can reach it. */
int sim_socket_bind_near(sim_socket *me, const th_os_address *address);
/* A connection or a datagram arrives (at another host: from network.c). */
int sim_socket_connect_to(sim_file *file, unsigned host, const th_os_address *address);
int sim_datagram_arrives(unsigned number, unsigned host, const th_os_address *to);
void sim_datagram_lost(unsigned number);

#endif
