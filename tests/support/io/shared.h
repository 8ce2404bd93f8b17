/*
 * shared.h: a descriptor that other processes share is waited for, and they see nothing of it.
 */
#ifndef SHARED_H
#define SHARED_H

#include "support/support.h"

#include <fcntl.h>
#include <thrum/io.h>

#include "support/io/ios.h"
#include "support/times.h"

typedef struct late {
    int fd;
    const char *text;
    thrum_io reader;
} late;

CHECK_UNUSED static int write_late(void *arg) {
    const late *l = arg;
    YIELD_UNTIL(io_is_waited_for(l->reader, 0));
    CHECK_EQ(write(l->fd, l->text, strlen(l->text)), strlen(l->text));
    return 0;
}

/* A fiber waits for bytes that come late on `from`; the flags of `fd` are as before. */
CHECK_UNUSED static void check_waits(int fd, int from) {
    char text[16] = "";
    thrum_io io;
    thrum_handle *writer;
    const int before = fcntl(fd, F_GETFL);
    CHECK_EQ(thrum_io_adopt_shared(&io, fd), 0);
    CHECK(thrum_io_fd(io) != fd);
    CHECK_EQ(thrum_read_until(io, text, sizeof text, soon()), -ETIMEDOUT);
    late l = {from, "hello\n", io};
    CHECK_EQ(thrum_spawn(&writer, write_late, &l), 0);
    CHECK_EQ(thrum_read(io, text, sizeof text), 6);
    CHECK_EQ(thrum_join(writer, NULL), 0);
    CHECK_STR(text, "hello\n");
    CHECK_EQ(fcntl(fd, F_GETFL), before);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(fcntl(fd, F_GETFL), before);
}

#endif
