/*
 * calls.h: what sets learn of calls on descriptors, beside unix/io/edge.h.
 */
#ifndef TH_WINDOWS_CALLS_H
#define TH_WINDOWS_CALLS_H

#include "platform/unix/io/edge.h"
#include "platform/windows/winsock/winsock.h"

/*
 * The descriptor of one that the system has just made. What sets knew of the number was of another
 * one, which was closed behind the library's back: nothing else tells the two apart.
 */
int th_fd_of_fresh(SOCKET s);

/* As th_pollset_look_again; a thread that sleeps for such a set need not hear of it. */
void th_pollset_look_later(int fd, uint32_t bits);

#endif
