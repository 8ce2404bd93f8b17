/*
 * main.c: treesum, a parallel sha256sum over directory trees. README.md explains how it works.
 */
#include <stdio.h>

#include "options.h"
#include "progress.h"
#include "run.h"
#include "system.h"
#include "tree.h"

static unsigned quarter_of_files(void);
static void print_summary(struct progress *progress);

int main(int argc, char **argv) {
    struct options options;
    system_begin(&argc, &argv);
    int status = options_parse(&options, argc, argv);
    if (status >= 0) {
        return status;
    }
    struct quit quit = {.signal = 0};
    if (!options.serial) {
        quit_prepare(&quit); /* before any thread is started */
    }

    unsigned share = quarter_of_files();
    unsigned readers = share > 128 ? 128 : share; /* two files each, at most */
    if (options.config.blocking_threads_max > readers) {
        options.config.blocking_threads_max = readers;
    }
    struct tree tree;
    tree_init(&tree, options.follow, options.window, (int)share);
    struct progress progress;
    progress_start(&progress);
    status = options.serial ? run_serial(&options, &tree, &progress)
                            : run_parallel(&options, &tree, &progress, &quit);
    progress_end(&progress);
    tree_end(&tree);
    if (quit.signal != 0) {
        quit_die(quit.signal);
    }
    if (status < 0) {
        fprintf(stderr, "treesum: %s\n", thrum_strerror(status));
        return 1;
    }
    if (options.stats) {
        print_summary(&progress);
    }
    return status;
}

/* A quarter of the files that this process may have open beside a few. */
static unsigned quarter_of_files(void) {
    unsigned files = system_files_max();
    return files > 2080 ? 512 : files > 48 ? (files - 32) / 4 : 4;
}

/* A figure a line, for people and scripts. */
static void print_summary(struct progress *progress) {
    fprintf(stderr, "%-24s %llu\n", "files", atomic_load(&progress->xfiles));
    fprintf(stderr, "%-24s %llu\n", "bytes", atomic_load(&progress->xbytes));
    fprintf(stderr, "%-24s %.3f\n", "seconds", (double)(thrum_now() - progress->start) / 1e9);
    fprintf(stderr, "%-24s %llu\n", "peak_rss_kib", system_peak_kib());
}
