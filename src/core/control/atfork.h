/*
 * atfork.h: what a fork leaves behind in the child: memory as it was, and one thread.
 */
#ifndef TH_ATFORK_H
#define TH_ATFORK_H

/* For start: from the first one of a scheduler on, forks are watched. Any thread. */
void th_atfork_watch(void);

#endif
