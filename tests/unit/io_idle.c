/*
 * io_idle.c: very many descriptors for which fibers wait: nothing happens until one is ready.
 */
/* matrix: policy workers */
/* matrix: quick 2 */
/* alone: */
#include "support/io.h"

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
    const rlim_t pairs = (limit.rlim_cur - 300) / 2; /* workers have sets */
    return pairs < PAIRS ? (int)pairs : PAIRS;
}

/* Switches and processor time of the process, apart from the thread that asks. */
typedef struct figures {
    long switches;
    int64_t cpu_us;
} figures;

static int64_t us_of(struct timeval t) {
    return t.tv_sec * INT64_C(1000000) + t.tv_usec;
}

static figures figures_now(void) {
    struct rusage all, mine;
    CHECK_EQ(getrusage(RUSAGE_SELF, &all) | getrusage(RUSAGE_THREAD, &mine), 0);
    return (figures){all.ru_nvcsw - mine.ru_nvcsw, us_of(all.ru_utime) + us_of(all.ru_stime) -
                                                       us_of(mine.ru_utime) - us_of(mine.ru_stime)};
}

TEST(nothing_happens_while_all_wait) {
    /* No worker makes a call for 200 ms, in which the watchdog's thread wakes once at the most. */
    const int pairs = SCALED(raise_limit());
    rig r;
    if (pairs < 100) {
        CHECK_SKIP("no descriptors");
    }
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
    bool quiet = false;
    for (int i = 0; i < 20 && !quiet;
         i++) { /* at first stacks are looked through, and given back */
        const figures before = figures_now();
        usleep(200000);
        const figures after = figures_now();
        quiet = after.switches - before.switches <= 2 && after.cpu_us - before.cpu_us < 2000;
    }
    CHECK(quiet);
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
