/*
 * bytes.c: reading and writing at an offset.
 *
 * A transfer goes in steps. Each first tries a transfer that does not wait, from or to the caller's
 * memory. If that would wait, an operation with memory of its own transfers a piece.
 */
#include <errno.h>
#include <string.h>

#include "core/state/fiber_state.h"
#include "file/operation.h"
#include "io/call.h"
#include "io/counted.h"
#include "thrum/file.h"
#include "thrum/spawn.h"

#define PIECE_MAX TH_LIMIT_OR((size_t)1 << 20, (size_t)1 << 20, (size_t)64)

/*
 * For a read. The system copies without a pause, in the caller's call or, if a ring reads, in some
 * call of its worker's; meanwhile nothing else runs there. So a ring reads pieces as long as the
 * system's read-ahead, and bytes that are already there are copied in short steps.
 */
#define BEGUN_MAX TH_LIMIT((size_t)128 << 10, (size_t)32)
#define STEP_MAX TH_LIMIT_OR((size_t)256 << 10, (size_t)256 << 10, (size_t)64) /* without a wait */
#define STEP_MAX_COLD TH_LIMIT_OR((size_t)32 << 10, (size_t)32 << 10, (size_t)16) /* after one */

typedef struct transfer {
    thrum_io io;
    const thrum_iovec *parts; /* the remainder: whole parts, and the rest of the first */
    unsigned n;
    size_t skip; /* bytes of the first that are done */
    size_t left;
    int64_t offset; /* or TH_OS_FILE_END, of a write */
    thrum_time deadline;
    bool write;
    bool waited;
} transfer;

static void advance(transfer *t, size_t done) {
    t->left -= done;
    t->offset += t->offset == TH_OS_FILE_END ? 0 : (int64_t)done;
    done += t->skip;
    while (t->n && done >= t->parts->size) {
        done -= t->parts->size;
        t->parts++;
        t->n--;
    }
    t->skip = done;
}

/* Copies the next bytes from the caller's memory to a piece's, or back. */
static void move(const transfer *t, char *piece, size_t size) {
    size_t skip = t->skip;
    for (const thrum_iovec *part = t->parts; size; part++) {
        const size_t room = part->size - skip;
        const size_t n = size < room ? size : room;
        char *memory = (char *)part->base + skip;
        if (n) {
            memcpy(t->write ? piece : memory, t->write ? memory : piece, n);
        }
        piece += n;
        size -= n;
        skip = 0;
    }
}

/* How many of the parts, whole ones, fit into `size` bytes. */
static unsigned parts_within(const transfer *t, size_t size) {
    unsigned n = 0;
    while (n < t->n && t->parts[n].size <= size) {
        size -= t->parts[n++].size;
    }
    return n;
}

/* -EAGAIN: it would have to wait; -EOPNOTSUPP: the system does not know. */
static int64_t try_now(const transfer *t) {
    const size_t most = t->write ? SIZE_MAX : t->waited ? STEP_MAX_COLD : STEP_MAX;
    const size_t rest = t->parts->size - t->skip;
    const th_os_part first = {(char *)t->parts->base + t->skip, rest < most ? rest : most};
    const unsigned whole = t->skip ? 0 : parts_within(t, most);
    const th_os_part *parts = whole ? (const th_os_part *)(const void *)t->parts : &first;
    const unsigned n = whole ? whole : 1;
    const int64_t done = t->write ? th_os_file_writev_now(t->io.fd, parts, n, t->offset)
                                  : th_os_file_readv_now(t->io.fd, parts, n, t->offset);
    /* A sandbox may refuse the call with any code; the plain call returns the file's own. */
    return done < 0 && done != -EAGAIN ? -EOPNOTSUPP : done;
}

/* `begins`: the system can begin it without waiting for its end. */
static int64_t by_operation(transfer *t, bool aligned, bool begins) {
    const size_t most = begins && !aligned && !t->write ? BEGUN_MAX : PIECE_MAX;
    const size_t size = t->left < most ? t->left : most;
    const bool end = t->offset == TH_OS_FILE_END;
    const th_os_file_request request = {.call = !t->write ? TH_OS_FILE_READ
                                                : end     ? TH_OS_FILE_ADD
                                                          : TH_OS_FILE_WRITE,
                                        .offset = t->offset};
    th_operation *operation;
    int64_t n = th_operation_new_on(&operation, t->io, &request, size, aligned);
    if (n) {
        return n;
    }
    operation->begins = begins && !end;
    if (t->write) {
        move(t, operation->request.bytes, size);
    }
    t->waited = true;
    n = th_operation_ask(operation, t->deadline);
    if (!t->write && n > 0) {
        move(t, operation->request.bytes, (size_t)n);
    }
    th_operation_drop(operation);
    return n;
}

static int64_t step(transfer *t, const th_record *record) {
    if (th_operation_is_late(t->deadline)) {
        return -ETIMEDOUT;
    }
    if (record->way != TH_FILE_TRIES) {
        return by_operation(t, true, record->way == TH_FILE_BEGINS);
    }
    const int64_t n = try_now(t);
    return n == -EAGAIN || n == -EOPNOTSUPP ? by_operation(t, false, n == -EAGAIN) : n;
}

/*
 * Between two steps of a read, so that many readers do not keep fibers that have little to do from
 * their workers: a reader that has waited was woken together with others, and copies behind them. A
 * short step has found little to copy, or the end.
 */
static void give_way(const transfer *t, int64_t moved) {
    if (t->left && !t->write && moved >= (int64_t)STEP_MAX_COLD && th_fiber_self()) {
        thrum_yield();
    }
}

/* By a caller that uses the record. */
static int64_t go_through(transfer *t, th_record *record) {
    int64_t done = 0;
    int64_t n = 0;
    while (t->left && (n = step(t, record)) > 0) {
        if (t->write) {
            th_counted_written(t->io.fd, n);
        } else {
            th_counted_read(t->io.fd, n);
        }
        done += n;
        advance(t, (size_t)n);
        /* relaxed: a close that comes later has this step before it */
        if (th_load_relaxed(&record->xturn) != t->io.turn) {
            n = -EBADF;
            break;
        }
        give_way(t, n);
    }
    return done ? done : n;
}

static int64_t run(transfer *t) {
    if (t->n > THRUM_IOVECS_MAX || t->offset < TH_OS_FILE_END || (t->n && !t->parts)) {
        return -EINVAL;
    }
    for (unsigned i = 0; i < t->n; i++) {
        if (t->parts[i].size > INT64_MAX - t->left) {
            return -EINVAL;
        }
        t->left += t->parts[i].size;
    }
    advance(t, 0); /* empty parts: a step that reads nothing has found the end */
    int code;
    th_record *record = th_record_use(t->io, &code);
    if (!record) {
        return code;
    }
    const int64_t n = go_through(t, record);
    th_record_unuse(record);
    if (!t->waited) {
        th_call_was_ready();
    }
    return n;
}

/* ---- */

int64_t thrum_file_preadv(thrum_io io, const thrum_iovec *parts, unsigned n, int64_t offset,
                          thrum_time deadline) {
    transfer t = {.io = io, .parts = parts, .n = n, .offset = offset, .deadline = deadline};
    return offset < 0 ? -EINVAL : run(&t);
}

int64_t thrum_file_pread(thrum_io io, void *to, size_t size, int64_t offset, thrum_time deadline) {
    const thrum_iovec part = {to, size};
    return thrum_file_preadv(io, &part, 1, offset, deadline);
}

int64_t thrum_file_pwritev(thrum_io io, const thrum_iovec *parts, unsigned n, int64_t offset,
                           thrum_time deadline) {
    transfer t = {.io = io, .parts = parts, .n = n, .offset = offset, .deadline = deadline};
    t.write = true;
    return offset < 0 ? -EINVAL : run(&t);
}

int64_t thrum_file_pwrite(thrum_io io, const void *from, size_t size, int64_t offset,
                          thrum_time deadline) {
    const thrum_iovec part = {(void *)(uintptr_t)from, size};
    return thrum_file_pwritev(io, &part, 1, offset, deadline);
}

int64_t thrum_file_append(thrum_io io, const void *from, size_t size, thrum_time deadline) {
    const thrum_iovec part = {(void *)(uintptr_t)from, size};
    transfer t = {.io = io, .parts = &part, .n = 1, .deadline = deadline, .write = true};
    t.offset = TH_OS_FILE_END;
    return run(&t);
}

/* ---- from file to file ---- */

#define COPIED_MAX ((uint64_t)16 << 20) /* by one operation */
#define HANDS_BYTES ((size_t)128 << 10) /* where the system cannot copy */

static int64_t copy_piece(thrum_io from, thrum_io to, const th_os_file_request *request,
                          thrum_time deadline) {
    th_operation *operation;
    int64_t n = th_operation_new_on(&operation, from, request, HANDS_BYTES, true);
    if (n) {
        return n;
    }
    n = th_operation_use(operation, 1, to);
    n = n ? n : th_operation_ask(operation, deadline);
    th_operation_drop(operation);
    return n;
}

int64_t thrum_file_copy(thrum_io from, int64_t from_offset, thrum_io to, int64_t to_offset,
                        uint64_t size, thrum_time deadline) {
    if (from_offset < 0 || to_offset < 0) {
        return -EINVAL;
    }
    size = size < INT64_MAX ? size : INT64_MAX;
    int64_t done = 0;
    int64_t n = 0;
    do {
        const uint64_t left = size - (uint64_t)done;
        const th_os_file_request request = {.call = TH_OS_FILE_COPY,
                                            .offset = from_offset + done,
                                            .to_offset = to_offset + done,
                                            .length = left < COPIED_MAX ? left : COPIED_MAX};
        n = copy_piece(from, to, &request, deadline);
        done += n > 0 ? n : 0;
    } while (n > 0 && (uint64_t)done < size);
    return done ? done : n;
}
