/*
 * fork.c: forks and joins (src/parallel/README.md): the owner against thieves and rescuers.
 *
 * First on workers that are nothing but their forks: threads that fork, and threads that steal,
 * rescue, and run queued work. The records lie in memory that is freed after the join, so a thread
 * that still touches one is seen; the calls touch plain data.
 */
#include <errno.h>

#include "core/ready/quiesce_sum.h"
#include "core/state/worker.h"
#include "core/task/fork_call.h"
#include "crew.h"
#include "parallel/forking.h"
#include "platform/platform.h"
#include "whole.h"

#define FORKS 4
#define THIEVES_MAX 2

static struct {
    thrum_sched sched;
    th_worker workers[1 + THIEVES_MAX];
    th_lock lock; /* protects the next one */
    th_chain queued;
    uint32_t xover;
    uint32_t xcalls;
    bool twice; /* a pop is repeated, as by a join that follows a take_back */
} mini;

static th_fork *forks;
static int given[FORKS]; /* plain: the owner's writes before the fork */
static int done[FORKS];  /* plain: the calls' writes */

static void submit(th_worker *worker, th_work *work, unsigned hint) {
    (void)worker;
    (void)hint;
    th_lock_acquire(&mini.lock);
    th_chain_append(&mini.queued, work);
    th_lock_release(&mini.lock);
}

static const th_policy queue_only = {.submit = submit};

static int call(void *arg) {
    int *input = arg;
    done[input - given] = *input + 1;
    th_add_relaxed(&mini.xcalls, 1u);
    return *input + 2;
}

static void begin(unsigned thieves, bool can_order) {
    mini.sched.workers = mini.workers;
    mini.sched.workers_count = 1 + thieves;
    mini.sched.workers_regular = 1 + thieves;
    mini.sched.xworkers_end = 1 + thieves;
    mini.sched.policy = &queue_only;
    mini.sched.can_order = can_order;
    mini.sched.fork_call = th_fork_call;
    for (unsigned i = 0; i <= thieves; i++) {
        th_worker *worker = &mini.workers[i];
        worker->sched = &mini.sched;
        worker->policy = &queue_only;
        worker->index = i;
        worker->home = (th_fiber){.worker = worker, .sched = &mini.sched, .body = i > 0};
        worker->current = &worker->home;
        th_random_seed(&worker->random, i + 1);
        th_forks_init(&worker->forks, true);
    }
}

/* ---- thieves ---- */

static th_work *take_queued(void) {
    th_lock_acquire(&mini.lock);
    th_work *work = th_chain_take(&mini.queued);
    th_lock_release(&mini.lock);
    return work;
}

static void thieve(th_worker *worker, bool rescues) {
    th_thread_becomes(worker);
    while (!th_load_acquire(&mini.xover)) {
        th_work *work = rescues && sim_pick(2) ? th_forks_rescue(worker) : th_forks_steal(worker);
        work = work ? work : take_queued();
        if (work) {
            ((th_call *)work)->fn((th_call *)work);
            th_activity_ended(&worker->activity.xfinished);
        } else {
            th_os_relax();
        }
    }
    th_thread_becomes(NULL);
}

static void thief(void *arg) {
    thieve(arg, false);
}

static void rescuer(void *arg) {
    thieve(arg, true);
}

/* ---- the owner ---- */

static void push(unsigned i) {
    forks[i].fn = call;
    forks[i].arg = &given[i];
    given[i] = (int)(10 * i + sim_pick(2));
    done[i] = 0;
    th_fork_push(&mini.workers[0], &forks[i]);
}

static void pop(unsigned i) {
    bool mine = th_fork_pop(&forks[i], "");
    sim_check(mine || !mini.twice || !th_fork_pop(&forks[i], ""));
    int result = mine ? call(&given[i]) : th_fork_wait(&forks[i]);
    sim_check(done[i] == given[i] + 1);
    sim_check(result == given[i] + 2);
}

/* Forks and joins in some order that nests; now and then it acts like a suspend. */
static void fork_and_join(unsigned steps, bool gives) {
    unsigned count = 0;
    unsigned calls = 0;
    forks = sim_alloc(FORKS * sizeof *forks);
    for (unsigned i = 0; i < steps; i++) {
        unsigned what = sim_pick(gives ? 4 : 3);
        if (what == 3) {
            th_forks_give_all(&mini.workers[0]);
        } else if (count == 0 || (what && count < FORKS)) {
            push(count++);
            calls++;
        } else {
            pop(--count);
        }
    }
    while (count) {
        pop(--count);
    }
    th_forks_end(&mini.workers[0]);
    sim_free(forks);
    sim_check(th_load_relaxed(&mini.xcalls) == calls);
}

static void play(unsigned thieves, void (*part)(void *), bool can_order, unsigned steps,
                 bool gives) {
    int threads[THIEVES_MAX];
    begin(thieves, can_order);
    th_thread_becomes(&mini.workers[0]);
    for (unsigned i = 0; i < thieves; i++) {
        threads[i] = sim_spawn(part, &mini.workers[1 + i]);
    }
    fork_and_join(steps, gives);
    th_store_release(&mini.xover, 1u);
    for (unsigned i = 0; i < thieves; i++) {
        sim_join(threads[i]);
    }
    th_thread_becomes(NULL);
    sim_check(!mini.queued.first);
}

/* One fork is offered, and taken back or stolen; then another at the same place. */
SIM_WORLD(fork_offered) {
    play(1, thief, false, 4, false);
}

/* Some forks stay private until the one before them was stolen; the array of two overflows. */
SIM_WORLD(fork_exposed) {
    play(1, thief, false, 8, false);
}

/* Two thieves meet at one slot. */
SIM_WORLD(fork_two_thieves) {
    play(2, thief, false, 6, false);
}

/* The owner pops its last private fork while a rescuer moves the head over it. */
SIM_WORLD(fork_rescued) {
    play(1, rescuer, true, 8, false);
}

/* Two rescuers meet at one lock; the barrier may fail. */
SIM_WORLD(fork_two_rescuers, .refusals = 2) {
    play(2, rescuer, true, 6, false);
}

/*
 * The owner suspends in between: forks that were offered, private or just being rescued are queued
 * once.
 */
SIM_WORLD(fork_given) {
    play(1, thief, false, 7, true);
}
SIM_WORLD(fork_given_rescued) {
    play(1, rescuer, true, 7, true);
}

/* A fork that could not be taken back is joined: whichever thread has it, nobody gives it back. */
SIM_WORLD(fork_taken_back) {
    mini.twice = true;
    play(1, sim_pick(2) ? rescuer : thief, true, 7, true);
}

/* ---- counts ---- */

static void join_counted(unsigned i) {
    th_worker *worker = &mini.workers[0];
    if (th_fork_pop(&forks[i], "")) {
        call(&given[i]);
        return;
    }
    th_activity_ended(&worker->activity.xsuspended);
    th_fork_wait(&forks[i]);
    th_activity_began(&worker->activity.xreadied);
}

/* Checks a few times whether nothing runs. */
static void observer(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 3; i++) {
        if (th_quiesce_now(&mini.sched, TH_QUIESCE_NOW)) {
            sim_check(done[0] == given[0] + 1 && done[1] == given[1] + 1);
            return;
        }
    }
}

/*
 * One task forks two and joins them, by suspending where they are gone. A thread that finds the
 * sums of the counts equal finds all calls made: their takers were counted before the task can have
 * suspended.
 */
SIM_WORLD(fork_counted) {
    forks = sim_alloc(FORKS * sizeof *forks);
    begin(1, true);
    th_worker *worker = &mini.workers[0];
    th_thread_becomes(worker);
    th_activity_began(&worker->activity.xcreated);
    int thread = sim_spawn(rescuer, &mini.workers[1]);
    int looks = sim_spawn(observer, NULL);
    push(0);
    push(1);
    join_counted(1);
    join_counted(0);
    th_forks_end(worker);
    th_activity_ended(&worker->activity.xfinished);
    th_store_release(&mini.xover, 1u);
    sim_join(thread);
    sim_join(looks);
    th_thread_becomes(NULL);
    sim_free(forks);
}

/* ---- on a scheduler ---- */

static thrum_sem sem;
static int sums[2]; /* plain */

static int child(void *arg) {
    *(int *)arg += 1;
    return 7;
}

static int posts(void *arg) {
    *(int *)arg += 1;
    thrum_sem_post(&sem);
    return 8;
}

static int waits_for_child(void *arg) {
    (void)arg;
    thrum_fork first;
    thrum_fork second;
    thrum_fork_start(&first, child, &sums[0]);
    thrum_fork_start(&second, posts, &sums[1]);
    sim_check(thrum_sem_wait(&sem) == 0);
    sim_check(thrum_fork_join(&second) == 8 && sums[1] == 1);
    sim_check(thrum_fork_join(&first) == 7 && sums[0] == 1);
    crew_scrub();
    return 0;
}

static thrum_sched *start(thrum_fn fn) {
    thrum_config config = whole_config(2);
    config.policy = sim_pick(2) ? THRUM_SHARDED : THRUM_GLOBAL;
    thrum_sched *sched = whole_start(&config);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    sim_check(thrum_go_with(&attr, fn, NULL) == 0);
    return sched;
}

/* A task suspends with an offered and a private fork: both calls are made, by any worker. */
SIM_WORLD(fork_suspends_sched, .heavy = true, .asleep = whole_asleep) {
    thrum_sem_init(&sem, 0);
    whole_stop(start(waits_for_child));
    sim_check(sums[0] == 1 && sums[1] == 1);
}

static int forks_two(void *arg) {
    (void)arg;
    thrum_fork outer;
    thrum_fork inner;
    thrum_fork_start(&outer, child, &sums[0]);
    thrum_fork_start(&inner, child, &sums[1]);
    sim_check(thrum_fork_join(&inner) == 7);
    sim_check(thrum_fork_join(&outer) == 7);
    sim_check(sums[0] == 1 && sums[1] == 1);
    crew_scrub();
    return 0;
}

/* A scheduler is not idle while a stolen call runs or its owner waits: thieves are counted. */
SIM_WORLD(fork_idle_sched, .heavy = true, .asleep = whole_asleep) {
    thrum_sched *sched = start(forks_two);
    sim_check(thrum_sched_wait_idle(sched, THRUM_FOREVER) == 0);
    sim_check(sums[0] == 1 && sums[1] == 1);
    whole_stop(sched);
}

static int flags[6];

static void each(size_t begin, size_t end, void *ctx) {
    (void)ctx;
    for (size_t i = begin; i < end; i++) {
        flags[i]++;
        if (i == 2) {
            thrum_yield();
        }
    }
}

static int loops(void *arg) {
    (void)arg;
    sim_check(thrum_parallel_for(0, 6, 1, each, NULL) == 0);
    for (unsigned i = 0; i < 6; i++) {
        sim_check(flags[i] == 1);
    }
    return 0;
}

/* A loop is divided while a thief is hungry, and goes on when a piece gives way. */
SIM_WORLD(fork_loop_sched, .heavy = true, .asleep = whole_asleep) {
    whole_stop(start(loops));
    sim_check(flags[0] == 1);
}
