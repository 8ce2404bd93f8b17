/*
 * ring.h: transfers of files that the system makes without a thread (platform/ring.h); the states,
 * the protocol and the argument are in file/README.md.
 *
 * A ring belongs to the thread of one worker, which alone puts transfers into it. The thread that
 * polls the set that it is in takes their completions, with the ring's lock.
 */
#ifndef TH_FILE_RING_H
#define TH_FILE_RING_H

#include "file/operation.h"

/*
 * Has the transfer of an operation made by the ring of the calling worker, or by a thread if it is
 * full, and waits; *code as of th_file_pool_ask. False: there is no ring here; nothing was begun.
 */
bool th_ring_ask(th_operation *operation, thrum_time deadline, int *code);

/* Figures for tests: transfers that were put into rings, and rings that are open. */
uint64_t th_ring_transfers(void);
unsigned th_rings_open(void);

#endif
