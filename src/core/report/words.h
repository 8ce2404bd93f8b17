/*
 * words.h: texts that are made piece by piece, and the words for waits outside the scheduler:
 * descriptors, names, signals.
 */
#ifndef TH_WORDS_H
#define TH_WORDS_H

#include "base/plain.h"
#include "core/inspect/code_names.h"
#include "core/inspect/snapshot.h"
#include "core/inspect/world.h"

/* A text that is being made, and goes to `put` piece by piece. */
typedef struct th_text {
    void (*put)(struct th_text *text, const char *piece, size_t length);
    void *ctx; /* for `put` */
    thrum_sched *sched;
    th_code_names names;     /* th_code_names_begin's, where code is named */
    th_backtrace *backtrace; /* NULL: no calls are printed */
    unsigned calls_max;      /* calls printed of each fiber */
    char *bytes;             /* th_text_begin's: the text so far, with a 0 behind it */
    size_t length;
    size_t room;
} th_text;

/* Makes a text in memory, as far as there is memory for it. The end's text lives until free. */
void th_text_begin(th_text *text, thrum_sched *sched);
const char *th_text_end(th_text *text);
void th_text_free(th_text *text);

/* A `put` for a text that goes on as a plain text, which is its `ctx` and must be flushed. */
void th_text_put_plain(th_text *text, const char *piece, size_t length);

/* Adds a piece of up to 255 bytes. */
TH_PRINTF(2, 3) void th_text_add(th_text *text, const char *format, ...);
/* Adds a piece, and a string of any length in quotes, as people, JSON and Prometheus read it
 * (base/text.h). */
void th_text_add_quoted(th_text *text, const char *before, const char *string);

/* The same without quotes, for people. */
void th_text_add_plain(th_text *text, const char *before, const char *string);

/* Adds a duration: "40 us", "450 ms", "3.2 s", "80 s", "12 min 30 s", "5 h 3 min", "4 d 2 h". */
void th_text_add_duration(th_text *text, uint64_t ns);

/* Adds "due in 80 s", or "due 40 us ago". */
void th_text_add_due(th_text *text, int64_t deadline);

/* The same behind a comma; nothing for TH_FOREVER. */
void th_text_add_deadline(th_text *text, int64_t deadline);

/* The name of the kind: "mutex". */
const char *th_on_name(th_on on);

/* More tasks than this are not listed one by one. */
#define TH_LINES_MAX TH_LIMIT(10000u, 4u)

/* The thread with the number `worker`: numbers above the workers' are bound threads. */
const char *th_words_thread_of(const th_text *text, const th_seen *seen);

/* "fiber 7.1 "reader"": the number of the fiber, and of its run; "bound thread 4". */
void th_words_fiber(th_text *text, uint64_t id, const char *name);
void th_words_who(th_text *text, const th_seen *seen);

/* " (function)", or nothing. */
void th_words_function(th_text *text, uintptr_t fn);

/*
 * ", since tick 5 of worker 1 (3 ago), for at least 3.2 s", or ", for 3.2 s, since tick 5 of ...":
 * the time only where it is known.
 */
void th_words_since(th_text *text, const th_seen *seen);

/* "    at prog+0x1234 (function+0x12)", a line for each call, the innermost first. */
void th_words_calls(th_text *text, const th_seen *seen, unsigned number);

/* " reads fd 12, tcp 127.0.0.1:80 from 127.0.0.1:5012": a wait for the world outside. */
void th_words_world(th_text *text, const th_seen *seen);

/* The wait of an external thread. */
typedef struct th_shown {
    th_on on;
    const void *object; /* not to be dereferenced */
    uint32_t turn;      /* of a wait for a descriptor */
} th_shown;

/* "  an external thread reads fd 12, ...", a line. */
void th_words_thread(th_text *text, const th_shown *shown);

/* A line for each task that waits for a descriptor: "  task 0x7f (f) is posted when fd 7 ...". */
void th_words_tasks(th_text *text);

#endif
