/*
 * files.c: open files and their numbers; their readiness, and its receivers.
 */
#include "platform/sim/files.h"

#include <errno.h>
#include <stddef.h>

/*
 * A socket's writer is notified when half of the room is free, as by the kernel, a pipe's at
 * once.
 */
#define ROOM_TOLD (SIM_ROOM / 2)

sim_files *sim_files_here(void) {
    return sim_kernel(offsetof(sim_files, items));
}

void sim_release(sim_order *order) {
    if (!sim_files_here()->outside) {
        sim_order_release(order);
    }
}

void sim_acquire(const sim_order *order) {
    if (!sim_files_here()->outside) {
        sim_order_acquire(order);
    }
}

/* ---- files and numbers ---- */

sim_file *sim_file_new(sim_kind kind, th_os_kind as) {
    sim_files *all = sim_files_here();
    for (unsigned i = 0; i < SIM_FILES; i++) {
        sim_file *file = &all->files[i];
        if (file->kind == SIM_NOTHING) {
            *file = (sim_file){
                .kind = kind, .as = as, .host = (uint8_t)sim_host_here(), .serial = ++all->serials};
            return file;
        }
    }
    sim_misused("limit", "too many files are open");
}

sim_flow *sim_flow_new(sim_file *reader, sim_file *writer) {
    sim_files *all = sim_files_here();
    for (unsigned i = 0; i < SIM_FLOWS; i++) {
        sim_flow *flow = &all->flows[i];
        if (!flow->used) {
            *flow = (sim_flow){.used = true, .reader = reader, .writer = writer};
            flow->bytes = (uint8_t *)(all + 1) + (size_t)i * SIM_ROOM;
            reader->in = flow;
            writer->out = flow;
            return flow;
        }
    }
    sim_misused("limit", "too many pipes are open");
}

void sim_file_connect(sim_file *a, sim_file *b) {
    sim_flow_new(a, b);
    sim_flow_new(b, a);
    a->peer = b;
    b->peer = a;
}

sim_number *sim_numbers_here(void) {
    return sim_files_here()->numbers[sim_host_here()];
}

int sim_number_give(sim_file *file) {
    sim_number *numbers = sim_numbers_here();
    for (unsigned i = 0; i < SIM_NUMBERS; i++) {
        if (!numbers[i].file) {
            numbers[i].file = file;
            sim_acquire(&numbers[i].closed);
            sim_release(&numbers[i].given);
            sim_file_hold(file);
            sim_trace("descriptor %u is file %u", i + SIM_NUMBER_FIRST, (unsigned)file->serial);
            return (int)i + SIM_NUMBER_FIRST;
        }
    }
    return -EMFILE;
}

sim_file *sim_number_file(int fd) {
    unsigned i = (unsigned)(fd - SIM_NUMBER_FIRST);
    return fd >= SIM_NUMBER_FIRST && i < SIM_NUMBERS ? sim_numbers_here()[i].file : NULL;
}

bool sim_numbers_full(void) {
    const sim_number *numbers = sim_numbers_here();
    for (unsigned i = 0; i < SIM_NUMBERS; i++) {
        if (!numbers[i].file) {
            return false;
        }
    }
    return true;
}

/* ---- closing ---- */

/* Writes before the close go along with everything that can be seen of it. */
static void flow_close(sim_flow *flow, const sim_order *closed) {
    sim_order_add(&flow->readable, closed);
    sim_order_add(&flow->writable, closed);
    sim_order_add(&flow->end, closed);
    flow->used = flow->reader || flow->writer;
}

void sim_file_reset(sim_file *file, int error) {
    file->broken = true;
    file->error = error;
    file->in->ended = true;
    *(file->out->far ? &file->out->closing : &file->out->ended) = true;
}

static void pipe_close(sim_file *file) {
    if (file->in) {
        file->in->reader = NULL;
        flow_close(file->in, &file->closed);
        if (file->in->writer) {
            sim_file_edge(file->in->writer);
        }
    } else {
        file->out->writer = NULL;
        file->out->ended = true;
        flow_close(file->out, &file->closed);
        if (file->out->reader) {
            sim_file_edge(file->out->reader);
        }
    }
}

/* Bytes that nobody will read any more break the connection. */
static void socket_close(sim_file *file) {
    sim_file *peer = file->peer;
    sim_flow *in = file->in;
    sim_flow *out = file->out;
    bool unread = in->count != 0 || file->resets;
    in->reader = NULL;
    in->count = 0;
    in->ended = in->ended || file->as == TH_OS_STREAM;
    out->writer = NULL;
    if (out->far) {
        if (peer && unread) {
            sim_far_reset(file, peer);
        } else {
            sim_far_end(out);
        }
    } else {
        out->ended = true;
    }
    const bool far = out->far != 0;
    flow_close(in, &file->closed);
    flow_close(out, &file->closed);
    if (peer) {
        peer->peer = NULL;
    }
    if (peer && !far) {
        if (unread && !peer->broken) {
            sim_file_reset(peer, ECONNRESET);
        }
        sim_file_edge(peer);
    }
}

/* Connections that no accept has taken are reset. */
static void listener_close(sim_file *file) {
    while (file->waiting) {
        sim_file *taken = file->backlog[--file->waiting];
        if (taken->out->far) {
            taken->resets = true;
        } else if (taken->peer && !taken->peer->broken) {
            sim_file_reset(taken->peer, ECONNRESET);
        }
        sim_order_add(&taken->closed, &file->closed);
        sim_file_drop(taken);
    }
}

static void set_close(sim_file *file) {
    file->set->used = false;
    file->set->high = 0;
}

static void leave_sets(const sim_file *file) {
    sim_files *all = sim_files_here();
    for (unsigned i = 0; i < SIM_SETS; i++) {
        for (unsigned j = 0; j < all->sets[i].high; j++) {
            sim_item *item = &all->sets[i].items[j];
            item->file = item->file == file ? NULL : item->file;
        }
    }
}

void sim_file_hold(sim_file *file) {
    file->references++;
}

void sim_file_drop(sim_file *file) {
    if (--file->references) {
        return;
    }
    sim_release(&file->closed);
    sim_trace("file %u is closed", (unsigned)file->serial);
    leave_sets(file);
    switch (file->kind) {
    case SIM_PIPE:
        pipe_close(file);
        break;
    case SIM_SOCKET:
        socket_close(file);
        break;
    case SIM_LISTENER:
        listener_close(file);
        break;
    case SIM_SET:
        set_close(file);
        break;
    default:
        break;
    }
    if (file->close) {
        file->close(file);
    }
    file->kind = SIM_NOTHING;
}

/* ---- when it is ready ---- */

static bool room(sim_flow *flow, unsigned least) {
    if (SIM_ROOM - flow->count - flow->flight >= least) {
        return true;
    }
    flow->starved = true;
    return false;
}

static uint32_t pipe_ready(sim_file *file) {
    if (file->in) {
        return (file->in->count ? SIM_READY_IN : 0) | (file->in->ended ? SIM_READY_GONE : 0);
    }
    return (room(file->out, 1) ? SIM_READY_OUT : 0) | (file->out->reader ? 0 : SIM_READY_ERROR);
}

static uint32_t socket_ready(sim_file *file) {
    const sim_flow *in = file->in;
    uint32_t ready = in->count ? SIM_READY_IN : 0;
    const bool ended = sim_flow_refuses(file->out);
    if (in->ended) {
        ready |= SIM_READY_IN | SIM_READY_ENDED | (ended ? SIM_READY_GONE : 0);
    }
    if (ended || room(file->out, ROOM_TOLD)) {
        ready |= SIM_READY_OUT;
    }
    return ready | (file->error ? SIM_READY_ERROR : 0);
}

uint32_t sim_file_ready(sim_file *file) {
    switch (file->kind) {
    case SIM_PIPE:
        return pipe_ready(file);
    case SIM_SOCKET:
        return socket_ready(file);
    case SIM_LISTENER:
        return (file->waiting ? SIM_READY_IN : 0) | (file->deaf ? SIM_READY_GONE : 0);
    case SIM_WAKEUP:
        return SIM_READY_OUT | (file->count ? SIM_READY_IN : 0);
    case SIM_ALARM:
        return file->at <= sim_now() ? SIM_READY_IN : 0;
    case SIM_SET:
        return file->ready(file) ? SIM_READY_IN : 0;
    case SIM_FRESH:
        return file->connecting
                   ? 0
                   : SIM_READY_OUT | SIM_READY_GONE | (file->error ? SIM_READY_ERROR : 0);
    case SIM_DATAGRAMS:
    case SIM_RING:
        return SIM_READY_OUT | (file->ready(file) ? SIM_READY_IN : 0);
    default:
        return SIM_READY_IN | SIM_READY_OUT;
    }
}

uint32_t sim_file_bits(uint32_t ready) {
    uint32_t bits = ready & SIM_READY_IN ? TH_OS_IN : 0;
    bits |= ready & SIM_READY_OUT ? TH_OS_OUT : 0;
    bits |= ready & SIM_READY_ENDED ? TH_OS_IN | TH_OS_ODD : 0;
    bits |= ready & (SIM_READY_GONE | SIM_READY_ERROR) ? TH_OS_IN | TH_OS_OUT | TH_OS_ODD : 0;
    return bits;
}

void sim_file_seen(sim_file *file, uint32_t ready) {
    uint32_t bits = sim_file_bits(ready);
    if (file->in && bits & TH_OS_IN) {
        sim_acquire(&file->in->readable);
    }
    if (file->out && bits & TH_OS_OUT) {
        sim_acquire(&file->out->writable);
    }
    if (bits & TH_OS_IN) {
        sim_acquire(&file->order);
    }
    if (file->kind == SIM_SET && bits & TH_OS_IN) {
        file->seen(file);
    }
}

/* ---- receivers of events ---- */

/* The file of a set; a set that is closed is in no list. */
static sim_file *file_of_set(const sim_set *set) {
    sim_files *all = sim_files_here();
    for (unsigned i = 0; i < SIM_FILES; i++) {
        if (all->files[i].kind == SIM_SET && all->files[i].set == set) {
            return &all->files[i];
        }
    }
    return NULL;
}

static void tell_set(sim_set *set, const sim_file *file) {
    bool told = false;
    for (unsigned i = 0; i < set->high; i++) {
        sim_item *item = &set->items[i];
        if (item->file != file) {
            continue;
        }
        if (!item->level && !item->pending) {
            item->pending = true;
            item->turn = ++set->turns;
        }
        told = true;
    }
    if (told) {
        sim_wake_one(&set->word);
        sim_file_edge(file_of_set(set));
    }
}

/* Whether an edge would reach a set or a thread. */
static bool watched(const sim_file *file) {
    const sim_files *all = sim_files_here();
    bool found = false;
    for (unsigned i = 0; i < SIM_POLLS; i++) {
        found = found || all->polls[i].file == file;
    }
    for (unsigned i = 0; i < SIM_SETS; i++) {
        for (unsigned j = 0; j < all->sets[i].high; j++) {
            found = found || all->sets[i].items[j].file == file;
        }
    }
    return found;
}

/* A step later, unless the file is gone by then. */
static void edge_later(sim_file *file) {
    sim_files *all = sim_files_here();
    uint64_t serial = file->serial;
    if (watched(file)) {
        bool outside = all->outside;
        all->outside = false;
        sim_point();
        all->outside = outside;
    }
    if (file->kind != SIM_NOTHING && file->serial == serial) {
        sim_file_edge(file);
    }
}

void sim_file_tell(sim_file *file) {
    sim_flow *in = file->in;
    sim_flow *out = file->out;
    if (out && out->fresh) {
        out->fresh = false;
        edge_later(out->reader);
    }
    if (in && in->starved && in->writer && room(in, in->writer->kind == SIM_PIPE ? 1 : ROOM_TOLD)) {
        in->starved = false;
        edge_later(in->writer);
    }
}

void sim_file_edge(sim_file *file) {
    sim_files *all = sim_files_here();
    for (unsigned i = 0; i < SIM_POLLS; i++) {
        if (all->polls[i].file == file || all->polls[i].wakeup == file) {
            sim_wake_one(all->polls[i].at);
        }
    }
    for (unsigned i = 0; i < SIM_SETS; i++) {
        if (all->sets[i].used) {
            tell_set(&all->sets[i], file);
        }
    }
}
