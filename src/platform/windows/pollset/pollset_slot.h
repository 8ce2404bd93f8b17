/*
 * pollset_slot.h: the record of a descriptor's number: its set, or the sets of which it is a
 * member.
 */
#ifndef TH_WINDOWS_POLLSET_SLOT_H
#define TH_WINDOWS_POLLSET_SLOT_H

#include "platform/windows/pollset/pollset.h"

typedef struct th_slot {
    th_member *xmembers; /* written with its lock; NULL is read without */
    th_set *xset;        /* whose number it is */
} th_slot;

/* NULL: nothing was ever known of the number. */
th_slot *th_slot_at(int fd);
/* NULL: there is no memory. */
th_slot *th_slot_for(int fd);
/* The lock of its members, which others may share. It is taken before that of a set. */
SRWLOCK *th_slot_lock(int fd);

#endif
