/*
 * gate.h: plain threads that take a step when they are told to. Their sleeps in the library are
 * here (th_os_futex_wait and _wake are replaced at the link), so that the driver knows when a
 * thread has come back or is blocked, and deadlines are those of the time that stands still.
 */
#ifndef GATE_H
#define GATE_H

#include <stdbool.h>
#include <stdint.h>

/* Starts so many threads; each calls `life(number)`. Ends them: gate_turn returns false. */
void gate_begin(int count, void (*life)(int number));
void gate_end(void);

/* By a thread: rests until it is its turn. False: it is to end. */
bool gate_turn(int number);

/* It is the thread's turn, which must rest. */
void gate_go(int number);

/* Waits until every thread rests or is blocked; a number that changes when one goes on. */
long gate_settle(void);
long gate_moves(void);

/* The time has been set: whose deadline has passed is not blocked any more. */
void gate_time_is(int64_t now);

#endif
