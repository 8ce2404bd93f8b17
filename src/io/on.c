/*
 * on.c: a task that is posted when a descriptor is ready.
 *
 * The task waits like any other that is posted to wait, and in addition has a place in a direction:
 * the bits PLACE of its word name that one. The step that makes the task due empties the place
 * before it queues the task; an event empties it first. So nothing finds a task there that may be
 * gone (io/DIRECTION.md, R12).
 */
#include "core/task/task.h"
#include "io/counted.h"
#include "io/named.h"
#include "thrum/io.h"
#include "thrum/sched.h"

/* The bits: the direction, and above it the number + 1. */
#define PLACES_MAX ((TH_TASK_PLACE >> (TH_TASK_PLACE_SHIFT + 1)) - 1)

static uint32_t place_of(int fd, unsigned index) {
    return (((uint32_t)fd + 1) << 1 | index) << TH_TASK_PLACE_SHIFT;
}

static void unlist(thrum_task *task, uint32_t word) {
    const uint32_t place = word >> TH_TASK_PLACE_SHIFT;
    th_record *record = th_record_at((int)(place >> 1) - 1);
    th_direction_unlist(&record->directions[place & 1], task);
}

/* For reports. The task is alive: the lock of its timers is held. */
static const void *place_in(const thrum_task *task, uint32_t word, uint32_t *turn) {
    const uint32_t place = word >> TH_TASK_PLACE_SHIFT;
    th_direction *direction = &th_record_at((int)(place >> 1) - 1)->directions[place & 1];
    return th_direction_has(direction, task, turn) ? direction : NULL;
}

/*
 * Gives the task a place. False: it has one, from a caller that may be listing it at this moment. A
 * serial task is entered by its caller, from then on until the post. Otherwise another post, whose
 * run begins meanwhile, would be mistaken for the post of this place.
 */
static bool take_place(thrum_task *task, uint32_t place) {
    if (th_task_is_serial(task) && !th_task_serial_enter(task)) {
        return false;
    }
    uint32_t old = th_load_relaxed(&task->reserved_word); /* relaxed: the exchange decides */
    do {
        if (old & TH_TASK_PLACE) {
            if (th_task_is_serial(task)) {
                th_task_serial_leave(task);
            }
            return false;
        }
        /* lock-free: it fails only when another thread changed the word */
        /* relaxed: the direction's lock publishes it */
    } while (!th_cas_relaxed(&task->reserved_word, &old, old | place));
    return true;
}

/* The task was not listed, or not posted. A serial one may be another caller's by now. */
static void leave_place(thrum_task *task, uint32_t place) {
    uint32_t old = th_load_relaxed(&task->reserved_word); /* relaxed: the exchange decides */
    /* lock-free: it fails only when another thread changed the word */
    /* relaxed: nothing to publish */
    while ((old & TH_TASK_PLACE) == place &&
           !th_cas_relaxed(&task->reserved_word, &old, old & ~TH_TASK_PLACE)) {
    }
}

static int list_and_post(th_record *record, thrum_io io, unsigned index, thrum_sched *sched,
                         thrum_task *task, thrum_time deadline) {
    const int fd = io.fd; /* the record's may be another one's by now */
    th_direction *direction = &record->directions[index];
    th_store_relaxed(&th_task_xunlist, unlist);  /* relaxed: the same in all calls */
    th_store_relaxed(&th_task_xplace, place_in); /* relaxed: as above */
    const uint32_t place = place_of(fd, index);
    if (!take_place(task, place)) {
        return -EBUSY;
    }
    int ask = th_direction_list(direction, task, &record->xturn, io.turn);
    if (ask < 0) {
        leave_place(task, place);
        if (th_task_is_serial(task)) {
            th_task_serial_leave(task);
        }
        return ask;
    }
    int code = th_task_is_serial(task) ? th_task_post_entered(sched, task, deadline)
                                       : thrum_task_post_until(sched, task, deadline);
    if (code) {
        th_direction_unlist(direction, task);
        leave_place(task, place);
    } else {
        TH_IO_COUNT(xio_posts, 1);
    }
    /* From here on the task may be gone. Readiness from before it was listed gives no event. */
    if (ask) {
        /* seq: listed before the system is asked, as in watch.c */
        th_fence_seq();
        if (th_os_io_poll(fd, index ? TH_OS_OUT : TH_OS_IN, -1, 0) != 0) {
            th_direction_tell(direction);
        }
    }
    return code;
}

int thrum_io_on_until(thrum_io io, unsigned bits, thrum_task *task, thrum_time deadline) {
    if (!task || (bits != THRUM_IO_READ && bits != THRUM_IO_WRITE)) {
        return -EINVAL;
    }
    thrum_sched *sched = thrum_sched_current();
    if (!sched) {
        return th_thread_refusal();
    }
    int code;
    th_record *record = th_record_named(io, &code);
    if (!record) {
        return code;
    }
    if ((unsigned)io.fd >= PLACES_MAX) {
        return -EMFILE;
    }
    /* relaxed: best effort, as for any post; a serial task refuses exactly */
    if (th_task_is_posted(th_load_relaxed(&task->reserved_mark))) {
        return -EBUSY;
    }
    code = th_record_join(record, io.turn, sched);
    return code ? code : list_and_post(record, io, bits == THRUM_IO_WRITE, sched, task, deadline);
}

int thrum_io_on(thrum_io io, unsigned bits, thrum_task *task) {
    return thrum_io_on_until(io, bits, task, THRUM_FOREVER);
}
