/*
 * report.h: what is seen of a scheduler's fibers (look.h), as text.
 */
#ifndef TH_REPORT_H
#define TH_REPORT_H

#include "core/inspect/look.h"

/* Where text goes: to `put`, piece by piece. */
typedef struct th_text {
    void (*put)(struct th_text *text, const char *piece, size_t length);
    void *ctx; /* put's own */
    thrum_sched *sched;
    th_backtrace *backtrace; /* or NULL: none is told */
    unsigned calls_max;      /* of each fiber */
    char *bytes;             /* th_text_begin's: what there is so far, with a 0 behind it */
    size_t length;
    size_t room;
} th_text;

/* Text that is kept in memory; as much as can be had of that. The end's text lives until free. */
void th_text_begin(th_text *text, thrum_sched *sched);
const char *th_text_end(th_text *text);
void th_text_free(th_text *text);

/* A piece, of up to 255 bytes. */
TH_PRINTF(2, 3) void th_text_add(th_text *text, const char *format, ...);
/* A string of any length between quotes, as people, JSON and Prometheus read it (base/text.h). */
void th_text_add_quoted(th_text *text, const char *string);

/* Many fibers are told in groups: those that wait for the same. */
#define TH_GROUPS_MAX TH_LIMIT(64u, 2u)

typedef struct th_group {
    th_on on;
    const void *object;
    uint64_t count;
    uint64_t listed;
} th_group;

/* How many there are, of each kind. */
typedef struct th_census {
    uint64_t states[TH_SEEN_STATES];
    uint64_t on[TH_ON_KINDS]; /* of those that are blocked */
    uint64_t others;          /* blocked, and in no group: these came first */
    unsigned groups_count;
    bool held; /* false: nobody can tell who is blocked (look.h) */
    th_group groups[TH_GROUPS_MAX];
} th_census;

void th_census_take(th_census *census, thrum_sched *sched);

/* What it is called: "mutex". */
const char *th_on_name(th_on on);

/* The workers, then the fibers one by one (or, if they are very many, some of each group), then
 * threads outside that wait. */
void th_report_fibers(th_text *text, thrum_sched *sched, th_census *census);

/* The report of a deadlock, and the text of thrum_dump. */
void th_report_deadlock(th_text *text, thrum_sched *sched);
void th_report_dump(th_text *text, thrum_sched *sched);

/* Up to max words of what threads outside wait for now, as th_thread has them, from the first. */
unsigned th_report_threads(thrum_sched *sched, unsigned first, uint64_t waits[], unsigned max);

#endif
