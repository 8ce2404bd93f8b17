/*
 * nets.h: common parts of tests of sockets.
 *
 *   both        a test's body runs in a task of a rig, and then on a plain thread
 *   pair        two ends of a connection over an address
 *   echoer      takes connections until its listener is closed, and sends all bytes back
 */
#ifndef NETS_H
#define NETS_H

#include "support/sync/actors.h"
#include "support/ready.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thrum/net.h>

/* The parts that differ between systems: open_count, descriptors. */
#if defined(_WIN32)
#include "windows/nets.h"
#else
#include "posix/nets.h"
#endif

/* Runs a body in a task of a new rig, and on this plain thread. */
static inline void both(thrum_fn fn) {
    rig_do(0, fn, NULL);
    CHECK_EQ(fn(NULL), 0);
}

/* Listens, and writes where. */
static inline thrum_io listen_at(const char *address, char where[THRUM_ADDRESS_TEXT]) {
    thrum_io listener = {0, 0};
    CHECK_EQ(thrum_listen(&listener, address, NULL), 0);
    CHECK_EQ(thrum_io_local(listener, where, THRUM_ADDRESS_TEXT), 0);
    return listener;
}

/*
 * An address of this machine that only this process uses, with any port. So a port stays free once
 * its listener is closed; at the usual address other programs may get it.
 */
CHECK_UNUSED static void own_address(char to[THRUM_ADDRESS_TEXT], const char *scheme) {
    const unsigned n = 0x400000 + ((unsigned)getpid() & 0x3fffff);
    snprintf(to, THRUM_ADDRESS_TEXT, "%s:127.%u.%u.%u:0", scheme, n >> 16, n >> 8 & 255, n & 255);
}

CHECK_UNUSED static bool has_ipv6(void) {
    thrum_io io;
    int code = thrum_listen(&io, "tcp:[::1]:0", NULL);
    return code == 0 && thrum_io_close(io) == 0;
}

typedef struct pair {
    thrum_io listener;
    thrum_io near; /* the dialing end */
    thrum_io far;  /* the accepted end */
    char where[THRUM_ADDRESS_TEXT];
} pair;

CHECK_UNUSED static void pair_open(pair *p, const char *address) {
    p->listener = listen_at(address, p->where);
    CHECK_EQ(thrum_dial(&p->near, p->where, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_accept(p->listener, &p->far), 0);
}

CHECK_UNUSED static void pair_close(pair *p) {
    CHECK_EQ(thrum_io_close(p->near), 0);
    CHECK_EQ(thrum_io_close(p->far), 0);
    CHECK_EQ(thrum_io_close(p->listener), 0);
}

/* Each end reads the other's bytes. */
CHECK_UNUSED static void check_talks(thrum_io a, thrum_io b) {
    char text[8] = "";
    CHECK_EQ(thrum_write(a, "ping", 4), 4);
    CHECK_EQ(thrum_read_full(b, text, 4, THRUM_FOREVER), 4);
    CHECK_STR(text, "ping");
    CHECK_EQ(thrum_write(b, "pong", 4), 4);
    CHECK_EQ(thrum_read_full(a, text, 4, THRUM_FOREVER), 4);
    CHECK_STR(text, "pong");
}

/* A path for a socket in a directory of this test's own. */
static char socket_path_text[100];

CHECK_UNUSED static const char *socket_path(void) {
    if (!socket_path_text[0]) {
        char folder[] = "/tmp/thrum-net-XXXXXX";
        CHECK(mkdtemp(folder) != NULL);
        snprintf(socket_path_text, sizeof socket_path_text, "%s/socket", folder);
    }
    return socket_path_text;
}

CHECK_UNUSED static void socket_path_end(void) {
    (void)unlink(socket_path());
    *strrchr(socket_path_text, '/') = 0;
    CHECK_EQ(rmdir(socket_path_text), 0);
    socket_path_text[0] = 0;
}

#endif
