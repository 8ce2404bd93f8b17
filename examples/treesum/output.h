/*
 * output.h: turns items, in order, into the lines on stdout and stderr, and frees their contents.
 *
 * It belongs to one fiber or thread. Writing may block: from a fiber it goes through
 * thrum_blocking.
 */
#ifndef TREESUM_OUTPUT_H
#define TREESUM_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "progress.h"
#include "walk.h"

struct output {
    struct tree *tree;
    struct progress *progress;
    bool failed;      /* something was reported on stderr: exit status 1 */
    bool broken;      /* stdout does not accept data any longer */
    bool is_terminal; /* stdout: nothing is held back */

    char *path; /* of the present directory, with a slash at its end; then of the present item */
    size_t path_size, path_max;

    char *buffer; /* for stdout */
    size_t used;
};

void output_init(struct output *output, struct tree *tree, struct progress *progress);

/* Prints the next item. After a write error (`broken`) the tree is stopped. */
void output_item(struct output *output, const struct item *item);

/* Writes the lines that are still held back. */
void output_flush(struct output *output);

/* Called before waiting for more: on a terminal, a user may be reading. */
void output_pause(struct output *output);

void output_end(struct output *output);

#endif
