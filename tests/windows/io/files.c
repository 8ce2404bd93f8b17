/*
 * files.c: files under Windows, as the library has them: names in UTF-8, long paths, locks that
 * keep nobody from the bytes, what is open and renamed or removed, and how errors are called.
 */
/* matrix: policy workers */
#include "support/io/files.h"
#include "support/times.h"

#define RW (THRUM_FILE_READ | THRUM_FILE_WRITE)
#define NEW (RW | THRUM_FILE_CREATE | THRUM_FILE_EXCLUSIVE)

/* Runs a body in a directory of its own. */
static int inside(thrum_fn body) {
    char path[64];
    const int before = fds_open();
    in_dir(path);
    CHECK_EQ(body(NULL), 0);
    out_of_dir(path);
    CHECK_EQ(fds_open(), before);
    return 0;
}

/* ---- names ---- */

/* A name with letters of two, three and four bytes, of which the last one is two words. */
#define UNUSUAL "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x8c\x80.txt"

static int utf8_body(void *arg) {
    thrum_dir *dir;
    thrum_dir_entry e;
    (void)arg;
    CHECK_EQ(thrum_file_replace(UNUSUAL, "text", 4, 0, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_dir_open(&dir, ".", THRUM_FOREVER), 0);
    CHECK_EQ(thrum_dir_next(dir, &e, THRUM_FOREVER), 1);
    CHECK_STR(e.name, UNUSUAL);
    CHECK_EQ(e.kind, THRUM_FILE_REGULAR);
    check_holds(e.name, "text");
    CHECK_EQ(thrum_dir_next(dir, &e, THRUM_FOREVER), 0);
    thrum_dir_close(dir);
    CHECK(GetFileAttributesW(L"gr\u00fc\u00df \u20ac \U0001f300.txt") != INVALID_FILE_ATTRIBUTES);
    CHECK_EQ(thrum_file_unlink(UNUSUAL, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_unlink("\xff", THRUM_FOREVER), -EILSEQ);
    return 0;
}

static int utf8_either(void *arg) {
    (void)arg;
    return inside(utf8_body);
}

TEST(names_are_in_utf_8) {
    /* As they are given, and as a directory tells them; what is no UTF-8 names nothing. */
    both(utf8_either);
}

enum { DEPTH = 12, NAME = 60 };

static int long_body(void *arg) {
    char path[DEPTH * (NAME + 1) + 8] = "";
    size_t ends[DEPTH];
    (void)arg;
    size_t at = 0;
    for (int i = 0; i < DEPTH; i++) {
        memset(path + at, 'a' + i, NAME);
        at += NAME;
        path[at] = '\0';
        CHECK_EQ(thrum_file_mkdir(path, 0755, THRUM_FOREVER), 0);
        ends[i] = at;
        path[at++] = '/';
    }
    strcpy(path + at, "file");
    CHECK_EQ(thrum_file_replace(path, "deep", 4, 0, THRUM_FOREVER), 0);
    check_holds(path, "deep");
    CHECK_EQ(thrum_file_unlink(path, THRUM_FOREVER), 0);
    for (int i = DEPTH - 1; i >= 0; i--) {
        path[ends[i]] = '\0';
        CHECK_EQ(thrum_file_rmdir(path, THRUM_FOREVER), 0);
    }
    return 0;
}

static int long_either(void *arg) {
    (void)arg;
    return inside(long_body);
}

TEST(paths_may_be_long) {
    /* Beyond the 260 words that a path has without a prefix. */
    both(long_either);
}

/* ---- what others have open ---- */

static int open_body(void *arg) {
    char text[8] = "";
    (void)arg;
    thrum_io io = opened("a", NEW);
    CHECK_EQ(thrum_file_pwrite(io, "old", 3, 0, THRUM_FOREVER), 3);
    CHECK_EQ(thrum_file_rename("a", "b", 0, THRUM_FOREVER), 0); /* while it is open */
    thrum_io other = opened("b", THRUM_FILE_READ);
    CHECK_EQ(thrum_file_pread(other, text, 8, 0, THRUM_FOREVER), 3);
    CHECK_EQ(thrum_file_unlink("b", THRUM_FOREVER), 0); /* the same */
    CHECK_EQ(thrum_file_pread(other, text, 8, 0, THRUM_FOREVER), 3);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_io_close(other), 0);
    CHECK_EQ(thrum_file_stat("b", 0, &(thrum_file_info){0}, THRUM_FOREVER), -ENOENT);
    return 0;
}

static int open_either(void *arg) {
    (void)arg;
    return inside(open_body);
}

TEST(what_is_open_may_be_renamed_and_removed) {
    /* It stays what it is for who has it open, and is gone when nobody has. */
    both(open_either);
}

/* ---- transfers ---- */

static int append_body(void *arg) {
    char text[8] = "";
    (void)arg;
    thrum_io io = opened("a", NEW);
    CHECK_EQ(thrum_file_pwrite(io, "123456", 6, 0, THRUM_FOREVER), 6);
    thrum_io end = opened("a", THRUM_FILE_WRITE | THRUM_FILE_APPEND | THRUM_FILE_TRUNCATE);
    CHECK_EQ(thrum_file_pwrite(end, "ab", 2, 0, THRUM_FOREVER), 2);
    CHECK_EQ(thrum_file_pwrite(end, "cd", 2, 0, THRUM_FOREVER), 2);
    CHECK_EQ(thrum_file_append(io, "ef", 2, THRUM_FOREVER), 2);
    CHECK_EQ(thrum_file_pread(end, text, 2, 0, THRUM_FOREVER), -EBADF);
    CHECK_EQ(thrum_file_pread(io, text, 8, 0, THRUM_FOREVER), 6);
    CHECK(memcmp(text, "abcdef", 6) == 0);
    CHECK_EQ(thrum_io_close(end), 0);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
    return 0;
}

static int append_either(void *arg) {
    (void)arg;
    return inside(append_body);
}

TEST(what_is_appended_goes_to_the_end) {
    /* By who may do nothing else, whose file may be emptied as it is opened; and by others. */
    both(append_either);
}

static int place_body(void *arg) {
    char text[8] = "";
    (void)arg;
    thrum_io io = opened("a", NEW);
    CHECK_EQ(thrum_write(io, "abcdef", 6), 6);
    CHECK_EQ(thrum_file_pwrite(io, "A", 1, 0, THRUM_FOREVER), 1);
    CHECK_EQ(thrum_write(io, "gh", 2), 2);
    CHECK_EQ(thrum_file_pread(io, text, 8, 0, THRUM_FOREVER), 8);
    CHECK(memcmp(text, "Abcdefgh", 8) == 0);
    CHECK_EQ(thrum_read(io, text, 8), 0); /* at the end still */
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
    return 0;
}

static int place_either(void *arg) {
    (void)arg;
    return inside(place_body);
}

TEST(who_says_where_leaves_the_place_alone) {
    /* From which reads and writes go on that do not say. */
    both(place_either);
}

/* ---- locks ---- */

static int lock_body(void *arg) {
    char text[8] = "";
    (void)arg;
    thrum_io one = opened("a", NEW);
    thrum_io two = opened("a", RW);
    CHECK_EQ(thrum_file_lock(one, THRUM_FILE_READ, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_try_lock(two, THRUM_FILE_READ), 0);
    CHECK_EQ(thrum_file_try_lock(one, THRUM_FILE_WRITE), -EBUSY); /* and it shares it still */
    CHECK_EQ(thrum_file_unlock(one), 0);
    CHECK_EQ(thrum_file_try_lock(two, THRUM_FILE_WRITE), 0);
    CHECK_EQ(thrum_file_try_lock(two, THRUM_FILE_WRITE), 0); /* it is its own */
    CHECK_EQ(thrum_file_try_lock(one, THRUM_FILE_READ), -EBUSY);
    CHECK_EQ(thrum_file_lock(one, THRUM_FILE_READ, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_file_pwrite(one, "text", 4, 0, THRUM_FOREVER), 4); /* nobody is kept from it */
    CHECK_EQ(thrum_file_pread(one, text, 4, 0, THRUM_FOREVER), 4);
    CHECK_EQ(thrum_file_try_lock(two, THRUM_FILE_READ), 0);
    CHECK_EQ(thrum_file_try_lock(one, THRUM_FILE_READ), 0);
    CHECK_EQ(thrum_file_try_lock(two, THRUM_FILE_WRITE), -EBUSY);
    CHECK_EQ(thrum_io_close(one), 0); /* gives it up */
    CHECK_EQ(thrum_file_try_lock(two, THRUM_FILE_WRITE), 0);
    CHECK_EQ(thrum_io_close(two), 0);
    CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
    return 0;
}

static int lock_either(void *arg) {
    (void)arg;
    return inside(lock_body);
}

TEST(locks_are_of_the_file_and_not_of_its_bytes) {
    /* Shared and exclusive ones, and from one to the other. */
    both(lock_either);
}

/* ---- errors ---- */

static int errors_body(void *arg) {
    thrum_file_info info;
    thrum_io io;
    char byte;
    (void)arg;
    CHECK_EQ(thrum_file_open(&io, "no/a", THRUM_FILE_READ, 0, THRUM_FOREVER), -ENOENT);
    CHECK_EQ(thrum_file_open(&io, "", THRUM_FILE_READ, 0, THRUM_FOREVER), -ENOENT);
    CHECK_EQ(thrum_file_mkdir("d", 0755, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_open(&io, "d", RW, 0, THRUM_FOREVER), -EISDIR);
    CHECK_EQ(thrum_file_unlink("d", THRUM_FOREVER), -EISDIR);
    io = opened("d", THRUM_FILE_READ);
    CHECK_EQ(thrum_file_pread(io, &byte, 1, 0, THRUM_FOREVER), -EISDIR);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_file_replace("a", "text", 4, 0444, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_stat("a", 0, &info, THRUM_FOREVER), 0);
    CHECK_EQ(info.mode, 0444); /* of the superuser's wine all may be written all the same */
    CHECK_EQ(thrum_file_rmdir("a", THRUM_FOREVER), -ENOTDIR);
    CHECK_EQ(thrum_file_link("a", "d/a", THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_link("a", "d/a", THRUM_FOREVER), -EEXIST);
    CHECK_EQ(thrum_file_rmdir("d", THRUM_FOREVER), -ENOTEMPTY);
    io = opened("a", THRUM_FILE_READ);
    CHECK_EQ(thrum_file_pwrite(io, "x", 1, 0, THRUM_FOREVER), -EBADF);
    CHECK_EQ(thrum_file_truncate(io, 0, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_io_close(io), 0);
    check_holds("d/a", "text");
    CHECK(SetFileAttributesA("a", FILE_ATTRIBUTE_NORMAL));
    CHECK_EQ(thrum_file_unlink("d/a", THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_rmdir("d", THRUM_FOREVER), 0);
    return 0;
}

static int errors_either(void *arg) {
    (void)arg;
    return inside(errors_body);
}

TEST(errors_have_the_names_that_they_have_elsewhere) {
    /* What is a directory, is none, is there, is not, or may not be written. */
    both(errors_either);
}
