/*
 * signals.c: a console's events and what is raised, as signals that tasks wait for.
 */
#include "support/support.h"
#include "support/times.h"

#include <signal.h>
#include <thrum/signal.h>

#include "io/signal.h"

/* Behind what it may not come before. */
#include <windows.h>

static int raise_body(void *arg) {
    const int numbers[] = {SIGTERM};
    (void)arg;
    CHECK_EQ(thrum_signal_catch(SIGTERM), 0);
    for (int i = 0; i < 3; i++) { /* the C library takes its handler away each time */
        CHECK_EQ(raise(SIGTERM), 0);
        CHECK_EQ(thrum_signal_wait(numbers, 1, THRUM_FOREVER), SIGTERM);
    }
    CHECK_EQ(thrum_signal_wait(numbers, 1, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_signal_release(SIGTERM), 0);
    return 0;
}

TEST(what_is_raised_is_waited_for) {
    /* A signal that the program raises itself ends a fiber's wait, and a plain thread's. */
    rig_do(0, raise_body, NULL);
    CHECK_EQ(raise_body(NULL), 0);
}

TEST(a_signal_that_lingers_is_let_pass) {
    /* Nobody waits for it any more, but for a time it does not end the program, however often. */
    CHECK_EQ(thrum_signal_catch(SIGTERM), 0);
    CHECK_EQ(th_signal_release_lingering(SIGTERM, far_off()), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(raise(SIGTERM), 0);
    }
    CHECK_EQ(thrum_signal_catch(SIGTERM), 0);
    CHECK_EQ(thrum_signal_release(SIGTERM), 0);
    CHECK(signal(SIGTERM, SIG_DFL) == SIG_DFL);
}

static int event_body(void *arg) {
    const int numbers[] = {SIGINT, SIGBREAK};
    (void)arg;
    CHECK_EQ(thrum_signal_catch(SIGINT), 0);
    CHECK_EQ(thrum_signal_catch(SIGBREAK), 0);
    if (!GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, 0)) {
        CHECK_SKIP("no console: error %lu", (unsigned long)GetLastError());
    }
    CHECK_EQ(thrum_signal_wait(numbers, 2, THRUM_FOREVER), SIGBREAK);
    CHECK_EQ(thrum_signal_release(SIGINT), 0);
    CHECK_EQ(thrum_signal_release(SIGBREAK), 0);
    return 0;
}

TEST(a_consoles_event_is_a_signal) {
    /* Control-Break, told on a thread of the system's own. Wine has none without a display. */
    FreeConsole(); /* whose event would go to all that share it */
    if (!AllocConsole()) {
        CHECK_SKIP("no console: error %lu", (unsigned long)GetLastError());
    }
    rig_do(0, event_body, NULL);
}

static volatile int own_count;
static void own(int number) {
    own_count += number == SIGTERM;
}

TEST(a_dump_is_asked_for_by_name) {
    /* Control-Break has a name, too. */
    thrum_config config;
    CHECK_EQ(setenv("THRUM_DUMP", "break", 1), 0);
    thrum_config_init(&config);
    CHECK_EQ(config.dump_signal, SIGBREAK);
    CHECK_EQ(unsetenv("THRUM_DUMP"), 0);
}

TEST(the_programs_own_handler_is_called_too) {
    /* It was there before, and is back when nobody catches the signal any more. */
    CHECK(signal(SIGTERM, own) != SIG_ERR);
    CHECK_EQ(thrum_signal_catch(SIGTERM), 0);
    CHECK_EQ(raise(SIGTERM), 0);
    CHECK_EQ(own_count, 1);
    CHECK_EQ(thrum_signal_release(SIGTERM), 0);
    CHECK(signal(SIGTERM, SIG_DFL) == own);
    CHECK_EQ(thrum_signal_catch(SIGILL), -EINVAL);
}
