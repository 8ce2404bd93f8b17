/*
 * listener.h: the bare servers' listening socket, the same for all: at 127.0.0.1, without delays.
 */
#ifndef BENCH_PEERS_SERVERS_LISTENER_H
#define BENCH_PEERS_SERVERS_LISTENER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <sys/socket.h>

/* A socket with these flags; -1: errno has the reason. */
static inline int listen_at(int port, int flags) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const int on = 1;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* accepted sockets have it, too */
    return bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 4096) == 0 ? fd : -1;
}

#endif
