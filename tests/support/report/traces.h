/*
 * traces.h: reads the output of thrum_trace_write, strictly: JSON as RFC 8259 has it, events as the
 * Trace Event Format has them, slices of a trace buffer that follow each other.
 */
#ifndef TRACES_H
#define TRACES_H

#include "support/report/printed.h"
#include "support/support.h"

#define BUFFER_MAX 256

typedef struct trace_page {
    char *text;
    size_t length;
    const char *at; /* the place that is being read */

    long slices; /* how many there are */
    long instants;
    long arrows_from;
    long arrows_to;
    long calls_begun;
    long calls_ended;
    long waits_begun; /* for the world outside */
    long waits_ended;
    long buffers;
    long dropped;
    long untraced;
    int64_t length_ns;
    bool named[BUFFER_MAX];
    int64_t end_ns[BUFFER_MAX]; /* when the latest slice of each ended */
    long slices_of[BUFFER_MAX];
} trace_page;

/* An event's members as text; strings are without quotes. */
typedef struct trace_event {
    char ph[8], name[256], cat[64], ts[32], dur[32], tid[16], pid[16], id[64], s[8], bp[8];
    bool args;
} trace_event;

#define TRACE_FAILED(p, what) check_failed(__FILE__, __LINE__, "%s at: %.200s", (what), (p)->at)

static inline void trace_space(trace_page *p) {
    p->at += strspn(p->at, " \t\r\n");
}

static inline bool trace_is(trace_page *p, char c) {
    trace_space(p);
    return *p->at == c;
}

static inline void trace_want(trace_page *p, char c) {
    if (!trace_is(p, c)) {
        TRACE_FAILED(p, "not the character that must come");
    }
    p->at++;
}

/* Reads a string, which must be good UTF-8: enough of it for the tests. */
static inline size_t trace_character(trace_page *p) {
    const unsigned char *c = (const unsigned char *)p->at;
    size_t n = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    for (size_t i = 1; i < n; i++) {
        n = (c[i] & 0xc0) == 0x80 ? n : 0;
    }
    if (n == 0 || c[0] < ' ' || c[0] > 0xf4) {
        TRACE_FAILED(p, "no character of a string");
    }
    return n;
}

static inline void trace_string(trace_page *p, char *out, size_t size) {
    size_t length = 0;
    trace_want(p, '"');
    while (*p->at != '"') {
        size_t n = trace_character(p);
        if (*p->at == '\\') {
            p->at++;
            CHECK(*p->at != '\0' && strchr("\"\\/bfnrt", *p->at));
        }
        CHECK(length + n < size);
        memcpy(out + length, p->at, n);
        length += n;
        p->at += n;
    }
    out[length] = '\0';
    p->at++;
}

static inline void trace_number(trace_page *p, char *out, size_t size) {
    trace_space(p);
    const char *from = p->at;
    p->at += *p->at == '-';
    size_t digits = strspn(p->at, "0123456789");
    CHECK(digits > 0 && (digits == 1 || *p->at != '0'));
    p->at += digits;
    if (*p->at == '.') {
        p->at++;
        digits = strspn(p->at, "0123456789");
        CHECK(digits > 0);
        p->at += digits;
    }
    CHECK((size_t)(p->at - from) < size);
    memcpy(out, from, (size_t)(p->at - from));
    out[p->at - from] = '\0';
}

/* Reads any value; gives the text of a string or number. */
static inline void trace_value(trace_page *p, char *out, size_t size) {
    char key[256];
    char value[512];
    trace_space(p);
    if (*p->at == '"') {
        trace_string(p, out, size);
    } else if (*p->at == '{') {
        out[0] = '\0';
        do {
            p->at++;
            if (trace_is(p, '}')) {
                break;
            }
            trace_string(p, key, sizeof(key));
            trace_want(p, ':');
            trace_value(p, value, sizeof(value));
        } while (trace_is(p, ','));
        trace_want(p, '}');
    } else {
        trace_number(p, out, size);
    }
}

/* Turns microseconds with three places into nanoseconds. */
static inline int64_t trace_ns(const char *us) {
    long long whole = 0;
    int rest = -1;
    int n = 0;
    CHECK(sscanf(us, "%lld.%3d%n", &whole, &rest, &n) == 2 && us[n] == '\0');
    CHECK(whole >= 0 && rest >= 0);
    return whole * 1000 + rest;
}

static inline void trace_event_read(trace_page *p, trace_event *e) {
    const struct {
        const char *key;
        char *out;
        size_t size;
    } members[] = {
        {"ph", e->ph, sizeof(e->ph)},    {"name", e->name, sizeof(e->name)},
        {"cat", e->cat, sizeof(e->cat)}, {"ts", e->ts, sizeof(e->ts)},
        {"dur", e->dur, sizeof(e->dur)}, {"tid", e->tid, sizeof(e->tid)},
        {"pid", e->pid, sizeof(e->pid)}, {"id", e->id, sizeof(e->id)},
        {"s", e->s, sizeof(e->s)},       {"bp", e->bp, sizeof(e->bp)},
    };
    char key[64];
    char other[64];
    memset(e, 0, sizeof(*e));
    trace_want(p, '{');
    for (;;) {
        bool known = false;
        trace_string(p, key, sizeof(key));
        trace_want(p, ':');
        for (size_t i = 0; i < COUNT_OF(members); i++) {
            if (strcmp(key, members[i].key) == 0) {
                CHECK(members[i].out[0] == '\0'); /* no member comes twice */
                trace_value(p, members[i].out, members[i].size);
                known = true;
            }
        }
        if (!known) {
            CHECK_STR(key, "args");
            CHECK(trace_is(p, '{'));
            trace_value(p, other, sizeof(other));
            e->args = true;
        }
        if (!trace_is(p, ',')) {
            break;
        }
        p->at++;
    }
    trace_want(p, '}');
}

static inline void trace_slice(trace_page *p, const trace_event *e, int tid) {
    const int64_t begin = trace_ns(e->ts);
    const int64_t end = begin + trace_ns(e->dur);
    if (begin < p->end_ns[tid]) {
        check_failed(__FILE__, __LINE__, "\"%s\" begins at %s, in the slice before it", e->name,
                     e->ts);
    }
    p->end_ns[tid] = end;
    p->slices++;
    p->slices_of[tid]++;
    CHECK(e->cat[0] != '\0' && e->name[0] != '\0');
}

/* Checks the required fields of each kind of event. */
static inline void trace_event_check(trace_page *p, const trace_event *e) {
    CHECK_STR(e->pid, "1");
    const int tid = atoi(e->tid);
    CHECK(e->tid[0] != '\0' && tid >= 0 && tid < BUFFER_MAX);
    if (strcmp(e->ph, "M") == 0) {
        CHECK(e->args && e->ts[0] == '\0');
        if (strcmp(e->name, "thread_name") == 0) {
            CHECK(!p->named[tid] && tid > 0);
            p->named[tid] = true;
            p->buffers++;
        }
        return;
    }
    CHECK(p->named[tid]);
    CHECK(e->ts[0] != '\0' && e->cat[0] != '\0' && e->name[0] != '\0');
    if (strcmp(e->ph, "X") == 0) {
        trace_slice(p, e, tid);
    } else if (strcmp(e->ph, "i") == 0) {
        CHECK_STR(e->s, "t");
        p->instants++;
    } else {
        CHECK(e->id[0] != '\0' && strchr("sfbe", e->ph[0]) && e->ph[1] == '\0');
        CHECK((e->ph[0] == 'f') == (strcmp(e->bp, "e") == 0));
        p->arrows_from += e->ph[0] == 's';
        p->arrows_to += e->ph[0] == 'f';
        const bool call = strcmp(e->cat, "blocking call") == 0;
        p->calls_begun += call && e->ph[0] == 'b';
        p->calls_ended += call && e->ph[0] == 'e';
        p->waits_begun += strcmp(e->cat, "outside") == 0 && e->ph[0] == 'b';
        p->waits_ended += strcmp(e->cat, "outside") == 0 && e->ph[0] == 'e';
    }
    if (p->length_ns) {
        CHECK(trace_ns(e->ts) <= p->length_ns);
    }
}

static inline int64_t trace_other(const trace_page *p, const char *key) {
    const char *at = strstr(p->text, key);
    CHECK(at != NULL);
    return strtoll(at + strlen(key), NULL, 10);
}

/* Reads all of it, or fails the test. */
static inline void trace_check(trace_page *p) {
    trace_event event;
    char key[64];
    char value[64];
    p->at = p->text;
    p->dropped = (long)trace_other(p, "\"dropped\":");
    p->untraced = (long)trace_other(p, "\"untraced\":");
    p->length_ns = (trace_other(p, "\"length_us\":") + 1) * 1000;
    trace_want(p, '{');
    trace_string(p, key, sizeof(key));
    CHECK_STR(key, "traceEvents");
    trace_want(p, ':');
    trace_want(p, '[');
    for (;;) {
        trace_event_read(p, &event);
        trace_event_check(p, &event);
        if (!trace_is(p, ',')) {
            break;
        }
        p->at++;
    }
    trace_want(p, ']');
    while (trace_is(p, ',')) {
        p->at++;
        trace_string(p, key, sizeof(key));
        trace_want(p, ':');
        trace_value(p, value, sizeof(value));
    }
    trace_want(p, '}');
    trace_space(p);
    CHECK_EQ(p->at - p->text, p->length);
    for (int i = 0; i < BUFFER_MAX; i++) {
        CHECK(p->end_ns[i] <= p->length_ns);
    }
}

static inline trace_page trace_written(thrum_sched *sched) {
    trace_page p;
    memset(&p, 0, sizeof(p));
    FILE *out = tmpfile();
    CHECK(out != NULL);
    CHECK_EQ(thrum_trace_write(sched, out), 0);
    p.text = printed_end(out, &p.length);
    trace_check(&p);
    return p;
}

/* Counts how often a text is there. */
static inline int trace_count(const trace_page *p, const char *part) {
    int n = 0;
    for (const char *at = p->text; (at = strstr(at, part)) != NULL; at++) {
        n++;
    }
    return n;
}

static inline void trace_end(trace_page *p) {
    free(p->text);
}

#endif
