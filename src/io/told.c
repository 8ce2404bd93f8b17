/*
 * told.c: see told.h.
 *
 * The system is queried by number, between two reads of the turn. The turn ends before the number
 * is given back (io/DIRECTION.md, "A close"), so an answer from within the turn is about that
 * descriptor.
 */
#include "io/told.h"

#include "core/inspect/world.h"

static int number(const void *direction) {
    return ((const th_direction *)direction)->fd;
}

static bool writes(const void *direction) {
    return ((const th_direction *)direction)->on == TH_ON_OUTPUT;
}

static bool tell(const void *direction, uint32_t turn, th_told *told) {
    const bool out = writes(direction);
    if (!(turn & 1) || th_told_turn(direction) != turn) {
        return false;
    }
    int code = th_os_io_text(number(direction), out ? "to" : "from", told->text, sizeof told->text,
                             &told->listens);
    /*
     * pairs: th_record_end; the end of the turn. It comes before the number is given back, and so
     * before the system's answer about another descriptor that has the number by now
     */
    th_fence_acquire();
    return !code && th_told_turn(direction) == turn;
}

static const th_world world = {number, writes, tell};

void th_told_begin(void) {
    th_world_register(&world);
}
