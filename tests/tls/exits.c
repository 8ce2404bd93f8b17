/*
 * exits.c: programs that end while workers are in the middle of TLS.
 */
#include "support/io/tls.h"

#if UNDER_ASAN
/* At such an exit tasks still run, and their stacks are no roots to the search for leaks. */
const char *__asan_default_options(void);

const char *__asan_default_options(void) {
    return "detect_leaks=0";
}
#endif

static world w;
static int lives;           /* for how many connections the program lives */
static atomic_int answered; /* so many have been made */

enum { PAIRS = 8, WORKERS = 3 };

static int serves(void *arg) {
    thrum_tls *tls;
    int code = thrum_tls_server(&tls, w.server, adopted((int)(intptr_t)arg), THRUM_FOREVER);
    char text[100];
    while (code == 0 && thrum_tls_read(tls, text, sizeof text) > 0) {
    }
    (void)thrum_tls_close(tls, THRUM_FOREVER);
    return code;
}

/* One connection after the other, for as long as the program lives. */
static int asks(void *arg) {
    int64_t n = 1;
    (void)arg;
    while (n == 1) {
        int fds[2];
        thrum_tls *tls;
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        CHECK_EQ(thrum_go(serves, (void *)(intptr_t)fds[1]), 0);
        CHECK_EQ(thrum_tls_client(&tls, w.client, adopted(fds[0]), "a.test", THRUM_FOREVER), 0);
        n = thrum_tls_write(tls, "x", 1);
        atomic_fetch_add(&answered, 1);
        (void)thrum_tls_close(tls, THRUM_FOREVER);
    }
    return (int)n;
}

static int exits(void *arg) {
    YIELD_UNTIL(atomic_load(&answered) >= lives);
    exit(*(int *)arg);
}

/* In a child: the first use of OpenSSL is the library's. */
static void live(bool in_task) {
    static int status = 7;
    thrum_tls_config *first;
    thrum_sched *sched;
    thrum_config config;
    check_end_in_time();
    CHECK_EQ(thrum_tls_config_client(&first, NULL), 0);
    world_make(&w);
    thrum_config_init(&config);
    config.workers = WORKERS;
    CHECK_EQ(thrum_sched_start(&sched, &config), 0);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    for (int i = 0; i < PAIRS; i++) {
        CHECK_EQ(thrum_go_with(&attr, asks, NULL), 0);
    }
    if (in_task) {
        CHECK_EQ(thrum_go_with(&attr, exits, &status), 0);
        CHECK_EQ(thrum_sched_wait_done(sched, THRUM_FOREVER), 0); /* which never comes */
    }
    SPIN_UNTIL(atomic_load(&answered) >= lives);
    exit(status);
}

static void check_exits(bool in_task) {
    for (int i = 0; i < 20; i++) {
        int word = 0;
        lives = i / 2;
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            live(in_task);
        }
        CHECK_EQ(waitpid(child, &word, 0), child);
        CHECK(WIFEXITED(word));
        CHECK_EQ(WEXITSTATUS(word), 7);
    }
}

TEST(main_exits_amid_handshakes) {
    /* What the workers use of OpenSSL is there until the process is gone. */
    check_exits(false);
}

TEST(a_task_exits_amid_handshakes) {
    /* The same, on a worker. */
    check_exits(true);
}
