/*
 * world.h: descriptors that are waited for, in words. The layer that knows them (io) registers its
 * functions here; the core has only the addresses of directions.
 *
 * A direction's memory stays for ever, and its number with it. The number's owner changes: a wait
 * notes the *turn*, and nothing is reported of a descriptor whose turn is over, since its number
 * may be another one's by now.
 */
#ifndef TH_WORLD_H
#define TH_WORLD_H

#include "core/state/worker.h"
#include "platform/platform.h"
#include "thrum/task.h"

typedef struct th_told {
    bool listens;             /* it is a listener */
    char text[TH_OS_IO_TEXT]; /* as th_os_io_text has it; may hold any bytes */
} th_told;

typedef struct th_world {
    int (*number)(const void *direction);  /* the descriptor's number */
    bool (*writes)(const void *direction); /* whether it is the direction of writing */
    /*
     * Queries the system about the descriptor: true, if the turn has not ended before the query.
     * It takes none of the library's locks.
     */
    bool (*tell)(const void *direction, uint32_t turn, th_told *told);
} th_world;

/* By any thread, before the first wait; always the same one. */
void th_world_register(const th_world *world);
/* That one; never NULL for a caller that has the address of a direction. */
const th_world *th_world_known(void);

/* ---- tasks that wait for a descriptor (thrum_io_on) ---- */

typedef struct th_listed {
    const thrum_task *task; /* not to be dereferenced */
    uintptr_t fn;
    const void *direction;
    uint32_t turn;
    int64_t deadline; /* or TH_FOREVER */
} th_listed;

#define TH_LISTED_MAX TH_LIMIT(64u, 2u) /* visited at a time, as a rule */

/* How far they have been visited; {0} to begin with. */
typedef struct th_listed_cursor {
    unsigned timers; /* the set of timers */
    uint64_t passed; /* of its tasks */
} th_listed_cursor;

/*
 * Visits the next ones of a scheduler, at most max: how many, 0 for none left. Tasks that come and
 * go meanwhile may be missing, or there twice.
 */
unsigned th_world_listed(thrum_sched *sched, th_listed_cursor *at, th_listed out[], unsigned max);

#endif
