/*
 * call.h: calls of the system on a descriptor that are tried, and tried again when it is ready.
 */
#ifndef TH_CALL_ON_H
#define TH_CALL_ON_H

#include "io/record.h"

/* A caller inside one direction of a descriptor. */
typedef struct th_inside {
    th_record *record;
    th_direction *direction;
    unsigned index;      /* of the direction: 0 reading, 1 writing */
    uint32_t turn;       /* the record's, while the caller is inside */
    thrum_time deadline; /* of all that the caller waits for */
    bool ready;          /* the call is worth a try */
    bool told;           /* a wait has just reported it */
    bool spurious;       /* and the try has found nothing all the same */
} th_inside;

/*
 * Enters the direction THRUM_IO_READ or THRUM_IO_WRITE, waiting for others. 0 or a code. It is left
 * by th_inside_leave.
 */
int th_inside_enter(th_inside *inside, thrum_io io, unsigned direction, thrum_time deadline);

/* The same without waiting for others: -EBUSY, if another caller has the direction. */
int th_inside_try(th_inside *inside, thrum_io io, unsigned direction);

/* Before each try: waits until it is worth it. 0, or the code that ends the call. */
int th_inside_await_slow(th_inside *inside);
static inline int th_inside_await(th_inside *inside) {
    return th_likely(inside->ready) ? 0 : th_inside_await_slow(inside);
}

/* The try found the system not ready (-EAGAIN). */
static inline void th_inside_again(th_inside *inside) {
    inside->ready = false;
    inside->spurious = inside->told;
}

/* A try to read at least a byte: the system's result; *left is for th_inside_leave. */
int64_t th_inside_read(th_inside *inside, void *to, size_t size, th_leftover *left);

/*
 * Between two tries of one call, after a try that moved bytes; `left` is its finding. 0, or
 * -ETIMEDOUT: past its deadline a call tries nothing more.
 */
int th_inside_go_on(th_inside *inside, th_leftover left);

/* The finding of the tries, unless they have read less than there was room for. */
static inline th_leftover th_inside_left(const th_inside *inside) {
    return inside->ready ? TH_LEFT_MORE : TH_LEFT_NOTHING;
}

/* `left` is the last try's finding. */
void th_inside_leave(th_inside *inside, th_leftover left);

/* As thrum_writev_until; *waited: the code is a wait's, not a write's. */
int64_t th_writev_until(thrum_io io, const thrum_iovec *parts, unsigned n, thrum_time deadline,
                        bool *waited);

/* A call that is none of those above has not waited: a task yields after so many; or it has. */
void th_call_was_ready(void);
void th_call_has_waited(void);

/*
 * A call that never waits, and needs no direction: it is made with the record's lock, so that the
 * descriptor is not closed meanwhile. Returns its result, or the code for a stale thrum_io.
 */
typedef int (*th_quick_fn)(void *ctx, th_record *record);
int th_quick_on(thrum_io io, th_quick_fn call, void *ctx);

#endif
