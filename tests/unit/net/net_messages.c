/*
 * net_messages.c: datagrams, alone and many at a call; descriptors that are passed.
 */
/* matrix: policy workers */
#include "support/io/nets.h"
#include "support/times.h"

/* ---- datagrams ---- */

static int udp_body(void *arg) {
    const char *host = arg ? arg : "udp:127.0.0.1:0";
    char where[THRUM_ADDRESS_TEXT], text[THRUM_ADDRESS_TEXT], got[100];
    thrum_address to, from;
    thrum_io a = listen_at(host, where);
    thrum_io b = listen_at(host, text);
    CHECK_EQ(thrum_address_parse(&to, where), 0);
    CHECK_EQ(thrum_send_to(b, "hello", 5, &to, THRUM_FOREVER), 5);
    CHECK_EQ(thrum_receive_from(a, got, sizeof got, &from, THRUM_FOREVER), 5);
    CHECK(memcmp(got, "hello", 5) == 0);
    CHECK_EQ(thrum_address_text(&from, got, sizeof got), 0);
    CHECK_STR(got, strchr(text, ':') + 1);
    CHECK_EQ(thrum_send_to(a, "", 0, &from, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_receive_from(b, got, sizeof got, NULL, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_send_to(a, "too long", 8, &from, THRUM_FOREVER), 8);
    memset(got, '-', sizeof got);
    CHECK(thrum_receive_from(b, got, 3, NULL, THRUM_FOREVER) > 3); /* it was cut */
    CHECK(memcmp(got, "too-", 4) == 0);
    CHECK_EQ(thrum_receive_from(b, got, 3, NULL, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_send_to(b, "x", 1, NULL, THRUM_FOREVER), -EDESTADDRREQ);
    CHECK_EQ(thrum_io_close(a), 0);
    CHECK_EQ(thrum_io_close(b), 0);
    return 0;
}

TEST(datagrams_come_with_their_address) {
    /* Empty ones, and ones that are cut, too; an answer goes back to where they came from. */
    both(udp_body);
    if (has_ipv6())
        CHECK_EQ(udp_body((void *)(uintptr_t) "udp:[::1]:0"), 0);
}

static int cut_body(void *arg) {
    char where[THRUM_ADDRESS_TEXT], got[100];
    thrum_io a = listen_at("udp:127.0.0.1:0", where);
    thrum_io b;
    (void)arg;
    CHECK_EQ(thrum_dial(&b, where, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_send_to(b, "too long", 8, NULL, THRUM_FOREVER), 8);
    CHECK_EQ(thrum_receive_from(a, got, 3, NULL, THRUM_FOREVER), 8);
    CHECK_EQ(thrum_io_close(a) | thrum_io_close(b), 0);
    return 0;
}

TEST(a_datagram_that_is_cut_tells_its_length) {
    /* How long it was before. */
    NOT_BY_POSIX("length of a message that was cut");
    both(cut_body);
}

static int connected_body(void *arg) {
    char where[THRUM_ADDRESS_TEXT], got[100];
    thrum_io server = listen_at("udp:127.0.0.1:0", where);
    thrum_io client;
    thrum_address from;
    (void)arg;
    CHECK_EQ(thrum_dial(&client, where, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_send_to(client, "ping", 4, NULL, THRUM_FOREVER), 4);
    CHECK_EQ(thrum_write(client, "pong", 4), 4); /* a write is a datagram, too */
    CHECK_EQ(thrum_receive_from(server, got, sizeof got, &from, THRUM_FOREVER), 4);
    CHECK_EQ(thrum_receive_from(server, got, sizeof got, &from, THRUM_FOREVER), 4);
    CHECK(memcmp(got, "pong", 4) == 0);
    CHECK_EQ(thrum_io_close(server) | thrum_io_close(client), 0);
    return 0;
}

TEST(a_dialed_datagram_socket_has_one_other_side) {
    /* It needs no address. */
    both(connected_body);
}

static int nobody_body(void *arg) {
    char own[THRUM_ADDRESS_TEXT], where[THRUM_ADDRESS_TEXT], got[100];
    thrum_io client;
    (void)arg;
    own_address(own, "udp");
    thrum_io server = listen_at(own, where);
    CHECK_EQ(thrum_dial(&client, where, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_io_close(server), 0);
    int64_t n = thrum_send_to(client, "!", 1, NULL, THRUM_FOREVER);
    CHECK(n == 1 || n == -ECONNREFUSED);
    CHECK_EQ(thrum_receive_from(client, got, sizeof got, NULL, far_off()), -ECONNREFUSED);
    CHECK_EQ(thrum_io_close(client), 0);
    return 0;
}

TEST(a_dialed_datagram_socket_hears_that_nobody_is_there) {
    /* As a code of a receive. */
    both(nobody_body);
}

static int unixgram_body(void *arg) {
    char address[200], where[THRUM_ADDRESS_TEXT], got[100];
    thrum_address from;
    thrum_io client;
    (void)arg;
    (void)unlink(socket_path());
    snprintf(address, sizeof address, "unixgram:%s", socket_path());
    thrum_io server = listen_at(address, where);
    CHECK_STR(where, address);
    CHECK_EQ(thrum_dial(&client, where, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_io_local(client, where, sizeof where), 0);
    CHECK(strncmp(where, "unixgram:@", 10) == 0);
    CHECK_EQ(thrum_send_to(client, "ping", 4, NULL, THRUM_FOREVER), 4);
    CHECK_EQ(thrum_receive_from(server, got, sizeof got, &from, THRUM_FOREVER), 4);
    CHECK_EQ(thrum_address_text(&from, got, sizeof got), 0);
    CHECK_STR(got, where + 9);
    CHECK_EQ(thrum_send_to(server, "pong", 4, &from, THRUM_FOREVER), 4);
    CHECK_EQ(thrum_receive_from(client, got, sizeof got, &from, THRUM_FOREVER), 4);
    CHECK_EQ(thrum_address_text(&from, got, sizeof got), 0);
    CHECK_STR(got, socket_path());
    CHECK_EQ(thrum_io_close(client), 0);
    CHECK_EQ(thrum_io_close(server), 0);
    return 0;
}

TEST(unix_datagrams_can_be_answered) {
    /* Who dials gets a name of its own. */
    both(unixgram_body);
    socket_path_end();
}

typedef struct flood {
    thrum_io server;
    thrum_io client;
    thrum_address to;
    atomic_int sent;
} flood;

enum { FLOOD = 100 };

static int send_flood(void *arg) {
    flood *f = ((actor *)arg)->arg;
    for (int i = 0; i < FLOOD; i++) {
        CHECK_EQ(thrum_send_to(f->client, &i, sizeof i, &f->to, THRUM_FOREVER), sizeof i);
        atomic_fetch_add(&f->sent, 1);
    }
    return 0;
}

static int take_flood(void *arg) {
    flood *f = ((actor *)arg)->arg;
    int number = 0;
    nap(); /* the queue is full by then, or not */
    for (int i = 0; i < FLOOD; i++) {
        CHECK_EQ(thrum_receive_from(f->server, &number, sizeof number, NULL, THRUM_FOREVER),
                 sizeof number);
        CHECK_EQ(number, i);
    }
    return 0;
}

TEST(a_full_unix_socket_is_waited_for) {
    /* Nothing is lost, in tasks and on plain threads, and the deadline holds. */
    char address[64], where[THRUM_ADDRESS_TEXT];
    rig r;
    flood f = {.sent = 0};
    rig_begin(&r, 0);
    snprintf(address, sizeof address, "unixgram:@thrum-test-%d", (int)getpid());
    f.server = listen_at(address, where);
    CHECK_EQ(thrum_address_parse(&f.to, where), 0);
    strcat(address, "-client");
    CHECK_EQ(thrum_listen(&f.client, address, NULL), 0);
    for (int kinds = 0; kinds < 4; kinds++) {
        cast *c = cast_new(&r);
        cast_add(c, kinds & 1, send_flood, &f);
        cast_add(c, kinds & 2, take_flood, &f);
        cast_join(c);
    }
    int64_t code = 1;
    while (code == 1)
        code = thrum_send_to(f.client, "", 1, &f.to, soon());
    CHECK_EQ(code, -ETIMEDOUT);
    CHECK_EQ(thrum_io_close(f.server), 0);
    CHECK_EQ(thrum_io_close(f.client), 0);
    rig_stop(&r);
}

enum { MANY = 40 };

static int many_body(void *arg) {
    char where[THRUM_ADDRESS_TEXT];
    char data[MANY][16];
    thrum_datagram out[MANY], in[MANY + 8];
    thrum_io a = listen_at("udp:127.0.0.1:0", where);
    thrum_io b = listen_at("udp:127.0.0.1:0", where);
    (void)arg;
    memset(out, 0, sizeof out);
    memset(in, 0, sizeof in);
    for (int i = 0; i < MANY; i++) {
        out[i].data = data[i];
        out[i].size = (size_t)snprintf(data[i], sizeof data[i], "number %d", i) + 1;
        CHECK_EQ(thrum_address_parse(&out[i].address, where), 0);
    }
    CHECK_EQ(thrum_send_many(a, out, MANY, THRUM_FOREVER), MANY);
    char room[MANY + 8][16];
    for (int i = 0; i < MANY + 8; i++) {
        in[i].data = room[i];
        in[i].size = sizeof room[i];
    }
    int got = 0;
    while (got < MANY) {
        int n = thrum_receive_many(b, in + got, (unsigned)(MANY + 8 - got), THRUM_FOREVER);
        CHECK(n > 0);
        got += n;
    }
    CHECK_EQ(got, MANY);
    for (int i = 0; i < MANY; i++) {
        CHECK_STR(room[i], data[i]);
        CHECK_EQ(in[i].length, strlen(data[i]) + 1);
        CHECK(thrum_address_text(&in[i].address, where, sizeof where) == 0 && where[0] == '1');
    }
    CHECK_EQ(thrum_receive_many(b, in, 1, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_receive_many(b, in, 0, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_send_many(a, out, 0, THRUM_FOREVER), 0);
    memset(&out[5].address, 0, sizeof out[5].address);
    CHECK_EQ(thrum_send_many(a, out, MANY, THRUM_FOREVER), 5);
    CHECK_EQ(thrum_send_many(a, out + 5, 1, THRUM_FOREVER), -EDESTADDRREQ);
    CHECK_EQ(thrum_io_close(a) | thrum_io_close(b), 0);
    return 0;
}

TEST(many_datagrams_at_a_call) {
    /* In order; an error in between leaves a count. */
    both(many_body);
}

static int packets_body(void *arg) {
    pair p;
    char address[64], got[8][8];
    thrum_datagram in[8];
    (void)arg;
    snprintf(address, sizeof address, "seqpacket:@thrum-test-%d", (int)getpid());
    pair_open(&p, address);
    CHECK_EQ(thrum_send_to(p.near, "one", 3, NULL, THRUM_FOREVER), 3);
    CHECK_EQ(thrum_send_to(p.near, "three", 5, NULL, THRUM_FOREVER), 5);
    CHECK_EQ(thrum_io_shutdown(p.near, THRUM_IO_WRITE), 0);
    memset(in, 0, sizeof in);
    for (int i = 0; i < 8; i++) {
        in[i].data = got[i];
        in[i].size = 8;
    }
    CHECK_EQ(thrum_receive_many(p.far, in, 8, THRUM_FOREVER), 3);
    CHECK_EQ(in[0].length, 3);
    CHECK_EQ(in[1].length, 5);
    CHECK_EQ(in[2].length, 0);
    CHECK_EQ(thrum_receive_from(p.far, got, 8, NULL, THRUM_FOREVER), 0);
    pair_close(&p);
    return 0;
}

/* In whichever call of the system the end comes, each of which takes 16. */
static int packets_before_the_end(void *arg) {
    char address[64], got[8];
    static thrum_datagram in[40];
    pair p;
    (void)arg;
    snprintf(address, sizeof address, "seqpacket:@thrum-test-%d", (int)getpid());
    for (int n = 1; n < 20; n++) {
        pair_open(&p, address);
        for (int i = 0; i < n; i++)
            CHECK_EQ(thrum_send_to(p.near, "one", 3, NULL, THRUM_FOREVER), 3);
        CHECK_EQ(thrum_io_shutdown(p.near, THRUM_IO_WRITE), 0);
        for (int i = 0; i < 40; i++)
            in[i] = (thrum_datagram){.data = got, .size = sizeof got};
        CHECK_EQ(thrum_receive_many(p.far, in, 40, THRUM_FOREVER), n + 1);
        pair_close(&p);
    }
    return 0;
}

TEST(packets_end_with_an_empty_one) {
    /* The end counts once, however many there is room for. */
    both(packets_body);
    both(packets_before_the_end);
}

static int cancelled_receive(void *arg) {
    char text[8];
    return (int)thrum_receive_from(*(thrum_io *)arg, text, 8, NULL, THRUM_FOREVER);
}

static int cancel_receive_body(void *arg) {
    char where[THRUM_ADDRESS_TEXT];
    thrum_handle *handle;
    int result = 0;
    (void)arg;
    thrum_io io = listen_at("udp:127.0.0.1:0", where);
    CHECK_EQ(thrum_spawn(&handle, cancelled_receive, &io), 0);
    thrum_yield();
    thrum_cancel(handle);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, -ECANCELED);
    CHECK_EQ(thrum_io_close(io), 0);
    return 0;
}

TEST(a_cancel_ends_a_receive) {
    /* With -ECANCELED. */
    rig_do(0, cancel_receive_body, NULL);
}

TEST(streams_have_no_datagrams) {
    /* And datagrams no bytes; a stale socket is -EBADF. */
    pair p;
    char text[8];
    thrum_datagram one = {.data = text, .size = 8};
    pair_open(&p, "tcp:127.0.0.1:0");
    CHECK_EQ(thrum_send_to(p.near, "x", 1, NULL, THRUM_FOREVER), -EOPNOTSUPP);
    CHECK_EQ(thrum_receive_from(p.near, text, 8, NULL, THRUM_FOREVER), -EOPNOTSUPP);
    CHECK_EQ(thrum_send_many(p.near, &one, 1, THRUM_FOREVER), -EOPNOTSUPP);
    CHECK_EQ(thrum_receive_many(p.near, &one, 1, THRUM_FOREVER), -EOPNOTSUPP);
    check_talks(p.near, p.far);
    pair_close(&p);
    CHECK_EQ(thrum_send_to(p.near, "x", 1, NULL, THRUM_FOREVER), -EBADF);
    CHECK_EQ(thrum_receive_many(p.near, &one, 1, THRUM_FOREVER), -EBADF);
}

/* ---- addresses as values ---- */

TEST(addresses_are_read_and_written) {
    /* What is written reads as the same. */
    static const char *const same[] = {"127.0.0.1:80", "[::1]:65535", "[fe80::1]:0", "/a/path",
                                       "./path",       "../x",        "@name"};
    static const char *const others[][2] = {
        {"tcp:127.0.0.1:80", "127.0.0.1:80"},
        {"udp:[0:0::1]:53", "[::1]:53"},
        {"unix:path", "./path"},
        {"seqpacket:@x", "@x"},
        {"[::ffff:1.2.3.4]:5", "1.2.3.4:5"},
    };
    static const char *const bad[] = {"",      "127.0.0.1",    "name:80", "tcp:name:80",
                                      ":80",   "tcp::80",      "path",    "@",
                                      "[::1]", "1.2.3.4:99999"};
    char text[THRUM_ADDRESS_TEXT];
    thrum_address address;
    for (unsigned i = 0; i < COUNT_OF(same); i++) {
        CHECK_EQ(thrum_address_parse(&address, same[i]), 0);
        CHECK_EQ(thrum_address_text(&address, text, sizeof text), 0);
        CHECK_STR(text, same[i]);
        CHECK_EQ(thrum_address_text(&address, text, strlen(same[i])), -ENOSPC);
    }
    for (unsigned i = 0; i < COUNT_OF(others); i++) {
        CHECK_EQ(thrum_address_parse(&address, others[i][0]), 0);
        CHECK_EQ(thrum_address_text(&address, text, sizeof text), 0);
        CHECK_STR(text, others[i][1]);
    }
    for (unsigned i = 0; i < COUNT_OF(bad); i++)
        CHECK_EQ(thrum_address_parse(&address, bad[i]), -EINVAL);
    CHECK_EQ(thrum_address_parse(NULL, "1.2.3.4:1"), -EINVAL);
    CHECK_EQ(thrum_address_parse(&address, NULL), -EINVAL);
    memset(&address, 0, sizeof address);
    CHECK_EQ(thrum_address_text(&address, text, sizeof text), 0);
    CHECK_STR(text, "");
    CHECK_EQ(thrum_address_parse(&address, "[fe80::1%1000]:7"), 0);
    CHECK_EQ(thrum_address_text(&address, text, sizeof text), 0);
    CHECK_STR(text, "[fe80::1%1000]:7");
}

TEST(addresses_have_the_names_of_interfaces) {
    /* Where they have one. */
    char text[THRUM_ADDRESS_TEXT];
    thrum_address address;
    CHECK_EQ(thrum_address_parse(&address, "[fe80::1%lo]:7"), 0);
    CHECK_EQ(thrum_address_text(&address, text, sizeof text), 0);
    CHECK_STR(text, "[fe80::1%lo]:7");
}

/* ---- descriptors ---- */

static int pass_body(void *arg) {
    static const char *const kinds[] = {"unix", "seqpacket"};
    (void)arg;
    for (unsigned k = 0; k < 2; k++) {
        pair p;
        char address[64], text[16] = "";
        int fds[4], ends[2], got[8];
        unsigned n = 8;
        snprintf(address, sizeof address, "%s:@thrum-test-%d", kinds[k], (int)getpid());
        pair_open(&p, address);
        CHECK_EQ(pipe(ends), 0);
        fds[0] = fds[1] = ends[1];
        CHECK_EQ(thrum_send_fds(p.near, "two", 3, fds, 2, THRUM_FOREVER), 3);
        CHECK_EQ(thrum_send_fds(p.near, "none", 4, NULL, 0, THRUM_FOREVER), 4);
        CHECK_EQ(thrum_receive_fds(p.far, text, 3, got, &n, THRUM_FOREVER), 3);
        CHECK_EQ(n, 2);
        for (int i = 0; i < 2; i++) {
            CHECK_EQ(fcntl(got[i], F_GETFD), FD_CLOEXEC);
            CHECK_EQ(write(got[i], "x", 1), 1);
            CHECK_EQ(read(ends[0], text, 1), 1);
            close(got[i]);
        }
        n = 8;
        CHECK_EQ(thrum_receive_fds(p.far, text, sizeof text, got, &n, THRUM_FOREVER), 4);
        CHECK_EQ(n, 0);
        n = 8;
        CHECK_EQ(thrum_receive_fds(p.far, text, 8, got, &n, soon()), -ETIMEDOUT);
        CHECK_EQ(n, 0);
        fds[1] = -1;
        CHECK_EQ(thrum_send_fds(p.near, "bad", 3, fds, 2, THRUM_FOREVER), -EBADF);
        CHECK_EQ(thrum_send_fds(p.near, "", 0, fds, 1, THRUM_FOREVER), -EINVAL);
        CHECK_EQ(thrum_send_fds(p.near, "x", 1, fds, THRUM_FDS_MAX + 1, THRUM_FOREVER), -EINVAL);
        CHECK_EQ(thrum_io_shutdown(p.near, THRUM_IO_WRITE), 0);
        n = 8;
        CHECK_EQ(thrum_receive_fds(p.far, text, 8, got, &n, THRUM_FOREVER), 0);
        close(ends[0]);
        close(ends[1]);
        pair_close(&p);
    }
    return 0;
}

TEST(descriptors_are_passed) {
    /* They are closed on exec, and name what was sent; bytes come without any, too. */
    both(pass_body);
}

TEST(descriptors_without_room_are_closed) {
    /* However few there is room for; and where the process may have no more. */
    pair p;
    char address[64], text[16];
    int fds[5], got[5];
    snprintf(address, sizeof address, "unix:@thrum-test-%d", (int)getpid());
    pair_open(&p, address);
    for (int i = 0; i < 5; i++)
        fds[i] = 1;
    const int before = descriptors();
    for (unsigned room = 0; room < 5; room++) {
        unsigned n = room;
        CHECK_EQ(thrum_send_fds(p.near, "five", 4, fds, 5, THRUM_FOREVER), 4);
        CHECK_EQ(thrum_receive_fds(p.far, text, 16, got, &n, THRUM_FOREVER), -EMSGSIZE);
        CHECK_EQ(n, 0);
        CHECK_EQ(descriptors(), before);
    }
    unsigned n = 5;
    struct rlimit limit, few;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = limit;
    int next = dup(1);
    close(next);
    few.rlim_cur = (rlim_t)next + 2;
    CHECK_EQ(thrum_send_fds(p.near, "five", 4, fds, 5, THRUM_FOREVER), 4);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    CHECK_EQ(thrum_receive_fds(p.far, text, 16, got, &n, THRUM_FOREVER), -EMSGSIZE);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    CHECK_EQ(n, 0);
    CHECK_EQ(descriptors(), before);
    pair_close(&p);
    pair_open(&p, "tcp:127.0.0.1:0");
    n = 5;
    CHECK_EQ(thrum_send_fds(p.near, "x", 1, fds, 1, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_receive_fds(p.near, text, 1, got, &n, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_receive_fds(p.near, text, 0, got, &n, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_receive_fds(p.near, text, 1, got, NULL, THRUM_FOREVER), -EINVAL);
    pair_close(&p);
}

TEST(descriptors_come_beside_who_sends_them) {
    /* A socket that is told who sends (SO_PASSCRED) has as much room for descriptors. */
    pair p;
    char address[64], text[16];
    const int one = 1;
    int got[2];
    snprintf(address, sizeof address, "unix:@thrum-test-%d", (int)getpid());
    pair_open(&p, address);
    const int far = thrum_io_fd(p.far);
    CHECK_EQ(setsockopt(far, SOL_SOCKET, SO_PASSCRED, &one, sizeof one), 0);
    for (unsigned sent = 0; sent < 3; sent++) {
        const int fds[] = {1, 1};
        unsigned n = sent;
        CHECK_EQ(thrum_send_fds(p.near, "word", 4, fds, sent, THRUM_FOREVER), 4);
        CHECK_EQ(thrum_receive_fds(p.far, text, 16, got, &n, THRUM_FOREVER), 4);
        CHECK_EQ(n, sent);
        for (unsigned i = 0; i < n; i++)
            close(got[i]);
    }
    pair_close(&p);
}

enum { LARGE = 1 << 20 };

static int pass_much(void *arg) {
    flood *f = ((actor *)arg)->arg;
    static char data[LARGE];
    int fd = 1;
    CHECK_EQ(thrum_send_fds(f->client, data, LARGE, &fd, 1, THRUM_FOREVER), LARGE);
    return 0;
}

static int take_much(void *arg) {
    flood *f = ((actor *)arg)->arg;
    char *data = malloc(LARGE);
    int fd;
    unsigned n = 1;
    int64_t got = thrum_receive_fds(f->server, data, LARGE, &fd, &n, THRUM_FOREVER);
    CHECK(got > 0);
    CHECK_EQ(n, 1);
    close(fd);
    CHECK_EQ(thrum_read_full(f->server, data, LARGE - (size_t)got, THRUM_FOREVER), LARGE - got);
    free(data);
    return 0;
}

TEST(descriptors_go_with_the_first_of_many_bytes) {
    /* More than the system takes at once, between tasks and plain threads. */
    pair p;
    char address[64];
    rig r;
    rig_begin(&r, 0);
    snprintf(address, sizeof address, "unix:@thrum-test-%d", (int)getpid());
    pair_open(&p, address);
    flood f = {.server = p.far, .client = p.near};
    for (int kinds = 0; kinds < 4; kinds++) {
        cast *c = cast_new(&r);
        cast_add(c, kinds & 1, pass_much, &f);
        cast_add(c, kinds & 2, take_much, &f);
        cast_join(c);
    }
    pair_close(&p);
    rig_stop(&r);
}

TEST(an_error_that_a_copy_has_seen_is_not_taken_for_the_end_of_descriptors) {
    /* The other side ends with bytes unread, which the system tells once, behind what it wrote. */
    int ends[2], sink[2], fd;
    char text[4];
    unsigned n = 1;
    thrum_io from, to;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) | socketpair(AF_UNIX, SOCK_STREAM, 0, sink),
             0);
    CHECK_EQ(thrum_io_adopt(&from, ends[0]) | thrum_io_adopt(&to, sink[0]), 0);
    CHECK_EQ(thrum_write(from, "unread", 6), 6);
    CHECK_EQ(write(ends[1], "abc", 3), 3);
    CHECK_EQ(thrum_copy(from, to, 3, THRUM_FOREVER), 3);
    CHECK_EQ(write(ends[1], "d", 1), 1);
    CHECK_EQ(close(ends[1]), 0);
    CHECK_EQ(thrum_copy(from, to, UINT64_MAX, THRUM_FOREVER), 1);
    CHECK_EQ(thrum_receive_fds(from, text, 4, &fd, &n, THRUM_FOREVER), -ECONNRESET);
    CHECK_EQ(n, 0);
    CHECK_EQ(thrum_io_close(from) | thrum_io_close(to) | close(sink[1]), 0);
}
