/*
 * free_io.c: descriptors when all run at once: fibers, plain threads and intrusive tasks read and
 * write the same few wires, wait for them, shut them down and close them under each other. Each
 * call's code is one that is documented for what was done to the wire before it returned; of bytes
 * wire.h has the model.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "free.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects world.wires */

/* ---- who uses a wire ---- */

static wire *take_wire(world *w, int i) {
    pthread_mutex_lock(&lock);
    wire *used = w->wires[i];
    if (used) {
        atomic_fetch_add(&used->users, 1);
    }
    pthread_mutex_unlock(&lock);
    return used;
}

static void leave_wire(world *w, wire *used) {
    const char *odd = wire_leave(used);
    if (odd) {
        free_wrong(w, __LINE__, odd, 0);
    }
}

/* ---- one call ---- */

/* What is known before a call. */
typedef struct before {
    runner *r;
    wire *used;
    int e;
    bool on_task; /* of an intrusive task's body: `r` is at something else */
    bool stale;   /* the descriptor has been closed */
    bool late;
    bool sure; /* bytes lie there, which no other call can take: it must find them */
    thrum_time until;
} before;

static before look(runner *r, wire *used, int e, thrum_time until) {
    return (before){.r = r,
                    .used = used,
                    .e = e,
                    .stale = atomic_load(&used->ends[e].closed),
                    .late = until <= thrum_now(),
                    .until = until};
}

/* Checks a code that may come from any call that waits. */
static void check_wait(const before *b, int code) {
    if (code == -EBADF) {
        EXPECT(b->r, atomic_load(&b->used->ends[b->e].closing), b->e);
    } else if (b->on_task) {
        EXPECT(b->r, code == -ECANCELED || (code == -ETIMEDOUT && thrum_now() >= b->until), code);
    } else {
        (void)free_ok(b->r, code, b->until, -ETIMEDOUT);
    }
    EXPECT(b->r, !b->stale || code == -EBADF, code);
}

static void check_transfer(const before *b, int64_t n, size_t size, bool writes) {
    runner *r = b->r;
    EXPECT(r, !b->stale || n == -EBADF, n);
    EXPECT(r, !b->late || n < 0, n); /* nothing is tried */
    if (n == -ECONNRESET) {
        EXPECT(r, wire_is_left(b->used, b->e), n);
    } else if (n == -EPIPE || n == 0) {
        EXPECT(r, writes == (n != 0) && wire_has_ended(b->used, b->e, writes), n);
    } else if (n < 0) {
        check_wait(b, (int)n);
    } else {
        EXPECT(r, n <= (int64_t)size, n);
    }
    if (writes && n > 0 && n < (int64_t)size) {
        EXPECT(r,
               thrum_now() >= b->until || thrum_cancelled() ||
                   atomic_load(&b->used->ends[b->e].closing) || wire_has_ended(b->used, b->e, true),
               n);
    }
}

static size_t size_of(const step *s) {
    static const size_t sizes[] = {1, 3, 70, 300, 1000, 2500, 5000, WIRE_BYTES};
    return sizes[s->b >> 3 & 7];
}

static unsigned in_parts(thrum_iovec parts[3], uint8_t *bytes, size_t size) {
    parts[0] = (thrum_iovec){bytes, size / 3};
    parts[1] = (thrum_iovec){bytes + size / 3, size / 2 - size / 3};
    parts[2] = (thrum_iovec){bytes + size / 2, size - size / 2};
    return 3;
}

static void write_some(const before *b, const step *s) {
    lane *l = wire_lane(b->used, b->e, true);
    size_t size = size_of(s);
    uint8_t *bytes = malloc(size);
    thrum_iovec parts[3];
    thrum_io io = b->used->ends[b->e].io;
    writer *own = bytes ? wire_write_begin(l, b->r->id, bytes, size) : NULL;
    if (own) {
        int64_t n = s->b & 64
                        ? thrum_writev_until(io, parts, in_parts(parts, bytes, size), b->until)
                    : b->until == THRUM_FOREVER ? thrum_write(io, bytes, size)
                                                : thrum_write_until(io, bytes, size, b->until);
        check_transfer(b, n, size, true);
        wire_write_end(l, own, n);
    }
    free(bytes);
}

/*
 * By the only one that reads: a call that must find what lies there gets all the time that it may
 * need, behind a shield. Else a readiness that was lost would look like a deadline that has passed.
 */
static before be_sure(const before *b, const lane *l) {
    before made = *b;
    made.sure = !b->on_task && !b->late && !b->stale && wire_has_bytes(l);
    if (made.sure) {
        made.until = thrum_after_s(20);
        thrum_shield_begin();
    }
    return made;
}

static void check_sure(const before *made, int64_t n) {
    if (made->sure) {
        thrum_shield_end();
        EXPECT(made->r, n > 0 || atomic_load(&made->used->ends[made->e].closing), n);
    }
}

static void read_some(const before *b, const step *s) {
    lane *l = wire_lane(b->used, b->e, false);
    size_t size = size_of(s);
    uint8_t *bytes = malloc(size);
    thrum_iovec parts[3];
    thrum_io io = b->used->ends[b->e].io;
    if (bytes && wire_read_begin(l)) {
        const before made = be_sure(b, l);
        const thrum_time t = made.until;
        int64_t n = s->b & 64 ? thrum_readv_until(io, parts, in_parts(parts, bytes, size), t)
                    : t == THRUM_FOREVER ? thrum_read(io, bytes, size)
                                         : thrum_read_until(io, bytes, size, t);
        check_sure(&made, n);
        check_transfer(&made, n, size, false);
        const char *odd = wire_read_end(l, bytes, n);
        if (odd) {
            free_wrong(b->r->w, __LINE__, odd, (int)n);
        }
    }
    free(bytes);
}

static void wait_some(const before *b, const step *s) {
    unsigned bits = 1 + (s->b >> 3) % 3;
    lane *l = wire_lane(b->used, b->e, false);
    before made = *b;
    bool reads = bits & THRUM_IO_READ && !(b->used->is_pipe && b->e == 0) && wire_read_begin(l);
    if (reads && !(made = be_sure(b, l)).sure) {
        (void)wire_read_end(l, NULL, 0);
        reads = false;
    }
    int got = thrum_io_wait(b->used->ends[b->e].io, bits, made.until);
    check_sure(&made, got);
    if (got > 0) {
        EXPECT(b->r, !b->stale && !(got & ~(int)bits), got);
    } else {
        check_wait(&made, got != 0 ? got : 1);
    }
    if (reads) {
        (void)wire_read_end(l, NULL, 0);
    }
}

/* ---- tasks that wait for a wire ---- */

static void on_body(thrum_task *self, void *arg) {
    runner *r = arg;
    wire *used = r->on_wire;
    const step s = {0, OP_io_read, 0, (uint8_t)(r->id << 3)};
    before b = look(r, used, r->on_end, thrum_after(20000));
    (void)self;
    b.on_task = true;
    if (r->on_bits == THRUM_IO_READ) {
        read_some(&b, &s);
    }
    leave_wire(r->w, used);
    atomic_store(&r->on_posted, false); /* from now on the runner may go */
}

/* True: the task has the wire now. */
static bool list_task(const before *b, const step *s, bool one_way) {
    runner *r = b->r;
    if (r->thread || atomic_load(&r->on_posted)) {
        return false;
    }
    r->on_wire = b->used;
    r->on_end = b->e;
    r->on_bits = one_way ? (b->e == 0 ? THRUM_IO_WRITE : THRUM_IO_READ) : 1u + (s->b >> 3) % 2;
    thrum_task_init(&r->on_task, on_body, r);
    atomic_store(&r->on_posted, true);
    thrum_io io = b->used->ends[b->e].io;
    int result = b->until == THRUM_FOREVER
                     ? thrum_io_on(io, r->on_bits, &r->on_task)
                     : thrum_io_on_until(io, r->on_bits, &r->on_task, b->until);
    if (result == 0) {
        return true;
    }
    EXPECT(r,
           result == -EBUSY || (result == -EBADF && atomic_load(&b->used->ends[b->e].closing)) ||
               (result == -ESHUTDOWN && atomic_load(&r->w->stopping)),
           result);
    EXPECT(r, !b->stale || result == -EBADF, result);
    atomic_store(&r->on_posted, false);
    return false;
}

void free_end_on(runner *r) {
    while (atomic_load(&r->on_posted)) {
        (void)thrum_task_cancel(&r->on_task);
        thrum_yield();
        (void)sched_yield();
    }
}

/* ---- ends ---- */

static void shut_down(const before *b, const step *s) {
    unsigned bits = 1 + (s->b >> 3) % 3;
    wire_end *own = &b->used->ends[b->e];
    for (int i = 0; i < 2; i++) {
        if (bits & 1u << i) {
            atomic_store(&own->shut[i], !b->used->is_pipe);
        }
    }
    int result = thrum_io_shutdown(own->io, bits);
    EXPECT(b->r,
           (result == 0 && !b->used->is_pipe) || (result == -ENOTSOCK && b->used->is_pipe) ||
               (result == -ENOTCONN && wire_is_left(b->used, b->e)) ||
               (result == -EBADF && atomic_load(&own->closing)),
           result);
    EXPECT(b->r, !b->stale || result == -EBADF, result);
}

static void close_one(const before *b, const step *s) {
    int result = wire_close(b->used, b->e, s->b & 64);
    EXPECT(b->r, result == 0, result);
    EXPECT(b->r, !b->stale || thrum_io_close(b->used->ends[b->e].io) == -EBADF, 0);
    EXPECT(b->r, !b->stale || thrum_io_fd(b->used->ends[b->e].io) == -EBADF, 0);
}

/* Puts a new wire in its place, with numbers that come again, and closes the old one. */
static void renew(runner *r, int i) {
    wire *fresh = wire_make(i);
    pthread_mutex_lock(&lock);
    wire *old = r->w->wires[i];
    r->w->wires[i] = fresh;
    pthread_mutex_unlock(&lock);
    int result = wire_close_all(old);
    EXPECT(r, result == 0, result);
    leave_wire(r->w, old);
}

static bool is_worn(const wire *used) {
    for (int e = 0; e < used->ends_count; e++) {
        if (atomic_load(&used->ends[e].closing) || atomic_load(&used->ends[e].shut[0]) ||
            atomic_load(&used->ends[e].shut[1])) {
            return true;
        }
    }
    return false;
}

/* ---- */

void free_step_io(runner *r, const step *s) {
    int i = s->a % WIRES;
    wire *used = take_wire(r->w, i);
    if (!used) {
        return;
    }
    before b = look(r, used, s->a / WIRES % used->ends_count, free_deadline(r, s, false));
    bool kept = false;
    if (used->is_pipe && (s->op == OP_io_write || s->op == OP_io_read)) {
        b.e = s->op == OP_io_write ? 0 : 1;
        b.stale = atomic_load(&used->ends[b.e].closed);
    }
    switch (s->op) {
    case OP_io_write:
        write_some(&b, s);
        break;
    case OP_io_read:
        read_some(&b, s);
        break;
    case OP_io_wait:
        wait_some(&b, s);
        break;
    case OP_io_on:
        kept = list_task(&b, s, used->is_pipe);
        break;
    case OP_io_shutdown:
        if (s->b % 8 == 0) {
            shut_down(&b, s);
        }
        break;
    case OP_io_close:
        if (s->b % 8 == 0) {
            close_one(&b, s);
        }
        break;
    default:
        if (s->b % 8 == 0 || is_worn(used)) {
            renew(r, i);
        }
    }
    if (!kept) {
        leave_wire(r->w, used);
    }
}

void free_wires_make(world *w) {
    for (int i = 0; i < WIRES; i++) {
        w->wires[i] = wire_make(i);
    }
}

static int drains(void *arg) {
    world *w = arg;
    for (int i = 0; i < WIRES; i++) {
        const char *odd = wire_drain(w->wires[i]);
        if (odd) {
            free_wrong(w, __LINE__, odd, i);
        }
    }
    return 0;
}

void free_wires_end(world *w) {
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_handle *handle;
    attr.sched = w->sched;
    if (!w->wires[0]) {
        return;
    }
    if (thrum_spawn_with(&handle, &attr, drains, w) != 0 || thrum_join(handle, NULL) != 0) {
        free_wrong(w, __LINE__, "a fiber", 0);
    }
    for (int i = 0; i < WIRES; i++) {
        int result = wire_close_all(w->wires[i]);
        if (result != 0) {
            free_wrong(w, __LINE__, "a close", result);
        }
        leave_wire(w, w->wires[i]);
    }
}
