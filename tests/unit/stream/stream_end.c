/*
 * stream_end.c: the end of a stream is told past a deadline, too, by every call that reads.
 */
/* matrix: policy workers */
#include "support/io/streams.h"
#include "support/times.h"

/* All that came is taken without waiting, as by a caller that a select has told of it. */
static int64_t take_all(pair *p, int *lines) {
    char line[64];
    const void *at;
    const size_t before = thrum_stream_buffered(&p->stream);
    int64_t n = thrum_stream_peek_until(&p->stream, before + 1, &at, far_off());
    if (n >= 0 || n == -ETIMEDOUT) {
        while ((n = thrum_stream_read_line_until(&p->stream, line, sizeof line, 0)) >= 0) {
            ++*lines;
        }
    }
    return n;
}

TEST(the_end_needs_no_deadline) {
    /* Who takes lines with a deadline in the past is told of the end, and not that it is late. */
    static const char *const texts[] = {"", "ab\n", "ab", "ab\ncd\n", "ab\ncd"};
    for (int i = 0; i < 5; i++) {
        pair p;
        char to[128];
        const void *at;
        int lines = 0;
        pair_reading(&p, 64);
        if (texts[i][0]) {
            feed(&p, texts[i], strlen(texts[i]));
            CHECK_EQ(take_all(&p, &lines), -ETIMEDOUT);
        }
        pair_end(&p);
        CHECK_EQ(take_all(&p, &lines), -ENODATA);
        CHECK_EQ(lines, (i + 1) / 2);
        CHECK_EQ(thrum_stream_read_line_until(&p.stream, to, sizeof to, 0), -ENODATA);
        CHECK_EQ(thrum_stream_read_delim_until(&p.stream, '\n', to, sizeof to, 0), 0);
        CHECK_EQ(thrum_stream_read_until(&p.stream, to, 1, 0), 0);
        CHECK_EQ(thrum_stream_read_until(&p.stream, to, sizeof to, 0), 0);
        CHECK_EQ(thrum_stream_read_full_until(&p.stream, to, sizeof to, 0), 0);
        CHECK_EQ(thrum_stream_peek_until(&p.stream, 1, &at, 0), 0);
        CHECK_EQ(thrum_stream_skip_until(&p.stream, 1, 0), 0);
        CHECK_EQ(thrum_stream_skip_delim_until(&p.stream, '\n', 0), 0);
        CHECK_EQ(thrum_stream_close(&p.stream), 0);
    }
}

TEST(a_long_read_takes_the_rest) {
    /* The end was met before: a read that is longer than the buffer takes what is there. */
    pair p;
    char to[128];
    const void *at;
    pair_reading(&p, 16);
    feed(&p, "ab", 2);
    pair_end(&p);
    CHECK_EQ(thrum_stream_peek(&p.stream, 3, &at), 2);
    CHECK_EQ(thrum_stream_read_full_until(&p.stream, to, sizeof to, 0), 2);
    CHECK_EQ(thrum_stream_close(&p.stream), 0);
}
