/*
 * main.c: treesum, a parallel sha256sum over directory trees. README.md says how it works.
 */
#define _GNU_SOURCE 1
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "options.h"
#include "progress.h"
#include "run.h"
#include "tree.h"

enum { EXIT_USAGE = 2 };

static int parse(struct options *options, int argc, char **argv);
static void print_summary(struct progress *progress);

static const char help[] =
    "Usage: treesum [OPTION]... DIR...\n"
    "Print the SHA-256 of every file below each DIR, as sha256sum does, sorted.\n"
    "\n"
    "  -L, --follow        follow symbolic links (otherwise only a DIR that is one)\n"
    "      --workers N     worker threads (default: one a CPU)\n"
    "      --policy P      sharded, fifo or global\n"
    "      --serial        one file after the other, without a scheduler\n"
    "      --stats         what was done and what the workers counted, on stderr\n"
    "      --help, --version\n"
    "\n"
    "A DIR may be a file too. The exit status is 0 when everything was read and written,\n"
    "1 when something was not (and the rest was), 2 for a wrong command line.\n";

int main(int argc, char **argv) {
    struct options options = {0};
    thrum_config_init(&options.config);
    options.config.name = "treesum";
    int status = parse(&options, argc, argv);
    if (status >= 0) {
        return status;
    }
    signal(SIGPIPE, SIG_IGN); /* a reader that has gone is a write error */

    /* Half of the files that may be open are for threads that read (two each), a quarter for
     * directories that are kept open. */
    struct rlimit files = {.rlim_cur = 256};
    getrlimit(RLIMIT_NOFILE, &files);
    long share = files.rlim_cur > 4096 ? 1024 : (long)files.rlim_cur / 4;
    options.config.blocking_threads_max = share > 128 ? 128 : share > 16 ? (unsigned)share - 8 : 8;

    struct tree tree;
    tree_init(&tree, options.follow, (int)(share > 512 ? 512 : share));
    struct progress progress;
    progress_start(&progress);
    status = options.serial ? run_serial(&options, &tree, &progress)
                            : run_parallel(&options, &tree, &progress);
    progress_end(&progress);
    if (status < 0) {
        fprintf(stderr, "treesum: %s\n", thrum_strerror(status));
        return 1;
    }
    if (options.stats) {
        print_summary(&progress);
    }
    return status;
}

static int complain(const char *option, const char *value) {
    fprintf(stderr, "treesum: invalid %s '%s'\nTry 'treesum --help'.\n", option, value);
    return EXIT_USAGE;
}

static bool parse_workers(const char *text, unsigned *workers) {
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || number < 1 || number > THRUM_WORKERS_MAX) {
        return false;
    }
    *workers = (unsigned)number;
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

/* Returns -1 to go on, else the exit status. */
static int parse(struct options *options, int argc, char **argv) {
    enum { WORKERS = 256, POLICY, SERIAL, STATS, HELP, VERSION };
    static const struct option longs[] = {
        {"follow", no_argument, NULL, 'L'},          {"workers", required_argument, NULL, WORKERS},
        {"policy", required_argument, NULL, POLICY}, {"serial", no_argument, NULL, SERIAL},
        {"stats", no_argument, NULL, STATS},         {"help", no_argument, NULL, HELP},
        {"version", no_argument, NULL, VERSION},     {NULL, 0, NULL, 0}};
    int found;
    while ((found = getopt_long(argc, argv, "L", longs, NULL)) != -1) {
        switch (found) {
        case 'L':
            options->follow = true;
            break;
        case WORKERS:
            if (!parse_workers(optarg, &options->config.workers)) {
                return complain("number of workers", optarg);
            }
            break;
        case POLICY:
            if (!parse_policy(optarg, &options->config.policy)) {
                return complain("policy", optarg);
            }
            break;
        case SERIAL:
            options->serial = true;
            break;
        case STATS:
            options->stats = true;
            break;
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
    options->paths = argv + optind;
    options->path_count = argc - optind;
    if (options->path_count == 0) {
        fputs("treesum: no directory given\nTry 'treesum --help'.\n", stderr);
        return EXIT_USAGE;
    }
    return -1;
}

/* A figure a line, for people and scripts. */
static void print_summary(struct progress *progress) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    fprintf(stderr, "%-24s %llu\n", "files", atomic_load(&progress->xfiles));
    fprintf(stderr, "%-24s %llu\n", "bytes", atomic_load(&progress->xbytes));
    fprintf(stderr, "%-24s %.3f\n", "seconds", (double)(thrum_now() - progress->start) / 1e9);
    fprintf(stderr, "%-24s %ld\n", "peak_rss_kib", usage.ru_maxrss);
}
