/*
 * metrics_columns.c: printed figures, in a column for each worker while there are few.
 */
#include "support/report/printed.h"
#include "support/support.h"

static char *print_of(unsigned workers) {
    rig r;
    size_t length;
    rig_begin(&r, workers);
    FILE *out = tmpfile();
    CHECK(out != NULL);
    CHECK_EQ(thrum_metrics_print(r.sched, out, THRUM_TEXT), 0);
    char *text = printed_end(out, &length);
    rig_stop(&r);
    return text;
}

TEST(more_than_eight_workers_have_no_columns) {
    /* Eight have one each; of nine the least and the most is printed. */
    char *eight = print_of(8);
    char *nine = print_of(9);
    CHECK(strstr(eight, " worker 7 ") != NULL && strstr(eight, " least ") == NULL);
    CHECK(strstr(nine, " worker ") == NULL && strstr(nine, " least ") != NULL);
    free(eight);
    free(nine);
}
