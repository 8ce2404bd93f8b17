/*
 * file_hung.c: files of a server that does not answer, as on a network that is gone. Unlike in
 * file_waits.c the system itself hangs, in a file system of the test's own.
 */
/* POSIX: /dev/fuse */
/* matrix: policy workers */
#include "support/io/hung_files.h"
#include "support/times.h"

static hung h;
static char held[64];
static char memory[HUNG_BYTES];

static void begin(rig *r, unsigned spares) {
    if (!hung_mount(&h)) {
        CHECK_SKIP("no file system of the test's own: that takes /dev/fuse, and root");
    }
    hung_path(&h, "held", held);
    memset(memory, '-', sizeof memory);
    rig_init(r);
    r->config.workers_spare = spares;
    rig_start(r);
}

static bool is_untouched(void) {
    for (unsigned i = 0; i < sizeof memory; i++) {
        if (memory[i] != '-') {
            return false;
        }
    }
    return true;
}

static thrum_handle *start(const rig *r, thrum_fn fn, void *arg) {
    thrum_handle *handle;
    const thrum_attr attr = rig_attr(r);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, fn, arg), 0);
    return handle;
}

static int result_of(thrum_handle *handle) {
    int result = 0;
    CHECK_EQ(thrum_join(handle, &result), 0);
    return result;
}

static int reads(void *arg) {
    const thrum_io *io = arg;
    return (int)thrum_file_pread(*io, memory, HUNG_BYTES, 0, THRUM_FOREVER);
}

static int reads_for_a_while(void *arg) {
    const thrum_io *io = arg;
    return (int)thrum_file_pread(*io, memory, HUNG_BYTES, 0, soon());
}

static int reads_fine(void *arg) {
    char path[64], bytes[HUNG_BYTES];
    (void)arg;
    hung_path(&h, "fine", path);
    CHECK_EQ(thrum_file_load(path, bytes, sizeof bytes, THRUM_FOREVER), HUNG_BYTES);
    CHECK_EQ(bytes[HUNG_BYTES - 1], 'h');
    return 0;
}

TEST(a_deadline_and_a_cancel_come_back_at_once) {
    /* Others read on, from the same server too; what was asked for touches no caller's memory. */
    rig r;
    begin(&r, 0);
    thrum_io io = opened(held, THRUM_FILE_READ);
    thrum_handle *reader = start(&r, reads, &io);
    SPIN_UNTIL(hung_reads(&h) == 1);
    CHECK_EQ(rig_run(&r, reads_fine, NULL), 0);
    CHECK_EQ(rig_run(&r, reads_for_a_while, &io), -ETIMEDOUT);
    CHECK_EQ(reads_for_a_while(&io), -ETIMEDOUT); /* a plain thread */
    CHECK_EQ(thrum_cancel(reader), 0);
    CHECK_EQ(result_of(reader), -ECANCELED);
    CHECK_EQ(rig_run(&r, reads_fine, NULL), 0);
    CHECK_EQ(thrum_io_close(io), 0);
    rig_stop(&r); /* waits for none of them */
    hung_go_on(&h);
    SPIN_UNTIL(figures().begun == 0 && figures().queued == 0);
    CHECK(is_untouched());
    hung_end(&h);
}

TEST(a_read_that_is_answered_late_has_its_bytes) {
    /* Its caller waits for as long as the server takes. */
    rig r;
    begin(&r, 0);
    thrum_io io = opened(held, THRUM_FILE_READ);
    thrum_handle *reader = start(&r, reads, &io);
    SPIN_UNTIL(hung_reads(&h) == 1);
    hung_go_on(&h);
    CHECK_EQ(result_of(reader), HUNG_BYTES);
    CHECK_EQ(memory[0], 'h');
    CHECK_EQ(memory[HUNG_BYTES - 1], 'h');
    CHECK_EQ(thrum_io_close(io), 0);
    rig_stop(&r);
    hung_end(&h);
}

TEST(a_server_that_dies_is_an_error) {
    /* For the read that hangs, for later ones, and for the close. */
    rig r;
    begin(&r, 0);
    thrum_io io = opened(held, THRUM_FILE_READ);
    thrum_handle *reader = start(&r, reads, &io);
    SPIN_UNTIL(hung_reads(&h) == 1);
    hung_die(&h);
    CHECK_EQ(result_of(reader), -ECONNABORTED);
    CHECK(is_untouched());
    CHECK_EQ(rig_run(&r, reads, &io), -ENOTCONN);
    CHECK_EQ(thrum_io_close(io), -ENOTCONN); /* it is closed all the same */
    CHECK_EQ(thrum_io_close(io), -EBADF);
    rig_stop(&r);
    hung_end(&h);
}

static int reads_on_the_worker(void *arg) {
    const int *fd = arg;
    char bytes[HUNG_BYTES];
    return (int)read(*fd, bytes, sizeof bytes);
}

TEST(a_worker_that_hangs_there_is_stood_in_for) {
    /* The task calls the system itself, on as many workers as there are: others go on. */
    rig r;
    int fds[64];
    thrum_handle *readers[64];
    begin(&r, 2);
    const int n = (int)thrum_sched_parallelism(r.sched);
    CHECK(n <= HUNG_READS);
    for (int i = 0; i < n; i++) {
        thrum_attr attr = rig_attr(&r);
        attr.flags = THRUM_PINNED;
        attr.worker = i;
        fds[i] = open(held, O_RDONLY | O_CLOEXEC);
        CHECK(fds[i] >= 0);
        CHECK_EQ(thrum_spawn_with(&readers[i], &attr, reads_on_the_worker, &fds[i]), 0);
    }
    SPIN_UNTIL(hung_reads(&h) == n);
    CHECK_EQ(rig_run(&r, reads_fine, NULL), 0);
    hung_go_on(&h);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(result_of(readers[i]), HUNG_BYTES);
        close(fds[i]);
    }
    rig_stop(&r);
    hung_end(&h);
}
