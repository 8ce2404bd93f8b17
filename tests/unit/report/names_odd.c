/*
 * names_odd.c: names that hold quotes, controls, bytes that are no character of UTF-8, and those
 * that are cut: whatever the library prints of them is text, on one line.
 */
/* matrix: policy workers */
#include "support/report/printed.h"
#include "support/support.h"

#include <limits.h>

/*
 * It has a line break, ESC and DEL, a control of two bytes (CSI), a lone byte, a surrogate, half a
 * one.
 */
#define ODD "od\"d\\\n\x1b[2J\x7f\xc2\x9b\xff\xed\xa0\x80\xc3\xa4\xe2\x82"
#define ODD_QUOTED "\"od\\\"d\\\\??[2J??????\xc3\xa4??\""
#define ODD_PLAIN "od\"d\\??[2J??????\xc3\xa4??"

/*
 * They have 30 bytes, then a character of 2, or 29 and one of 3, or 28 and one of 4: 31 would cut
 * it.
 */
static const char *const too_long[] = {
    "012345678901234567890123456789\xc3\xa4",
    "01234567890123456789012345678\xe2\x82\xac",
    "0123456789012345678901234567\xf0\x9f\x98\x80",
};

/* Checks by another program's rules: one text, of whole characters, no control but line ends. */
static void check_text(const char *text) {
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0';) {
        uint32_t code = *c;
        int more = code < 0x80 ? 0 : code < 0xc0 ? -1 : code < 0xe0 ? 1 : code < 0xf0 ? 2 : 3;
        CHECK(more >= 0 && code < 0xf8);
        code &= more == 0 ? 0x7fu : 0x3fu >> more;
        c++;
        for (int i = 0; i < more; i++, c++) {
            CHECK_EQ(*c & 0xc0, 0x80);
            code = code << 6 | (*c & 0x3fu);
        }
        static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
        CHECK(code >= least[more] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff));
        CHECK(code == '\n' || (code >= ' ' && (code < 0x7f || code > 0x9f)));
    }
}

static thrum_sem sem;

static int waits(void *arg) {
    (void)arg;
    return thrum_sem_wait(&sem);
}

typedef int (*printer)(const thrum_sched *sched, FILE *out, thrum_format format);

static int trace_printer(const thrum_sched *sched, FILE *out, thrum_format format) {
    (void)format;
    return thrum_trace_write((thrum_sched *)(uintptr_t)sched, out);
}

/* Demands that what it prints is text, and has each part. */
static void check_printed(const rig *r, printer print, thrum_format format,
                          const char *const parts[]) {
    size_t length;
    FILE *out = tmpfile();
    CHECK(out != NULL);
    CHECK_EQ(print(r->sched, out, format), 0);
    char *text = printed_end(out, &length);
    check_text(text);
    for (; *parts; parts++) {
        if (!strstr(text, *parts)) {
            check_failed(__FILE__, __LINE__, "\"%s\" is not in: %.900s", *parts, text);
        }
    }
    free(text);
}

static const char *const with_tasks[] = {
    ODD_QUOTED,
    "\"012345678901234567890123456789\"",
    "\"01234567890123456789012345678\"",
    "\"0123456789012345678901234567\"",
    "\"renamed, with 30 bytes before \"",
    NULL,
};
static const char *const of_sched[] = {ODD_QUOTED, NULL};

static int renames(void *arg) {
    CHECK_EQ(thrum_set_name(arg), 0);
    return thrum_sem_wait(&sem);
}

TEST(whatever_is_printed_is_text) {
    /*
     * This holds for dumps, metrics and traces in all forms; a name is cut between two characters.
     */
    static const thrum_format formats[] = {THRUM_TEXT, THRUM_JSON, THRUM_PROMETHEUS};
    rig r;
    rig_init(&r);
    r.config.name = ODD;
    rig_start(&r);
    CHECK_EQ(thrum_trace_start(r.sched, 0), 0);
    thrum_sem_init(&sem, 0);
    thrum_attr attr = rig_attr(&r);
    attr.name = ODD;
    CHECK_EQ(thrum_go_with(&attr, waits, NULL), 0);
    for (int i = 0; i < 3; i++) {
        attr.name = too_long[i];
        CHECK_EQ(thrum_go_with(&attr, waits, NULL), 0);
    }
    static char name[] = "renamed, with 30 bytes before \xc3\xa4";
    CHECK_EQ(thrum_go_with(&attr, renames, name), 0);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    for (int i = 0; i < 3; i++) {
        check_printed(&r, thrum_dump, formats[i], i < 2 ? with_tasks : of_sched);
        check_printed(&r, thrum_metrics_print, formats[i], of_sched);
    }
    for (int i = 0; i < 5; i++) {
        thrum_sem_post(&sem);
    }
    rig_wait_done(&r);
    CHECK_EQ(thrum_trace_stop(r.sched), 0);
    check_printed(&r, trace_printer, THRUM_JSON, with_tasks);
    rig_stop(&r);
}

TEST(cut_name_of_a_scheduler) {
    /* It is cut between characters like the others. */
    static const char *const cut[] = {"\"0123456789012345678901234567\"", NULL};
    rig r;
    rig_init(&r);
    r.config.name = too_long[2];
    rig_start(&r);
    check_printed(&r, thrum_metrics_print, THRUM_JSON, cut);
    rig_stop(&r);
}

static int unlocks(void *arg) {
    thrum_mutex mutex = THRUM_MUTEX_INIT;
    (void)arg;
    thrum_mutex_unlock(&mutex);
    return 0;
}

static void misuse(void *arg) {
    rig r;
    rig_begin(&r, 0);
    thrum_attr attr = rig_attr(&r);
    attr.name = arg;
    CHECK_EQ(thrum_go_with(&attr, unlocks, NULL), 0);
    CHECK_EQ(thrum_sched_stop(r.sched), 0);
}

TEST(line_of_a_misuse_is_one_line) {
    /* A name cannot begin another line, nor send controls to the terminal. */
    check_dies(misuse, (void *)(uintptr_t)ODD, ", fiber " ODD_PLAIN ", which runs ");
}

static int unlocks_as_spawned(void *arg) {
    return unlocks(arg);
}

static void misuse_of_spawned(void *arg) {
    rig r;
    thrum_handle *handle = NULL;
    rig_begin(&r, 0);
    thrum_attr attr = rig_attr(&r);
    attr.name = arg;
    CHECK_EQ(thrum_spawn_with(&handle, &attr, unlocks_as_spawned, NULL), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
}

TEST(line_of_a_misuse_names_the_function) {
    /* That of a spawned task is known. It is told by its place in the file, if not by its name. */
    check_dies(misuse_of_spawned, (void *)(uintptr_t) "culprit", ", fiber culprit, which runs ");
}
