/*
 * wire.c: see wire.h.
 */
#define _GNU_SOURCE
#include "wire.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- making ---- */

/* The first is a pair of sockets, then a pipe, then a pair of which one has a duplicate. */
static int make_descriptors(int number, int fds[ENDS]) {
    const int little = 1; /* the system makes it the least that it allows */
    if (number == 1) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) {
            abort();
        }
        (void)fcntl(ends[1], F_SETPIPE_SZ, 4096);
        fds[0] = ends[1];
        fds[1] = ends[0];
        return 2;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        abort();
    }
    for (int i = 0; i < 2; i++) {
        (void)setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &little, sizeof(little));
    }
    if (number == 0) {
        return 2;
    }
    fds[2] = fcntl(fds[1], F_DUPFD_CLOEXEC, 0);
    return 3;
}

wire *wire_make(int number) {
    wire *w = calloc(1, sizeof(*w));
    int fds[ENDS];
    if (!w) {
        abort();
    }
    w->is_pipe = number == 1;
    w->ends_count = make_descriptors(number, fds);
    for (int i = 0; i < w->ends_count; i++) {
        if (thrum_io_adopt(&w->ends[i].io, fds[i]) != 0) {
            abort();
        }
    }
    for (int i = 0; i < 2; i++) {
        w->lanes[i].many = number != 0;
        w->lanes[i].last = -1;
    }
    atomic_store(&w->users, 1);
    return w;
}

/* ---- what may be ---- */

lane *wire_lane(wire *w, int e, bool writes) {
    return &w->lanes[(e == 0) == writes ? 0 : 1];
}

static bool is_same_side(int a, int b) {
    return (a == 0) == (b == 0);
}

bool wire_has_ended(const wire *w, int e, bool writes) {
    bool ended = false;
    for (int i = 0; i < w->ends_count; i++) {
        bool far = !is_same_side(i, e);
        ended |= far && atomic_load(&w->ends[i].closing);
        ended |= atomic_load(&w->ends[i].shut[far != writes]);
    }
    return ended;
}

bool wire_is_left(const wire *w, int e) {
    bool left = false;
    for (int i = 0; i < w->ends_count; i++) {
        left |= !is_same_side(i, e) && atomic_load(&w->ends[i].closing);
    }
    return left;
}

/* ---- writing ---- */

writer *wire_write_begin(lane *l, int first, uint8_t *to, size_t size) {
    for (int i = 0; i < WRITERS; i++) {
        int which = (first + i) % WRITERS;
        writer *own = &l->writers[which];
        if (atomic_exchange(&own->busy, true)) {
            continue;
        }
        for (size_t at = 0; at < size; at++) {
            to[at] = (uint8_t)(which * PLACES + (own->written + (long)at) % PLACES);
        }
        return own;
    }
    return NULL;
}

void wire_write_end(lane *l, writer *own, int64_t n) {
    own->written += n > 0 ? n : 0;
    atomic_fetch_add(&l->written, n > 0 ? n : 0);
    if (n > 0 && own->marks < MARKS) {
        own->ends[own->marks++] = own->written;
    }
    atomic_store(&own->busy, false);
}

/* ---- reading ---- */

bool wire_read_begin(lane *l) {
    return l->many || !atomic_exchange(&l->reading, true);
}

bool wire_has_bytes(const lane *l) {
    return !l->many && atomic_load(&l->written) > atomic_load(&l->read);
}

/* One call at a time: the bytes follow those before. */
static const char *read_alone(lane *l, const uint8_t *bytes, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        int which = bytes[i] / PLACES;
        writer *w = &l->writers[which];
        if (bytes[i] % PLACES != w->read % PLACES) {
            return "a byte is not the one that follows";
        }
        if (l->last >= 0 && l->last != which) {
            writer *before = &l->writers[l->last];
            if (before->cuts_count < MARKS) {
                before->cuts[before->cuts_count++] = before->read;
            }
        }
        l->last = which;
        w->read++;
    }
    return NULL;
}

/* Several: only bytes of the same piece follow each other. */
static const char *read_beside(lane *l, const uint8_t *bytes, int64_t n) {
    int next[WRITERS] = {-1, -1, -1, -1};
    for (int64_t i = 0; i < n; i++) {
        int which = bytes[i] / PLACES, place = bytes[i] % PLACES;
        if (next[which] >= 0 && next[which] != place) {
            return "a byte in a piece is not the one that follows";
        }
        next[which] = (place + 1) % PLACES;
        atomic_fetch_add(&l->writers[which].places[place], 1);
    }
    return NULL;
}

const char *wire_read_end(lane *l, const uint8_t *bytes, int64_t n) {
    const char *odd = (l->many ? read_beside : read_alone)(l, bytes, n);
    atomic_fetch_add(&l->read, n > 0 ? n : 0);
    if (!l->many) {
        atomic_store(&l->reading, false);
    }
    return odd;
}

/* ---- the end ---- */

int wire_close(wire *w, int e, bool releases) {
    wire_end *own = &w->ends[e];
    if (atomic_exchange(&own->closing, true)) {
        return 0;
    }
    int result = releases ? thrum_io_release(own->io) : thrum_io_close(own->io);
    atomic_store(&own->closed, true);
    if (releases && result >= 0) {
        result = close(result);
    }
    return result;
}

int wire_close_all(wire *w) {
    int bad = 0;
    for (int e = 0; e < w->ends_count; e++) {
        bad |= wire_close(w, e, false);
    }
    return bad;
}

static bool is_mark(const writer *w, long at) {
    for (int i = 0; i < w->marks; i++) {
        if (w->ends[i] == at) {
            return true;
        }
    }
    return w->marks == MARKS; /* there were more */
}

/* What was read of a sequence; whether it can be the beginning of it is said by `ok`. */
static long sum_read(const lane *l, const writer *w, bool *ok) {
    long sum = l->many ? 0 : w->read;
    for (int i = 0; l->many && i < PLACES; i++) {
        long n = atomic_load(&w->places[i]);
        sum += n;
        *ok &= n <= (w->written + PLACES - 1 - i) / PLACES;
    }
    return sum;
}

static const char *check(const wire *w, bool all) {
    for (int i = 0; i < 2; i++) {
        const lane *l = &w->lanes[i];
        for (const writer *own = l->writers; own < l->writers + WRITERS; own++) {
            bool ok = true;
            long sum = sum_read(l, own, &ok);
            if (!ok || sum > own->written) {
                return "more bytes were read than written";
            }
            if (all && sum != own->written) {
                return "bytes were written and are gone";
            }
            for (int cut = 0; !l->many && cut < own->cuts_count; cut++) {
                if (!is_mark(own, own->cuts[cut])) {
                    return "a write is torn";
                }
            }
        }
    }
    return NULL;
}

const char *wire_leave(wire *w) {
    if (atomic_fetch_sub(&w->users, 1) != 1) {
        return NULL;
    }
    const char *odd = check(w, false);
    free(w);
    return odd;
}

/* One direction, after all the rest has been done. */
typedef struct drained {
    wire *w;
    int i; /* which lane, which is the end that writes on it, too */
    const char *odd;
} drained;

static int writes_the_rest(void *arg) {
    drained *d = arg;
    wire *w = d->w;
    uint8_t bytes[WIRE_BYTES];
    bool ended = wire_has_ended(w, d->i, true);
    writer *own = wire_write_begin(&w->lanes[d->i], 0, bytes, sizeof(bytes));
    int64_t n = thrum_write_until(w->ends[d->i].io, bytes, sizeof(bytes), thrum_after_s(20));
    wire_write_end(&w->lanes[d->i], own, n);
    if (ended ? n > 0 : n != WIRE_BYTES) {
        d->odd = "a write after all others";
    }
    if (w->is_pipe ? wire_close(w, 0, false) != 0
                   : thrum_io_shutdown(w->ends[d->i].io, THRUM_IO_WRITE) != 0) {
        d->odd = "the end that writes can't be ended";
    }
    return 0;
}

static const char *read_the_rest(wire *w, int i) {
    uint8_t bytes[1000];
    lane *l = &w->lanes[i];
    while (wire_read_begin(l)) {
        int64_t n = thrum_read_until(w->ends[1 - i].io, bytes, sizeof(bytes), thrum_after_s(20));
        const char *odd = wire_read_end(l, bytes, n);
        if (odd || n == 0) {
            return odd;
        }
        if (n < 0) {
            break;
        }
    }
    return "what was written does not come, nor the end";
}

static const char *drain_lane(wire *w, int i) {
    drained d = {w, i, NULL};
    thrum_handle *handle;
    if (thrum_spawn(&handle, writes_the_rest, &d) != 0) {
        return "a fiber can't be started";
    }
    const char *odd = read_the_rest(w, i);
    if (thrum_join(handle, NULL) != 0) {
        return "a fiber can't be joined";
    }
    return odd ? odd : d.odd;
}

const char *wire_drain(wire *w) {
    for (int e = 0; e < w->ends_count; e++) {
        if (atomic_load(&w->ends[e].closing)) {
            return NULL;
        }
    }
    const char *odd = drain_lane(w, 0);
    if (!odd && !w->is_pipe) {
        odd = drain_lane(w, 1);
    }
    return odd ? odd : check(w, true);
}

/*
 * Asked by name: to the thread sanitizer a question about a number is a use of the descriptor, and
 * one that another thread closes meanwhile, or the program has no part in, would be a race.
 */
int wire_descriptors(bool all) {
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    for (const struct dirent *d; dir && (d = readdir(dir));) {
        char what[16] = {0};
        if (readlinkat(dirfd(dir), d->d_name, what, sizeof(what) - 1) >= 0) {
            count += all || strncmp(what, "socket:", 7) == 0 || strncmp(what, "pipe:", 5) == 0;
        }
    }
    if (dir) {
        closedir(dir);
    }
    return count;
}
