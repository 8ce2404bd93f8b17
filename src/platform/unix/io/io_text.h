/*
 * io_text.h: the system's part of th_os_io_text.
 */
#ifndef TH_UNIX_IO_TEXT_H
#define TH_UNIX_IO_TEXT_H

#include "platform/platform.h"

/* The system's name for a descriptor other than a socket. 0 or a code; errno may be changed. */
int th_text_of_other(int fd, char *text, size_t size);

#endif
