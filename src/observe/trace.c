/*
 * trace.c: thrum_trace_*: writes the traces of core/inspect/trace_control.h in the Trace Event
 * Format.
 */
#include "thrum/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "core/inspect/code_names.h"
#include "core/inspect/report.h"
#include "core/inspect/trace_control.h"
#include "core/inspect/world.h"
#include "core/ready/external.h"

#define DEFAULT_EVENTS TH_LIMIT(32767u, 3u)

/* The state of writing one trace. */
typedef struct page {
    FILE *out;
    thrum_sched *sched;
    th_trace_copy trace;
    /* The rate of ticks, 32.32 fixed point: the same for all events, since in the first
     * milliseconds of a program it is still being measured (clock.c). */
    uint64_t ns_per_tick;
    const char *before; /* the text that separates the next event from what precedes it */
    unsigned buffer;    /* the number that is written as `tid` */
    th_code_names names;
} page;

/* ---- pieces ---- */

static void put_string(FILE *out, const char *string) {
    char c[TH_TEXT_CHAR];
    fputc('"', out);
    while (*string) {
        fwrite(c, 1, th_text_char(&string, true, c), out);
    }
    fputc('"', out);
}

/* Prints nanoseconds as microseconds. Not by %f, which writes a comma in some locales. */
static void put_us(FILE *out, const char *key, int64_t ns) {
    ns = ns > 0 ? ns : 0; /* counters of two processors may differ by a little */
    fprintf(out, ",\"%s\":%" PRId64 ".%03d", key, ns / 1000, (int)(ns % 1000));
}

static int64_t since_start(const page *p, uint64_t ticks) {
    return (int64_t)((unsigned __int128)(ticks - p->trace.since) * p->ns_per_tick >> 32);
}

static void put_begin(page *p, const char *ph) {
    fprintf(p->out, "%s{\"ph\":\"%s\",\"pid\":1,\"tid\":%u", p->before, ph, p->buffer);
    p->before = ",\n";
}

/* Prints the number of a run as thrum_dump does, or that of a bound thread. */
static void put_id(FILE *out, const char *key, uint64_t id) {
    if (id >> 63) {
        fprintf(out, "\"%s\":\"thread %" PRIu64 "\"", key, id & INT64_MAX);
    } else {
        fprintf(out, "\"%s\":\"%u.%u\"", key, (unsigned)(id >> 32), (unsigned)id);
    }
}

/* ---- names ---- */

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
        name = th_code_names_function(&p->names, mark->fn, text);
    } else if (!name[0]) {
        snprintf(text, sizeof text, "fiber %u.%u", (unsigned)(mark->id >> 32), (unsigned)mark->id);
        name = text;
    }
    fputs(",\"name\":", p->out);
    put_string(p->out, name);
}

/* ---- events ---- */

static void put_instant(page *p, const th_traced_mark *mark) {
    static const char *const names[] = {
        [TH_TRACED_STOLE] = "steal",        [TH_TRACED_RESCUED] = "rescue",
        [TH_TRACED_WOKE] = "wake",          [TH_TRACED_STANDS_IN] = "stand in",
        [TH_TRACED_SITS_DOWN] = "sit down", [TH_TRACED_READ] = "read",
        [TH_TRACED_WROTE] = "write",        [TH_TRACED_POLLED] = "poll",
    };
    const bool moved = mark->kind == TH_TRACED_READ || mark->kind == TH_TRACED_WROTE;
    put_begin(p, "i");
    put_us(p->out, "ts", since_start(p, mark->begin));
    fprintf(p->out, ",\"s\":\"t\",\"cat\":\"%s\",\"name\":\"%s\",\"args\":{",
            moved ? "outside" : "sched", names[mark->kind]);
    if (moved) {
        fprintf(p->out, "\"fd\":%" PRIuPTR ",\"bytes\":%" PRIuPTR, mark->object - 1, mark->fn);
    } else if (mark->kind == TH_TRACED_POLLED) {
        fprintf(p->out, "\"events\":%" PRIuPTR, mark->object);
    } else if (mark->object) {
        fprintf(p->out, "\"worker\":%" PRIuPTR, mark->object - 1);
    }
    fputs("}}", p->out);
}

/*
 * An instant where the stretch of a task became a stall. It is not noted: the stretch tells.
 */
static void put_stall(page *p, int64_t begin, int64_t end) {
    const thrum_config *config = th_sched_config(p->sched);
    const int64_t ms = config->stall_ms ? config->stall_ms : config->stall_rescue_ms;
    if (!ms || end - begin < ms * 1000000) {
        return;
    }
    put_begin(p, "i");
    put_us(p->out, "ts", begin + ms * 1000000);
    fprintf(p->out,
            ",\"s\":\"t\",\"cat\":\"sched\",\"name\":\"stall\",\"args\":{\"ms\":%" PRId64 "}}",
            (end - begin) / 1000000);
}

/* Prints the beginning or the end of an arrow, or of an asynchronous slice. */
static void put_bound(page *p, const char *ph, const char *cat, const char *name, uint64_t id,
                      int64_t ns) {
    put_begin(p, ph);
    put_us(p->out, "ts", ns);
    fprintf(p->out, ",\"cat\":\"%s\",\"name\":\"%s\",", cat, name);
    put_id(p->out, "id", id);
    fputs(*ph == 'f' ? ",\"bp\":\"e\"}" : "}", p->out);
}

static void put_end_of_stretch(page *p, const th_traced_mark *mark) {
    if (mark->open) {
        fputs(",\"ended\":\"running\"", p->out);
    } else if (mark->how == TH_TRACED_FINISHED) {
        fputs(",\"ended\":\"finished\"", p->out);
    } else if (mark->how == TH_TRACED_YIELDED) {
        fputs(",\"ended\":\"yielded\"", p->out);
    } else if (mark->how == TH_TRACED_AWAITS) {
        fputs(",\"ended\":\"waits\",\"on\":\"the scheduler\"", p->out);
    } else {
        fprintf(p->out, ",\"ended\":\"waits\",\"on\":\"%s\"", th_on_name((th_on)mark->how));
        if (th_on_is_descriptor((th_on)mark->how)) {
            fprintf(p->out, ",\"fd\":%d", th_world_number((const void *)mark->object));
        } else if (mark->object && !th_on_is_outside((th_on)mark->how)) {
            fprintf(p->out, ",\"object\":\"0x%" PRIxPTR "\"", mark->object);
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
        [TH_ON_SIGNAL] = "waits for signals",
        [TH_ON_AMONG] = "selects",
    };
    char name[48];
    if (mark->how >= TH_ON_KINDS || !words[mark->how]) {
        return;
    }
    snprintf(name, sizeof name, "%s", words[mark->how]);
    if (th_on_is_descriptor((th_on)mark->how)) {
        snprintf(name, sizeof name, "%s fd %d", words[mark->how],
                 th_world_number((const void *)mark->object));
    }
    put_bound(p, ph, "outside", name, mark->id, ns);
}

static void put_stretch(page *p, const th_traced_mark *mark) {
    int64_t begin = since_start(p, mark->begin);
    int64_t end = since_start(p, mark->end);
    put_begin(p, "X");
    put_us(p->out, "ts", begin);
    put_us(p->out, "dur", end - begin);
    if (mark->kind == TH_TRACED_PARKED || mark->kind == TH_TRACED_BACKED_OFF) {
        fputs(",\"cat\":\"sched\"", p->out);
        put_name(p, mark);
        fputs("}", p->out);
        return;
    }
    fputs(",\"cat\":\"run\"", p->out);
    put_name(p, mark);
    fputs(",\"args\":{", p->out);
    put_id(p->out, "id", mark->id);
    if (mark->fn) {
        char text[TH_CALL_TEXT];
        fputs(",\"function\":", p->out);
        put_string(p->out, th_code_names_function(&p->names, mark->fn, text));
    }
    put_end_of_stretch(p, mark);
    fputs("}}", p->out);
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

static void put_buffer(page *p, const th_trace_buffer_copy *buffer) {
    th_traced_mark mark;
    p->buffer = buffer->worker + 1; /* in such files 0 stands for no thread */
    put_begin(p, "M");
    fprintf(p->out, ",\"name\":\"thread_name\",\"args\":{\"name\":\"%s %u\"}}",
            buffer->bound ? "bound thread" : "worker", buffer->worker);
    put_begin(p, "M");
    fprintf(p->out, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%u}}", p->buffer);
    for (uint64_t i = 0; i < buffer->count; i++) {
        if (!th_trace_mark(&p->trace, &buffer->marks[i], &mark)) {
            continue;
        }
        if (mark.kind == TH_TRACED_WAITED) {
            put_wait(p, "e", &mark, since_start(p, mark.begin));
        } else if (mark.kind >= TH_TRACED_STOLE) {
            put_instant(p, &mark);
        } else {
            put_stretch(p, &mark);
        }
    }
}

static void put_rest(const page *p) {
    uint64_t dropped = 0;
    for (unsigned i = 0; i < p->trace.count; i++) {
        dropped += p->trace.buffers[i].dropped;
    }
    fputs("\n],\n\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"sched\":", p->out);
    put_string(p->out, p->sched->name);
    fprintf(p->out, ",\"start_ns\":%" PRId64, p->trace.since_ns);
    put_us(p->out, "length_us", since_start(p, p->trace.until));
    fprintf(p->out, ",\"dropped\":%" PRIu64 ",\"untraced\":%" PRIu64 "}}\n", dropped,
            p->trace.untraced);
}

static void put_all(page *p) {
    p->before = "{\"traceEvents\":[\n";
    p->buffer = 0;
    put_begin(p, "M");
    fputs(",\"name\":\"process_name\",\"args\":{\"name\":", p->out);
    put_string(p->out, p->sched->name);
    fputs("}}", p->out);
    for (unsigned i = 0; i < p->trace.count; i++) {
        put_buffer(p, &p->trace.buffers[i]);
    }
    put_rest(p);
}

/* ---- the calls ---- */

/*
 * Whether the scheduler is not stopped, and not the parent's in a forked process, where another
 * thread may have held its lock.
 */
static bool is_usable(const thrum_sched *sched) {
    return th_external_is_live(sched) && !sched->abandoned;
}

int thrum_trace_start(thrum_sched *sched, size_t events_per_worker) {
    if (!sched) {
        return -EINVAL;
    }
    if (!is_usable(sched)) {
        return -ESHUTDOWN;
    }
    return th_trace_start(sched, events_per_worker ? events_per_worker : DEFAULT_EVENTS);
}

int thrum_trace_stop(thrum_sched *sched) {
    if (!sched) {
        return -EINVAL;
    }
    return is_usable(sched) ? th_trace_stop(sched) : -ESHUTDOWN;
}

int thrum_trace_write(thrum_sched *sched, FILE *out) {
    if (!sched || !out) {
        return -EINVAL;
    }
    if (!is_usable(sched)) {
        return -ESHUTDOWN;
    }
    page p = {.out = out, .sched = sched};
    p.ns_per_tick = (uint64_t)th_os_ticks_ns((uint64_t)1 << 32);
    int code = th_trace_read(sched, &p.trace);
    if (code) {
        return code;
    }
    th_code_names_begin(&p.names, sched);
    put_all(&p);
    th_code_names_end(&p.names);
    th_trace_forget(sched, &p.trace);
    return fflush(out) != 0 || ferror(out) ? -EIO : 0;
}
