/*
 * log.c: see log.h.
 */
#include "log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <thrum/chan.h>
#include <thrum/io.h>

#include "connection.h"
#include "say.h"

enum { STDOUT = 1, LINES = 256, WRITE_SIZE = 8192 };

#define LOOK_NS THRUM_MS(500)
#define FULL_NS THRUM_MS(100) /* to wait for room; once that was for nothing, nobody waits */

struct line {
    unsigned length;
    char text[508];
};

struct log {
    thrum_chan *lines; /* of struct line */
    thrum_handle *writer;
    thrum_io out;
    bool is_torn;       /* the last write ended within a line; the writer's */
    atomic_bool xstuck; /* there was no room for FULL_NS, and no write has ended since */
    atomic_ulong xlost;
    atomic_ulong xheld;   /* lines that are being written */
    atomic_ulong xwrites; /* writes that have ended */
};

/* Counts the lines whose ends are there. */
static unsigned long count_lines(const char *text, size_t size) {
    unsigned long count = 0;
    for (size_t i = 0; i < size; i++) {
        count += text[i] == '\n';
    }
    return count;
}

/*
 * Writes lines. Lines that are not written, or only in part, are lost; the next write may find a
 * disk that has room again.
 */
static void write_some(struct log *log, const char *text, size_t size) {
    static const char end[] = "\n";
    const thrum_iovec parts[] = {{(void *)(uintptr_t)end, log->is_torn},
                                 {(void *)(uintptr_t)text, size}};
    int64_t n = thrum_writev_until(log->out, parts, 2, THRUM_FOREVER);
    size_t written = n > log->is_torn ? (size_t)n - log->is_torn : 0;
    if (n > 0) {
        log->is_torn = written > 0 && text[written - 1] != '\n';
    }
    if (written < size) {
        atomic_fetch_add(&log->xlost, count_lines(text + written, size - written));
        thrum_io_close(log->out); /* whose error stays */
        if (thrum_io_adopt_shared(&log->out, STDOUT) != 0) {
            log->out = (thrum_io){0};
        }
    }
}

/* Writes lines until the channel is closed. */
static int write_lines(void *arg) {
    struct log *log = arg;
    char text[WRITE_SIZE];
    struct line line;
    while (thrum_chan_recv(log->lines, &line) == 0) {
        size_t used = 0;
        unsigned long held = 0;
        do {
            memcpy(text + used, line.text, line.length);
            used += line.length;
            held++;
        } while (used + sizeof line.text <= sizeof text &&
                 thrum_chan_try_recv(log->lines, &line) == 0);
        atomic_store(&log->xheld, held);
        write_some(log, text, used);
        atomic_store(&log->xheld, 0);
        atomic_fetch_add(&log->xwrites, 1);
        atomic_store(&log->xstuck, false);
    }
    return 0;
}

int log_start(struct log **out) {
    struct log *log = calloc(1, sizeof *log);
    if (!log) {
        return -ENOMEM;
    }
    int err = thrum_io_adopt_shared(&log->out, STDOUT);
    if (err != 0) {
        free(log);
        return err;
    }
    err = thrum_chan_create(&log->lines, sizeof(struct line), LINES);
    err = err != 0 ? err : thrum_spawn(&log->writer, write_lines, log);
    if (err != 0) {
        if (log->lines) {
            thrum_chan_destroy(log->lines);
        }
        thrum_io_close(log->out);
        free(log);
        return err;
    }
    *out = log;
    return 0;
}

/* Copies a target into a line, as far as it fits: bytes that are no plain text as "\xHH". */
static size_t copy_plain(char *to, size_t size, struct text from) {
    static const char digits[] = "0123456789abcdef";
    size_t used = 0;
    for (size_t i = 0; i < from.length && used + 4 <= size; i++) {
        unsigned char byte = (unsigned char)from.at[i];
        if (byte > ' ' && byte < 127 && byte != '"' && byte != '\\') {
            to[used++] = (char)byte;
        } else {
            to[used++] = '\\';
            to[used++] = 'x';
            to[used++] = digits[byte >> 4];
            to[used++] = digits[byte & 15];
        }
    }
    return used;
}

void log_request(struct log *log, const struct connection *c) {
    struct line line;
    if (!log) {
        return;
    }
    const char *peer = strchr(c->peer, ':');
    struct text target = request_target(&c->request);
    size_t room = sizeof line.text - 64; /* for the part after the target */
    int n = snprintf(line.text, room, "%s - - [%s] \"%s ", peer && peer[1] != '\0' ? peer + 1 : "-",
                     c->now.text,
                     c->request.has_method ? llhttp_method_name(c->request.parser.method) : "-");
    size_t used = (size_t)n < room ? (size_t)n : room - 1;
    used += copy_plain(line.text + used, room - used, target);
    n = snprintf(line.text + used, sizeof line.text - used, "\" %d %" PRIu64 "\n", c->status,
                 c->length);
    line.length = (unsigned)(used + (size_t)n);
    bool is_stuck = atomic_load_explicit(&log->xstuck, memory_order_relaxed);
    int err = is_stuck ? thrum_chan_try_send(log->lines, &line)
                       : thrum_chan_send_until(log->lines, &line, thrum_after(FULL_NS));
    if (err != 0) {
        atomic_fetch_add_explicit(&log->xlost, 1, memory_order_relaxed);
        atomic_store_explicit(&log->xstuck, true, memory_order_relaxed);
    }
}

/* The lines that wait in the channel, which nobody takes any longer, and those in the write. */
static unsigned long count_stuck(struct log *log) {
    struct line line;
    unsigned long count = atomic_load(&log->xheld);
    while (thrum_chan_try_recv(log->lines, &line) == 0) {
        count++;
    }
    return count;
}

static void say_lost(unsigned long lost) {
    if (lost > 0) {
        say("httpd: %lu lines of the log were lost\n", lost);
    }
}

/*
 * Waits for the writer as long as it gets on: -ETIMEDOUT after two looks in a row at which no write
 * had ended since the look before. One look is not enough: if the process was held up for longer,
 * its time is over at once.
 */
static int await_writer(struct log *log) {
    int err = -ETIMEDOUT;
    unsigned looks = 0;
    while (err == -ETIMEDOUT && looks < 2) {
        const unsigned long before = atomic_load(&log->xwrites);
        err = thrum_join_until(log->writer, NULL, thrum_after(LOOK_NS));
        looks = atomic_load(&log->xwrites) == before ? looks + 1 : 0;
    }
    return err;
}

bool log_stop(struct log *log) {
    if (!log) {
        return true;
    }
    thrum_chan_close(log->lines);
    int err = await_writer(log);
    if (err == -ETIMEDOUT) {
        thrum_cancel(log->writer); /* nobody reads stdout */
        err = await_writer(log);
    }
    if (err != 0 && err != -ETIMEDOUT) {
        return true; /* the caller is cancelled: the writer still uses it */
    }
    say_lost(count_stuck(log) + atomic_load(&log->xlost));
    if (err == -ETIMEDOUT) {
        return false;
    }
    thrum_io_close(log->out);
    thrum_chan_destroy(log->lines);
    free(log);
    return true;
}
