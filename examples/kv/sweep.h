/*
 * sweep.h: when to look for keys whose deadline has passed: ten times a second while there is a key
 * with a deadline, else not at all.
 */
#ifndef KV_SWEEP_H
#define KV_SWEEP_H

#include <stddef.h>

/* There is one key with a deadline more, or so many fewer. They never suspend. */
void sweep_more(void);
void sweep_less(size_t gone);

/* Waits until it is time to look. Returns 0, or -ECANCELED. */
int sweep_wait(void);

#endif
