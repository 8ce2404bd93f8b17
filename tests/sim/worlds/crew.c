/*
 * crew.c: see crew.h.
 */
#include "crew.h"

#include "base/atomic.h"
#include "core/ready/external.h"
#include "core/due/poll.h"
#include "core/due/timer.h"
#include "core/state/driver.h"
#include "core/state/worker.h"
#include "core/wait/switch.h"
#include "core/state/poller.h"
#include "platform/platform.h"
#include "platform/sim/controller.h"

#define WORKERS 2
#define STACK ((size_t)16384)

/* ---- plain threads ---- */

void crew_threads(const crew_play *play) {
    int threads[CREW_MAX];
    play->before();
    for (unsigned i = 1; i < play->n; i++) {
        threads[i] = sim_spawn(play->parts[i], NULL);
    }
    play->parts[0](NULL);
    for (unsigned i = 1; i < play->n; i++) {
        sim_join(threads[i]);
    }
    if (play->after) {
        play->after();
    }
}

/* ---- fibers on a ready list ---- */

typedef struct member {
    th_fiber fiber; /* first: the work in the ready list is found by it */
    void (*part)(void *unused);
    char *stack;
    th_timed timed; /* beside its stack, as everywhere */
} member;

static struct {
    thrum_sched sched;
    th_worker workers[WORKERS + 1]; /* the last one only waits for descriptors */
    member members[CREW_MAX];
    th_lock lock; /* protects the next two */
    th_chain ready;
    unsigned left;  /* how many fibers have not ended */
    uint32_t xturn; /* changed under the lock: the futex of workers without work */
} mini;

/* Called with the lock, which it gives up. */
static void changed(void) {
    th_store_relaxed(&mini.xturn, th_load_relaxed(&mini.xturn) + 1);
    th_lock_release(&mini.lock);
    th_os_futex_wake(&mini.xturn, WORKERS);
}

static void put_ready(th_work *work) {
    th_lock_acquire(&mini.lock);
    th_chain_append(&mini.ready, work);
    changed();
}

static void submit(th_worker *worker, th_work *work, unsigned hint) {
    (void)worker;
    (void)hint;
    put_ready(work);
}

static void submit_external(thrum_sched *sched, const th_chain *chain) {
    (void)sched;
    put_ready(chain->first);
}

static void submit_chain(th_worker *worker, th_chain *chain) {
    (void)worker;
    th_lock_acquire(&mini.lock);
    for (th_work *work; (work = th_chain_take(chain));) {
        th_chain_append(&mini.ready, work);
    }
    changed();
}

/* A fiber that suspends goes back to the thread's own stack, on which `work` runs. */
static th_work *pick(th_worker *worker) {
    return &worker->home.work;
}

static bool pending(th_worker *worker) {
    (void)worker;
    return true;
}

static const th_policy ready_list = {.submit = submit,
                                     .submit_chain = submit_chain,
                                     .submit_external = submit_external,
                                     .pick = pick,
                                     .pending = pending};

static void fiber_main(void *arg) {
    member *m = arg;
    th_commit(m->fiber.worker);
    m->part(NULL);
    th_lock_acquire(&mini.lock);
    bool last = --mini.left == 0;
    changed();
    if (last && mini.sched.workers) {
        th_os_pollset_wake(&mini.sched.workers->poller.set);
    }
    th_worker *worker = m->fiber.worker;
    th_switch_to(worker, &m->fiber, &worker->home);
}

static void work(void *arg) {
    th_worker *worker = arg;
    th_thread_becomes(worker);
    worker->errno_at = th_os_errno_at();
    worker->home = (th_fiber){
        .work = {.kind = TH_WORK_FIBER, .worker = -1}, .worker = worker, .sched = &mini.sched};
    worker->current = &worker->home;
    for (;;) {
        th_timers_fire(worker, worker->timers, th_os_now(), false);
        th_lock_acquire(&mini.lock);
        th_work *next = th_chain_take(&mini.ready);
        bool over = mini.left == 0;
        uint32_t turn = th_load_relaxed(&mini.xturn);
        th_lock_release(&mini.lock);
        if (next) {
            th_switch_to(worker, &worker->home, th_fiber_of(next));
        } else if (over) {
            break;
        } else {
            th_os_futex_wait(&mini.xturn, turn, th_timers_sleep_until(worker, false));
        }
    }
    th_thread_becomes(NULL);
}

static void *bare_alloc(void *ctx, size_t size) {
    (void)ctx;
    return th_os_alloc(size);
}

static void bare_free(void *ctx, void *ptr) {
    (void)ctx;
    th_os_free(ptr);
}

thrum_sched *crew_bare_sched(void) {
    mini.sched.config.alloc = bare_alloc;
    mini.sched.config.free = bare_free;
    return &mini.sched;
}

static void add_fiber(void (*part)(void *)) {
    member *m = &mini.members[mini.left++];
    m->part = part;
    m->stack = th_os_map(STACK);
    m->fiber.work = (th_work){.kind = TH_WORK_FIBER, .worker = -1};
    m->fiber.sched = &mini.sched;
    m->fiber.body = true;
    m->fiber.stack.record = &m->timed;
    m->fiber.run_id = mini.left;
    th_context_make(&m->fiber.context, m->stack, m->stack + STACK, fiber_main, m);
    th_chain_append(&mini.ready, &m->fiber.work);
}

SIM_UNSEEN void crew_timers_init(th_timers *timers, th_worker *owner) {
    timers->xearliest = INT64_MAX;
    timers->sched = owner->sched;
    timers->owner = owner;
    timers->wheel.tick = th_wheel_tick_of(sim_now());
    timers->wheel.near.anchor.deadline = INT64_MAX;
    for (unsigned i = 0; i < TH_WHEEL_LISTS; i++) {
        th_slot *slot = &timers->wheel.slots[i];
        slot->ring.next = slot->ring.prev = &slot->ring;
        slot->low = INT64_MAX;
    }
}

/*
 * The set of all fibers has its own thread, which acts like a worker that sleeps in it.
 *
 */
static void poll_for_all(void *arg) {
    th_worker *worker = arg;
    th_poller *poller = &worker->poller;
    th_thread_becomes(worker);
    for (bool over = false; !over;) {
        int n = th_os_pollset_wait(&poller->set, poller->events, TH_POLL_EVENTS, TH_FOREVER);
        poller->got = n > 0 ? (unsigned)n : 0;
        th_poll_awake(worker);
        th_lock_acquire(&mini.lock);
        over = mini.left == 0;
        th_lock_release(&mini.lock);
    }
    th_thread_becomes(NULL);
}

static void run_fibers(void) {
    unsigned fibers = mini.left;
    for (unsigned i = 0; i < WORKERS; i++) {
        mini.workers[i].sched = &mini.sched;
        mini.workers[i].policy = &ready_list;
        mini.workers[i].index = i;
        mini.workers[i].timers = &mini.workers[i].own_timers;
        crew_timers_init(mini.workers[i].timers, &mini.workers[i]);
    }
    int other = sim_spawn(work, &mini.workers[1]);
    int poller = mini.sched.workers ? sim_spawn(poll_for_all, mini.sched.workers) : 0;
    work(&mini.workers[0]);
    sim_join(other);
    if (poller) {
        sim_join(poller);
    }
    for (unsigned i = 0; i < fibers; i++) {
        th_os_unmap(mini.members[i].stack, STACK);
    }
}

void crew_mixed(const crew_play *play) {
    int threads[CREW_MAX];
    unsigned threads_count = 0;
    unsigned mask = 1 + sim_pick((1u << play->n) - 1); /* which are fibers: one at least */
    mini.sched.policy = &ready_list;
    mini.sched.config.wake_hint = true;
    th_external_open(&mini.sched);
    play->before();
    for (unsigned i = 0; i < play->n; i++) {
        if (mask & 1u << i) {
            add_fiber(play->parts[i]);
        }
    }
    for (unsigned i = 0; i < play->n; i++) {
        if (!(mask & 1u << i)) {
            threads[threads_count++] = sim_spawn(play->parts[i], NULL);
        }
    }
    run_fibers();
    for (unsigned i = 0; i < threads_count; i++) {
        sim_join(threads[i]);
    }
    th_external_close(&mini.sched);
    if (play->after) {
        play->after();
    }
}

/* ---- descriptors ---- */

void crew_io(const crew_play *play) {
    th_worker *worker = &mini.workers[WORKERS];
    worker->sched = &mini.sched;
    worker->policy = &ready_list;
    mini.sched.workers = worker;
    mini.sched.workers_count = mini.sched.workers_regular = 1;
    th_poller_init(&worker->poller, &mini.sched, worker);
    th_alarm_init(&mini.sched.alarm);
    crew_mixed(play);
    th_drivers_stop(&mini.sched);
    th_poller_close(&worker->poller);
    th_alarm_close(&mini.sched.alarm);
}

/* ---- a whole scheduler ---- */

thrum_sched *crew_sched_start(void) {
    thrum_config config;
    thrum_sched *sched = NULL;
    thrum_config_init(&config);
    config.workers = 2;
    config.local_capacity = 2;
    config.stack_size = 16384;
    sim_check(thrum_sched_start(&sched, &config) == 0);
    return sched;
}

static void run_part(thrum_task *self, void *arg) {
    (void)self;
    const crew_play *play = arg;
    unsigned i = (unsigned)(uintptr_t)self->reserved[3];
    play->parts[i](NULL);
}

void crew_sched(const crew_play *play) {
    thrum_task *tasks[CREW_MAX];
    thrum_sched *sched = crew_sched_start();
    unsigned inside = play->n - sim_pick(2); /* the last part may run on the caller's own thread */
    play->before();
    for (unsigned i = 0; i < inside; i++) {
        tasks[i] = sim_alloc(sizeof *tasks[i]);
        thrum_task_init(tasks[i], run_part, (void *)(uintptr_t)play);
        tasks[i]->reserved[3] = i;
    }
    sim_check(thrum_task_post_batch(sched, tasks, inside) == 0);
    if (inside < play->n) {
        play->parts[inside](NULL);
    }
    sim_check(thrum_sched_stop(sched) == 0);
    for (unsigned i = 0; i < inside; i++) {
        sim_free(tasks[i]);
    }
    if (play->after) {
        play->after();
    }
}

/* ---- small parts ---- */

__attribute__((noinline)) void crew_scrub(void) {
    uint64_t words[48];
    for (unsigned i = 0; i < 48; i++) {
        words[i] = 0x5c5c5c5c5c5c5c5cu;
    }
    __asm__ volatile("" : : "r"(words) : "memory"); /* otherwise they would not be written */
}

void crew_give_way(void) {
    thrum_yield();
    th_os_relax(); /* if no other fiber is on this worker, others go on */
}
