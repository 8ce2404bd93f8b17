/*
 * treesum_swap.c: while treesum walks, a symbolic link takes the place of a directory: nothing
 * beyond the tree may be listed or read. It uses only those files of the example that open others,
 * so that the swap comes exactly between two steps.
 */
/* POSIX: symlink, openat2 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "../../../examples/treesum/beneath_posix.c"
#include "../../../examples/treesum/disk_posix.c"
#include "../../../examples/treesum/system_posix.c"
#include "../../../examples/treesum/listing.c"
#include "../../../examples/treesum/memory.c"
#include "../../../examples/treesum/tree.c"
#include "check.h"

static char place[] = "/tmp/treesum-swap.XXXXXX";

static void at_end(void) {
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s", place);
    CHECK(system(command) == 0);
}

static void write_file(const char *name, const char *text) {
    FILE *out = fopen(name, "w");
    CHECK(out != NULL);
    CHECK(fputs(text, out) >= 0);
    CHECK_EQ(fclose(out), 0);
}

/* Makes tree/a/b/file and tree/a/file; outside/b/file and outside/file, which must not be read. */
static void make(void) {
    CHECK(mkdtemp(place) != NULL);
    CHECK_EQ(atexit(at_end), 0);
    CHECK_EQ(chdir(place), 0);
    static const char *const dirs[] = {"tree", "tree/a", "tree/a/b", "outside", "outside/b"};
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(mkdir(dirs[i], 0755), 0);
    }
    write_file("tree/a/file", "inside");
    write_file("tree/a/b/file", "inside");
    write_file("outside/file", "a secret");
    write_file("outside/b/file", "a secret");
}

static void swap(const char *dir, const char *target) {
    char moved[64];
    snprintf(moved, sizeof(moved), "%s.moved", dir);
    CHECK_EQ(rename(dir, moved), 0);
    CHECK_EQ(symlink(target, dir), 0);
}

static struct dir *list(struct tree *tree, struct dir *parent, const char *name, int expected) {
    struct dir *dir = dir_new(tree, parent, name, false);
    dir_list(dir, NULL, WINDOW_DEFAULT);
    CHECK_EQ(dir->err, expected);
    CHECK(expected != 0 || (dir->listing && dir->listing->err == 0));
    return dir;
}

/* Lists the next window, as the walk does. */
static void relist(struct dir *dir, const char *after) {
    listing_free(dir->listing);
    dir_list(dir, after, WINDOW_DEFAULT);
}

static void check_holds(int fd, const char *expected) {
    char text[64] = "";
    CHECK(fd >= 0);
    CHECK(read(fd, text, sizeof(text) - 1) >= 0);
    CHECK_STR(text, expected);
    close(fd);
}

static void check_swapped_below(int anchors) {
    struct tree tree;
    make();
    tree_init(&tree, false, WINDOW_DEFAULT, anchors);
    struct dir *root = list(&tree, NULL, "tree", 0);
    struct dir *a = list(&tree, root, "a", 0);
    struct dir *b = list(&tree, a, "b", 0);
    check_holds(dir_open_file(a, "file"), "inside");
    check_holds(dir_open_file(b, "file"), "inside");
    swap("tree/a", "../outside");
    CHECK_EQ(dir_open_file(a, "file"), -ELOOP); /* its directory is a link */
    CHECK_EQ(dir_open_file(b, "file"), -ELOOP); /* a directory above it is a link */
    list(&tree, a, "b", ELOOP);                 /* a directory beneath it, the first time */
    relist(b, "a name");                        /* the next window of one */
    CHECK(!b->listing && b->err == ELOOP);
    list(&tree, root, "a", ELOOP); /* the link itself */
    tree_end(&tree);
}

TEST(nothing_leads_out_of_the_tree) {
    /* The root is kept open. */
    check_swapped_below(8);
}

TEST(nothing_leads_out_when_no_directory_can_be_kept_open) {
    /* The root is opened anew for each path. */
    check_swapped_below(0);
}

TEST(nothing_leads_out_on_old_kernels) {
    /* Without openat2 the names are opened one by one. */
    beneath_forget_openat2();
    check_swapped_below(8);
}

static void check_swapped_root(int anchors, int expected) {
    struct tree tree;
    make();
    tree_init(&tree, false, WINDOW_DEFAULT, anchors);
    struct dir *root = list(&tree, NULL, "tree", 0);
    struct dir *a = list(&tree, root, "a", 0);
    swap("tree", "outside");
    write_file("outside/a", "a secret");
    int fd = dir_open_file(a, "file");
    if (expected != 0) {
        CHECK_EQ(fd, -expected);
    } else {
        check_holds(fd, "inside");
    }
    relist(root, "A"); /* from A on there is a directory, or nothing */
    CHECK(expected != 0 ? root->err == expected
                        : root->listing->count == 1 && root->listing->entries->kind == ENTRY_DIR);
    tree_end(&tree);
}

TEST(swapped_root) {
    /* What is kept open stays what it was. */
    check_swapped_root(8, 0);
}

TEST(swapped_root_that_is_not_kept_open) {
    /*
     * It is not the directory that it was: this is an error, and nothing of the other one is read.
     */
    check_swapped_root(0, ESTALE);
}

/* A path that is longer than any one path may be. */
static void check_long(int anchors) {
    enum { LEVELS = 60, SWAPPED = 30 };
    struct tree tree;
    struct dir *dirs[LEVELS + 1];
    char name[101];
    make();
    memset(name, 'd', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    tree_init(&tree, false, WINDOW_DEFAULT, anchors);
    dirs[0] = list(&tree, NULL, "tree", 0);
    int at = open("tree", O_PATH);
    int swapped = -1;
    for (int i = 0; i < LEVELS; i++) {
        CHECK_EQ(mkdirat(at, name, 0755), 0);
        if (i == SWAPPED) {
            swapped = at;
        }
        at = openat(at, name, O_PATH);
        CHECK(at >= 0);
        dirs[i + 1] = list(&tree, dirs[i], name, 0);
    }
    CHECK_EQ(mkdirat(at, "b", 0755), 0);
    list(&tree, dirs[LEVELS], "b", 0);
    CHECK_EQ(renameat(swapped, name, swapped, "moved"), 0);
    CHECK_EQ(symlinkat("moved", swapped, name), 0); /* the same place, but a link */
    list(&tree, dirs[LEVELS], "b", ELOOP);
    list(&tree, dirs[SWAPPED], name, ELOOP);
    tree_end(&tree);
}

TEST(long_paths_are_watched_piece_by_piece) {
    /* This is the way with openat2. */
    check_long(0);
}

TEST(long_paths_on_old_kernels) {
    /* This is the way without it. */
    beneath_forget_openat2();
    check_long(0);
}

TEST(links_that_are_asked_for_are_followed) {
    /* They are those that the command line names or leads through, and with -L all. */
    struct tree tree;
    make();
    CHECK_EQ(symlink("tree", "link"), 0);
    tree_init(&tree, false, WINDOW_DEFAULT, 8);
    check_holds(dir_open_file(list(&tree, NULL, "link", 0), "a/file"), "inside");
    check_holds(dir_open_file(list(&tree, NULL, "link/a", 0), "file"), "inside");
    check_holds(dir_open_file(NULL, "link/a/file"), "inside");
    tree_end(&tree);
    tree_init(&tree, true, WINDOW_DEFAULT, 0);
    struct dir *a = list(&tree, list(&tree, NULL, "tree", 0), "a", 0);
    swap("tree/a", "../outside");
    check_holds(dir_open_file(a, "file"), "a secret");
    tree_end(&tree);
}
