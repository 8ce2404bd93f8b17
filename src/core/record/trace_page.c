/*
 * trace_page.c: see trace_page.h.
 */
#include "core/record/trace_page.h"

#include <inttypes.h>
#include <string.h>

#include "base/wide.h"
#include "core/report/report.h"
#include "core/inspect/world.h"
#include "core/state/worker.h"
#include "core/trace/trace_notes.h"
#include "platform/platform.h"

typedef th_trace_page page;

/* ---- pieces ---- */

/* Prints nanoseconds as microseconds. Not by %f, which writes a comma in some locales. */
static void put_us(page *p, const char *key, int64_t ns) {
    ns = ns > 0 ? ns : 0; /* counters of two processors may differ by a little */
    th_plain_put(p->out, ",\"%s\":%" PRId64 ".%03d", key, ns / 1000, (int)(ns % 1000));
}

static int64_t since_start(const page *p, uint64_t ticks) {
    return (int64_t)th_times_fixed(ticks - p->trace->since, p->ns_per_tick);
}

static void put_begin(page *p, const char *ph) {
    th_plain_put(p->out, "%s{\"ph\":\"%s\",\"pid\":1,\"tid\":%u", p->before, ph, p->buffer);
    p->before = ",\n";
}

/* Prints the number of a run as thrum_dump does, or that of a bound thread. */
static void put_id(page *p, const char *key, uint64_t id) {
    if (id >> 63) {
        th_plain_put(p->out, "\"%s\":\"thread %" PRIu64 "\"", key, id & INT64_MAX);
    } else {
        th_plain_put(p->out, "\"%s\":\"%u.%u\"", key, (unsigned)(id >> 32), (unsigned)id);
    }
}

/* ---- names ---- */

/* "file+0x12", or the address where no file is known. */
static void place(const page *p, uintptr_t fn, char text[TH_CALL_TEXT]) {
    th_plain out = {.bytes = text, .room = TH_CALL_TEXT - 1}; /* never full: a file has 64 bytes */
    for (unsigned i = 0; i < p->modules_count; i++) {
        const th_os_module *module = &p->modules[i];
        if (fn >= module->low && fn < module->high) {
            th_plain_put(&out, "%s+", module->file);
            fn -= module->base;
            break;
        }
    }
    th_plain_put(&out, "0x%" PRIxPTR, fn);
    text[out.length] = '\0';
}

const char *th_trace_page_function(th_trace_page *p, uintptr_t fn, char text[TH_CALL_TEXT]) {
    if (p->names) {
        return th_code_names_function(p->names, fn, text);
    }
    place(p, fn, text);
    return text;
}

static void put_name(page *p, const th_traced_mark *mark) {
    char text[TH_CALL_TEXT];
    const char *name = mark->name;
    if (mark->kind == TH_TRACED_PARKED) {
        name = "parked";
    } else if (mark->kind == TH_TRACED_BACKED_OFF) {
        name = "backs off";
    } else if (mark->id >> 63) {
        name = "own code";
    } else if (!name[0] && mark->fn) {
        name = th_trace_page_function(p, mark->fn, text);
    } else if (!name[0]) {
        th_plain_put(p->out, ",\"name\":\"fiber %u.%u\"", (unsigned)(mark->id >> 32),
                     (unsigned)mark->id);
        return;
    }
    th_plain_put(p->out, ",\"name\":");
    th_plain_quoted(p->out, name);
}

/* ---- events ---- */

static void put_instant(page *p, const th_traced_mark *mark) {
    static const char *const names[] = {
        [TH_TRACED_STOLE] = "steal",    [TH_TRACED_RESCUED] = "rescue",
        [TH_TRACED_WOKE] = "wake",      [TH_TRACED_TAKES_OVER] = "take over",
        [TH_TRACED_RETIRES] = "retire", [TH_TRACED_READ] = "read",
        [TH_TRACED_WROTE] = "write",    [TH_TRACED_POLLED] = "poll",
    };
    const bool moved = mark->kind == TH_TRACED_READ || mark->kind == TH_TRACED_WROTE;
    put_begin(p, "i");
    put_us(p, "ts", since_start(p, mark->begin));
    th_plain_put(p->out, ",\"s\":\"t\",\"cat\":\"%s\",\"name\":\"%s\",\"args\":{",
                 moved ? "outside" : "sched", names[mark->kind]);
    if (moved) {
        th_plain_put(p->out, "\"fd\":%" PRIu64 ",\"bytes\":%" PRIuPTR, mark->object - 1, mark->fn);
    } else if (mark->kind == TH_TRACED_POLLED) {
        th_plain_put(p->out, "\"events\":%" PRIu64, mark->object);
    } else if (mark->object) {
        th_plain_put(p->out, "\"worker\":%" PRIu64, mark->object - 1);
    }
    th_plain_put(p->out, "}}");
}

/*
 * An instant where the stretch of a task became a stall. It is not noted, but derived from the
 * stretch.
 */
static void put_stall(page *p, int64_t begin, int64_t end) {
    const thrum_config *config = th_sched_config(p->sched);
    const int64_t ms = config->stall_ms ? config->stall_ms : config->stall_rescue_ms;
    if (!ms || end - begin < ms * 1000000) {
        return;
    }
    put_begin(p, "i");
    put_us(p, "ts", begin + ms * 1000000);
    th_plain_put(p->out,
                 ",\"s\":\"t\",\"cat\":\"sched\",\"name\":\"stall\",\"args\":{\"ms\":%" PRId64 "}}",
                 (end - begin) / 1000000);
}

/* Prints the beginning or the end of an arrow, or of an asynchronous slice. */
static void put_bound(page *p, const char *ph, const char *cat, const char *name, uint64_t id,
                      int64_t ns) {
    put_begin(p, ph);
    put_us(p, "ts", ns);
    th_plain_put(p->out, ",\"cat\":\"%s\",\"name\":\"%s\",", cat, name);
    put_id(p, "id", id);
    th_plain_put(p->out, "%s", *ph == 'f' ? ",\"bp\":\"e\"}" : "}");
}

/* The number of the descriptor that a wait is for. */
static int number_of(const th_traced_mark *mark) {
    return th_world_known()->number((const void *)(uintptr_t)mark->object);
}

/* Prints the peer and the tag of a message, each if it is known. */
static void put_message(page *p, const char *before, uint64_t message) {
    const uint64_t parts[] = {message >> TH_MESSAGE_ABOVE, (uint32_t)message};
    static const char *const keys[] = {"peer", "tag"};
    for (unsigned i = 0; i < 2; i++) {
        if (parts[i] >= TH_MESSAGE_NUMBER) {
            th_plain_put(p->out, "%s\"%s\":%" PRIu64, before, keys[i],
                         parts[i] - TH_MESSAGE_NUMBER);
        } else if (parts[i]) {
            th_plain_put(p->out, "%s\"%s\":\"any\"", before, keys[i]);
        }
        before = parts[i] ? "," : before;
    }
}

static void put_end_of_stretch(page *p, const th_traced_mark *mark) {
    if (mark->open) {
        th_plain_put(p->out, ",\"ended\":\"running\"");
    } else if (mark->how == TH_TRACED_FINISHED) {
        th_plain_put(p->out, ",\"ended\":\"finished\"");
    } else if (mark->how == TH_TRACED_YIELDED) {
        th_plain_put(p->out, ",\"ended\":\"yielded\"");
    } else if (mark->how == TH_TRACED_AWAITS) {
        th_plain_put(p->out, ",\"ended\":\"waits\",\"on\":\"the scheduler\"");
    } else {
        th_plain_put(p->out, ",\"ended\":\"waits\",\"on\":\"%s\"", th_on_name((th_on)mark->how));
        if (th_on_is_descriptor((th_on)mark->how)) {
            th_plain_put(p->out, ",\"fd\":%d", number_of(mark));
        } else if (mark->how == TH_ON_OUTSIDE) {
            put_message(p, ",", mark->object);
        } else if (mark->object && !th_on_is_outside((th_on)mark->how)) {
            th_plain_put(p->out, ",\"object\":\"0x%" PRIx64 "\"", mark->object);
        }
    }
}

/*
 * Prints the beginning or the end of a wait for the world outside, which both have its name: the
 * number of a descriptor is its direction's, also when the descriptor is closed by now.
 */
static void put_wait(page *p, const char *ph, const th_traced_mark *mark, int64_t ns) {
    static const char *const words[TH_ON_KINDS] = {
        [TH_ON_INPUT] = "reads",
        [TH_ON_OUTPUT] = "writes",
        [TH_ON_READINESS] = "waits for",
        [TH_ON_CLOSE] = "closes",
        [TH_ON_DIAL] = "dials",
        [TH_ON_NAME] = "resolves a name",
        [TH_ON_FILE] = "waits for a file",
        [TH_ON_OUTSIDE] = "waits for something outside",
        [TH_ON_SIGNAL] = "waits for signals",
        [TH_ON_AMONG] = "selects",
    };
    if (mark->how >= TH_ON_KINDS || !words[mark->how]) {
        return;
    }
    put_begin(p, ph);
    put_us(p, "ts", ns);
    th_plain_put(p->out, ",\"cat\":\"outside\",\"name\":\"%s", words[mark->how]);
    if (th_on_is_descriptor((th_on)mark->how)) {
        th_plain_put(p->out, " fd %d", number_of(mark));
    }
    th_plain_put(p->out, "\",");
    put_id(p, "id", mark->id);
    if (mark->how == TH_ON_OUTSIDE && mark->object) {
        put_message(p, ",\"args\":{", mark->object);
        th_plain_put(p->out, "}");
    }
    th_plain_put(p->out, "}");
}

static void put_stretch(page *p, const th_traced_mark *mark) {
    int64_t begin = since_start(p, mark->begin);
    int64_t end = since_start(p, mark->end);
    put_begin(p, "X");
    put_us(p, "ts", begin);
    put_us(p, "dur", end - begin);
    if (mark->kind == TH_TRACED_PARKED || mark->kind == TH_TRACED_BACKED_OFF) {
        th_plain_put(p->out, ",\"cat\":\"sched\"");
        put_name(p, mark);
        th_plain_put(p->out, "}");
        return;
    }
    th_plain_put(p->out, ",\"cat\":\"run\"");
    put_name(p, mark);
    th_plain_put(p->out, ",\"args\":{");
    put_id(p, "id", mark->id);
    if (mark->fn) {
        char text[TH_CALL_TEXT];
        th_plain_put(p->out, ",\"function\":");
        th_plain_quoted(p->out, th_trace_page_function(p, mark->fn, text));
    }
    if (mark->runs > 1) {
        th_plain_put(p->out, ",\"runs\":%" PRIu64, mark->runs);
    }
    put_end_of_stretch(p, mark);
    th_plain_put(p->out, "}}");
    if (!(mark->id >> 63)) { /* not a bound thread's own code */
        put_stall(p, begin, end);
    }
    if (mark->kind == TH_TRACED_RETURNED) {
        put_bound(p, "e", "blocking call", "blocking call", mark->id, begin);
    }
    if (mark->kind != TH_TRACED_BEGAN) {
        put_bound(p, "f", "goes on", "goes on", mark->id, begin);
    }
    if (!mark->open && mark->how != TH_TRACED_FINISHED) {
        put_bound(p, "s", "goes on", "goes on", mark->id, end > begin ? end - 1 : begin);
        put_wait(p, "b", mark, end);
        if (mark->how == TH_ON_BLOCKING) {
            put_bound(p, "b", "blocking call", "blocking call", mark->id, end);
        }
    }
}

static void put_mark(page *p, const th_mark *words) {
    th_traced_mark mark;
    if (!th_trace_mark(p->trace, words, &mark)) {
        return;
    }
    if (mark.kind == TH_TRACED_WAITED) {
        put_wait(p, "e", &mark, since_start(p, mark.begin));
    } else if (mark.kind >= TH_TRACED_STOLE) {
        put_instant(p, &mark);
    } else {
        put_stretch(p, &mark);
    }
}

void th_trace_page_buffer(th_trace_page *p, const th_trace_buffer_copy *buffer) {
    p->buffer = buffer->worker + 1; /* in such files 0 means no thread */
    put_begin(p, "M");
    th_plain_put(p->out, ",\"name\":\"thread_name\",\"args\":{\"name\":\"%s %u\"}}",
                 buffer->bound ? "bound thread" : "worker", buffer->worker);
    put_begin(p, "M");
    th_plain_put(p->out, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%u}}",
                 p->buffer);
    p->dropped += buffer->dropped;
    const uint64_t tail =
        buffer->marks || !buffer->count ? buffer->count : th_trace_ring_tail(&buffer->buffer->ring);
    for (uint64_t i = tail - buffer->count; i < tail; i++) {
        th_mark copy;
        if (buffer->marks) {
            put_mark(p, &buffer->marks[i]);
        } else if (th_trace_ring_read(&buffer->buffer->ring, i, &copy)) {
            put_mark(p, &copy);
        } else {
            p->dropped++;
        }
    }
}

void th_trace_page_end(th_trace_page *p) {
    th_plain_put(p->out, "\n],\n\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"sched\":");
    th_plain_quoted(p->out, p->sched->name);
    th_plain_put(p->out, ",\"start_ns\":%" PRId64, p->trace->since_ns);
    put_us(p, "length_us", since_start(p, p->trace->until));
    th_plain_put(p->out, ",\"dropped\":%" PRIu64 ",\"untraced\":%" PRIu64 "}}\n", p->dropped,
                 p->trace->untraced);
    th_plain_flush(p->out);
}

void th_trace_page_begin(th_trace_page *p) {
    p->ns_per_tick = (uint64_t)th_os_ticks_ns((uint64_t)1 << 32);
    p->before = "{\"traceEvents\":[\n";
    p->buffer = 0;
    p->dropped = 0;
    put_begin(p, "M");
    th_plain_put(p->out, ",\"name\":\"process_name\",\"args\":{\"name\":");
    th_plain_quoted(p->out, p->sched->name);
    th_plain_put(p->out, "}}");
}
