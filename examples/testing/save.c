/*
 * save.c: a note that is saved in a file, and its test. Unless the file is compiled with -DFIXED, a
 * power failure may destroy the note.
 */
#include <errno.h>
#include <string.h>
#include <thrum.h>
#include <thrum/test.h>

#ifdef FIXED
static int save(const char *text, size_t size) {
    return thrum_file_replace("note", text, size, 0644, THRUM_FOREVER);
}
#else
static int save(const char *text, size_t size) {
    thrum_io file;
    int err = thrum_file_open(&file, "note.new",
                              THRUM_FILE_WRITE | THRUM_FILE_CREATE | THRUM_FILE_TRUNCATE, 0644,
                              THRUM_FOREVER);
    if (err != 0) {
        return err;
    }
    const int64_t n = thrum_file_pwrite(file, text, size, 0, THRUM_FOREVER);
    err = n == (int64_t)size ? 0 : n < 0 ? (int)n : -ENOSPC;
    (void)thrum_io_close(file);
    return err != 0 ? err : thrum_file_rename("note.new", "note", 0, THRUM_FOREVER);
}
#endif

/* ---- its test ---- */

static bool note_is(const char *text) {
    char found[16];
    const int64_t n = thrum_file_load("note", found, sizeof found, THRUM_FOREVER);
    return n == (int64_t)strlen(text) && memcmp(found, text, (size_t)n) == 0;
}

static int keeps_what_is_saved(void *arg) {
    (void)arg;
    THRUM_TEST(save("milk", 4) == 0);
    THRUM_TEST(thrum_test_fault_chance(NULL, THRUM_TEST_WRITE, 3, -ENOSPC) == 0);
    const int err = save("bread", 5);
    THRUM_TEST(err == 0 || err == -ENOSPC);
    THRUM_TEST(thrum_test_disk_crash() == 0);
    THRUM_TEST(note_is(err == 0 ? "bread" : "milk"));
    return 0;
}

int main(int argc, char **argv) {
    return thrum_test_main(argc, argv, keeps_what_is_saved, NULL);
}
