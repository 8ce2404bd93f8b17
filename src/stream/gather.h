/*
 * gather.h: having bytes in the buffer of the reading side, by the call that is inside.
 *
 * Data that a call needs as a whole is gathered there, and taken when it is complete, so nothing is
 * lost if the call ends earlier.
 */
#ifndef TH_GATHER_H
#define TH_GATHER_H

#include "stream/side.h"

/* Has at least n bytes there: 1, 0 if the end comes before, or a code. */
int64_t th_gather(th_stream *stream, th_side *side, size_t n, thrum_time deadline);

/*
 * Has bytes there up to the delimiter: returns how many, at most `limit`; 0 if the end comes
 * before; or a code, -EMSGSIZE if it is not among the first `limit`.
 */
int64_t th_gather_to(th_stream *stream, th_side *side, int delimiter, size_t limit,
                     thrum_time deadline);

/* Reads past the buffer, as thrum_read_until. */
int64_t th_gather_past(th_stream *stream, void *to, size_t size, thrum_time deadline);

#endif
