/*
 * stream_state.h: a stream: a descriptor, or calls, and a side for each direction.
 *
 * A side's fields belong to the call that is inside (side.h); a call of the other side never
 * touches them.
 */
#ifndef TH_STREAM_STATE_H
#define TH_STREAM_STATE_H

#include "base/cc.h"
#include "stream/buffer.h"
#include "thrum/mutex.h"
#include "thrum/stream.h"

typedef struct th_side {
    th_buffer buffer;
    size_t size;    /* constant: the bytes of the buffer */
    uint32_t xbusy; /* a call is inside; not kept where the stream is shared */
    int32_t error;  /* the error that sticks, or 0 */
} th_side;

#define TH_READING 0u
#define TH_WRITING 1u

/* The streams of the process are opened late; the others are numbered 0. */
typedef enum th_standard { TH_OWN, TH_STDIN, TH_STDOUT, TH_STDERR } th_standard;

typedef struct th_stream {
    union {
        thrum_io io; /* {0}: a stream of the process that is not open yet */
        void *ctx;   /* the argument of the calls, if there are any */
    };
    const thrum_stream_calls *calls; /* constant: NULL, it lies over the descriptor */
    thrum_mutex *locks;              /* constant: one for each side, NULL: it is not shared */
    th_side sides[2];                /* reading, writing */
    uint8_t open;                    /* constant from the open to the close */
    uint8_t keep_io;                 /* constant */
    uint8_t standard;                /* constant: a th_standard */
    uint8_t flush;                   /* THRUM_FLUSH_..., the writer's */
    bool ended;                      /* the reader's: the last read has met the end */
} th_stream;

_Static_assert(sizeof(th_stream) <= sizeof(thrum_stream), "lies in the public struct");
_Static_assert(_Alignof(th_stream) <= _Alignof(thrum_stream), "lies in the public struct");

#define TH_STREAM_SIZE ((size_t)8192)

/* Whether it can be used in this direction at all: streams of the process have one. */
static inline bool th_stream_has(const th_stream *stream, unsigned side) {
    return !stream->standard || side == (stream->standard != TH_STDIN);
}

static inline th_stream *th_stream_of(thrum_stream *stream) {
    return (th_stream *)(void *)stream;
}

#endif
