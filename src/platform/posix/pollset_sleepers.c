/*
 * pollset_sleepers.c: threads that sleep in poll() for sets of descriptors; see pollset.c.
 *
 * A *sleeper* is in a list with its own wake-up, its *kick*, which signals that its poll is out of
 * date. There are as many sleepers as sets, made and closed with them, and more only while more
 * sleep at a time: so a wait is not refused for want of descriptors, and none stay open behind the
 * last set.
 *
 * All of it is protected by the lock of pollset.c.
 */
#include "platform/posix/pollset.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

static sleeper *sleepers; /* sleepers in poll() */
static sleeper *rested;   /* sleepers kept for later waits */
static unsigned made;     /* of both */
static unsigned sets;
static uint64_t turn; /* of the last wait that began */

/* ---- kicks ---- */

static bool covers(const sleeper *s, const set *of) {
    for (unsigned i = 0; i < s->sets_count; i++) {
        const set *one = th_pollset_set(s->sets[i]);
        if (one == of) {
            return true;
        }
        for (const nested *n = one ? one->nested : NULL; n; n = n->next) {
            if (n->set == of) {
                return true;
            }
        }
    }
    return false;
}

/* Makes the sleepers in this set poll anew; NULL: all of them. */
void th_pollset_kick(const set *of) {
    for (sleeper *s = sleepers; s; s = s->next) {
        if (!s->kicked && (!of || covers(s, of))) {
            s->kicked = true;
            th_poll_send(s->kick[1]);
        }
    }
}

/* Whether a kicked sleeper, up to this turn, has not left poll() yet. */
static bool is_asking(uint64_t until) {
    for (const sleeper *s = sleepers; s; s = s->next) {
        if (s->kicked && s->turn <= until) {
            return true;
        }
    }
    return false;
}

/*
 * It gives up the lock meanwhile. A descriptor stays open while poll() uses it, on Linux at least:
 * a port would stay taken, and the peer would not see that nobody reads any longer. So a call that
 * takes a descriptor out of sets waits for the threads in poll().
 */
void th_pollset_await_askers(sigset_t *before) {
    const uint64_t until = turn;
    while (is_asking(until)) {
        th_pollset_unlock(before);
        sched_yield();
        th_pollset_lock(before);
    }
}

uint64_t th_pollset_turn(void) {
    return turn;
}

/* ---- how many there are ---- */

/* A code: there is no memory or no descriptor left. */
static int make(sleeper **out) {
    sleeper *s = calloc(1, sizeof *s);
    int code = s ? th_poll_pair(s->kick) : -ENOMEM;
    if (code) {
        free(s);
        return code;
    }
    made++;
    *out = s;
    return 0;
}

static void keep(sleeper *s) {
    if (made <= sets) {
        s->next = rested;
        rested = s;
        return;
    }
    made--;
    th_poll_pair_close(s->kick);
    free(s->fds);
    free(s->asked);
    free(s);
}

static sleeper *take(sleeper **list) {
    sleeper *s = *list;
    *list = s ? s->next : NULL;
    return s;
}

/* There is a set more. A code: there is not, since it cannot have a sleeper. */
int th_pollset_comes(void) {
    sleeper *s = NULL;
    TH_KEEPS_ERRNO;
    int code = made > sets ? 0 : make(&s);
    if (!code) {
        sets++;
    }
    if (s) {
        keep(s);
    }
    return code;
}

void th_pollset_goes(void) {
    sets--;
    sleeper *s = take(&rested);
    if (s) {
        keep(s);
    }
}

/* In a fork's child: no thread sleeps here; the kicks are the parent's, waits make their own. */
void th_pollset_sleepers_forked(void) {
    const unsigned had = sets;
    sets = 0;
    for (sleeper *s; (s = take(&sleepers));) {
        keep(s);
    }
    for (sleeper *s; (s = take(&rested));) {
        keep(s);
    }
    sets = had;
}

/* ---- a wait ---- */

/* NULL: refused. */
sleeper *th_pollset_sleeper(void) {
    sleeper *s = take(&rested);
    if (!s) {
        (void)make(&s);
    }
    return s;
}

void th_pollset_sleeps(sleeper *s) {
    s->turn = ++turn;
    s->next = sleepers;
    sleepers = s;
}

void th_pollset_woke(sleeper *s) {
    (void)TH_UNLINK(&sleepers, s, next);
    if (s->kicked || (s->count && s->fds[0].revents)) {
        (void)th_poll_take_all(s->kick[0]);
    }
    s->kicked = false;
    keep(s);
}
