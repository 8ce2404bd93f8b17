/*
 * dumped.h: the output of thrum_dump, as one text.
 */
#ifndef DUMPED_H
#define DUMPED_H

#include "support/report/printed.h"
#include "support/support.h"

typedef struct page {
    char *text;
    size_t length;
} page;

CHECK_UNUSED static page dump(const thrum_sched *sched, thrum_format format) {
    page p = {NULL, 0};
    FILE *out = tmpfile();
    CHECK(out != NULL);
    CHECK_EQ(thrum_dump(sched, out, format), 0);
    p.text = printed_end(out, &p.length);
    return p;
}

/* Counts how often it is there. */
CHECK_UNUSED static int count_of(const page *p, const char *part) {
    int n = 0;
    for (const char *at = p->text; (at = strstr(at, part)) != NULL; at++) {
        n++;
    }
    return n;
}

CHECK_UNUSED static void check_has(const page *p, const char *part) {
    if (count_of(p, part) == 0) {
        check_failed(__FILE__, __LINE__, "\"%s\" is not in: %.900s", part, p->text);
    }
}

#endif
