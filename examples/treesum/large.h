/*
 * large.h: hashes one large file while it is read.
 *
 * Its desk's buffer has two halves. One call on the blocking pool reads the whole file, into the
 * halves in turn; the task hashes the one that is full. Two semaphores count the full halves and
 * the empty ones.
 */
#ifndef TREESUM_LARGE_H
#define TREESUM_LARGE_H

#include "hash.h"

/*
 * Waits for a desk, then starts on the file; what comes of it stands in the item when `unfinished`
 * of the batch, to which the caller has added 1 for it, is done with it. Tasks only.
 */
void large_start(struct batch *batch, struct item *item, const struct dir *dir);

#endif
