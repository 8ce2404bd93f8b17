/*
 * observe_exit.c: the process ends by exit() while an answer is written.
 */
/* POSIX: fork */
/* matrix: workers */
#include "support/report/observed.h"

#include <sys/wait.h>

enum { WAITING = 300, ROUNDS = 20 };

static int waits(void *arg) {
    (void)arg;
    return thrum_sleep_until(far_off());
}

/* A process that can be observed, and ends by exit when it can read a byte. */
static pid_t begin(int go, int begun) {
    fflush(NULL);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        rig r;
        char byte = 0;
        check_end_in_time();
        use_folder();
        observed_begin(&r, "ends");
        for (int i = 0; i < WAITING; i++) {
            thrum_attr attr = THRUM_ATTR_INIT;
            attr.sched = r.sched;
            CHECK_EQ(thrum_go_with(&attr, waits, NULL), 0);
        }
        CHECK_EQ(write(begun, &byte, 1), 1);
        CHECK_EQ(read(go, &byte, 1), 1);
        exit(7);
    }
    return child;
}

/* Whether the bytes, each answer with its zero byte, are whole answers but for the last. */
static void check_whole(const char *bytes, size_t size) {
    size_t depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < size; i++) {
        const char c = bytes[i];
        if (quoted) {
            i += c == '\\';
            quoted = c != '"';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '[' || c == '{') {
            depth++;
        } else if (c == ']' || c == '}') {
            CHECK(depth > 0);
            depth--;
        }
        CHECK(c || (!depth && !quoted && bytes[i - 1] == '\n'));
    }
}

typedef struct ending {
    int go[2];
    int begun[2];
    int fd;
    pid_t child;
} ending;

static void start(ending *e) {
    char byte;
    CHECK_EQ(pipe(e->go), 0);
    CHECK_EQ(pipe(e->begun), 0);
    e->child = begin(e->go[0], e->begun[1]);
    close(e->begun[1]); /* so that the end of the child ends the read */
    CHECK_EQ(read(e->begun[0], &byte, 1), 1);
    snprintf(at.sun_path, sizeof(at.sun_path), "%s/thrum/%d", folder, (int)e->child);
    e->fd = connected();
}

static void end_now(const ending *e) {
    CHECK_EQ(write(e->go[1], "", 1), 1);
}

static void finish(const ending *e) {
    int status = 0;
    CHECK_EQ(waitpid(e->child, &status, 0), e->child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    CHECK_EQ(unlink(at.sun_path), 0);
    close(e->fd);
    close(e->go[0]);
    close(e->go[1]);
    close(e->begun[0]);
}

/* Threads after a fork, and leaks that the exit finds, are not for the sanitizers. */
static bool cannot_run(void) {
    return UNDER_TSAN || UNDER_ASAN;
}

TEST(no_answer_ends_as_whole_that_is_not) {
    /* The peer reads on; the process ends in the middle of an answer. */
    static char bytes[1 << 22];
    if (cannot_run()) {
        CHECK_SKIP("no threads after a fork there");
    }
    set_folder();
    for (int i = 0; i < ROUNDS; i++) {
        ending e;
        size_t n = 0;
        ssize_t k;
        start(&e);
        for (int asks = 0; asks < 8; asks++) {
            ask(e.fd, "dump\n");
        }
        while ((k = recv(e.fd, bytes + n, sizeof(bytes) - n, 0)) > 0) {
            if (n == 0) {
                end_now(&e);
            }
            n += (size_t)k;
            CHECK(n < sizeof(bytes));
        }
        check_whole(bytes, n);
        finish(&e);
    }
    remove_folder();
}

TEST(an_exit_waits_for_no_reader) {
    /* If each of these waited for two seconds, the test would exceed its limit. */
    if (cannot_run()) {
        CHECK_SKIP("no threads after a fork there");
    }
    set_folder();
    for (int i = 0; i < 2 * ROUNDS; i++) {
        ending e;
        start(&e);
        for (int full = 0; full < 200;) { /* refused so often: it reads no more, since it waits */
            if (send(e.fd, "dump\n", 5, MSG_NOSIGNAL | MSG_DONTWAIT) == 5) {
                full = 0;
            } else {
                full++;
                nap();
            }
        }
        end_now(&e);
        finish(&e);
    }
    remove_folder();
}
