/*
 * poll.c: how workers wait for descriptors (core/worker/POLLING.md), on a bare scheduler: events
 * and wakes against going to sleep in a set, sets that other threads open, looks at the sets of
 * others. The handler of an event is the world's own: it reads a byte and opens a gate. A lost one
 * is a deadlock, or, at a moment when all threads sleep, an event in the set of a worker that is
 * parked.
 */
#include "core/ready/alarm.h"
#include "core/due/poll.h"

#include <errno.h>

#include "base/atomic.h"
#include "core/state/worker.h"
#include "platform/sim/outside.h"
#include "whole.h"

#define MS 1000000ll

static thrum_sched *sched;
static int fds[2][2];
static whole_gate gates[4];   /* the first two: that a byte came through a pipe */
static int data[2];           /* plain: the writer's earlier writes */
static th_poller *pollers[2]; /* where the pipes have been added */

/* Events are delivered one by one, and each byte is read by one of the receivers. */
static void event(th_worker *by, uint64_t key, uint32_t bits) {
    char byte;
    (void)by;
    sim_check(key < 2);
    if ((bits & TH_OS_IN) && th_os_io_read(fds[key][0], TH_OS_PIPE, &byte, 1) == 1) {
        sim_check(data[key] == 1);
        whole_open(&gates[key]);
    }
}

static void make_pipes(void) {
    for (unsigned i = 0; i < 2; i++) {
        sim_pipe(fds[i]);
        th_os_io_nonblocking(fds[i][0], true);
        th_os_io_nonblocking(fds[i][1], true);
    }
}

static void begin(unsigned workers) {
    thrum_config config = whole_config(workers);
    make_pipes();
    sched = whole_start_bare(&config);
}

static void end(void) {
    whole_stop(sched);
    for (unsigned i = 0; i < 2; i++) {
        th_os_io_close(fds[i][0]);
        th_os_io_close(fds[i][1]);
    }
    sim_check(sim_descriptors() == 0);
}

static void add(void *arg) {
    uint64_t key = (uintptr_t)arg;
    sim_check(th_poll_add(sched, fds[key][0], key, event, &pollers[key]) == 0);
}

static void add_here(thrum_task *self, void *arg) {
    whole_count(self, NULL);
    add(arg);
}

/* The writer is a thread of the program: the system orders its earlier writes. */
static void writes(void *arg) {
    uintptr_t key = (uintptr_t)arg;
    data[key] = 1;
    sim_check(th_os_io_write(fds[key][1], TH_OS_PIPE, "a", 1) == 1);
}

/* The calling thread sleeps for so long. */
static void late(int64_t ns) {
    static uint32_t xnever;
    int64_t at = th_os_now() + ns;
    while (th_os_now() < at) {
        th_os_futex_wait(&xnever, 0, at);
    }
}

/* ---- an event against going to sleep (E1) ---- */

/* The worker adds the descriptor itself: there was a byte, or there is one while it parks. */
static void added_by_worker(unsigned workers) {
    begin(workers);
    int t = sim_spawn(writes, (void *)0);
    whole_post(sched, 0, add_here, (void *)0);
    whole_pass(&gates[0]);
    sim_join(t);
    end();
    whole_ran_once(0, 1);
}

SIM_WORLD(poll_event_1, .asleep = whole_asleep) {
    added_by_worker(1);
}

SIM_WORLD(poll_event_2, .asleep = whole_asleep) {
    added_by_worker(2);
}

/* The set is there and its owner asleep in it when the second descriptor is added and ready. */
SIM_WORLD(poll_event_again, .asleep = whole_asleep) {
    begin(1);
    writes((void *)0);
    whole_post(sched, 0, add_here, (void *)0);
    whole_pass(&gates[0]);
    int t = sim_spawn(writes, (void *)1);
    add((void *)1);
    whole_pass(&gates[1]);
    sim_join(t);
    end();
    sim_check(pollers[1] == pollers[0]);
}

/* Each of two workers has a set of its own, and its own descriptor in it. */
SIM_WORLD(poll_event_each, .asleep = whole_asleep) {
    begin(2);
    for (unsigned i = 0; i < 2; i++) {
        thrum_task_init(&whole_tasks[i], add_here, (void *)(uintptr_t)i);
        thrum_task_set_worker(&whole_tasks[i], (int)i);
        sim_check(thrum_task_post(sched, &whole_tasks[i]) == 0);
    }
    int t = sim_spawn(writes, (void *)0);
    writes((void *)1);
    whole_pass(&gates[0]);
    whole_pass(&gates[1]);
    sim_join(t);
    end();
    sim_check(pollers[0] != pollers[1]);
}

/* ---- a set that another thread opens (E2) ---- */

/* An external thread opens the set of a worker that goes to sleep by its futex. */
static void opened_outside(unsigned workers) {
    begin(workers);
    int t = sim_spawn(writes, (void *)0);
    add((void *)0);
    whole_pass(&gates[0]);
    sim_join(t);
    end();
}

SIM_WORLD(poll_opened, .asleep = whole_asleep) {
    opened_outside(1);
}

SIM_WORLD(poll_opened_2, .asleep = whole_asleep) {
    opened_outside(2);
}

/* Two threads open the same set; both have bytes there already. */
SIM_WORLD(poll_opened_twice, .asleep = whole_asleep) {
    begin(1);
    writes((void *)0);
    writes((void *)1);
    int t = sim_spawn(add, (void *)0);
    add((void *)1);
    whole_pass(&gates[0]);
    whole_pass(&gates[1]);
    sim_join(t);
    sim_check(pollers[0] == pollers[1]);
    end();
}

/* A worker and an external thread open the worker's set. */
SIM_WORLD(poll_opened_by_both, .asleep = whole_asleep) {
    begin(1);
    writes((void *)0);
    writes((void *)1);
    whole_post(sched, 0, add_here, (void *)0);
    add((void *)1);
    whole_pass(&gates[0]);
    whole_pass(&gates[1]);
    end();
}

/* ---- a wake against the sleep in the set (E3, E4) ---- */

static void post_pinned(unsigned i) {
    thrum_task_init(&whole_tasks[i], whole_count, NULL);
    thrum_task_set_worker(&whole_tasks[i], 0);
    sim_check(thrum_task_post(sched, &whole_tasks[i]) == 0);
}

static void posts_two(void *arg) {
    (void)arg;
    post_pinned(1);
    post_pinned(2);
}

/* Wakes meet a worker that goes to sleep in its set, sleeps there, or gets an event there. */
SIM_WORLD(poll_wake, .asleep = whole_asleep) {
    begin(1);
    add((void *)0);
    int t = sim_spawn(posts_two, NULL);
    writes((void *)0);
    post_pinned(3);
    whole_pass(&gates[0]);
    sim_join(t);
    end();
    whole_ran_once(1, 4);
}

/*
 * The waker does not know of the set, which another thread opens while the worker goes to sleep: it
 * has it from the worker.
 */
SIM_WORLD(poll_wake_opened, .asleep = whole_asleep) {
    begin(1);
    int t = sim_spawn(posts_two, NULL);
    add((void *)0);
    writes((void *)0);
    whole_pass(&gates[0]);
    sim_join(t);
    end();
    whole_ran_once(1, 3);
}

/*
 * A second worker holds its thread and looks at the set of the first one, which goes to sleep
 * there, is woken, and has events. It does not take the wake-up.
 */
static void helps(thrum_task *self, void *arg) {
    whole_count(self, NULL);
    (void)arg;
    th_worker *here = th_here();
    for (unsigned i = 0; i < 3; i++) {
        th_store_relaxed(&sched->workers[0].poller.xlooked_at, 0u);
        (void)th_poll_help(here);
    }
}

SIM_WORLD(poll_wake_helped, .asleep = whole_asleep) {
    begin(2);
    add((void *)0);
    late(2 * MS);
    thrum_task_init(&whole_tasks[0], helps, NULL);
    thrum_task_set_worker(&whole_tasks[0], 1);
    sim_check(thrum_task_post(sched, &whole_tasks[0]) == 0);
    int t = sim_spawn(posts_two, NULL);
    writes((void *)0);
    whole_pass(&gates[0]);
    sim_join(t);
    end();
    whole_ran_once(0, 3);
}

/* ---- looks for a worker that is held up ---- */

/* Adds a descriptor, and holds its thread until the event has come, which others must look for. */
static void adds_and_holds(thrum_task *self, void *arg) {
    add_here(self, arg);
    whole_open(&gates[3]);
    whole_pass(&gates[0]);
}

static void held_up(unsigned workers) {
    begin(workers);
    int t = sim_pick(2) ? sim_spawn(writes, (void *)0) : -1;
    whole_post(sched, 0, adds_and_holds, (void *)0);
    if (t < 0) {
        whole_pass(&gates[3]);
        writes((void *)0);
    } else {
        sim_join(t);
    }
    end();
    whole_ran_once(0, 1);
}

/* The other worker sleeps: it is the sentinel, or becomes it. */
SIM_WORLD(poll_held_up, .asleep = whole_asleep_shared) {
    held_up(2);
}

SIM_WORLD(poll_held_up_3, .asleep = whole_asleep_shared) {
    held_up(3);
}

static void holds(thrum_task *self, void *arg) {
    whole_count(self, NULL);
    (void)arg;
    whole_pass(&gates[0]);
}

/*
 * All have slept, and no sentinel comes round; then the worker that has descriptors is held up by a
 * task that is pinned to it.
 */
SIM_WORLD(poll_held_up_late, .asleep = whole_asleep_shared) {
    begin(2);
    add((void *)0);
    if (sim_pick(2)) {
        late(5 * MS); /* the long sleep has begun by then */
    }
    thrum_task_init(&whole_tasks[0], holds, NULL);
    thrum_task_set_worker(&whole_tasks[0], 0);
    sim_check(thrum_task_post(sched, &whole_tasks[0]) == 0);
    writes((void *)0);
    end();
    whole_ran_once(0, 1);
}

/*
 * Its owner sleeps in a set without descriptors, and no sentinel comes round; then the first one
 * comes as the owner is woken, and held up. Whichever of the two is later has another worker look
 * (E3a).
 */
SIM_WORLD(poll_held_up_first, .asleep = whole_asleep_shared) {
    begin(2);
    add((void *)1);
    sim_check(th_os_pollset_remove(&pollers[1]->set, fds[1][0]) == 0);
    th_poll_gone(pollers[1]);
    late(5 * MS);
    int t = sim_spawn(add, (void *)0);
    thrum_task_init(&whole_tasks[0], holds, NULL);
    thrum_task_set_worker(&whole_tasks[0], 0);
    sim_check(thrum_task_post(sched, &whole_tasks[0]) == 0);
    writes((void *)0);
    whole_pass(&gates[0]);
    sim_join(t);
    end();
    whole_ran_once(0, 1);
}

/* ---- the alarm, and sets that are watched ---- */

static void add_at(unsigned worker) {
    sim_check(th_poll_add_at(sched, worker, fds[worker][0], worker, event, &pollers[worker]) == 0);
}

static void hold_first(void) {
    thrum_task_init(&whole_tasks[0], holds, NULL);
    thrum_task_set_worker(&whole_tasks[0], 0);
    sim_check(thrum_task_post(sched, &whole_tasks[0]) == 0);
}

/*
 * Each worker sleeps in its set, and has the alarm there. One is held up, and its byte comes; the
 * other one has an event of its own meanwhile, and is busy, parks, calls the alarm off or hears it.
 */
SIM_WORLD(poll_alarm, .asleep = whole_asleep_shared) {
    begin(2);
    add_at(0);
    add_at(1);
    sim_check(th_alarm_is_ready(sched));
    if (sim_pick(2)) {
        late(5 * MS);
    }
    int t = sim_spawn(writes, (void *)1);
    hold_first();
    writes((void *)0);
    whole_pass(&gates[1]);
    sim_join(t);
    end();
    whole_ran_once(0, 1);
}

/* Two have slept for long in their sets, and one is the sentinel: the alarm wakes either. */
SIM_WORLD(poll_alarm_3, .asleep = whole_asleep_shared) {
    th_poller *third;
    begin(3);
    add_at(0);
    add_at(1);
    sim_check(th_poll_add_at(sched, 2, fds[1][0], 1, event, &third) == 0); /* its set is open */
    sim_check(th_os_pollset_remove(&third->set, fds[1][0]) == 0);
    th_poll_gone(third);
    sim_check(th_alarm_is_ready(sched));
    late(5 * MS);
    hold_first();
    late(7 * MS);
    writes((void *)0);
    whole_pass(&gates[0]);
    writes((void *)1);
    whole_pass(&gates[1]);
    end();
    whole_ran_once(0, 1);
}

/* The system refuses the alarm, or has no room for it in a set: then there is none. */
SIM_WORLD(poll_alarm_refused, .refusals = 2, .asleep = whole_asleep_shared) {
    begin(2);
    for (unsigned i = 0; i < 2; i++) {
        th_poller *in;
        if (th_poll_add_at(sched, i, fds[i][0], i, event, &in) != 0) {
            sim_may_refuse(false);
            add_at(i);
        }
    }
    sim_may_refuse(false);
    hold_first();
    writes((void *)0);
    writes((void *)1);
    whole_pass(&gates[1]);
    end();
    whole_ran_once(0, 1);
}

/* Stops the hold, and not the event. */
static void holds_until_told(thrum_task *self, void *arg) {
    whole_count(self, NULL);
    (void)arg;
    whole_pass(&gates[3]);
}

/*
 * A worker does not come round for long, and the other one watches its set, and opens one for
 * that.
 */
SIM_WORLD(poll_watched, .asleep = whole_asleep_shared) {
    begin(2);
    add_at(0);
    thrum_task_init(&whole_tasks[0], holds_until_told, NULL);
    thrum_task_set_worker(&whole_tasks[0], 0);
    sim_check(thrum_task_post(sched, &whole_tasks[0]) == 0);
    late(5 * MS);
    writes((void *)0);
    whole_pass(&gates[0]);
    whole_open(&gates[3]);
    end();
    whole_ran_once(0, 1);
}

/* ---- a spare ---- */

/* Its worker is held up until the byte has come. */
static void holds_first(thrum_task *self, void *arg) {
    whole_open(&gates[3]);
    holds(self, arg);
}

/*
 * The one worker is held up, and a spare takes over, which opens the worker's set and adds to it.
 * The byte is there, or comes when all sleep; the worker goes on only when it has been read.
 */
SIM_WORLD(poll_by_spare, .heavy = true) {
    thrum_config config = whole_config(1);
    config.workers_spare = 1;
    config.stall_rescue_ms = 40;
    config.rescue_ns = 40 * MS; /* few looks of the sentinel's in that time */
    make_pipes();
    sched = whole_start(&config);
    whole_post(sched, 0, holds_first, NULL);
    whole_pass(&gates[3]);
    int t = sim_pick(2) ? sim_spawn(writes, (void *)0) : -1;
    whole_post(sched, 1, add_here, (void *)0);
    if (t < 0) {
        writes((void *)0);
    } else {
        sim_join(t);
    }
    whole_pass(&gates[0]);
    const th_poller *workers_own = &sched->workers[0].poller;
    end();
    whole_ran_once(0, 2);
    sim_check(pollers[0] == workers_own);
}

/* ---- stop ---- */

/* A stop meets a worker that goes to sleep in its set, which has an event or not. */
SIM_WORLD(poll_stop, .asleep = whole_asleep) {
    begin(1 + sim_pick(2));
    add((void *)0);
    if (sim_pick(2)) {
        writes((void *)0);
    }
    end();
}

/* The set is refused, or full: nothing is left behind, and the next one opens it. */
SIM_WORLD(poll_refused, .refusals = 3) {
    begin(1);
    th_poller *in;
    int code = th_poll_add(sched, fds[0][0], 0, event, &in);
    sim_check(code == 0 || code == -EMFILE || code == -ENFILE || code == -ENOMEM ||
              code == -ENOSPC);
    sim_check(sched->workers[0].poller.xmembers == (code ? 0 : 1));
    sim_may_refuse(false);
    if (code) {
        add((void *)0);
    }
    writes((void *)0);
    whole_pass(&gates[0]);
    end();
}
