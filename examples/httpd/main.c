/*
 * main.c: starts the server and ends it.
 *
 * SIGTERM or SIGINT (Control-C, Control-Break or the close of a console on Windows) ends it in
 * order: no connection is accepted any longer, connections between two requests end, and requests
 * that have begun are answered. A second signal ends it at once, unless it comes within a second.
 * With TLS, SIGHUP has it read its certificate again, for connections that come later.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <thrum.h>
#include <thrum/net.h>
#include <thrum/serve.h>
#include <thrum/signal.h>
#include <thrum/trace.h>

#include "beneath.h"
#include "capacity.h"
#include "connection.h"
#include "log.h"
#include "say.h"
#include "secret.h"
#include "stats.h"
#include "system.h"

static int complain(const char *what, int err) {
    say("httpd: %s: %s\n", what, thrum_strerror(err));
    return 1;
}

static unsigned heard_by(const struct server *server, int signals[SYSTEM_SIGNALS]) {
    return system_signals(server->secret != NULL, signals);
}

/* From now on until wait_for_signal the signals are kept for that. */
static int catch_signals(const struct server *server) {
    int heard[SYSTEM_SIGNALS];
    const unsigned count = heard_by(server, heard);
    int err = 0;
    for (unsigned i = 0; err == 0 && i < count; i++) {
        err = thrum_signal_catch(heard[i]);
    }
    return err;
}

static int reload(void *secret) {
    return secret_reload(secret);
}

/*
 * Waits for a signal to end, and has the server end. A second one within a second means the same,
 * as timeout(1) sends two; a later one has its default action. A server that has ended before
 * cancels this.
 */
static int wait_for_signal(void *arg) {
    struct server *server = arg;
    int heard[SYSTEM_SIGNALS];
    const unsigned count = heard_by(server, heard);
    int signal, err, done;
    while (system_is_reload(signal = thrum_signal_wait(heard, count, THRUM_FOREVER))) {
        err = thrum_blocking(reload, server->secret, &done); /* it reads files */
        if (err != 0 || done != 0) {
            complain("the certificate stays as it was", err != 0 ? err : done);
        }
    }
    const thrum_time same = thrum_after_s(1);
    thrum_event_signal(&server->ending);
    if (signal < 0) {
        return signal != -ECANCELED ? signal : 0;
    }
    while ((signal = thrum_signal_wait(heard, count, same)) > 0) {
    }
    for (unsigned i = 0; signal == -ETIMEDOUT && i < count; i++) {
        thrum_signal_release(heard[i]);
    }
    return 0;
}

/* Serves until a signal comes. */
static int serve(struct server *server) {
    thrum_serve_options options = THRUM_SERVE_OPTIONS_INIT;
    thrum_handle *signals;
    int told = 0;
    options.connections_max = server->connections_max;
    options.drain = server->options->drain_time;
    options.stop = &server->ending;
    int err = thrum_spawn(&signals, wait_for_signal, server);
    if (err != 0) {
        return err;
    }
    err = thrum_serve(server->listener, connection_serve, server, &options);
    thrum_cancel(signals);
    int joined = thrum_join(signals, &told);
    return err != 0 ? err : joined != 0 ? joined : told;
}

/* Listens, prints the address, and serves. */
static int listen_and_serve(struct server *server) {
    char where[THRUM_ADDRESS_TEXT] = "";
    thrum_listen_options how = THRUM_LISTEN_OPTIONS_INIT;
    how.flags = THRUM_LISTEN_REPLACE; /* the file of a UNIX socket, left by an earlier server */
    int err = thrum_listen(&server->listener, server->options->address, &how);
    if (err != 0) {
        return complain(server->options->address, err);
    }
    err = thrum_io_local(server->listener, where, sizeof where);
    err = err != 0 ? err : catch_signals(server); /* a reader of the line may end the server */
    setvbuf(stdout, NULL, _IONBF, 0);             /* a line that is lost does not come later */
    if (printf("listening at %s\n", where) < 0) {
        complain("stdout", -errno);
    }
    err = err != 0 || server->options->quiet ? err : log_start(&server->log);
    err = err != 0 ? err : serve(server);
    thrum_io_close(server->listener);
    server->is_stuck = !log_stop(server->log);
    return err == -ETIMEDOUT ? complain("some connections were cut off", err)
           : err != 0        ? complain("serving", err)
                             : 0;
}

/* The latest 32767 events of each worker: each request's way, from the first read to the answer. */
static int write_trace(const struct server *server, FILE *out) {
    int err = thrum_trace_write(server->sched, out);
    if (fclose(out) != 0 && err == 0) {
        err = -errno;
    }
    return err != 0 ? complain(server->options->trace, err) : 0;
}

/* The file is made first, as nobody wants to hear only at the end that it cannot be. */
static int serve_traced(struct server *server) {
    FILE *out = system_create(server->options->trace);
    if (!out) {
        return complain(server->options->trace, -errno);
    }
    int err = thrum_trace_start(server->sched, 0);
    if (err != 0) {
        fclose(out);
        return complain("trace", err);
    }
    int status = listen_and_serve(server);
    int written = write_trace(server, out);
    return status != 0 ? status : written;
}

static int entry(void *arg) {
    const struct options *options = arg;
    struct server server = {.options = options, .sched = thrum_sched_current()};
    int root = options->root ? beneath_root(options->root) : -1;
    if (root < 0 && options->root) {
        return complain(options->root, root);
    }
    server.root = root;
    int err = !options->chain ? 0 : secret_create(&server.secret, options->chain, options->key);
    if (err != 0) {
        return complain(options->chain, err);
    }
    server.connections_max = capacity_connections(server.sched, options->connections);
    server.stats = stats_create();
    thrum_event_init(&server.ending, THRUM_EVENT_MANUAL, false);
    int status = !server.stats    ? complain("start", -ENOMEM)
                 : options->trace ? serve_traced(&server)
                                  : listen_and_serve(&server);
    stats_destroy(server.stats);
    secret_destroy(server.secret);
    if (root >= 0) {
        beneath_close(root);
    }
    if (server.is_stuck) {
        _Exit(status); /* there is a task that will not end */
    }
    return status;
}

int main(int argc, char **argv) {
    struct options options;
    thrum_config config;
    system_begin(&argc, &argv);
    int status = options_parse(&options, argc, argv);
    if (status >= 0) {
        return status;
    }
    thrum_config_init(&config);
    config.name = "httpd";
    if (options.workers > 0) {
        config.workers = options.workers;
    }
    status = thrum_run(&config, entry, &options);
    return status < 0 ? complain("start", status) : status;
}
