/*
 * io_idle.c: very many descriptors for which fibers wait: nothing happens until one is ready.
 */
/* matrix: policy workers */
/* alone: */
#include "support/io/io.h"

enum { PAIRS = 10000 };

static int fds[PAIRS][2];
static thrum_io ios[PAIRS];
static atomic_int waiting, got;

static int reads_one(void *arg) {
    const thrum_io *io = arg;
    char byte;
    atomic_fetch_add(&waiting, 1);
    CHECK_EQ(thrum_read(*io, &byte, 1), 1);
    atomic_fetch_add(&got, 1);
    return 0;
}

/* So many descriptors, or the test cannot be run here; fewer pairs where there is a limit. */
static int raise_limit(void) {
    struct rlimit limit;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlim_t pairs = limit.rlim_cur < 300 ? 0 : (limit.rlim_cur - 300) / 2; /* sets have some */
    return pairs < PAIRS ? (int)pairs : PAIRS;
}

static int64_t us_of(const struct rusage *usage) {
    return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * INT64_C(1000000) +
           usage->ru_utime.tv_usec + usage->ru_stime.tv_usec;
}

static atomic_int continued;

static void on_continue(int number) {
    (void)number;
    atomic_fetch_add(&continued, 1);
}

/*
 * Whether no other thread makes a call for 200 ms, in which the watchdog's wakes once at the most.
 * If the process was stopped meanwhile that is not known: all threads have been woken.
 */
static bool was_quiet(void) {
    struct rusage all[2], mine[2];
    const int before = atomic_load(&continued);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(getrusage(RUSAGE_SELF, &all[i]) | getrusage(RUSAGE_THREAD, &mine[i]), 0);
        if (i == 0) {
            usleep(200000);
        }
    }
    const long switches = all[1].ru_nvcsw - all[0].ru_nvcsw - (mine[1].ru_nvcsw - mine[0].ru_nvcsw);
    const int64_t us = us_of(&all[1]) - us_of(&all[0]) - (us_of(&mine[1]) - us_of(&mine[0]));
    return (switches <= 2 && us < 2000) || atomic_load(&continued) != before;
}

TEST(nothing_happens_while_all_wait) {
    /* After a while, in which stacks are looked through and given back, no worker makes a call. */
    const int pairs = SCALED(raise_limit());
    rig r;
    if (pairs < 100) {
        CHECK_SKIP("no descriptors");
    }
#ifdef SIGCONT
    CHECK(signal(SIGCONT, on_continue) != SIG_ERR);
#else
    (void)on_continue;
#endif
    rig_init(&r);
    r.config.stack_size = UNDER_ASAN || UNDER_TSAN ? 65536 : 16384;
    rig_start(&r);
    for (int i = 0; i < pairs; i++) {
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds[i]), 0);
        ios[i] = adopted(fds[i][0]);
        rig_go(&r, reads_one, &ios[i]);
    }
    SPIN_UNTIL(atomic_load(&waiting) == pairs);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    SPIN_UNTIL(was_quiet());
    for (int i = 0; i < pairs; i++) {
        put(fds[i][1], "x");
    }
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&got), pairs);
    for (int i = 0; i < pairs; i++) {
        CHECK_EQ(thrum_io_close(ios[i]), 0);
        close(fds[i][1]);
    }
    rig_stop(&r);
}
