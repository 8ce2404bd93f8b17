/*
 * run.h: the two ways to do it. Both walk the same way (walk.h) and print the same way (output.h),
 * so that they can differ only in what they are: one after the other, or at once.
 */
#ifndef TREESUM_RUN_H
#define TREESUM_RUN_H

#include "options.h"
#include "progress.h"
#include "quit.h"
#include "tree.h"

/* A plain loop on this thread. Returns the exit status. */
int run_serial(const struct options *options, struct tree *tree, struct progress *progress);

/*
 * On a scheduler. Returns the exit status, or a negative code: it could not be started, or ended
 * early, as by a signal (`quit`).
 */
int run_parallel(const struct options *options, struct tree *tree, struct progress *progress,
                 struct quit *quit);

#endif
