/*
 * observe.c: looking at a process from outside: `observe`, THRUM_OBSERVE.
 */
/* matrix: policy workers */
#include "support/report/observed.h"

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

/* Eight connections, which have asked one after the other. */
static void connect_all(int fds[8]) {
    for (int i = 0; i < 8; i++) {
        fds[i] = connected();
        asked(fds[i], "hello\n");
    }
}

TEST(a_ninth_takes_the_place_of_the_longest_silent) {
    /* Eight are served at a time. */
    int fds[8];
    rig r;
    set_folder();
    observed_begin(&r, "many");
    connect_all(fds);
    asked(fds[0], "hello\n");
    const int ninth = connected();
    asked(ninth, "hello\n");
    CHECK(!answer(fds[1]));
    for (int i = 0; i < 8; i++) {
        if (i != 1) {
            asked(fds[i], "hello\n");
        }
        close(fds[i]);
    }
    asked(ninth, "hello\n");
    close(ninth);
    rig_stop(&r);
    remove_folder();
}

TEST(connections_that_idle_keep_nobody_out) {
    /* Nor do they end one that asks. */
    enum { IDLE = 100 };
    int idle[IDLE];
    rig r;
    set_folder();
    observed_begin(&r, "idle");
    const int first = connected();
    asked(first, "hello\n");
    for (int i = 0; i < IDLE; i++) {
        idle[i] = connected();
    }
    const int next = connected();
    CHECK(strstr(asked(next, "hello\n"), "idle") != NULL);
    CHECK(strstr(asked(first, "hello\n"), "idle") != NULL);
    for (int i = 0; i < IDLE; i++) {
        close(idle[i]);
    }
    close(first);
    close(next);
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
    /* Something of the same name at which nobody listens. */
    rig r;
    set_folder();
    leave_behind();
    observed_begin(&r, "new");
    close(connected());
    rig_stop(&r);
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
