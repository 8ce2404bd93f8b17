/*
 * describe.c: descriptions of descriptors other than sockets.
 */
#include "platform/windows/winsock/winsock.h"

#include <errno.h>
#include <stdio.h>

#include "platform/unix/io/io_text.h"

int th_text_of_other(int fd, char *text, size_t size) {
    DWORD flags;
    if (!GetHandleInformation(th_nt_handle(fd), &flags)) {
        return -EBADF;
    }
    const DWORD type = GetFileType(th_nt_handle(fd));
    const char *word = type == FILE_TYPE_DISK   ? "file"
                       : type == FILE_TYPE_CHAR ? "console"
                       : type == FILE_TYPE_PIPE ? "pipe"
                                                : "handle";
    const int n = snprintf(text, size, "%s:[%d]", word, fd);
    return n < 0 || (size_t)n >= size ? -ENOSPC : 0;
}
