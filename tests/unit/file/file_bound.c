/*
 * file_bound.c: files on a scheduler in which the main thread takes part, also without workers.
 */
/* matrix: bound */
#include "support/sync/bound.h"
#include "support/io/files.h"
#include "support/times.h"

#define NEW (THRUM_FILE_READ | THRUM_FILE_WRITE | THRUM_FILE_CREATE | THRUM_FILE_EXCLUSIVE)

static thrum_io io;

static int read_mine(void *arg) {
    char text[8] = "";
    (void)arg;
    CHECK_EQ(thrum_file_pread(io, text, 4, 0, THRUM_FOREVER), 4);
    CHECK_STR(text, "text");
    check_holds("a", "text");
    return 0;
}

TEST(tasks_wait_for_operations) {
    /* So does the thread that runs them, meanwhile or afterwards. */
    rig r;
    char path[64];
    in_dir(path);
    const int before = fds_open();
    bound_begin(&r);
    io = opened("a", NEW);
    CHECK_EQ(thrum_file_pwrite(io, "text", 4, 0, THRUM_FOREVER), 4);
    only_operations(true);
    bound_run_all(&r, SCALED(50), read_mine, NULL);
    CHECK_EQ(read_mine(NULL), 0);
    only_operations(false);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
    bound_end(&r);
    CHECK_EQ(fds_open(), before);
    out_of_dir(path);
}

static int open_fifo(void *arg) {
    thrum_io fifo;
    const thrum_time *deadline = arg;
    return thrum_file_open(&fifo, "fifo", THRUM_FILE_READ, 0, *deadline);
}

TEST(what_does_not_open_is_given_up) {
    /* By a task, and by the thread that is bound. */
    NOT_BY_WINDOWS("a FIFO with a name in a directory");
    rig r;
    char path[64];
    in_dir(path);
    CHECK_EQ(mkfifo("fifo", 0600), 0);
    const int before = fds_open();
    bound_begin(&r);
    thrum_time until = soon();
    CHECK_EQ(rig_run(&r, open_fifo, &until), -ETIMEDOUT);
    until = soon();
    CHECK_EQ(open_fifo(&until), -ETIMEDOUT);
    bound_end(&r);
    const int fd = open("fifo", O_RDWR);
    SPIN_UNTIL(figures().begun == 0); /* all have opened, and are closed then */
    SPIN_UNTIL(fds_open() == before + 1);
    close(fd);
    CHECK_EQ(unlink("fifo"), 0);
    out_of_dir(path);
}

/* Without a yield the other one, which is behind it, would never come. */
static int read_until_told(void *arg) {
    atomic_bool *told = arg;
    while (!atomic_load(told)) {
        char text[4];
        CHECK_EQ(thrum_file_pread(io, text, 4, 0, THRUM_FOREVER), 4);
    }
    return 0;
}

static int set_told(void *arg) {
    atomic_bool *told = arg;
    atomic_store(told, true);
    return 0;
}

TEST(reads_that_need_not_wait_let_others_run) {
    /* After so many of them the task yields, as with any descriptor. */
    rig r;
    char path[64];
    atomic_bool told;
    atomic_init(&told, false);
    in_dir(path);
    bound_begin(&r);
    io = opened("a", NEW);
    CHECK_EQ(thrum_file_pwrite(io, "text", 4, 0, THRUM_FOREVER), 4);
    const thrum_attr attr = rig_attr(&r);
    thrum_handle *one, *two;
    CHECK_EQ(thrum_spawn_with(&one, &attr, read_until_told, &told), 0);
    CHECK_EQ(thrum_spawn_with(&two, &attr, set_told, &told), 0);
    CHECK_EQ(thrum_join(one, NULL), 0);
    CHECK_EQ(thrum_join(two, NULL), 0);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
    bound_end(&r);
    out_of_dir(path);
}
