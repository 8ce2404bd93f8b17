/*
 * stream.c: the Nth thing that streams ask the system for is refused, for every N: an error comes
 * back, nothing is lost, and the repeated call goes on.
 */
/* matrix: policy workers */
#include "support/io/streams.h"

#include "platform/faults.h"

static int refusals; /* seen by the scenario */

/* Makes the call until it is not refused; its value. */
#define AGAIN(code, call)                                                                          \
    ({                                                                                             \
        int64_t again_n;                                                                           \
        while ((again_n = (call)) == (code))                                                       \
            refusals++;                                                                            \
        again_n;                                                                                   \
    })

typedef struct fault {
    th_os_fault kind;
    int code;
} fault;

/* A reader that meets each kind of call; the bytes come while it waits. */
typedef struct scene {
    fault fault;
    uint32_t nth;
    pair p;
} scene;

#define WRITTEN "a line\nkey=value;0123456789abcdefghijklmnopqrstuvwxyz"

static int read_all(void *arg) {
    scene *s = arg;
    thrum_stream *stream = &s->p.stream;
    const int code = s->fault.code;
    char to[64] = "";
    const void *at;
    CHECK_EQ(AGAIN(code, thrum_stream_read_line(stream, to, 64)), 6);
    CHECK_STR(to, "a line");
    CHECK_EQ(AGAIN(code, thrum_stream_unread(stream, "my own ", 7)), 0);
    CHECK_EQ(AGAIN(code, thrum_stream_read_delim(stream, ';', to, 64)), 17);
    CHECK(memcmp(to, "my own key=value;", 17) == 0);
    CHECK(AGAIN(code, thrum_stream_peek(stream, 20, &at)) >= 20);
    CHECK(memcmp(at, "0123456789abcdefghij", 20) == 0);
    CHECK_EQ(AGAIN(code, thrum_stream_skip(stream, 10)), 10);
    CHECK_EQ(AGAIN(code, thrum_stream_read_full(stream, to, 26)), 26);
    CHECK(memcmp(to, "abcdefghijklmnopqrstuvwxyz", 26) == 0);
    CHECK_EQ(AGAIN(code, thrum_stream_read(stream, to, 64)), 0);
    return 0;
}

static void *feed_slowly(void *seat) {
    scene *s = ((crew_seat *)seat)->arg;
    for (const char *at = WRITTEN; *at; at++) {
        SPIN_UNTIL(io_is_waited_for(thrum_stream_io(&s->p.stream), 0));
        feed(&s->p, at, 1);
    }
    pair_end(&s->p);
    return NULL;
}

/* Has every one refused, until there are no more. */
static void read_under(fault f, bool fiber, size_t size) {
    for (uint32_t nth = 0;; nth++) {
        scene s = {.fault = f};
        crew c;
        rig r;
        pair_reading(&s.p, size);
        refusals = 0;
        if (fiber) {
            rig_begin(&r, 0);
        }
        th_os_fail(f.kind, nth, 1);
        crew_start(&c, 1, feed_slowly, &s);
        if (fiber) {
            CHECK_EQ(rig_run(&r, read_all, &s), 0);
        } else {
            CHECK_EQ(read_all(&s), 0);
        }
        crew_join(&c);
        const bool all = th_os_fails_left(f.kind) != 0;
        th_os_fail(f.kind, 0, 0);
        CHECK(refusals <= 1); /* something else may have been refused, to no harm */
        CHECK_EQ(thrum_stream_close(&s.p.stream), 0);
        if (fiber) {
            rig_stop(&r);
        }
        if (all) {
            break;
        }
    }
}

TEST(reading_without_memory) {
    /* Each allocation is refused once, for threads and tasks, with small and large buffers. */
    for (int fiber = 0; fiber < 2; fiber++) {
        read_under((fault){TH_OS_FAULT_ALLOC, -ENOMEM}, fiber, 3);
        read_under((fault){TH_OS_FAULT_ALLOC, -ENOMEM}, fiber, 16);
        read_under((fault){TH_OS_FAULT_ALLOC, -ENOMEM}, fiber, 8192);
    }
}

TEST(reading_with_errors) {
    /* Each read of the system fails once; what had come stays. */
    read_under((fault){TH_OS_FAULT_READ, -ENOBUFS}, false, 16);
    read_under((fault){TH_OS_FAULT_READ, -ENOBUFS}, true, 16);
}

TEST(waiting_without_descriptors) {
    /* The wait itself cannot begin. */
    read_under((fault){TH_OS_FAULT_EVENTFD, -EMFILE}, false, 16);
    read_under((fault){TH_OS_FAULT_POLLSET_ADD, -ENOMEM}, true, 16);
}

/* ---- writing ---- */

static int write_all(void *arg) {
    scene *s = arg;
    thrum_stream *stream = &s->p.stream;
    const int code = s->fault.code;
    CHECK_EQ(AGAIN(code, thrum_stream_write(stream, "abc", 3)), 3);
    CHECK_EQ(AGAIN(code, thrum_stream_printf(stream, "%d", 123456)), 6);
    CHECK_EQ(AGAIN(code, thrum_stream_printf(stream, "%s", "longer than the buffer is")), 25);
    CHECK_EQ(AGAIN(code, thrum_stream_write(stream, "also longer than that", 21)), 21);
    CHECK_EQ(AGAIN(code, thrum_stream_flush(stream)), 0);
    return 0;
}

TEST(writing_without_memory) {
    /* A text is taken whole or not at all; bytes need no buffer. */
    for (int i = 0; i < 2; i++) {
        for (uint32_t nth = 0;; nth++) {
            scene s = {.fault = {TH_OS_FAULT_ALLOC, -ENOMEM}};
            rig r;
            pair_writing(&s.p, 8);
            refusals = 0;
            if (i != 0) {
                rig_begin(&r, 0);
            }
            th_os_fail(TH_OS_FAULT_ALLOC, nth, 1);
            CHECK_EQ(i != 0 ? rig_run(&r, write_all, &s) : write_all(&s), 0);
            const bool all = th_os_fails_left(TH_OS_FAULT_ALLOC) != 0;
            th_os_fail(TH_OS_FAULT_ALLOC, 0, 0);
            demand(&s.p, "abc123456longer than the buffer isalso longer than that");
            pair_close(&s.p);
            if (i != 0) {
                rig_stop(&r);
            }
            if (all) {
                break;
            }
        }
    }
}

TEST(writing_with_errors) {
    /* Each write of the system fails once, and the error stays. */
    for (uint32_t nth = 0; nth < 3; nth++) {
        pair p;
        int64_t n = 0;
        int wrote = 0;
        pair_writing(&p, 8);
        th_os_fail(TH_OS_FAULT_WRITE, nth, 1);
        while ((n = thrum_stream_printf(&p.stream, "%s", "12345678")) == 8) {
            wrote++;
        }
        CHECK_EQ(n, -ENOBUFS);
        CHECK_EQ(wrote, nth + 1);
        CHECK_EQ(thrum_stream_error(&p.stream), -ENOBUFS);
        CHECK_EQ(thrum_stream_write(&p.stream, "x", 1), -ENOBUFS);
        CHECK_EQ(thrum_stream_close(&p.stream), -ENOBUFS);
        pair_end(&p);
    }
}

TEST(opening_a_shared_stream_without_memory) {
    /* It is refused, and the descriptor is still the caller's. */
    int ends[2];
    thrum_io io;
    thrum_stream stream;
    thrum_stream_options options = THRUM_STREAM_OPTIONS_INIT;
    options.shared = true;
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(thrum_io_adopt(&io, ends[0]), 0);
    th_os_fail(TH_OS_FAULT_ALLOC, 0, 1);
    CHECK_EQ(thrum_stream_open(&stream, io, &options), -ENOMEM);
    CHECK_EQ(thrum_stream_open(&stream, io, &options), 0);
    CHECK_EQ(thrum_stream_close(&stream), 0);
    close(ends[1]);
}

TEST(standard_streams_are_opened_again) {
    /* What was refused when one was opened is tried again by the next call. */
    int ends[2];
    char byte;
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(dup2(ends[0], 0), 0);
    CHECK_EQ(write(ends[1], "ab", 2), 2);
    th_os_fail(TH_OS_FAULT_REOPEN, 0, UINT32_MAX);
    th_os_fail(TH_OS_FAULT_DUPLICATE, 0, 1);
    CHECK_EQ(thrum_stream_read(thrum_stdin(), &byte, 1), -EMFILE);
    th_os_fail(TH_OS_FAULT_MAP, 0, 1);
    CHECK_EQ(thrum_stream_read(thrum_stdin(), &byte, 1), -ENOMEM);
    CHECK_EQ(thrum_stream_read(thrum_stdin(), &byte, 1), 1);
    CHECK_EQ(byte, 'a');
    CHECK_EQ(thrum_stream_close(thrum_stdin()), 0);
    close(ends[0]);
    close(ends[1]);
}
