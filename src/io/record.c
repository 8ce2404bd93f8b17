/*
 * record.c: see record.h.
 */
#include "io/record.h"

#include <errno.h>

#include "core/control/atfork.h"
#include "core/due/poll.h"
#include "core/state/driver.h"
#include "core/basis/waiter_state.h"
#include "core/state/worker.h"
#include "io/told.h"

#define CHUNK TH_LIMIT(256u, 4u)
#define CHUNKS TH_LIMIT_OR(65536u, 65u, 9u)

static th_record *xchunks[CHUNKS];

/* ---- the table ---- */

th_record *th_record_at(int fd) {
    const unsigned number = (unsigned)fd;
    if (th_unlikely(number / CHUNK >= CHUNKS)) {
        return NULL;
    }
    /* pairs: make_at; the chunk's records */
    th_record *chunk = th_load_acquire(&xchunks[number / CHUNK]);
    return th_likely(chunk) ? &chunk[number % CHUNK] : NULL;
}

/*
 * In the child of a fork, on its only thread: all descriptors that were taken over are the
 * parent's. They stay open, as in any child, and can be taken over again.
 */
static void in_child(void) {
    for (unsigned c = 0; c < CHUNKS; c++) {
        th_record *chunk = xchunks[c];
        for (unsigned i = 0; chunk && i < CHUNK; i++) {
            th_record *record = &chunk[i];
            const uint32_t turn = record->xturn;
            record->xparent = turn & 1 ? turn : record->xparent;
            record->xturn = turn + (turn & 1);
            record->xsched = NULL;
            record->xuses = 0;
            record->joined.next = NULL; /* its memory stays the parent's */
            th_lock_init(&record->lock);
            for (unsigned k = 0; k < 2; k++) {
                const th_direction *old = &record->directions[k];
                record->directions[k] =
                    (th_direction){.xword = TH_IO_CLOSING, .on = old->on, .fd = old->fd};
            }
        }
    }
}

static th_record *make_at(int fd) {
    const unsigned number = (unsigned)fd;
    th_record *record = th_record_at(fd);
    if (record || number / CHUNK >= CHUNKS) {
        return record;
    }
    th_atfork_in_child(in_child);
    th_told_begin();
    th_record *chunk = th_os_map(CHUNK * sizeof *chunk);
    if (!chunk) {
        return NULL;
    }
    for (unsigned i = 0; i < CHUNK; i++) {
        for (unsigned k = 0; k < 2; k++) {
            chunk[i].directions[k].xword = TH_IO_CLOSING; /* until it is taken over */
            chunk[i].directions[k].on = k ? TH_ON_OUTPUT : TH_ON_INPUT;
            chunk[i].directions[k].fd = (int32_t)(number / CHUNK * CHUNK + i);
        }
    }
    th_record *none = NULL;
    /* pairs: th_record_at; the chunk's records. Two threads may make one at the same time: the
     * other one's is acquired below */
    if (!th_cas_release(&xchunks[number / CHUNK], &none, chunk)) {
        th_os_unmap(chunk, CHUNK * sizeof *chunk);
    }
    return th_record_at(fd);
}

int th_record_refusal(const th_record *record, uint32_t turn) {
    /* relaxed: written before the child of the fork goes on */
    return turn && turn == th_load_relaxed(&record->xparent) ? -ESHUTDOWN : -EBADF;
}

/* ---- taking over ---- */

/* With the lock: whether the number still belongs to the record's descriptor. */
static bool is_same(th_record *record, int fd, const th_os_identity *identity) {
    const bool alike = !record->known || (record->identity.device == identity->device &&
                                          record->identity.inode == identity->inode);
    if (!record->xsched) {
        return alike;
    }
    /* A set knows its descriptors: it refuses the same one, and takes another one. No turn is 0. */
    int code = th_os_pollset_add(&record->joined.poller->set, fd, (uint32_t)fd);
    if (!code) {
        (void)th_os_pollset_remove(&record->joined.poller->set, fd);
    }
    return code == -EEXIST || (code && alike); /* else the system has no memory just now */
}

/*
 * With the lock, which is given up meanwhile: the system has given the number to another one behind
 * our back, so the calls under the old one end. False: they are being ended already.
 */
static bool end_overridden(th_record *record) {
    bool ours = th_direction_close(&record->directions[0]);
    if (ours) {
        (void)th_direction_close(&record->directions[1]);
        th_lock_release(&record->lock);
        th_direction_drain(&record->directions[0]);
        th_direction_drain(&record->directions[1]);
        th_lock_acquire(&record->lock);
        record->fd = -1; /* the number is another one's */
        th_record_end(record, false);
    }
    return ours;
}

static void open_directions(th_record *record) {
    for (unsigned i = 0; i < 2; i++) {
        th_direction *direction = &record->directions[i];
        (void)th_word32_lock_list(&direction->xword); /* a late call may look at this moment */
        direction->error = 0;
        th_word32_publish(&direction->xword, TH_IO_READY);
    }
}

/* The origin of a descriptor. */
typedef struct origin {
    th_os_kind kind;
    bool fresh; /* the system has just given out the number */
    bool alone; /* nothing else has the description */
    bool shared;
    bool pooled;
    th_file_way way;
} origin;

/* `identity`: NULL for a fresh one. */
static int take_over(thrum_io *out, int fd, origin from, const th_os_identity *identity) {
    th_record *record = make_at(fd);
    if (!record) {
        return -ENOMEM;
    }
    int code = 0;
    TH_LOCKED(&record->lock);
    uint32_t turn = record->xturn; /* written with the lock held */
    if (turn & 1) {
        bool other = from.fresh || !is_same(record, fd, identity);
        code = other && end_overridden(record) ? 0 : -EEXIST;
        turn = record->xturn;
    }
    const bool set = !code && !from.pooled && !th_os_is_socket(from.kind);
    int was = set ? th_os_io_nonblocking(fd, true) : 1;
    code = code ? code : was < 0 ? was : 0;
    if (!code) {
        record->fd = fd;
        record->kind = from.kind;
        /* relaxed: as the turn */
        th_store_relaxed(&record->xfresh, from.alone);
        record->forks = th_atfork_count();
        record->nonblocking = !was;
        record->shared = from.shared;
        record->pooled = from.pooled;
        record->way = (uint8_t)from.way;
        record->locking = false;
        record->locked = TH_OS_FILE_LOCK_NONE;
        record->known = identity != NULL;
        record->identity = identity ? *identity : (th_os_identity){0};
        record->placed = false;
        /* relaxed: no call is inside */
        th_store_relaxed(&record->xserved, NULL);
        /* relaxed: the words below publish it, and the caller gets it from here */
        th_store_relaxed(&record->xturn, turn + 1);
        open_directions(record);
        *out = (thrum_io){fd, turn + 1};
    }
    return code;
}

int th_record_adopt(thrum_io *out, int fd, th_os_kind kind, bool fresh) {
    th_os_identity identity = {0};
    int code = fresh ? 0 : th_os_io_kind(fd, &kind, &identity);
    const origin from = {.kind = kind, .fresh = fresh, .alone = fresh};
    return code ? code : take_over(out, fd, from, fresh ? NULL : &identity);
}

int th_record_wakeup(thrum_io *out) {
    const int fd = th_os_wakeup_open();
    const int code = fd < 0 ? fd : th_record_adopt(out, fd, TH_OS_OTHER, true);
    if (code && fd >= 0) {
        th_os_wakeup_close(fd);
    }
    return code;
}

int th_record_adopt_duplicate(thrum_io *out, int fd, th_os_kind kind, bool pooled) {
    const origin from = {.kind = kind, .fresh = true, .shared = true, .pooled = pooled};
    return take_over(out, fd, from, NULL);
}

int th_record_adopt_file(thrum_io *out, int fd, const th_os_identity *identity, th_file_way way) {
    const origin from = {.kind = TH_OS_FILE,
                         .fresh = !identity,
                         .alone = !identity,
                         .shared = true, /* nothing of it is changed */
                         .pooled = true,
                         .way = way};
    return take_over(out, fd, from, identity);
}

void th_record_end(th_record *record, bool remains) {
    th_joined *joined = record->xsched ? &record->joined : NULL; /* with both directions held */
    /* The system removes a descriptor that nothing duplicates any longer. */
    bool fresh = th_load_relaxed(&record->xfresh); /* relaxed: no call is inside */
    bool remove = remains || !fresh || record->forks != th_atfork_count();
    while (joined) {
        if (remove && record->fd >= 0) {
            (void)th_os_pollset_remove(&joined->poller->set, record->fd);
        }
        th_poll_gone(joined->poller);
        th_joined *next = joined->next;
        if (joined != &record->joined) {
            th_os_free(joined);
        }
        joined = next;
    }
    record->joined.next = NULL;
    th_store_relaxed(&record->xsched, NULL); /* relaxed: no call is inside */
    /* relaxed: a stale value that still sees it finds the directions closing */
    th_store_relaxed(&record->xturn, record->xturn + 1);
}

/* ---- uses ---- */

/* The word: the descriptor is left to the last use; and how many there are, in units of: */
#define LEFT 1u
#define USE 2u

th_record *th_record_use(thrum_io io, int *code) {
    th_record *record = th_record_at(io.fd);
    *code = -EBADF;
    if (!record || !io.turn) {
        return NULL;
    }
    /* pairs: th_record_give_up, th_record_hand_over; the end of the turn, if that came before */
    (void)th_add_acquire(&record->xuses, USE);
    /* relaxed: either the end of the turn is seen, or the code after that end sees this use */
    if (th_likely(th_load_relaxed(&record->xturn) == io.turn)) {
        *code = 0;
        return record;
    }
    *code = th_record_refusal(record, io.turn);
    th_record_unuse(record);
    return NULL;
}

void th_record_unuse(th_record *record) {
    uint32_t left = LEFT;
    /*
     * pairs: th_record_unuse, th_record_give_up, th_record_hand_over; this use's reads of the
     * record, and its calls pairs: th_record_unuse; the same of the other uses, all of them changes
     * of this word. ABA: LEFT is set once, and taken once
     */
    if (th_sub_release(&record->xuses, USE) == (LEFT | USE) &&
        th_cas_acquire(&record->xuses, &left, 0)) {
        (void)th_os_io_close(record->fd); /* the number was no other one's meanwhile */
    }
}

int th_record_give_up(th_record *record, int fd) {
    uint32_t seen = th_load_relaxed(&record->xuses); /* relaxed: the exchange decides */
    /* pairs: th_record_use; the end of the turn
     * pairs: th_record_unuse; the uses that have ended. Lock-free: it fails only where another use
     * begins or ends; ABA: the word is the whole state */
    while (!th_cas_acq_rel(&record->xuses, &seen, seen ? seen | LEFT : 0)) {
    }
    return seen ? 0 : th_os_io_close(fd);
}

int th_record_hand_over(th_record *record, int fd) {
    uint32_t none = 0;
    /* pairs: th_record_use, th_record_unuse; as th_record_give_up */
    if (th_likely(th_cas_acq_rel(&record->xuses, &none, 0))) {
        return fd;
    }
    const int other = th_os_io_duplicate(fd);
    (void)th_record_give_up(record, fd);
    return other;
}

/* ---- events, and their receivers ---- */

/* A ring's: no turn, and a number that no descriptor has. (is_same has keys without a turn.) */
#define KEY_OF_RING (UINT64_C(1) << 31)
static th_ring_event xring_event;

static void event(th_worker *by, uint64_t key, uint32_t bits) {
    if (th_unlikely((key & ~(KEY_OF_RING - 1)) == KEY_OF_RING)) {
        const th_ring_event on_event = th_load_relaxed(&xring_event); /* relaxed: set before */
        on_event(by, (uint32_t)(key & ~KEY_OF_RING));
        return;
    }
    th_record *record = th_record_at((int)(uint32_t)key);
    /* relaxed: an event of an earlier turn has a holder try for nothing, and that is all */
    if (th_unlikely(th_load_relaxed(&record->xturn) != (uint32_t)(key >> 32))) {
        return;
    }
    const bool odd = (bits & TH_OS_ODD) != 0;
    if (bits & TH_OS_IN) {
        th_direction_event(&record->directions[0], by, odd);
    }
    if (bits & TH_OS_OUT) {
        th_direction_event(&record->directions[1], by, odd);
    }
}

/* The scheduler is about to be freed: none of its fibers waits any longer. */
static void leave_all(void *instance) {
    const thrum_sched *sched = instance;
    for (unsigned c = 0; c < CHUNKS; c++) {
        /*
         * relaxed: the chunks that its fibers have made or used are seen, since these have ended;
         * the fields read in all records are zero from the start, or written with their locks
         */
        th_record *chunk = th_load_relaxed(&xchunks[c]);
        for (unsigned i = 0; chunk && i < CHUNK; i++) {
            th_record *record = &chunk[i];
            TH_LOCKED(&record->lock);
            for (th_joined **link = &record->joined.next; *link; link = &(*link)->next) {
                th_joined *joined = *link;
                if (joined->poller->sched == sched) {
                    *link = joined->next;
                    th_os_free(joined);
                    break;
                }
            }
            if (record->xsched == sched) { /* written with the lock held */
                th_joined *next = record->joined.next;
                thrum_sched *other = next ? next->poller->sched : NULL;
                if (next) {
                    record->joined = *next;
                    th_os_free(next);
                }
                /* relaxed: as in join */
                th_store_relaxed(&record->xsched, other);
            }
        }
    }
}

static const th_driver driver = {.name = "io", .stop = leave_all};

uint64_t th_record_ring_key(uint32_t number) {
    return KEY_OF_RING | number;
}

int th_record_add_ring(thrum_sched *sched, unsigned worker, int fd, uint32_t number,
                       th_ring_event on_event) {
    th_poller *poller;
    th_store_relaxed(&xring_event, on_event); /* relaxed: always the same one */
    return th_poll_add_at(sched, worker, fd, th_record_ring_key(number), event, &poller);
}

int th_record_prepare(thrum_sched *sched) {
    return th_poll_open(sched, event);
}

/* With the lock: whether this scheduler is notified already. */
static bool has_joined(const th_record *record, const thrum_sched *sched) {
    const th_joined *joined = record->xsched ? &record->joined : NULL;
    while (joined && joined->poller->sched != sched) {
        joined = joined->next;
    }
    return joined != NULL;
}

/* With the lock. */
static int join(th_record *record, thrum_sched *sched) {
    const uint64_t key = (uint64_t)record->xturn << 32 | (uint32_t)record->fd;
    th_joined *more = NULL;
    if (record->xsched && !(more = th_os_alloc(sizeof *more))) {
        return -ENOMEM;
    }
    th_poller *poller;
    int code = record->placed ? th_poll_add_at(sched, record->home, record->fd, key, event, &poller)
                              : th_poll_add(sched, record->fd, key, event, &poller);
    if (code == -EMFILE || code == -ENFILE) { /* this worker has no set yet, and gets none */
        code = th_poll_add_open(sched, record->fd, key, &poller);
    }
    if (code) {
        th_os_free(more);
        return code;
    }
    if (more) {
        *more = (th_joined){record->joined.next, poller};
        record->joined.next = more;
    } else {
        record->joined = (th_joined){NULL, poller};
        /*
         * relaxed: only that a set has the descriptor by now. Its readiness then makes an event,
         * before or after the reader looks (io/DIRECTION.md, R1)
         */
        th_store_relaxed(&record->xsched, sched);
    }
    return 0;
}

int th_record_join(th_record *record, uint32_t turn, thrum_sched *sched) {
    /* relaxed: as in join; the set itself is read with the lock alone */
    if (th_likely(th_load_relaxed(&record->xsched) == sched)) {
        return 0;
    }
    void **slot = th_sched_driver_slot(sched, &driver);
    if (!slot) {
        return -ENOMEM;
    }
    /* relaxed: only that there is something to leave; the stop reads it when all fibers have ended,
     * and there are no metrics of this driver's */
    th_store_relaxed(slot, (void *)sched);
    TH_LOCKED(&record->lock);
    /* Written with the lock held. A caller that holds no direction may come behind the end. */
    return record->xturn != turn ? -EBADF : has_joined(record, sched) ? 0 : join(record, sched);
}
