/*
 * dump_signal_kept.c: what becomes of a signal that asks for dumps: what the program had set for
 * it, sets later, or waits for; and what is there after the last stop.
 */
/* matrix: policy workers */
#include "support/report/asked.h"

#include "platform/faults.h"

#include <thrum/signal.h>

/* ---- what the program does with the signal ---- */

static volatile sig_atomic_t called;

static void counts(int number) {
    called += number;
    signal_again(number, counts);
}

static void set(int number, void (*handler)(int)) {
    const struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    CHECK_EQ(sigaction(number, &action, NULL), 0);
}

TEST(a_handler_from_before_is_called_as_well) {
    /* It is the program's again after the stop. */
    rig r;
    set(SIGUSR1, counts);
    begin(&r, "both", SIGUSR1);
    capture_begin();
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(called, SIGUSR1);
    await_dump("both");
    await("worker 0 ");
    capture_end();
    rig_stop(&r);
    CHECK(action_of(SIGUSR1).sa_handler == counts);
}

TEST(a_later_handler_stays) {
    /* It replaces ours: nothing is dumped, and a stop leaves it. */
    rig r;
    begin(&r, "later", SIGUSR1);
    set(SIGUSR1, counts);
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(called, SIGUSR1);
    rig_stop(&r);
    CHECK(action_of(SIGUSR1).sa_handler == counts);
    begin(&r, "over it", SIGUSR1); /* the next start comes before it again */
    capture_begin();
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(called, 2 * SIGUSR1);
    await_dump("over it");
    await("worker 0 ");
    capture_end();
    rig_stop(&r);
    CHECK(action_of(SIGUSR1).sa_handler == counts);
}

static int taken(void) {
    return thrum_signal_wait(&(int){SIGUSR1}, 1, 0);
}

TEST(those_that_wait_for_the_signal_get_it_too) {
    /* Whichever of the two lets go of it first, the other has it still. */
    rig r;
    begin(&r, "shared", SIGUSR1);
    capture_begin();
    CHECK_EQ(thrum_signal_catch(SIGUSR1), 0);
    CHECK_EQ(raise(SIGUSR1), 0);
    await_dump("shared");
    await("worker 0 ");
    CHECK_EQ(taken(), SIGUSR1);
    CHECK_EQ(thrum_signal_release(SIGUSR1), 0);
    CHECK_EQ(raise(SIGUSR1), 0);
    await_dump("shared");
    await("worker 0 ");
    CHECK_EQ(thrum_signal_catch(SIGUSR1), 0);
    capture_end();
    rig_stop(&r);
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(taken(), SIGUSR1);
    CHECK_EQ(taken(), -ETIMEDOUT);
    CHECK_EQ(thrum_signal_release(SIGUSR1), 0);
    CHECK(is_default(SIGUSR1));
}

TEST(one_that_catches_it_over_a_handler_of_the_program) {
    /* The second catch comes before what the program has set since the first; both have it then. */
    rig r;
    begin(&r, "over", SIGUSR1);
    set(SIGUSR1, counts);
    CHECK_EQ(thrum_signal_catch(SIGUSR1), 0);
    capture_begin();
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(called, SIGUSR1);
    await_dump("over");
    await("worker 0 ");
    capture_end();
    CHECK_EQ(taken(), SIGUSR1);
    rig_stop(&r);
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(called, 2 * SIGUSR1);
    CHECK_EQ(taken(), SIGUSR1);
    CHECK_EQ(thrum_signal_release(SIGUSR1), 0);
    CHECK(action_of(SIGUSR1).sa_handler == counts);
}

TEST(a_signal_that_cannot_ask_is_refused) {
    /* No number of a signal, one that cannot be caught, a fault, one that a thread causes. */
    static const int bad[] = {-1, 65, 1000, SIGKILL, SIGSTOP, SIGSEGV, SIGABRT, SIGPIPE, 32, 33};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        rig r;
        rig_init(&r);
        r.config.dump_signal = bad[i];
        CHECK_EQ(thrum_sched_start(&r.sched, &r.config), -EINVAL);
        rig_check_freed(&r);
    }
}

/* The thread after those of its workers is refused. */
static void init_without_printer(rig *r) {
    rig_init(r);
    r->config.workers = (unsigned)check_env("THRUM_WORKERS", 2);
    r->config.dump_signal = SIGTERM;
    th_os_fail(TH_OS_FAULT_THREAD, r->config.workers, 1);
}

TEST(what_the_environment_wishes_for_is_no_reason_not_to_start) {
    /* There is no thread for dumps: one line says so. A config that asks for them is refused. */
    rig r;
    CHECK_EQ(setenv("THRUM_DUMP", "sigterm", 1), 0);
    init_without_printer(&r);
    capture_begin();
    rig_start(&r);
    await("thrum: THRUM_DUMP: no dumps at SIGTERM: ");
    capture_end();
    CHECK(is_default(SIGTERM));
    rig_stop(&r);
    CHECK_EQ(unsetenv("THRUM_DUMP"), 0);
    init_without_printer(&r);
    CHECK_EQ(thrum_sched_start(&r.sched, &r.config), -EAGAIN);
    CHECK(is_default(SIGTERM));
    no_printer_is_left();
}

/* ---- what is there after the end ---- */

static void starts_and_stops(void *arg) {
    rig r;
    (void)arg;
    make_default(SIGQUIT);
    begin(&r, "quit", SIGQUIT);
    rig_stop(&r);
    raise(SIGQUIT);
}

TEST(the_default_is_there_again_after_the_last_stop) {
    /* SIGQUIT ends the program as it always did. */
    char text[1024];
    const int status = check_child(starts_and_stops, NULL, text, sizeof(text));
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGNAL_ENDS(SIGQUIT));
}
