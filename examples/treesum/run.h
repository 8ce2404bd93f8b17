/*
 * run.h: the two ways to run. Both walk the same way (walk.h) and print the same way (output.h);
 * one does the files one after the other, one in parallel.
 */
#ifndef TREESUM_RUN_H
#define TREESUM_RUN_H

#include "options.h"
#include "progress.h"
#include "quit.h"
#include "tree.h"

/* Runs a plain loop on this thread. Returns the exit status. */
int run_serial(const struct options *options, struct tree *tree, struct progress *progress);

/*
 * Runs on a scheduler. Returns the exit status, or a negative code: it could not be started, or
 * ended early, as by a signal (`quit`).
 */
int run_parallel(const struct options *options, struct tree *tree, struct progress *progress,
                 struct quit *quit);

#endif
