/*
 * unread.h: stderr as a pipe that is full and that nobody reads.
 */
#ifndef UNREAD_H
#define UNREAD_H

#include "support/support.h"

/* The parts that differ between systems: unread_fill. */
#if defined(_WIN32)
#include "windows/unread.h"
#else
#include "posix/unread.h"
#endif

typedef struct unread {
    int kept; /* stderr before */
    int ends[2];
} unread;

CHECK_UNUSED static void unread_begin(unread *u) {
    CHECK_EQ(pipe(u->ends), 0);
    u->kept = dup(STDERR_FILENO);
    CHECK(u->kept >= 0);
    unread_fill(u->ends[1]);
    CHECK_EQ(dup2(u->ends[1], STDERR_FILENO), STDERR_FILENO);
}

CHECK_UNUSED static void unread_end(unread *u) {
    CHECK_EQ(dup2(u->kept, STDERR_FILENO), STDERR_FILENO);
    close(u->kept);
    close(u->ends[0]);
    close(u->ends[1]);
}

#endif
