/*
 * pollset_kick.c: waking threads that sleep for a set; see pollset.c.
 */
#include "platform/windows/pollset/pollset.h"

#include "base/atomic.h"

static void kick(th_sleeper *s) {
    /* pairs: sleep_until; the set's lock protects the data for the sleeper */
    if (th_xchg_acq_rel(&s->xkicked, 1u)) {
        return;
    }
    if (s->seat) {
        th_afd_nudge(s->seat->port);
    } else {
        th_os_futex_wake(&s->xkicked, 1);
    }
}

static th_sleeper *sleeper_at(th_link *place) {
    return TH_LINK_OF(place, th_place, in_set)->sleeper;
}

void th_set_kick(th_set *set) {
    for (th_link *l = set->places.next; l != &set->places; l = l->next) {
        kick(sleeper_at(l));
    }
}

/* A thread that has been kicked already checks everything. */
bool th_set_kick_one(th_set *set) {
    if (th_link_alone(&set->places)) {
        return false;
    }
    kick(sleeper_at(set->places.next));
    return true;
}

/* Threads that rely on others for this set check again. */
void th_set_kick_idle(const th_set *set) {
    for (th_link *l = set->places.next; l != &set->places; l = l->next) {
        if (!th_load_relaxed(&sleeper_at(l)->xpolls)) { /* relaxed: 1 stays 1 until it has woken */
            kick(sleeper_at(l));
        }
    }
}

void th_set_serve(th_set *set) {
    if (th_link_alone(&set->places)) {
        return;
    }
    const bool all = th_set_ask(set);
    if (!th_link_alone(&set->ready)) {
        th_set_kick(set);
    } else if (!all || (set->asked && !set->seat)) {
        th_set_kick_idle(set);
    }
}
