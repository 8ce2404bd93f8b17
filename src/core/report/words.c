/*
 * words.c: see words.h.
 */
#include "core/report/words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define PIECE_MAX 256

/* ---- text ---- */

/* If memory runs out, drops all text that does not fit. */
static void put_in_memory(th_text *text, const char *piece, size_t length) {
    if (text->length + length + 1 > text->room) {
        size_t room = text->room ? 2 * text->room : 4096;
        char *bytes = th_sched_alloc(text->sched, room);
        if (!bytes) {
            return;
        }
        if (text->bytes) {
            memcpy(bytes, text->bytes, text->length);
        }
        th_sched_free(text->sched, text->bytes);
        text->bytes = bytes;
        text->room = room;
    }
    memcpy(text->bytes + text->length, piece, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

void th_text_begin(th_text *text, thrum_sched *sched) {
    *text = (th_text){.put = put_in_memory, .sched = sched};
}

void th_text_put_plain(th_text *text, const char *piece, size_t length) {
    th_plain_bytes(text->ctx, piece, length);
}

const char *th_text_end(th_text *text) {
    return text->bytes ? text->bytes : "thrum: deadlock; no memory for the report\n";
}

void th_text_free(th_text *text) {
    th_sched_free(text->sched, text->bytes);
}

void th_text_add(th_text *text, const char *format, ...) {
    char piece[PIECE_MAX];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    if (n > 0) {
        text->put(text, piece, (size_t)n < sizeof piece ? (size_t)n : sizeof piece - 1);
    }
}

/* Many characters go to `put` at once: a dump of many fibers is mostly names. */
static void add_chars(th_text *text, const char *string, bool quoted) {
    char piece[64];
    size_t length = 0;
    while (*string) {
        length += th_text_char(&string, quoted, piece + length);
        if (length > sizeof piece - TH_TEXT_CHAR || !*string) {
            text->put(text, piece, length);
            length = 0;
        }
    }
}

void th_text_add_quoted(th_text *text, const char *before, const char *string) {
    th_text_add(text, "%s", before);
    text->put(text, "\"", 1);
    add_chars(text, string, true);
    text->put(text, "\"", 1);
}

void th_text_add_plain(th_text *text, const char *before, const char *string) {
    th_text_add(text, "%s", before);
    add_chars(text, string, false);
}

/* ---- durations ---- */

/* Rounded down, as clocks are read. Not by %f, which writes a comma in some locales. */
void th_text_add_duration(th_text *text, uint64_t ns) {
    const uint64_t s = ns / 1000000000;
    const uint64_t min = s / 60;
    const uint64_t h = min / 60;
    if (ns < 1000000) {
        th_text_add(text, "%" PRIu64 " us", ns / 1000);
    } else if (s < 1) {
        th_text_add(text, "%" PRIu64 " ms", ns / 1000000);
    } else if (s < 10) {
        th_text_add(text, "%" PRIu64 ".%" PRIu64 " s", s, ns / 100000000 % 10);
    } else if (s < 120) {
        th_text_add(text, "%" PRIu64 " s", s);
    } else if (h < 1) {
        th_text_add(text, "%" PRIu64 " min %" PRIu64 " s", min, s % 60);
    } else if (h < 48) {
        th_text_add(text, "%" PRIu64 " h %" PRIu64 " min", h, min % 60);
    } else {
        th_text_add(text, "%" PRIu64 " d %" PRIu64 " h", h / 24, h % 24);
    }
}

void th_text_add_due(th_text *text, int64_t deadline) {
    const int64_t now = th_os_now();
    const bool ahead = deadline > now;
    th_text_add(text, ahead ? "due in " : "due ");
    th_text_add_duration(text, ahead ? (uint64_t)deadline - (uint64_t)now
                                     : (uint64_t)now - (uint64_t)deadline);
    th_text_add(text, ahead ? "" : " ago");
}

void th_text_add_deadline(th_text *text, int64_t deadline) {
    if (deadline != TH_FOREVER) {
        th_text_add(text, ", ");
        th_text_add_due(text, deadline);
    }
}

/* ---- names ---- */

const char *th_on_name(th_on on) {
    static const char *const names[TH_ON_KINDS] = {
        [TH_ON_NOTHING] = "something",
        [TH_ON_MUTEX] = "mutex",
        [TH_ON_READ] = "rwlock to read",
        [TH_ON_WRITE] = "rwlock to write",
        [TH_ON_COND] = "cond",
        [TH_ON_SEM] = "semaphore",
        [TH_ON_WAITGROUP] = "waitgroup",
        [TH_ON_EVENT] = "event",
        [TH_ON_EVENTS] = "events, the first",
        [TH_ON_ONCE] = "once",
        [TH_ON_BARRIER] = "barrier",
        [TH_ON_TICKET] = "ticket",
        [TH_ON_POOL] = "pool",
        [TH_ON_BCAST] = "broadcast channel",
        [TH_ON_SEND] = "channel to send",
        [TH_ON_RECEIVE] = "channel to receive",
        [TH_ON_SELECT] = "channels, the first",
        [TH_ON_JOIN] = "task",
        [TH_ON_SCOPE] = "scope",
        [TH_ON_RESULT] = "result of a scope",
        [TH_ON_FORK] = "fork",
        [TH_ON_DAG] = "dag",
        [TH_ON_SLEEP] = "sleep",
        [TH_ON_BLOCKING] = "blocking call",
        [TH_ON_SCHED] = "scheduler",
        [TH_ON_INPUT] = "descriptor to read",
        [TH_ON_OUTPUT] = "descriptor to write",
        [TH_ON_READINESS] = "descriptor to be ready",
        [TH_ON_CLOSE] = "descriptor to be left",
        [TH_ON_DIAL] = "connection",
        [TH_ON_NAME] = "name of a host",
        [TH_ON_FILE] = "file",
        [TH_ON_OUTSIDE] = "something outside",
        [TH_ON_SIGNAL] = "signal",
        [TH_ON_AMONG] = "one of several, descriptors among them",
    };
    return (unsigned)on < TH_ON_KINDS ? names[on] : names[TH_ON_NOTHING];
}

/* ---- fibers ---- */

const char *th_words_thread_of(const th_text *text, const th_seen *seen) {
    return seen->worker < text->sched->workers_count ? "worker" : "bound thread";
}

void th_words_fiber(th_text *text, uint64_t id, const char *name) {
    th_text_add(text, "%u.%u", (unsigned)(id >> 32), (unsigned)id);
    if (name[0]) {
        th_text_add_quoted(text, " ", name);
    }
}

void th_words_who(th_text *text, const th_seen *seen) {
    if (seen->external) {
        th_text_add(text, "thread %" PRIu64, seen->id & ~TH_ID_THREAD);
        return;
    }
    if (seen->root) {
        th_text_add(text, "bound thread %u", seen->worker);
        return;
    }
    th_text_add(text, "fiber ");
    th_words_fiber(text, seen->id, seen->name);
}

void th_words_function(th_text *text, uintptr_t fn) {
    char function[TH_CALL_TEXT];
    if (fn) {
        th_text_add_plain(text, " (", th_code_names_function(&text->names, fn, function));
        th_text_add(text, ")");
    }
}

static void add_age(th_text *text, int64_t since) {
    const int64_t now = th_os_now();
    th_text_add_duration(text, now > since ? (uint64_t)(now - since) : 0);
}

void th_words_since(th_text *text, const th_seen *seen) {
    if (seen->since && !seen->since_least) {
        th_text_add(text, ", for ");
        add_age(text, seen->since);
    }
    if (seen->external) {
        return; /* it has no worker */
    }
    th_text_add(text, ", since tick %" PRIu64 " of %s %u (%" PRIu64 " ago)", seen->tick,
                th_words_thread_of(text, seen), seen->worker, seen->ticks);
    if (seen->since_least) {
        th_text_add(text, ", for at least ");
        add_age(text, seen->since);
    }
    if (seen->tied >= 0 && !seen->root) {
        th_text_add(text, ", tied to it");
    }
}

void th_words_calls(th_text *text, const th_seen *seen, unsigned number) {
    unsigned at = 0;
    unsigned told = 0;
    const char *call;
    if (!text->backtrace || seen->external) {
        return;
    }
    if (th_backtrace_again(text->backtrace, number, seen->calls)) {
        th_text_add(text, seen->calls ? "    at the same calls as the one above\n" : "");
        return;
    }
    while (told < text->calls_max &&
           (call = th_backtrace_next(text->backtrace, number, seen->calls, &at, told))) {
        told++;
        th_text_add_plain(text, "    at ", call);
        th_text_add(text, "\n");
    }
}

/* ---- the world outside ---- */

/* "reads", "accepts": the operation of a wait for a descriptor. */
static const char *verb_of(th_on on, bool listens) {
    return on == TH_ON_INPUT    ? listens ? "accepts on" : "reads"
           : on == TH_ON_OUTPUT ? "writes"
           : on == TH_ON_CLOSE  ? "closes"
                                : "waits for";
}

/* "readable", for the bits of a readiness. */
static const char *ready_word(unsigned bits) {
    return bits == TH_OS_IN ? "readable" : bits == TH_OS_OUT ? "writable" : "ready";
}

/* " reads fd 12, tcp 127.0.0.1:80 from 127.0.0.1:5012" */
static void add_descriptor(th_text *text, th_on on, const void *object, uint32_t turn,
                           uint32_t note) {
    th_told told;
    const unsigned count = note >> TH_NOTE_COUNT;
    bool known = th_world_known()->tell(object, turn, &told);
    th_text_add(text, " %s fd %d", verb_of(on, known && told.listens),
                th_world_known()->number(object));
    if (on == TH_ON_READINESS) {
        th_text_add(text, " to be %s", ready_word(note & (TH_OS_IN | TH_OS_OUT)));
    }
    if (on == TH_ON_READINESS && count > 1) {
        th_text_add(text, " (the first of %u)", count);
    }
    if (known) {
        th_text_add_plain(text, ", ", told.text);
    }
}

static void add_signals(th_text *text, uint64_t signals) {
    char name[TH_OS_SIGNAL_TEXT];
    const char *before = " waits for ";
    for (int i = 0; i < 64; i++) {
        if (signals >> i & 1) {
            th_os_signal_name(i ? i : 64, name);
            th_text_add(text, "%s%s", before, name);
            before = ", ";
        }
    }
}

void th_words_world(th_text *text, const th_seen *seen) {
    if (th_on_is_descriptor(seen->on)) {
        add_descriptor(text, seen->on, seen->object, seen->turn, seen->note);
    } else if (seen->on == TH_ON_DIAL || seen->on == TH_ON_NAME) {
        th_text_add_plain(text, seen->on == TH_ON_DIAL ? " dials " : " resolves ", seen->joined);
    } else if (seen->on == TH_ON_FILE || seen->on == TH_ON_OUTSIDE) {
        th_text_add_plain(text, seen->on == TH_ON_FILE ? " " : " waits for ", seen->joined);
    } else if (seen->on == TH_ON_SIGNAL) {
        add_signals(text, seen->signals);
    } else {
        th_text_add(text, " waits for %s", th_on_name(seen->on));
    }
}

void th_words_thread(th_text *text, const th_shown *shown) {
    th_text_add(text, "  an external thread");
    if (th_on_is_descriptor(shown->on)) {
        add_descriptor(text, shown->on, shown->object, shown->turn, 0);
    } else {
        th_text_add(text, " waits for %s", th_on_name(shown->on));
        if (shown->object && !th_on_is_outside(shown->on)) {
            th_text_add(text, " 0x%" PRIxPTR, (uintptr_t)shown->object);
        }
    }
    th_text_add(text, "\n");
}

/* "  task 0x7f... (f) is posted when fd 7 is readable, tcp ..., due in 80 s" */
static void add_task(th_text *text, const th_listed *listed) {
    char name[TH_CALL_TEXT];
    th_told told;
    th_text_add(text, "  task 0x%" PRIxPTR " (", (uintptr_t)listed->task);
    th_text_add_plain(text, "", th_code_names_function(&text->names, listed->fn, name));
    th_text_add(text, ") is posted when fd %d is %s", th_world_known()->number(listed->direction),
                ready_word(th_world_known()->writes(listed->direction) ? TH_OS_OUT : TH_OS_IN));
    if (th_world_known()->tell(listed->direction, listed->turn, &told)) {
        th_text_add_plain(text, ", ", told.text);
    }
    th_text_add_deadline(text, listed->deadline);
    th_text_add(text, "\n");
}

void th_words_tasks(th_text *text) {
    th_listed listed[TH_LISTED_MAX];
    th_listed_cursor at = {0};
    uint64_t lines = 0;
    unsigned n;
    while ((n = th_world_listed(text->sched, &at, listed, TH_LISTED_MAX))) {
        for (unsigned i = 0; i < n; i++) {
            if (lines++ < TH_LINES_MAX) {
                add_task(text, &listed[i]);
            }
        }
    }
    if (lines > TH_LINES_MAX) {
        th_text_add(text, "  and %" PRIu64 " more tasks that wait for descriptors\n",
                    lines - TH_LINES_MAX);
    }
}
