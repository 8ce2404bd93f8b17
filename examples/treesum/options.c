/*
 * options.c: see options.h.
 */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tree.h"

enum { PARSED = -1, EXIT_USAGE = 2 };

enum { WORKERS = 256, POLICY, WINDOW, SERIAL, STATS, HELP, VERSION };

static const struct option longs[] = {
    {"follow", no_argument, NULL, 'L'},
    {"workers", required_argument, NULL, WORKERS},
    {"policy", required_argument, NULL, POLICY},
    {"window", required_argument, NULL, WINDOW},
    {"serial", no_argument, NULL, SERIAL},
    {"stats", no_argument, NULL, STATS},
    {"help", no_argument, NULL, HELP},
    {"version", no_argument, NULL, VERSION},
    {NULL, 0, NULL, 0},
};

static const char help[] =
    "Usage: treesum [OPTION]... DIR...\n"
    "Print the SHA-256 of every file below each DIR, as sha256sum does, sorted.\n"
    "\n"
    "  -L, --follow        follow symbolic links (otherwise only a DIR that is one)\n"
    "      --workers N     worker threads (default: one a CPU)\n"
    "      --policy P      sharded, fifo or global\n"
    "      --window BYTES  names of one directory to have in memory (default: 16 MiB);\n"
    "                      a longer directory is read several times\n"
    "      --serial        one file after the other, without a scheduler\n"
    "      --stats         what was done and what the workers counted, on stderr\n"
    "      --help, --version\n"
    "\n"
    "A DIR may be a file too. The exit status is 0 when everything was read and written,\n"
    "1 when something was not (and the rest was), 2 for a wrong command line.\n";

static char this_dash[] = "./-";

static int take(struct options *options, int option, const char *value);

int options_parse(struct options *options, int argc, char **argv) {
    *options = (struct options){.window = WINDOW_DEFAULT};
    thrum_config_init(&options->config);
    options->config.name = "treesum";
    int option;
    while ((option = getopt_long(argc, argv, "L", longs, NULL)) != -1) {
        int status = take(options, option, optarg);
        if (status != PARSED) {
            return status;
        }
    }
    options->paths = argv + optind;
    options->path_count = argc - optind;
    for (int i = 0; i < options->path_count; i++) {
        if (strcmp(options->paths[i], "-") == 0) {
            options->paths[i] = this_dash; /* in a list of digests "-" means stdin */
        }
    }
    if (options->path_count == 0) {
        fputs("treesum: no directory given\nTry 'treesum --help'.\n", stderr);
        return EXIT_USAGE;
    }
    return PARSED;
}

static int complain(const char *what, const char *value) {
    fprintf(stderr, "treesum: invalid %s '%s'\nTry 'treesum --help'.\n", what, value);
    return EXIT_USAGE;
}

static bool parse_number(const char *text, unsigned max, unsigned *number) {
    char *end;
    unsigned long found = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || found < 1 || found > max) {
        return false;
    }
    *number = (unsigned)found;
    return true;
}

static bool parse_policy(const char *text, thrum_policy *policy) {
    static const char *const names[] = {
        [THRUM_SHARDED] = "sharded", [THRUM_FIFO] = "fifo", [THRUM_GLOBAL] = "global"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i]) == 0) {
            *policy = (thrum_policy)i;
            return true;
        }
    }
    return false;
}

/* Prints a text that was asked for; returns the exit status. */
static int answer(const char *text) {
    return fputs(text, stdout) < 0 || fflush(stdout) != 0 ? 1 : 0;
}

static int take(struct options *options, int option, const char *value) {
    switch (option) {
    case 'L':
        options->follow = true;
        return PARSED;
    case SERIAL:
        options->serial = true;
        return PARSED;
    case STATS:
        options->stats = true;
        return PARSED;
    case WORKERS:
        return parse_number(value, THRUM_WORKERS_MAX, &options->config.workers)
                   ? PARSED
                   : complain("number of workers", value);
    case POLICY:
        return parse_policy(value, &options->config.policy) ? PARSED : complain("policy", value);
    case WINDOW:
        return parse_number(value, 1u << 30, &options->window) ? PARSED : complain("window", value);
    case HELP:
        return answer(help);
    case VERSION:
        printf("treesum of thrum %s\n", thrum_version());
        return answer("");
    default:
        fputs("Try 'treesum --help'.\n", stderr);
        return EXIT_USAGE;
    }
}
