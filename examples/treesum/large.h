/*
 * large.h: hashes one large file while it is read.
 *
 * The desk's buffer has two halves. A task reads the file into them in turn; the hasher hashes the
 * full one. Two semaphores count the full halves and the empty ones.
 */
#ifndef TREESUM_LARGE_H
#define TREESUM_LARGE_H

#include "hash.h"

/* Puts the result into the item. Returns 0, or -ECANCELED. Only tasks call it. */
int hash_large(struct hashing *hashing, const struct job *job, struct desk *desk);

#endif
