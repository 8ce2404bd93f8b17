/*
 * chan.c: the channel: send, receive and close, and its store. chan.h has its parts;
 * sync/CHANNELS.md has the argument.
 */
#include "sync/chan.h"

#include "core/state/thread.h"
#include "core/task/await.h"
#include "platform/platform.h"
#include "sync/part.h"
#include "sync/wordlock.h"

/* A segment of the unbounded store holds about this many bytes, but at least this many elements. */
#define SEGMENT_BYTES TH_LIMIT(4096, 16)
#define SEGMENT_ELEMS TH_LIMIT(16, 2)

/* The deadline of a call that does not wait, but returns -EAGAIN. */
#define TRY INT64_MIN

/* ---- when there are no waiters: a lock, a copy, an unlock ---- */

/* False: elements of this size are not copied without a call. */
static inline bool copy_small(void *to, const void *from, size_t size) {
    if (th_likely(size == 8)) {
        memcpy(to, from, 8);
    } else if (size == 4) {
        memcpy(to, from, 4);
    } else if (size == 16) {
        memcpy(to, from, 16);
    } else {
        return false;
    }
    return true;
}

/* With the lock, which it gives up if it has sent. False: the send is not as simple as that. */
static inline bool put_and_unlock(thrum_chan *chan, const void *from) {
    uint32_t flags = th_chan_flags(chan);
    size_t size = flags >> TH_CHAN_SMALL_SHIFT;
    size_t count = th_chan_count(chan);
    char *put = chan->put;
    if (th_likely((flags & (TH_CHAN_RECEIVERS | TH_CHAN_CLOSED)) == 0) &&
        th_likely(count < chan->capacity) && th_likely(put != chan->put_end) &&
        th_likely(copy_small(put, from, size))) {
        chan->put = put + size;
        th_chan_set_count(chan, count + 1);
        th_chan_unlock(chan);
        return true;
    }
    return false;
}

/* The same for a receive. */
static inline bool take_and_unlock(thrum_chan *chan, void *to) {
    uint32_t flags = th_chan_flags(chan);
    size_t size = flags >> TH_CHAN_SMALL_SHIFT;
    size_t count = th_chan_count(chan);
    char *take = chan->take;
    if (th_likely((flags & TH_CHAN_SENDERS) == 0) && th_likely(count > 0) &&
        th_likely(take != chan->take_end) && th_likely(copy_small(to, take, size))) {
        chan->take = take + size;
        th_chan_set_count(chan, count - 1);
        th_chan_unlock(chan);
        return true;
    }
    return false;
}

/* ---- send and receive ---- */

static int wait_at(thrum_chan *chan, th_on on, const void *from, void *to, thrum_time deadline);
static int send_growing(thrum_chan *chan, const void *from);

static inline void conclude(const th_transfer *transfer, size_t elem_size) {
    if (transfer->op || transfer->gone) {
        th_chan_conclude(transfer, elem_size);
    }
}

/* With the lock, which it gives up. */
static TH_NOINLINE int send_locked(thrum_chan *chan, const void *elem, thrum_time deadline) {
    th_transfer transfer;
    int result = th_chan_transfer_send(chan, elem, &transfer);
    if (result == -EAGAIN && deadline != TRY) {
        return wait_at(chan, TH_ON_SEND, elem, NULL, deadline);
    }
    size_t elem_size = chan->elem_size;
    th_chan_unlock(chan);
    conclude(&transfer, elem_size);
    return th_unlikely(result == -ENOMEM) ? send_growing(chan, elem) : result;
}

static TH_NOINLINE int recv_locked(thrum_chan *chan, void *elem, thrum_time deadline) {
    th_transfer transfer;
    int result = th_chan_transfer_recv(chan, elem, &transfer);
    if (result == -EAGAIN && deadline != TRY) {
        return wait_at(chan, TH_ON_RECEIVE, NULL, elem, deadline);
    }
    size_t elem_size = chan->elem_size;
    th_chan_unlock(chan);
    conclude(&transfer, elem_size);
    return result;
}

/* Sends when another caller held the lock. */
static TH_NOINLINE int send_contended(thrum_chan *chan, const void *elem, thrum_time deadline) {
    th_chan_lock_slow(chan);
    return put_and_unlock(chan, elem) ? 0 : send_locked(chan, elem, deadline);
}

static TH_NOINLINE int recv_contended(thrum_chan *chan, void *elem, thrum_time deadline) {
    th_chan_lock_slow(chan);
    return take_and_unlock(chan, elem) ? 0 : recv_locked(chan, elem, deadline);
}

/* It calls only at its end, so that it needs no frame; recv_until likewise. */
static inline int send_until(thrum_chan *chan, const void *elem, thrum_time deadline) {
    if (th_unlikely(!th_chan_lock_try(chan))) {
        return send_contended(chan, elem, deadline);
    }
    return th_likely(put_and_unlock(chan, elem)) ? 0 : send_locked(chan, elem, deadline);
}

static inline int recv_until(thrum_chan *chan, void *elem, thrum_time deadline) {
    if (th_unlikely(!th_chan_lock_try(chan))) {
        return recv_contended(chan, elem, deadline);
    }
    return th_likely(take_and_unlock(chan, elem)) ? 0 : recv_locked(chan, elem, deadline);
}

int thrum_chan_send(thrum_chan *chan, const void *elem) {
    return send_until(chan, elem, THRUM_FOREVER);
}

/* All deadlines in the past are alike, so a user's TRY is moved by one. */
int thrum_chan_send_until(thrum_chan *chan, const void *elem, thrum_time deadline) {
    return send_until(chan, elem, deadline == TRY ? TRY + 1 : deadline);
}

int thrum_chan_recv(thrum_chan *chan, void *elem) {
    return recv_until(chan, elem, THRUM_FOREVER);
}

int thrum_chan_recv_until(thrum_chan *chan, void *elem, thrum_time deadline) {
    return recv_until(chan, elem, deadline == TRY ? TRY + 1 : deadline);
}

int thrum_chan_try_send(thrum_chan *chan, const void *elem) {
    return th_chan_can_send(chan) ? send_until(chan, elem, TRY) : -EAGAIN;
}

int thrum_chan_try_recv(thrum_chan *chan, void *elem) {
    return th_chan_can_recv(chan) ? recv_until(chan, elem, TRY) : -EAGAIN;
}

TH_NOINLINE void th_chan_conclude(const th_transfer *transfer, size_t elem_size) {
    if (transfer->from && transfer->to) {
        th_chan_copy(transfer->to, transfer->from, elem_size);
    }
    if (transfer->op) {
        th_waiter_let_go(&transfer->op->waiter); /* afterwards the parked operation may be gone */
    }
    if (transfer->gone) {
        th_os_free(transfer->gone);
    }
}

/* The number of elements in a segment. */
static inline size_t in_segment(const thrum_chan *chan) {
    size_t n = SEGMENT_BYTES / chan->elem_size;
    return n < SEGMENT_ELEMS ? SEGMENT_ELEMS : n;
}

/* Sends when a segment is needed: allocates one without the lock. */
static TH_NOINLINE int send_growing(thrum_chan *chan, const void *from) {
    th_segment *fresh = th_os_alloc(sizeof *fresh + in_segment(chan) * chan->elem_size);
    if (!fresh) {
        return -ENOMEM;
    }
    th_transfer transfer;
    th_chan_lock(chan);
    if (!chan->spare) {
        chan->spare = fresh;
        fresh = NULL;
    }
    int result =
        th_chan_transfer_send(chan, from, &transfer); /* it finds room, since there is a spare */
    size_t elem_size = chan->elem_size;
    th_chan_unlock(chan);
    conclude(&transfer, elem_size);
    if (fresh) {
        th_os_free(fresh);
    }
    return result;
}

/* ---- waiting ---- */

TH_NOINLINE void th_chan_lock_slow(thrum_chan *chan) {
    unsigned spins = 0;
    do {
        th_stand_back();
        /* relaxed: the exchange decides */
        while (th_load_relaxed(&chan->xlock) != 0) {
            th_backoff(&spins);
        }
    } while (!th_chan_lock_try(chan));
}

bool th_chan_leave(thrum_chan *chan, uint32_t side, th_waiter *waiter) {
    th_chan_lock(chan);
    bool listed = th_waitlist_leave(th_chan_list(chan, side), waiter);
    if (listed) { /* else it may be closed: a store would end the release sequence of the close */
        th_chan_mark(chan, side);
    }
    th_chan_unlock(chan);
    return listed;
}

static inline uint32_t side_of(const th_waiter *waiter) {
    return waiter->on == TH_ON_SEND ? TH_CHAN_SENDERS : TH_CHAN_RECEIVERS;
}

static bool leave(void *chan, th_waiter *waiter) {
    return th_chan_leave(chan, side_of(waiter), waiter);
}

_Static_assert(offsetof(th_await, from) == offsetof(th_parked_op, from) &&
                   offsetof(th_await, to) == offsetof(th_parked_op, to) &&
                   offsetof(th_await, status) == offsetof(th_parked_op, status),
               "a channel takes it for a parked operation");

/* For a waiter of no stack: sends, or receives. */
static int stand(void *object, th_waiter *waiter, bool late) {
    thrum_chan *chan = object;
    th_parked_op *me = (th_parked_op *)(void *)waiter;
    th_transfer transfer;
    th_chan_lock(chan);
    int code = waiter->on == TH_ON_SEND ? th_chan_transfer_send(chan, me->from, &transfer)
                                        : th_chan_transfer_recv(chan, me->to, &transfer);
    if (code == -EAGAIN && !late) {
        th_chan_push(chan, side_of(waiter), me);
        return 0;
    }
    size_t elem_size = chan->elem_size;
    th_chan_unlock(chan);
    conclude(&transfer, elem_size);
    code = code == -ENOMEM ? send_growing(chan, me->from) : code;
    return code == -EAGAIN ? -ETIMEDOUT : code ? code : 1;
}

static const th_wait_kind sends = {
    .on = TH_ON_SEND, .stand = stand, .leave = leave, .locked = sizeof(uint32_t)};
static const th_wait_kind receives = {
    .on = TH_ON_RECEIVE, .stand = stand, .leave = leave, .locked = sizeof(uint32_t)};
_Static_assert(offsetof(thrum_chan, xlock) == 0, "as a th_wait_kind says");

/* With the lock, which it gives up. After the wake the channel may be gone. */
static TH_NOINLINE int wait_at(thrum_chan *chan, th_on on, const void *from, void *to,
                               thrum_time deadline) {
    const bool timed = deadline != THRUM_FOREVER;
    th_parked_op me; /* set field by field, since it is large */
    me.from = from;
    me.to = to;
    me.status = 0;
    th_waiter_init_for(&me.waiter, on, chan, timed, leave);
    th_chan_push(chan, side_of(&me.waiter), &me);
    int code = th_wait_queued(&sends, chan, &me.waiter, timed, deadline);
    return code ? code : me.status;
}

int thrum_chan_send_on_until(thrum_chan *chan, const void *elem, thrum_await *await,
                             thrum_task *task, thrum_time deadline) {
    int code = th_await_init(await, task, &sends, chan);
    if (code) {
        return code;
    }
    th_await_of(await)->from = elem;
    return th_await_standing(await, deadline);
}

int thrum_chan_recv_on_until(thrum_chan *chan, void *elem, thrum_await *await, thrum_task *task,
                             thrum_time deadline) {
    int code = th_await_init(await, task, &receives, chan);
    if (code) {
        return code;
    }
    th_await_of(await)->to = elem;
    return th_await_standing(await, deadline);
}

/* ---- several elements at once ---- */

/*
 * Takes the elements that are there. Their senders are concluded after the unlock: until then they
 * are a chain through `next`, and so are the segments to be freed.
 */
int64_t thrum_chan_try_recv_many(thrum_chan *chan, void *elems, size_t max) {
    th_waiter *senders = NULL;
    th_waiter **link = &senders;
    th_segment *gone = NULL;
    size_t n = 0;
    int code = max ? 0 : -EINVAL;
    th_chan_lock(chan);
    const size_t elem_size = chan->elem_size;
    while (n < max) {
        th_transfer transfer;
        void *to = elem_size ? (char *)elems + n * elem_size : elems;
        code = th_chan_transfer_recv(chan, to, &transfer);
        if (code) {
            break;
        }
        n++;
        if (transfer.op) {
            transfer.op->to = transfer.from ? to : NULL; /* a rendezvous: it is yet to be copied */
            *link = &transfer.op->waiter;
            link = &transfer.op->waiter.next;
        }
        if (transfer.gone) {
            transfer.gone->next = gone;
            gone = transfer.gone;
        }
    }
    th_chan_unlock(chan);
    *link = NULL;
    while (senders) {
        th_parked_op *op = (th_parked_op *)(void *)senders;
        senders = senders->next;
        th_chan_conclude(&(th_transfer){.op = op, .from = op->to ? op->from : NULL, .to = op->to},
                         elem_size);
    }
    while (gone) {
        th_segment *next = gone->next;
        th_os_free(gone);
        gone = next;
    }
    return n ? (int64_t)n : code;
}

int64_t thrum_chan_recv_many_until(thrum_chan *chan, void *elems, size_t max, thrum_time deadline) {
    int64_t n = thrum_chan_try_recv_many(chan, elems, max);
    if (n != -EAGAIN) {
        return n;
    }
    int code = thrum_chan_recv_until(chan, elems, deadline);
    return code ? code : 1; /* the channel may be gone */
}

int64_t thrum_chan_recv_many(thrum_chan *chan, void *elems, size_t max) {
    return thrum_chan_recv_many_until(chan, elems, max, THRUM_FOREVER);
}

/* ---- closing ---- */

int thrum_chan_close(thrum_chan *chan) {
    th_chan_lock(chan);
    if ((th_chan_flags(chan) & TH_CHAN_CLOSED) != 0) {
        th_chan_unlock(chan);
        return -EPIPE;
    }
    th_waiter *senders = th_waitlist_detach(th_chan_list(chan, TH_CHAN_SENDERS));
    th_waiter *receivers = th_waitlist_detach(th_chan_list(chan, TH_CHAN_RECEIVERS));
    th_waiter *closers = th_waitlist_detach(th_chan_closers(chan));
    /* pairs: thrum_chan_is_closed; publishes the caller's writes */
    th_store_release(&chan->xflags, (th_chan_flags(chan) & ~(TH_CHAN_SENDERS | TH_CHAN_RECEIVERS)) |
                                        TH_CHAN_CLOSED);
    th_chan_unlock(chan);
    th_chan_turn_away(senders);
    th_chan_turn_away(receivers);
    th_waitlist_wake_all(closers);
    return 0;
}

bool thrum_chan_is_closed(const thrum_chan *chan) {
    /* pairs: thrum_chan_close; the writes before it */
    return (th_load_acquire(&chan->xflags) & TH_CHAN_CLOSED) != 0;
}

bool th_closed_stand(thrum_chan *chan, th_waiter *part) {
    th_chan_lock(chan);
    const bool closed = (th_chan_flags(chan) & TH_CHAN_CLOSED) != 0;
    if (!closed) {
        th_waitlist_push(th_chan_closers(chan), part);
    }
    th_chan_unlock(chan);
    return !closed;
}

void th_closed_leave(thrum_chan *chan, th_waiter *part) {
    th_chan_lock(chan);
    (void)th_waitlist_leave(th_chan_closers(chan), part);
    th_chan_unlock(chan);
}

/* ---- the store ---- */

/* The first byte of a segment's elements. */
static inline char *elements_of(th_segment *segment) {
    return (char *)(segment + 1);
}

static inline char *end_of(const thrum_chan *chan, th_segment *segment) {
    return elements_of(segment) + in_segment(chan) * chan->elem_size;
}

/* To be called when `put` is at its end. False: a segment is needed, and there is no spare. */
TH_NOINLINE bool th_store_turn_put(thrum_chan *chan) {
    if (chan->elem_size == 0) {
        return true;
    }
    if (chan->ring) {
        chan->put = chan->ring;
        return true;
    }
    if (th_chan_count(chan) == 0 && chan->segment) { /* it is drained, and used again */
        chan->put = chan->take = elements_of(chan->segment);
        return true;
    }
    th_segment *next = chan->spare;
    if (!next) {
        return false;
    }
    chan->spare = NULL;
    next->next = NULL;
    chan->put = elements_of(next);
    chan->put_end = end_of(chan, next);
    if (chan->last) {
        chan->last->next = next;
    } else {
        chan->segment = next;
        chan->take = chan->put;
        chan->take_end = chan->put_end;
    }
    chan->last = next;
    return true;
}

/* To be called when `take` is at its end and elements follow. Returns a segment to be freed. */
TH_NOINLINE th_segment *th_store_turn_take(thrum_chan *chan) {
    if (chan->elem_size == 0) {
        return NULL;
    }
    if (chan->ring) {
        chan->take = chan->ring;
        return NULL;
    }
    th_segment *drained = chan->segment;
    chan->segment = drained->next;
    chan->take = elements_of(chan->segment);
    chan->take_end = end_of(chan, chan->segment);
    if (chan->spare) {
        return drained;
    }
    chan->spare = drained;
    return NULL;
}

/* ---- the beginning and the end ---- */

int thrum_chan_create(thrum_chan **out, size_t elem_size, size_t capacity) {
    size_t head = (sizeof(thrum_chan) + 15) & ~(size_t)15;
    size_t limit = PTRDIFF_MAX - head - TH_CACHE_LINE;
    bool bounded = capacity != THRUM_UNBOUNDED;
    if (!out || elem_size > limit / SEGMENT_ELEMS ||
        (bounded && elem_size != 0 && capacity > limit / elem_size)) {
        return -EINVAL;
    }
    size_t ring_size = bounded ? elem_size * capacity : 0;
    char *block = th_os_alloc(head + TH_CACHE_LINE + ring_size);
    if (!block) {
        return -ENOMEM;
    }
    /* The channel begins at a cache line, which it shares with nothing else. */
    uintptr_t pad = (uintptr_t)block % TH_CACHE_LINE;
    char *at = pad == 0 ? block : block + (TH_CACHE_LINE - pad);
    thrum_chan *chan = (thrum_chan *)(void *)at;
    *chan = (thrum_chan){.capacity = capacity, .elem_size = elem_size, .block = block};
    if (elem_size == 4 || elem_size == 8 || elem_size == 16) {
        chan->xflags = (uint32_t)elem_size << TH_CHAN_SMALL_SHIFT;
    }
    if (bounded) {
        chan->ring = at + head;
        chan->put = chan->take = chan->ring;
        chan->put_end = chan->take_end = chan->ring + ring_size;
    }
    *out = chan;
    return 0;
}

int thrum_chan_destroy(thrum_chan *chan) {
    if (!chan) {
        return 0;
    }
    th_chan_lock(chan);
    if ((th_chan_flags(chan) & (TH_CHAN_SENDERS | TH_CHAN_RECEIVERS)) != 0 ||
        !th_waitlist_is_empty(th_chan_closers(chan))) {
        th_chan_unlock(chan);
        return -EBUSY;
    }
    while (chan->segment) {
        th_segment *next = chan->segment->next;
        th_os_free(chan->segment);
        chan->segment = next;
    }
    th_os_free(chan->spare);
    th_os_free(chan->block);
    return 0;
}

size_t thrum_chan_len(const thrum_chan *chan) {
    return th_chan_count(chan);
}
