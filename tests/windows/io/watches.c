/*
 * watches.c: changes of files, as Windows tells of them: of a file itself, of a directory that gets
 * other names, of more than there is room for, and what is refused.
 */
/* matrix: policy workers */
#include "support/io/files.h"
#include "support/times.h"

#include <thrum/net.h>

#define RW (THRUM_FILE_READ | THRUM_FILE_WRITE)
#define ALL                                                                                        \
    (THRUM_WATCH_CREATED | THRUM_WATCH_DELETED | THRUM_WATCH_MODIFIED | THRUM_WATCH_MOVED_FROM |   \
     THRUM_WATCH_MOVED_TO | THRUM_WATCH_ATTRIBUTES | THRUM_WATCH_SELF_DELETED)

static thrum_io watcher;
static thrum_watch_buffer buffer;

static int add(const char *path, unsigned what) {
    return thrum_watch_add(watcher, path, what, THRUM_FOREVER);
}

static thrum_watch_event next(void) {
    thrum_watch_event e;
    CHECK_EQ(thrum_watch_next(watcher, &buffer, &e, THRUM_FOREVER), 0);
    return e;
}

/* The next event is this one. */
static void told(int watch, uint32_t what, const char *name) {
    const thrum_watch_event e = next();
    CHECK_EQ(e.watch, watch);
    CHECK_EQ(e.what, what);
    CHECK_STR(e.name, name);
}

/* In a directory of its own, with a watcher; nothing is left open. */
static void inside(void (*body)(void)) {
    char path[64];
    in_dir(path);
    const int before = fds_open();
    CHECK_EQ(thrum_watch_open(&watcher), 0);
    thrum_watch_buffer_init(&buffer);
    body();
    CHECK_EQ(thrum_io_close(watcher), 0);
    CHECK_EQ(fds_open(), before);
    out_of_dir(path);
}

static void write_to(const char *name, const char *text) {
    thrum_io io = opened(name, RW | THRUM_FILE_CREATE);
    CHECK_EQ(thrum_file_append(io, text, strlen(text), THRUM_FOREVER), strlen(text));
    CHECK_EQ(thrum_io_close(io), 0);
}

/* ---- files ---- */

static void watches_a_file(void) {
    write_to("a", "1");
    write_to("b", "1");
    const int a =
        add("a", THRUM_WATCH_MODIFIED | THRUM_WATCH_SELF_MOVED | THRUM_WATCH_SELF_DELETED);
    CHECK(a > 0);
    write_to("b", "23");
    write_to("a", "23");
    told(a, THRUM_WATCH_MODIFIED, "");
    CHECK_EQ(thrum_file_rename("a", "c", 0, THRUM_FOREVER), 0);
    thrum_watch_event e;
    do {
        e = next();
    } while (e.what == THRUM_WATCH_MODIFIED);
    CHECK_EQ(e.what, THRUM_WATCH_SELF_MOVED);
    write_to("c", "45");
    told(a, THRUM_WATCH_MODIFIED, "");
    CHECK_EQ(thrum_file_unlink("c", THRUM_FOREVER), 0);
    do {
        e = next();
    } while (e.what == THRUM_WATCH_MODIFIED);
    CHECK_EQ(e.what, THRUM_WATCH_SELF_DELETED);
    told(a, THRUM_WATCH_ENDED, "");
    CHECK_EQ(thrum_watch_remove(watcher, a), -EINVAL);
    CHECK_EQ(thrum_file_unlink("b", THRUM_FOREVER), 0);
}

static int file_body(void *arg) {
    (void)arg;
    inside(watches_a_file);
    return 0;
}

TEST(a_file_is_watched_under_each_name) {
    /* What is about its neighbours is not told. */
    both(file_body);
}

static void watches_what_is_replaced(void) {
    write_to("a", "old");
    const int a = add("a", THRUM_WATCH_SELF_DELETED);
    CHECK(a > 0);
    CHECK_EQ(thrum_file_replace("a", "new", 3, 0, THRUM_FOREVER), 0);
    told(a, THRUM_WATCH_SELF_DELETED, "");
    told(a, THRUM_WATCH_ENDED, "");
    const int again = add("a", THRUM_WATCH_SELF_DELETED);
    CHECK(again > a);
    CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
    told(again, THRUM_WATCH_SELF_DELETED, "");
    told(again, THRUM_WATCH_ENDED, "");
}

static int replaced_body(void *arg) {
    (void)arg;
    inside(watches_what_is_replaced);
    return 0;
}

TEST(a_file_that_another_one_replaces_is_gone) {
    /* The other one is another file, to be watched anew. */
    both(replaced_body);
}

static void watches_what_goes_elsewhere(void) {
    CHECK_EQ(thrum_file_mkdir("d", 0755, THRUM_FOREVER), 0);
    write_to("a", "1");
    write_to("b", "1");
    const int a = add("a", THRUM_WATCH_SELF_MOVED | THRUM_WATCH_SELF_DELETED);
    CHECK(a > 0);
    CHECK_EQ(thrum_file_rename("a", "d/a", 0, THRUM_FOREVER), 0);
    const uint32_t how = next().what; /* told as the old name alone, or as a removal */
    CHECK_EQ(thrum_file_rename("b", "c", 0, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_rename("c", "b", 0, THRUM_FOREVER), 0);
    if (how == THRUM_WATCH_SELF_MOVED) {
        write_to("a", "1");
        CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
        told(a, THRUM_WATCH_SELF_DELETED, "");
    } else {
        CHECK_EQ(how, THRUM_WATCH_SELF_DELETED);
    }
    told(a, THRUM_WATCH_ENDED, "");
    CHECK_EQ(thrum_file_unlink("b", THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_unlink("d/a", THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_rmdir("d", THRUM_FOREVER), 0);
}

static int elsewhere_body(void *arg) {
    (void)arg;
    inside(watches_what_goes_elsewhere);
    return 0;
}

TEST(a_file_that_has_left_its_directory_gets_no_name_of_another) {
    /* Of the new name that never comes, the next one that somebody gets is not taken for it. */
    both(elsewhere_body);
}

/* ---- directories ---- */

static void watches_twice(void) {
    CHECK_EQ(thrum_file_mkdir("d", 0755, THRUM_FOREVER), 0);
    const int d = add("d", THRUM_WATCH_CREATED);
    CHECK(d > 0);
    CHECK_EQ(add("./d/../d", THRUM_WATCH_DELETED | THRUM_WATCH_ATTRIBUTES), d);
    write_to("d/a", "1");
    CHECK(SetFileAttributesA("d/a", FILE_ATTRIBUTE_READONLY));
    told(d, THRUM_WATCH_ATTRIBUTES, "a");
    CHECK(SetFileAttributesA("d/a", FILE_ATTRIBUTE_NORMAL));
    CHECK_EQ(thrum_file_unlink("d/a", THRUM_FOREVER), 0);
    thrum_watch_event e;
    do {
        e = next();
    } while (e.what == THRUM_WATCH_ATTRIBUTES);
    CHECK_EQ(e.what, THRUM_WATCH_DELETED);
    CHECK_EQ(thrum_watch_remove(watcher, d), 0);
    do {
        e = next();
    } while (e.what == THRUM_WATCH_ATTRIBUTES);
    CHECK_EQ(e.what, THRUM_WATCH_ENDED);
    CHECK_EQ(thrum_file_rmdir("d", THRUM_FOREVER), 0);
}

static int twice_body(void *arg) {
    (void)arg;
    inside(watches_twice);
    return 0;
}

TEST(a_path_that_is_watched_already_is_watched_for_what_is_asked_now) {
    /* Under the same number, by whatever name. */
    both(twice_body);
}

static void watches_what_is_renamed(void) {
    CHECK_EQ(thrum_file_mkdir("d", 0755, THRUM_FOREVER), 0);
    const int d = add("d", THRUM_WATCH_CREATED | THRUM_WATCH_SELF_MOVED | THRUM_WATCH_SELF_DELETED);
    CHECK(d > 0);
    for (int i = 0; i < 2; i++) {
        const char *to = i ? "d" : "e";
        CHECK_EQ(thrum_file_rename(i ? "e" : "d", to, 0, THRUM_FOREVER), 0);
        told(d, THRUM_WATCH_SELF_MOVED, "");
        CHECK_EQ(chdir(to), 0);
        write_to("a", "1");
        told(d, THRUM_WATCH_CREATED, "a");
        CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
        CHECK_EQ(chdir(".."), 0);
    }
    CHECK_EQ(thrum_watch_remove(watcher, d), 0);
    told(d, THRUM_WATCH_ENDED, "");
    CHECK_EQ(thrum_file_rmdir("d", THRUM_FOREVER), 0);
}

static int renamed_body(void *arg) {
    (void)arg;
    inside(watches_what_is_renamed);
    return 0;
}

TEST(a_directory_is_watched_under_each_name) {
    /* That it was removed wine tells only to whom it has let go. */
    both(renamed_body);
}

/* What is done to sockets, of which it has one to tell by, leaves it as it is. */
static void is_no_socket(void) {
    const int here = add(".", THRUM_WATCH_CREATED);
    const thrum_time late = far_off();
    thrum_datagram one = {0};
    char byte;
    int fds[1];
    unsigned room = 1;
    int64_t value;
    thrum_io other;
    CHECK(here > 0);
    write_to("b", "1");
    CHECK_EQ(thrum_io_wait(watcher, THRUM_IO_READ, THRUM_FOREVER), THRUM_IO_READ);
    CHECK_EQ(thrum_receive_from(watcher, &byte, 1, NULL, late), -EOPNOTSUPP);
    CHECK_EQ(thrum_receive_many(watcher, &one, 1, late), -EOPNOTSUPP);
    CHECK_EQ(thrum_receive_fds(watcher, &byte, 1, fds, &room, late), -EINVAL);
    CHECK_EQ(thrum_send_to(watcher, "", 1, NULL, late), -EOPNOTSUPP);
    CHECK(thrum_accept_until(watcher, &other, late) < 0);
    CHECK_EQ(thrum_io_set_option(watcher, THRUM_IO_RECEIVE_BUFFER, 1), -ENOTSOCK);
    CHECK_EQ(thrum_io_get_option(watcher, THRUM_IO_RECEIVE_BUFFER, &value), -ENOTSOCK);
    CHECK_EQ(thrum_io_adopt_shared(&other, thrum_io_fd(watcher)), -EOPNOTSUPP);
    CHECK_EQ(thrum_io_release(watcher), -EOPNOTSUPP);
    told(here, THRUM_WATCH_CREATED, "b");
    CHECK_EQ(thrum_file_unlink("b", THRUM_FOREVER), 0);
    CHECK_EQ(thrum_watch_remove(watcher, here), 0);
    told(here, THRUM_WATCH_ENDED, "");
}

static void refuses(void) {
    write_to("a", "1");
    CHECK_EQ(add("a", THRUM_WATCH_WRITTEN), -EOPNOTSUPP);
    CHECK_EQ(add(".", THRUM_WATCH_WRITTEN | THRUM_WATCH_CREATED), -EOPNOTSUPP);
    CHECK_EQ(add("a/b", THRUM_WATCH_CREATED), -ENOENT);
    CHECK_EQ(add("", THRUM_WATCH_CREATED), -ENOENT);
    CHECK_EQ(thrum_watch_remove(watcher, 1), -EINVAL);
    char byte = 0;
    CHECK_EQ(thrum_write_until(watcher, &byte, 1, far_off()), -EBADF);
    CHECK_EQ(thrum_io_shutdown(watcher, THRUM_IO_READ | THRUM_IO_WRITE), -ENOTSOCK);
    is_no_socket();
    thrum_io file = opened("a", THRUM_FILE_READ);
    CHECK_EQ(thrum_watch_add(file, ".", ALL, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_watch_remove(file, 1), -EINVAL);
    CHECK_EQ(thrum_io_close(file), 0);
    CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
}

static int refused_body(void *arg) {
    (void)arg;
    inside(refuses);
    return 0;
}

TEST(what_would_never_be_told_is_refused) {
    /* Nobody waits for nothing for an end of writing. */
    both(refused_body);
}

/* ---- what the system refuses ---- */

static void is_refused(void) {
    enum { REQUESTS = 4 };
    for (unsigned i = 0; i < REQUESTS; i++) {
        th_os_fail_with(TH_OS_FAULT_WATCH, -ENOLCK, i, 1);
        CHECK_EQ(add(".", ALL), -ENOLCK);
    }
    const int here = add(".", THRUM_WATCH_CREATED);
    CHECK(here > REQUESTS); /* none of those that were given up is found */
    th_os_fail_with(TH_OS_FAULT_WATCH, -ENOLCK, 0, 1);
    CHECK_EQ(add(".", THRUM_WATCH_DELETED | THRUM_WATCH_ATTRIBUTES), -ENOLCK);
    write_to("a", "1");
    CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
    told(here, THRUM_WATCH_CREATED, "a");
    CHECK_EQ(thrum_watch_remove(watcher, here), 0);
    told(here, THRUM_WATCH_ENDED, "");
}

static int refusal_body(void *arg) {
    (void)arg;
    inside(is_refused);
    return 0;
}

TEST(a_watch_that_is_refused_leaves_what_was_there_before) {
    /* Whichever of its requests it is: no watch, or the one that was there. */
    both(refusal_body);
}

static void is_spared(void) {
    CHECK_EQ(thrum_file_mkdir("d", 0755, THRUM_FOREVER), 0);
    th_os_fail_with(TH_OS_FAULT_WATCH, -EACCES, 2, 2); /* the third, and at the second call too */
    const int d = add("d", THRUM_WATCH_CREATED);
    CHECK(d > 0);
    CHECK_EQ(add("d", THRUM_WATCH_CREATED | THRUM_WATCH_ATTRIBUTES), -EACCES);
    th_os_fail_with(TH_OS_FAULT_WATCH, -EACCES, 0, 1); /* asked anew, and not told */
    CHECK_EQ(add("d", THRUM_WATCH_CREATED | THRUM_WATCH_SELF_MOVED), -EACCES);
    write_to("d/a", "1");
    CHECK_EQ(thrum_file_unlink("d/a", THRUM_FOREVER), 0);
    told(d, THRUM_WATCH_CREATED, "a");
    CHECK_EQ(thrum_watch_remove(watcher, d), 0);
    told(d, THRUM_WATCH_ENDED, "");
    CHECK_EQ(thrum_file_rmdir("d", THRUM_FOREVER), 0);
}

static int spared_body(void *arg) {
    (void)arg;
    inside(is_spared);
    return 0;
}

TEST(a_directory_is_watched_where_the_one_around_it_is_not_for_us_to_see) {
    /* Unless moves of its own are asked for. */
    both(spared_body);
}

/* Two that add one path at a time, of which one is refused: the other one's is watched. */
static int adds(void *arg) {
    (void)arg;
    return add("d", ALL);
}

static void adds_twice_at_once(void) {
    enum { ROUNDS = 100, REQUESTS = 4 };
    thrum_watch_event e;
    CHECK_EQ(thrum_file_mkdir("d", 0755, THRUM_FOREVER), 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        thrum_handle *handles[2];
        int results[2];
        th_os_fail_with(TH_OS_FAULT_WATCH, -ENOLCK, i % REQUESTS, 1);
        for (int j = 0; j < 2; j++) {
            CHECK_EQ(thrum_spawn(&handles[j], adds, NULL), 0);
        }
        for (int j = 0; j < 2; j++) {
            CHECK_EQ(thrum_join(handles[j], &results[j]), 0);
        }
        const int refused = results[0] < 0 ? 0 : 1;
        const int d = results[1 - refused];
        CHECK_EQ(results[refused], -ENOLCK);
        CHECK(d > 0);
        write_to("d/a", "1");
        do { /* others are of a refused one, or of the file's removal before */
            e = next();
        } while (e.watch != d || e.what != THRUM_WATCH_CREATED);
        CHECK_EQ(thrum_file_unlink("d/a", THRUM_FOREVER), 0);
        CHECK_EQ(thrum_watch_remove(watcher, d), 0);
        do {
            e = next();
        } while (e.watch != d || e.what != THRUM_WATCH_ENDED);
    }
    CHECK_EQ(thrum_file_rmdir("d", THRUM_FOREVER), 0);
}

static int at_once_body(void *arg) {
    (void)arg;
    inside(adds_twice_at_once);
    return 0;
}

TEST(of_two_that_add_one_path_the_other_one_is_refused_alone) {
    /* Whichever came first, and whatever of it was refused. */
    rig_do(0, at_once_body, NULL);
}

static void ends_late(void) {
    CHECK_EQ(thrum_file_mkdir("d", 0755, THRUM_FOREVER), 0);
    const int d = add("d", THRUM_WATCH_CREATED | THRUM_WATCH_SELF_DELETED);
    CHECK(d > 0);
    th_os_fail_with(TH_OS_FAULT_WATCH, -EACCES, 0, 1);
    write_to("d/a", "1");
    thrum_watch_event e;
    do {
        e = next();
    } while (e.what == THRUM_WATCH_CREATED);
    CHECK_EQ(e.what, THRUM_WATCH_SELF_DELETED);
    told(d, THRUM_WATCH_ENDED, "");
    CHECK_EQ(thrum_file_unlink("d/a", THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_rmdir("d", THRUM_FOREVER), 0);
}

static int late_body(void *arg) {
    (void)arg;
    inside(ends_late);
    return 0;
}

TEST(a_directory_that_goes_while_nothing_is_asked_is_told_as_deleted) {
    /* Its next request is refused, as those under way are at other times. */
    both(late_body);
}

/* ---- too much ---- */

static void overflows(void) {
    enum { FILES = 6000 };
    char name[64];
    bool lost = false;
    int seen = 0;
    const int here = add(".", THRUM_WATCH_CREATED | THRUM_WATCH_DELETED);
    CHECK(here > 0);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "name-%d", i);
        write_to(name, "1");
        CHECK_EQ(thrum_file_unlink(name, THRUM_FOREVER), 0);
    }
    while (!lost) {
        const thrum_watch_event e = next();
        lost = e.what == THRUM_WATCH_OVERFLOW;
        CHECK_EQ(e.watch, lost ? -1 : here);
        seen++;
    }
    CHECK(seen <= 2 * FILES);
    CHECK_EQ(thrum_watch_remove(watcher, here), 0);
    const int again = add(".", THRUM_WATCH_CREATED);
    CHECK(again > here);
    write_to("one more", "1");
    thrum_watch_event e;
    do {
        e = next();
    } while (e.watch != again);
    CHECK_STR(e.name, "one more");
    CHECK_EQ(thrum_file_unlink("one more", THRUM_FOREVER), 0);
}

static int overflow_body(void *arg) {
    (void)arg;
    inside(overflows);
    return 0;
}

TEST(more_than_there_is_room_for_is_told_as_lost) {
    /* In the place of the rest; what comes after that was read is told again. */
    rig_do(0, overflow_body, NULL);
}

/* ---- waits ---- */

static int waits_in_vain(void *arg) {
    thrum_watch_event e;
    (void)arg;
    return thrum_watch_next(watcher, &buffer, &e, THRUM_FOREVER);
}

static void ends_waits(void) {
    int result = 0;
    thrum_watch_event e;
    thrum_handle *handle;
    CHECK(add(".", THRUM_WATCH_CREATED) > 0);
    CHECK_EQ(thrum_watch_next(watcher, &buffer, &e, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_spawn(&handle, waits_in_vain, NULL), 0);
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, -ECANCELED);
    write_to("a", "1");
    CHECK_STR(next().name, "a");
    CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
}

static int waits_body(void *arg) {
    (void)arg;
    inside(ends_waits);
    return 0;
}

TEST(a_wait_for_changes_ends_at_its_deadline_and_by_a_cancel) {
    /* No event is lost to either. */
    rig_do(0, waits_body, NULL);
}

static void is_closed(void) {
    CHECK_EQ(thrum_file_mkdir("d", 0755, THRUM_FOREVER), 0);
    for (int i = 0; i < 50; i++) {
        thrum_io other;
        CHECK_EQ(thrum_watch_open(&other), 0);
        CHECK(thrum_watch_add(other, "d", ALL, THRUM_FOREVER) > 0);
        CHECK(thrum_watch_add(other, ".", ALL, THRUM_FOREVER) > 0);
        write_to("d/a", "1");
        CHECK_EQ(thrum_io_close(other), 0);
        CHECK_EQ(thrum_file_unlink("d/a", THRUM_FOREVER), 0);
    }
    CHECK_EQ(thrum_file_rmdir("d", THRUM_FOREVER), 0);
}

static int closed_body(void *arg) {
    (void)arg;
    inside(is_closed);
    return 0;
}

TEST(a_close_among_changes_lets_go_of_the_directory) {
    /* It has no handle left that would keep it. */
    both(closed_body);
}
