/*
 * bcast.c: the broadcast channel.
 *
 *   position  the number of an element, from 0 on
 *   cell      the place of all elements whose positions are equal modulo the number of cells
 *   stamp     the first word of a cell: 2 * position + 1 while that element is written,
 *             2 * position + 2 once it is there, 0 at first
 *
 *     word    bit 0  LOCKED    the list lock (wordlock.h); it is the senders' lock as well
 *             bit 1  WAITERS   the list is not empty
 *             bit 2  CLOSED    nothing is sent any more; the list is empty
 *
 * Only a sender with the lock writes cells and xhead. A receiver copies an element without the
 * lock and then looks at the stamp again: if it has changed, so may have the bytes. A receiver
 * waits only if its position is xhead, which is decided with the lock. So the next sender takes all
 * waiters off the list, and after the unlock copies its element to each of them. sync/CHANNELS.md
 * has the argument.
 */
#include "thrum/bcast.h"

#include "core/state/thread.h"
#include "core/task/await.h"
#include "platform/platform.h"
#include "sync/part.h"
#include "sync/wordlock.h"

#define CLOSED 4u

/* The fewest cells: a peek begins anew only if that many elements are sent while it copies. */
#define CELLS_MIN 4u

struct thrum_bcast {
    uint32_t xword; /* see the top */
    void *first;    /* the list of waiting receivers */
    void *last;
    uint64_t xhead;   /* the position of the next element; written with the lock */
    size_t elem_size; /* this and all below is constant */
    size_t stride;    /* of a cell, in words */
    uint64_t mask;    /* the number of cells less one */
    uint64_t *cells;
    void *block; /* the allocation */
};

static inline th_waitlist list_of(thrum_bcast *bcast) {
    return (th_waitlist){&bcast->first, &bcast->last};
}

static inline uint64_t *cell_of(const thrum_bcast *bcast, uint64_t position) {
    return bcast->cells + (size_t)(position & bcast->mask) * bcast->stride;
}

static inline uint64_t stamp_of(uint64_t position) {
    return 2 * position + 2;
}

/* ---- cells ---- */

/* With the lock. */
static void write_cell(thrum_bcast *bcast, uint64_t position, const char *from) {
    uint64_t *cell = cell_of(bcast, position);
    /* relaxed: whoever reads a word below finds this stamp or a later one */
    th_store_relaxed(&cell[0], stamp_of(position) - 1);
    size_t left = bcast->elem_size;
    for (size_t i = 1; i < bcast->stride; i++) {
        uint64_t word = 0;
        const size_t size = left < sizeof word ? left : sizeof word;
        memcpy(&word, from, size);
        /* pairs: read_cell; publishes the stamp above */
        th_store_release(&cell[i], word);
        from += size;
        left -= size;
    }
    /* pairs: stamp_at; publishes the element, and the caller's writes */
    th_store_release(&cell[0], stamp_of(position));
}

static inline uint64_t stamp_at(const thrum_bcast *bcast, uint64_t position) {
    /* pairs: write_cell; the element and the writes before its send */
    return th_load_acquire(&cell_of(bcast, position)[0]);
}

/* Copies the element, whose stamp was there. False: it was overwritten meanwhile. */
static bool read_cell(const thrum_bcast *bcast, uint64_t position, char *to) {
    const uint64_t *cell = cell_of(bcast, position);
    size_t left = bcast->elem_size;
    for (size_t i = 1; i < bcast->stride; i++) {
        /* pairs: write_cell; the stamp of the sender that wrote the word */
        const uint64_t word = th_load_acquire(&cell[i]);
        const size_t size = left < sizeof word ? left : sizeof word;
        memcpy(to, &word, size);
        to += size;
        left -= size;
    }
    /* relaxed: the words' loads come first */
    return th_load_relaxed(&cell[0]) == stamp_of(position);
}

static inline uint64_t head_of(const thrum_bcast *bcast) {
    /* pairs: thrum_bcast_send; the elements before it, and the writes before their sends */
    return th_load_acquire(&bcast->xhead);
}

/* ---- receiving without waiting ---- */

/* The cell of the receiver's next element has the stamp of a later one. */
static TH_NOINLINE int miss(thrum_bcast_receiver *receiver, uint64_t stamp) {
    const thrum_bcast *bcast = receiver->reserved_bcast;
    const uint64_t head = head_of(bcast);
    const uint64_t seen = (stamp - 1) / 2 + 1; /* the head may be an older one */
    const uint64_t oldest = (head > seen ? head : seen) - bcast->mask - 1;
    receiver->reserved_missed = oldest - receiver->reserved_next;
    receiver->reserved_next = oldest;
    return -EOVERFLOW;
}

/* 0, -EOVERFLOW or -EAGAIN. */
static int take_next(thrum_bcast_receiver *receiver, void *elem) {
    const thrum_bcast *bcast = receiver->reserved_bcast;
    const uint64_t next = receiver->reserved_next;
    uint64_t stamp = stamp_at(bcast, next);
    if (stamp < stamp_of(next)) {
        return -EAGAIN;
    }
    if (th_likely(stamp == stamp_of(next)) && th_likely(read_cell(bcast, next, elem))) {
        receiver->reserved_next = next + 1;
        return 0;
    }
    return miss(receiver, stamp == stamp_of(next) ? stamp_at(bcast, next) : stamp);
}

/* Copies the newest element. Returns its position plus 1; 0: there is none. */
static uint64_t copy_newest(const thrum_bcast *bcast, void *elem, uint64_t beyond) {
    uint64_t head;
    do { /* lock-free: a failure is the success of several senders */
        head = head_of(bcast);
        if (head <= beyond) {
            return 0;
        }
    } while (stamp_at(bcast, head - 1) != stamp_of(head - 1) || !read_cell(bcast, head - 1, elem));
    return head;
}

static int take_latest(thrum_bcast_receiver *receiver, void *elem) {
    uint64_t head = copy_newest(receiver->reserved_bcast, elem, receiver->reserved_next);
    if (!head) {
        return -EAGAIN;
    }
    receiver->reserved_next = head;
    return 0;
}

static inline int take(thrum_bcast_receiver *receiver, void *elem, bool latest) {
    return latest ? take_latest(receiver, elem) : take_next(receiver, elem);
}

/* Whether the channel was closed, with all elements visible that were sent before. */
static inline bool is_closed(const thrum_bcast *bcast) {
    /* pairs: th_word32_publish; the senders' writes, and those before the close */
    return (th_load_acquire(&bcast->xword) & CLOSED) != 0;
}

static int try_recv(thrum_bcast_receiver *receiver, void *elem, bool latest) {
    int code = take(receiver, elem, latest);
    if (code == -EAGAIN && is_closed(receiver->reserved_bcast)) {
        code = take(receiver, elem, latest);
        return code == -EAGAIN ? -EPIPE : code;
    }
    return code;
}

int thrum_bcast_try_recv(thrum_bcast_receiver *receiver, void *elem) {
    return try_recv(receiver, elem, false);
}

int thrum_bcast_try_recv_latest(thrum_bcast_receiver *receiver, void *elem) {
    return try_recv(receiver, elem, true);
}

int thrum_bcast_peek(const thrum_bcast *bcast, void *elem) {
    return copy_newest(bcast, elem, 0) ? 0 : -EAGAIN;
}

uint64_t thrum_bcast_missed(const thrum_bcast_receiver *receiver) {
    return receiver->reserved_missed;
}

/* ---- waiting ---- */

static bool leave(void *object, th_waiter *me) {
    thrum_bcast *bcast = object;
    return th_word32_leave(&bcast->xword, list_of(bcast), me, CLOSED);
}

/*
 * Puts the waiter on the list and keeps the lock, if there is nothing after the receiver's
 * position. False: there is, or the channel is closed.
 */
static bool enlist(thrum_bcast *bcast, uint64_t next, th_waiter *me) {
    uint32_t seen = th_word32_lock_list(&bcast->xword);
    /* relaxed: exact with the lock */
    if ((seen & CLOSED) != 0 || th_load_relaxed(&bcast->xhead) != next) {
        th_word32_publish(&bcast->xword, seen);
        return false;
    }
    th_waitlist_push(list_of(bcast), me);
    return true;
}

static TH_ALWAYS_INLINE int stand(void *object, th_waiter *me, bool late, bool latest) {
    th_parked_op *op = (th_parked_op *)(void *)me;
    thrum_bcast_receiver *receiver = (void *)(uintptr_t)op->from;
    for (;;) {
        int code = try_recv(receiver, op->to, latest);
        if (code != -EAGAIN) {
            return code ? code : 1;
        }
        if (late) {
            return -ETIMEDOUT;
        }
        if (enlist(object, receiver->reserved_next, me)) {
            return 0;
        }
    }
}

static int stand_next(void *object, th_waiter *me, bool late) {
    return stand(object, me, late, false);
}

static int stand_latest(void *object, th_waiter *me, bool late) {
    return stand(object, me, late, true);
}

/* A waiter that is queued keeps the list lock. */
static const th_wait_kind next_waits = {.on = TH_ON_BCAST,
                                        .stand = stand_next,
                                        .leave = leave,
                                        .locked = sizeof(uint32_t),
                                        .unlocked = TH_WORD_WAITERS};
static const th_wait_kind latest_waits = {.on = TH_ON_BCAST,
                                          .stand = stand_latest,
                                          .leave = leave,
                                          .locked = sizeof(uint32_t),
                                          .unlocked = TH_WORD_WAITERS};
_Static_assert(offsetof(thrum_bcast, xword) == 0, "as a th_wait_kind says");

static TH_ALWAYS_INLINE int wait(const th_wait_kind *kind, thrum_bcast_receiver *receiver,
                                 void *elem, thrum_time deadline) {
    const bool timed = deadline != THRUM_FOREVER;
    thrum_bcast *bcast = receiver->reserved_bcast;
    th_parked_op me;
    me.from = receiver;
    me.to = elem;
    me.status = 0;
    th_waiter_init_for(&me.waiter, TH_ON_BCAST, bcast, timed, leave);
    int code = th_wait_with(kind, bcast, &me.waiter, timed, deadline);
    return code ? code : me.status;
}

static TH_NOINLINE int wait_next(thrum_bcast_receiver *receiver, void *elem, thrum_time deadline) {
    return wait(&next_waits, receiver, elem, deadline);
}

static TH_NOINLINE int wait_latest(thrum_bcast_receiver *receiver, void *elem,
                                   thrum_time deadline) {
    return wait(&latest_waits, receiver, elem, deadline);
}

int thrum_bcast_recv_until(thrum_bcast_receiver *receiver, void *elem, thrum_time deadline) {
    int code = take_next(receiver, elem);
    return th_likely(code != -EAGAIN) ? code : wait_next(receiver, elem, deadline);
}

int thrum_bcast_recv(thrum_bcast_receiver *receiver, void *elem) {
    return thrum_bcast_recv_until(receiver, elem, THRUM_FOREVER);
}

int thrum_bcast_recv_latest_until(thrum_bcast_receiver *receiver, void *elem, thrum_time deadline) {
    int code = take_latest(receiver, elem);
    return th_likely(code != -EAGAIN) ? code : wait_latest(receiver, elem, deadline);
}

int thrum_bcast_recv_latest(thrum_bcast_receiver *receiver, void *elem) {
    return thrum_bcast_recv_latest_until(receiver, elem, THRUM_FOREVER);
}

static int recv_on(const th_wait_kind *kind, thrum_bcast_receiver *receiver, void *elem,
                   thrum_await *await, thrum_task *task, thrum_time deadline) {
    int code = th_await_init(await, task, kind, receiver->reserved_bcast);
    if (code) {
        return code;
    }
    th_await_of(await)->from = receiver;
    th_await_of(await)->to = elem;
    return th_await_standing(await, deadline);
}

int thrum_bcast_recv_on_until(thrum_bcast_receiver *receiver, void *elem, thrum_await *await,
                              thrum_task *task, thrum_time deadline) {
    return recv_on(&next_waits, receiver, elem, await, task, deadline);
}

int thrum_bcast_recv_latest_on_until(thrum_bcast_receiver *receiver, void *elem, thrum_await *await,
                                     thrum_task *task, thrum_time deadline) {
    return recv_on(&latest_waits, receiver, elem, await, task, deadline);
}

/* ---- cases of a select ---- */

static inline thrum_bcast_receiver *receiver_of(const thrum_case *c) {
    return (void *)(uintptr_t)c->from;
}

bool th_bcast_can(const thrum_case *c) {
    const thrum_bcast_receiver *receiver = receiver_of(c);
    const thrum_bcast *bcast = receiver->reserved_bcast;
    return head_of(bcast) > receiver->reserved_next || is_closed(bcast);
}

int th_bcast_take(const thrum_case *c) {
    return try_recv(receiver_of(c), c->to, c->kind == THRUM_CASE_BCAST_LATEST);
}

bool th_bcast_stand(const thrum_case *c, th_parked_op *part) {
    const thrum_bcast_receiver *receiver = receiver_of(c);
    thrum_bcast *bcast = receiver->reserved_bcast;
    part->from = receiver;
    part->to = c->to;
    part->status = 0;
    if (!enlist(bcast, receiver->reserved_next, &part->waiter)) {
        return false;
    }
    th_word32_publish(&bcast->xword, TH_WORD_WAITERS);
    return true;
}

void th_bcast_leave(const thrum_case *c, th_parked_op *part) {
    (void)leave(receiver_of(c)->reserved_bcast, &part->waiter);
}

/* ---- sending and closing ---- */

/* A woken receiver may be gone, so its `next` is read before; the channel may be gone, too. */
static TH_NOINLINE void pass(th_waiter *chain, const void *elem, size_t elem_size, uint64_t next) {
    while (chain) {
        th_parked_op *op = (th_parked_op *)(void *)chain;
        thrum_bcast_receiver *receiver = (void *)(uintptr_t)op->from;
        th_waiter *behind = chain->next;
        th_chan_copy(op->to, elem, elem_size);
        receiver->reserved_next = next;
        th_waiter_let_go(chain);
        chain = behind;
    }
}

int thrum_bcast_send(thrum_bcast *bcast, const void *elem) {
    uint32_t seen = th_word32_lock_list(&bcast->xword);
    if (th_unlikely((seen & CLOSED) != 0)) {
        th_word32_publish(&bcast->xword, seen);
        return -EPIPE;
    }
    /* relaxed: written with the lock */
    const uint64_t position = th_load_relaxed(&bcast->xhead);
    const size_t elem_size = bcast->elem_size;
    write_cell(bcast, position, elem);
    /* pairs: head_of; publishes the cell, and the caller's writes */
    th_store_release(&bcast->xhead, position + 1);
    th_waiter *chain = (seen & TH_WORD_WAITERS) != 0 ? th_waitlist_detach(list_of(bcast)) : NULL;
    th_word32_publish(&bcast->xword, 0);
    if (chain) {
        pass(chain, elem, elem_size, position + 1);
    }
    return 0;
}

int thrum_bcast_close(thrum_bcast *bcast) {
    uint32_t seen = th_word32_lock_list(&bcast->xword);
    if ((seen & CLOSED) != 0) {
        th_word32_publish(&bcast->xword, seen);
        return -EPIPE;
    }
    th_waiter *chain = th_waitlist_detach(list_of(bcast));
    th_word32_publish(&bcast->xword, CLOSED);
    th_chan_turn_away(chain);
    return 0;
}

/* ---- the beginning and the end ---- */

int thrum_bcast_create(thrum_bcast **out, size_t elem_size, size_t capacity) {
    const size_t limit = PTRDIFF_MAX / 4;
    if (!out || capacity == 0 || elem_size > limit || capacity > limit) {
        return -EINVAL;
    }
    size_t count = CELLS_MIN;
    while (count < capacity) {
        count *= 2;
    }
    const size_t stride = 1 + (elem_size + sizeof(uint64_t) - 1) / sizeof(uint64_t);
    if (count > limit / sizeof(uint64_t) / stride) {
        return -EINVAL;
    }
    const size_t size = count * stride * sizeof(uint64_t);
    const size_t head = (sizeof(thrum_bcast) + TH_CACHE_LINE - 1) / TH_CACHE_LINE * TH_CACHE_LINE;
    char *block = th_os_alloc(head + TH_CACHE_LINE + size);
    if (!block) {
        return -ENOMEM;
    }
    /* It begins at a cache line, and so do the cells. */
    const uintptr_t pad = (uintptr_t)block % TH_CACHE_LINE;
    char *at = pad == 0 ? block : block + (TH_CACHE_LINE - pad);
    thrum_bcast *bcast = (thrum_bcast *)(void *)at;
    *bcast = (thrum_bcast){.elem_size = elem_size,
                           .stride = stride,
                           .mask = count - 1,
                           .cells = (uint64_t *)(void *)(at + head),
                           .block = block};
    memset(bcast->cells, 0, size);
    *out = bcast;
    return 0;
}

int thrum_bcast_destroy(thrum_bcast *bcast) {
    if (!bcast) {
        return 0;
    }
    /* pairs: th_word32_publish; the caller sees all that the last calls wrote */
    if ((th_load_acquire(&bcast->xword) & (TH_WORD_LOCKED | TH_WORD_WAITERS)) != 0) {
        return -EBUSY;
    }
    th_os_free(bcast->block);
    return 0;
}

void thrum_bcast_subscribe(thrum_bcast *bcast, thrum_bcast_receiver *receiver) {
    *receiver = (thrum_bcast_receiver){.reserved_bcast = bcast, .reserved_next = head_of(bcast)};
}
