/*
 * observe.c: looking at a process from outside: `observe`, THRUM_OBSERVE.
 */
/* matrix: policy workers */
/* matrix: quick 1 2 */
#include "support/observed.h"

#include "platform/faults.h"

TEST(it_answers_with_the_metrics_and_a_dump) {
    /* One connection asks as often as it likes; the answers are arrays of what is printed. */
    rig r;
    set_folder();
    observed_begin(&r, "look\"ed");
    const int fd = connected();
    CHECK(strstr(asked(fd, "hello\n"), "[{\"sched\": \"look\\\"ed\", \"pid\": ") == got);
    CHECK(strstr(asked(fd, "metrics\n"), "[{\"sched\": \"look\\\"ed\",\n \"workers\": ") == got);
    CHECK(strstr(got, "\"tasks_started\": ") != NULL);
    CHECK(strstr(asked(fd, "dump\n"), "[{\"sched\": \"look\\\"ed\",\n \"alive\": ") == got);
    ask(fd, "hello\nmetrics\n"); /* two at once */
    CHECK(answer(fd) && answer(fd));
    close(fd);
    rig_stop(&r);
    CHECK_EQ(try_connect(), -ENOENT);
    remove_folder();
}

TEST(nothing_is_there_unless_it_is_asked_for) {
    /* No socket, and not even the folder. */
    rig r;
    set_folder();
    rig_begin(&r, 0);
    CHECK_EQ(try_connect(), -ENOENT);
    rig_stop(&r);
    CHECK_EQ(rmdir(folder), 0);
}

TEST(the_environment_asks_for_it) {
    /* THRUM_OBSERVE=1. */
    rig r;
    set_folder();
    CHECK_EQ(setenv("THRUM_OBSERVE", "1", 1), 0);
    rig_begin(&r, 0);
    close(connected());
    rig_stop(&r);
    remove_folder();
}

TEST(only_its_user_may_use_it) {
    /* The folder and the socket are closed to others. */
    struct stat status;
    char path[80];
    rig r;
    set_folder();
    observed_begin(&r, "own");
    snprintf(path, sizeof(path), "%s/thrum", folder);
    CHECK_EQ(stat(path, &status), 0);
    CHECK_EQ(status.st_mode & 07777u, 0700u);
    CHECK_EQ(stat(at.sun_path, &status), 0);
    CHECK_EQ(status.st_mode & 07777u, 0600u);
    rig_stop(&r);
    remove_folder();
}

TEST(another_user_is_refused) {
    /* Even where the files let it through: it gets no answer. */
    char path[80];
    rig r;
    if (geteuid() != 0) {
        exit(77); /* only root can be another user */
    }
    set_folder();
    observed_begin(&r, "own");
    snprintf(path, sizeof(path), "%s/thrum", folder);
    CHECK_EQ(chmod(folder, 0755), 0);
    CHECK_EQ(chmod(path, 0755), 0);
    CHECK_EQ(chmod(at.sun_path, 0666), 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (setuid(65534) != 0) {
            _exit(1);
        }
        const int fd = connected();
        (void)send(fd, "hello\n", 6, MSG_NOSIGNAL);
        _exit(answer(fd) ? 2 : 0);
    }
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    const int fd = connected();
    CHECK(strstr(asked(fd, "hello\n"), "own") != NULL);
    close(fd);
    rig_stop(&r);
    remove_folder();
}

TEST(what_is_no_request_is_said_so) {
    /* The connection stays; a line that is too long ends it, and the others stay. */
    char line[100];
    rig r;
    set_folder();
    observed_begin(&r, "garbage");
    const int fd = connected();
    const int other = connected();
    CHECK(strstr(asked(fd, "\x1b[2J\xff\n"), "{\"error\": ") == got);
    CHECK(strstr(asked(fd, "\n"), "{\"error\": ") == got);
    CHECK(strstr(asked(fd, "hello\n"), "garbage") != NULL);
    memset(line, 'x', sizeof(line));
    (void)send(fd, line, sizeof(line), MSG_NOSIGNAL);
    CHECK(!answer(fd));
    close(fd);
    CHECK(strstr(asked(other, "hello\n"), "garbage") != NULL);
    close(other);
    rig_stop(&r);
    remove_folder();
}

TEST(a_peer_that_never_reads_holds_up_no_stop) {
    /* Its answers fill all buffers, so the thread waits for room; the stop ends that. */
    check_deaf_peer("metrics\n");
}

TEST(too_many_are_closed_at_once) {
    /* Eight stay, and a ninth finds room when one has gone. */
    int fds[8];
    rig r;
    set_folder();
    observed_begin(&r, "many");
    for (int i = 0; i < 8; i++) {
        fds[i] = connected();
        asked(fds[i], "hello\n");
    }
    const int more = connected();
    CHECK(!answer(more));
    close(more);
    for (int i = 0; i < 8; i++) {
        asked(fds[i], "hello\n");
        close(fds[i]);
    }
    rig_stop(&r);
    remove_folder();
}

TEST(two_schedulers_share_a_socket) {
    /* Each is told; when one has stopped the other is still there. */
    rig a;
    rig b;
    set_folder();
    observed_begin(&a, "first");
    observed_begin(&b, "second");
    const int fd = connected();
    CHECK(strstr(asked(fd, "metrics\n"), "\"first\"") != NULL);
    CHECK(strstr(got, "\"second\"") != NULL);
    rig_stop(&a);
    CHECK(strstr(asked(fd, "metrics\n"), "\"first\"") == NULL);
    CHECK(strstr(got, "\"second\"") != NULL);
    rig_stop(&b);
    CHECK(!answer(fd));
    close(fd);
    remove_folder();
}

TEST(what_a_dead_process_has_left_is_replaced) {
    /* A socket of the same name at which nobody listens. */
    char path[80];
    rig r;
    set_folder();
    snprintf(path, sizeof(path), "%s/thrum", folder);
    CHECK_EQ(mkdir(path, 0700), 0);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_EQ(bind(fd, (const struct sockaddr *)(const void *)&at, sizeof(at)), 0);
    close(fd);
    observed_begin(&r, "new");
    close(connected());
    rig_stop(&r);
    remove_folder();
}

TEST(a_child_has_none_of_it) {
    /* It leaves the parent's socket alone, and has its own with a scheduler of its own. */
    rig r;
    set_folder();
    observed_begin(&r, "parent");
    const int fd = connected();
    asked(fd, "hello\n");
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        rig own;
        snprintf(at.sun_path, sizeof(at.sun_path), "%s/thrum/%d", folder, (int)getpid());
        CHECK_EQ(try_connect(), -ENOENT);
        if (UNDER_TSAN || UNDER_ASAN) /* no threads there; or an allocator that stays locked */
            _exit(0);
        observed_begin(&own, "child");
        const int mine = connected();
        CHECK(strstr(asked(mine, "hello\n"), "child") != NULL);
        CHECK(strstr(got, "parent") == NULL);
        close(mine);
        rig_stop(&own);
        _exit(0);
    }
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK(strstr(asked(fd, "hello\n"), "parent") != NULL);
    rig_stop(&r);
    CHECK(!answer(fd)); /* the child held no end of it */
    close(fd);
    remove_folder();
}

TEST(a_folder_that_is_open_to_others_is_not_used) {
    /* The other place is, /tmp/thrum-UID. */
    char path[80];
    rig r;
    set_folder();
    snprintf(path, sizeof(path), "%s/thrum", folder);
    CHECK_EQ(mkdir(path, 0700), 0);
    CHECK_EQ(chmod(path, 0777), 0);
    observed_begin(&r, "elsewhere");
    CHECK_EQ(try_connect(), -ENOENT);
    snprintf(at.sun_path, sizeof(at.sun_path), "/tmp/thrum-%d/%d", (int)geteuid(), (int)getpid());
    const int fd = connected();
    CHECK(strstr(asked(fd, "hello\n"), "elsewhere") != NULL);
    close(fd);
    rig_stop(&r);
    CHECK_EQ(try_connect(), -ENOENT);
    remove_folder();
}

TEST(a_start_goes_on_without_it) {
    /* No descriptor is to be had: there is nothing to look at, and all else works. */
    rig r;
    set_folder();
    th_os_fail(TH_OS_FAULT_EVENTFD, 0, UINT32_MAX);
    observed_begin(&r, "without");
    CHECK_EQ(try_connect(), -ENOENT);
    th_os_fail(TH_OS_FAULT_EVENTFD, 0, 0);
    rig_stop(&r);
    CHECK_EQ(rmdir(folder), 0);
}
