/*
 * stream_read.c: reading from streams: each call, with what it reads cut at each place, in buffers
 * of many sizes, by fibers and plain threads.
 */
/* matrix: policy workers */
#include "support/io/streams.h"
#include "support/times.h"

static const size_t buffers[] = {1, 2, 3, 7, 13, 64, 8192};

/* ---- calls, each of which reads all of a text, or nothing ---- */

typedef struct op {
    const char *name;
    const char *text;
    /* More than 0: it has read the text; otherwise what the call returned. */
    int64_t (*call)(thrum_stream *stream, thrum_time deadline);
    /* Checks what the call makes of the text's first n bytes, when the end comes behind them. */
    void (*end)(thrum_stream *stream, size_t n);
} op;

#define DIGITS "0123456789abcdef"

static int64_t full(thrum_stream *stream, thrum_time deadline) {
    char to[17] = "";
    int64_t n = thrum_stream_read_full_until(stream, to, 16, deadline);
    if (n > 0) {
        CHECK_EQ(n, 16);
        CHECK_STR(to, DIGITS);
    }
    return n;
}

static void full_end(thrum_stream *stream, size_t n) {
    char to[17] = "";
    CHECK_EQ(thrum_stream_read_full(stream, to, 16), n);
    CHECK(memcmp(to, DIGITS, n) == 0);
    CHECK_EQ(thrum_stream_read_full(stream, to, 16), 0);
}

static int64_t line(thrum_stream *stream, thrum_time deadline) {
    char to[13];
    int64_t n = thrum_stream_read_line_until(stream, to, sizeof to, deadline);
    if (n >= 0) {
        CHECK_EQ(n, 12);
        CHECK_STR(to, "hello\r world");
    }
    return n;
}

static void line_end(thrum_stream *stream, size_t n) {
    char to[14];
    int64_t got = thrum_stream_read_line(stream, to, sizeof to);
    CHECK_EQ(got, n ? (int64_t)n : -ENODATA);
    CHECK(n == 0 || memcmp(to, "hello\r world\r", n) == 0);
    CHECK_EQ(thrum_stream_read_line(stream, to, sizeof to), -ENODATA);
}

static int64_t delim(thrum_stream *stream, thrum_time deadline) {
    char to[11] = "";
    int64_t n = thrum_stream_read_delim_until(stream, ';', to, 10, deadline);
    if (n > 0) {
        CHECK_EQ(n, 10);
        CHECK_STR(to, "key=value;");
    }
    return n;
}

static void delim_end(thrum_stream *stream, size_t n) {
    char to[10];
    CHECK_EQ(thrum_stream_read_delim(stream, ';', to, sizeof to), n);
    CHECK(memcmp(to, "key=value;", n) == 0);
    CHECK_EQ(thrum_stream_read_delim(stream, ';', to, sizeof to), 0);
}

static int64_t peek(thrum_stream *stream, thrum_time deadline) {
    char to[17] = "";
    const void *at;
    int64_t n = thrum_stream_peek_until(stream, 16, &at, deadline);
    if (n > 0) {
        CHECK(n >= 16);
        CHECK_EQ(thrum_stream_buffered(stream), n);
        CHECK(memcmp(at, DIGITS, 16) == 0);
        CHECK_EQ(thrum_stream_read_full(stream, to, 16), 16);
        CHECK_STR(to, DIGITS);
    }
    return n;
}

static void peek_end(thrum_stream *stream, size_t n) {
    const void *at;
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(thrum_stream_peek(stream, 16, &at), n);
        CHECK(n == 0 || memcmp(at, DIGITS, n) == 0);
    }
    CHECK_EQ(thrum_stream_skip(stream, 16), n);
}

static int64_t skip_to(thrum_stream *stream, thrum_time deadline) {
    return thrum_stream_skip_delim_until(stream, ';', deadline);
}

static void skip_to_end(thrum_stream *stream, size_t n) {
    (void)n;
    CHECK_EQ(thrum_stream_skip_delim(stream, ';'), 0);
    CHECK_EQ(thrum_stream_buffered(stream), 0);
}

static const op ops[] = {
    {"full", DIGITS, full, full_end},
    {"line", "hello\r world\r\n", line, line_end},
    {"delim", "key=value;", delim, delim_end},
    {"peek", DIGITS, peek, peek_end},
    {"skip_delim", "leave out;", skip_to, skip_to_end},
};

/* Behind what the op has read is what was fed behind it, and nothing else. */
static void check_rest(pair *p) {
    char byte = 0;
    feed(p, "!", 1);
    CHECK_EQ(thrum_stream_read(&p->stream, &byte, 1), 1);
    CHECK_EQ(byte, '!');
    CHECK_EQ(thrum_stream_buffered(&p->stream), 0);
    pair_close(p);
}

static int at_once(void *arg) {
    (void)arg;
    for (size_t b = 0; b < COUNT_OF(buffers); b++) {
        for (size_t i = 0; i < COUNT_OF(ops); i++) {
            pair p;
            pair_reading(&p, buffers[b]);
            for (int k = 0; k < 3; k++) {
                feed(&p, ops[i].text, strlen(ops[i].text));
            }
            for (int k = 0; k < 3; k++) {
                CHECK(ops[i].call(&p.stream, THRUM_FOREVER) > 0);
            }
            check_rest(&p);
        }
    }
    return 0;
}

TEST(what_comes_at_once_is_taken_apart) {
    /* Several texts come in one piece; each call takes its own. */
    CHECK_EQ(at_once(NULL), 0);
    rig_do(0, at_once, NULL);
}

/* The text comes in two pieces; between them the deadline passes. */
static int timed_out_between(void *arg) {
    (void)arg;
    for (size_t b = 0; b < COUNT_OF(buffers); b++) {
        for (size_t i = 0; i < COUNT_OF(ops); i++) {
            const size_t length = strlen(ops[i].text);
            for (size_t cut = 0; cut < length; cut++) {
                pair p;
                pair_reading(&p, buffers[b]);
                feed(&p, ops[i].text, cut);
                CHECK_EQ(ops[i].call(&p.stream, cut % 4 ? past() : soon()), -ETIMEDOUT);
                feed(&p, ops[i].text + cut, length - cut);
                CHECK(ops[i].call(&p.stream, THRUM_FOREVER) > 0);
                check_rest(&p);
            }
        }
    }
    return 0;
}

TEST(deadlines_lose_nothing) {
    /* Whereever the text is cut when the deadline comes, the repeated call reads it whole. */
    CHECK_EQ(timed_out_between(NULL), 0);
    rig_do(0, timed_out_between, NULL);
}

static int byte_by_byte(void *arg) {
    (void)arg;
    for (size_t b = 0; b < COUNT_OF(buffers); b++) {
        for (size_t i = 0; i < COUNT_OF(ops); i++) {
            pair p;
            pair_reading(&p, buffers[b]);
            for (const char *at = ops[i].text; *at; at++) {
                const bool looks_once = (at - ops[i].text) % 4 != 0;
                CHECK_EQ(ops[i].call(&p.stream, looks_once ? past() : soon()), -ETIMEDOUT);
                feed(&p, at, 1);
            }
            CHECK(ops[i].call(&p.stream, THRUM_FOREVER) > 0);
            check_rest(&p);
        }
    }
    return 0;
}

TEST(bytes_come_one_by_one) {
    /* A deadline passes before each byte; the last call has them all. */
    CHECK_EQ(byte_by_byte(NULL), 0);
    rig_do(0, byte_by_byte, NULL);
}

typedef struct attempt {
    const op *op;
    pair *p;
} attempt;

static int call_op(void *arg) {
    const attempt *a = arg;
    return (int)a->op->call(&a->p->stream, THRUM_FOREVER);
}

static int cancelled_between(void *arg) {
    (void)arg;
    for (size_t b = 0; b < COUNT_OF(buffers); b += 2) {
        for (size_t i = 0; i < COUNT_OF(ops); i++) {
            const size_t length = strlen(ops[i].text);
            for (size_t cut = 0; cut < length; cut++) {
                pair p;
                attempt a = {&ops[i], &p};
                thrum_handle *handle;
                int result = 0;
                pair_reading(&p, buffers[b]);
                feed(&p, ops[i].text, cut);
                CHECK_EQ(thrum_spawn(&handle, call_op, &a), 0);
                YIELD_UNTIL(io_is_waited_for(thrum_stream_io(&p.stream), 0));
                CHECK_EQ(thrum_cancel(handle), 0);
                CHECK_EQ(thrum_join(handle, &result), 0);
                CHECK_EQ(result, -ECANCELED);
                feed(&p, ops[i].text + cut, length - cut);
                CHECK(ops[i].call(&p.stream, THRUM_FOREVER) > 0);
                check_rest(&p);
            }
        }
    }
    return 0;
}

TEST(cancels_lose_nothing) {
    /* The same where the caller is cancelled; another task goes on. */
    rig_do(0, cancelled_between, NULL);
}

static int ended_between(void *arg) {
    (void)arg;
    for (size_t b = 0; b < COUNT_OF(buffers); b++) {
        for (size_t i = 0; i < COUNT_OF(ops); i++) {
            for (size_t cut = 0; cut < strlen(ops[i].text); cut++) {
                pair p;
                pair_reading(&p, buffers[b]);
                feed(&p, ops[i].text, cut);
                pair_end(&p);
                ops[i].end(&p.stream, cut);
                CHECK_EQ(thrum_stream_close(&p.stream), 0);
            }
        }
    }
    return 0;
}

TEST(ends_in_the_middle_are_told) {
    /* Each call says what came before the end, and that it was the end. */
    CHECK_EQ(ended_between(NULL), 0);
    rig_do(0, ended_between, NULL);
}

static int closed_between(void *arg) {
    (void)arg;
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        pair p;
        attempt a = {&ops[i], &p};
        thrum_handle *handle;
        int result = 0;
        pair_reading(&p, 4);
        feed(&p, ops[i].text, 3);
        CHECK_EQ(thrum_spawn(&handle, call_op, &a), 0);
        YIELD_UNTIL(io_is_waited_for(thrum_stream_io(&p.stream), 0));
        CHECK_EQ(thrum_io_close(thrum_stream_io(&p.stream)), 0);
        CHECK_EQ(thrum_join(handle, &result), 0);
        CHECK_EQ(result, -EBADF);
        CHECK_EQ(thrum_stream_close(&p.stream), -EBADF);
        pair_end(&p);
    }
    return 0;
}

TEST(close_of_the_descriptor_ends_a_reader) {
    /* A reader that waits is ended by closing the descriptor. */
    rig_do(0, closed_between, NULL);
}

/* ---- the others ---- */

static int read_what_is_there(void *arg) {
    (void)arg;
    char to[32] = "";
    for (size_t b = 0; b < COUNT_OF(buffers); b++) {
        pair p;
        pair_reading(&p, buffers[b]);
        CHECK_EQ(thrum_stream_read_until(&p.stream, to, 1, soon()), -ETIMEDOUT);
        CHECK_EQ(thrum_stream_read(&p.stream, to, 0), 0);
        feed(&p, DIGITS, 16);
        size_t done = 0;
        while (done < 16) {
            int64_t n = thrum_stream_read(&p.stream, to + done, 5);
            CHECK(n > 0 && n <= 5);
            done += (size_t)n;
        }
        CHECK_EQ(done, 16);
        CHECK(memcmp(to, DIGITS, 16) == 0);
        feed(&p, "abc", 3);
        CHECK_EQ(thrum_stream_read(&p.stream, to, sizeof to), 3);
        pair_end(&p);
        CHECK_EQ(thrum_stream_read(&p.stream, to, 1), 0);
        CHECK_EQ(thrum_stream_read(&p.stream, to, sizeof to), 0);
        CHECK_EQ(thrum_stream_close(&p.stream), 0);
        CHECK_EQ(thrum_stream_read(&p.stream, to, 1), -EBADF);
        CHECK_EQ(thrum_stream_close(&p.stream), -EBADF);
    }
    return 0;
}

TEST(read_takes_what_is_there) {
    /* It does not wait for more, reads past the buffer, and has an end. */
    CHECK_EQ(read_what_is_there(NULL), 0);
    rig_do(0, read_what_is_there, NULL);
}

TEST(buffered_bytes_need_no_deadline) {
    /* What is in the buffer is read although the deadline has passed. */
    pair p;
    char to[8];
    pair_reading(&p, 64);
    feed(&p, "ab\ncd;ef", 8);
    CHECK_EQ(thrum_stream_read(&p.stream, to, 1), 1);
    CHECK_EQ(thrum_stream_buffered(&p.stream), 7);
    CHECK_EQ(thrum_stream_read_line_until(&p.stream, to, sizeof to, 1), 1);
    CHECK_EQ(thrum_stream_read_delim_until(&p.stream, ';', to, sizeof to, 1), 3);
    CHECK_EQ(thrum_stream_skip_until(&p.stream, 1, 1), 1);
    CHECK_EQ(thrum_stream_read_full_until(&p.stream, to, 1, 1), 1);
    CHECK_EQ(to[0], 'f');
    CHECK_EQ(thrum_stream_read_full_until(&p.stream, to, 1, 1), -ETIMEDOUT);
    pair_close(&p);
}

TEST(the_rest_needs_no_deadline) {
    /* A peek has met the end: what is there is a line without waiting, and then it is the end. */
    pair p;
    char line[8];
    const void *at;
    pair_reading(&p, 64);
    feed(&p, "ab\ncd", 5);
    pair_end(&p);
    CHECK_EQ(thrum_stream_read_line(&p.stream, line, sizeof line), 2);
    CHECK_EQ(thrum_stream_read_line_until(&p.stream, line, sizeof line, 0), -ETIMEDOUT);
    CHECK_EQ(thrum_stream_peek(&p.stream, 3, &at), 2);
    CHECK_EQ(thrum_stream_peek_until(&p.stream, 3, &at, 0), 2);
    CHECK_EQ(thrum_stream_read_line_until(&p.stream, line, sizeof line, 0), 2);
    CHECK_STR(line, "cd");
    CHECK_EQ(thrum_stream_read_line(&p.stream, line, sizeof line), -ENODATA);
    CHECK_EQ(thrum_stream_unread(&p.stream, "e", 1), 0);
    CHECK_EQ(thrum_stream_read_line_until(&p.stream, line, sizeof line, 0), 1);
    CHECK_EQ(thrum_stream_close(&p.stream), 0);
}

TEST(long_lines_are_refused_and_stay) {
    /* -EMSGSIZE takes nothing; with more room, in pieces, or without it the reader goes on. */
    static const char text[] = "a line of twenty-four by\r\nnext\n";
    for (size_t b = 0; b < COUNT_OF(buffers); b++) {
        for (size_t room = 1; room < 32; room++) {
            pair p;
            char to[32];
            pair_reading(&p, buffers[b]);
            feed(&p, text, sizeof text - 1);
            int64_t n = thrum_stream_read_line(&p.stream, to, room);
            CHECK_EQ(n, room > 24 ? 24 : -EMSGSIZE);
            if (n < 0) {
                CHECK_EQ(thrum_stream_read_delim(&p.stream, '\n', to, room), -EMSGSIZE);
                if (room % 3 == 0) {
                    CHECK_EQ(thrum_stream_read_line(&p.stream, to, 25), 24);
                } else if (room % 3 == 1) {
                    CHECK_EQ(thrum_stream_skip_delim(&p.stream, '\n'), 26);
                } else {
                    CHECK_EQ(thrum_stream_read_full(&p.stream, to, room), room);
                    CHECK(memcmp(to, text, room) == 0);
                    CHECK_EQ(thrum_stream_read_delim(&p.stream, '\n', to, 32), 26 - room);
                }
            }
            CHECK_EQ(thrum_stream_read_line(&p.stream, to, room > 5 ? room : 5), 4);
            CHECK_STR(to, "next");
            pair_close(&p);
        }
    }
}

TEST(lines_end_in_two_ways) {
    /* Empty lines, a lone carriage return, zeroes, and a last line without an end. */
    pair p;
    char to[16];
    pair_reading(&p, 0);
    feed(&p, "\n\r\n\r\r\na\0b\nlast\r", 15);
    CHECK_EQ(thrum_stream_read_line(&p.stream, to, 0), -EINVAL);
    CHECK_EQ(thrum_stream_read_line(&p.stream, to, 1), 0);
    CHECK_EQ(thrum_stream_read_line(&p.stream, to, 1), 0);
    CHECK_EQ(thrum_stream_read_line(&p.stream, to, 2), 1);
    CHECK_STR(to, "\r");
    CHECK_EQ(thrum_stream_read_line(&p.stream, to, sizeof to), 3);
    CHECK(memcmp(to, "a\0b", 4) == 0);
    pair_end(&p);
    CHECK_EQ(thrum_stream_read_line(&p.stream, to, 5), -EMSGSIZE);
    CHECK_EQ(thrum_stream_read_line(&p.stream, to, 6), 5);
    CHECK_STR(to, "last\r");
    CHECK_EQ(thrum_stream_read_line(&p.stream, to, 6), -ENODATA);
    CHECK_EQ(thrum_stream_close(&p.stream), 0);
}

TEST(bytes_are_put_back) {
    /* They are read next, whether the buffer has room before the others or not. */
    for (size_t b = 0; b < COUNT_OF(buffers); b++) {
        pair p;
        char to[32] = "";
        pair_reading(&p, buffers[b]);
        CHECK_EQ(thrum_stream_unread(&p.stream, "xy", 2), 0);
        CHECK_EQ(thrum_stream_unread(&p.stream, "", 0), 0);
        feed(&p, "3456", 4);
        CHECK_EQ(thrum_stream_read_full(&p.stream, to, 4), 4);
        CHECK_STR(to, "xy34");
        CHECK_EQ(thrum_stream_unread(&p.stream, "4", 1), 0);
        CHECK_EQ(thrum_stream_unread(&p.stream, "0123", 4), 0);
        CHECK_EQ(thrum_stream_read_full(&p.stream, to, 7), 7);
        CHECK(memcmp(to, "0123456", 7) == 0);
        pair_close(&p);
    }
}

static int skip_many(void *arg) {
    (void)arg;
    pair p;
    static char bytes[4000]; /* a pipe holds a page at least */
    pair_reading(&p, 100);
    feed(&p, bytes, sizeof bytes);
    CHECK_EQ(thrum_stream_skip(&p.stream, 3000), 3000);
    for (int64_t n, left = 1000; left > 0; left -= n > 0 ? n : 0) { /* the deadline may be early */
        n = thrum_stream_skip_until(&p.stream, 5000, soon());
        CHECK(n == -ETIMEDOUT || (n > 0 && n <= left));
    }
    CHECK_EQ(thrum_stream_skip_until(&p.stream, 5000, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_stream_skip(&p.stream, 0), 0);
    feed(&p, "rest", 4);
    pair_end(&p);
    CHECK_EQ(thrum_stream_skip(&p.stream, UINT64_MAX), 4);
    CHECK_EQ(thrum_stream_skip(&p.stream, 10), 0);
    CHECK_EQ(thrum_stream_close(&p.stream), 0);
    return 0;
}

TEST(skip_counts) {
    /* It says how many it has dropped before the deadline or the end. */
    CHECK_EQ(skip_many(NULL), 0);
    rig_do(0, skip_many, NULL);
}

static int read_large(void *arg) {
    (void)arg;
    static char bytes[3000]; /* a pipe holds a page at least */
    static char to[3000];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)(i * 31 % 251);
    }
    for (size_t cut = 0; cut < 2000; cut += 99) {
        pair p;
        pair_reading(&p, 51);
        feed(&p, bytes, cut + 1);
        CHECK_EQ(thrum_stream_skip(&p.stream, 1), 1);
        memset(to, 0, sizeof to);
        CHECK_EQ(thrum_stream_read_full_until(&p.stream, to, 2000, soon()), -ETIMEDOUT);
        CHECK_EQ(thrum_stream_read_full_until(&p.stream, to, 2000, soon()), -ETIMEDOUT);
        feed(&p, bytes + cut + 1, sizeof bytes - cut - 1);
        CHECK_EQ(thrum_stream_read_full(&p.stream, to, 2000), 2000);
        CHECK(memcmp(to, bytes + 1, 2000) == 0);
        CHECK_EQ(thrum_stream_read_full(&p.stream, to, 999), 999);
        CHECK(memcmp(to, bytes + 2001, 999) == 0);
        feed(&p, "end", 3);
        pair_end(&p);
        CHECK_EQ(thrum_stream_read_full(&p.stream, to, 2000), 3);
        CHECK_EQ(thrum_stream_close(&p.stream), 0);
    }
    return 0;
}

TEST(large_reads_resume) {
    /* What is larger than the buffer goes past it, and is kept at a deadline all the same. */
    CHECK_EQ(read_large(NULL), 0);
    rig_do(0, read_large, NULL);
}

static int two_readers(void *arg) {
    char byte;
    pair *p = arg;
    return (int)thrum_stream_read(&p->stream, &byte, 1);
}

static int read_beside(void *arg) {
    pair *p = arg;
    CHECK_EQ(thrum_go(two_readers, p), 0);
    YIELD_UNTIL(io_is_waited_for(thrum_stream_io(&p->stream), 0));
    return two_readers(p);
}

static void die_by_two_readers(void *arg) {
    pair p;
    (void)arg;
    pair_reading(&p, 0);
    rig_do(0, read_beside, &p);
}

TEST(two_readers_are_told) {
    /* A reader that comes while another one waits is a misuse. */
    check_dies(die_by_two_readers, NULL, "thrum_stream_read: two readers at a time");
}

static int shared_readers(void *arg) {
    (void)arg;
    enum { READERS = 10 };
    pair p;
    thrum_handle *handles[READERS];
    char byte;
    thrum_stream_options options = THRUM_STREAM_OPTIONS_INIT;
    options.shared = true;
    pair_open(&p, THRUM_IO_READ, options);
    for (int i = 0; i < READERS; i++) {
        CHECK_EQ(thrum_spawn(&handles[i], two_readers, &p), 0);
    }
    YIELD_UNTIL(io_is_waited_for(thrum_stream_io(&p.stream), 0));
    CHECK_EQ(thrum_stream_read_until(&p.stream, &byte, 1, soon()), -ETIMEDOUT);
    feed(&p, "0123456789", READERS);
    for (int i = 0; i < READERS; i++) {
        int result = 0;
        CHECK_EQ(thrum_join(handles[i], &result), 0);
        CHECK_EQ(result, 1);
    }
    CHECK_EQ(thrum_stream_buffered(&p.stream), 0);
    pair_close(&p);
    CHECK_EQ(thrum_stream_read(&p.stream, &byte, 1), -EBADF);
    return 0;
}

TEST(shared_streams_have_many_readers) {
    /* Each gets its byte, one after the other. */
    rig_do(0, shared_readers, NULL);
}
