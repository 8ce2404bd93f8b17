/*
 * options.c: see options.h.
 */
#define _GNU_SOURCE 1
#include "options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* How much longer a request may be than its longest argument. */
enum { REQUEST_BEYOND = 65536 };

static const char usage[] =
    "usage: kv [-m BYTES] [-v BYTES] [-c N] [-i SECONDS] [-w SECONDS] [-d SECONDS] [ADDRESS]\n"
    "A server of the Redis protocol, at ADDRESS (tcp:127.0.0.1:6379).\n"
    "  -m  memory for keys and values (256m; k, m and g are units); a quarter more for long "
    "requests\n"
    "  -v  the longest key or value (16m; 512m at most)\n"
    "  -c  connections at a time (10000; fewer if the system has fewer descriptors)\n"
    "  -i  seconds until a silent client is disconnected (300)\n"
    "  -w  seconds until a client that reads no answer is disconnected (60)\n"
    "  -d  seconds for which connections continue after SIGTERM or SIGINT (5)\n";

/* Reads a number from 1 to `max`, with a unit if there may be one. Returns 0 when it is none. */
static size_t read_number(const char *text, bool has_unit, size_t max) {
    char *end;
    if (!isdigit((unsigned char)text[0])) {
        return 0;
    }
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    unsigned shift = 0;
    if (has_unit && *end != '\0') {
        int unit = tolower((unsigned char)*end++);
        shift = unit == 'k' ? 10 : unit == 'm' ? 20 : unit == 'g' ? 30 : 64;
    }
    if (errno != 0 || *end != '\0' || shift == 64 || number > max >> shift) {
        return 0;
    }
    return (size_t)number << shift;
}

static bool read_seconds(thrum_time *out, const char *text) {
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds > 0 && seconds <= 1e9)) {
        return false;
    }
    *out = (thrum_time)(seconds * 1e9);
    return true;
}

/* Takes one option. Returns whether it makes sense. */
static bool take(struct options *options, int option, const char *text) {
    enum { CONNECTIONS_MAX = 1000000 };
    const size_t value_max = (size_t)512 << 20;
    size_t number;
    switch (option) {
    case 'm':
        return (options->memory_max = read_number(text, true, SIZE_MAX)) != 0;
    case 'v':
        return (options->value_max = read_number(text, true, value_max)) != 0;
    case 'c':
        number = read_number(text, false, CONNECTIONS_MAX);
        options->connections = (unsigned)number;
        return number != 0;
    default:
        return read_seconds(option == 'i'   ? &options->idle
                            : option == 'w' ? &options->patience
                                            : &options->drain,
                            text);
    }
}

int options_parse(struct options *options, int argc, char **argv) {
    int option;
    *options = (struct options){.address = "tcp:127.0.0.1:6379",
                                .memory_max = (size_t)256 << 20,
                                .value_max = (size_t)16 << 20,
                                .connections = 10000,
                                .idle = THRUM_S(300),
                                .patience = THRUM_S(60),
                                .drain = THRUM_S(5)};
    while ((option = getopt(argc, argv, "m:v:c:i:w:d:h")) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            return 0;
        }
        if (option == '?' || !take(options, option, optarg)) {
            fputs(usage, stderr);
            return 2;
        }
    }
    if (argc - optind > 1) {
        fputs(usage, stderr);
        return 2;
    }
    options->request_max = options->value_max + REQUEST_BEYOND;
    /* One of them fits at any rate, also while its buffer grows. */
    options->requests_max = options->memory_max / 4;
    if (options->requests_max < 2 * options->request_max) {
        options->requests_max = 2 * options->request_max;
    }
    options->address = optind < argc ? argv[optind] : options->address;
    return -1;
}
