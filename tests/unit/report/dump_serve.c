/*
 * dump_serve.c: what dumps and traces say of a server and its connections: their tasks have names
 * and the user's function.
 */
/* matrix: policy workers */
#include "support/report/printed.h"
#include "support/io/served.h"
#include "support/report/traces.h"

enum { GUESTS = 3 };

static char *dump(const thrum_sched *sched) {
    size_t length;
    FILE *out = tmpfile();
    CHECK(out != NULL);
    CHECK_EQ(thrum_dump(sched, out, THRUM_TEXT), 0);
    return printed_end(out, &length);
}

/* How many lines have a name that begins so, and tell of the same descriptor behind it. */
static int named(const char *text, const char *of) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, "\"fd ")) != NULL; at++) {
        char line[300], told[40], begins[200];
        const int fd = atoi(at + 4);
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        snprintf(begins, sizeof begins, "\"fd %d of %s", fd, of);
        snprintf(told, sizeof told, " reads fd %d, ", fd);
        n += strncmp(line, begins, strlen(begins)) == 0 && strstr(line, told);
    }
    return n;
}

/* These dump until it is told: a task is about to begin, or to wait. */
static void check_named(const hall *h, const char *of, int demanded) {
    for (bool told = false; !told; sched_yield()) {
        char *text = dump(h->r.sched);
        told = named(text, of) == demanded;
        free(text);
    }
}

static void check_told(const hall *h, const char *part) {
    for (bool told = false; !told; sched_yield()) {
        char *text = dump(h->r.sched);
        told = strstr(text, part) != NULL;
        free(text);
    }
}

TEST(connections_and_their_server_have_names) {
    /* The descriptor, and the listener's address; the end of a connection ends its line. */
    hall h;
    int fds[GUESTS];
    char of[THRUM_ADDRESS_TEXT + 2], keeper[THRUM_ADDRESS_TEXT + 10];
    hall_init(&h, echo);
    hall_open(&h);
    for (int i = 0; i < GUESTS; i++) {
        fds[i] = guest_at(h.where);
    }
    snprintf(of, sizeof of, "%s\"", h.where); /* all of it, and nothing behind it */
    check_named(&h, of, GUESTS);
    snprintf(keeper, sizeof keeper, "\"serves %s", h.where);
    keeper[1 + THRUM_NAME_MAX] = '\0';
    check_told(&h, keeper);
    guest_asks(fds[0]);
    check_named(&h, of, GUESTS);
    close(fds[0]);
    check_named(&h, of, GUESTS - 1);
    CHECK_EQ(hall_end(&h), 0);
    for (int i = 1; i < GUESTS; i++) {
        guest_sees_the_end(fds[i]);
    }
    hall_close(&h);
}

/* What reports and thrum-top tell by. */
static int knows_its_function(thrum_io io, void *arg) {
    CHECK(th_fiber_function(th_fiber_self()) == (uintptr_t)knows_its_function);
    return echo(io, arg);
}

TEST(connections_run_the_users_function) {
    /* Each of their slices in a trace has it, from the first one on. */
    hall h;
    hall_init(&h, knows_its_function);
    hall_open(&h);
    CHECK_EQ(thrum_trace_start(h.r.sched, 0), 0);
    for (int i = 0; i < GUESTS; i++) {
        const int fd = guest_at(h.where);
        guest_asks(fd);
        close(fd);
    }
    CHECK_EQ(hall_end(&h), 0);
    CHECK_EQ(thrum_trace_stop(h.r.sched), 0);
    trace_page p = trace_written(h.r.sched);
    const long slices = trace_count(&p, "\"cat\":\"run\",\"name\":\"fd ");
    CHECK(slices >= GUESTS);
    CHECK_EQ(trace_count(&p, WITH_FUNCTION("\"function\":\"", knows_its_function, "\"")), slices);
    trace_end(&p);
    hall_close(&h);
}

static int tells_its_name(thrum_io io, void *arg) {
    hall *h = arg;
    char demanded[80];
    snprintf(demanded, sizeof demanded, "fd %d of unix:@a-name-that-is-cut-somewhere", io.fd);
    demanded[THRUM_NAME_MAX] = '\0';
    CHECK_STR(thrum_name(), demanded);
    CHECK_EQ(thrum_set_name("mine"), 0); /* a function's own name is the last one */
    return echo(io, h);
}

TEST(a_long_address_is_cut_behind_the_descriptor) {
    /* The number is never what is cut; the function may choose another name. */
    char where[64]; /* each process has an address of its own */
    hall h;
    snprintf(where, sizeof where, "unix:@a-name-that-is-cut-somewhere-%d", (int)getpid());
    hall_init(&h, tells_its_name);
    rig_begin(&h.r, 0);
    CHECK_EQ(thrum_listen(&h.listener, where, NULL), 0);
    const thrum_attr attr = rig_attr(&h.r);
    CHECK_EQ(thrum_spawn_with(&h.server, &attr, serves, &h), 0);
    thrum_io guest;
    char byte = 'a';
    CHECK_EQ(thrum_dial(&guest, where, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_write(guest, &byte, 1), 1);
    CHECK_EQ(thrum_read(guest, &byte, 1), 1);
    check_told(&h, "\"mine\"");
    CHECK_EQ(hall_end(&h), 0);
    CHECK_EQ(thrum_io_close(guest), 0);
    hall_close(&h);
}
