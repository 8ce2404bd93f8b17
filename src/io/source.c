/*
 * source.c: poll sources (thrum/poll.h).
 *
 * A source is a serial task, which asks and then posts itself again as long as operations are under
 * way: at once while that is fresh, and else with a deadline. So it is asked by whoever has time,
 * in a task's place, and all that holds of tasks and deadlines holds of it.
 *
 * pending      Each begin counts, and then posts the task, or wakes it if it is posted. A run asks,
 *              and posts the task again unless it then reads 0. A begin that comes later posts it
 *              behind that run, since the task is serial. A begin of an external thread that is
 *              refused takes its count back: no other begin has relied on it.
 * not idle     A run that finds operations under way counts one begin more (`held`), before it
 *              asks, since `ask` may wait, and the task be posted to wait: pauses, for the
 *              scheduler. The first run that reads 0 behind `ask` counts its end, on whichever
 *              thread that is (core/ready/QUIESCENCE.md, "A begin that a later run ends").
 */
#include "base/check.h"
#include "core/state/driver.h"
#include "core/state/self_id.h"
#include "core/basis/task_word.h"
#include "core/state/worker.h"
#include "thrum/mutex.h"
#include "thrum/poll.h"
#include "thrum/sched.h"
#include "thrum/task.h"

#define BUSY_NS                                                                                    \
    TH_LIMIT(50000, 100) /* so long it is asked at each turn, after something has happened */
#define FIRST_NS TH_LIMIT(50000, 200) /* the first interval after that */
#define LAST_NS TH_LIMIT(1000000, 800)

struct thrum_source {
    thrum_task task;
    thrum_sched *sched;
    thrum_source *next; /* the scheduler's, under the lock */
    uint32_t xpending;  /* operations under way */
    uint32_t xmoves;    /* begins and ends so far, to see whether there are new ones */
    uint64_t xasker;    /* the caller of `ask`, as th_self_id, or 0 */
    bool closed;        /* under the lock */
    thrum_mutex asking; /* protects the next two, and is held while `ask` is called */
    void (*ask)(void *arg);
    void *arg;

    /* For the task's runs. */
    uint32_t seen; /* xmoves, as the last run left it */
    bool held;     /* a begin is counted that has no end yet */
    int64_t fresh; /* the time until which it is asked at each turn */
    int64_t nap;   /* the next interval */
};

/* A scheduler's sources, also closed ones. */
typedef struct sources {
    th_lock lock;
    thrum_sched *sched;
    thrum_source *first;
} sources;

/* ---- asking ---- */

/* The scheduler is no longer idle before `pending` is 0, however long the task waits meanwhile. */
static void hold(thrum_source *s, bool held) {
    if (held == s->held) {
        return;
    }
    s->held = held;
    th_activity *activity = &th_here()->activity;
    if (held) {
        th_activity_began(&activity->xreadied);
    } else {
        th_activity_ended(&activity->xsuspended);
    }
}

static void call(thrum_source *s) {
    thrum_mutex_lock(&s->asking);
    /* relaxed: the mutex orders it; close compares it with its own caller only */
    th_store_relaxed(&s->xasker, th_self_id());
    /* relaxed: a caller that closes it while nothing is pending takes the mutex */
    if (s->ask && th_load_relaxed(&s->xpending)) {
        s->ask(s->arg);
    }
    th_store_relaxed(&s->xasker, 0u); /* relaxed: as above */
    thrum_mutex_unlock(&s->asking);
}

/* Posts the task for the next time. -EBUSY: a begin has. */
static int again(thrum_source *s) {
    const thrum_time now = thrum_now();
    const uint32_t moves = th_load_relaxed(&s->xmoves); /* relaxed: a figure */
    if (moves != s->seen) {
        s->seen = moves;
        /* Without workers a turn that goes on and on would keep the thread from its own loop. */
        s->fresh = s->sched->workers_count ? now + BUSY_NS : now;
        s->nap = FIRST_NS;
    }
    hold(s, true);
    /*
     * A task that a stop has cancelled no longer waits: operations under way are then handled at
     * once.
     */
    if (now < s->fresh || thrum_task_is_cancelled(&s->task)) {
        return thrum_task_post(s->sched, &s->task);
    }
    const int64_t nap = s->nap;
    s->nap = nap < LAST_NS / 2 ? 2 * nap : LAST_NS;
    return thrum_task_post_after(s->sched, &s->task, nap);
}

static void run(thrum_task *self, void *arg) {
    thrum_source *s = arg;
    (void)self;
    /* relaxed: a begin that is missed has posted the task anew */
    if (th_load_relaxed(&s->xpending)) {
        hold(s, true);
    }
    call(s);
    /* pairs: thrum_source_end; the last end's result is ready */
    if (th_load_acquire(&s->xpending)) {
        (void)again(s);
    } else {
        hold(s, false);
    }
}

/* ---- making and ending ---- */

static void *make(thrum_sched *sched) {
    sources *all = th_sched_alloc(sched, sizeof *all);
    if (all) {
        all->sched = sched;
    }
    return all;
}

static void stop(void *instance) {
    sources *all = instance;
    thrum_sched *sched = all->sched;
    thrum_source *next;
    for (thrum_source *s = all->first; s; s = next) {
        next = s->next;
        th_sched_free(sched, s);
    }
    th_sched_free(sched, all);
}

static const th_driver driver = {.name = "sources", .make = make, .stop = stop};

/*
 * With the lock: a closed one, of which the last run is over; or NULL. Its task is not made anew: a
 * wakeup of its last end may still come, and asks once for nothing.
 */
static thrum_source *take_closed(const sources *all) {
    thrum_source *s = all->first;
    /* pairs: th_task_serial_end; the run is over */
    while (s && !(s->closed &&
                  !(th_load_acquire(&s->task.reserved_word) & (TH_TASK_TAKEN | TH_TASK_RUNNING)))) {
        s = s->next;
    }
    return s;
}

int thrum_source_open(thrum_source **out, thrum_sched *sched, void (*ask)(void *arg), void *arg) {
    sched = sched ? sched : thrum_sched_current();
    if (!out || !ask || !sched) {
        return -EINVAL;
    }
    sources *all = th_sched_driver(sched, &driver);
    if (!all) {
        return -ENOMEM;
    }
    TH_LOCKED(&all->lock);
    thrum_source *s = take_closed(all);
    if (s) {
        s->closed = false;
    } else if ((s = th_sched_alloc(sched, sizeof *s))) {
        s->sched = sched;
        thrum_task_init(&s->task, run, s);
        thrum_task_set_serial(&s->task);
        thrum_mutex_init(&s->asking);
        s->next = all->first;
        all->first = s;
    }
    if (!s) {
        return -ENOMEM;
    }
    s->ask = ask;
    s->arg = arg;
    *out = s;
    return 0;
}

int thrum_source_close(thrum_source *source) {
    if (!source) {
        return -EINVAL;
    }
    if (th_load_relaxed(&source->xasker) == th_self_id()) { /* relaxed: its own, or another's */
        return -EDEADLK;
    }
    thrum_mutex_lock(&source->asking);
    /* pairs: thrum_source_end; the ends' results */
    const bool pending = th_load_acquire(&source->xpending) != 0;
    if (!pending) {
        source->ask = NULL;
    }
    thrum_mutex_unlock(&source->asking);
    if (!pending) {
        void **slot = th_sched_driver_slot(source->sched, &driver);
        sources *all = *slot; /* it was there when the source was made */
        TH_LOCKED(&all->lock);
        source->closed = true;
    }
    return pending ? -EBUSY : 0;
}

/* ---- operations ---- */

int thrum_source_begin(thrum_source *source) {
    if (!source) {
        return -EINVAL;
    }
    th_add_relaxed(&source->xmoves, 1u); /* relaxed: a figure */
    /* relaxed: the post, or the wakeup, that follows publishes the caller's writes */
    th_add_relaxed(&source->xpending, 1u);
    int code = thrum_task_post(source->sched, &source->task);
    if (code == -EBUSY) { /* it has a run to come, perhaps at a deadline */
        thrum_task_wakeup(&source->task);
        return 0;
    }
    if (code) {
        th_sub_relaxed(&source->xpending, 1u); /* relaxed: nothing was begun */
    }
    return code;
}

void thrum_source_end(thrum_source *source) {
    th_add_relaxed(&source->xmoves, 1u); /* relaxed: a figure */
    /* pairs: run, thrum_source_close; the end's result is ready */
    const uint32_t pending = th_sub_release(&source->xpending, 1u);
    if (th_unlikely(!pending)) {
        th_misuse("thrum_source_end", "no operation is under way", source);
    }
    /* From inside `ask` its own run sees it. Else the scheduler may wait for this. */
    if (pending == 1 && th_load_relaxed(&source->xasker) != th_self_id()) { /* relaxed: as above */
        thrum_task_wakeup(&source->task);
    }
}
