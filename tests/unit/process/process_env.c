/*
 * process_env.c: variables that a started program gets beside its parent's.
 */
/* POSIX: setenv */
#include "support/support.h"

static int run_shell(void *arg) {
    static const char *const added[] = {"PLAY_LONGER=added", "PLAY=replaced", NULL};
    static const char *const argv[] = {
        "/bin/sh", "-c",
        "test \"$PLAY $PLAY_LONG $PLAY_LONGER $PLAY_L\" = 'replaced kept added kept'", NULL};
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_process_output output;
    (void)arg;
    options.flags = THRUM_PROCESS_ENV_ADD;
    options.env = added;
    CHECK_EQ(thrum_process_run(argv, &options, NULL, 0, &output, THRUM_FOREVER), 0);
    CHECK_EQ(output.status.code, 0);
    thrum_process_output_free(&output);
    return 0;
}

TEST(an_added_variable_replaces_only_its_own_name) {
    /* Names that begin alike, shorter ones, stay what they were. */
    CHECK_EQ(setenv("PLAY", "before", 1), 0);
    CHECK_EQ(setenv("PLAY_L", "kept", 1), 0);
    CHECK_EQ(setenv("PLAY_LONG", "kept", 1), 0);
    rig_do(2, run_shell, NULL);
}
