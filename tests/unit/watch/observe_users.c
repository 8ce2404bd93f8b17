/*
 * observe_users.c: who may look at a process from outside, by the users and permissions of POSIX;
 * forks.
 */
/* POSIX: setuid, chmod, fork */
/* matrix: policy workers */
#include "support/report/observed.h"

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
    NOT_BY_POSIX("name for the user at the other side");
    char path[80];
    rig r;
    needs_another_user();
    set_folder();
    observed_begin(&r, "own");
    snprintf(path, sizeof(path), "%s/thrum", folder);
    CHECK_EQ(chmod(folder, 0755), 0);
    CHECK_EQ(chmod(path, 0755), 0);
    CHECK_EQ(chmod(at.sun_path, 0666), 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (setuid(OTHER_USER) != 0) {
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
        if (UNDER_TSAN || UNDER_ASAN) { /* no threads there; or an allocator that stays locked */
            _exit(0);
        }
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

static atomic_bool over;

static void *starts_and_stops(void *arg) {
    (void)arg;
    while (!over) {
        rig r;
        observed_begin(&r, "again");
        rig_stop(&r);
    }
    return NULL;
}

TEST(a_fork_during_a_start_or_a_stop_takes_nothing_along) {
    /* The child has no descriptor of ours, so no socket. */
    pthread_t thread;
    if (UNDER_TSAN) {
        CHECK_SKIP("no forks beside threads there");
    }
    set_folder();
    CHECK_EQ(pthread_create(&thread, NULL, starts_and_stops, NULL), 0);
    for (int i = 0; i < 300; i++) {
        int status = -1;
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            struct stat found;
            for (int fd = 0; fd < 64; fd++) {
                if (fstat(fd, &found) == 0 && S_ISSOCK(found.st_mode)) {
                    _exit(9);
                }
            }
            _exit(0);
        }
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
    }
    over = true;
    CHECK_EQ(pthread_join(thread, NULL), 0);
    remove_folder();
}
