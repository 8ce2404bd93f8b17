/*
 * config_signal.c: the names of signals in the environment (THRUM_DUMP); what is said of others.
 */
#include "support/report/asked.h"

static int named(const char *text) {
    thrum_config c;
    CHECK_EQ(setenv("THRUM_DUMP", text, 1), 0);
    thrum_config_init(&c);
    CHECK_EQ(unsetenv("THRUM_DUMP"), 0);
    return c.dump_signal;
}

TEST(names_come_in_any_case) {
    /* With or without SIG. */
    CHECK_EQ(named("int"), SIGINT);
    CHECK_EQ(named("Term"), SIGTERM);
    CHECK_EQ(named("sigterm"), SIGTERM);
    CHECK_EQ(named("SigInt"), SIGINT);
    CHECK_EQ(named("OFF"), 0);
}

TEST(what_is_not_understood_is_told_once) {
    /* And it asks for nothing. */
    static const char *const bad[] = {"SIG",      "SIGSIGHUP", "RTMIN-1", "RTMIN+99", "RTMAX+1",
                                      "RTMAX-99", "RTMIN+2x",  "quits",   "SIGKILL",  "segv"};
    capture_begin();
    CHECK_EQ(named("a \"b\"\n"), 0);
    await("thrum: THRUM_DUMP names no signal that can request a dump: \"a \\\"b\\\"?\"\n");
    unwanted = "names no signal";
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CHECK_EQ(named(bad[i]), 0);
    }
    CHECK_EQ(write(STDERR_FILENO, "end", 3), 3);
    await("end");
    capture_end();
}
