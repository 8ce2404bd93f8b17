/*
 * writer.h: the writing side, for those that are not its public calls.
 */
#ifndef TH_WRITER_H
#define TH_WRITER_H

#include "stream/side.h"

/* By the call inside: writes what is in the buffer. 0 or a code. */
int th_writer_flush(th_stream *stream, thrum_time deadline);

/*
 * By the call inside: n bytes were put into the buffer, the last ones there. Writes them if the
 * stream says so; what cannot be written now stays, unless the error sticks. n or that error.
 */
int64_t th_writer_added(th_stream *stream, size_t n, thrum_time deadline);

#endif
