/*
 * file_steps.c: reads that go in several steps (src/file/bytes.c).
 */
/* matrix: policy workers */
#include "support/io/files.h"

#define NEW (THRUM_FILE_READ | THRUM_FILE_WRITE | THRUM_FILE_CREATE | THRUM_FILE_EXCLUSIVE)

enum { SIZE = 3 << 20, PARTS = 40 }; /* the last part is empty */

static unsigned char *bytes, *again;

static thrum_io made(void) {
    thrum_io io = opened("a", NEW);
    for (size_t i = 0; i < SIZE; i++) {
        bytes[i] = (unsigned char)(i * 7 + i / 4096);
    }
    CHECK_EQ(thrum_file_pwrite(io, bytes, SIZE, 0, THRUM_FOREVER), SIZE);
    memset(again, 0, SIZE);
    return io;
}

static void gone(thrum_io io) {
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
}

/* Empty parts in front, at the end, and where a step ends; short and long ones between. */
static void divide(thrum_iovec parts[PARTS]) {
    size_t at = 0;
    for (int i = 0; i < PARTS; i++) {
        const size_t wanted = i % 3 == 0          ? 0
                              : i == 1 || i == 20 ? 1 << 20
                              : i % 3 == 1        ? 1
                                                  : 128 << 10;
        const size_t left = SIZE - at;
        const bool last = i == PARTS - 2;
        parts[i] = (thrum_iovec){again + at, !last && wanted < left ? wanted : left};
        at += parts[i].size;
    }
    CHECK_EQ(at, SIZE);
}

static int parts_body(void *arg) {
    thrum_iovec parts[PARTS];
    (void)arg;
    divide(parts);
    for (int operations = 0; operations < 2; operations++) {
        thrum_io io = made();
        only_operations(operations);
        CHECK_EQ(thrum_file_preadv(io, parts, PARTS, 0, THRUM_FOREVER), SIZE);
        CHECK(memcmp(again, bytes, SIZE) == 0);
        CHECK_EQ(thrum_file_preadv(io, parts, PARTS, SIZE - 9, THRUM_FOREVER), 9);
        CHECK_EQ(thrum_file_preadv(io, parts, 1, 0, THRUM_FOREVER), 0);
        only_operations(false);
        gone(io);
    }
    return 0;
}

static void with_memory(thrum_fn body, unsigned workers) {
    char path[64];
    rig r;
    in_dir(path);
    bytes = malloc(SIZE);
    again = malloc(SIZE);
    CHECK(bytes && again);
    rig_init(&r);
    r.config.workers = workers ? workers : r.config.workers;
    rig_start(&r);
    CHECK_EQ(rig_run(&r, body, NULL), 0);
    rig_stop(&r);
    if (!workers) {
        CHECK_EQ(body(NULL), 0);
    }
    free(bytes);
    free(again);
    out_of_dir(path);
}

TEST(parts_of_all_sizes) {
    /* Steps end within parts and between them, and an empty part is not taken for the end. */
    with_memory(parts_body, 0);
}

static atomic_bool ran;

static int runs(void *arg) {
    (void)arg;
    atomic_store(&ran, true);
    return 0;
}

static int others_body(void *arg) {
    (void)arg;
    thrum_io io = made();
    atomic_store(&ran, false);
    CHECK_EQ(thrum_go(runs, NULL), 0);
    CHECK_EQ(thrum_file_pread(io, again, SIZE, 0, THRUM_FOREVER), SIZE);
    CHECK(atomic_load(&ran));
    CHECK(memcmp(again, bytes, SIZE) == 0);
    gone(io);
    return 0;
}

TEST(others_run_during_a_long_read) {
    /* On the only worker, also of what the system has in memory. */
    with_memory(others_body, 1);
}
