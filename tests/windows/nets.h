/*
 * nets.h: a part of support/io/nets.h: what differs of sockets. The system's handles have no list:
 * each number is asked for.
 */
#ifndef WINDOWS_NETS_H
#define WINDOWS_NETS_H

#include <thrum/file.h>

#define BUFFER_TOLD 1 /* the system tells what it was asked for */

/* How many sockets the process has open, the library's wake-ups aside. */
CHECK_UNUSED static int open_count(void) {
    return unix_sockets();
}

/* A file: the device that takes everything. */
CHECK_UNUSED static thrum_io no_socket(void) {
    thrum_io io;
    CHECK_EQ(thrum_file_adopt(&io, unix_open("/dev/null", O_RDWR)), 0);
    return io;
}

/* Other handles are of threads and the like, too: they come and go without a test. */
CHECK_UNUSED static int descriptors(void) {
    return unix_sockets();
}

#endif
