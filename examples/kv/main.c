/*
 * main.c: kv, a server of the Redis protocol. README.md explains how it works.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <thrum.h>
#include <thrum/net.h>
#include <thrum/serve.h>
#include <unistd.h>

#include "memory.h"
#include "options.h"
#include "session.h"
#include "store.h"

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

/* Lets the process have as many descriptors as the system grants without asking. */
static void raise_files(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* How many connections there are descriptors for, beside those of the scheduler: two a worker. */
static unsigned connections_that_fit(unsigned wanted) {
    struct rlimit files;
    rlim_t others = 16 + 2 * (rlim_t)thrum_sched_workers(thrum_sched_current());
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= others + wanted) {
        return wanted;
    }
    return files.rlim_cur > others ? (unsigned)(files.rlim_cur - others) : 1;
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

static int serve(struct options *options) {
    static const int ends[] = {SIGTERM, SIGINT, 0};
    thrum_listen_options where = THRUM_LISTEN_OPTIONS_INIT;
    thrum_serve_options how = THRUM_SERVE_OPTIONS_INIT;
    thrum_io listener;
    where.flags = THRUM_LISTEN_REPLACE; /* the file of a UNIX socket, left by an earlier server */
    int err = thrum_listen(&listener, options->address, &where);
    if (err == 0) {
        how.connections_max = connections_that_fit(options->connections);
        how.drain = options->drain;
        how.stop_signals = ends;
        how.started = say_where;
        err = thrum_serve(listener, session_run, options, &how);
        thrum_io_close(listener);
    }
    return err;
}

/* The server, and beside it the task that removes keys whose deadline has passed. */
static int entry(void *arg) {
    thrum_scope scope;
    int err = thrum_scope_open(&scope, THRUM_FOREVER);
    if (err == 0) {
        err = thrum_scope_go(&scope, store_sweep, NULL);
        err = err ? err : serve(arg);
        thrum_scope_cancel(&scope);
        (void)!thrum_scope_join(&scope); /* it returns that it was cancelled */
        store_end();
    }
    return err;
}

int main(int argc, char **argv) {
    struct options options;
    int status = options_parse(&options, argc, argv);
    if (status >= 0) {
        return status;
    }
    open_standard();
    raise_files();
    memory_of_keys.max = options.memory_max;
    memory_of_requests.max = options.requests_max;
    int err = store_start();
    err = err ? err : thrum_run(NULL, entry, &options);
    if (err) {
        const char *why = err == -ETIMEDOUT ? "some connections were cut off" : thrum_strerror(err);
        fprintf(stderr, "kv: %s\n", why);
    }
    return err != 0;
}
