/*
 * around_rights.c: what the system around a scheduler gives it: rights, thread-specific keys.
 */
/* POSIX: getauxval, chown, pthread_attr_setstack */
#include "support/support.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* ---- rights ---- */

#define SPIN_OF_ENVIRONMENT "4711"

enum { NO_MORE_RIGHTS = 8, NOT_STARTED = 9, ALL_IS_WELL = 42 }; /* statuses of the copy */

/* The checks of the next test, in a copy of this program that runs with another user's rights. */
TEST(settings_with_more_rights) {
    /* The next test runs this one; by itself it has nothing to show. */
    thrum_config config;
    const char *spin = getenv("THRUM_SPIN_NS");
    if (!spin || strcmp(spin, SPIN_OF_ENVIRONMENT) != 0) {
        return;
    }
    if (getauxval(AT_SECURE) == 0) {
        _exit(NO_MORE_RIGHTS);
    }
    thrum_config_init(&config);
    CHECK_EQ(config.spin_ns, 0);
    _exit(ALL_IS_WELL);
}

static void copy_self(const char *path) {
    char bytes[65536];
    size_t n;
    FILE *in = fopen("/proc/self/exe", "rb");
    FILE *out = fopen(path, "wb");
    CHECK(in && out);
    while ((n = fread(bytes, 1, sizeof bytes, in)) > 0) {
        CHECK_EQ(fwrite(bytes, 1, n, out), n);
    }
    CHECK_EQ(fclose(out), 0);
    fclose(in);
}

TEST(the_environment_is_not_trusted_with_more_rights) {
    /* A set-user-ID program does not take settings from the user that starts it. */
    char folder[] = "/tmp/thrum-rights-XXXXXX";
    char path[64];
    int status = 0;
    if (geteuid() != 0) {
        CHECK_SKIP("only root can make a program with another user's rights");
    }
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/around", folder);
    copy_self(path);
    const bool given = chown(path, 65534, 65534) == 0;
    CHECK_EQ(chmod(path, 04755), 0);
    CHECK_EQ(chmod(folder, 0755), 0);
    CHECK_EQ(setenv("THRUM_SPIN_NS", SPIN_OF_ENVIRONMENT, 1), 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        execl(path, path, "settings_with_more_rights", (char *)NULL);
        _exit(NOT_STARTED);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(rmdir(folder), 0);
    CHECK(WIFEXITED(status));
    if (!given) {
        CHECK_SKIP("there is no other user here"); /* as in some containers */
    }
    if (WEXITSTATUS(status) == NOT_STARTED) {
        CHECK_SKIP("no program may be executed in /tmp");
    }
    if (WEXITSTATUS(status) == NO_MORE_RIGHTS) {
        CHECK_SKIP("a program in /tmp gets no other user's rights");
    }
    CHECK_EQ(WEXITSTATUS(status), ALL_IS_WELL);
}

/* ---- keys of the system's threads ---- */

typedef struct poster {
    rig *r;
    thrum_sem done;
} poster;

static int posts_back(void *arg) {
    thrum_sem_post(arg);
    return 0;
}

static void *post_and_end(void *arg) {
    poster *p = arg;
    for (int i = 0; i < 3; i++) {
        const thrum_attr attr = rig_attr(p->r);
        CHECK_EQ(thrum_go_with(&attr, posts_back, &p->done), 0);
        CHECK_EQ(thrum_sem_wait(&p->done), 0);
    }
    return NULL;
}

TEST(threads_end_where_no_key_is_left) {
    /*
     * Then nothing tells that a thread has ended. Its stack goes, and with it the thread's own
     * variables; a dump, a sum and a stop do not look there.
     */
    const size_t size = (size_t)1 << 20;
    rig r;
    poster p = {.r = &r};
    pthread_key_t key;
    FILE *out = fopen("/dev/null", "w");
    CHECK(out != NULL);
    if (UNDER_TSAN || UNDER_ASAN) {
        CHECK_SKIP("the sanitizers need keys of their own");
    }
    while (pthread_key_create(&key, NULL) == 0) {
    }
    rig_begin(&r, 2);
    thrum_sem_init(&p.done, 0);
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        pthread_attr_t attr;
        void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(stack != MAP_FAILED);
        CHECK_EQ(pthread_attr_init(&attr), 0);
        CHECK_EQ(pthread_attr_setstack(&attr, stack, size), 0);
        CHECK_EQ(pthread_create(&thread, &attr, post_and_end, &p), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        CHECK_EQ(pthread_attr_destroy(&attr), 0);
        CHECK_EQ(munmap(stack, size), 0);
        CHECK_EQ(thrum_dump(r.sched, out, THRUM_JSON), 0);
        CHECK_EQ(thrum_sched_wait_done(r.sched, THRUM_FOREVER), 0);
    }
    rig_stop(&r);
    fclose(out);
}
