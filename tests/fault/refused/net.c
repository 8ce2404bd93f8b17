/*
 * net.c: sockets for which the system has no descriptor, no memory, or no thread: an error comes
 * back, nothing stays open, and the next call works.
 */
/* matrix: policy workers */
#include "support/io/nets.h"
#include "support/times.h"

#include "net/resolver.h"
#include "platform/faults.h"

#include <sys/resource.h>

/* ---- connections ---- */

TEST(no_memory_for_the_first_record) {
    /* A call that would make the table of records fails, and closes what it has opened. */
    thrum_io io;
    char where[THRUM_ADDRESS_TEXT];
    const int before = open_count();
    th_os_fail(TH_OS_FAULT_MAP, 0, 1);
    CHECK_EQ(thrum_listen(&io, "tcp:127.0.0.1:0", NULL), -ENOMEM);
    CHECK_EQ(open_count(), before);
    io = listen_at("tcp:127.0.0.1:0", where);
    CHECK_EQ(thrum_io_close(io), 0);
}

static int listen_body(void *arg) {
    static const struct {
        th_os_fault fault;
        int code;
    } faults[] = {{TH_OS_FAULT_SOCKET, -EMFILE}, {TH_OS_FAULT_BIND, -ENOMEM}};
    char where[THRUM_ADDRESS_TEXT];
    thrum_io io;
    (void)arg;
    const int before = open_count();
    for (unsigned i = 0; i < 2; i++) {
        th_os_fail(faults[i].fault, 0, 1);
        CHECK_EQ(thrum_listen(&io, "tcp:127.0.0.1:0", NULL), faults[i].code);
        CHECK_EQ(open_count(), before);
        io = listen_at("tcp:127.0.0.1:0", where);
        CHECK_EQ(thrum_io_close(io), 0);
    }
    return 0;
}

TEST(listen_without_a_descriptor_or_memory) {
    /* The first thing that is refused ends it. */
    both(listen_body);
}

TEST(an_interface_is_named_without_a_descriptor) {
    /* The lack is told: an address that makes no sense is another thing. */
    struct rlimit before;
    thrum_address address;
    thrum_io io;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit none = {0, before.rlim_max};
    if (thrum_address_parse(&address, "[::1%lo]:80")) {
        CHECK_SKIP("no IPv6 here, or no interface of this name");
    }
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    const int parsed = thrum_address_parse(&address, "[::1%lo]:80");
    const int listened = thrum_listen(&io, "tcp:[::1%lo]:0", NULL);
    const int odd = thrum_address_parse(&address, "[::1%]:80");
    const int number = thrum_address_parse(&address, "[::1%1]:80");
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    CHECK_EQ(parsed, -EMFILE);
    CHECK_EQ(listened, -EMFILE);
    CHECK_EQ(odd, -EINVAL);
    CHECK_EQ(number, 0);
}

static int accept_body(void *arg) {
    char where[THRUM_ADDRESS_TEXT];
    thrum_io near, far;
    (void)arg;
    thrum_io listener = listen_at("tcp:127.0.0.1:0", where);
    CHECK_EQ(thrum_dial(&near, where, THRUM_FOREVER), 0);
    th_os_fail(TH_OS_FAULT_ACCEPT, 0, 2);
    CHECK_EQ(thrum_accept(listener, &far), -EMFILE);
    CHECK_EQ(thrum_accept_until(listener, &far, far_off()), -EMFILE);
    CHECK_EQ(thrum_accept(listener, &far), 0); /* it is still there */
    check_talks(near, far);
    CHECK_EQ(thrum_io_close(near), 0);
    CHECK_EQ(thrum_io_close(far), 0);
    CHECK_EQ(thrum_dial(&near, where, THRUM_FOREVER), 0);
    th_os_fail(TH_OS_FAULT_ABORTED, 0, 3);
    CHECK_EQ(thrum_accept(listener, &far), 0); /* three others ended before they were taken */
    CHECK_EQ(th_os_fails_left(TH_OS_FAULT_ABORTED), 0);
    check_talks(near, far);
    CHECK_EQ(thrum_io_close(near), 0);
    CHECK_EQ(thrum_io_close(far), 0);
    th_os_fail(TH_OS_FAULT_ABORTED, 0, 1);
    CHECK_EQ(thrum_accept_until(listener, &far, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_io_close(listener), 0);
    return 0;
}

TEST(accept_without_a_descriptor) {
    /* -EMFILE leaves the connection where it is; one that ended before is not told. */
    both(accept_body);
}

static int dial_body(void *arg) {
    char where[THRUM_ADDRESS_TEXT];
    thrum_io near, far;
    (void)arg;
    thrum_io listener = listen_at("tcp:127.0.0.1:0", where);
    const int before = open_count();
    th_os_fail(TH_OS_FAULT_SOCKET, 0, 1);
    CHECK_EQ(thrum_dial(&near, where, THRUM_FOREVER), -EMFILE);
    th_os_fail(TH_OS_FAULT_CONNECT, 0, 1);
    CHECK_EQ(thrum_dial(&near, where, THRUM_FOREVER), -ENOBUFS);
    th_os_fail(TH_OS_FAULT_ALLOC, 0, 1);
    CHECK_EQ(thrum_dial(&near, where, THRUM_FOREVER), -ENOMEM);
    CHECK_EQ(open_count(), before);
    CHECK_EQ(thrum_dial(&near, where, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_accept(listener, &far), 0);
    check_talks(near, far);
    CHECK_EQ(thrum_io_close(near), 0);
    CHECK_EQ(thrum_io_close(far), 0);
    CHECK_EQ(thrum_io_close(listener), 0);
    return 0;
}

TEST(dial_without_a_descriptor_or_memory) {
    /* Nothing stays open. */
    both(dial_body);
}

static int dial_many_times(void *arg) {
    char where[THRUM_ADDRESS_TEXT];
    bool refused = true;
    (void)arg;
    thrum_io listener = listen_at("tcp:localhost:0", where);
    for (uint32_t n = 0; refused; n++) {
        thrum_io near, far;
        const int before = open_count();
        char to[THRUM_ADDRESS_TEXT];
        snprintf(to, sizeof to, "tcp:localhost%s", strrchr(where, ':'));
        th_os_fail(TH_OS_FAULT_ALLOC, n, 1);
        int code = thrum_dial(&near, to, THRUM_FOREVER);
        refused = th_os_fails_left(TH_OS_FAULT_ALLOC) == 0;
        th_os_fail(TH_OS_FAULT_ALLOC, 0, 0);
        CHECK(code == 0 || (code == -ENOMEM && refused));
        if (code == 0) {
            CHECK_EQ(thrum_accept(listener, &far), 0);
            CHECK_EQ(thrum_io_close(near), 0);
            CHECK_EQ(thrum_io_close(far), 0);
        }
        CHECK_EQ(open_count(), before);
    }
    CHECK_EQ(thrum_io_close(listener), 0);
    return 0;
}

TEST(dial_fails_at_each_allocation) {
    /* Of the call and of its lookup. */
    both(dial_many_times);
}

static int wait_without_wakeup(void) {
    char where[THRUM_ADDRESS_TEXT];
    thrum_io io, far;
    thrum_io listener = listen_at("tcp:127.0.0.1:0", where);
    const int before = open_count();
    th_os_fail(TH_OS_FAULT_EVENTFD, 0, 1);
    CHECK_EQ(thrum_accept(listener, &far), -EMFILE);
    th_os_fail(TH_OS_FAULT_EVENTFD, 0, 1);
    CHECK_EQ(thrum_io_wait(listener, THRUM_IO_READ, THRUM_FOREVER), -EMFILE);
    th_os_fail(TH_OS_FAULT_EVENTFD, 0, 1);
    int code = thrum_dial(&io, where, THRUM_FOREVER);
    CHECK(code == 0 || code == -EMFILE); /* it may be connected at once */
    th_os_fail(TH_OS_FAULT_EVENTFD, 0, 0);
    if (code == 0) {
        CHECK_EQ(thrum_io_close(io), 0);
    }
    CHECK_EQ(open_count(), before);
    CHECK_EQ(thrum_io_close(listener), 0);
    return 0;
}

TEST(threads_wait_without_a_wakeup) {
    /* A plain thread needs a descriptor to wait: without one, -EMFILE. */
    CHECK_EQ(wait_without_wakeup(), 0);
}

static int wait_without_set(void *arg) {
    char where[THRUM_ADDRESS_TEXT];
    thrum_io far;
    (void)arg;
    thrum_io listener = listen_at("tcp:127.0.0.1:0", where);
    th_os_fail(TH_OS_FAULT_POLLSET, 0, UINT32_MAX);
    th_os_fail(TH_OS_FAULT_POLLSET_ADD, 0, UINT32_MAX);
    int code = thrum_accept_until(listener, &far, far_off());
    CHECK(code == -EMFILE || code == -ENOMEM);
    code = thrum_io_wait(listener, THRUM_IO_READ, far_off());
    CHECK(code == -EMFILE || code == -ENOMEM);
    th_os_fail(TH_OS_FAULT_POLLSET, 0, 0);
    th_os_fail(TH_OS_FAULT_POLLSET_ADD, 0, 0);
    CHECK_EQ(thrum_accept_until(listener, &far, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_io_close(listener), 0);
    return 0;
}

TEST(tasks_wait_without_a_set) {
    /* A task needs its worker's set to wait: without one, the system's code. */
    rig_do(0, wait_without_set, NULL);
}

/* ---- messages ---- */

static int messages_body(void *arg) {
    char where[THRUM_ADDRESS_TEXT], text[8];
    thrum_address to;
    pair p;
    int fd = 1;
    unsigned n = 1;
    (void)arg;
    thrum_io io = listen_at("udp:127.0.0.1:0", where);
    CHECK_EQ(thrum_address_parse(&to, where), 0);
    th_os_fail(TH_OS_FAULT_MESSAGE, 0, 1);
    CHECK_EQ(thrum_send_to(io, "x", 1, &to, THRUM_FOREVER), -ENOBUFS);
    CHECK_EQ(thrum_send_to(io, "x", 1, &to, THRUM_FOREVER), 1);
    th_os_fail(TH_OS_FAULT_MESSAGE, 0, 1);
    CHECK_EQ(thrum_receive_from(io, text, 8, NULL, THRUM_FOREVER), -ENOMEM);
    CHECK_EQ(thrum_receive_from(io, text, 8, NULL, THRUM_FOREVER), 1);
    CHECK_EQ(thrum_io_close(io), 0);
    snprintf(where, sizeof where, "unix:@thrum-test-%d", (int)getpid());
    pair_open(&p, where);
    th_os_fail(TH_OS_FAULT_MESSAGE, 0, 1);
    CHECK_EQ(thrum_send_fds(p.near, "x", 1, &fd, 1, THRUM_FOREVER), -ENOBUFS);
    CHECK_EQ(thrum_send_fds(p.near, "x", 1, &fd, 1, THRUM_FOREVER), 1);
    th_os_fail(TH_OS_FAULT_MESSAGE, 0, 1);
    CHECK_EQ(thrum_receive_fds(p.far, text, 8, &fd, &n, THRUM_FOREVER), -ENOMEM);
    n = 1;
    CHECK_EQ(thrum_receive_fds(p.far, text, 8, &fd, &n, THRUM_FOREVER), 1);
    CHECK_EQ(n, 1);
    close(fd);
    pair_close(&p);
    return 0;
}

TEST(messages_without_memory) {
    /* They stay where they are. */
    both(messages_body);
}

/* ---- names ---- */

static int names_body(void *arg) {
    thrum_address found[4];
    (void)arg;
    th_os_fail(TH_OS_FAULT_RESOLVE, 0, 1);
    CHECK_EQ(thrum_resolve("localhost", 80, 0, found, 4, THRUM_FOREVER), -EAGAIN);
    th_jobs_figures figures;
    do {
        th_jobs_read(&th_resolver_jobs, &figures); /* the next one needs a thread of its own */
        thrum_yield();
    } while (figures.threads);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 1);
    CHECK_EQ(thrum_resolve("localhost", 80, 0, found, 4, THRUM_FOREVER), -EAGAIN);
    CHECK(thrum_resolve("localhost", 80, 0, found, 4, THRUM_FOREVER) > 0);
    return 0;
}

TEST(names_without_a_thread) {
    /* -EAGAIN, and the next lookup works. */
    both(names_body);
}

TEST(names_without_a_descriptor) {
    /* The lack is reported, not taken for a name that does not exist. */
    struct rlimit before;
    thrum_address found[4];
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit none = {0, before.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    const int without = thrum_resolve("localhost", 80, 0, found, 4, far_off());
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    CHECK_EQ(without, -EMFILE);
    CHECK(thrum_resolve("localhost", 80, 0, found, 4, far_off()) > 0);
}
