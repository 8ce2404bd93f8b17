/*
 * sockets.c: sockets under Windows, as the library has them: connections, deadlines, urgent bytes,
 * closes under who waits, two descriptors for one, datagrams, and a server; whose ports are, and
 * names of hosts.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

#include <thrum/net.h>
#include <thrum/serve.h>

/* Behind what it may not come before. Two words of it that nobody needs any more are names here. */
#include <winsock2.h>
#undef near
#undef far

typedef struct pair {
    thrum_io listener;
    thrum_io near; /* the one that dialed */
    thrum_io far;  /* the one that was accepted */
    char where[THRUM_ADDRESS_TEXT];
} pair;

static void pair_open(pair *p, const char *address) {
    CHECK_EQ(thrum_listen(&p->listener, address, NULL), 0);
    CHECK_EQ(thrum_io_local(p->listener, p->where, sizeof p->where), 0);
    CHECK_EQ(thrum_dial(&p->near, p->where, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_accept(p->listener, &p->far), 0);
}

static void pair_close(const pair *p) {
    CHECK_EQ(thrum_io_close(p->near), 0);
    CHECK_EQ(thrum_io_close(p->far), 0);
    CHECK_EQ(thrum_io_close(p->listener), 0);
}

/* Runs a body in a task of a new rig, and on this plain thread. */
static void both(thrum_fn fn) {
    rig_do(0, fn, NULL);
    CHECK_EQ(fn(NULL), 0);
}

/* ---- ports and names ---- */

/* As another program would that takes whatever it can get. */
static bool takes(int style, const char *host, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((u_short)port)};
    const int on = 1;
    const SOCKET s = socket(AF_INET, style, 0);
    address.sin_addr.s_addr = inet_addr(host);
    CHECK(s != INVALID_SOCKET);
    CHECK_EQ(setsockopt(s, SOL_SOCKET, SO_REUSEADDR, (const char *)&on, sizeof on), 0);
    const bool got = bind(s, (const struct sockaddr *)&address, sizeof address) == 0;
    closesocket(s);
    return got;
}

static void listens_alone(const char *address, int style) {
    char where[THRUM_ADDRESS_TEXT];
    thrum_io io;
    thrum_io other;
    CHECK_EQ(thrum_listen(&io, address, NULL), 0);
    CHECK_EQ(thrum_io_local(io, where, sizeof where), 0);
    const int port = atoi(strrchr(where, ':') + 1);
    int alone = 0;
    int size = sizeof alone;
    CHECK_EQ(
        getsockopt((SOCKET)thrum_io_fd(io), SOL_SOCKET, SO_EXCLUSIVEADDRUSE, (char *)&alone, &size),
        0);
    CHECK_EQ(alone, 1); /* wine has others refused anyway */
    CHECK(!takes(style, "127.0.0.1", port));
    const int code = thrum_listen(&other, where, NULL);
    CHECK(code == -EADDRINUSE || code == -EACCES);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_listen(&io, where, NULL), 0);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK(takes(style, "127.0.0.1", port));
}

TEST(a_port_is_the_librarys_alone) {
    /* No other socket gets it by SO_REUSEADDR, nor one of its addresses, until it is closed. */
    listens_alone("tcp:127.0.0.1:0", SOCK_STREAM);
    listens_alone("tcp:0.0.0.0:0", SOCK_STREAM);
    listens_alone("udp:127.0.0.1:0", SOCK_DGRAM);
    listens_alone("udp:0.0.0.0:0", SOCK_DGRAM);
}

static void begins_anew(void) {
    pair p;
    thrum_io again;
    pair_open(&p, "tcp:127.0.0.1:0");
    CHECK_EQ(thrum_io_close(p.far), 0); /* the server's end goes first, and lingers */
    CHECK_EQ(thrum_io_close(p.near), 0);
    CHECK_EQ(thrum_io_close(p.listener), 0);
    CHECK_EQ(thrum_listen(&again, p.where, NULL), 0);
    CHECK_EQ(thrum_io_close(again), 0);
}

TEST(a_server_that_begins_anew_gets_its_port) {
    /* Its connections are over, though the system still knows of them. */
    begins_anew();
}

static int names_body(void *arg) {
    thrum_address found;
    char text[THRUM_ADDRESS_TEXT];
    (void)arg;
    /* "localhost" in wide letters, which are the same ones in a name. */
    const char *wide = "\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54";
    CHECK_EQ(thrum_resolve(wide, 80, THRUM_IPV4, &found, 1, THRUM_FOREVER), 1);
    CHECK_EQ(thrum_address_text(&found, text, sizeof text), 0);
    CHECK_STR(text, "127.0.0.1:80");
    CHECK_EQ(thrum_resolve("local\xffhost", 80, THRUM_IPV4, &found, 1, THRUM_FOREVER), -ENOENT);
    return 0;
}

TEST(names_of_hosts_are_utf_8) {
    /* Whatever the code page of the program is. */
    both(names_body);
}

/* ---- a connection ---- */

static int talk_body(void *arg) {
    pair p;
    char text[8] = "";
    char other[THRUM_ADDRESS_TEXT];
    pair_open(&p, arg ? arg : "tcp:127.0.0.1:0");
    CHECK_EQ(thrum_io_peer(p.near, other, sizeof other), 0);
    CHECK_STR(other, p.where);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(thrum_write(p.near, "ping", 4), 4);
        CHECK_EQ(thrum_read_full(p.far, text, 4, THRUM_FOREVER), 4);
        CHECK_STR(text, "ping");
        CHECK_EQ(thrum_write(p.far, "pong", 4), 4);
        CHECK_EQ(thrum_read_full(p.near, text, 4, THRUM_FOREVER), 4);
        CHECK_STR(text, "pong");
    }
    CHECK_EQ(thrum_io_shutdown(p.near, THRUM_IO_WRITE), 0);
    CHECK_EQ(thrum_read(p.far, text, sizeof text), 0);
    pair_close(&p);
    return 0;
}

TEST(two_ends_talk) {
    /* What one end writes the other one reads, both ways, until one ends. */
    both(talk_body);
}

TEST(nobody_listens) {
    /* A dial where nobody listens is refused, and does not wait for ever. */
    thrum_io io;
    struct sockaddr_in address = {.sin_family = AF_INET};
    int size = sizeof address;
    char where[THRUM_ADDRESS_TEXT];
    WSADATA data;
    CHECK_EQ(WSAStartup(MAKEWORD(2, 2), &data), 0);
    const SOCKET silent = socket(AF_INET, SOCK_STREAM, 0); /* so that nobody else gets the port */
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK_EQ(bind(silent, (const struct sockaddr *)&address, size), 0);
    CHECK_EQ(getsockname(silent, (struct sockaddr *)&address, &size), 0);
    snprintf(where, sizeof where, "tcp:127.0.0.1:%d", ntohs(address.sin_port));
    CHECK_EQ(thrum_dial(&io, where, far_off()), -ECONNREFUSED);
    closesocket(silent);
}

static int late_body(void *arg) {
    pair p;
    char byte;
    (void)arg;
    pair_open(&p, "tcp:127.0.0.1:0");
    const thrum_time until = soon();
    CHECK_EQ(thrum_read_until(p.near, &byte, 1, until), -ETIMEDOUT);
    CHECK_PASSED(until);
    pair_close(&p);
    return 0;
}

TEST(a_read_ends_at_its_deadline) {
    /* Nothing comes: the read ends then, and not before. */
    both(late_body);
}

static int urgent_body(void *arg) {
    pair p;
    char byte;
    (void)arg;
    pair_open(&p, "tcp:127.0.0.1:0");
    CHECK_EQ(send((SOCKET)thrum_io_fd(p.far), "!", 1, MSG_OOB), 1);
    const thrum_time until = soon();
    CHECK_EQ(thrum_read_until(p.near, &byte, 1, until), -ETIMEDOUT);
    CHECK_PASSED(until);
    pair_close(&p);
    return 0;
}

TEST(an_urgent_byte_ends_no_read) {
    /* It is told of, but it is none of those that are read: the read goes on to its deadline. */
    both(urgent_body);
}

/* ---- more than there is room for ---- */

#define MUCH (4u << 20)

static char *block(unsigned seed) {
    char *bytes = malloc(MUCH);
    CHECK(bytes != NULL);
    for (size_t i = 0; i < MUCH; i++) {
        bytes[i] = (char)(i * 7 + (i >> 12) + seed);
    }
    return bytes;
}

static int write_much(void *arg) {
    const pair *p = arg;
    char *bytes = block(3);
    CHECK_EQ(thrum_write(p->near, bytes, MUCH), MUCH);
    CHECK_EQ(thrum_io_shutdown(p->near, THRUM_IO_WRITE), 0);
    free(bytes);
    return 0;
}

static int much_body(void *arg) {
    pair p;
    (void)arg;
    pair_open(&p, "tcp:127.0.0.1:0");
    char *wanted = block(3);
    char *got = malloc(MUCH + 1);
    thrum_handle *writer;
    CHECK_EQ(thrum_spawn(&writer, write_much, &p), 0);
    CHECK_EQ(thrum_read_full(p.far, got, MUCH + 1, THRUM_FOREVER), MUCH);
    CHECK(memcmp(got, wanted, MUCH) == 0);
    CHECK_EQ(thrum_join(writer, NULL), 0);
    free(got);
    free(wanted);
    pair_close(&p);
    return 0;
}

TEST(a_writer_waits_for_room) {
    /* Four megabytes, of which the system keeps a part: all of it comes, in order. */
    rig_do(0, much_body, NULL);
}

/* ---- a close under who waits ---- */

static int read_until_closed(void *arg) {
    const pair *p = arg;
    char byte;
    CHECK_EQ(thrum_read(p->near, &byte, 1), -EBADF);
    return 0;
}

static int close_body(void *arg) {
    pair p;
    thrum_handle *reader;
    (void)arg;
    pair_open(&p, "tcp:127.0.0.1:0");
    CHECK_EQ(thrum_spawn(&reader, read_until_closed, &p), 0);
    nap(); /* it may wait by now; the result is the same */
    CHECK_EQ(thrum_io_close(p.near), 0);
    CHECK_EQ(thrum_join(reader, NULL), 0);
    CHECK_EQ(thrum_io_close(p.far), 0);
    CHECK_EQ(thrum_io_close(p.listener), 0);
    return 0;
}

TEST(a_close_ends_who_waits) {
    /* A fiber that reads is told that the descriptor is gone. */
    rig_do(0, close_body, NULL);
}

/* ---- two descriptors for one listener ---- */

/* Another descriptor for the same socket, as two libraries of a program may have. */
static int twin_of(int fd) {
    WSAPROTOCOL_INFOW info;
    CHECK_EQ(WSADuplicateSocketW((SOCKET)fd, GetCurrentProcessId(), &info), 0);
    SOCKET s = WSASocketW(FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, &info, 0,
                          WSA_FLAG_OVERLAPPED);
    CHECK(s != INVALID_SOCKET);
    return (int)s;
}

static int twins_body(void *arg) {
    thrum_io first, second, near, far, none;
    char where[THRUM_ADDRESS_TEXT];
    (void)arg;
    CHECK_EQ(thrum_listen(&first, "tcp:127.0.0.1:0", NULL), 0);
    CHECK_EQ(thrum_io_local(first, where, sizeof where), 0);
    CHECK_EQ(thrum_io_adopt(&second, twin_of(thrum_io_fd(first))), 0);
    const int fd = thrum_io_release(first); /* so that the library has not made it itself */
    CHECK_EQ(thrum_io_adopt(&first, fd), 0);
    CHECK_EQ(thrum_accept_until(first, &far, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_io_close(first), 0);

    CHECK_EQ(thrum_dial(&near, where, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_accept(second, &far), 0);
    CHECK_EQ(thrum_accept_until(second, &none, soon()), -ETIMEDOUT); /* asks at once */
    CHECK_EQ(thrum_io_close(near), 0);
    CHECK_EQ(thrum_io_close(far), 0);
    CHECK_EQ(thrum_io_close(second), 0);
    return 0;
}

TEST(a_closed_twin_leaves_the_other_as_it_is) {
    /* One of two descriptors for a listener is closed: accepts by the other still do not wait in
     * the system, where no deadline ends them. */
    both(twins_body);
}

TEST(a_number_beside_a_sockets_is_nobodys) {
    /* The system passes over the two lowest bits of a handle; the library does not. */
    pair p;
    thrum_io io;
    pair_open(&p, "tcp:127.0.0.1:0");
    for (int i = 1; i < 4; i++) {
        CHECK_EQ(thrum_io_adopt(&io, p.near.fd + i), -EBADF);
        CHECK_EQ(thrum_io_adopt_shared(&io, p.near.fd + i), -EBADF);
    }
    pair_close(&p);
}

#define DIALS 64

/* The near end is closed without the library, and one of those that are dialed gets its number. */
static int behind_body(void *arg) {
    pair p;
    thrum_io dialed[DIALS], taken[DIALS];
    char byte;
    int n = 0;
    (void)arg;
    pair_open(&p, "tcp:127.0.0.1:0");
    CHECK_EQ(thrum_read_until(p.near, &byte, 1, soon()), -ETIMEDOUT);
    CHECK_EQ(closesocket((SOCKET)p.near.fd), 0);
    do {
        CHECK_EQ(thrum_dial(&dialed[n], p.where, THRUM_FOREVER), 0);
        CHECK_EQ(thrum_accept(p.listener, &taken[n]), 0);
        n++;
    } while (n < DIALS && dialed[n - 1].fd != p.near.fd && taken[n - 1].fd != p.near.fd);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(thrum_read_until(dialed[i], &byte, 1, soon()), -ETIMEDOUT);
        CHECK_EQ(thrum_read_until(taken[i], &byte, 1, soon()), -ETIMEDOUT);
        CHECK_EQ(thrum_io_close(dialed[i]), 0);
        CHECK_EQ(thrum_io_close(taken[i]), 0);
    }
    if (n == DIALS) {
        CHECK_SKIP("another thread has got the number");
    }
    CHECK_EQ(thrum_io_close(p.near), -EBADF);
    CHECK_EQ(thrum_io_close(p.far), 0);
    CHECK_EQ(thrum_io_close(p.listener), 0);
    return 0;
}

TEST(a_number_that_another_socket_gets_is_that_ones) {
    /* The set still has the one that was closed behind the library's back. */
    both(behind_body);
}

/* ---- datagrams ---- */

static int datagrams_body(void *arg) {
    thrum_io here, there;
    thrum_address from;
    char where[THRUM_ADDRESS_TEXT];
    char text[8] = "";
    (void)arg;
    CHECK_EQ(thrum_listen(&here, "udp:127.0.0.1:0", NULL), 0);
    CHECK_EQ(thrum_io_local(here, where, sizeof where), 0);
    CHECK_EQ(thrum_dial(&there, where, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_send_to(there, "ping", 4, NULL, THRUM_FOREVER), 4);
    CHECK_EQ(thrum_receive_from(here, text, sizeof text, &from, THRUM_FOREVER), 4);
    CHECK_STR(text, "ping");
    CHECK_EQ(thrum_send_to(here, "pong", 4, &from, THRUM_FOREVER), 4);
    CHECK_EQ(thrum_receive_from(there, text, sizeof text, NULL, THRUM_FOREVER), 4);
    CHECK_STR(text, "pong");
    CHECK_EQ(thrum_send_to(there, "too long for it", 15, NULL, THRUM_FOREVER), 15);
    CHECK(thrum_receive_from(here, text, 3, NULL, THRUM_FOREVER) > 3);
    CHECK(memcmp(text, "too", 3) == 0);
    CHECK_EQ(thrum_io_close(here), 0);
    CHECK_EQ(thrum_io_close(there), 0);
    return 0;
}

TEST(messages_come_whole_or_are_told_to_be_longer) {
    /* Both ways, and one that is longer than there is room for. */
    both(datagrams_body);
}

/* ---- a server ---- */

#define CALLERS 40

static int echo(thrum_io io, void *arg) {
    char text[64];
    int64_t n;
    (void)arg;
    while ((n = thrum_serve_read(io, text, sizeof text, THRUM_FOREVER)) > 0) {
        CHECK_EQ(thrum_write(io, text, (size_t)n), n);
    }
    return 0;
}

typedef struct service {
    thrum_io listener;
    char where[THRUM_ADDRESS_TEXT];
    thrum_waitgroup left;
} service;

static int serve(void *arg) {
    service *s = arg;
    return thrum_serve(s->listener, echo, NULL, NULL);
}

static int call(void *arg) {
    service *s = arg;
    thrum_io io;
    CHECK_EQ(thrum_dial(&io, s->where, THRUM_FOREVER), 0);
    for (int i = 0; i < 20; i++) {
        char text[16], back[16] = "";
        const int size = snprintf(text, sizeof text, "call %d", i);
        CHECK_EQ(thrum_write(io, text, (size_t)size), size);
        CHECK_EQ(thrum_read_full(io, back, (size_t)size, THRUM_FOREVER), size);
        CHECK_STR(text, back);
    }
    CHECK_EQ(thrum_io_close(io), 0);
    thrum_waitgroup_done(&s->left);
    return 0;
}

static int server_body(void *arg) {
    service s;
    thrum_handle *server;
    (void)arg;
    CHECK_EQ(thrum_listen(&s.listener, "tcp:127.0.0.1:0", NULL), 0);
    CHECK_EQ(thrum_io_local(s.listener, s.where, sizeof s.where), 0);
    thrum_waitgroup_init(&s.left, CALLERS);
    CHECK_EQ(thrum_spawn(&server, serve, &s), 0);
    for (int i = 0; i < CALLERS; i++) {
        CHECK_EQ(thrum_go(call, &s), 0);
    }
    CHECK_EQ(thrum_waitgroup_wait(&s.left), 0);
    CHECK_EQ(thrum_io_close(s.listener), 0);
    CHECK_EQ(thrum_join(server, NULL), 0);
    return 0;
}

TEST(a_server_answers_all) {
    /* Forty connections at a time, each with twenty calls. */
    rig_do(0, server_body, NULL);
}
