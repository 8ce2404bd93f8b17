/*
 * dump_select.c: what dumps say of tasks that wait for one of several things, descriptors among
 * them.
 */
/* matrix: policy workers */
#include "support/io/io.h"
#include "support/report/printed.h"

#include <thrum/chan.h>
#include <thrum/dump.h>

static int selects(void *arg) {
    const ends *e = arg;
    thrum_case cases[] = {thrum_io_case(e->io[0], THRUM_IO_READ)};
    return thrum_select(cases, 1, THRUM_FOREVER);
}

/* Dumps until this is told: what waits is about to. */
static void check_told(const rig *r, thrum_format format) {
    for (bool told = false; !told; sched_yield()) {
        size_t length;
        FILE *out = tmpfile();
        CHECK(out != NULL);
        CHECK_EQ(thrum_dump(r->sched, out, format), 0);
        char *text = printed_end(out, &length);
        told = strstr(text, "one of several, descriptors among them") != NULL;
        free(text);
    }
}

TEST(a_select_with_descriptors_is_told) {
    /* As text and as JSON; it has no object. */
    rig r;
    ends e;
    rig_begin(&r, 0);
    ends_open_half(&e, UNIX);
    rig_go(&r, selects, &e);
    check_told(&r, THRUM_TEXT);
    check_told(&r, THRUM_JSON);
    put(e.fds[1], "x");
    rig_wait_done(&r);
    ends_close(&e);
    rig_stop(&r);
}
