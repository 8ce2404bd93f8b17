/*
 * among.c: a select among channels, events, broadcast channels, ends of tasks and descriptors.
 *
 * Channels come first, and in a select of channels alone (select.c) that is all: the wait is put on
 * their lists, under all their locks, after a look that found nothing. Then it is put on the other
 * lists, one by one. If a case there can happen already, the wait takes it as a wait for several
 * events does: it claims its own word first, so that nothing else can give it anything
 * (core/wait/WAITING.md). If others have taken it meanwhile, or an event of a descriptor only meant
 * that there may be something, the wait has got nothing and begins anew. The tick of an interval is
 * a deadline of the wait, and on no list: no other caller takes it. sync/CHANNELS.md has the
 * argument.
 */
#include "select/among.h"

#include "core/wait/wait.h"
#include "platform/platform.h"
#include "select/cases.h"
#include "select/single.h"

#define NONE (-EAGAIN) /* no case can happen */

typedef struct among {
    thrum_case *cases;
    size_t n;
    thrum_time deadline;    /* the call's, or when a tick is due if that is earlier */
    bool late;              /* this round waits no longer: it is the last look */
    bool mixed;             /* there are not only channels */
    bool ordered;           /* the first case that can happen is done, not any */
    const th_case_ops *ops; /* NULL: there are none of these */
    uint32_t ready;         /* cases of `ops` that can happen, by the last ops->ask */
    int wakeup;             /* of a plain thread that has such cases; else -1 */
    th_place *places;
    size_t channels;
} among;

static inline bool is_other(const thrum_case *c) {
    return th_case_kind(c) == THRUM_CASE_OTHER;
}

static inline thrum_interval *tick_of(const thrum_case *c) {
    return c->kind == THRUM_CASE_TICK ? c->to : NULL;
}

/* ---- looking ---- */

static bool can_happen(const thrum_case *c) {
    const thrum_interval *tick = tick_of(c);
    return tick      ? th_interval_is_due(tick, th_os_now())
           : c->chan ? (c->kind == THRUM_CASE_SEND ? th_chan_can_send(c->chan)
                                                   : th_chan_can_recv(c->chan))
                     : th_single_is(c) && th_single_can(c);
}

/*
 * The number of a case that can happen, each with the same chance or the first, or NONE. While the
 * wait stands on the lists, only cases of `ops` are looked at: a rendezvous would find the wait's
 * own parts, and whatever else can happen claims the wait.
 */
static int draw(const among *a, bool stands) {
    int found = NONE;
    uint32_t count = 0;
    unsigned others = 0;
    for (size_t i = 0; i < a->n; i++) {
        const thrum_case *c = &a->cases[i];
        const bool can = is_other(c) ? (a->ready >> others++ & 1) != 0 : !stands && can_happen(c);
        if (can && (++count == 1 || (!a->ordered && th_self_random() % count == 0))) {
            found = (int)i;
        }
    }
    return found;
}

/* Asks about the cases of `ops` without waiting. 0 or a code. */
static int ask(among *a) {
    int code = a->ops ? a->ops->ask(a->cases, a->n, -1, 0, &a->ready) : 0;
    return code < 0 ? code : 0;
}

/* Does one case that can happen at once. Returns its number, NONE or a code. */
static int try_some(among *a) {
    int found = ask(a);
    while (!found &&
           (found = draw(a, false)) >= 0) { /* lock-free: a failure is another's success */
        thrum_case *c = &a->cases[found];
        int status = c->status;
        if (!is_other(c)) {
            status = c->kind == THRUM_CASE_SEND   ? thrum_chan_try_send(c->chan, c->from)
                     : c->kind == THRUM_CASE_RECV ? thrum_chan_try_recv(c->chan, c->to)
                     : tick_of(c)                 ? (thrum_interval_test(c->to) ? 0 : -EAGAIN)
                                                  : th_single_take(c);
        }
        if (status == -ENOMEM) {
            return status;
        }
        if (status != -EAGAIN) {
            c->status = status;
            return found;
        }
        found = 0;
    }
    return found;
}

/* ---- standing ---- */

/*
 * On the lists of channels, under their locks, if none of these cases can be done: returns NONE. A
 * late round of channels alone has seen all there is: -ETIMEDOUT. Else it returns the number of the
 * case that it has done, or -ENOMEM.
 */
static int stand_on_channels(among *a, th_waiter *me) {
    th_transfer transfer;
    th_cases_lock(a->places, a->channels);
    int found = th_cases_transfer(a->cases, a->n, a->ordered, &transfer);
    const bool over = a->late && !a->mixed;
    if (found == -EAGAIN && !over) {
        th_cases_stand(a->cases, a->n, a->places, me);
    }
    const size_t elem_size = found >= 0 ? a->cases[found].chan->elem_size : 0;
    th_cases_unlock(a->places, a->channels);
    if (found >= 0) {
        th_chan_conclude(&transfer, elem_size);
    }
    return found == -EAGAIN && over ? -ETIMEDOUT : found;
}

/* Whether it is a case of `ops` that is put on a list: a late round only asks about these. */
static inline bool is_listed(const among *a, const thrum_case *c) {
    return is_other(c) && !a->late;
}

/* On all others. Returns the number of a case that can happen already, NONE or a code. */
static int stand_on_others(among *a, th_waiter *me) {
    int found = NONE;
    for (size_t i = 0; i < a->n; i++) {
        const thrum_case *c = &a->cases[i];
        th_parked_op *part = &a->places[i].op;
        if (!c->chan) {
            th_waiter_init_part(&part->waiter, me, (int32_t)i);
        }
        if (th_single_is(c) && !th_single_stand(c, part, me, (int32_t)i) && found == NONE) {
            found = (int)i;
        }
        if (is_listed(a, c)) {
            a->ops->stand(c, &part->waiter);
        }
    }
    a->ready = 0;
    if (a->ops && found == NONE) {
        int code = ask(a);
        return code ? code : a->ready ? draw(a, true) : NONE;
    }
    return found;
}

/* The list of a given case may be gone: its waker may have freed the object. */
static void leave_others(among *a, int given) {
    for (size_t i = 0; i < a->n; i++) {
        const thrum_case *c = &a->cases[i];
        th_parked_op *part = &a->places[i].op;
        if (th_single_is(c)) {
            if ((int)i != given) {
                th_single_leave(c, part);
            }
        } else if (is_listed(a, c)) {
            a->ops->leave(c, &part->waiter);
        }
    }
}

/* `given`: the number of the case that a waker has given, whose list it has left; else -1. */
static inline void leave_all(among *a, int given) {
    th_cases_leave(a->cases, a->n, a->places, given);
    if (a->mixed) {
        leave_others(a, given);
    }
}

/* ---- waiting ---- */

/* A plain thread waits in the system; the claimer of its wait notifies it (th_waiter_release). */
static bool tell(void *unused, th_waiter *me) {
    (void)unused;
    th_os_wakeup_set((int)me->note - 1);
    return true;
}

/* Returns the outcome of the wait; TIMEDOUT also if the caller is to look again, or for *code. */
static uint32_t wait_in_system(among *a, th_waiter *me, int *code) {
    int found = a->ops->ask(a->cases, a->n, a->wakeup, a->deadline, &a->ready);
    *code = found < 0 ? found : 0;
    return th_waiter_claim(me, TH_WAIT_TIMEDOUT) ? TH_WAIT_TIMEDOUT : th_waiter_wait(me);
}

/*
 * The wait is on all lists, and no case can happen. Returns the number of the case that was given
 * to it, NONE if it is to begin anew, or a code.
 */
static inline int wait_for_any(among *a, th_waiter *me) {
    int code = 0;
    const bool in_system = a->wakeup >= 0 && !a->late && !th_waits_alone();
    uint32_t outcome =
        in_system ? wait_in_system(a, me, &code) : th_waiter_wait_until(me, a->deadline);
    const int given = outcome == TH_WAIT_WOKEN ? me->value : -1;
    leave_all(a, given);
    if (given < 0) {
        return in_system && outcome == TH_WAIT_TIMEDOUT ? (code ? code : NONE)
                                                        : th_waiter_result(outcome);
    }
    thrum_case *c = &a->cases[given];
    if (is_other(c)) {
        return NONE; /* there may be something: the system is asked */
    }
    c->status = a->places[given].op.status;
    return given;
}

/* One round, in which nothing could happen at once. Returns as wait_for_any. */
static int round_of(among *a) {
    th_waiter me;
    if (a->ops) {
        th_waiter_init(&me, TH_ON_AMONG, NULL);
    } else {
        th_waiter_init(&me, TH_ON_SELECT, a->n ? a->cases[0].chan : NULL);
    }
    me.timed = true;
    me.note = (uint32_t)(1 + a->wakeup);
    me.leave = a->wakeup >= 0 ? tell : NULL;
    int found = stand_on_channels(a, &me);
    if (found != NONE) {
        return found == -ENOMEM ? NONE : found; /* a segment is not allocated with locks held */
    }
    found = a->mixed ? stand_on_others(a, &me) : NONE;
    if (found == NONE || !th_waiter_claim(&me, TH_WAIT_WOKEN)) {
        return wait_for_any(a, &me);
    }
    /* Now nothing else can happen. */
    int status = 0;
    if (found >= 0 && th_single_is(&a->cases[found])) {
        status = a->cases[found].status = th_single_take(&a->cases[found]);
    }
    leave_all(a, -1);
    return status == -EAGAIN ? NONE : found;
}

static int join_all(const among *a) {
    int code = 0;
    for (size_t i = 0; i < a->n && !code; i++) {
        code = is_other(&a->cases[i]) ? a->ops->join(&a->cases[i]) : 0;
    }
    return code;
}

/* Makes all that a round needs which waits for cases of `ops`. Returns 0 or a code. */
static int prepare(among *a) {
    if (!a->ops || a->late) {
        return 0;
    }
    if (th_fiber_self()) {
        return join_all(a);
    }
    a->wakeup = th_os_wakeup_open();
    return a->wakeup < 0 ? a->wakeup : 0;
}

/*
 * The first look went through the cases one by one, so it may have missed a case at every moment,
 * each before it could happen or after. Hence a late caller makes a round as well, which does not
 * wait. A round gets nothing only if others got something.
 */
static int rounds(among *a) {
    a->late = th_is_late(a->deadline);
    int found = prepare(a);
    if (found) {
        return found;
    }
    a->channels = th_cases_sort(a->cases, a->n, a->places);
    while ((found = round_of(a)) == NONE && (found = try_some(a)) == NONE) { /* lock-free */
        a->late = a->late || th_is_late(a->deadline);
    }
    if (a->wakeup >= 0) {
        th_os_wakeup_close(a->wakeup);
    }
    return found;
}

/* ---- the whole ---- */

static TH_NOINLINE int rounds_few(among *a) {
    th_place places[TH_CASES_FEW];
    a->places = places;
    return rounds(a);
}

static TH_NOINLINE int rounds_many(among *a) {
    th_place places[THRUM_SELECT_FRAME];
    a->places = places;
    return rounds(a);
}

static TH_NOINLINE int rounds_crowd(among *a) {
    a->places = th_os_alloc(a->n * sizeof *a->places);
    if (!a->places) {
        return -ENOMEM;
    }
    int found = rounds(a);
    th_os_free(a->places);
    return found;
}

/* Whether the cases make sense; sets a->ops. */
static bool check(among *a) {
    unsigned others = 0;
    for (size_t i = 0; i < a->n; i++) {
        const thrum_case *c = &a->cases[i];
        if (is_other(c)) {
            a->ops = a->ops ? a->ops : c->from;
            if (c->chan || !c->from || c->from != a->ops || ++others > a->ops->max) {
                return false;
            }
        } else if (c->kind == THRUM_CASE_TICK || th_single_has_kind(c)
                       ? c->chan != NULL
                       : c->kind != THRUM_CASE_SEND && c->kind != THRUM_CASE_RECV) {
            return false;
        }
    }
    return true;
}

/* No case was found that could happen. */
static int wait_for_some(among *a) {
    if (a->n <= 1 && th_is_late(a->deadline)) {
        return -ETIMEDOUT; /* the look at a single case is exact */
    }
    return a->n <= TH_CASES_FEW         ? rounds_few(a)
           : a->n <= THRUM_SELECT_FRAME ? rounds_many(a)
                                        : rounds_crowd(a);
}

/* The case whose tick is due first, not after the deadline; NULL: there is none. */
static thrum_case *first_tick(const among *a, thrum_time deadline) {
    thrum_case *first = NULL;
    for (size_t i = 0; i < a->n; i++) {
        thrum_case *c = &a->cases[i];
        const thrum_interval *tick = tick_of(c);
        if (tick && tick->next <= deadline && tick->next != THRUM_FOREVER &&
            (!first || tick->next < tick_of(first)->next)) {
            first = c;
        }
    }
    return first;
}

int th_select_among(thrum_case cases[], size_t n, bool ordered, thrum_time deadline) {
    among a = {.cases = cases,
               .n = n,
               .deadline = deadline,
               .mixed = true,
               .ordered = ordered,
               .wakeup = -1};
    if (!check(&a)) {
        return -EINVAL;
    }
    thrum_case *tick = first_tick(&a, deadline);
    if (tick) {
        a.deadline = tick_of(tick)->next;
    }
    int found = try_some(&a);
    found = found != NONE ? found : wait_for_some(&a);
    if (found == -ETIMEDOUT && tick) {
        th_interval_take(tick_of(tick), th_os_now());
        tick->status = 0;
        found = (int)(tick - cases);
    }
    return found;
}

int th_select_wait(thrum_case cases[], size_t n, thrum_time deadline) {
    among a = {.cases = cases, .n = n, .deadline = deadline, .wakeup = -1};
    return wait_for_some(&a);
}
