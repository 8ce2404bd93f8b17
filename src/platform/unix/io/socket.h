/*
 * socket.h: reading the properties of sockets that are not ours.
 */
#ifndef TH_UNIX_SOCKET_H
#define TH_UNIX_SOCKET_H

/* The family of its addresses, as AF_INET; 0, or -1 with errno. */
int th_socket_domain(int fd, int *domain);

#endif
