/*
 * net_activation.c: sockets that a process was started with: "activation:" of thrum_listen. Each
 * case is a child of its own, with descriptors from 3 on and an environment that speaks of them.
 */
/* POSIX: LISTEN_FDS */
#include "support/io/io.h"
#include "support/times.h"

#include <sys/wait.h>

#include "platform/faults.h"
#include "thrum/net.h"

typedef struct start {
    const char *pid; /* NULL: none; "self": the child's */
    const char *fds;
    const char *names;
    void (*child)(void);
} start;

/* 3: a TCP listener, 4: a UNIX listener, 5: datagrams, 6: a connection, 7: a file. */
enum { TCP_FD = 3, UNIX_FD, DATAGRAM_FD, CONNECTION_FD, FILE_FD, CLOSED_FD };

static void put_at(int fd, int number) {
    CHECK_EQ(dup2(fd, number), number);
    CHECK_EQ(close(fd), 0);
}

static int bound(int family, int type) {
    const struct sockaddr any = {.sa_family = (sa_family_t)family};
    int fd = socket(family, type, 0);
    CHECK(fd >= 0);
    CHECK_EQ(bind(fd, &any, sizeof any.sa_family), 0);
    return fd;
}

static void make_descriptors(void) {
    struct sockaddr_in address;
    int pair[2];
    for (int fd = TCP_FD; fd < 40; fd++) {
        close(fd);
    }
    for (int fd = TCP_FD; fd < 20; fd++) {
        CHECK_EQ(open("/dev/null", O_RDONLY), fd); /* so that what is made comes behind them */
    }
    put_at(listen_tcp(&address), TCP_FD);
    int local = bound(AF_UNIX, SOCK_STREAM);
    CHECK_EQ(listen(local, 4), 0);
    put_at(local, UNIX_FD);
    put_at(bound(AF_UNIX, SOCK_DGRAM), DATAGRAM_FD);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    CHECK_EQ(close(pair[1]), 0);
    put_at(pair[0], CONNECTION_FD);
    put_at(open("/proc/self/exe", O_RDONLY), FILE_FD);
    for (int fd = CLOSED_FD; fd < 40; fd++) {
        close(fd);
    }
}

static void set(const char *name, const char *value) {
    CHECK_EQ(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

static void run_child(start s) {
    char self[16];
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        make_descriptors();
        snprintf(self, sizeof self, "%d", (int)getpid());
        set("LISTEN_PID", s.pid && strcmp(s.pid, "self") == 0 ? self : s.pid);
        set("LISTEN_FDS", s.fds);
        set("LISTEN_FDNAMES", s.names);
        s.child();
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

static int listened(const char *address, int *fd) {
    thrum_io io = {-7, 0};
    int code = thrum_listen(&io, address, NULL);
    CHECK(code == 0 || (io.fd == -7 && io.turn == 0));
    *fd = io.fd;
    return code;
}

static void check_given(const char *address, int number) {
    int fd;
    CHECK_EQ(listened(address, &fd), 0);
    CHECK_EQ(fd, number);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static void check_code(const char *address, int code) {
    int fd;
    CHECK_EQ(listened(address, &fd), code);
}

/* ---- what is given ---- */

static void takes_all_in_turn(void) {
    check_given("activation:", TCP_FD);
    CHECK(fcntl(UNIX_FD, F_GETFD) & FD_CLOEXEC); /* those not taken yet as well */
    CHECK(fcntl(DATAGRAM_FD, F_GETFD) & FD_CLOEXEC);
    CHECK(!(fcntl(CONNECTION_FD, F_GETFD) & FD_CLOEXEC));
    check_given("activation:", UNIX_FD);
    check_given("activation:", DATAGRAM_FD);
    check_code("activation:", -ENOENT);
}

TEST(each_call_gives_another_one) {
    /* All are closed on exec; when there is no more, it says so. */
    run_child((start){"self", "3", NULL, takes_all_in_turn});
}

static void takes_by_name(void) {
    check_given("activation:web", UNIX_FD);
    check_code("activation:we", -ENOENT);
    check_code("activation:webs", -ENOENT);
    check_code("activation:admin web", -ENOENT);
    check_given("activation:", TCP_FD);
    check_given("activation:web", DATAGRAM_FD);
    check_code("activation:web", -ENOENT);
    check_code("activation:admin", -ENOENT);
}

TEST(names_tell_them_apart) {
    /* Several may have one name, and some none. */
    run_child((start){"self", "3", "admin:web:web", takes_by_name});
}

static void closes_and_asks(void) {
    thrum_io io;
    int fd;
    CHECK_EQ(thrum_listen(&io, "activation:", NULL), 0);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(socket(AF_INET, SOCK_STREAM, 0), TCP_FD); /* the number is another one's */
    CHECK_EQ(listened("activation:", &fd), -ENOENT);
}

TEST(a_number_that_comes_again_is_not_given) {
    /* What was closed is gone, whoever has its number. */
    run_child((start){"self", "1", NULL, closes_and_asks});
}

static void adopts_before(void) {
    adopted(TCP_FD);
    check_given("activation:", UNIX_FD);
    check_code("activation:", -ENOENT);
}

TEST(what_the_program_has_taken_over_is_passed_by) {
    /* It is its own already. */
    run_child((start){"self", "2", NULL, adopts_before});
}

static int serves_one(void *arg) {
    thrum_listen_options options = THRUM_LISTEN_OPTIONS_INIT;
    char address[THRUM_ADDRESS_TEXT];
    char text[4] = "";
    thrum_io listener;
    thrum_io there;
    thrum_io here;
    (void)arg;
    options.keepalive = THRUM_S(30);
    options.flags = THRUM_LISTEN_SHARED | THRUM_LISTEN_REPLACE;
    CHECK_EQ(thrum_listen(&listener, "activation:", &options), 0);
    CHECK_EQ(thrum_accept_until(listener, &there, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_io_local(listener, address, sizeof address), 0);
    CHECK_EQ(thrum_dial(&here, address, far_off()), 0);
    CHECK_EQ(thrum_accept(listener, &there), 0);
    int64_t value;
    CHECK_EQ(thrum_io_get_option(there, THRUM_IO_KEEPALIVE, &value), 0);
    CHECK_EQ(value, THRUM_S(30));
    CHECK_EQ(thrum_io_get_option(there, THRUM_IO_NO_DELAY, &value), 0);
    CHECK_EQ(value, 1);
    CHECK_EQ(thrum_write(here, "abc", 3), 3);
    CHECK_EQ(thrum_read(there, text, sizeof text), 3);
    CHECK_EQ(thrum_io_close(here) | thrum_io_close(there) | thrum_io_close(listener), 0);
    return 0;
}

static void serves(void) {
    CHECK_EQ(thrum_run(NULL, serves_one, NULL), 0);
}

TEST(connections_are_accepted_on_one) {
    /* With the options that are about them; a wait for one does not block a worker. */
    run_child((start){"self", "1", NULL, serves});
}

/* ---- what is refused ---- */

static void finds_none(void) {
    check_code("activation:", -ENOENT);
    check_code("activation:web", -ENOENT);
}

TEST(others_environment_is_left_alone) {
    /* There is none, or it is another process's, as a child inherits it. */
    run_child((start){NULL, NULL, NULL, finds_none});
    run_child((start){"self", NULL, NULL, finds_none});
    run_child((start){NULL, "1", NULL, finds_none});
    run_child((start){"1", "1", "web", finds_none});
    run_child((start){"2147483647", "1", "web", finds_none});
    run_child((start){"self", "0", NULL, finds_none});
}

static void finds_nonsense(void) {
    check_code("activation:", -EBADMSG);
    check_code("activation:web", -EBADMSG);
    CHECK(!(fcntl(TCP_FD, F_GETFD) & FD_CLOEXEC)); /* and nothing was done */
}

TEST(an_environment_that_makes_no_sense_is_refused) {
    /* Numbers that are none, too large or negative, and names that are not as many. */
    static const char *const numbers[] = {
        "",           " 1", "1 ",   "+1",         "-1",  "01",
        "0x1",        "1.", "1025", "2147483648", "one", "18446744073709551617",
        "4294967297",
    };
    static const char *const names[] = {"", "web", "a:b:c", "a:b:", "::", "a\n:b", "a:\x80"};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        run_child((start){"self", numbers[i], NULL, finds_nonsense});
        if (strcmp(numbers[i], "1025") != 0) {
            run_child((start){numbers[i], "1", NULL, finds_nonsense});
        }
    }
    run_child((start){"0", "1", NULL, finds_nonsense});
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        run_child((start){"self", "2", names[i], finds_nonsense});
    }
}

static void finds_a_connection(void) {
    check_given("activation:", TCP_FD);
    check_given("activation:", UNIX_FD);
    check_given("activation:", DATAGRAM_FD);
    check_code("activation:", -EOPNOTSUPP);
    check_code("activation:", -EOPNOTSUPP);
}

static void finds_a_file(void) {
    check_code("activation:file", -ENOTSOCK);
    check_given("activation:web", TCP_FD);
}

static void finds_nothing_open(void) {
    check_code("activation:", -EBADF);
    check_code("activation:", -EBADF);
}

TEST(what_does_not_listen_is_refused) {
    /* Connections, files, and numbers that are no descriptors. */
    run_child((start){"self", "4", NULL, finds_a_connection});
    run_child((start){"self", "5", "web:a:b:c:file", finds_a_file});
    run_child((start){"self", "6", NULL, finds_nothing_open});
}

static void asks_for_odd_names(void) {
    char longer[300] = "activation:";
    thrum_io io;
    memset(longer + strlen(longer), 'x', 280);
    check_code(longer, -ENAMETOOLONG);
    check_code("activation:a:b", -EINVAL);
    check_code("activation:a\n", -EINVAL);
    check_code("handed", -EINVAL);
    CHECK_EQ(thrum_dial(&io, "activation:", far_off()), -EINVAL);
    CHECK_EQ(thrum_listen(NULL, "activation:", NULL), -EINVAL);
    check_given("activation:", TCP_FD);
}

TEST(names_that_cannot_be_are_refused) {
    /* Nothing is taken by that. */
    run_child((start){"self", "1", "web", asks_for_odd_names});
}

static void is_refused_memory(void) {
    th_os_fail(TH_OS_FAULT_MAP, 0, 1);
    check_code("activation:", -ENOMEM);
    CHECK_EQ(th_os_fails_left(TH_OS_FAULT_MAP), 0);
    check_given("activation:", TCP_FD);
}

TEST(a_refusal_of_the_system_loses_nothing) {
    /* The next call gives it. */
    run_child((start){"self", "1", NULL, is_refused_memory});
}
