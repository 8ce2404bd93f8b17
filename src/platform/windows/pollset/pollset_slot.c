/*
 * pollset_slot.c: see pollset_slot.h. Handles are multiples of 4. The table has them in pieces,
 * which are made as they are needed and never freed.
 */
#include "platform/windows/pollset/pollset_slot.h"

#include <stdlib.h>

#include "base/atomic.h"

#define PIECE 256u
#define PIECES 65536u /* handles are below 4 * PIECE * PIECES */
#define LOCKS 64u     /* numbers share them */

static th_slot *xpieces[PIECES];
static SRWLOCK locks[LOCKS]; /* zero: nobody has it (SRWLOCK_INIT) */

static unsigned place_of(int fd) {
    return (unsigned)fd / 4;
}

static bool is_possible(int fd) {
    return fd > 0 && place_of(fd) < PIECE * PIECES;
}

th_slot *th_slot_at(int fd) {
    const unsigned place = place_of(fd);
    if (!is_possible(fd)) {
        return NULL;
    }
    /* pairs: th_slot_for; the slots */
    th_slot *piece = th_load_acquire(&xpieces[place / PIECE]);
    return piece ? &piece[place % PIECE] : NULL;
}

th_slot *th_slot_for(int fd) {
    th_slot *found = th_slot_at(fd);
    if (found || !is_possible(fd)) {
        return found;
    }
    th_slot *piece = calloc(PIECE, sizeof *piece);
    th_slot *before = NULL;
    /* pairs: th_slot_at; the slots */
    if (piece && !th_cas_acq_rel(&xpieces[place_of(fd) / PIECE], &before, piece)) {
        free(piece); /* another thread has made it */
    }
    return th_slot_at(fd);
}

SRWLOCK *th_slot_lock(int fd) {
    return &locks[place_of(fd) % LOCKS];
}

th_set *th_set_of(const th_os_pollset *named) {
    th_slot *slot = th_slot_at(named->set);
    return slot ? th_load_acquire(&slot->xset) : NULL; /* pairs: th_os_pollset_open; the set */
}
