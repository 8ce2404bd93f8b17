/*
 * writer.h: the writing side, for callers other than its public functions.
 */
#ifndef TH_WRITER_H
#define TH_WRITER_H

#include "stream/side.h"

/* By the call inside: writes the buffer's contents. 0 or a code. */
int th_writer_flush(th_stream *stream, thrum_time deadline);

/*
 * By the call inside: n bytes were put into the buffer, the last ones there. Writes them if the
 * stream's mode requires it; bytes that cannot be written now stay, unless the error sticks. n or
 * that error.
 */
int64_t th_writer_added(th_stream *stream, size_t n, thrum_time deadline);

#endif
