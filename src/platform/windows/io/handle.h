/*
 * handle.h: reads and writes of handles that are not sockets (handle.c).
 */
#ifndef TH_WINDOWS_HANDLE_H
#define TH_WINDOWS_HANDLE_H

#include "platform/windows/winsock/winsock.h"

/* They wait for the device or the other side. */
int64_t th_handle_readv(int fd, const th_os_part parts[], unsigned n);
int64_t th_handle_writev(int fd, const th_os_part parts[], unsigned n);

#endif
