/*
 * policy_even.c: fibers that yield in turn are served evenly, by each policy.
 */
/* wrap: th_os_ticks */
#include "support/support.h"

#define FIBERS_MAX 2000

/*
 * With one worker its clock of ticks stands: then the queues alone decide whose turn it is. Where
 * runs are long the inject queue comes first after some time, whatever came in between.
 */
static atomic_bool ticks_stand;

uint64_t __real_th_os_ticks(void);
uint64_t __wrap_th_os_ticks(void);

uint64_t __wrap_th_os_ticks(void) {
    return atomic_load(&ticks_stand) ? 1 : __real_th_os_ticks();
}

typedef struct race {
    int fibers;
    int steps;
    int made[FIBERS_MAX]; /* steps of each; read by others only with one worker */
    int at[1001];         /* with one worker: how many fibers have made so many steps */
    int least;            /* with one worker: the fewest that any has made */
    int spread;           /* with one worker: how far one ever was ahead of another */
    atomic_int ended;     /* fibers that have ended */
    atomic_int progress[FIBERS_MAX];
    int behind; /* with several: what the last had left when the first ended */
    bool alone; /* there is one worker */
    thrum_event gate;
    thrum_waitgroup waiting, running;
} race;

static race the_race;

/* For one worker: nothing else runs meanwhile. */
static NO_TSAN void note_step(race *r, int i) {
    const int made = ++r->made[i];
    r->at[made - 1]--;
    r->at[made]++;
    while (r->at[r->least] == 0) {
        r->least++;
    }
    r->spread = made - r->least > r->spread ? made - r->least : r->spread;
}

static void note_end(race *r) {
    if (atomic_fetch_add(&r->ended, 1) > 0) {
        return;
    }
    for (int i = 0; i < r->fibers; i++) {
        const int left = r->steps - atomic_load(&r->progress[i]);
        r->behind = left > r->behind ? left : r->behind;
    }
}

static int yield_in_turn(void *arg) {
    race *r = &the_race;
    const int i = (int)(intptr_t)arg;
    thrum_waitgroup_done(&r->waiting);
    CHECK_EQ(thrum_event_wait(&r->gate), 0);
    for (int step = 0; step < r->steps; step++) {
        if (r->alone) {
            note_step(r, i);
        }
        atomic_fetch_add(&r->progress[i], 1);
        thrum_yield();
    }
    note_end(r);
    thrum_waitgroup_done(&r->running);
    return 0;
}

static int race_main(void *arg) {
    race *r = arg;
    for (intptr_t i = 0; i < r->fibers; i++) {
        CHECK_EQ(thrum_go(yield_in_turn, (void *)i), 0);
    }
    CHECK_EQ(thrum_waitgroup_wait(&r->waiting), 0);
    thrum_event_signal(&r->gate);
    CHECK_EQ(thrum_waitgroup_wait(&r->running), 0);
    return 0;
}

static void run_race(thrum_policy policy, unsigned workers, int fibers, int steps) {
    race *r = &the_race;
    rig g;
    rig_init(&g);
    g.config.workers = workers;
    g.config.policy = policy;
    memset(r, 0, sizeof(*r));
    r->fibers = fibers;
    r->steps = steps;
    r->at[0] = fibers;
    r->alone = workers == 1;
    thrum_event_init(&r->gate, THRUM_EVENT_MANUAL, false);
    thrum_waitgroup_init(&r->waiting, (unsigned)fibers);
    thrum_waitgroup_init(&r->running, (unsigned)fibers);
    atomic_store(&ticks_stand, r->alone);
    rig_start(&g);
    CHECK_EQ(rig_run(&g, race_main, r), 0);
    rig_stop(&g);
    for (int i = 0; i < fibers; i++) {
        CHECK_EQ(atomic_load(&r->progress[i]), steps);
    }
}

static void show(thrum_policy policy, const char *what, int value) {
    static const char *const names[] = {"sharded", "fifo", "global"};
    printf("%s, %s %d\n", names[policy], what, value);
}

TEST(one_worker_serves_yielding_fibers_evenly) {
    /*
     * No fiber gets two turns while another waits for its first: one is ahead by one, at most, but
     * for the pick in 61 that does not take what is ready.
     */
    for (thrum_policy policy = THRUM_SHARDED; policy <= THRUM_GLOBAL; policy++) {
        run_race(policy, 1, 200, SCALED(500));
        show(policy, "one worker, 200 fibers: the furthest was ahead by", the_race.spread);
        CHECK(the_race.spread <= 1 + 200 / 61);
    }
}

TEST(one_worker_serves_more_fibers_than_its_queue_holds) {
    /*
     * Beyond the queue of yields its older half goes to the inject queue, and comes back by 256: a
     * fiber that is caught in that loses a turn or two, no more.
     */
    for (thrum_policy policy = THRUM_SHARDED; policy <= THRUM_GLOBAL; policy++) {
        run_race(policy, 1, FIBERS_MAX, SCALED(100));
        show(policy, "one worker, 2000 fibers: the furthest was ahead by", the_race.spread);
        CHECK(the_race.spread <= 4);
    }
}

TEST(several_workers_bring_all_yielding_fibers_to_their_end) {
    /* How far the last is behind when the first ends depends on the machine, too: it is shown. */
    for (thrum_policy policy = THRUM_SHARDED; policy <= THRUM_GLOBAL; policy++) {
        run_race(policy, 4, 200, SCALED(500));
        show(policy, "four workers, 200 fibers of 500 steps: the last was behind by",
             the_race.behind);
    }
}
