/*
 * loop.h: a worker's loop, on whichever fiber it is.
 */
#ifndef TH_LOOP_H
#define TH_LOOP_H

/* The body of every fiber; never returns. */
void th_loop(void *fiber);

#endif
