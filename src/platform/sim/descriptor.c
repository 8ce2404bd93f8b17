/*
 * descriptor.c: calls on a descriptor of the simulator that do not wait. A call that would have to,
 * as on a pipe without O_NONBLOCK, ends the run.
 */
#include "platform/sim/files.h"

#include <errno.h>

#include "platform/faults.h"

int th_os_io_kind(int fd, th_os_kind *kind, th_os_identity *identity) {
    sim_call();
    const sim_file *file = sim_number_file(fd);
    if (!file || (file->kind == SIM_REGULAR && !file->opened)) {
        return file ? -EPERM : -EBADF;
    }
    *kind = file->as;
    sim_wrote(kind, sizeof *kind);
    *identity = (th_os_identity){1, file->serial};
    sim_wrote(identity, sizeof *identity);
    return file->opened ? -EPERM : 0;
}

int th_os_io_nonblocking(int fd, bool on) {
    sim_call();
    sim_file *file = sim_number_file(fd);
    if (!file) {
        return -EBADF;
    }
    bool was = file->nonblocking;
    file->nonblocking = on;
    return was;
}

int th_os_io_releases(int fd) {
    (void)fd;
    return 0;
}

int th_os_io_duplicate(int fd) {
    sim_call();
    sim_file *file = sim_number_file(fd);
    return !file ? -EBADF : sim_choose(SIM_REFUSAL, 2) ? -EMFILE : sim_number_give(file);
}

/* The words are the file's serial number, a byte. */
int th_os_io_text(int fd, const char *between, char *text, size_t size, bool *listens) {
    (void)between;
    sim_call();
    const sim_file *file = sim_number_file(fd);
    *listens = file && file->kind == SIM_LISTENER;
    sim_wrote(listens, sizeof *listens);
    if (!file || size < 2) {
        return -EBADF;
    }
    sim_order_see(&sim_numbers_here()[fd - SIM_NUMBER_FIRST].given);
    text[0] = (char)file->serial;
    text[1] = '\0';
    sim_wrote(text, 2);
    return 0;
}

/* ---- transfers ---- */

/* The error of a call for a kind on the file. */
static int wrong_file(const sim_file *file, th_os_kind kind) {
    if (!file) {
        return -EBADF;
    }
    bool socket = file->kind == SIM_SOCKET || file->kind == SIM_LISTENER || file->socket;
    return th_os_is_socket(kind) && !socket ? -ENOTSOCK : 0;
}

/* Only calls for sockets request not to wait. */
static void must_not_wait(const sim_file *file, bool asked) {
    if (!asked && !file->nonblocking) {
        sim_misused("waits", "a call that waits in the system, on what was not made nonblocking");
    }
}

static int taken_error(sim_file *file) {
    int error = file->error;
    file->error = 0;
    return -error;
}

static int64_t take_bytes(sim_flow *flow, uint8_t *to, size_t size) {
    size_t n = size < flow->count ? size : flow->count;
    if (n > 1 && flow->reader->as == TH_OS_STREAM && sim_choose(SIM_SPURIOUS, 2)) {
        n--; /* it may be short although more is there */
    }
    sim_wrote(to, n);
    for (size_t i = 0; i < n; i++) {
        sim_order *slot = &flow->slots[flow->first % SIM_SLOTS];
        sim_acquire(slot);
        sim_release(slot);
        to[i] = flow->bytes[flow->first];
        flow->first = (flow->first + 1) % SIM_ROOM;
        flow->count--;
    }
    sim_release(&flow->writable);
    if (n < size) { /* so it has found that none are left */
        sim_release(&flow->readable);
    }
    return (int64_t)n;
}

int64_t sim_file_read(sim_file *file, void *to, size_t size) {
    if (file->transfer) {
        return file->transfer(file, to, size, false);
    }
    sim_flow *in = file->in;
    if (!in) {
        return file->kind == SIM_PIPE                                  ? -EBADF
               : file->kind == SIM_LISTENER || file->kind == SIM_FRESH ? -ENOTCONN
                                                                       : -EINVAL;
    }
    if (size == 0) {
        return 0;
    }
    if (in->count) {
        return take_bytes(in, to, size);
    }
    if (in->ended || file->error) {
        sim_acquire(&in->end);
        return file->error ? taken_error(file) : 0;
    }
    sim_release(&in->readable);
    return -EAGAIN;
}

static int64_t put_bytes(sim_flow *flow, const uint8_t *from, size_t size) {
    size_t room = SIM_ROOM - flow->count - flow->flight;
    size_t n = size < room ? size : room;
    sim_reads(from, n);
    for (size_t i = 0; i < n; i++) {
        unsigned at = (flow->first + flow->count + flow->flight) % SIM_ROOM;
        sim_acquire(&flow->slots[at % SIM_SLOTS]);
        sim_release(&flow->slots[at % SIM_SLOTS]);
        flow->bytes[at] = from[i];
        ++*(flow->far ? &flow->flight : &flow->count);
    }
    if (n < size) { /* so it has found that no room is left */
        flow->starved = true;
        sim_release(&flow->writable);
    }
    if (n == 0) {
        return -EAGAIN;
    }
    sim_release(&flow->readable);
    if (flow->far) {
        sim_far_bytes(flow, (unsigned)n);
    } else {
        flow->fresh = true;
    }
    return (int64_t)n;
}

/* The first bytes that nobody reads go, and the other side's answer breaks the connection. */
static int64_t write_to_nobody(sim_file *file, size_t size) {
    file->broken = true;
    file->in->ended = file->out->ended = true;
    sim_file_edge(file);
    return (int64_t)size;
}

int64_t sim_file_write(sim_file *file, const void *from, size_t size) {
    if (file->transfer) {
        return file->transfer(file, (void *)(uintptr_t)from, size, true);
    }
    sim_flow *out = file->out;
    if (!out) {
        return file->kind == SIM_PIPE                                  ? -EBADF
               : file->kind == SIM_LISTENER || file->kind == SIM_FRESH ? -EPIPE
                                                                       : -EINVAL;
    }
    if (file->error) {
        sim_acquire(&out->end);
        return taken_error(file);
    }
    if (sim_flow_refuses(out) || (!out->reader && file->kind == SIM_PIPE)) {
        sim_acquire(&out->end);
        return -EPIPE;
    }
    if (size == 0) {
        return 0;
    }
    return out->reader || out->far ? put_bytes(out, from, size) : write_to_nobody(file, size);
}

/* ---- by descriptor ---- */

/* Bytes, their end or an error are there; there is room, or an error. */
static bool may_read(const sim_file *file) {
    return file->transfer || file->error || (file->in && (file->in->count || file->in->ended));
}

static bool may_write(const sim_file *file) {
    return file->transfer || file->error || (file->out && file->out->count < SIM_ROOM);
}

/* A part of a transfer that is short because a test asks for it. */
static th_os_part shortened(const th_os_part parts[], unsigned n) {
    unsigned i = 0;
    while (i + 1 < n && !parts[i].size) {
        i++;
    }
    return n ? (th_os_part){parts[i].base, sim_fault_size(parts[i].size)} : (th_os_part){NULL, 0};
}

int64_t th_os_io_readv(int fd, th_os_kind kind, const th_os_part parts[], unsigned n) {
    sim_call();
    sim_file *file = sim_number_file(fd);
    int wrong = wrong_file(file, kind);
    if (wrong || th_os_fails(TH_OS_FAULT_READ)) {
        return wrong ? wrong : -ENOBUFS;
    }
    const int fault = may_read(file) ? sim_fault(SIM_FAULT_READ) : 0;
    const th_os_part part = fault == SIM_FAULT_SHORT ? shortened(parts, n) : (th_os_part){NULL, 0};
    if (fault) {
        parts = &part;
        n = 1;
    }
    if (fault < 0) {
        return fault;
    }
    sim_reads(parts, n * sizeof *parts);
    int64_t sum = 0;
    for (unsigned i = 0; i < n; i++) {
        if (parts[i].size == 0 || (sum && !file->transfer && !(file->in && file->in->count))) {
            continue; /* the part behind the bytes is left for the next call */
        }
        int64_t got = sim_file_read(file, parts[i].base, parts[i].size);
        if (got < 0 && sum == 0) {
            sum = got;
        }
        if (got < (int64_t)parts[i].size) {
            sum += got > 0 ? got : 0;
            break;
        }
        sum += got;
    }
    if (sum == -EAGAIN) {
        must_not_wait(file, th_os_is_socket(kind));
    }
    sim_trace("reads %d: %d", fd, (int)sum);
    sim_file_hold(file);
    sim_file_tell(file);
    if (fault) { /* the other bytes arrive right now */
        sim_file_edge(file);
    }
    sim_file_drop(file);
    return sum;
}

int64_t th_os_io_writev(int fd, th_os_kind kind, const th_os_part parts[], unsigned n) {
    sim_call();
    sim_file *file = sim_number_file(fd);
    int wrong = wrong_file(file, kind);
    if (wrong || th_os_fails(TH_OS_FAULT_WRITE)) {
        return wrong ? wrong : -ENOBUFS;
    }
    const int fault = may_write(file) ? sim_fault(SIM_FAULT_WRITE) : 0;
    const th_os_part part = fault == SIM_FAULT_SHORT ? shortened(parts, n) : (th_os_part){NULL, 0};
    if (fault) {
        parts = &part;
        n = 1;
    }
    if (fault < 0) {
        return fault;
    }
    sim_reads(parts, n * sizeof *parts);
    int64_t sum = 0;
    for (unsigned i = 0; i < n; i++) {
        int64_t put = sim_file_write(file, parts[i].base, parts[i].size);
        if (put < 0 && sum == 0) {
            sum = put;
        }
        sum += put > 0 ? put : 0;
        if (put < (int64_t)parts[i].size) {
            break;
        }
    }
    if (sum == -EAGAIN) {
        must_not_wait(file, th_os_is_socket(kind));
    }
    sim_trace("writes %d: %d", fd, (int)sum);
    sim_file_hold(file);
    sim_file_tell(file);
    if (fault) { /* there is room again right now */
        sim_file_edge(file);
    }
    sim_file_drop(file);
    return sum;
}

int64_t th_os_io_read(int fd, th_os_kind kind, void *to, size_t size) {
    const th_os_part part = {to, size};
    return th_os_io_readv(fd, kind, &part, 1);
}

int64_t th_os_io_write(int fd, th_os_kind kind, const void *from, size_t size) {
    const th_os_part part = {(void *)(uintptr_t)from, size};
    return th_os_io_writev(fd, kind, &part, 1);
}

/* ---- connections ---- */

int th_os_io_accept(int fd) {
    sim_call();
    sim_file *file = sim_number_file(fd);
    if (!file || file->kind != SIM_LISTENER) {
        return !file ? -EBADF : file->kind == SIM_SOCKET ? -EINVAL : -ENOTSOCK;
    }
    if (th_os_fails(TH_OS_FAULT_ACCEPT) || sim_numbers_full() || sim_choose(SIM_REFUSAL, 2)) {
        return -EMFILE;
    }
    if (file->deaf) {
        return -EINVAL;
    }
    if (!file->waiting) {
        must_not_wait(file, false);
        sim_release(&file->order);
        return -EAGAIN;
    }
    const int fault = sim_fault(SIM_FAULT_ACCEPT);
    if (fault && fault != -ECONNABORTED) {
        return fault;
    }
    sim_file *taken = file->backlog[0];
    file->waiting--;
    for (unsigned i = 0; i < file->waiting; i++) {
        file->backlog[i] = file->backlog[i + 1];
    }
    if (fault) { /* the other side has reset the connection meanwhile */
        taken->resets = true;
        sim_file_drop(taken);
        return fault;
    }
    taken->nonblocking = true;
    int accepted = sim_number_give(taken);
    sim_file_drop(taken); /* the listener's reference */
    sim_trace("accepts %d", accepted);
    return accepted;
}

/* Reports the change to the other side and to this one. */
static void shut(sim_file *file, sim_flow *flow) {
    sim_release(&flow->end);
    sim_release(&flow->readable);
    sim_release(&flow->writable);
    if (flow->far && flow == file->out) {
        sim_far_end(flow);
    } else {
        flow->ended = true;
    }
    if (file->peer && !flow->far) {
        sim_file_edge(file->peer);
    }
    if (file->as == TH_OS_TCP) {
        sim_file_edge(file);
    }
}

int sim_file_shutdown(sim_file *file, unsigned bits) {
    if (file->kind == SIM_LISTENER) {
        sim_release(&file->order);
        file->deaf = true;
        sim_file_edge(file);
        return 0;
    }
    if (file->kind != SIM_SOCKET) {
        return file->socket ? -ENOTCONN : -ENOTSOCK;
    }
    if (bits & TH_OS_OUT) {
        shut(file, file->out);
    }
    if (bits & TH_OS_IN) {
        shut(file, file->in);
    }
    return 0;
}

int th_os_io_shutdown(int fd, unsigned bits) {
    sim_call();
    sim_file *file = sim_number_file(fd);
    return file ? sim_file_shutdown(file, bits) : -EBADF;
}

int th_os_io_close(int fd) {
    sim_call();
    sim_file *file = sim_number_file(fd);
    if (!file) {
        return -EBADF;
    }
    sim_trace("closes %d", fd);
    sim_number *number = &sim_numbers_here()[fd - SIM_NUMBER_FIRST];
    sim_release(&number->closed);
    number->file = NULL;
    sim_release(&file->closed);
    sim_point(); /* the number may be given again before the file is gone */
    sim_file_drop(file);
    return 0;
}
