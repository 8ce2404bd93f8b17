/*
 * log.h: what a replica must not forget: the requests that it has accepted, its term and its vote.
 * They are in memory and in one file, to which changes are appended. A change is on the disk when
 * its call returns. After an error, the file is in doubt, and the replica must stop.
 */
#ifndef KV_LOG_H
#define KV_LOG_H

#include <thrum.h>

#include "text.h"

enum { REQUEST_MAX = 1000 }; /* the longest request, in bytes */

struct entry {
    uint64_t term; /* that of the leader that has taken the request */
    size_t size;
    char request[];
};

/* Opens the file, or makes an empty one. Returns 0 with the term and the vote (0: none), or an
   error code. */
int log_open(const char *path, uint64_t *term, unsigned *vote);

/* Returns the index of the last entry; the first one has the index 1. */
uint32_t log_last(void);

/* Returns an entry that is there. */
const struct entry *log_at(uint32_t index);

/* Returns the term of an entry that is there; 0 for the index 0. */
uint64_t log_term(uint32_t index);

/* Puts an entry there, and removes all that were there or behind it. */
int log_put(uint32_t index, uint64_t term, struct text request);

/* Keeps the term and the vote. Without `sync`, a loss of power may undo it. */
int log_vote(uint64_t term, unsigned vote, bool sync);

#endif
