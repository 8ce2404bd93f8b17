/*
 * stream_over.c: streams over calls in place of a descriptor: here a place in memory.
 */
/* matrix: policy workers */
#include "support/io/streams.h"

/* What was written is what is read; each call is counted. */
typedef struct place {
    char bytes[64];
    size_t head, tail;
    int reads, writes, closes;
    unsigned parts; /* of the last write */
    int64_t code;   /* what the next calls return, if it is not 0 */
    thrum_time deadline;
} place;

static int64_t place_read(void *ctx, void *to, size_t size, thrum_time deadline) {
    place *p = ctx;
    const size_t there = p->tail - p->head;
    const size_t n = size < there ? size : there;
    p->reads++;
    p->deadline = deadline;
    if (p->code) {
        return p->code;
    }
    memcpy(to, p->bytes + p->head, n);
    p->head += n;
    return (int64_t)n;
}

static int64_t place_write(void *ctx, const thrum_iovec *parts, unsigned n, thrum_time deadline) {
    place *p = ctx;
    int64_t sum = 0;
    p->writes++;
    p->parts = n;
    p->deadline = deadline;
    for (unsigned i = 0; !p->code && i < n; i++) {
        CHECK(parts[i].size > 0 && parts[i].size <= sizeof p->bytes - p->tail);
        memcpy(p->bytes + p->tail, parts[i].base, parts[i].size);
        p->tail += parts[i].size;
        sum += (int64_t)parts[i].size;
    }
    return p->code ? p->code : sum;
}

static int place_close(void *ctx, thrum_time deadline) {
    place *p = ctx;
    p->closes++;
    p->deadline = deadline;
    return (int)p->code;
}

static const thrum_stream_calls calls = {place_read, place_write, place_close};

static int talks(void *arg) {
    place p = {.closes = 0};
    thrum_stream stream;
    char line[16] = "";
    thrum_stream_options options = sizes(0, 8);
    (void)arg;
    CHECK_EQ(thrum_stream_open_over(&stream, &calls, &p, &options), 0);
    CHECK_EQ(thrum_stream_io(&stream).turn, 0);
    CHECK_EQ(thrum_stream_printf(&stream, "one\n"), 4);
    CHECK_EQ(p.writes, 0);
    CHECK_EQ(thrum_stream_write_until(&stream, "two\nthree", 9, 77), 9);
    CHECK_EQ(p.writes, 1);
    CHECK_EQ(p.parts, 2);
    CHECK_EQ(p.deadline, 77);
    CHECK_EQ(thrum_stream_read_line_until(&stream, line, sizeof line, 78), 3);
    CHECK_STR(line, "one");
    CHECK_EQ(p.deadline, 78);
    CHECK_EQ(thrum_stream_read_line(&stream, line, sizeof line), 3);
    CHECK_STR(line, "two");
    CHECK_EQ(p.reads, 1);
    CHECK_EQ(thrum_stream_read_line(&stream, line, sizeof line), 5);
    CHECK_STR(line, "three");
    CHECK_EQ(thrum_stream_read_line(&stream, line, sizeof line), -ENODATA);
    CHECK_EQ(thrum_stream_write(&stream, "rest", 4), 4);
    CHECK_EQ(thrum_stream_close_until(&stream, 79), 0);
    CHECK_EQ(p.closes, 1);
    CHECK_EQ(p.deadline, 79);
    CHECK_EQ(memcmp(p.bytes, "one\ntwo\nthreerest", 17), 0);
    CHECK_EQ(thrum_stream_read(&stream, line, 1), -EBADF);
    CHECK_EQ(thrum_stream_close(&stream), -EBADF);
    return 0;
}

TEST(calls_take_the_place_of_a_descriptor) {
    /* With its deadlines, the buffer and what does not fit in one call, and the close. */
    rig_do(0, talks, NULL);
    CHECK_EQ(talks(NULL), 0);
}

TEST(codes_of_calls_are_those_of_the_stream) {
    /* Deadlines do not stick, other codes of writes do; the close tells the first one. */
    place p = {.code = -ETIMEDOUT};
    thrum_stream stream;
    char byte;
    CHECK_EQ(thrum_stream_open_over(&stream, &calls, &p, NULL), 0);
    CHECK_EQ(thrum_stream_read(&stream, &byte, 1), -ETIMEDOUT);
    CHECK_EQ(thrum_stream_write(&stream, "x", 1), 1);
    CHECK_EQ(thrum_stream_flush(&stream), -ETIMEDOUT);
    CHECK_EQ(thrum_stream_error(&stream), 0);
    p.code = -EPROTO;
    CHECK_EQ(thrum_stream_flush(&stream), -EPROTO);
    CHECK_EQ(thrum_stream_error(&stream), -EPROTO);
    p.code = -EIO;
    CHECK_EQ(thrum_stream_close(&stream), -EPROTO);
    CHECK_EQ(p.closes, 1);
    p.code = -EIO;
    CHECK_EQ(thrum_stream_open_over(&stream, &calls, &p, NULL), 0);
    CHECK_EQ(thrum_stream_close(&stream), -EIO);
}

TEST(a_stream_over_calls_need_not_close) {
    /* Without the call, or by the option; calls that cannot be are refused. */
    const thrum_stream_calls no_close = {place_read, place_write, NULL};
    const thrum_stream_calls no_read = {NULL, place_write, place_close};
    const thrum_stream_calls no_write = {place_read, NULL, place_close};
    thrum_stream_options keeps = THRUM_STREAM_OPTIONS_INIT;
    place p = {.closes = 0};
    thrum_stream stream;
    keeps.keep_io = true;
    CHECK_EQ(thrum_stream_open_over(&stream, &calls, &p, &keeps), 0);
    CHECK_EQ(thrum_stream_close(&stream), 0);
    CHECK_EQ(thrum_stream_open_over(&stream, &no_close, &p, NULL), 0);
    CHECK_EQ(thrum_stream_close(&stream), 0);
    CHECK_EQ(p.closes, 0);
    CHECK_EQ(thrum_stream_open_over(&stream, NULL, &p, NULL), -EINVAL);
    CHECK_EQ(thrum_stream_open_over(NULL, &calls, &p, NULL), -EINVAL);
    CHECK_EQ(thrum_stream_open_over(&stream, &no_read, &p, NULL), -EINVAL);
    CHECK_EQ(thrum_stream_open_over(&stream, &no_write, &p, NULL), -EINVAL);
    keeps.flush = 77;
    CHECK_EQ(thrum_stream_open_over(&stream, &calls, &p, &keeps), -EINVAL);
}
