/*
 * gather.c: see gather.h.
 */
#include "stream/gather.h"

#include <errno.h>
#include <string.h>

#include "stream/standard.h"

/*
 * Whether the end that the last read has met still holds. With bytes in the buffer it does, since
 * another read might have to wait. Past its deadline a call reads nothing, so its known end holds:
 * a caller that takes lines as long as there are any learns that none will follow.
 */
static bool at_end(const th_stream *stream, thrum_time deadline) {
    return stream->ended &&
           (th_buffer_length(&stream->sides[TH_READING].buffer) || deadline <= thrum_now());
}

int64_t th_gather_past(th_stream *stream, void *to, size_t size, thrum_time deadline) {
    if (th_unlikely(at_end(stream, deadline))) {
        return 0;
    }
    if (th_unlikely(stream->standard == TH_STDIN)) {
        th_standard_prompt(deadline);
    }
    int64_t n = th_side_read(stream, to, size, deadline);
    if (n >= 0) {
        stream->ended = size && !n;
    }
    return n;
}

/* Has more bytes in the buffer, `length` in all if they fit: how many, 0 at the end, or a code. */
static int64_t more(th_stream *stream, th_side *side, size_t length, thrum_time deadline) {
    th_buffer *buffer = &side->buffer;
    if (th_unlikely(at_end(stream, deadline))) {
        return 0; /* no memory is needed for it */
    }
    int64_t n = th_buffer_reserve(buffer, length, side->size);
    if (!n) {
        n = th_gather_past(stream, buffer->at + buffer->tail, th_buffer_room(buffer), deadline);
    }
    if (n > 0) {
        buffer->tail += (size_t)n;
    }
    return n;
}

int64_t th_gather(th_stream *stream, th_side *side, size_t n, thrum_time deadline) {
    int64_t got = 1;
    while (th_buffer_length(&side->buffer) < n && got > 0) {
        got = more(stream, side, n, deadline);
    }
    return got;
}

int64_t th_gather_to(th_stream *stream, th_side *side, int delimiter, size_t limit,
                     thrum_time deadline) {
    const th_buffer *buffer = &side->buffer;
    size_t seen = 0;
    int64_t got;
    do {
        const size_t there = th_buffer_length(buffer);
        const size_t n = there < limit ? there : limit;
        const char *first = th_buffer_first(buffer);
        const char *found = n > seen ? memchr(first + seen, delimiter, n - seen) : NULL;
        if (found) {
            return found - first + 1;
        }
        if (there >= limit) {
            return -EMSGSIZE;
        }
        seen = n;
        const bool full = there && there == buffer->capacity;
        const size_t twice = there < limit / 2 ? 2 * there : limit;
        got = more(stream, side, full ? twice : there + 1, deadline);
    } while (got > 0);
    return got;
}
