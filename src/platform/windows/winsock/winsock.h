/*
 * winsock.h: sockets as Windows has them, under the numbers that the contract has for descriptors.
 *
 * A descriptor's number is its handle: handles are multiples of 4 with 32 bits that count, also
 * where a pointer has 64. So 1 and 2 can be no handle's, and 0 is none's: they are the standard
 * ones. The C library's numbers of files are not known here (_get_osfhandle has their handles).
 */
#ifndef TH_WINDOWS_WINSOCK_H
#define TH_WINDOWS_WINSOCK_H

#define WIN32_LEAN_AND_MEAN
#include <winsock2.h>
/* This header must come after the ones above. */
#include <afunix.h>
#include <ws2tcpip.h>

#include "platform/platform.h"
#include "platform/windows/system/nt.h"

static inline SOCKET th_socket_of(int fd) {
    return (SOCKET)(unsigned)fd;
}

static inline int th_fd_of_socket(SOCKET s) {
    return (int)(unsigned)s;
}

/* The handle of a descriptor; of one of the standard ones perhaps NULL. */
HANDLE th_nt_handle(int fd);
int th_fd_of_handle(HANDLE handle);

/* Winsock is there from now on. 0 or a code. */
int th_winsock_begin(void);
/* Whether it is a socket. */
bool th_is_socket(int fd);

/* The errno number, positive, for an error of Winsock's; and of the calling thread's last one. */
int th_winsock_errno(int error);
static inline int th_winsock_code(void) {
    return -th_winsock_errno(WSAGetLastError());
}

#endif
