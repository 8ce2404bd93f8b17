/*
 * atfork.h: the child after a fork of the process: memory as it was, and one thread.
 */
#ifndef TH_ATFORK_H
#define TH_ATFORK_H

#include "base/cc.h"

/* For start: forks are watched from the first start of a scheduler on. Any thread. */
void th_atfork_watch(void);

/* Has this called in the child as well, where no other thread is: one function for each layer. */
void th_atfork_in_child(void (*fn)(void));

/* How often the process has forked since the first watch. */
uint32_t th_atfork_count(void);

#endif
