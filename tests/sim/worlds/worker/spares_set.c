/*
 * spares_set.c: a spare that takes over for a worker with descriptors and is the sentinel: it opens
 * a set of its own, sleeps there (core/worker/POLLING.md, "The sentinel"), and is found there when
 * it is made idle again, or the scheduler ends. A spare that is woken elsewhere sleeps on:
 * a notified worker while all sleep, or a stop that does not end.
 */
#include "core/due/poll.h"

#include "base/atomic.h"
#include "core/state/worker.h"
#include "platform/platform.h"
#include "platform/sim/outside.h"
#include "spares.h"

#define SPARES 2 /* one takes over, and the other one is the monitor then */
#define MS 1000000ll

static int fds[2];
static int data;        /* plain: the writer's earlier writes */
static whole_gate came; /* a byte came through the pipe */
static th_poller *pollers[2];

static void event(th_worker *by, uint64_t key, uint32_t bits) {
    char byte;
    (void)by;
    sim_check(key == 0);
    if ((bits & TH_OS_IN) && th_os_io_read(fds[0], TH_OS_PIPE, &byte, 1) == 1) {
        sim_check(data == 1);
        whole_open(&came);
    }
}

static void writes(void *unused) {
    (void)unused;
    data = 1;
    sim_check(th_os_io_write(fds[1], TH_OS_PIPE, "a", 1) == 1);
}

static bool spare_has_set(unsigned workers) {
    for (unsigned i = 0; i < SPARES; i++) {
        if (th_poller_is_open(&spares_sched->workers[workers + i].poller)) {
            return true;
        }
    }
    return false;
}

/* As spares_asleep; and the alarm is in the sets of regular workers alone, each once. */
SIM_UNSEEN static void asleep(void) {
    const thrum_sched *s = spares_sched;
    unsigned open = 0;
    for (unsigned i = 0; s && i < s->workers_regular; i++) {
        open += s->workers[i].poller.xopen;
    }
    sim_check(!s || s->alarm.sets <= open);
    spares_asleep();
}

/* All regular workers are held up, and a spare that has run something waits for worker 0's set. */
static void begin(unsigned workers) {
    sim_pipe(fds);
    th_os_io_nonblocking(fds[0], true);
    th_os_io_nonblocking(fds[1], true);
    spares_begin(workers, SPARES, THRUM_SHARDED);
    sim_check(th_poll_add_at(spares_sched, 0, fds[0], 0, event, &pollers[0]) == 0);
    for (unsigned i = 0; i < workers; i++) {
        whole_post(spares_sched, i, spares_holds, NULL);
    }
    whole_post(spares_sched, workers, whole_count, NULL);
    while (!spare_has_set(workers)) {
        spares_sleep(10 * MS);
    }
}

static void end(unsigned workers) {
    whole_stop(spares_sched);
    whole_ran_once(0, workers + 1);
    th_os_io_close(fds[0]);
    th_os_io_close(fds[1]);
    sim_check(sim_descriptors() == 0);
}

/* The worker goes on, and all park; the spare is not wanted any longer, and is sent back. */
static void sent_back(unsigned workers) {
    begin(workers);
    whole_open(&spares_gate);
    whole_pass(&spares_passed);
    if (sim_pick(2)) {
        spares_sleep(SPARES_STAY_NS + 2 * SPARES_NS); /* it sits, or a look has just begun */
    }
    if (sim_pick(2)) {
        writes(NULL);
        whole_pass(&came);
    }
    end(workers);
}

SIM_WORLD(spares_set_back, .heavy = true, .asleep = asleep) {
    sent_back(1);
}

SIM_WORLD(spares_set_back_2, .heavy = true, .asleep = asleep) {
    sent_back(2);
}

/* An event in the set of the worker that is held up is the spare's, which waits for it. */
SIM_WORLD(spares_set_event, .heavy = true, .asleep = asleep) {
    begin(1);
    int t = sim_spawn(writes, NULL);
    whole_pass(&came);
    whole_open(&spares_gate);
    sim_join(t);
    end(1);
}

/* The stop meets the spare in its set, before it enters, being sent back, or idle. */
SIM_WORLD(spares_set_stop, .heavy = true) {
    begin(1);
    whole_open(&spares_gate);
    if (sim_pick(2)) {
        spares_sleep(SPARES_STAY_NS - SPARES_NS / 2 + (int64_t)sim_pick(4) * SPARES_NS / 2);
    }
    end(1);
}
