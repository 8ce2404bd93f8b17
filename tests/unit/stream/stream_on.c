/*
 * stream_on.c: tasks that are posted when a stream has something to read (thrum_stream_on): what is
 * in its buffer counts, and what it lets go counts at once.
 */
/* matrix: policy workers */
#include "support/io/streams.h"
#include "support/times.h"

/* A task for a stream, and what its last run was told. */
typedef struct job {
    thrum_task task;
    thrum_stream *stream;
    thrum_time deadline;
    int code; /* of the call that has listed it */
    thrum_cause cause;
    bool expired;
    int again; /* how often the body lists its task */
    atomic_int runs;
} job;

static rig r;

static void take_byte(thrum_task *self, void *arg) {
    job *j = arg;
    char byte;
    j->cause = thrum_task_cause(self);
    j->expired = thrum_task_is_expired(self);
    if (j->again > 0) {
        j->again--;
        CHECK_EQ(thrum_stream_read(j->stream, &byte, 1), 1);
        CHECK_EQ(thrum_stream_on_until(j->stream, self, j->deadline), 0);
    }
    atomic_fetch_add(&j->runs, 1);
}

static void job_init(job *j, thrum_stream *stream) {
    memset(j, 0, sizeof *j);
    thrum_task_init(&j->task, take_byte, j);
    j->stream = stream;
    j->deadline = THRUM_FOREVER;
}

static int lists(void *arg) {
    job *j = arg;
    j->code = j->deadline == THRUM_FOREVER
                  ? thrum_stream_on(j->stream, &j->task)
                  : thrum_stream_on_until(j->stream, &j->task, j->deadline);
    return 0;
}

/* By a fiber of the rig's; returns when the call has. */
static int list(job *j) {
    CHECK_EQ(rig_run(&r, lists, j), 0);
    return j->code;
}

/* Has the stream read one of n bytes that are fed, so that the others are in its buffer. */
static void buffer(pair *p, size_t n) {
    char byte;
    feed(p, "0123456789", n);
    CHECK_EQ(thrum_stream_read(&p->stream, &byte, 1), 1);
    CHECK_EQ(thrum_stream_buffered(&p->stream), n - 1);
}

TEST(buffered_bytes_post_it_at_once) {
    /* The descriptor has nothing, and never will. A deadline that has passed changes nothing. */
    pair p;
    job j;
    char rest[4];
    rig_begin(&r, 0);
    pair_reading(&p, 64);
    buffer(&p, 4);
    job_init(&j, &p.stream);
    for (int i = 0; i < 30; i++) {
        j.deadline = i % 3 == 0 ? THRUM_FOREVER : i % 3 == 1 ? far_off() : past();
        CHECK_EQ(list(&j), 0);
        SPIN_UNTIL(atomic_load(&j.runs) == i + 1);
        CHECK(j.cause == THRUM_CAUSE_WOKEN && !j.expired);
    }
    CHECK_EQ(thrum_stream_read(&p.stream, rest, sizeof rest), 3);
    j.deadline = soon(); /* now there is nothing */
    CHECK_EQ(list(&j), 0);
    SPIN_UNTIL(atomic_load(&j.runs) == 31);
    CHECK(j.cause == THRUM_CAUSE_EXPIRED && j.expired);
    CHECK_EQ(thrum_stream_unread(&p.stream, "x", 1), 0);
    j.deadline = THRUM_FOREVER;
    CHECK_EQ(list(&j), 0); /* what was put back counts, too */
    SPIN_UNTIL(atomic_load(&j.runs) == 32);
    CHECK(j.cause == THRUM_CAUSE_WOKEN && !j.expired);
    pair_close(&p);
    rig_stop(&r);
}

TEST(with_an_empty_buffer_the_descriptor_posts_it) {
    /* Bytes that come, and the end. */
    pair p;
    job j;
    char byte;
    rig_begin(&r, 0);
    pair_reading(&p, 64);
    job_init(&j, &p.stream);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(list(&j), 0);
        CHECK_EQ(atomic_load(&j.runs), i); /* nothing could have made it due */
        feed(&p, "a", 1);
        SPIN_UNTIL(atomic_load(&j.runs) == i + 1);
        CHECK(j.cause == THRUM_CAUSE_WOKEN && !j.expired);
        CHECK_EQ(thrum_stream_read(&p.stream, &byte, 1), 1);
    }
    CHECK_EQ(list(&j), 0);
    pair_end(&p);
    SPIN_UNTIL(atomic_load(&j.runs) == 21);
    CHECK_EQ(thrum_stream_read(&p.stream, &byte, 1), 0);
    pair_close(&p);
    rig_stop(&r);
}

TEST(a_body_lists_its_own_task) {
    /* Each run takes one byte of those that came together. */
    pair p;
    job j;
    rig_begin(&r, 0);
    pair_reading(&p, 64);
    job_init(&j, &p.stream);
    j.again = 10;
    CHECK_EQ(list(&j), 0);
    feed(&p, "0123456789", 10);
    SPIN_UNTIL(atomic_load(&j.runs) == 10);
    feed(&p, "!", 1);
    SPIN_UNTIL(atomic_load(&j.runs) == 11);
    CHECK_EQ(thrum_stream_buffered(&p.stream), 0);
    pair_close(&p);
    rig_stop(&r);
}

TEST(a_file_is_always_ready) {
    /* /dev/null and a file: no set of the system's takes them. */
    char path[] = "/tmp/thrum-ready-XXXXXX";
    rig_begin(&r, 0);
    for (int i = 0; i < 2; i++) {
        thrum_stream stream;
        thrum_io io;
        job j;
        int fd = i ? mkstemp(path) : open("/dev/null", O_RDONLY);
        CHECK(fd >= 0 && (i == 0 || unlink(path) == 0));
        CHECK_EQ(thrum_io_adopt_shared(&io, fd), 0);
        CHECK_EQ(thrum_stream_open(&stream, io, NULL), 0);
        job_init(&j, &stream);
        CHECK_EQ(list(&j), 0);
        SPIN_UNTIL(atomic_load(&j.runs) == 1);
        CHECK(j.cause == THRUM_CAUSE_WOKEN && !j.expired);
        CHECK_EQ(thrum_stream_close(&stream), 0);
        CHECK_EQ(close(fd), 0);
    }
    rig_stop(&r);
}

static int reads_line(void *arg) {
    char to[8];
    CHECK_EQ(thrum_stream_read_line(arg, to, sizeof to), 2);
    return 0;
}

TEST(what_cannot_be_listed_is_refused) {
    /* And the task stays the caller's. */
    pair p;
    job j, other;
    thrum_handle *reader;
    thrum_stream_options options = THRUM_STREAM_OPTIONS_INIT;
    rig_begin(&r, 0);
    const thrum_attr attr = rig_attr(&r);
    options.shared = true;
    pair_open(&p, THRUM_IO_READ, options);
    job_init(&j, &p.stream);
    job_init(&other, &p.stream);
    CHECK_EQ(thrum_stream_on(&p.stream, NULL), -EINVAL);
    CHECK_EQ(thrum_stream_on(&p.stream, &j.task), -ESRCH); /* a plain thread */
    CHECK_EQ(list(&j), 0);
    CHECK_EQ(list(&j), -EBUSY);
    CHECK_EQ(list(&other), -EBUSY); /* one task waits for it */
    buffer(&p, 2);
    SPIN_UNTIL(atomic_load(&j.runs) == 1);
    thrum_task_init(&other.task, take_byte, &other);
    CHECK_EQ(thrum_task_post_wait(r.sched, &other.task), 0);
    CHECK_EQ(list(&other), -EBUSY); /* it is posted, and not woken by this */
    CHECK_EQ(thrum_task_cancel(&other.task), 0);
    SPIN_UNTIL(atomic_load(&other.runs) == 1);
    CHECK_EQ(other.cause, THRUM_CAUSE_CANCELLED);
    CHECK_EQ(thrum_spawn_with(&reader, &attr, reads_line, &p.stream), 0);
    SPIN_UNTIL(io_is_waited_for(thrum_stream_io(&p.stream), 0));
    CHECK_EQ(list(&j), -EBUSY); /* another one reads */
    feed(&p, "b\n", 2);
    CHECK_EQ(thrum_join(reader, NULL), 0);
    pair_close(&p);
    CHECK_EQ(list(&j), -EBADF);
    rig_stop(&r);
}
