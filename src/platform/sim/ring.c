/*
 * ring.c: files of the simulator, each of which holds endless bytes 'f' and takes any write;
 * transfers that the system makes by itself, as linux/ring.c has them by io_uring.
 *
 * Nothing is in the page cache: a try at once returns that it would wait. A transfer in a ring ends
 * at once, or after some time, or comes back without a result. Its end gives one event, which a
 * wait for the set brings that sleeps until then, or that comes later.
 */
#include "platform/sim/files.h"

#include <errno.h>
#include <string.h>

/* ---- files ---- */

static int64_t transfer(const th_os_transfer *t) {
    if (t->write) {
        sim_reads(t->bytes, t->size);
    } else {
        memset(t->bytes, 'f', t->size);
        sim_wrote(t->bytes, t->size);
    }
    return (int64_t)t->size;
}

#if !TH_KIT /* it has files that keep what is written (testkit/disk) */
int64_t th_os_file_do(th_os_file_request *r) {
    sim_call();
    if (r->call != TH_OS_FILE_READ && r->call != TH_OS_FILE_WRITE) {
        return -ENOSYS;
    }
    if (!sim_number_file(r->fd)) {
        sim_misused("closed", "a call on a file that is closed");
    }
    return transfer(&(th_os_transfer){
        .write = r->call == TH_OS_FILE_WRITE, .bytes = r->bytes, .size = r->size});
}

int64_t th_os_file_readv_now(int fd, const th_os_part parts[], unsigned n, int64_t offset) {
    (void)fd;
    (void)parts;
    (void)n;
    (void)offset;
    return -EAGAIN;
}

int64_t th_os_file_writev_now(int fd, const th_os_part parts[], unsigned n, int64_t offset) {
    return th_os_file_readv_now(fd, parts, n, offset);
}

bool th_os_file_begins(int fd) {
    (void)fd;
    return false;
}
#endif

/* ---- rings ---- */

int64_t sim_ring_next(const sim_file *file) {
    int64_t next = INT64_MAX;
    for (unsigned i = 0; i < SIM_TRANSFERS; i++) {
        const sim_transfer *t = &file->ring->transfers[i];
        next = !t->told && t->at < next ? t->at : next;
    }
    return next;
}

void sim_ring_tell(sim_file *file) {
    for (unsigned i = 0; i < SIM_TRANSFERS; i++) {
        sim_transfer *t = &file->ring->transfers[i];
        if (!t->told && t->at <= sim_now()) {
            t->told = true;
            sim_file_edge(file);
        }
    }
}

static bool ring_ready(sim_file *file) {
    bool ready = false;
    for (unsigned i = 0; i < SIM_TRANSFERS; i++) {
        ready = ready || file->ring->transfers[i].at <= sim_now();
    }
    return ready;
}

static void ring_close(sim_file *file) {
    for (unsigned i = 0; i < SIM_TRANSFERS; i++) {
        if (file->ring->transfers[i].at != INT64_MAX) {
            sim_misused("closed", "a ring is closed while a transfer is under way");
        }
    }
    file->ring->used = false;
}

static sim_ring *ring_new(void) {
    sim_files *all = sim_files_here();
    for (unsigned i = 0; i < SIM_RINGS; i++) {
        sim_ring *ring = &all->rings[i];
        if (!ring->used) {
            *ring = (sim_ring){.used = true};
            for (unsigned k = 0; k < SIM_TRANSFERS; k++) {
                ring->transfers[k].at = INT64_MAX;
            }
            return ring;
        }
    }
    sim_misused("limit", "too many rings");
}

int th_os_ring_open(th_os_ring *out, unsigned most) {
    sim_call();
    *out = (th_os_ring){.fd = -1};
    sim_wrote(out, sizeof *out);
    if (most > SIM_TRANSFERS) {
        sim_misused("limit", "too many transfers of a ring");
    }
    switch (sim_choose(SIM_REFUSAL, 4)) {
    case 1:
        return -EPERM;
    case 2:
        return -EMFILE;
    default:
        break;
    }
    sim_file *file = sim_file_new(SIM_RING, TH_OS_OTHER);
    file->ring = ring_new();
    file->ready = ring_ready;
    file->close = ring_close;
    sim_file_hold(file);
    out->fd = sim_number_give(file);
    sim_file_drop(file);
    return out->fd < 0 ? out->fd : 0;
}

static sim_file *ring_file(const th_os_ring *ring) {
    sim_reads(ring, sizeof *ring);
    sim_file *file = sim_number_file(ring->fd);
    if (!file || file->kind != SIM_RING) {
        sim_misused("closed", "a call on a ring that is closed");
    }
    return file;
}

void th_os_ring_close(th_os_ring *ring) {
    (void)ring_file(ring);
    (void)th_os_io_close(ring->fd);
    *ring = (th_os_ring){.fd = -1};
    sim_wrote(ring, sizeof *ring);
}

void th_os_ring_abandon(th_os_ring *ring) {
    (void)ring;
    sim_misused("limit", "no world forks");
}

int th_os_ring_put(th_os_ring *ring, const th_os_transfer *asked, uint64_t key) {
    sim_file *file = ring_file(ring);
    if (!sim_number_file(asked->fd)) {
        sim_misused("closed", "a transfer of a file that is closed");
    }
    if (sim_choose(SIM_REFUSAL, 4) == 3) {
        return -EAGAIN;
    }
    for (unsigned i = 0; i < SIM_TRANSFERS; i++) {
        sim_transfer *t = &file->ring->transfers[i];
        if (t->at == INT64_MAX && !t->put) {
            *t = (sim_transfer){.asked = *asked, .key = key, .at = INT64_MAX, .put = true};
            return 0;
        }
    }
    sim_misused("limit", "too many transfers of a ring");
}

static void begin(sim_file *file, sim_transfer *t) {
    static const int64_t after[] = {0, 40, 400, 4000};
    static const int64_t lost[] = {0, -ECANCELED, -EAGAIN};
    if (!sim_number_file(t->asked.fd)) {
        sim_misused("closed", "a transfer of a file that is closed");
    }
    t->at = sim_now() + after[sim_choose(SIM_EVENT, 4)];
    t->result = lost[sim_choose(SIM_EVENT, 3)];
    sim_release(&t->order);
    sim_release(&file->order);
    sim_trace("a transfer of %d begins", t->asked.fd);
}

/* All of them begin, or none does. */
unsigned th_os_ring_send(th_os_ring *ring, unsigned n) {
    sim_call();
    sim_file *file = ring_file(ring);
    const bool begins = sim_choose(SIM_REFUSAL, 4) != 3;
    unsigned found = 0;
    for (unsigned i = 0; i < SIM_TRANSFERS; i++) {
        sim_transfer *t = &file->ring->transfers[i];
        if (t->put) {
            t->put = false;
            found++;
            if (begins) {
                begin(file, t);
            }
        }
    }
    if (found != n) {
        sim_misused("limit", "other transfers were put than are sent");
    }
    sim_ring_tell(file);
    return begins ? n : 0;
}

unsigned th_os_ring_take(th_os_ring *ring, th_os_ring_end ends[], unsigned max) {
    sim_call();
    sim_file *file = ring_file(ring);
    unsigned n = 0;
    for (unsigned i = 0; i < SIM_TRANSFERS && n < max; i++) {
        sim_transfer *t = &file->ring->transfers[i];
        if (t->at <= sim_now()) {
            sim_acquire(&t->order);
            ends[n++] = (th_os_ring_end){t->key, t->result ? t->result : transfer(&t->asked)};
            t->at = INT64_MAX;
            sim_trace("a transfer of %d has ended", t->asked.fd);
        }
    }
    if (n) {
        sim_wrote(ends, n * sizeof *ends);
    }
    return n;
}

void th_os_ring_wait(const th_os_ring *ring) {
    sim_call();
    sim_file *file = ring_file(ring);
    int64_t next = INT64_MAX;
    for (unsigned i = 0; i < SIM_TRANSFERS; i++) {
        const int64_t at = file->ring->transfers[i].at;
        next = at < next ? at : next;
    }
    if (next > sim_now()) {
        (void)sim_sleep(&file->ring->word, next);
    }
}
