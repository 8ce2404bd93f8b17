/*
 * net.c: listening, accepting, dialing; addresses as text.
 */
/* matrix: policy workers */
#include "support/io/nets.h"

#include <sys/stat.h>

/* ---- a connection ---- */

static int tcp_body(void *arg) {
    pair p;
    char near_local[THRUM_ADDRESS_TEXT], far_peer[THRUM_ADDRESS_TEXT], text[THRUM_ADDRESS_TEXT];
    int on = 0;
    socklen_t size = sizeof on;
    (void)arg;
    pair_open(&p, "tcp:127.0.0.1:0");
    CHECK(strncmp(p.where, "tcp:127.0.0.1:", 14) == 0 && atoi(p.where + 14) > 0);
    check_talks(p.near, p.far);
    CHECK_EQ(thrum_io_local(p.near, near_local, sizeof near_local), 0);
    CHECK_EQ(thrum_io_peer(p.far, far_peer, sizeof far_peer), 0);
    CHECK_STR(near_local, far_peer);
    CHECK_EQ(thrum_io_peer(p.near, text, sizeof text), 0);
    CHECK_STR(text, p.where);
    CHECK_EQ(thrum_io_peer(p.listener, text, sizeof text), -ENOTCONN);
    CHECK_EQ(fcntl(thrum_io_fd(p.far), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    CHECK_EQ(fcntl(thrum_io_fd(p.near), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    CHECK_EQ(getsockopt(thrum_io_fd(p.far), IPPROTO_TCP, TCP_NODELAY, &on, &size), 0);
    CHECK(on);
    CHECK_EQ(getsockopt(thrum_io_fd(p.near), IPPROTO_TCP, TCP_NODELAY, &on, &size), 0);
    CHECK(on);
    pair_close(&p);
    return 0;
}

TEST(tcp_connects_both_sides) {
    /* What is dialed is accepted; both sides have each other's address, and do not delay writes. */
    both(tcp_body);
}

static int ipv6_body(void *arg) {
    pair p;
    char text[THRUM_ADDRESS_TEXT];
    (void)arg;
    pair_open(&p, "tcp:[::1]:0");
    CHECK(strncmp(p.where, "tcp:[::1]:", 10) == 0);
    check_talks(p.near, p.far);
    CHECK_EQ(thrum_io_peer(p.far, text, sizeof text), 0);
    CHECK(strncmp(text, "tcp:[::1]:", 10) == 0);
    pair_close(&p);
    return 0;
}

TEST(ipv6_connects_both_sides) {
    /* The same with IPv6. */
    if (!has_ipv6()) {
        CHECK_SKIP("no IPv6 here");
    }
    both(ipv6_body);
}

static int any_body(void *arg) {
    char where[THRUM_ADDRESS_TEXT], to[THRUM_ADDRESS_TEXT], text[THRUM_ADDRESS_TEXT];
    (void)arg;
    thrum_io listener = listen_at("tcp::0", where);
    for (int i = 0; i < 1 + has_ipv6(); i++) {
        thrum_io near, far;
        snprintf(to, sizeof to, "tcp:%s%s", i ? "[::1]" : "127.0.0.1", strrchr(where, ':'));
        CHECK_EQ(thrum_dial(&near, to, THRUM_FOREVER), 0);
        CHECK_EQ(thrum_accept(listener, &far), 0);
        CHECK_EQ(thrum_io_local(far, text, sizeof text), 0);
        CHECK_STR(text, to); /* IPv4 as such */
        CHECK_EQ(thrum_io_close(near), 0);
        CHECK_EQ(thrum_io_close(far), 0);
    }
    CHECK_EQ(thrum_io_close(listener), 0);
    return 0;
}

TEST(no_host_listens_at_all_addresses) {
    /* IPv4 and IPv6 by one listener. */
    both(any_body);
}

static int unix_body(void *arg) {
    pair p;
    char address[200], text[THRUM_ADDRESS_TEXT];
    (void)arg;
    snprintf(address, sizeof address, "unix:%s", socket_path());
    (void)unlink(socket_path());
    pair_open(&p, address);
    CHECK_STR(p.where, address);
    check_talks(p.near, p.far);
    CHECK_EQ(thrum_io_peer(p.near, text, sizeof text), 0);
    CHECK_STR(text, address);
    CHECK_EQ(thrum_io_peer(p.far, text, sizeof text), 0);
    CHECK_STR(text, "unix:");
    pair_close(&p);
    snprintf(address, sizeof address, "seqpacket:@thrum-test-%d", (int)getpid());
    pair_open(&p, address);
    CHECK_STR(p.where, address);
    CHECK_EQ(thrum_write(p.near, "message", 7), 7);
    CHECK_EQ(thrum_read(p.far, text, sizeof text), -EOPNOTSUPP);
    pair_close(&p);
    snprintf(address, sizeof address, "unix:@thrum-test-%d", (int)getpid());
    pair_open(&p, address);
    CHECK_STR(p.where, address);
    check_talks(p.near, p.far);
    pair_close(&p);
    return 0;
}

TEST(unix_connects_both_sides) {
    /* By a path and by a name that is no file, bytes and messages. */
    both(unix_body);
    socket_path_end();
}

/* ---- addresses ---- */

TEST(addresses_without_sense_are_refused) {
    /* By both calls, with nothing made. */
    static const char *const bad[] = {
        "",
        "tcp",
        "tcp:",
        "tcp:1",
        "tcp:127.0.0.1",
        "tcp:127.0.0.1:",
        "tcp:127.0.0.1:65536",
        "tcp:127.0.0.1:-1",
        "tcp:127.0.0.1:8o",
        "tcp:127.0.0.1: 80",
        "tcp:[127.0.0.1]:80",
        "tcp:[::1]80",
        "tcp:::1:80",
        "tcp:[::1:80",
        "tcp:[]:80",
        "tcp:[name]:80",
        "tcp:a/b:80",
        "tcp:a@b:80",
        "udp:",
        "udp:[::1]",
        "unix:",
        "unix:@",
        "unixgram:",
        "seqpacket:",
        "http://127.0.0.1:80",
        "TCP:127.0.0.1:80",
        "127.0.0.1:80",
        "tcp:[::1%]:80",
        "tcp:[::1%no-such-interface]:80",
    };
    thrum_io io = {7, 7};
    const int before = open_count();
    for (unsigned i = 0; i < COUNT_OF(bad); i++) {
        CHECK_EQ(thrum_listen(&io, bad[i], NULL), -EINVAL);
        CHECK_EQ(thrum_dial(&io, bad[i], THRUM_FOREVER), -EINVAL);
    }
    CHECK_EQ(thrum_dial(&io, "tcp::80", THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_listen(NULL, "tcp::0", NULL), -EINVAL);
    CHECK_EQ(thrum_listen(&io, NULL, NULL), -EINVAL);
    CHECK_EQ(thrum_dial(NULL, "tcp:127.0.0.1:1", THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_dial(&io, NULL, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_accept(io, NULL), -EINVAL);
    CHECK_EQ(io.fd, 7);
    CHECK_EQ(open_count(), before);
}

TEST(long_addresses) {
    /* The longest path works; a longer one, and a longer name of a host, are -ENAMETOOLONG. */
    char address[400], text[THRUM_ADDRESS_TEXT];
    thrum_io io;
    memset(address, 'x', sizeof address);
    int length = snprintf(address, sizeof address, "unix:@%d", (int)getpid()); /* its own */
    address[length] = 'x';
    address[6 + 107] = 0;
    CHECK_EQ(thrum_listen(&io, address, NULL), 0);
    CHECK_EQ(thrum_io_local(io, text, sizeof text), 0);
    CHECK_STR(text, address);
    CHECK_EQ(thrum_io_local(io, text, strlen(address)), -ENOSPC);
    CHECK_EQ(thrum_io_local(io, text, strlen(address) + 1), 0);
    CHECK_EQ(thrum_io_local(io, text, 3), -ENOSPC);
    CHECK_EQ(thrum_io_close(io), 0);
    address[6 + 107] = 'x';
    address[6 + 108] = 0;
    CHECK_EQ(thrum_listen(&io, address, NULL), -ENAMETOOLONG);
    CHECK_EQ(thrum_dial(&io, address, THRUM_FOREVER), -ENAMETOOLONG);
    memset(address, 'x', sizeof address);
    memcpy(address, "tcp:", 4);
    strcpy(address + 300, ":80");
    CHECK_EQ(thrum_dial(&io, address, THRUM_FOREVER), -ENAMETOOLONG);
}

TEST(paths_are_written_so_that_they_can_be_read) {
    /* A relative path begins with a dot in what thrum_io_local writes. */
    char text[THRUM_ADDRESS_TEXT];
    thrum_io io;
    char folder[] = "/tmp/thrum-net-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    CHECK_EQ(chdir(folder), 0);
    CHECK_EQ(thrum_listen(&io, "unix:here", NULL), 0);
    CHECK_EQ(thrum_io_local(io, text, sizeof text), 0);
    CHECK_STR(text, "unix:./here");
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_dial(&io, text, THRUM_FOREVER), -ECONNREFUSED);
    CHECK_EQ(unlink("here"), 0);
    CHECK_EQ(rmdir(folder), 0);
}

TEST(paths_that_fill_the_system_s_address) {
    /* The system counts a zero behind them that has no room there; it is not looked for. */
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    char folder[] = "/tmp/thrum-net-XXXXXX";
    char text[THRUM_ADDRESS_TEXT];
    CHECK(mkdtemp(folder) != NULL);
    CHECK_EQ(chdir(folder), 0);
    memset(un.sun_path, 'x', sizeof un.sun_path);
    for (unsigned i = 0; i < 2; i++) {
        thrum_io io;
        const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        CHECK_EQ(bind(fd, (struct sockaddr *)&un, sizeof un), 0);
        CHECK_EQ(thrum_io_adopt(&io, fd), 0);
        CHECK_EQ(thrum_io_local(io, text, sizeof text), 0);
        CHECK_EQ(strlen(text), strlen("unix:./") * !i + strlen("unix:") * i + sizeof un.sun_path);
        CHECK_EQ(text[strlen(text) - 1], 'x');
        CHECK_EQ(thrum_io_close(io), 0);
        un.sun_path[0] = '\0'; /* then one that is no file */
    }
    memset(text, 'x', sizeof un.sun_path);
    text[sizeof un.sun_path] = '\0';
    CHECK_EQ(unlink(text), 0);
    CHECK_EQ(chdir("/"), 0);
    CHECK_EQ(rmdir(folder), 0);
}

TEST(only_sockets_have_addresses) {
    /* All else has none; a stale name is -EBADF. */
    char text[THRUM_ADDRESS_TEXT];
    thrum_io other;
    const thrum_io io = no_socket();
    CHECK_EQ(thrum_io_local(io, text, sizeof text), -ENOTSOCK);
    CHECK_EQ(thrum_io_peer(io, text, sizeof text), -ENOTSOCK);
    CHECK_EQ(thrum_accept(io, &other), -ENOTSOCK);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_io_local(io, text, sizeof text), -EBADF);
    CHECK_EQ(thrum_accept(io, &other), -EBADF);
    CHECK_EQ(thrum_io_local((thrum_io){0, 0}, text, sizeof text), -EBADF);
}

/* ---- listening ---- */

/* What the system says of an address that is another machine's: it may be set to take any. */
static int code_of_foreign_address(void) {
    const struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0xcb007101)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const int code = bind(fd, (const void *)&at, sizeof at) < 0 ? -errno : 0;
    close(fd);
    return code;
}

static int errors_body(void *arg) {
    char own[THRUM_ADDRESS_TEXT], where[THRUM_ADDRESS_TEXT];
    thrum_io listener, io;
    (void)arg;
    own_address(own, "tcp");
    listener = listen_at(own, where);
    CHECK_EQ(thrum_listen(&io, where, NULL), -EADDRINUSE);
    const int code = code_of_foreign_address();
    CHECK(code == -EADDRNOTAVAIL || code == 0);
    CHECK_EQ(thrum_listen(&io, "tcp:203.0.113.1:0", NULL), code);
    CHECK(code != 0 || thrum_io_close(io) == 0);
    CHECK_EQ(thrum_io_close(listener), 0);
    CHECK_EQ(thrum_dial(&io, where, THRUM_FOREVER), -ECONNREFUSED);
    CHECK_EQ(thrum_listen(&listener, where, NULL), 0); /* at once */
    CHECK_EQ(thrum_io_close(listener), 0);
    return 0;
}

static void check_errors(thrum_fn body) {
    both(body);
    const int before = open_count();
    CHECK_EQ(body(NULL), 0);
    CHECK_EQ(open_count(), before);
}

TEST(errors_of_the_system_come_back) {
    /* As codes, with nothing open afterwards. */
    check_errors(errors_body);
}

static int path_errors_body(void *arg) {
    thrum_io io;
    (void)arg;
    CHECK_EQ(thrum_listen(&io, "unix:/no/such/folder/socket", NULL), -ENOENT);
    CHECK_EQ(thrum_dial(&io, "unix:/no/such/folder/socket", THRUM_FOREVER), -ENOENT);
    return 0;
}

TEST(errors_about_a_path_come_back) {
    /* Likewise. */
    check_errors(path_errors_body);
}

/* `shared`: THRUM_LISTEN_SHARED, or 0: then the address is free when the first is closed. */
static void check_listen_options(unsigned shared) {
    thrum_listen_options options = THRUM_LISTEN_OPTIONS_INIT;
    char own[THRUM_ADDRESS_TEXT], where[THRUM_ADDRESS_TEXT];
    thrum_io a, b, near;
    int value = 0;
    socklen_t size = sizeof value;
    options.flags = shared | THRUM_LISTEN_DELAY;
    options.backlog = 3;
    options.receive_buffer = 20000;
    options.send_buffer = 30000;
    options.keepalive = THRUM_S(40);
    own_address(own, "tcp");
    CHECK_EQ(thrum_listen(&a, own, &options), 0);
    CHECK_EQ(thrum_io_local(a, where, sizeof where), 0);
    CHECK_EQ(thrum_listen(&b, where, NULL), -EADDRINUSE);
    CHECK_EQ(thrum_listen(&b, where, &options), shared ? 0 : -EADDRINUSE);
    CHECK_EQ(thrum_io_close(a), 0);
    CHECK_EQ(shared ? 0 : thrum_listen(&b, where, &options), 0);
    CHECK_EQ(thrum_dial(&near, where, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_accept(b, &a), 0);
    CHECK_EQ(getsockopt(thrum_io_fd(a), IPPROTO_TCP, TCP_NODELAY, &value, &size), 0);
    CHECK_EQ(value, 0);
    CHECK_EQ(getsockopt(thrum_io_fd(a), SOL_SOCKET, SO_KEEPALIVE, &value, &size), 0);
    CHECK_EQ(value, 1);
    CHECK_EQ(getsockopt(thrum_io_fd(a), IPPROTO_TCP, TCP_KEEPIDLE, &value, &size), 0);
    CHECK_EQ(value, 40);
    CHECK_EQ(getsockopt(thrum_io_fd(a), SOL_SOCKET, SO_RCVBUF, &value, &size), 0);
    CHECK_EQ(value, 20000 * BUFFER_TOLD);
    CHECK_EQ(getsockopt(thrum_io_fd(a), SOL_SOCKET, SO_SNDBUF, &value, &size), 0);
    CHECK_EQ(value, 30000 * BUFFER_TOLD);
    CHECK_EQ(thrum_io_close(a), 0);
    CHECK_EQ(thrum_io_close(b), 0);
    CHECK_EQ(thrum_io_close(near), 0);
}

TEST(listeners_share_an_address) {
    /* If all of them say so; with the other options. */
    NOT_BY_POSIX("SO_REUSEPORT");
    check_listen_options(THRUM_LISTEN_SHARED);
}

TEST(listen_options) {
    /* Each is looked for in the socket. */
    check_listen_options(0);
}

TEST(listen_options_without_sense_are_refused) {
    /* Flags that are none, a size that is none, a time before now. */
    thrum_listen_options options = THRUM_LISTEN_OPTIONS_INIT;
    thrum_io a;
    options.flags = 1u << 20;
    CHECK_EQ(thrum_listen(&a, "tcp:127.0.0.1:0", &options), -EINVAL);
    options.flags = 0;
    options.size--;
    CHECK_EQ(thrum_listen(&a, "tcp:127.0.0.1:0", &options), -EINVAL);
    options.size++;
    options.keepalive = -1;
    CHECK_EQ(thrum_listen(&a, "tcp:127.0.0.1:0", &options), -EINVAL);
}

TEST(sizes_of_buffers_without_end) {
    /* Each is as large as the system allows, and none wraps around to the least. */
    const size_t sizes[] = {INT32_MAX, SIZE_MAX, (size_t)1 << (sizeof(size_t) * 8 - 1)};
    int64_t most[2] = {0, 0};
    for (unsigned i = 0; i < COUNT_OF(sizes); i++) {
        thrum_listen_options options = THRUM_LISTEN_OPTIONS_INIT;
        int64_t got[2] = {0, 0};
        thrum_io io;
        options.receive_buffer = options.send_buffer = sizes[i];
        CHECK_EQ(thrum_listen(&io, "tcp:127.0.0.1:0", &options), 0);
        CHECK_EQ(thrum_io_get_option(io, THRUM_IO_RECEIVE_BUFFER, &got[0]), 0);
        CHECK_EQ(thrum_io_get_option(io, THRUM_IO_SEND_BUFFER, &got[1]), 0);
        CHECK_EQ(thrum_io_close(io), 0);
        for (unsigned k = 0; k < 2; k++) {
            most[k] = i ? most[k] : got[k];
            CHECK_EQ(got[k], most[k]);
        }
    }
}

TEST(ipv6_alone) {
    /* With the flag an IPv4 listener may have the same port beside it. */
    thrum_listen_options options = THRUM_LISTEN_OPTIONS_INIT;
    char where[THRUM_ADDRESS_TEXT], text[THRUM_ADDRESS_TEXT];
    thrum_io six, four;
    if (!has_ipv6()) {
        CHECK_SKIP("no IPv6 here");
    }
    options.flags = THRUM_LISTEN_IPV6_ONLY;
    int code = -EADDRINUSE; /* another program may have the port */
    for (int i = 0; i < 1000 && code; i++) {
        CHECK_EQ(thrum_listen(&six, "tcp:[::]:0", &options), 0);
        CHECK_EQ(thrum_io_local(six, where, sizeof where), 0);
        snprintf(text, sizeof text, "tcp:127.0.0.1%s", strrchr(where, ':'));
        code = thrum_listen(&four, text, NULL);
        if (code == 0) {
            CHECK_EQ(thrum_io_close(four), 0);
        }
        CHECK_EQ(thrum_io_close(six), 0);
    }
    CHECK_EQ(code, 0);
}

TEST(unix_file_is_replaced_when_asked) {
    /* One that nobody listens in is; one that is used, and what is no socket, never. */
    thrum_listen_options options = THRUM_LISTEN_OPTIONS_INIT;
    char address[200];
    struct stat status;
    thrum_io a, b;
    snprintf(address, sizeof address, "unix:%s", socket_path());
    options.mode = 0666;
    umask(077);
    CHECK_EQ(thrum_listen(&a, address, &options), 0);
    CHECK_EQ(stat(socket_path(), &status), 0);
    CHECK_EQ(status.st_mode & 0777, 0666);
    options.flags = THRUM_LISTEN_REPLACE;
    options.mode = 0600;
    CHECK_EQ(thrum_listen(&b, address, &options), -EADDRINUSE);
    CHECK_EQ(thrum_io_close(a), 0);
    CHECK_EQ(thrum_listen(&b, address, NULL), -EADDRINUSE);
    CHECK_EQ(thrum_listen(&b, address, &options), 0);
    CHECK_EQ(stat(socket_path(), &status), 0);
    CHECK_EQ(status.st_mode & 0777, 0600);
    CHECK_EQ(thrum_io_close(b), 0);
    CHECK_EQ(unlink(socket_path()), 0);
    int file = open(socket_path(), O_CREAT | O_WRONLY, 0600);
    CHECK(file >= 0);
    close(file);
    CHECK_EQ(thrum_listen(&b, address, &options), -EADDRINUSE);
    options.mode = 01777;
    CHECK_EQ(thrum_listen(&b, address, &options), -EINVAL);
    socket_path_end();
}
