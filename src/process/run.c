/*
 * run.c: a program from its start to its end, with all that it reads and writes.
 *
 * One caller moves the bytes of three pipes: it waits until one of them is ready, or the process
 * has ended, and makes calls that never wait. It is over when the process has ended and both of its
 * outputs, too: something that it has started may still write.
 */
#include <errno.h>
#include <string.h>

#include "io/call.h"
#include "io/watch.h"
#include "process/process_state.h"
#include "thrum/io.h"
#include "thrum/spawn.h"

#define PIECE ((size_t)64 * 1024) /* the most that is read or written in a call */
#define FIRST ((size_t)4096)      /* the first room for an output */
#define LEFT ((uint64_t)1 << 20)  /* the most that a pipe holds, unless root has asked for more */

/* The bytes from one of the two outputs. */
typedef struct sink {
    thrum_io io; /* {0}: it has ended, or is not collected */
    char *bytes;
    size_t size;
    size_t room; /* of `bytes`, without the zero */
    uint64_t all;
} sink;

typedef struct run {
    thrum_process *process;
    thrum_process_status status;
    bool ended;
    int lost;    /* the code where the status is not to be had */
    thrum_io in; /* {0}: it has all that it reads */
    const char *input;
    size_t left;
    sink sinks[2];
    size_t kept_max;
    char *dropped; /* memory for bytes that are not kept, once there are any */
} run;

static void close_io(thrum_io *io) {
    if (io->turn) {
        (void)thrum_io_close(*io);
        *io = (thrum_io){0, 0};
    }
}

/* ---- calls that do not wait ---- */

typedef struct piece {
    void *memory;
    size_t size;
    bool write;
    int64_t result;
} piece;

static int call_on(void *ctx, th_record *record) {
    piece *p = ctx;
    p->result = p->write ? th_os_io_write(record->fd, record->kind, p->memory, p->size)
                         : th_os_io_read(record->fd, record->kind, p->memory, p->size);
    return 0;
}

static int64_t move_piece(thrum_io io, void *memory, size_t size, bool write) {
    piece p = {memory, size < PIECE ? size : PIECE, write, 0};
    int code = th_quick_on(io, call_on, &p);
    return code ? code : p.result;
}

/* ---- input ---- */

/* 0 or a code: input is not lost behind a success, but that which the program does not read. */
static int feed(run *r) {
    int64_t n = move_piece(r->in, (void *)(uintptr_t)r->input, r->left, true);
    if (n > 0) {
        r->input += n;
        r->left -= (size_t)n;
    }
    if (!r->left || n == -EPIPE) { /* a program need not read all of it */
        close_io(&r->in);
    }
    return n < 0 && n != -EAGAIN && n != -EPIPE ? (int)n : 0;
}

/* ---- output ---- */

/* Has room for more bytes, if some are still to be kept. */
static int grow(sink *s, size_t kept_max) {
    if (s->size < s->room || s->room == kept_max) {
        return 0;
    }
    size_t room = s->room ? 2 * s->room : FIRST;
    room = room < kept_max && room > s->room ? room : kept_max;
    char *bytes = th_os_alloc(room + 1);
    if (!bytes) {
        return -ENOMEM;
    }
    if (s->size) {
        memcpy(bytes, s->bytes, s->size);
    }
    th_os_free(s->bytes);
    s->bytes = bytes;
    s->room = room;
    return 0;
}

/* The place for the next piece: behind the kept bytes, or in memory to be dropped. */
static int place_piece(run *r, sink *s, char **memory, size_t *size) {
    int code = grow(s, r->kept_max);
    *memory = s->bytes ? s->bytes + s->size : NULL;
    *size = s->room - s->size;
    if (!code && !*size) {
        r->dropped = r->dropped ? r->dropped : th_os_alloc(PIECE);
        *memory = r->dropped;
        *size = PIECE;
        code = r->dropped ? 0 : -ENOMEM;
    }
    return code;
}

/* Takes the available bytes, at most a piece: their number, 0 at the end, -EAGAIN, or -ENOMEM. */
static int64_t take(run *r, sink *s) {
    char *memory;
    size_t size;
    int code = place_piece(r, s, &memory, &size);
    if (code) {
        return code;
    }
    int64_t n = move_piece(s->io, memory, size, false);
    if (n > 0) {
        s->all += (uint64_t)n;
        s->size += memory == r->dropped ? 0 : (size_t)n;
    } else if (n != -EAGAIN) {
        close_io(&s->io);
        n = 0;
    }
    return n;
}

/* ---- all of it ---- */

static void find_end(run *r) {
    int code = thrum_process_wait(r->process, &r->status, 0);
    if (code != -ETIMEDOUT) {
        r->ended = true;
        r->lost = code;
        close_io(&r->in);
    }
}

static void watch(th_watched watched[], unsigned *n, thrum_io io, unsigned bits) {
    if (io.turn) {
        watched[(*n)++] = (th_watched){.io = io, .bits = bits};
    }
}

static bool is_over(const run *r) {
    return r->ended && !r->sinks[0].io.turn && !r->sinks[1].io.turn;
}

/* Serves ready descriptors: 0 or a code. */
static int serve_ready(run *r, const th_watched watched[], unsigned n) {
    int64_t code = 0;
    for (unsigned i = 0; i < n && code >= 0; i++) {
        const int fd = watched[i].ready ? watched[i].io.fd : -1;
        if (fd < 0) {
            continue;
        }
        if (fd == r->process->io.fd) {
            find_end(r);
        } else if (r->in.turn && fd == r->in.fd) {
            code = feed(r);
        } else {
            sink *s = &r->sinks[!r->sinks[0].io.turn || fd != r->sinks[0].io.fd];
            code = s->io.turn ? take(r, s) : 0;
            code = code == -EAGAIN ? 0 : code;
        }
    }
    return code < 0 ? (int)code : 0;
}

/* Until it is over: 0, or the code that ends it before. */
static int serve(run *r, thrum_time deadline) {
    int code = 0;
    while (code >= 0 && !is_over(r)) {
        th_watched watched[4];
        unsigned n = 0;
        watch(watched, &n, r->in, THRUM_IO_WRITE);
        watch(watched, &n, r->sinks[0].io, THRUM_IO_READ);
        watch(watched, &n, r->sinks[1].io, THRUM_IO_READ);
        if (!r->ended) {
            watch(watched, &n, r->process->io, THRUM_IO_READ);
        }
        code = th_watch_any(watched, n, deadline, NULL);
        code = code < 0 ? code : serve_ready(r, watched, n);
    }
    return code < 0 ? code : 0;
}

/*
 * Takes the bytes that were there at the beginning: a descendant that lives on may write for
 * ever.
 */
static void take_left(run *r, sink *s) {
    const uint64_t end = s->all + LEFT;
    while (s->io.turn && s->all < end && take(r, s) > 0) {
    }
}

/*
 * Kills the process, and takes the available bytes. A process that the system does not let us kill,
 * for instance because it has become another user, may live for ever: that is only checked for its
 * end.
 */
static void cut_short(run *r) {
    const int code = th_process_end(r->process);
    thrum_shield_begin();
    close_io(&r->in);
    if (!r->ended) {
        const thrum_time deadline = !code || code == -ESRCH ? THRUM_FOREVER : 0;
        r->lost = thrum_process_wait(r->process, &r->status, deadline);
    }
    thrum_shield_end();
    take_left(r, &r->sinks[0]);
    take_left(r, &r->sinks[1]);
}

/* The options of the start: pipes where nothing else is asked for. */
static thrum_process_options options_of(run *r, const thrum_process_options *given) {
    thrum_process_options options = *given;
    thrum_io *const ends[3] = {&r->in, &r->sinks[0].io, &r->sinks[1].io};
    if (!(options.flags & THRUM_PROCESS_SESSION)) {
        options.flags |= THRUM_PROCESS_GROUP;
    }
    for (unsigned i = 0; i < 3; i++) {
        if (options.streams[i].kind == THRUM_PROCESS_INHERIT) {
            const bool empty = !i && !r->left;
            options.streams[i].kind = empty ? THRUM_PROCESS_NULL : THRUM_PROCESS_PIPE;
            options.streams[i].pipe = ends[i];
        }
    }
    return options;
}

/* The collected bytes, with a zero behind them. */
static void hand_over(run *r, thrum_process_output *output) {
    for (unsigned i = 0; i < 2; i++) {
        close_io(&r->sinks[i].io);
        if (r->sinks[i].bytes) {
            r->sinks[i].bytes[r->sinks[i].size] = '\0';
        }
    }
    th_os_free(r->dropped);
    const sink *out = &r->sinks[0];
    const sink *error = &r->sinks[1];
    *output = (thrum_process_output){r->status,    out->bytes,  out->size, out->all,
                                     error->bytes, error->size, error->all};
}

/* Each output that is collected has memory from the beginning, so that it is a string. */
static int make_sinks(run *r) {
    int code = 0;
    for (unsigned i = 0; i < 2 && !code; i++) {
        sink *s = &r->sinks[i];
        if (s->io.turn && !(s->bytes = th_os_alloc(1))) {
            code = -ENOMEM;
        }
    }
    return code;
}

static bool are_pipes(const thrum_process_options *options) {
    return options->streams[0].kind == THRUM_PROCESS_PIPE ||
           options->streams[1].kind == THRUM_PROCESS_PIPE ||
           options->streams[2].kind == THRUM_PROCESS_PIPE;
}

int thrum_process_run(const char *const argv[], const thrum_process_options *given,
                      const void *input, size_t size, thrum_process_output *output,
                      thrum_time deadline) {
    const thrum_process_options defaults = THRUM_PROCESS_OPTIONS_INIT;
    given = given ? given : &defaults;
    if (!output || (size && !input) || given->size != sizeof *given || are_pipes(given)) {
        return -EINVAL;
    }
    run r = {.input = input, .left = size, .kept_max = given->output_max};
    r.status = (thrum_process_status){.code = -1};
    const thrum_process_options options = options_of(&r, given);
    *output = (thrum_process_output){.status = r.status};
    if (deadline != THRUM_FOREVER && deadline <= thrum_now()) {
        return -ETIMEDOUT;
    }
    int code = thrum_process_start(&r.process, argv, &options);
    if (code) {
        return code;
    }
    code = make_sinks(&r);
    code = code ? code : serve(&r, deadline);
    if (code) {
        cut_short(&r);
    }
    close_io(&r.in);
    hand_over(&r, output);
    (void)thrum_process_close(r.process);
    return code ? code : r.lost;
}

void thrum_process_output_free(thrum_process_output *output) {
    if (output) {
        th_os_free(output->out);
        th_os_free(output->error);
        *output = (thrum_process_output){.status = output->status};
    }
}
