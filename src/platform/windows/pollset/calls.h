/*
 * calls.h: how sets learn of calls on descriptors, in addition to unix/io/edge.h.
 */
#ifndef TH_WINDOWS_CALLS_H
#define TH_WINDOWS_CALLS_H

#include "platform/unix/io/edge.h"
#include "platform/windows/winsock/winsock.h"

/*
 * The descriptor of a socket that the system has just made. Whatever sets know about its number
 * belongs to an earlier socket, closed behind the library's back, and is dropped: nothing else
 * distinguishes the two.
 */
int th_fd_of_fresh(SOCKET s);

/* Like th_pollset_look_again, but threads that sleep for such a set need not be woken. */
void th_pollset_look_later(int fd, uint32_t bits);

#endif
