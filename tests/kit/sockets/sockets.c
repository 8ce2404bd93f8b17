/*
 * sockets.c: servers and their clients in a test, over TCP, UDP and UNIX sockets in virtual time.
 *   sockets NAME [OPTION...]
 */
#include <errno.h>
#include <string.h>
#include <thrum.h>
#include <thrum/test.h>

#define MUST(call) THRUM_TEST((call) == 0)
#define SOON thrum_after(THRUM_S(1))

static char address[100];

/* ---- a slow server that sends each text back ---- */

static int echo(void *arg) {
    const thrum_io listener = *(thrum_io *)arg;
    thrum_io io;
    while (thrum_accept(listener, &io) == 0) {
        char text[64];
        int64_t n;
        while ((n = thrum_read(io, text, sizeof text)) > 0) {
            MUST(thrum_sleep(THRUM_S(5)));
            if (thrum_write(io, text, (size_t)n) < 0) {
                break;
            }
        }
        (void)thrum_io_close(io);
    }
    return 0;
}

static void echoes_at(const char *where) {
    thrum_io listener;
    thrum_io io;
    thrum_handle *server;
    char text[64];
    MUST(thrum_listen(&listener, where, NULL));
    MUST(thrum_spawn(&server, echo, &listener));
    MUST(thrum_io_local(listener, address, sizeof address));
    MUST(thrum_dial(&io, address, SOON));
    THRUM_TEST(thrum_write(io, "hello", 5) == 5);
    THRUM_TEST(thrum_read_until(io, text, sizeof text, SOON) == -ETIMEDOUT);
    THRUM_TEST(thrum_read(io, text, sizeof text) == 5 && !memcmp(text, "hello", 5));
    MUST(thrum_io_close(io));
    MUST(thrum_io_close(listener));
    MUST(thrum_join(server, NULL));
    THRUM_TEST(thrum_dial(&io, address, SOON) == -ECONNREFUSED);
}

static int tcp(void *arg) {
    (void)arg;
    echoes_at("tcp:127.0.0.1:0");
    return 0;
}

static int local(void *arg) {
    (void)arg;
    echoes_at("unix:/tmp/thrum-sockets-of-a-test");
    return 0;
}

/* ---- datagrams ---- */

static int answer(void *arg) {
    const thrum_io io = *(thrum_io *)arg;
    char text[64];
    thrum_address from;
    THRUM_TEST(thrum_receive_from(io, text, sizeof text, &from, THRUM_FOREVER) == 4);
    THRUM_TEST(thrum_send_to(io, "pong", 4, &from, THRUM_FOREVER) == 4);
    return 0;
}

static int udp(void *arg) {
    thrum_io server;
    thrum_io io;
    thrum_handle *answers;
    char text[64];
    (void)arg;
    MUST(thrum_listen(&server, "udp::9000", NULL));
    MUST(thrum_spawn(&answers, answer, &server));
    MUST(thrum_dial(&io, "udp:localhost:9000", THRUM_FOREVER));
    THRUM_TEST(thrum_send_to(io, "ping", 4, NULL, THRUM_FOREVER) == 4);
    THRUM_TEST(thrum_receive_from(io, text, sizeof text, NULL, SOON) == 4);
    THRUM_TEST(!memcmp(text, "pong", 4));
    MUST(thrum_join(answers, NULL));
    MUST(thrum_io_close(server));
    MUST(thrum_io_close(io));
    return 0;
}

/* ---- thrum_serve, which ends while clients are connected or about to be ---- */

static thrum_event stop = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
static thrum_event ready = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);

static int connection(thrum_io io, void *arg) {
    char text[64];
    int64_t n;
    (void)arg;
    while ((n = thrum_serve_read(io, text, sizeof text, thrum_after(THRUM_S(30)))) > 0) {
        if (thrum_sleep(THRUM_S(2)) != 0 || thrum_write(io, text, (size_t)n) < 0) {
            break;
        }
    }
    return 0;
}

static void started(thrum_io listener, void *arg) {
    (void)arg;
    MUST(thrum_io_local(listener, address, sizeof address));
    thrum_event_signal(&ready);
}

static int server(void *arg) {
    thrum_io listener;
    thrum_serve_options options = THRUM_SERVE_OPTIONS_INIT;
    (void)arg;
    options.stop = &stop;
    options.started = started;
    MUST(thrum_listen(&listener, "tcp:127.0.0.1:0", NULL));
    const int code = thrum_serve(listener, connection, NULL, &options);
    (void)thrum_io_close(listener);
    return code;
}

/* It gets its whole text back, or its connection is refused or closed before it sent one. */
static int client(void *arg) {
    thrum_io io;
    char text[8];
    (void)arg;
    if (thrum_dial(&io, address, SOON) != 0) {
        return 0;
    }
    if (thrum_write(io, "hello", 5) == 5) {
        const int64_t n = thrum_read_full(io, text, 5, THRUM_FOREVER);
        THRUM_TEST(n <= 0 || (n == 5 && !memcmp(text, "hello", 5)));
        (void)thrum_io_shutdown(io, THRUM_IO_WRITE);
        THRUM_TEST(n != 5 || thrum_read(io, text, sizeof text) == 0);
    }
    (void)thrum_io_close(io);
    return 0;
}

static int serve(void *arg) {
    thrum_handle *serving;
    thrum_handle *clients[3];
    int result;
    (void)arg;
    MUST(thrum_spawn(&serving, server, NULL));
    MUST(thrum_event_wait(&ready));
    for (unsigned i = 0; i < 3; i++) {
        MUST(thrum_spawn(&clients[i], client, NULL));
    }
    MUST(thrum_sleep(THRUM_S(thrum_test_random() % 4)));
    thrum_event_signal(&stop);
    for (unsigned i = 0; i < 3; i++) {
        MUST(thrum_join(clients[i], NULL));
    }
    MUST(thrum_join(serving, &result));
    THRUM_TEST(result == 0);
    return 0;
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        thrum_fn test;
    } all[] = {{"tcp", tcp}, {"unix", local}, {"udp", udp}, {"serve", serve}};
    for (unsigned i = 0; argc > 1 && i < sizeof all / sizeof *all; i++) {
        if (strcmp(argv[1], all[i].name) == 0) {
            argv[1] = argv[0];
            return thrum_test_main(argc - 1, argv + 1, all[i].test, NULL);
        }
    }
    return 2;
}
