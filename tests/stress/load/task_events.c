/*
 * task_events.c: very many tasks that wait: random signals, wakeups and delays with exact counts; a
 * million in the queue of deadlines; a million with five signals each.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

static uint64_t dice(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void *allocated(int n, size_t size) {
    void *all = calloc((size_t)n, size);
    CHECK(all != NULL);
    return all;
}

/* ---- everything at random ---- */

#define RUNS 100

typedef struct wanderer {
    thrum_task task;
    uint64_t random;
    int runs, received; /* plain: the runs of a task are ordered */
    atomic_int signals; /* signals sent to it */
    atomic_bool asks;   /* whether it stands in the list `asked` */
    struct wanderer *next;
} wanderer;

static struct {
    thrum_sched *sched;
    wanderer *all;
    int n;
    _Atomic(wanderer *) asked; /* those that need a wakeup, pushed by their bodies */
    atomic_bool over;
} wander;

/* After this call one of the threads will wake or signal it. */
static void ask_for_wakeup(wanderer *w) {
    if (atomic_exchange(&w->asks, true)) {
        return; /* what it asked for before is still to come */
    }
    wanderer *next = atomic_load(&wander.asked);
    do {
        w->next = next;
    } while (!atomic_compare_exchange_weak(&wander.asked, &next, w));
}

static void poke(wanderer *w, bool by_signal) {
    if (by_signal) {
        atomic_fetch_add(&w->signals, 1);
        thrum_task_signal(&w->task);
    } else {
        thrum_task_wakeup(&w->task);
    }
}

static void *wake_those_who_ask(void *seat) {
    uint64_t random = (uint64_t)((crew_seat *)seat)->index;
    while (!atomic_load(&wander.over)) {
        wanderer *w = atomic_exchange(&wander.asked, NULL);
        if (!w) {
            sched_yield();
        }
        while (w) {
            wanderer *next = w->next; /* it may ask again as soon as it is told */
            atomic_store(&w->asks, false);
            poke(w, dice(&random) % 2);
            w = next;
        }
    }
    return NULL;
}

static void wander_on(thrum_task *self, void *arg) {
    wanderer *w = arg;
    if (dice(&w->random) % 4 != 0) {
        w->received += thrum_task_receive_signal(self);
    }
    if (dice(&w->random) % 4 == 0) {
        wanderer *other = &wander.all[dice(&w->random) % (uint64_t)wander.n];
        poke(other, dice(&w->random) % 2);
    }
    if (++w->runs == RUNS) {
        return;
    }
    const uint64_t way = dice(&w->random) % 4;
    if (way == 0) {
        CHECK_EQ(thrum_task_post(wander.sched, self), 0);
    } else if (way == 1) {
        const thrum_time ns = (thrum_time)(dice(&w->random) % 200000);
        CHECK_EQ(thrum_task_post_after(wander.sched, self, ns), 0);
    } else {
        ask_for_wakeup(w);
        CHECK_EQ(way == 2 ? thrum_task_post_until(wander.sched, self, far_off())
                          : thrum_task_post_wait(wander.sched, self),
                 0);
    }
}

TEST(random_signals_wakeups_and_delays) {
    /* Each of many tasks runs a hundred times, once a post; no signal is lost, none made up. */
    const int n = SCALED(100000);
    rig r;
    crew beside;
    rig_begin(&r, 0);
    wander.sched = r.sched;
    wander.all = allocated(n, sizeof(wanderer));
    wander.n = n;
    crew_start(&beside, 2, wake_those_who_ask, NULL);
    for (int i = 0; i < n; i++) {
        wander.all[i].random = (uint64_t)i;
        thrum_task_init(&wander.all[i].task, wander_on, &wander.all[i]);
    }
    for (int i = 0; i < n; i++) {
        CHECK_EQ(thrum_task_post(r.sched, &wander.all[i].task), 0);
    }
    rig_wait_done(&r);
    atomic_store(&wander.over, true);
    crew_join(&beside);
    for (int i = 0; i < n; i++) {
        wanderer *w = &wander.all[i];
        const int signals = atomic_load(&w->signals);
        const bool left = thrum_task_receive_signal(&w->task);
        CHECK_EQ(w->runs, RUNS);
        CHECK(w->received + left <= signals);
        CHECK(signals == 0 || w->received + left > 0);
    }
    rig_stop(&r);
    free(wander.all);
}

/* ---- a million deadlines ---- */

typedef struct dated {
    thrum_task task;
    int runs, expired;
} dated;

static void run_dated(thrum_task *self, void *arg) {
    dated *d = arg;
    d->runs++;
    d->expired += thrum_task_is_expired(self);
}

/* Posts the last deadline first, a bad order for a heap, unless `shuffled`. */
static void check_deadlines(int n, bool shuffled, bool stopped) {
    dated *all = allocated(n, sizeof(*all));
    int *order_of = allocated(n, sizeof(*order_of));
    uint64_t random = 1;
    rig r;
    rig_begin(&r, 0);
    for (int i = 0; i < n; i++) {
        thrum_task_init(&all[i].task, run_dated, &all[i]);
        order_of[i] = n - 1 - i;
    }
    for (int i = n - 1; shuffled && i > 0; i--) {
        const int k = (int)(dice(&random) % (uint64_t)(i + 1));
        const int kept = order_of[i];
        order_of[i] = order_of[k];
        order_of[k] = kept;
    }
    const thrum_time base = far_off();
    CHECK_EQ(thrum_task_post_until(r.sched, &all[0].task, base), 0);
    const long calls = atomic_load(&r.calls);
    for (int i = 1; i < n; i++) {
        CHECK_EQ(thrum_task_post_until(r.sched, &all[i].task, base + i * (thrum_time)1000), 0);
    }
    CHECK_EQ(atomic_load(&r.calls), calls); /* nothing is allocated, however many wait */
    for (int i = 0; i < n && !stopped; i++) {
        thrum_task_wakeup(&all[order_of[i]].task);
    }
    if (stopped) {
        CHECK_EQ(thrum_sched_stop_until(r.sched, past()), -ETIMEDOUT);
    }
    rig_stop(&r);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(all[i].runs, 1);
        CHECK_EQ(all[i].expired, 0);
    }
    free(all);
    free(order_of);
}

TEST(a_million_deadlines_woken_latest_first) {
    /* The worst order for a queue that looks for the earliest; each runs once, none expired. */
    check_deadlines(SCALED(1000000), false, false);
}

TEST(a_million_deadlines_woken_at_random) {
    /* A million deadlines are taken back long before they pass, as most are in practice. */
    check_deadlines(SCALED(1000000), true, false);
}

TEST(a_million_deadlines_cancelled_by_stop) {
    /* stop_until takes all of them out, each runs once. */
    check_deadlines(SCALED(1000000), false, true);
}

TEST(a_million_deadlines_that_pass) {
    /* Deadlines within 50 ms, in no order, pass while they are being posted and after. */
    const int n = SCALED(1000000);
    dated *all = allocated(n, sizeof(*all));
    uint64_t random = 7;
    rig r;
    rig_begin(&r, 0);
    for (int i = 0; i < n; i++) {
        const thrum_time ns = (thrum_time)(dice(&random) % 50000000);
        thrum_task_init(&all[i].task, run_dated, &all[i]);
        CHECK_EQ(thrum_task_post_after(r.sched, &all[i].task, ns), 0);
    }
    rig_stop(&r);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(all[i].runs, 1);
        CHECK_EQ(all[i].expired, 1);
    }
    free(all);
}

/* ---- a million with five signals each ---- */

enum { SIGNALS = 5 };

typedef struct signaled {
    thrum_task task;
    thrum_sched *sched;
    int runs;
} signaled;

static atomic_int received;

static void take_signal(thrum_task *self, void *arg) {
    signaled *s = arg;
    CHECK(thrum_task_receive_signal(self));
    CHECK(!thrum_task_is_expired(self));
    if (++s->runs < SIGNALS) {
        CHECK_EQ(s->runs % 2 ? thrum_task_post_wait(s->sched, self)
                             : thrum_task_post_until(s->sched, self, far_off()),
                 0);
    }
    atomic_fetch_add(&received, 1);
}

TEST(a_million_tasks_with_five_signals) {
    /* Each signal is received once, by a run of its own; the last one ends the task. */
    const int n = SCALED(1000000);
    signaled *all = allocated(n, sizeof(*all));
    rig r;
    rig_begin(&r, 0);
    for (int i = 0; i < n; i++) {
        all[i].sched = r.sched;
        thrum_task_init(&all[i].task, take_signal, &all[i]);
        CHECK_EQ(thrum_task_post_wait(r.sched, &all[i].task), 0);
    }
    for (int round = 1; round <= SIGNALS; round++) {
        for (int i = 0; i < n; i++) {
            thrum_task_signal(&all[i].task);
        }
        SPIN_UNTIL(atomic_load(&received) == round * n);
    }
    rig_stop(&r);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(all[i].runs, SIGNALS);
        CHECK(!thrum_task_is_signaled(&all[i].task));
    }
    free(all);
}
