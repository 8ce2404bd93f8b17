/*
 * pipe.h: the library's end of a pipe to a program that it starts (pipe.c).
 */
#ifndef TH_WINDOWS_PIPE_H
#define TH_WINDOWS_PIPE_H

#include "platform/windows/winsock/winsock.h"

/* As th_os_io_readv and th_os_io_writev. */
int64_t th_pipe_readv(int fd, const th_os_part parts[], unsigned n);
int64_t th_pipe_writev(int fd, const th_os_part parts[], unsigned n);

/* Closes it; false: it is none. Written bytes still go to the reader. */
bool th_pipe_close(int fd);

#endif
