/*
 * file.c: files: bytes at offsets, the file as a whole, names, directories. In tasks, and on plain
 * threads.
 */
/* matrix: policy workers */
#include "support/io/files.h"
#include "support/times.h"

#define RW (THRUM_FILE_READ | THRUM_FILE_WRITE)
#define NEW (RW | THRUM_FILE_CREATE | THRUM_FILE_EXCLUSIVE)

static thrum_fn body;

/* Runs the body with what is done at once, then with operations only: by rings, and by threads. */
static int either_way(void *arg) {
    char path[64];
    (void)arg;
    for (int i = 0; i < 3; i++) {
        only_operations(i >= 1);
        no_rings(i == 2);
        in_dir(path);
        CHECK_EQ(body(NULL), 0);
        out_of_dir(path);
        only_operations(false);
        no_rings(false);
    }
    return 0;
}

static void both_ways(thrum_fn fn) {
    const int before = fds_open();
    body = fn;
    both(either_way);
    CHECK_EQ(fds_open(), before);
}

/* ---- bytes ---- */

static int bytes_body(void *arg) {
    char text[64] = "";
    (void)arg;
    thrum_io io = opened("a", NEW);
    CHECK_EQ(thrum_file_pwrite(io, "hello", 5, 0, THRUM_FOREVER), 5);
    CHECK_EQ(thrum_file_pwrite(io, "world", 5, 10, THRUM_FOREVER), 5);
    CHECK_EQ(thrum_file_pread(io, text, sizeof text, 0, THRUM_FOREVER), 15);
    CHECK(memcmp(text, "hello\0\0\0\0\0world", 15) == 0);
    CHECK_EQ(thrum_file_pread(io, text, 3, 12, far_off()), 3);
    CHECK(memcmp(text, "rld", 3) == 0);
    CHECK_EQ(thrum_file_pread(io, text, 3, 15, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_pread(io, text, 3, 999, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_pread(io, text, 0, 0, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_append(io, "!!", 2, THRUM_FOREVER), 2);
    CHECK_EQ(thrum_file_pread(io, text, 9, 13, THRUM_FOREVER), 4);
    CHECK(memcmp(text, "ld!!", 4) == 0);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_file_pread(io, text, 3, 0, THRUM_FOREVER), -EBADF);
    CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
    return 0;
}

TEST(bytes_are_where_they_were_put) {
    /* At offsets, at the end, and beyond it. */
    NOT_BY_POSIX("append to a file that is not open for that");
    both_ways(bytes_body);
}

static int pieces_body(void *arg) {
    char a[3], b[1], c[8] = "";
    (void)arg;
    thrum_io io = opened("a", NEW);
    const thrum_iovec out[] = {{"ab", 2}, {NULL, 0}, {"cdef", 4}, {"g", 1}};
    const thrum_iovec in[] = {{a, 3}, {NULL, 0}, {b, 1}, {c, 8}};
    /* One byte at a time, as far as operations go. */
    th_os_fail(TH_OS_FAULT_FILE_SHORT, 0, 100);
    CHECK_EQ(thrum_file_pwritev(io, out, 4, 1, far_off()), 7);
    CHECK_EQ(thrum_file_preadv(io, in, 4, 1, far_off()), 7);
    th_os_fail(TH_OS_FAULT_FILE_SHORT, 0, 0);
    CHECK(memcmp(a, "abc", 3) == 0 && b[0] == 'd' && memcmp(c, "efg", 4) == 0);
    CHECK_EQ(thrum_file_preadv(io, in, THRUM_IOVECS_MAX + 1, 0, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_file_preadv(io, in, 4, -1, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_file_pwritev(io, out, 4, -1, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_file_preadv(io, NULL, 1, 0, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_file_preadv(io, NULL, 0, 0, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
    return 0;
}

TEST(pieces_and_short_transfers) {
    /* Several pieces of memory, and a system that moves a byte a call. */
    both_ways(pieces_body);
}

#define LARGE ((size_t)3 << 20)

static int large_body(void *arg) {
    unsigned char *bytes = malloc(LARGE);
    unsigned char *again = malloc(LARGE + 5);
    (void)arg;
    for (size_t i = 0; i < LARGE; i++) {
        bytes[i] = (unsigned char)(i * 7 + i / 4096);
    }
    thrum_io io = opened("a", NEW);
    thrum_io to = opened("b", NEW);
    CHECK_EQ(thrum_file_pwrite(io, bytes, LARGE, 5, far_off()), LARGE);
    CHECK_EQ(thrum_file_pread(io, again, LARGE + 5, 0, far_off()), LARGE + 5);
    CHECK(memcmp(again + 5, bytes, LARGE) == 0);
    CHECK_EQ(thrum_file_copy(io, 5, to, 1, LARGE + 9, far_off()), LARGE);
    CHECK_EQ(thrum_file_pread(to, again, LARGE, 1, far_off()), LARGE);
    CHECK(memcmp(again, bytes, LARGE) == 0);
    CHECK_EQ(thrum_file_copy(io, 5, to, 0, 10, far_off()), 10);
    CHECK_EQ(thrum_file_copy(io, LARGE + 5, to, 0, 10, far_off()), 0);
    CHECK_EQ(thrum_file_copy(io, -1, to, 0, 10, far_off()), -EINVAL);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_io_close(to), 0);
    CHECK_EQ(thrum_file_load("a", again, LARGE + 5, THRUM_FOREVER), LARGE + 5);
    CHECK_EQ(thrum_file_load("a", again, LARGE + 4, THRUM_FOREVER), -EFBIG);
    CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_unlink("b", THRUM_FOREVER), 0);
    free(bytes);
    free(again);
    return 0;
}

TEST(what_is_large_goes_in_pieces) {
    /* Written, read, copied from file to file, loaded. */
    both_ways(large_body);
}

static int made_up_body(void *arg) {
    char text[64] = "", again[64] = "";
    (void)arg;
    thrum_io io = opened("/proc/self/stat", THRUM_FILE_READ);
    thrum_io to = opened("a", NEW);
    CHECK(thrum_file_pread(io, text, 63, 0, THRUM_FOREVER) > 20);
    CHECK(thrum_file_load("/proc/self/comm", text, 63, THRUM_FOREVER) > 0);
    /* The system's own copy finds such files empty. */
    thrum_io comm = opened("/proc/self/comm", THRUM_FILE_READ);
    const int64_t n = thrum_file_copy(comm, 0, to, 0, 63, THRUM_FOREVER);
    CHECK(n > 0);
    CHECK_EQ(thrum_file_pread(to, again, 63, 0, THRUM_FOREVER), n);
    CHECK(memcmp(text, again, (size_t)n) == 0);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_io_close(to), 0);
    CHECK_EQ(thrum_io_close(comm), 0);
    CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
    return 0;
}

TEST(files_that_the_system_makes_up) {
    /* Below /proc: without a size, and never at once. */
    NOT_BY_WINDOWS("files below /proc");
    both_ways(made_up_body);
}

static int position_body(void *arg) {
    char text[8] = "";
    (void)arg;
    thrum_io io = opened("a", NEW | THRUM_FILE_APPEND);
    CHECK_EQ(thrum_write(io, "abcdef", 6), 6);
    CHECK_EQ(thrum_file_pwrite(io, "g", 1, 0, THRUM_FOREVER), 1); /* it is for appending */
    thrum_io from = opened("a", THRUM_FILE_READ);
    CHECK_EQ(thrum_file_pread(from, text, 7, 0, THRUM_FOREVER), 7);
    CHECK_STR(text, "abcdefg");
    CHECK_EQ(thrum_read(from, text, 3), 3);
    CHECK(memcmp(text, "abc", 3) == 0);
    CHECK_EQ(thrum_copy(from, io, 4, THRUM_FOREVER), 4);
    CHECK_EQ(thrum_read(from, text, 7), 4);
    CHECK(memcmp(text, "defg", 4) == 0);
    CHECK_EQ(thrum_read(from, text, 7), 0);
    CHECK_EQ(thrum_io_close(from), 0);
    CHECK_EQ(thrum_io_close(io), 0);
    check_holds("a", "abcdefgdefg");
    CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
    return 0;
}

TEST(a_file_is_a_descriptor_like_others) {
    /* thrum_read, thrum_write and thrum_copy go on from its position. */
    both_ways(position_body);
}

/* ---- opening ---- */

static int open_body(void *arg) {
    thrum_io io = {0, 0};
    char many[5000];
    (void)arg;
    CHECK_EQ(thrum_file_open(&io, "a", RW, 0, THRUM_FOREVER), -ENOENT);
    CHECK_EQ(thrum_file_open(&io, "a", 0, 0, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_file_open(&io, "a", RW | 4096, 0, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_file_open(&io, NULL, RW, 0, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_file_open(NULL, "a", RW, 0, THRUM_FOREVER), -EINVAL);
    memset(many, 'x', sizeof many);
    many[sizeof many - 1] = '\0';
    CHECK_EQ(thrum_file_open(&io, many, RW, 0, THRUM_FOREVER), -ENAMETOOLONG);
    CHECK_EQ(thrum_file_open(&io, "a", NEW, 0600, 1), -ETIMEDOUT);
    CHECK_EQ(thrum_file_open(&io, "a", NEW, 0600, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_pwrite(io, "abc", 3, 0, THRUM_FOREVER), 3);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_file_open(&io, "a", NEW, 0600, THRUM_FOREVER), -EEXIST);
    CHECK_EQ(thrum_file_open(&io, "a", THRUM_FILE_READ | THRUM_FILE_DIRECTORY, 0, THRUM_FOREVER),
             -ENOTDIR);
    if (HAS_SYMLINKS) {
        CHECK_EQ(thrum_file_symlink("a", "l", THRUM_FOREVER), 0);
        CHECK_EQ(thrum_file_open(&io, "l", THRUM_FILE_READ | THRUM_FILE_NOFOLLOW, 0, THRUM_FOREVER),
                 -ELOOP);
    }
    io = opened(HAS_SYMLINKS ? "l" : "a", THRUM_FILE_WRITE | THRUM_FILE_TRUNCATE);
    CHECK_EQ(thrum_file_pread(io, many, 3, 0, THRUM_FOREVER), -EBADF); /* not for reading */
    CHECK_EQ(thrum_io_close(io), 0);
    check_holds("a", "");
    CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_unlink("l", THRUM_FOREVER), HAS_SYMLINKS ? 0 : -ENOENT);
    io = opened(FILE_NULL, RW);
    CHECK_EQ(thrum_write(io, "abc", 3), 3);
    CHECK_EQ(thrum_read(io, many, 3), 0);
    CHECK_EQ(thrum_io_close(io), 0);
    return 0;
}

TEST(files_are_opened_as_asked) {
    /* And refused as the system, or the rules, would have it. */
    both_ways(open_body);
}

static int device_body(void *arg) {
    static _Alignas(4096) char bytes[8192];
    thrum_io io;
    (void)arg;
    memset(bytes, 'd', 8192);
    int code = thrum_file_open(&io, "a", NEW | THRUM_FILE_DIRECT, 0600, THRUM_FOREVER);
    if (code == 0) {
        CHECK_EQ(thrum_file_pwrite(io, bytes, 8192, 4096, far_off()), 8192);
        memset(bytes, 0, 8192);
        CHECK_EQ(thrum_file_pread(io, bytes, 4096, 8192, far_off()), 4096);
        CHECK(bytes[0] == 'd' && bytes[4095] == 'd');
        CHECK_EQ(thrum_io_close(io), 0);
        CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
    } else {
        CHECK_EQ(code, -EINVAL); /* the file system has none of it */
        (void)unlink("a");
    }
    io = opened("a", NEW | THRUM_FILE_SYNC);
    CHECK_EQ(thrum_file_pwrite(io, "s", 1, 0, far_off()), 1);
    CHECK_EQ(thrum_file_sync(io, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_sync_data(io, far_off()), 0);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
    return 0;
}

TEST(to_the_device) {
    /* Direct transfers, writes that wait for it, and calls that do. */
    both_ways(device_body);
}

/* ---- the file as a whole ---- */

static int whole_body(void *arg) {
    thrum_file_info info;
    (void)arg;
    thrum_io io = opened("a", NEW);
    CHECK_EQ(thrum_file_truncate(io, 100, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_stat_io(io, &info, THRUM_FOREVER), 0);
    CHECK_EQ(info.size, 100);
    int code = thrum_file_allocate(io, 0, 65536, 0, THRUM_FOREVER);
    CHECK(code == 0 || code == -EOPNOTSUPP);
    CHECK_EQ(thrum_file_stat("a", 0, &info, THRUM_FOREVER), 0);
    CHECK_EQ(info.size, code ? 100 : 65536);
    CHECK_EQ(info.kind, THRUM_FILE_REGULAR);
    CHECK_EQ(info.mode, FILE_MODE(0644u));
    CHECK_EQ(info.links, 1);
    CHECK_EQ(info.user, FILE_OWNER);
    CHECK(info.modified > THRUM_S(1000000000));
    if (code == 0) {
        CHECK(info.allocated >= 65536);
        code = thrum_file_allocate(io, 0, 65536, THRUM_FILE_PUNCH, THRUM_FOREVER);
        CHECK(code == 0 || code == -EOPNOTSUPP);
        CHECK_EQ(thrum_file_allocate(io, 0, 1 << 20, THRUM_FILE_KEEP_SIZE, THRUM_FOREVER), 0);
        CHECK_EQ(thrum_file_stat_io(io, &info, THRUM_FOREVER), 0);
        CHECK_EQ(info.size, 65536);
    }
    CHECK_EQ(thrum_file_allocate(io, 0, 0, 0, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_file_allocate(io, 0, 1, 8, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_file_truncate(io, -1, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_file_stat(NULL, 0, &info, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_file_stat_io(io, NULL, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_file_stat_io(io, &info, THRUM_FOREVER), -EBADF);
    CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
    return 0;
}

TEST(sizes_and_what_is_known) {
    /* Truncated, allocated, punched; by path and by handle. */
    NOT_BY_POSIX("room behind the end of a file");
    umask(022); /* whatever the user's is */
    both_ways(whole_body);
}

static int replace_body(void *arg) {
    thrum_file_info info;
    (void)arg;
    CHECK_EQ(thrum_file_replace("a", "one", 3, 0640, THRUM_FOREVER), 0);
    check_holds("a", "one");
    CHECK_EQ(thrum_file_stat("a", 0, &info, THRUM_FOREVER), 0);
    CHECK_EQ(info.mode, FILE_MODE(0640u));
    CHECK_EQ(thrum_file_replace("./a", "twice", 5, 0, far_off()), 0);
    check_holds("a", "twice");
    CHECK_EQ(thrum_file_stat("a", 0, &info, THRUM_FOREVER), 0);
    CHECK_EQ(info.mode, FILE_MODE(0640u)); /* as it was */
    CHECK_EQ(thrum_file_replace("no/a", "x", 1, 0, THRUM_FOREVER), -ENOENT);
    CHECK_EQ(thrum_file_replace("a", NULL, 1, 0, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_file_replace("a", NULL, 0, 0, THRUM_FOREVER), 0);
    check_holds("a", "");
    CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
    return 0;
}

TEST(files_are_replaced_at_once) {
    /* Nothing but the new file is left in the directory. */
    both_ways(replace_body);
}

/* ---- names ---- */

static void symlink_body(void) {
    thrum_file_info info;
    char text[16];
    CHECK_EQ(thrum_file_symlink("d/e", "l", THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_readlink("l", text, sizeof text, THRUM_FOREVER), 3);
    CHECK_STR(text, "d/e");
    CHECK_EQ(thrum_file_readlink("l", text, 3, THRUM_FOREVER), -ERANGE);
    CHECK_EQ(thrum_file_readlink("c", text, sizeof text, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_file_stat("l", THRUM_FILE_LINK, &info, THRUM_FOREVER), 0);
    CHECK_EQ(info.kind, THRUM_FILE_SYMLINK);
    CHECK_EQ(thrum_file_stat("l", 0, &info, THRUM_FOREVER), 0);
    CHECK_EQ(info.kind, THRUM_FILE_REGULAR);
    CHECK_EQ(thrum_file_unlink("l", THRUM_FOREVER), 0);
}

static int names_body(void *arg) {
    thrum_file_info info;
    (void)arg;
    CHECK_EQ(thrum_file_mkdir("d", 0755, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_mkdir("d", 0755, THRUM_FOREVER), -EEXIST);
    CHECK_EQ(thrum_file_replace("d/a", "a", 1, 0, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_link("d/a", "d/b", THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_stat("d/b", 0, &info, THRUM_FOREVER), 0);
    CHECK_EQ(info.links, 2);
    CHECK_EQ(thrum_file_rename("d/a", "d/b", THRUM_FILE_NO_REPLACE, THRUM_FOREVER), -EEXIST);
    CHECK_EQ(thrum_file_rename("d/a", "c", THRUM_FILE_NO_REPLACE, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_rename("d/b", "d/e", 0, THRUM_FOREVER), 0);
    if (HAS_SYMLINKS) {
        symlink_body();
    } else {
        CHECK_EQ(thrum_file_symlink("d/e", "l", THRUM_FOREVER), -ENOSYS);
    }
    CHECK_EQ(thrum_file_rmdir("d", THRUM_FOREVER), -ENOTEMPTY);
    CHECK_EQ(thrum_file_unlink("d/e", THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_rmdir("d", THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_unlink("d", THRUM_FOREVER), -ENOENT);
    CHECK_EQ(thrum_file_unlink("c", THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_unlink(NULL, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_file_rename("c", NULL, 0, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_file_rename("c", "d", 9, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_file_rename("c", "d", 0, 1), -ETIMEDOUT);
    return 0;
}

TEST(names_come_and_go) {
    /* Files, links of both kinds, directories. */
    both_ways(names_body);
}

/* ---- directories ---- */

enum { ENTRIES = 1500 }; /* more than a batch */

static char entries[64]; /* a directory with them */

static int directory_body(void *arg) {
    static char seen[ENTRIES];
    thrum_dir *dir = NULL;
    thrum_dir_entry e;
    int code, n = 0;
    (void)arg;
    memset(seen, 0, sizeof seen);
    CHECK_EQ(thrum_dir_open(&dir, "no", THRUM_FOREVER), -ENOENT);
    CHECK_EQ(thrum_dir_open(NULL, entries, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_dir_open(&dir, entries, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_dir_next(dir, NULL, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_dir_next(dir, &e, 1), -ETIMEDOUT);
    while ((code = thrum_dir_next(dir, &e, far_off())) == 1) {
        int i = -1;
        CHECK_EQ(sscanf(e.name, "a-long-name-%d", &i), 1);
        CHECK(i >= 0 && i < ENTRIES && !seen[i]);
        CHECK(e.kind == THRUM_FILE_REGULAR || e.kind == THRUM_FILE_UNKNOWN);
        CHECK(e.inode != 0);
        seen[i] = 1;
        n++;
    }
    CHECK_EQ(code, 0);
    CHECK_EQ(thrum_dir_next(dir, &e, THRUM_FOREVER), 0);
    CHECK_EQ(n, ENTRIES);
    thrum_dir_close(dir);
    thrum_dir_close(NULL);
    return 0;
}

TEST(each_entry_is_told_once) {
    /* Over several batches, without those that each directory has. */
    char name[32];
    in_dir(entries);
    for (int i = 0; i < ENTRIES; i++) { /* once: ext4 is slow at numbers that were just given up */
        snprintf(name, sizeof name, "a-long-name-%d", i);
        fclose(fopen(name, "w"));
    }
    both_ways(directory_body);
    CHECK_EQ(chdir(entries), 0);
    for (int i = 0; i < ENTRIES; i++) {
        snprintf(name, sizeof name, "a-long-name-%d", i);
        CHECK_EQ(unlink(name), 0);
    }
    out_of_dir(entries);
}

/* ---- changes ---- */

static int changes_body(void *arg) {
    thrum_watch_buffer buffer;
    thrum_watch_event e;
    (void)arg;
    CHECK_EQ(thrum_watch_open(NULL), -EINVAL);
    const thrum_io io = watch_opened();
    thrum_watch_buffer_init(&buffer);
    CHECK_EQ(thrum_watch_add(io, ".", 0, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_watch_add(io, "no", THRUM_WATCH_CREATED, THRUM_FOREVER), -ENOENT);
    const int watch = thrum_watch_add(
        io, ".", THRUM_WATCH_CREATED | THRUM_WATCH_MOVED_FROM | THRUM_WATCH_MOVED_TO,
        THRUM_FOREVER);
    CHECK(watch > 0);
    CHECK_EQ(thrum_receive_from(io, &e, sizeof e, NULL, THRUM_FOREVER), -EOPNOTSUPP);
    CHECK_EQ(thrum_watch_next(io, &buffer, &e, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_file_mkdir("d", 0755, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_rename("d", "e", 0, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_watch_next(io, &buffer, &e, THRUM_FOREVER), 0);
    CHECK_EQ(e.watch, watch);
    CHECK_EQ(e.what, THRUM_WATCH_CREATED | THRUM_WATCH_DIRECTORY);
    CHECK_STR(e.name, "d");
    CHECK_EQ(thrum_watch_next(io, &buffer, &e, THRUM_FOREVER), 0);
    CHECK_EQ(e.what, THRUM_WATCH_MOVED_FROM | THRUM_WATCH_DIRECTORY);
    const uint32_t pair = e.pair;
    CHECK_EQ(thrum_watch_next(io, &buffer, &e, THRUM_FOREVER), 0);
    CHECK_EQ(e.what, THRUM_WATCH_MOVED_TO | THRUM_WATCH_DIRECTORY);
    CHECK_STR(e.name, "e");
    CHECK_EQ(e.pair, pair);
    CHECK_EQ(thrum_watch_remove(io, watch), 0);
    CHECK_EQ(thrum_watch_remove(io, watch), -EINVAL);
    CHECK_EQ(thrum_watch_next(io, &buffer, &e, THRUM_FOREVER), 0);
    CHECK_EQ(e.what, THRUM_WATCH_ENDED);
    CHECK_STR(e.name, "");
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_watch_next(io, &buffer, &e, THRUM_FOREVER), -EBADF);
    CHECK_EQ(thrum_file_rmdir("e", THRUM_FOREVER), 0);
    return 0;
}

TEST(changes_are_told) {
    /* Of names in a directory, in their order. */
    NOT_BY_POSIX("changes of files");
    both_ways(changes_body);
}

static int no_watch_body(void *arg) {
    /* Too short for an event; a name that is longer than what was read; one without an end. */
    static const uint32_t bytes[][5] = {{1}, {1, 2, 3, 4096, 0}, {1, 2, 3, 4, UINT32_MAX}};
    static const size_t sizes[] = {4, 20, 20};
    (void)arg;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        int fds[2];
        thrum_io in;
        thrum_watch_buffer buffer;
        thrum_watch_event event;
        no_watch(fds);
        CHECK_EQ(thrum_io_adopt(&in, fds[0]), 0);
        thrum_watch_buffer_init(&buffer);
        no_watch_put(fds[1], bytes[i], sizes[i]);
        CHECK_EQ(thrum_watch_next(in, &buffer, &event, THRUM_FOREVER), -EINVAL);
        CHECK_EQ(thrum_watch_next(in, &buffer, &event, soon()), -ETIMEDOUT);
        CHECK_EQ(thrum_io_close(in), 0);
        no_file_close(fds[1]);
    }
    return 0;
}

TEST(what_is_no_watch_is_refused) {
    /* Whatever bytes it brings. */
    NOT_BY_POSIX("changes of files");
    both(no_watch_body);
}
