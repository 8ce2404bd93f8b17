/*
 * process.c: thousands of short programs.
 */
/* matrix: policy workers */
#include "support/io/processes.h"
#include "support/times.h"

typedef struct storm {
    atomic_int left;
    atomic_int seed;
} storm;

/* Each ends as it is told; some are waited for by deadlines, some are killed or dropped. */
static int start_many(void *arg) {
    storm *s = arg;
    const char *const *argv = SHELL("exit 0");
    thrum_process_status status;
    while (atomic_fetch_sub(&s->left, 1) > 0) {
        const int i = atomic_fetch_add(&s->seed, 1) % 8;
        thrum_process *process = started(argv, NULL);
        if (i == 0) {
            CHECK_EQ(thrum_process_kill(process, SIGKILL), 0);
        } else if (i == 1) {
            const int code = thrum_process_wait(process, &status, soon());
            CHECK(code == 0 || code == -ETIMEDOUT);
        }
        if (i > 1) {
            CHECK_EQ(ended(process), 0);
        }
        CHECK_EQ(thrum_process_close(process), 0);
    }
    return 0;
}

TEST(thousands_of_programs) {
    /* 64 at a time; no child, no descriptor is left. */
    storm s = {SCALED(PROGRAMS), 0};
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(ended_and_closed(started(SHELL("exit 0"), NULL)), 0);
    const int before = descriptors();
    for (int i = 0; i < 64; i++) {
        rig_go(&r, start_many, &s);
    }
    rig_wait_done(&r);
    rig_stop(&r);
    SPIN_UNTIL(!has_children());
    SPIN_UNTIL(descriptors() <= before);
}
