/*
 * metrics_columns.c: printed figures, in a column for each worker while there are few, and in
 * Prometheus' units.
 */
#include "support/report/printed.h"
#include "support/support.h"

static char *print_of(unsigned workers, thrum_format format) {
    rig r;
    size_t length;
    rig_begin(&r, workers);
    FILE *out = tmpfile();
    CHECK(out != NULL);
    CHECK_EQ(thrum_metrics_print(r.sched, out, format), 0);
    char *text = printed_end(out, &length);
    rig_stop(&r);
    return text;
}

TEST(more_than_eight_workers_have_no_columns) {
    /* Eight have one each; of nine the least and the most is printed. */
    char *eight = print_of(8, THRUM_TEXT);
    char *nine = print_of(9, THRUM_TEXT);
    CHECK(strstr(eight, " worker 7 ") && !strstr(eight, " least "));
    CHECK(!strstr(nine, " worker ") && strstr(nine, " least "));
    free(eight);
    free(nine);
}

TEST(prometheus_has_times_in_seconds) {
    /* Times have nine places in any locale; their names have the unit, and none is in ns. */
    static const char *const names[] = {"queued_oldest", "running", "longest_run"};
    char *text = print_of(1, THRUM_PROMETHEUS);
    CHECK(strstr(text, "_ns") == NULL);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char begin[80];
        snprintf(begin, sizeof begin, "\nthrum_%s_seconds{", names[i]);
        const char *at = strstr(text, begin);
        CHECK(at != NULL);
        at = strstr(at, "} ") + 2;
        at += strspn(at, "0123456789");
        CHECK(*at == '.');
        CHECK_EQ(strspn(at + 1, "0123456789"), 9);
        CHECK(at[10] == '\n');
    }
    free(text);
}
