/*
 * spares_stopped.c: a process that is stopped and goes on, again and again, as under a quota or a
 * debugger: a spare stands in all the same, and nothing is lost.
 */
/* POSIX: SIGSTOP */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "support/sync/held.h"
#include "support/times.h"

/* Holds up all workers, in all ways; what waits then lets them go on. Tells that it begins. */
static void hold_in_all_ways(int begins) {
    static hold h;
    held_init_spares(&h);
    held_start(&h);
    CHECK_EQ(write(begins, "", 1), 1);
    for (int way = 0; way < HELD_WAYS; way++) {
        held_begin(&h, (held_way)way, held_regular(&h), true);
        way % 2 != 0 ? open_by_timer(&h) : open_by_post(&h);
        held_end(&h);
    }
    SPIN_UNTIL(held_metrics(&h).stalls > 0);
    held_stop(&h);
}

/* One more task blocks its thread than there are workers: another spare comes. */
static void block_one_more(int begins) {
    static hold h;
    held_init_spares(&h);
    held_start(&h);
    CHECK(held_spares(&h) >= 2);
    CHECK_EQ(write(begins, "", 1), 1);
    for (int i = 0; i < 3; i++) {
        held_begin(&h, i % 2 != 0 ? HELD_WAITING : HELD_READING, held_regular(&h) + 1, false);
        open_by_post(&h);
        held_end(&h);
    }
    held_stop(&h);
}

/* About so many milliseconds; nothing depends on it. */
static void pass(int ms) {
    for (int i = 0; i < 7 * ms; i++) {
        nap();
    }
}

/* Once it has begun it runs for `on` milliseconds, and then not for `off`, until it has ended. */
static void check_stopped(void (*holds)(int begins), int on, int off) {
    int status = -1;
    int begins[2];
    char c;
    CHECK_EQ(pipe(begins), 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK_EQ(prctl(PR_SET_PDEATHSIG, SIGKILL), 0); /* or it may stay stopped for ever */
        holds(begins[1]);
        _exit(0);
    }
    CHECK_EQ(read(begins[0], &c, 1), 1);
    while (waitpid(child, &status, WNOHANG) == 0) {
        pass(on);
        CHECK_EQ(kill(child, SIGSTOP), 0);
        pass(off);
        CHECK_EQ(kill(child, SIGCONT), 0);
    }
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(close(begins[0]) == 0 && close(begins[1]) == 0);
}

TEST(stopped_for_long) {
    /* It never runs for as long as two looks in time take. */
    NEEDS_STATES_OF_THREADS(); /* a look that is late: only so they count as blocked */
    check_stopped(hold_in_all_ways, 5, 30);
    check_stopped(block_one_more, 5, 30);
}

TEST(stopped_for_moments) {
    /* The looks are late now and then. */
    NEEDS_STATES_OF_THREADS(); /* a look that is late: only so they count as blocked */
    check_stopped(hold_in_all_ways, 20, 20);
    check_stopped(block_one_more, 20, 20);
}
