/*
 * stream_write.c: writing to streams: what goes out when, in which pieces, and what happens to the
 * rest at deadlines, cancels and errors.
 */
/* matrix: policy workers */
#include "support/io/streams.h"
#include "support/times.h"

#include <sys/mman.h>
#include <sys/socket.h>

#include "platform/faults.h"

static void pair_flushing(pair *p, unsigned flush) {
    thrum_stream_options options = sizes(0, 16);
    options.flush = flush;
    pair_open(p, THRUM_IO_WRITE, options);
}

TEST(writes_wait_in_the_buffer) {
    /* Until it is full, then what is in it goes out with what does not fit. */
    pair p;
    pair_writing(&p, 8);
    CHECK_EQ(thrum_stream_write(&p.stream, "abc", 3), 3);
    CHECK_EQ(thrum_stream_write_until(&p.stream, "defgh", 5, 1), 5); /* needs no time */
    CHECK_EQ(thrum_stream_unflushed(&p.stream), 8);
    demand(&p, "");
    CHECK_EQ(thrum_stream_write(&p.stream, "i", 1), 1);
    CHECK_EQ(thrum_stream_unflushed(&p.stream), 0);
    demand(&p, "abcdefghi");
    CHECK_EQ(thrum_stream_write(&p.stream, "", 0), 0);
    CHECK_EQ(thrum_stream_write(&p.stream, "jk", 2), 2);
    demand(&p, "");
    CHECK_EQ(thrum_stream_flush(&p.stream), 0);
    CHECK_EQ(thrum_stream_flush(&p.stream), 0);
    demand(&p, "jk");
    CHECK_EQ(thrum_stream_write(&p.stream, "a long text goes past the buffer", 32), 32);
    demand(&p, "a long text goes past the buffer");
    CHECK_EQ(thrum_stream_write(&p.stream, "end", 3), 3);
    int other = dup(p.other);
    CHECK_EQ(thrum_stream_close(&p.stream), 0);
    pair_end(&p);
    p.other = other;
    demand(&p, "end");
    pair_end(&p);
    CHECK_EQ(thrum_stream_write(&p.stream, "x", 1), -EBADF);
    CHECK_EQ(thrum_stream_printf(&p.stream, "x"), -EBADF);
    CHECK_EQ(thrum_stream_flush(&p.stream), -EBADF);
}

TEST(lines_and_texts_go_out_at_once) {
    /* By the option, each write, or each one with an end of line. */
    pair p;
    pair_flushing(&p, THRUM_FLUSH_LINE);
    CHECK_EQ(thrum_stream_write(&p.stream, "a", 1), 1);
    demand(&p, "");
    CHECK_EQ(thrum_stream_printf(&p.stream, "b\nc%d", 1), 4);
    demand(&p, "ab\nc1");
    pair_close(&p);
    pair_flushing(&p, THRUM_FLUSH_EACH);
    CHECK_EQ(thrum_stream_write(&p.stream, "a", 1), 1);
    demand(&p, "a");
    CHECK_EQ(thrum_stream_printf(&p.stream, "%s", "b"), 1);
    demand(&p, "b");
    pair_close(&p);
}

TEST(texts_of_all_lengths_are_printed) {
    /* Behind all amounts of what is in the buffer, shorter and longer than it. */
    static const char digits[] = "0123456789012345678901234567890123456789";
    char expected[64];
    for (size_t size = 1; size < 10; size++) {
        pair p;
        pair_writing(&p, size);
        for (int before = 0; before < 10; before++) {
            for (int length = 0; length < 40; length++) {
                CHECK_EQ(thrum_stream_write(&p.stream, "abcdefghi", (size_t)before), before);
                errno = 77;
                CHECK_EQ(thrum_stream_printf(&p.stream, "%.*s", length, digits), length);
                CHECK_EQ(errno, 77);
                CHECK(thrum_stream_unflushed(&p.stream) <= size);
                CHECK_EQ(thrum_stream_flush(&p.stream), 0);
                (void)snprintf(expected, sizeof expected, "%.*s%.*s", before, "abcdefghi", length,
                               digits);
                demand(&p, expected);
            }
        }
        pair_close(&p);
    }
}

static int64_t print(thrum_stream *stream, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int64_t n = thrum_stream_vprintf(stream, format, args);
    va_end(args);
    return n;
}

TEST(arguments_may_be_a_list) {
    /* The forms with a va_list and with a deadline. */
    pair p;
    pair_writing(&p, 4);
    CHECK_EQ(print(&p.stream, "%d-%s", 17, "eighteen"), 11);
    demand(&p, "17-eighteen");
    CHECK_EQ(thrum_stream_printf_until(&p.stream, 1, "%d", 123), 3);
    CHECK_EQ(thrum_stream_printf_until(&p.stream, 1, "%d", 45), -ETIMEDOUT);
    CHECK_EQ(thrum_stream_flush(&p.stream), 0);
    demand(&p, "123");
    pair_close(&p);
}

/* ---- a pipe that takes no more ---- */

/* Fills the pipe through its other descriptor; what was put in is *full bytes. */
static void stuff(pair *p, size_t *full) {
    static const char zeroes[4096];
    const int fd = thrum_io_fd(thrum_stream_io(&p->stream));
    ssize_t n;
    bool room;
    *full = 0;
    do { /* asked before it is filled: what made room in between would go unseen */
        room = makes_room(fd);
        for (size_t size = sizeof zeroes; size > 0; size /= 2) {
            for (; (n = write(fd, zeroes, size)) > 0; room = true) {
                *full += (size_t)n;
            }
        }
    } while (room);
}

static void unstuff(pair *p, size_t full) {
    static char bytes[4096];
    while (full) {
        ssize_t n = read(p->other, bytes, full < sizeof bytes ? full : sizeof bytes);
        CHECK(n > 0);
        full -= (size_t)n;
    }
}

static int resume_at_deadline(void *arg) {
    (void)arg;
    pair p;
    size_t full;
    pair_writing(&p, 8);
    stuff(&p, &full);
    CHECK_EQ(thrum_stream_write(&p.stream, "abc", 3), 3);
    CHECK_EQ(thrum_stream_flush_until(&p.stream, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_stream_write_until(&p.stream, "defghijkl", 9, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_stream_printf_until(&p.stream, soon(), "%s", "0123456789"), -ETIMEDOUT);
    CHECK_EQ(thrum_stream_unflushed(&p.stream), 3);
    CHECK_EQ(thrum_stream_printf_until(&p.stream, soon(), "%s", "de"), 2);
    CHECK_EQ(thrum_stream_error(&p.stream), 0);
    unstuff(&p, full);
    demand(&p, "");
    /* longer than the buffer and not written: it is taken whole */
    CHECK_EQ(thrum_stream_flush(&p.stream), 0);
    demand(&p, "abcde");
    stuff(&p, &full);
    CHECK_EQ(thrum_stream_printf_until(&p.stream, soon(), "%s", "0123456789"), 10);
    CHECK_EQ(thrum_stream_unflushed(&p.stream), 10);
    CHECK_EQ(thrum_stream_printf_until(&p.stream, soon(), "x"), -ETIMEDOUT);
    CHECK_EQ(thrum_stream_write_until(&p.stream, "x", 1, soon()), -ETIMEDOUT);
    unstuff(&p, full);
    CHECK_EQ(thrum_stream_printf(&p.stream, "%s", "ab"), 2);
    CHECK_EQ(thrum_stream_flush(&p.stream), 0);
    demand(&p, "0123456789ab");
    pair_close(&p);
    return 0;
}

TEST(deadlines_lose_nothing) {
    /* What is in the buffer stays there, and what was not taken was not. */
    CHECK_EQ(resume_at_deadline(NULL), 0);
    rig_do(0, resume_at_deadline, NULL);
}

static int flush_in_vain(void *arg) {
    return thrum_stream_flush(arg);
}

static int resume_at_cancel(void *arg) {
    (void)arg;
    pair p;
    size_t full;
    int result = 0;
    thrum_handle *handle;
    pair_writing(&p, 8);
    stuff(&p, &full);
    CHECK_EQ(thrum_stream_write(&p.stream, "abc", 3), 3);
    CHECK_EQ(thrum_spawn(&handle, flush_in_vain, &p.stream), 0);
    YIELD_UNTIL(io_is_waited_for(thrum_stream_io(&p.stream), 1));
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, -ECANCELED);
    unstuff(&p, full);
    CHECK_EQ(thrum_stream_flush(&p.stream), 0);
    demand(&p, "abc");
    pair_close(&p);
    return 0;
}

TEST(cancels_lose_nothing) {
    /* The same where the writer is cancelled; another task goes on. */
    rig_do(0, resume_at_cancel, NULL);
}

typedef struct long_write {
    pair p;
    size_t taken;
    thrum_event cut;       /* a call has returned */
    atomic_bool all_taken; /* set before the last one */
} long_write;

enum { LONG = 1000000, PART = LONG / 8 };

/* Writes until the deadline, and goes on with what was not taken. */
static int write_in_turns(void *arg) {
    long_write *w = arg;
    char *bytes = malloc(LONG);
    for (size_t i = 0; i < LONG; i++) {
        bytes[i] = (char)(i * 31 % 251);
    }
    CHECK_EQ(thrum_stream_write(&w->p.stream, "head", 4), 4);
    while (w->taken < LONG) {
        int64_t n =
            thrum_stream_write_until(&w->p.stream, bytes + w->taken, LONG - w->taken, soon());
        CHECK(n > 0 || n == -ETIMEDOUT);
        w->taken += n > 0 ? (size_t)n : 0;
        atomic_store(&w->all_taken, w->taken == LONG);
        thrum_event_signal(&w->cut);
    }
    free(bytes);
    CHECK_EQ(thrum_stream_close(&w->p.stream), 0);
    return 0;
}

static void *read_slowly(void *seat) {
    long_write *w = ((crew_seat *)seat)->arg;
    static unsigned char bytes[7000];
    char head[4];
    size_t done = 0;
    ssize_t n;
    for (size_t i = 0; i < 4; i += (size_t)n) {
        n = read(w->p.other, head + i, 4 - i);
        CHECK(n > 0);
    }
    CHECK(memcmp(head, "head", 4) == 0);
    while ((n = read(w->p.other, bytes, sizeof bytes)) > 0) {
        if (done / PART != (done + (size_t)n) / PART && !atomic_load(&w->all_taken)) {
            CHECK_EQ(thrum_event_wait(&w->cut), 0); /* a deadline comes while the pipe is full */
        }
        for (ssize_t i = 0; i < n; i++, done++) {
            CHECK_EQ(bytes[i], done * 31 % 251);
        }
    }
    CHECK_EQ(done, LONG);
    return NULL;
}

TEST(short_counts_are_exact) {
    /* A writer that goes on behind a short count leaves no byte out, and none twice. */
    for (int fiber = 0; fiber < 2; fiber++) {
        long_write w = {.taken = 0};
        crew c;
        thrum_event_init(&w.cut, THRUM_EVENT_AUTO, false);
        pair_writing(&w.p, 64);
        crew_start(&c, 1, read_slowly, &w);
        if (fiber) {
            rig_do(0, write_in_turns, &w);
        } else {
            CHECK_EQ(write_in_turns(&w), 0);
        }
        crew_join(&c);
        pair_end(&w.p);
    }
}

/* ---- errors ---- */

TEST(errors_stick) {
    /* After an error of the system each write has it, and so has the close. */
    pair p;
    pair_writing(&p, 8);
    CHECK_EQ(thrum_stream_write(&p.stream, "abc", 3), 3);
    pair_end(&p);
    CHECK_EQ(thrum_stream_flush(&p.stream), -EPIPE);
    CHECK_EQ(thrum_stream_error(&p.stream), -EPIPE);
    CHECK_EQ(thrum_stream_write(&p.stream, "d", 1), -EPIPE);
    CHECK_EQ(thrum_stream_printf(&p.stream, "d"), -EPIPE);
    CHECK_EQ(thrum_stream_flush(&p.stream), -EPIPE);
    CHECK_EQ(thrum_stream_unflushed(&p.stream), 3);
    CHECK_EQ(thrum_stream_close(&p.stream), -EPIPE);
}

TEST(close_tells_what_was_not_written) {
    /* A program that looks at nothing else sees it there; a deadline, too. */
    pair p;
    size_t full;
    pair_writing(&p, 8);
    CHECK_EQ(thrum_stream_write(&p.stream, "abc", 3), 3);
    pair_end(&p);
    CHECK_EQ(thrum_stream_close(&p.stream), -EPIPE);
    pair_writing(&p, 8);
    stuff(&p, &full);
    CHECK_EQ(thrum_stream_write(&p.stream, "abc", 3), 3);
    CHECK_EQ(thrum_stream_close_until(&p.stream, soon()), -ETIMEDOUT);
    pair_end(&p);
}

TEST(errors_of_a_flush_inside_stick) {
    /* Where a write flushes, its error is the write's. */
    pair p;
    pair_flushing(&p, THRUM_FLUSH_LINE);
    pair_end(&p);
    CHECK_EQ(thrum_stream_write(&p.stream, "abc", 3), 3);
    CHECK_EQ(thrum_stream_write(&p.stream, "\n", 1), -EPIPE);
    CHECK_EQ(thrum_stream_close(&p.stream), -EPIPE);
}

TEST(options_are_looked_at) {
    /* What makes no sense is refused, and the descriptor is still the caller's. */
    int ends[2];
    thrum_io io;
    thrum_stream stream;
    thrum_stream_options options;
    thrum_stream_options_init(&options);
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(thrum_io_adopt(&io, ends[1]), 0);
    CHECK_EQ(thrum_stream_open(NULL, io, NULL), -EINVAL);
    CHECK_EQ(thrum_stream_open(&stream, (thrum_io){0}, NULL), -EINVAL);
    options.flush = 3;
    CHECK_EQ(thrum_stream_open(&stream, io, &options), -EINVAL);
    thrum_stream_options_init(&options);
    options.size = 1;
    CHECK_EQ(thrum_stream_open(&stream, io, &options), -EINVAL);
    thrum_stream_options_init(&options);
    options.read_size = SIZE_MAX;
    CHECK_EQ(thrum_stream_open(&stream, io, &options), -EINVAL);
    thrum_stream_options_init(&options);
    options.keep_io = true;
    CHECK_EQ(thrum_stream_open(&stream, io, &options), 0);
    CHECK_EQ(thrum_stream_write(&stream, "kept", 4), 4);
    CHECK_EQ(thrum_stream_close(&stream), 0);
    CHECK_EQ(thrum_stream_io(&stream).turn, 0);
    char text[8] = "";
    CHECK_EQ(read(ends[0], text, 8), 4);
    CHECK_EQ(thrum_write(io, "on", 2), 2);
    CHECK_EQ(thrum_io_close(io), 0);
    close(ends[0]);
    memset(&stream, 0, sizeof stream);
    CHECK_EQ(thrum_stream_read(&stream, text, 1), -EBADF);
    CHECK_EQ(thrum_stream_close(&stream), -EBADF);
}

/* ---- both directions ---- */

typedef struct echo {
    thrum_stream stream;
    thrum_stream other;
} echo;

static int echo_lines(void *arg) {
    echo *e = arg;
    char line[64];
    int64_t n;
    while ((n = thrum_stream_read_line(&e->other, line, sizeof line)) >= 0) {
        CHECK_EQ(thrum_stream_printf(&e->other, "%s!\r\n", line), n + 3);
        if (thrum_stream_buffered(&e->other) == 0) {
            CHECK_EQ(thrum_stream_flush(&e->other), 0);
        }
    }
    CHECK_EQ(n, -ENODATA);
    return thrum_stream_close(&e->other);
}

enum { LINES = 2000 };

static int write_lines(void *arg) {
    echo *e = arg;
    for (int i = 0; i < LINES; i++) {
        CHECK(thrum_stream_printf(&e->stream, "line %d\n", i) > 0);
    }
    CHECK_EQ(thrum_stream_flush(&e->stream), 0);
    return thrum_io_shutdown(thrum_stream_io(&e->stream), THRUM_IO_WRITE);
}

static int talk(void *arg) {
    (void)arg;
    static echo e;
    int ends[2];
    int result;
    char line[64];
    char expected[64];
    thrum_io ios[2];
    thrum_handle *writer;
    thrum_handle *echoer;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    CHECK_EQ(thrum_io_adopt(&ios[0], ends[0]), 0);
    CHECK_EQ(thrum_io_adopt(&ios[1], ends[1]), 0);
    CHECK_EQ(thrum_stream_open(&e.stream, ios[0], NULL), 0);
    CHECK_EQ(thrum_stream_open(&e.other, ios[1], NULL), 0);
    CHECK_EQ(thrum_spawn(&echoer, echo_lines, &e), 0);
    CHECK_EQ(thrum_spawn(&writer, write_lines, &e), 0);
    for (int i = 0; i < LINES; i++) {
        const int n = snprintf(expected, sizeof expected, "line %d!", i);
        CHECK_EQ(thrum_stream_read_line(&e.stream, line, sizeof line), n);
        CHECK_STR(line, expected);
    }
    CHECK_EQ(thrum_stream_read_line(&e.stream, line, sizeof line), -ENODATA);
    CHECK_EQ(thrum_join(writer, &result), 0);
    CHECK_EQ(result, 0);
    CHECK_EQ(thrum_join(echoer, &result), 0);
    CHECK_EQ(result, 0);
    CHECK_EQ(thrum_stream_close(&e.stream), 0);
    return 0;
}

TEST(one_reads_while_another_one_writes) {
    /* Lines go through a stream in both directions at the same time. */
    rig_do(0, talk, NULL);
}

TEST(empty_buffers_are_freed) {
    /* A trim frees what is empty and leaves the rest; the stream goes on. */
    pair p;
    char byte;
    pair_reading(&p, 0);
    feed(&p, "ab", 2);
    CHECK_EQ(thrum_stream_read(&p.stream, &byte, 1), 1);
    thrum_stream_trim(&p.stream);
    CHECK_EQ(thrum_stream_buffered(&p.stream), 1);
    CHECK_EQ(thrum_stream_read(&p.stream, &byte, 1), 1);
    CHECK_EQ(byte, 'b');
    thrum_stream_trim(&p.stream);
    feed(&p, "c", 1);
    CHECK_EQ(thrum_stream_read(&p.stream, &byte, 1), 1);
    CHECK_EQ(byte, 'c');
    pair_close(&p);
    thrum_stream_trim(&p.stream);
}

static int write_one(void *arg) {
    pair *p = arg;
    return thrum_stream_write(&p->stream, "xxxxxxxx", 8) == 8 ? 0 : 1;
}

static int write_beside(void *arg) {
    pair *p = arg;
    size_t full;
    stuff(p, &full);
    CHECK_EQ(thrum_go(write_one, p), 0);
    YIELD_UNTIL(io_is_waited_for(thrum_stream_io(&p->stream), 1));
    return write_one(p);
}

static void die_by_two_writers(void *arg) {
    pair p;
    (void)arg;
    pair_writing(&p, 4);
    rig_do(0, write_beside, &p);
}

TEST(two_writers_are_told) {
    /* A writer that comes while another one waits is a misuse. */
    check_dies(die_by_two_writers, NULL, "thrum_stream_write: two writers at a time");
}
