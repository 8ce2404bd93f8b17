/*
 * files.c: files in a test, and crashes of their disk: files NAME [OPTION...]. files.py runs the
 * tests. Those whose names begin with bad_ must fail.
 *
 * Static data is restored before each schedule, so what is kept across schedules is in a mapping.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <thrum.h>
#include <thrum/test.h>

#define MUST(call) THRUM_TEST((call) == 0)
#define IS(call, code) THRUM_TEST((call) == (code))
#define EVER THRUM_FOREVER
#define PAGE 4096u
#define PAGES 4u
#define READ_WRITE (THRUM_FILE_READ | THRUM_FILE_WRITE)
#define NEW (READ_WRITE | THRUM_FILE_CREATE)

/* How many schedules ended so. */
enum { ALL_OLD, ALL_NEW, MIXED, TORN, BETWEEN, SHORTER, LONGER, NAMED, UNNAMED, LATER_ONLY, ENDS };
static unsigned *kept;

static char bytes[PAGES * PAGE + 1];
static char found[PAGES * PAGE + 1];

static thrum_io open_file(const char *path, unsigned flags) {
    thrum_io io;
    MUST(thrum_file_open(&io, path, flags, 0644, EVER));
    return io;
}

static void write_all(thrum_io io, char letter, size_t size, int64_t offset) {
    memset(bytes, letter, size);
    IS(thrum_file_pwrite(io, bytes, size, offset, EVER), (int64_t)size);
}

static void sync_folder(const char *path) {
    thrum_io io = open_file(path, THRUM_FILE_READ | THRUM_FILE_DIRECTORY);
    MUST(thrum_file_sync(io, EVER));
    MUST(thrum_io_close(io));
}

static void make(const char *path, char letter, size_t size) {
    thrum_io io = open_file(path, NEW);
    write_all(io, letter, size, 0);
    MUST(thrum_file_sync(io, EVER));
    MUST(thrum_io_close(io));
    sync_folder("/");
}

static int64_t load(const char *path) {
    return thrum_file_load(path, found, sizeof found, EVER);
}

static bool is_all(char letter, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        if (found[i] != letter) {
            return false;
        }
    }
    return true;
}

static bool exists(const char *path) {
    thrum_file_info info;
    const int code = thrum_file_stat(path, THRUM_FILE_LINK, &info, EVER);
    THRUM_TEST(code == 0 || code == -ENOENT);
    return code == 0;
}

/* ---- calls ---- */

static void test_bytes(void) {
    thrum_file_info info;
    thrum_io io = open_file("a", NEW | THRUM_FILE_EXCLUSIVE);
    write_all(io, 'a', 5000, 100);
    IS(thrum_file_append(io, "end", 3, EVER), 3);
    IS(thrum_file_pread(io, found, sizeof found, 0, EVER), 5103);
    THRUM_TEST(is_all('\0', 0, 100) && is_all('a', 100, 5100) && !memcmp(found + 5100, "end", 3));
    IS(thrum_file_pread(io, found, 10, 6000, EVER), 0);
    MUST(thrum_file_truncate(io, 4000, EVER));
    MUST(thrum_file_truncate(io, 9000, EVER));
    IS(load("/a"), 9000);
    THRUM_TEST(is_all('a', 100, 4000) && is_all('\0', 4000, 9000));
    MUST(thrum_file_allocate(io, 0, 20000, THRUM_FILE_KEEP_SIZE, EVER));
    MUST(thrum_file_allocate(io, 200, PAGE, THRUM_FILE_PUNCH | THRUM_FILE_KEEP_SIZE, EVER));
    IS(load("a"), 9000);
    THRUM_TEST(is_all('a', 100, 200) && is_all('\0', 200, 9000));
    MUST(thrum_file_stat_io(io, &info, EVER));
    THRUM_TEST(info.size == 9000 && info.kind == THRUM_FILE_REGULAR && info.links == 1);
    THRUM_TEST(info.mode == 0644 && info.allocated >= 20000);
    thrum_io copy = open_file("tmp/copy", NEW);
    IS(thrum_file_copy(io, 100, copy, 1, 50, EVER), 50);
    IS(load("tmp/copy"), 51);
    THRUM_TEST(found[0] == '\0' && is_all('a', 1, 51));
    MUST(thrum_io_close(copy));
    MUST(thrum_io_close(io));
    IS(load("tmp/none"), -ENOENT);
}

static void test_positions(void) {
    thrum_io io = open_file("p", NEW | THRUM_FILE_APPEND);
    IS(thrum_write(io, "hello ", 6), 6);
    IS(thrum_write(io, "world", 5), 5);
    MUST(thrum_io_close(io));
    io = open_file("p", THRUM_FILE_READ);
    IS(thrum_read(io, found, 6), 6);
    IS(thrum_read_full(io, found, sizeof found, EVER), 5);
    THRUM_TEST(!memcmp(found, "world", 5));
    IS(thrum_read(io, found, 1), 0);
    IS(thrum_write(io, "x", 1), -EBADF);
    MUST(thrum_io_close(io));
}

static unsigned names_in(const char *path) {
    thrum_dir *dir;
    thrum_dir_entry entry;
    unsigned n = 0;
    MUST(thrum_dir_open(&dir, path, EVER));
    while (thrum_dir_next(dir, &entry, EVER) == 1) {
        n++;
    }
    thrum_dir_close(dir);
    return n;
}

static void test_names(void) {
    thrum_file_info info;
    char text[16];
    char name[40];
    MUST(thrum_file_mkdir("d", 0777, EVER));
    MUST(thrum_file_mkdir("d/e/", 0777, EVER));
    IS(thrum_file_mkdir("d", 0777, EVER), -EEXIST);
    for (unsigned i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "d/e/file-%u", i);
        MUST(thrum_file_replace(name, name, strlen(name), 0, EVER));
    }
    IS(names_in("d/e"), 40);
    IS(thrum_file_rmdir("d/e", EVER), -ENOTEMPTY);
    MUST(thrum_file_link("d/e/file-7", "d/seven", EVER));
    MUST(thrum_file_stat("d/seven", 0, &info, EVER));
    THRUM_TEST(info.links == 2 && info.size == 10);
    MUST(thrum_file_symlink("d/e/../seven", "s", EVER));
    IS(thrum_file_readlink("s", text, sizeof text, EVER), 12);
    THRUM_TEST(!strcmp(text, "d/e/../seven"));
    IS(load("./s"), 10);
    IS(thrum_file_rename("d", "d/e/d", 0, EVER), -EINVAL);
    IS(thrum_file_rename("d/e", "d/seven", 0, EVER), -ENOTDIR);
    IS(thrum_file_rename("d/seven", "d/e", 0, EVER), -EISDIR);
    IS(thrum_file_rename("d/seven", "s", THRUM_FILE_NO_REPLACE, EVER), -EEXIST);
    MUST(thrum_file_rename("d/seven", "d/e/file-8", 0, EVER));
    IS(names_in("d/e"), 40);
    MUST(thrum_file_rename("d/e", "tmp/e", 0, EVER));
    IS(load("tmp/e/file-8"), 10);
    IS(load("tmp/e/../../d/e/file-8"), -ENOENT);
    MUST(thrum_file_rmdir("d", EVER));
    MUST(thrum_file_unlink("s", EVER));
    IS(thrum_file_unlink("tmp/e", EVER), -EISDIR);
    IS(thrum_file_rmdir("tmp/e/file-1", EVER), -ENOTDIR);
    IS(load("tmp/e/file-1/x"), -ENOTDIR);
    MUST(thrum_file_symlink("loop", "loop", EVER));
    IS(load("loop"), -ELOOP);
}

static void test_locks(void) {
    thrum_io one = open_file("l", NEW);
    thrum_io two = open_file("l", READ_WRITE);
    MUST(thrum_file_lock(one, THRUM_FILE_READ, EVER));
    MUST(thrum_file_try_lock(two, THRUM_FILE_READ));
    IS(thrum_file_try_lock(one, THRUM_FILE_WRITE), -EBUSY);
    MUST(thrum_file_unlock(two));
    MUST(thrum_file_lock(one, THRUM_FILE_WRITE, EVER));
    IS(thrum_file_lock(two, THRUM_FILE_READ, thrum_after_s(1)), -ETIMEDOUT);
    MUST(thrum_io_close(one));
    MUST(thrum_file_lock(two, THRUM_FILE_WRITE, EVER));
    MUST(thrum_io_close(two));
}

static int calls(void *arg) {
    (void)arg;
    test_bytes();
    test_positions();
    test_names();
    test_locks();
    return 0;
}

/* Files are not kept from one schedule to the next. */
static int begins_empty(void *arg) {
    (void)arg;
    IS(names_in("/"), 1);
    make("a", 'a', 10);
    return 0;
}

/* More files than a run may start threads, each after a pause. */
static int over_days(void *arg) {
    char text[16];
    (void)arg;
    for (int i = 0; i < 100; i++) {
        const int n = snprintf(text, sizeof text, "%d", i);
        MUST(thrum_sleep(THRUM_S(3600)));
        MUST(thrum_file_replace("day", text, (size_t)n, 0, EVER));
        thrum_io io = open_file("log", THRUM_FILE_WRITE | THRUM_FILE_CREATE | THRUM_FILE_APPEND);
        IS(thrum_write(io, text, (size_t)n), n);
        MUST(thrum_io_close(io));
    }
    return 0;
}

static int full_disk(void *arg) {
    static char much[1 << 20];
    thrum_io io = open_file("big", NEW);
    int64_t n = 0, at = 0;
    (void)arg;
    memset(much, 'x', sizeof much);
    while ((n = thrum_file_pwrite(io, much, sizeof much, at, EVER)) > 0) {
        at += n;
    }
    IS(n, at == 64 << 20 ? -EFBIG : -ENOSPC);
    IS(thrum_file_replace("more", much, PAGE, 0, EVER), -ENOSPC);
    THRUM_TEST(!exists("more"));
    IS(names_in("/"), 2);
    MUST(thrum_io_close(io));
    MUST(thrum_file_unlink("big", EVER));
    sync_folder("/");
    for (int i = 0; i < 3 * 64; i++) { /* what nothing names gives its room back */
        MUST(thrum_file_replace("more", much, sizeof much, 0, EVER));
    }
    return 0;
}

/* ---- crashes ---- */

static void note(unsigned end, bool is) {
    kept[end] += is;
}

/* Bytes that are synced stay, and so does their name. */
static int synced_stays(void *arg) {
    thrum_io io;
    thrum_dir *dir;
    thrum_dir_entry entry;
    (void)arg;
    make("a", 'o', PAGES * PAGE);
    MUST(thrum_file_mkdir("d", 0755, EVER));
    sync_folder("/");
    io = open_file("d/b", NEW | THRUM_FILE_SYNC);
    write_all(io, 'b', 100, 0);
    sync_folder("d");
    MUST(thrum_dir_open(&dir, "d", EVER));
    MUST(thrum_test_disk_crash());
    IS(thrum_file_pwrite(io, bytes, 1, 0, EVER), -EIO);
    IS(thrum_file_pread(io, found, 1, 0, EVER), -EIO);
    IS(thrum_write(io, bytes, 1), -EIO);
    IS(thrum_file_sync(io, EVER), -EIO);
    IS(thrum_dir_next(dir, &entry, EVER), -EIO);
    MUST(thrum_io_close(io));
    thrum_dir_close(dir);
    IS(load("a"), PAGES * PAGE);
    THRUM_TEST(is_all('o', 0, PAGES * PAGE));
    IS(load("d/b"), 100);
    THRUM_TEST(is_all('b', 0, 100));
    return 0;
}

/* Each sector of a page that is overwritten has old or new bytes. */
static int pages_survive_in_any_way(void *arg) {
    unsigned pages[3] = {0, 0, 0}; /* with old bytes, new ones, both */
    (void)arg;
    make("a", 'o', PAGES * PAGE);
    thrum_io io = open_file("a", READ_WRITE);
    write_all(io, 'b', PAGE, 0);
    write_all(io, 'n', PAGES * PAGE, 0);
    MUST(thrum_io_close(io));
    MUST(thrum_test_disk_crash());
    IS(load("a"), PAGES * PAGE);
    for (size_t at = 0; at < PAGES * PAGE; at += 512) {
        THRUM_TEST(is_all('o', at, at + 512) || is_all('n', at, at + 512) ||
                   (at < PAGE && is_all('b', at, at + 512)));
    }
    note(BETWEEN, is_all('b', 0, PAGE));
    for (size_t at = 0; at < PAGES * PAGE; at += PAGE) {
        const bool old = is_all('o', at, at + PAGE);
        const bool is_new = is_all('n', at, at + PAGE);
        pages[old ? 0 : is_new ? 1 : 2] += old || is_new || !is_all('b', at, at + PAGE);
    }
    note(ALL_OLD, pages[0] == PAGES);
    note(ALL_NEW, pages[1] == PAGES);
    note(MIXED, pages[0] && pages[1]);
    note(TORN, pages[2] != 0);
    memcpy(bytes, found, sizeof bytes);
    MUST(thrum_test_disk_crash()); /* what is there after a crash is on the disk */
    IS(load("a"), PAGES * PAGE);
    THRUM_TEST(!memcmp(bytes, found, PAGES * PAGE));
    return 0;
}

static int sizes_survive_in_any_way(void *arg) {
    (void)arg;
    make("a", 'o', PAGE + 100);
    thrum_io io = open_file("a", READ_WRITE | THRUM_FILE_TRUNCATE);
    write_all(io, 'n', PAGES * PAGE, 0);
    MUST(thrum_io_close(io));
    MUST(thrum_test_disk_crash());
    const int64_t n = load("a");
    THRUM_TEST(n == PAGE + 100 || (n % PAGE == 0 && n <= (int64_t)(PAGES * PAGE)));
    note(SHORTER, n == 0);
    note(BETWEEN, n == 2 * PAGE);
    note(LONGER, n == PAGES * PAGE);
    note(ALL_OLD, n == PAGE + 100 && is_all('o', 0, PAGE + 100));
    note(ALL_NEW, n == PAGES * PAGE && is_all('n', 0, PAGES * PAGE));
    return 0;
}

/* Only a sync of the directory makes a name durable. */
static int names_survive_in_any_way(void *arg) {
    (void)arg;
    thrum_io io = open_file("one", NEW);
    write_all(io, '1', 10, 0);
    MUST(thrum_file_sync(io, EVER));
    MUST(thrum_io_close(io));
    MUST(thrum_file_mkdir("two", 0755, EVER));
    MUST(thrum_test_disk_crash());
    note(NAMED, exists("one"));
    note(UNNAMED, !exists("one"));
    note(LATER_ONLY, !exists("one") && exists("two"));
    if (exists("one")) {
        IS(load("one"), 10);
        THRUM_TEST(is_all('1', 0, 10));
    }
    return 0;
}

static int renames_are_whole(void *arg) {
    (void)arg;
    make("a", 'a', 10);
    make("b", 'b', 10);
    MUST(thrum_file_rename("a", "b", 0, EVER));
    MUST(thrum_test_disk_crash());
    IS(load("b"), 10);
    THRUM_TEST(exists("a") ? is_all('b', 0, 10) : is_all('a', 0, 10));
    note(NAMED, exists("a"));
    note(UNNAMED, !exists("a"));
    return 0;
}

/* To another directory: the file has one of the names, or both. */
static int moves_lose_no_file(void *arg) {
    (void)arg;
    make("a", 'a', 10);
    MUST(thrum_file_rename("a", "tmp/a", 0, EVER));
    const unsigned sync = thrum_test_random() % 3;
    if (sync) {
        sync_folder(sync == 1 ? "tmp" : "/");
    }
    MUST(thrum_test_disk_crash());
    THRUM_TEST(exists("tmp/a") || (exists("a") && !sync));
    THRUM_TEST(sync != 2 || !exists("a"));
    IS(load(exists("a") ? "a" : "tmp/a"), 10);
    THRUM_TEST(is_all('a', 0, 10));
    note(ALL_OLD, !exists("tmp/a"));
    note(ALL_NEW, !exists("a") && sync == 1);
    note(MIXED, exists("a") && exists("tmp/a") && sync == 1);
    return 0;
}

/* ---- replacing a file ---- */

static void crashes(void *arg) {
    (void)arg;
    MUST(thrum_test_disk_crash());
}

static int replaced; /* the code of thrum_file_replace; 1: it is not over */

static void replaces(void *arg) {
    char text[PAGES * PAGE];
    (void)arg;
    memset(text, 'n', sizeof text);
    replaced = 1;
    replaced = thrum_file_replace("a", text, sizeof text, 0, EVER);
}

/*
 * The disk crashes at any moment of the call. The file is the old or the new one, and the new one
 * if the call had returned 0 before.
 */
static int replace_survives(void *arg) {
    thrum_test_thread threads[2];
    (void)arg;
    make("a", 'o', PAGES * PAGE);
    MUST(thrum_test_thread_start(&threads[0], replaces, NULL));
    MUST(thrum_test_thread_start(&threads[1], crashes, NULL));
    thrum_test_thread_join(&threads[0]);
    thrum_test_thread_join(&threads[1]);
    IS(load("a"), PAGES * PAGE);
    const bool is_new = is_all('n', 0, PAGES * PAGE);
    THRUM_TEST(is_new || is_all('o', 0, PAGES * PAGE));
    THRUM_TEST(is_new || replaced != 0);
    note(ALL_OLD, !is_new);
    note(ALL_NEW, is_new);
    note(MIXED, is_new && replaced != 0);
    note(NAMED, names_in("/") > 2); /* the other file is left behind */
    MUST(thrum_file_replace("a", "after", 5, 0, EVER));
    MUST(thrum_test_disk_crash());
    IS(load("a"), 5);
    return 0;
}

/* Replaces a file, but leaves out a sync. */
static void replace_without(bool file, bool folder) {
    make("a", 'o', PAGES * PAGE);
    thrum_io io = open_file("b", NEW);
    write_all(io, 'n', PAGES * PAGE, 0);
    if (file) {
        MUST(thrum_file_sync(io, EVER));
    }
    MUST(thrum_io_close(io));
    MUST(thrum_file_rename("b", "a", 0, EVER));
    if (folder) {
        sync_folder("/");
    }
    MUST(thrum_test_disk_crash());
    IS(load("a"), PAGES * PAGE);
}

static int bad_no_sync(void *arg) {
    (void)arg;
    replace_without(false, true);
    THRUM_TEST(is_all('n', 0, PAGES * PAGE));
    return 0;
}

static int bad_no_sync_of_the_folder(void *arg) {
    (void)arg;
    replace_without(true, false);
    THRUM_TEST(is_all('n', 0, PAGES * PAGE));
    return 0;
}

/* Written in place, in two halves: the second one may be on the disk alone. */
static int bad_order_of_pages(void *arg) {
    (void)arg;
    make("a", 'o', 2 * PAGE);
    thrum_io io = open_file("a", READ_WRITE);
    write_all(io, 'n', PAGE, 0);
    write_all(io, 'n', PAGE, PAGE);
    MUST(thrum_io_close(io));
    MUST(thrum_test_disk_crash());
    IS(load("a"), 2 * PAGE);
    THRUM_TEST(!(is_all('o', 0, PAGE) && is_all('n', PAGE, 2 * PAGE)));
    return 0;
}

/* ---- */

static const struct {
    const char *name;
    thrum_fn fn;
} tests[] = {{"calls", calls},
             {"begins_empty", begins_empty},
             {"over_days", over_days},
             {"full_disk", full_disk},
             {"synced_stays", synced_stays},
             {"pages_survive_in_any_way", pages_survive_in_any_way},
             {"sizes_survive_in_any_way", sizes_survive_in_any_way},
             {"names_survive_in_any_way", names_survive_in_any_way},
             {"renames_are_whole", renames_are_whole},
             {"moves_lose_no_file", moves_lose_no_file},
             {"replace_survives", replace_survives},
             {"bad_no_sync", bad_no_sync},
             {"bad_no_sync_of_the_folder", bad_no_sync_of_the_folder},
             {"bad_order_of_pages", bad_order_of_pages}};

int main(int argc, char **argv) {
    kept = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; kept != MAP_FAILED && argc > 1 && i < sizeof tests / sizeof *tests; i++) {
        if (!strcmp(tests[i].name, argv[1])) {
            const int status = thrum_test_main(argc - 1, argv + 1, tests[i].fn, NULL);
            printf("ends");
            for (unsigned end = 0; end < ENDS; end++) {
                printf(" %u", kept[end]);
            }
            printf("\n");
            return status;
        }
    }
    return 3;
}
