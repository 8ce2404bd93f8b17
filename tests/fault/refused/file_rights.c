/*
 * file_rights.c: who may use a file that is replaced, and what is beside it meanwhile.
 */
/* POSIX: chmod, umask, symlink */
/* matrix: policy workers */
#include "support/io/files.h"

static char path[64];

static unsigned mode_of(const char *name) {
    struct stat s;
    CHECK_EQ(lstat(name, &s), 0);
    CHECK(S_ISREG(s.st_mode));
    return s.st_mode & 07777;
}

TEST(a_replacement_lends_no_rights) {
    /* Not those of the old one's owner, nor those of what a link points to. */
    const mode_t mask = umask(022);
    in_dir(path);
    CHECK_EQ(close(open("a", O_CREAT | O_WRONLY, 0600)), 0);
    CHECK_EQ(chmod("a", 06750), 0);
    CHECK_EQ(symlink("a", "b"), 0);
    CHECK_EQ(thrum_file_replace("b", "new", 3, 0, THRUM_FOREVER), 0);
    CHECK_EQ(mode_of("b"), 0644);
    CHECK_EQ(mode_of("a"), 06750);
    CHECK_EQ(thrum_file_replace("a", "new", 3, 0, THRUM_FOREVER), 0);
    CHECK_EQ(mode_of("a"), 0750);
    CHECK_EQ(chmod("a", 0), 0); /* nobody but root may read it */
    CHECK_EQ(thrum_file_replace("a", "new", 3, 0, THRUM_FOREVER), 0);
    CHECK_EQ(mode_of("a"), 0);
    CHECK_EQ(unlink("a"), 0);
    CHECK_EQ(unlink("b"), 0);
    out_of_dir(path);
    umask(mask);
}

/* The mode of the temporary file, which is taken away. */
static unsigned mode_beside(void) {
    DIR *folder = opendir(".");
    const struct dirent *e;
    unsigned mode = 01000;
    CHECK(folder != NULL);
    while ((e = readdir(folder))) {
        if (strncmp(e->d_name, ".thrum-", 7) == 0) {
            mode = mode_of(e->d_name);
            CHECK_EQ(unlink(e->d_name), 0);
            break;
        }
    }
    closedir(folder);
    return mode;
}

TEST(what_is_beside_a_file_is_not_open_to_more) {
    /* Not even while it is empty: who has opened it reads what is written later. */
    static const struct {
        mode_t old;
        unsigned mode, beside;
    } sets[] = {{0640, 0, 0600}, {0400, 0, 0400}, {0, 0, 0}, {0644, 0600, 0600}};
    const mode_t mask = umask(0);
    in_dir(path);
    for (unsigned i = 0; i < COUNT_OF(sets); i++) {
        CHECK_EQ(close(open("a", O_CREAT | O_WRONLY, 0600)), 0);
        CHECK_EQ(chmod("a", sets[i].old), 0);
        th_os_fail_with(TH_OS_FAULT_FILE + TH_OS_FILE_CHMOD, -EIO, 0, 1);
        th_os_fail_with(TH_OS_FAULT_FILE + TH_OS_FILE_UNLINK, -EIO, 0, 1);
        CHECK_EQ(thrum_file_replace("a", "new", 3, sets[i].mode, THRUM_FOREVER), -EIO);
        CHECK_EQ(mode_beside(), sets[i].beside);
        th_os_fail_with(TH_OS_FAULT_FILE + TH_OS_FILE_LOOK, -EIO, 0, !sets[i].mode);
        CHECK_EQ(thrum_file_replace("a", "new", 3, sets[i].mode, THRUM_FOREVER),
                 sets[i].mode ? 0 : -EIO); /* the permissions are not guessed */
        CHECK_EQ(mode_of("a"), sets[i].mode ? sets[i].mode : sets[i].old);
        CHECK_EQ(unlink("a"), 0);
    }
    out_of_dir(path);
    umask(mask);
}
