/*
 * child.h: what a fork leaves behind in the child: memory as it was, and one thread.
 */
#ifndef TH_CHILD_H
#define TH_CHILD_H

/* From the first start of a scheduler on, forks are watched. Any thread. */
void th_child_watch(void);

#endif
