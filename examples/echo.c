/*
 * echo.c: a server that sends all bytes back: echo [ADDRESS] (tcp:127.0.0.1:7777; "activation:"
 * when systemd has opened the socket). It ends by SIGTERM or SIGINT: idle connections at once, the
 * others when they have been answered, or after five seconds.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <thrum/net.h>
#include <thrum/serve.h>
#include <unistd.h>

/* One connection: until the peer ends it or sends nothing for a minute, or the server ends. */
static int echo(thrum_io io, void *arg) {
    char text[4096];
    int64_t n;
    (void)arg;
    while ((n = thrum_serve_read(io, text, sizeof text, thrum_after_s(60))) > 0 &&
           thrum_write_until(io, text, (size_t)n, thrum_after_s(10)) == n) {
    }
    return 0;
}

/* A reader of this line may end the server at once: its signals are caught by now. */
static void say_where(thrum_io listener, void *arg) {
    char where[THRUM_ADDRESS_TEXT];
    (void)arg;
    if (thrum_io_local(listener, where, sizeof where) == 0) {
        printf("listening at %s\n", where);
        fflush(stdout);
    }
}

static int serve(void *arg) {
    static const int ends[] = {SIGTERM, SIGINT, 0};
    thrum_listen_options how = THRUM_LISTEN_OPTIONS_INIT;
    thrum_serve_options options = THRUM_SERVE_OPTIONS_INIT;
    thrum_io listener;
    how.flags = THRUM_LISTEN_REPLACE; /* the file of a UNIX socket, left by an earlier server */
    int err = thrum_listen(&listener, arg, &how);
    if (err == 0) {
        options.connections_max = 10000;
        options.drain = THRUM_S(5);
        options.stop_signals = ends;
        options.started = say_where;
        err = thrum_serve(listener, echo, NULL, &options);
        thrum_io_close(listener);
    }
    return err;
}

/*
 * For a start without stdin, stdout or stderr: otherwise a connection might get the program's
 * output.
 */
static void open_standard(void) {
    int fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO) {
        fd = open("/dev/null", O_RDWR);
    }
    if (fd >= 0) {
        close(fd);
    }
}

int main(int argc, char **argv) {
    char address[] = "tcp:127.0.0.1:7777";
    open_standard();
    int err = thrum_run(NULL, serve, argc > 1 ? argv[1] : address);
    if (err) {
        fprintf(stderr, "echo: %s\n", strerror(-err));
    }
    return err != 0;
}
