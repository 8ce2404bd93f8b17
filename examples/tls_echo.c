/*
 * tls_echo.c: sends all bytes back, encrypted; and a client for such a server:
 *
 *     tls_echo serve ADDRESS CHAIN KEY   until SIGTERM or SIGINT
 *     tls_echo ask ADDRESS HOST CA       each line of the input, and prints the answers
 *
 * CHAIN, KEY and CA are PEM files. ADDRESS is as thrum_listen and thrum_dial take it
 * (tcp:127.0.0.1:7777). HOST is the server that the client wants, by its certificate.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <thrum/net.h>
#include <thrum/serve.h>
#include <thrum/tls.h>

static int complain(const char *what, int err) {
    fprintf(stderr, "tls_echo: %s: %s\n", what, thrum_strerror(err));
    return 1;
}

/* Says why a connection has failed, and ends it. */
static int give_up(thrum_tls *tls, int err) {
    char why[200] = "";
    if (tls) {
        thrum_tls_error(tls, why, sizeof why);
    }
    thrum_tls_close(tls, thrum_after_s(1));
    return complain(why[0] ? why : "TLS", err);
}

/* ---- the server ---- */

/*
 * Waits for something to read, or for the server's end: bytes that have come already are not waited
 * for.
 */
static int64_t next(thrum_tls *tls, char *text, size_t size) {
    const thrum_time deadline = thrum_after_s(60);
    int err = thrum_tls_is_readable(tls) ? 0 : thrum_serve_idle(thrum_tls_io(tls), deadline);
    return err ? err : thrum_tls_read_until(tls, text, size, deadline);
}

static int echo(thrum_io io, void *config) {
    thrum_tls *tls;
    char text[4096];
    int64_t n;
    int err = thrum_serve_idle(io, thrum_after_s(10)); /* at the server's end nothing has begun */
    if (err) {
        return err;
    }
    err = thrum_tls_server(&tls, config, io, thrum_after_s(10));
    if (err) {
        return give_up(tls, err);
    }
    while ((n = next(tls, text, sizeof text)) > 0 &&
           thrum_tls_write_until(tls, text, (size_t)n, thrum_after_s(10)) == n) {
    }
    thrum_tls_close(tls, thrum_after_s(1));
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

static int serve(char **args) {
    static const int ends[] = {SIGTERM, SIGINT, 0};
    thrum_listen_options where = THRUM_LISTEN_OPTIONS_INIT;
    thrum_serve_options options = THRUM_SERVE_OPTIONS_INIT;
    thrum_tls_options own = THRUM_TLS_OPTIONS_INIT;
    thrum_tls_config *config;
    thrum_io listener;
    char why[200];
    where.flags = THRUM_LISTEN_REPLACE; /* the file of a UNIX socket, left by an earlier server */
    own.chain_file = args[1];
    own.key_file = args[2];
    own.error = why;
    own.error_size = sizeof why;
    int err = thrum_tls_config_server(&config, &own);
    if (err) {
        fprintf(stderr, "tls_echo: %s\n", why);
        return 1;
    }
    err = thrum_listen(&listener, args[0], &where);
    if (!err) {
        options.stop_signals = ends;
        options.started = say_where;
        err = thrum_serve(listener, echo, config, &options);
        thrum_io_close(listener);
    }
    thrum_tls_config_free(config);
    return err ? complain(args[0], err) : 0;
}

/* ---- the client ---- */

/* Sends the input line by line: a stream over the connection has the lines. */
static int ask_all(thrum_tls *tls) {
    thrum_stream stream;
    char line[4096];
    int64_t n = 0;
    int err = thrum_tls_stream_open(&stream, tls, NULL);
    if (err) {
        return give_up(tls, err);
    }
    while (n >= 0 && thrum_stream_read_line(thrum_stdin(), line, sizeof line) >= 0) {
        const thrum_time deadline = thrum_after_s(10);
        n = thrum_stream_printf_until(&stream, deadline, "%s\n", line);
        n = n < 0 ? n : thrum_stream_flush_until(&stream, deadline);
        n = n < 0 ? n : thrum_stream_read_line_until(&stream, line, sizeof line, deadline);
        if (n >= 0) {
            thrum_stream_printf(thrum_stdout(), "%s\n", line);
        }
    }
    int flushed = thrum_stream_flush(thrum_stdout());
    err = thrum_stream_close_until(&stream, thrum_after_s(1));
    err = n < 0 ? (int)n : err ? err : flushed;
    return err ? complain("talking", err) : 0;
}

static int ask(char **args) {
    thrum_tls_options trusted = THRUM_TLS_OPTIONS_INIT;
    thrum_tls_config *config;
    thrum_tls *tls;
    thrum_io io;
    char why[200];
    trusted.ca_file = args[2];
    trusted.error = why;
    trusted.error_size = sizeof why;
    int err = thrum_tls_config_client(&config, &trusted);
    if (err) {
        fprintf(stderr, "tls_echo: %s\n", why);
        return 1;
    }
    err = thrum_dial(&io, args[0], thrum_after_s(10));
    if (err) {
        thrum_tls_config_free(config);
        return complain(args[0], err);
    }
    err = thrum_tls_client(&tls, config, io, args[1], thrum_after_s(10));
    thrum_tls_config_free(config); /* the connection keeps its own reference */
    if (err) {
        return give_up(tls, err);
    }
    fprintf(stderr, "%s, %s, %s\n", thrum_tls_version(tls), thrum_tls_cipher(tls),
            thrum_tls_subject(tls));
    return ask_all(tls);
}

static int entry(void *arg) {
    char **argv = arg;
    return strcmp(argv[1], "serve") == 0 ? serve(argv + 2) : ask(argv + 2);
}

int main(int argc, char **argv) {
    if (argc != 5 || (strcmp(argv[1], "serve") != 0 && strcmp(argv[1], "ask") != 0)) {
        fprintf(stderr, "usage: tls_echo serve ADDRESS CHAIN KEY\n"
                        "       tls_echo ask ADDRESS HOST CA\n");
        return 2;
    }
    int status = thrum_run(NULL, entry, argv);
    return status < 0 ? complain("start", status) : status;
}
