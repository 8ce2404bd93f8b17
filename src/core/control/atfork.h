/*
 * atfork.h: what a fork of the process leaves in the child: memory as it was, and one thread.
 */
#ifndef TH_ATFORK_H
#define TH_ATFORK_H

/* For start: forks are watched from the first start of a scheduler on. Any thread. */
void th_atfork_watch(void);

#endif
