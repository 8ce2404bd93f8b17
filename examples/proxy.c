/*
 * proxy.c: passes connections on: proxy LISTEN TARGET, such as `proxy tcp:127.0.0.1:8080
 * tcp:example.org:80`; without arguments it prints the other options.
 *
 * Each connection has two tasks, one for each direction. When one side has sent everything, the
 * other one is notified, and may still answer. When a side fails, or nothing moves for too long,
 * both are reset, so that nobody takes a cut transfer for a whole one. It ends by SIGTERM or
 * SIGINT, when its connections have ended or their time is up.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <thrum.h>
#include <unistd.h>

struct options {
    const char *listen, *target;
    unsigned connections; /* at a time */
    thrum_time dial;      /* how long reaching the target may take */
    thrum_time idle;      /* how long nothing may move on a connection */
    thrum_time drain;     /* how long connections may go on at the end */
};

struct pair {
    thrum_io client, target;
    thrum_time idle;
    atomic_int_least64_t xmoved; /* when something last moved, in either direction */
};

/* Prints a line if stderr takes it at once, so that a slow reader of stderr holds nobody up. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
    static thrum_mutex one_at_a_time = THRUM_MUTEX_INIT;
    struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
    va_list args;
    va_start(args, format);
    thrum_mutex_lock(&one_at_a_time); /* another line might take the room */
    if (poll(&room, 1, 0) == 1 && (room.revents & POLLOUT)) {
        vdprintf(STDERR_FILENO, format, args);
    }
    thrum_mutex_unlock(&one_at_a_time);
    va_end(args);
}

/* ---- one direction ---- */

/* When the pair counts as idle unless something moves. */
static thrum_time end_of_patience(struct pair *pair) {
    thrum_time moved = atomic_load(&pair->xmoved);
    return pair->idle < THRUM_FOREVER - moved ? moved + pair->idle : THRUM_FOREVER;
}

/* Whether a call gave up although something has moved, in the other direction perhaps. */
static bool is_early(struct pair *pair, int64_t n) {
    const thrum_time now = thrum_now(); /* first: something may move until xmoved is read */
    return n == -ETIMEDOUT && end_of_patience(pair) > now;
}

/* Copies from one side to the other until the end. Returns 0 there, or an error. */
static int copy(thrum_io from, thrum_io to, struct pair *pair) {
    char bytes[32768];
    for (;;) {
        int64_t n;
        do {
            n = thrum_read_until(from, bytes, sizeof bytes, end_of_patience(pair));
        } while (is_early(pair, n));
        if (n <= 0) {
            return (int)n;
        }
        for (int64_t done = 0; done < n;) {
            atomic_store(&pair->xmoved, thrum_now());
            int64_t written =
                thrum_write_until(to, bytes + done, (size_t)(n - done), end_of_patience(pair));
            if (written <= 0 && !is_early(pair, written)) {
                return (int)written;
            }
            done += written > 0 ? written : 0;
        }
    }
}

/* Copies, and passes the end on; where nobody is left to hear of it, that is an error, too. */
static int copy_and_end(thrum_io from, thrum_io to, struct pair *pair) {
    int err = copy(from, to, pair);
    return err ? err : thrum_io_shutdown(to, THRUM_IO_WRITE);
}

static int there(void *arg) {
    struct pair *pair = arg;
    return copy_and_end(pair->client, pair->target, pair);
}

static int back(void *arg) {
    struct pair *pair = arg;
    return copy_and_end(pair->target, pair->client, pair);
}

/* ---- one connection ---- */

/* Makes a close show the peer that this was no regular end. Not all kinds of sockets can. */
static void spoil(thrum_io io) {
    (void)thrum_io_set_option(io, THRUM_IO_RESET, 1);
}

static void relay(struct pair *pair) {
    thrum_scope scope;
    int err = thrum_scope_open(&scope, THRUM_FOREVER);
    if (err == 0) {
        thrum_scope_go(&scope, there, pair);
        thrum_scope_go(&scope, back, pair);
        err = thrum_scope_join(&scope); /* if one fails, the other is cancelled */
    }
    if (err) {
        spoil(pair->client);
        spoil(pair->target);
    }
}

/* The function of thrum_serve, which closes the client. */
static int pass_on(thrum_io client, void *arg) {
    const struct options *options = arg;
    struct pair pair = {.client = client, .idle = options->idle};
    int err = thrum_dial(&pair.target, options->target, thrum_after(options->dial));
    if (err) {
        spoil(client);
        say("proxy: %s: %s\n", options->target, thrum_strerror(err));
        return err;
    }
    atomic_init(&pair.xmoved, thrum_now());
    relay(&pair);
    thrum_io_close(pair.target);
    return 0;
}

/* ---- all of them ---- */

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

/* For how many connections, of two descriptors each, the scheduler's own leave room. */
static unsigned connections_that_fit(unsigned wanted) {
    struct rlimit files;
    rlim_t others = 16 + 2 * (rlim_t)thrum_sched_workers(thrum_sched_current());
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur / 2 >= others + wanted) {
        return wanted;
    }
    return files.rlim_cur > others + 2 ? (unsigned)(files.rlim_cur - others) / 2 : 1;
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
    struct options *options = arg;
    thrum_listen_options where = THRUM_LISTEN_OPTIONS_INIT;
    thrum_serve_options how = THRUM_SERVE_OPTIONS_INIT;
    thrum_io listener;
    where.flags = THRUM_LISTEN_REPLACE; /* the file of a UNIX socket, left by an earlier server */
    int err = thrum_listen(&listener, options->listen, &where);
    if (err == 0) {
        how.connections_max = connections_that_fit(options->connections);
        how.drain = options->drain;
        how.stop_signals = ends;
        how.started = say_where;
        err = thrum_serve(listener, pass_on, options, &how);
        thrum_io_close(listener);
    }
    return err;
}

/* ---- the command line ---- */

static bool read_seconds(thrum_time *out, const char *text) {
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds > 0 && seconds <= 1e9)) {
        return false;
    }
    *out = (thrum_time)(seconds * 1e9);
    return true;
}

static bool read_options(struct options *options, int argc, char **argv) {
    int option;
    while ((option = getopt(argc, argv, "c:t:i:d:")) != -1) {
        bool good = false;
        if (option == 'c') {
            char *end;
            long number = strtol(optarg, &end, 10);
            good = *end == '\0' && number > 0 && number <= 1000000;
            options->connections = good ? (unsigned)number : 0;
        } else if (option != '?') {
            good = read_seconds(option == 't'   ? &options->dial
                                : option == 'i' ? &options->idle
                                                : &options->drain,
                                optarg);
        }
        if (!good) {
            return false;
        }
    }
    if (argc - optind != 2) {
        return false;
    }
    options->listen = argv[optind];
    options->target = argv[optind + 1];
    return true;
}

int main(int argc, char **argv) {
    struct options options = {
        .connections = 10000, .dial = THRUM_S(10), .idle = THRUM_S(300), .drain = THRUM_S(10)};
    if (!read_options(&options, argc, argv)) {
        fputs("usage: proxy [-c CONNECTIONS] [-t SECONDS] [-i SECONDS] [-d SECONDS] LISTEN TARGET\n"
              "  -c  connections at a time; others wait (10000)\n"
              "  -t  how long reaching the target may take (10)\n"
              "  -i  how long nothing may move on a connection (300)\n"
              "  -d  how long connections may go on after SIGTERM or SIGINT (10)\n",
              stderr);
        return 2;
    }
    open_standard();
    raise_files();
    int err = thrum_run(NULL, serve, &options);
    if (err) {
        const char *why = err == -ETIMEDOUT ? "some connections were cut off" : thrum_strerror(err);
        say("proxy: %s\n", why);
    }
    return err != 0;
}
