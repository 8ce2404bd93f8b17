/*
 * gate.h: plain threads that take a step when they are told to. They sleep here when they sleep in
 * the library (th_os_futex_wait and _wake are replaced at the link), so that the driver knows when
 * a thread has come back or is blocked, and deadlines are those of the time that stands still.
 */
#ifndef GATE_H
#define GATE_H

#include <stdbool.h>
#include <stdint.h>

/* Starts so many threads; each calls `life(number)`. At gate_end their gate_turn returns false. */
void gate_begin(int count, void (*life)(int number));
void gate_end(void);

/* Called by a thread: rests until its turn. False: it is to end. */
bool gate_turn(int number);

/* Gives the turn to the thread, which must rest. */
void gate_go(int number);

/* Waits until every thread rests or is blocked; returns a number that changes when one goes on. */
long gate_settle(void);
long gate_moves(void);

/* The time has been set: unblocks the threads whose deadlines have passed. */
void gate_time_is(int64_t now);

#endif
