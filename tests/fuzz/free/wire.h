/*
 * wire.h: pipes and pairs of sockets that all runners of a free run read, write, shut down and
 * close, and the model of their bytes.
 *
 *   wire     two ends, or three where the second has a duplicate; replaced by a new one now and
 *            then, so that numbers come again
 *   lane     the bytes of one direction: what the first end writes, or what it reads
 *   writer   one of a few sequences of bytes on a lane. One call at a time goes on with it, where
 *            the last one has ended, also when it was cut short
 *
 * A byte has its writer's number and its place in the sequence, modulo PLACES. So each piece that
 * is read tells whether bytes are lost, doubled or out of order; where one call at a time reads, it
 * also tells whether a write was torn by another one.
 */
#ifndef WIRE_H
#define WIRE_H

#include <stdatomic.h>

#include "fuzz/fuzz.h"

enum { ENDS = 3, WRITERS = 4, PLACES = 64, MARKS = 64, WIRE_BYTES = 6000 };

typedef struct writer {
    atomic_bool busy; /* a call goes on with it; protects the next three */
    long written;
    int marks;
    long ends[MARKS]; /* where calls have ended */

    long read; /* protected by the lane's `reading`, with the next two */
    int cuts_count;
    long cuts[MARKS]; /* where bytes of another one followed */

    atomic_long places[PLACES]; /* bytes read; where several calls read at a time */
} writer;

typedef struct lane {
    bool many;                 /* several calls may read at a time */
    atomic_bool reading;       /* not many: one does */
    int last;                  /* protected by that: whose byte was the last; -1: none yet */
    atomic_long written, read; /* bytes of calls that have ended */
    writer writers[WRITERS];
} lane;

typedef struct wire_end {
    thrum_io io;
    atomic_bool closing; /* set before it is closed */
    atomic_bool closed;  /* set when the close has returned */
    atomic_bool shut[2]; /* set before that direction is shut down: reading, writing */
} wire_end;

typedef struct wire {
    atomic_int users;
    bool is_pipe;
    int ends_count;
    wire_end ends[ENDS]; /* the first; the second, with its duplicate */
    lane lanes[2];       /* what the first end writes; what it reads (not of a pipe) */
} wire;

/* Makes the wire with this number: a pipe or a pair of sockets. It has one user. */
wire *wire_make(int number);
/* A user goes. The last one has it checked: NULL, or what is wrong. The caller has closed it. */
const char *wire_leave(wire *w);

/* Whether the end writes on its lane (`writes`), or reads there, and that lane. */
lane *wire_lane(wire *w, int e, bool writes);
/* Whether a call of this end may find that its lane has ended, or nobody reads any more. */
bool wire_has_ended(const wire *w, int e, bool writes);
/* Whether the other side is closed, or about to be. */
bool wire_is_left(const wire *w, int e);

/* Takes one of a lane's writers, and puts the bytes that follow into `to`; NULL: all are taken. */
writer *wire_write_begin(lane *l, int first, uint8_t *to, size_t size);
/* The call has written n bytes of them, none if n < 0. */
void wire_write_end(lane *l, writer *own, int64_t n);

/* False: another call reads, and it must not be disturbed. */
bool wire_read_begin(lane *l);
/* For the one that reads: whether bytes lie there, which no other call can take. */
bool wire_has_bytes(const lane *l);
/* The call has read n bytes, none if n < 0. Returns NULL, or what is wrong with them. */
const char *wire_read_end(lane *l, const uint8_t *bytes, int64_t n);

/* Closes the end, unless another thread does; gives the number back by hand if it is to. */
int wire_close(wire *w, int e, bool releases);
/* Closes what is open of the wire. Returns 0, or a close's code. */
int wire_close_all(wire *w);
/*
 * By a fiber, the only user: if the wire is whole, another fiber writes once more, and ends the
 * lane, and this one reads it all. NULL: nothing is lost, and no call waits for nothing.
 */
const char *wire_drain(wire *w);

/* How many descriptors the process has: all, or only pipes and sockets. */
int wire_descriptors(bool all);

#endif
