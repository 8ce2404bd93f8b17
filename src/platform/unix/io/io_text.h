/*
 * io_text.h: what th_os_io_text asks of the system.
 */
#ifndef TH_UNIX_IO_TEXT_H
#define TH_UNIX_IO_TEXT_H

#include "platform/platform.h"

/* What the system calls what is no socket. 0 or a code; errno may be changed. */
int th_text_of_other(int fd, char *text, size_t size);

#endif
