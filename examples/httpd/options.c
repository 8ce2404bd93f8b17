/*
 * options.c: see options.h. Each option with a number or a time is a line of a table.
 */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

enum { PARSED = -1, EXIT_USAGE = 2 };

enum { MEMORY_MAX = 1 << 30, SECONDS_MAX = 86400 };

static const char help[] =
    "Usage: httpd [OPTION]... [ROOT]\n"
    "Serve the files below ROOT over HTTP/1.1, and /hello, /echo and /metrics.\n"
    "\n"
    "  -a, --address ADDRESS  where to listen (tcp:127.0.0.1:8080)\n"
    "      --tls CHAIN KEY    over TLS: PEM files, read again at SIGHUP\n"
    "  -q, --quiet            no access log on stdout\n"
    "  -n, --workers N        worker threads (one a CPU)\n"
    "  -c, --connections N    at a time; more wait until they are accepted (10000)\n"
    "      --head BYTES       of a request line with its fields and trailers (16384);\n"
    "                         64 at least. A path has at most 1023 bytes, whatever this is\n"
    "      --body BYTES       of a request's body (1048576)\n"
    "      --bodies BYTES     of all bodies in memory at a time (67108864)\n"
    "      --head-time S      seconds until a request's head is complete (10)\n"
    "      --body-time S      ... and its body (30)\n"
    "      --write-time S     ... until the peer has taken 64 KiB of an answer (10)\n"
    "      --idle-time S      ... between two requests (60)\n"
    "      --drain-time S     ... for begun requests after SIGTERM or SIGINT (10)\n"
    "      --linger-time S    ... to read on after a refusal, so that the answer arrives (30)\n"
    "      --linger-idle-time S  ... the same, while nothing arrives (5)\n"
    "      --trace FILE       where to write the last events of the workers at the end\n"
    "      --help\n"
    "\n"
    "The exit status is 0 if all begun requests were answered, 1 if something failed, 2 for a\n"
    "wrong command line.\n";

/* Long options without a letter, in the order of the table. */
enum {
    HEAD = 256,
    BODY,
    BODIES,
    HEAD_TIME,
    BODY_TIME,
    WRITE_TIME,
    IDLE_TIME,
    DRAIN_TIME,
    LINGER_TIME,
    LINGER_IDLE_TIME,
    TLS,
    TRACE,
    HELP
};

static const struct option longs[] = {
    {"address", required_argument, NULL, 'a'},
    {"quiet", no_argument, NULL, 'q'},
    {"workers", required_argument, NULL, 'n'},
    {"connections", required_argument, NULL, 'c'},
    {"head", required_argument, NULL, HEAD},
    {"body", required_argument, NULL, BODY},
    {"bodies", required_argument, NULL, BODIES},
    {"head-time", required_argument, NULL, HEAD_TIME},
    {"body-time", required_argument, NULL, BODY_TIME},
    {"write-time", required_argument, NULL, WRITE_TIME},
    {"idle-time", required_argument, NULL, IDLE_TIME},
    {"drain-time", required_argument, NULL, DRAIN_TIME},
    {"linger-time", required_argument, NULL, LINGER_TIME},
    {"linger-idle-time", required_argument, NULL, LINGER_IDLE_TIME},
    {"tls", required_argument, NULL, TLS},
    {"trace", required_argument, NULL, TRACE},
    {"help", no_argument, NULL, HELP},
    {NULL, 0, NULL, 0},
};

static int take(struct options *options, int option, const char *value);

/* The option has two values, of which getopt knows the first one. */
static int take_files(struct options *options, int argc, char **argv) {
    options->chain = optarg;
    if (optind == argc) {
        fputs("httpd: --tls without a KEY\nTry 'httpd --help'.\n", stderr);
        return EXIT_USAGE;
    }
    options->key = argv[optind++];
    return PARSED;
}

int options_parse(struct options *options, int argc, char **argv) {
    int option;
    *options = (struct options){.address = "tcp:127.0.0.1:8080",
                                .connections = 10000,
                                .head = 16384,
                                .body = 1 << 20,
                                .bodies = 64 << 20,
                                .head_time = THRUM_S(10),
                                .body_time = THRUM_S(30),
                                .write_time = THRUM_S(10),
                                .idle_time = THRUM_S(60),
                                .drain_time = THRUM_S(10),
                                .linger_time = THRUM_S(30),
                                .linger_idle_time = THRUM_S(5)};
    while ((option = getopt_long(argc, argv, "a:qn:c:", longs, NULL)) != -1) {
        int status =
            option == TLS ? take_files(options, argc, argv) : take(options, option, optarg);
        if (status != PARSED) {
            return status;
        }
    }
    if (argc - optind > 1) {
        fputs("httpd: more than one ROOT\nTry 'httpd --help'.\n", stderr);
        return EXIT_USAGE;
    }
    options->root = argv[optind];
    return PARSED;
}

static int complain(const char *value, const char *range) {
    fprintf(stderr, "httpd: invalid number '%s': it must be %s\nTry 'httpd --help'.\n", value,
            range);
    return EXIT_USAGE;
}

/* A whole number from `min` to `max`. */
static int parse_size(const char *text, size_t min, size_t max, size_t *size) {
    char *end;
    unsigned long long found = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || found < min || found > max) {
        char range[64];
        snprintf(range, sizeof range, "from %zu to %zu", min, max);
        return complain(text, range);
    }
    *size = (size_t)found;
    return PARSED;
}

/* Seconds, with a fraction if need be. */
static int parse_time(const char *text, thrum_time *time) {
    char *end;
    double found = strtod(text, &end);
    if ((*text < '0' || *text > '9') || *end != '\0' || !(found > 0 && found <= SECONDS_MAX)) {
        return complain(text, "above 0, and at most 86400 seconds");
    }
    *time = (thrum_time)(found * 1e9);
    return PARSED;
}

static int take_workers(struct options *options, const char *value) {
    size_t workers = 0;
    int status = parse_size(value, 1, THRUM_WORKERS_MAX, &workers);
    options->workers = (unsigned)workers;
    return status;
}

static int take(struct options *options, int option, const char *value) {
    switch (option) {
    case 'a':
        options->address = value;
        return PARSED;
    case 'q':
        options->quiet = true;
        return PARSED;
    case TRACE:
        options->trace = value;
        return PARSED;
    case 'n':
        return take_workers(options, value);
    case 'c':
        return parse_size(value, 1, 1000000, &options->connections);
    case HEAD:
        return parse_size(value, 64, MEMORY_MAX, &options->head);
    case BODY:
        return parse_size(value, 0, MEMORY_MAX, &options->body);
    case BODIES:
        return parse_size(value, 0, (size_t)1 << 40, &options->bodies);
    case HEAD_TIME:
        return parse_time(value, &options->head_time);
    case BODY_TIME:
        return parse_time(value, &options->body_time);
    case WRITE_TIME:
        return parse_time(value, &options->write_time);
    case IDLE_TIME:
        return parse_time(value, &options->idle_time);
    case DRAIN_TIME:
        return parse_time(value, &options->drain_time);
    case LINGER_TIME:
        return parse_time(value, &options->linger_time);
    case LINGER_IDLE_TIME:
        return parse_time(value, &options->linger_idle_time);
    case HELP:
        return fputs(help, stdout) < 0 || fflush(stdout) != 0 ? 1 : 0;
    default:
        fputs("Try 'httpd --help'.\n", stderr);
        return EXIT_USAGE;
    }
}
