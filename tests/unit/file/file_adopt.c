/*
 * file_adopt.c: files that the program has opened itself.
 */
/* matrix: policy workers */
#include "support/io/files.h"
#include "support/times.h"

static int adopted_body(void *arg) {
    char text[8] = "";
    thrum_io io, again;
    (void)arg;
    const int fd = file_opened("a", false);
    CHECK_EQ(thrum_file_adopt(&io, fd), 0);
    CHECK_EQ(thrum_file_adopt(&again, fd), -EEXIST);
    CHECK_EQ(thrum_file_pwrite(io, "hello", 5, 2, THRUM_FOREVER), 5);
    CHECK_EQ(thrum_file_pread(io, text, sizeof text, 2, THRUM_FOREVER), 5);
    CHECK(memcmp(text, "hello", 5) == 0);
    CHECK_EQ(thrum_io_release(io), fd);
    CHECK_EQ(thrum_file_pread(io, text, 1, 0, THRUM_FOREVER), -EBADF);
    CHECK_EQ(thrum_file_adopt(&again, fd), 0);
    CHECK_EQ(thrum_file_truncate(again, 3, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_io_close(again), 0);
    CHECK(!file_is_open(fd));
    const int direct = file_opened("a", true);
    CHECK_EQ(thrum_file_adopt(&io, direct), 0);
    const uint64_t calls = figures().calls;
    CHECK_EQ(thrum_file_pread(io, text, 3, 0, far_off()), 3);
    CHECK_EQ(figures().calls, calls + 1); /* nothing was tried that might wait in the system */
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
    return 0;
}

static int adopted_either(void *arg) {
    char path[64];
    (void)arg;
    for (int i = 0; i < 2; i++) {
        only_operations(i == 1);
        in_dir(path);
        CHECK_EQ(adopted_body(NULL), 0);
        out_of_dir(path);
        only_operations(false);
    }
    return 0;
}

TEST(an_open_file_is_taken_over) {
    /* As one from openat is; others are refused, and stay the caller's. */
    thrum_io io;
    int pair[2];
    both(adopted_either);
    no_files(pair);
    CHECK_EQ(thrum_file_adopt(&io, pair[0]), -EINVAL);
    CHECK_EQ(thrum_file_adopt(&io, 999999), -EBADF);
    CHECK_EQ(thrum_file_adopt(&io, -1), -EBADF);
    CHECK_EQ(thrum_file_adopt(NULL, pair[0]), -EINVAL);
    no_file_close(pair[0]);
    no_file_close(pair[1]);
}
