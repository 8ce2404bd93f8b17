/*
 * session.c: see session.h. A session lies on the stack of its task, 48 KiB, of which a client that
 * sends and gets little touches little.
 */
#include "session.h"

#include <stdatomic.h>
#include <stdio.h>

#include "command.h"

static atomic_uint xsessions;

/* Ends a session of which nothing more can be understood. */
static void give_up(struct session *s, const char *why) {
    reply_make_room(&s->reply);
    reply_error(&s->reply, why);
    s->ends = true;
}

/* Waits for a request, or for more of one. Returns whether something has come. */
static bool receive(struct session *s, thrum_io io) {
    int64_t n = input_read(&s->input, io, thrum_after(s->options->idle));
    if (n == -EMSGSIZE) {
        give_up(s, "ERR Protocol error: too big request");
    } else if (n == -ENOMEM) {
        give_up(s, "OOM too many long requests at a time");
    }
    return n > 0 || s->ends;
}

/* Answers all requests that have come as a whole. */
static void answer(struct session *s) {
    enum parsed parsed = PARSED_WHOLE;
    const char *why = "";
    while (!s->ends && parsed == PARSED_WHOLE) {
        parsed = request_parse(&s->request, input_text(&s->input), &why);
        if (parsed == PARSED_WHOLE) {
            if (s->request.count > 0) {
                command_run(s);
            }
            input_use(&s->input, s->request.at);
            request_begin(&s->request);
        }
    }
    if (parsed == PARSED_WRONG) {
        char text[96];
        snprintf(text, sizeof text, "ERR Protocol error: %s", why);
        give_up(s, text);
    }
}

/*
 * Closing with something unread would reset the connection, and the last answer might be lost:
 * bytes that the client is still sending are dropped for a moment.
 */
static void linger(struct session *s, thrum_io io) {
    thrum_time deadline = thrum_after_s(1);
    if (thrum_io_shutdown(io, THRUM_IO_WRITE) == 0) {
        while (thrum_read_until(io, s->input.own, sizeof s->input.own, deadline) > 0) {
        }
    }
}

int session_run(thrum_io io, void *arg) {
    struct session s; /* its buffers are not cleared */
    atomic_fetch_add(&xsessions, 1);
    s.options = arg;
    s.ends = false;
    s.request.value_max = s.options->value_max;
    request_begin(&s.request);
    input_begin(&s.input, s.options->request_max);
    reply_begin(&s.reply, io, s.options->patience);
    while (!s.ends && receive(&s, io)) {
        answer(&s);
        if (reply_flush(&s.reply) != 0) {
            break;
        }
    }
    input_end(&s.input);
    if (s.ends && s.reply.error == 0) {
        linger(&s, io);
    }
    atomic_fetch_sub(&xsessions, 1);
    return 0;
}

unsigned session_count(void) {
    return atomic_load(&xsessions);
}
