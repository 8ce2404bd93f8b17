/*
 * rows.c: the programs that run on the simulated machine. They use the public API only, and are
 * compiled as the library is, with every access and every block of code charged for.
 */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <thrum.h>

#define ALIGNED _Alignas(128)
#define REQUIRE(cond) ((cond) ? (void)0 : broken(#cond, __LINE__))

static void broken(const char *what, int line) {
    fprintf(stderr, "cores: rows.c:%d: %s\n", line, what);
    abort();
}

/* ---- a scheduler, and a task on it that is waited for ---- */

typedef struct call {
    void (*inside)(unsigned workers, result *out);
    unsigned workers;
    result *out;
    double began;
} call;

static thrum_sched *sched;
unsigned cores_searchers_max;
static struct { ALIGNED thrum_waitgroup group; } done;

static void started(unsigned workers) {
    thrum_config config;
    thrum_config_init(&config);
    config.workers = workers;
    config.searchers_max = cores_searchers_max;
    config.workers_spare = 0; /* they would have processors of their own here */
    REQUIRE(thrum_sched_start(&sched, &config) == 0);
}

static void stopped(void) {
    REQUIRE(thrum_sched_stop(sched) == 0);
}

static int call_inside(void *arg) {
    call *c = arg;
    c->inside(c->workers, c->out);
    return 0;
}

static void inside(unsigned workers, result *out, void (*fn)(unsigned workers, result *out)) {
    call c = {fn, workers, out, 0};
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_handle *handle;
    started(workers);
    attr.sched = sched;
    REQUIRE(thrum_spawn_with(&handle, &attr, call_inside, &c) == 0);
    REQUIRE(thrum_join(handle, NULL) == 0);
    stopped();
}

/* Runs a round once to warm up, then some more, which are measured. */
static void measured(void (*round)(unsigned workers), unsigned workers, unsigned rounds,
                     uint64_t ops, result *out) {
    round(workers);
    round(workers);
    cores_count();
    const double began = cores_clock();
    for (unsigned i = 0; i < rounds; i++) {
        round(workers);
    }
    out->ns = cores_clock() - began;
    out->ops = ops * rounds;
}

/* ---- spawn: one task starts 1000, which do nothing, and waits for them ---- */

enum { SPAWNED = 1000, SPAWNED_EACH = 500 };

static int nothing(void *arg) {
    (void)arg;
    thrum_waitgroup_done(&done.group);
    return 0;
}

static void spawn_round(unsigned workers) {
    (void)workers;
    thrum_waitgroup_init(&done.group, SPAWNED);
    for (unsigned i = 0; i < SPAWNED; i++) {
        REQUIRE(thrum_go(nothing, NULL) == 0);
    }
    REQUIRE(thrum_waitgroup_wait(&done.group) == 0);
}

static void spawn_inside(unsigned workers, result *out) {
    measured(spawn_round, workers, 10, SPAWNED, out);
}

static void run_spawn(unsigned workers, result *out) {
    inside(workers, out, spawn_inside);
}

/* ---- spawn-each: a task for each worker does that, with a waitgroup of its own ---- */

static struct { ALIGNED thrum_waitgroup group; } each_done[CORES_MAX];

static int nothing_each(void *arg) {
    thrum_waitgroup_done(arg);
    return 0;
}

static int spawn_each(void *arg) {
    thrum_waitgroup *wg = arg;
    thrum_waitgroup_init(wg, SPAWNED_EACH);
    for (unsigned i = 0; i < SPAWNED_EACH; i++) {
        REQUIRE(thrum_go(nothing_each, wg) == 0);
    }
    REQUIRE(thrum_waitgroup_wait(wg) == 0);
    thrum_waitgroup_done(&done.group);
    return 0;
}

static void each_round(unsigned workers) {
    thrum_waitgroup_init(&done.group, workers);
    for (unsigned i = 0; i < workers; i++) {
        REQUIRE(thrum_go(spawn_each, &each_done[i].group) == 0);
    }
    REQUIRE(thrum_waitgroup_wait(&done.group) == 0);
}

static void each_inside(unsigned workers, result *out) {
    measured(each_round, workers, 2, (uint64_t)workers * SPAWNED_EACH, out);
}

static void run_each(unsigned workers, result *out) {
    inside(workers, out, each_inside);
}

/* ---- forks ---- */

typedef struct fib_arg {
    int n;
    long value;
} fib_arg;

static int fib(void *arg) {
    fib_arg *f = arg;
    if (f->n < 2) {
        f->value = f->n;
        return 0;
    }
    fib_arg a = {f->n - 1, 0}, b = {f->n - 2, 0};
    thrum_fork fork;
    thrum_fork_start(&fork, fib, &a);
    (void)fib(&b);
    REQUIRE(thrum_fork_join(&fork) == 0);
    f->value = a.value + b.value;
    return 0;
}

static void fib_round(unsigned workers) {
    fib_arg f = {22, 0};
    (void)workers;
    (void)fib(&f);
    REQUIRE(f.value == 17711);
}

static void fib_inside(unsigned workers, result *out) {
    measured(fib_round, workers, 3, 57313, out);
}

static void run_fib(unsigned workers, result *out) {
    inside(workers, out, fib_inside);
}

enum { LEAVES = 32768, LEAF_NS = 1000 };

static int leaves(void *arg) {
    const uintptr_t n = (uintptr_t)arg;
    if (n == 1) {
        cores_work(LEAF_NS);
        return 0;
    }
    thrum_fork fork;
    thrum_fork_start(&fork, leaves, (void *)(n / 2));
    (void)leaves((void *)(n / 2));
    return thrum_fork_join(&fork);
}

static void leaves_round(unsigned workers) {
    (void)workers;
    REQUIRE(leaves((void *)(uintptr_t)LEAVES) == 0);
}

static void leaves_inside(unsigned workers, result *out) {
    measured(leaves_round, workers, 1, LEAVES, out);
    out->ideal = workers / (double)LEAF_NS;
}

static void run_leaves(unsigned workers, result *out) {
    inside(workers, out, leaves_inside);
}

/* ---- fan-out: one task starts 10,000 of a microsecond ---- */

enum { FAN = 10000 };

static int micro(void *arg) {
    (void)arg;
    cores_work(1000);
    thrum_waitgroup_done(&done.group);
    return 0;
}

static void fan_round(unsigned workers) {
    (void)workers;
    thrum_waitgroup_init(&done.group, FAN);
    for (unsigned i = 0; i < FAN; i++) {
        REQUIRE(thrum_go(micro, NULL) == 0);
    }
    REQUIRE(thrum_waitgroup_wait(&done.group) == 0);
}

static void fan_inside(unsigned workers, result *out) {
    measured(fan_round, workers, 1, FAN, out);
    out->ideal = workers / 1000.0;
}

static void run_fan(unsigned workers, result *out) {
    inside(workers, out, fan_inside);
}

/* ---- posts from outside: intrusive tasks of 200 ns, by one plain thread, or by eight ---- */

enum { POSTS = 2000, POSTERS = 8 };

static struct { ALIGNED thrum_task task; } posted[POSTERS * POSTS];
static unsigned posters;

static void post_ran(thrum_task *self, void *arg) {
    (void)self, (void)arg;
    cores_work(200);
    thrum_waitgroup_done(&done.group);
}

static void post_from(void *arg) {
    const uintptr_t first = (uintptr_t)arg * POSTS;
    for (unsigned i = 0; i < POSTS; i++) {
        REQUIRE(thrum_task_post(sched, &posted[first + i].task) == 0);
    }
}

/* platform.c's, since these are simulated threads */
int sim_thread_start(const char *name, void (*entry)(void *), void *arg, uintptr_t *handle);
void sim_thread_join(uintptr_t handle);

static void post_round(unsigned workers) {
    uintptr_t threads[POSTERS];
    (void)workers;
    thrum_waitgroup_init(&done.group, posters * POSTS);
    for (unsigned i = 1; i < posters; i++) {
        REQUIRE(sim_thread_start("poster", post_from, (void *)(uintptr_t)i, &threads[i]) == 0);
    }
    post_from(0);
    for (unsigned i = 1; i < posters; i++) {
        sim_thread_join(threads[i]);
    }
    REQUIRE(thrum_waitgroup_wait(&done.group) == 0);
}

static void run_posts(unsigned workers, unsigned n, result *out) {
    posters = n;
    for (unsigned i = 0; i < posters * POSTS; i++) {
        thrum_task_init(&posted[i].task, post_ran, NULL);
    }
    started(workers);
    measured(post_round, workers, 1, (uint64_t)posters * POSTS, out);
    out->ideal = workers / 200.0;
    stopped();
}

static void run_post_1(unsigned workers, result *out) {
    run_posts(workers, 1, out);
}

static void run_post_8(unsigned workers, result *out) {
    run_posts(workers, POSTERS, out);
}

/* ---- fibers that meet: a crowd, each with an operation of its own ---- */

static unsigned crowd_steps;
static void (*crowd_step)(unsigned who);

static int crowd_one(void *arg) {
    const unsigned who = (unsigned)(uintptr_t)arg;
    for (unsigned i = 0; i < crowd_steps; i++) {
        crowd_step(who);
    }
    thrum_waitgroup_done(&done.group);
    return 0;
}

static unsigned crowd_fibers;

static void crowd_round(unsigned workers) {
    (void)workers;
    thrum_waitgroup_init(&done.group, crowd_fibers);
    for (unsigned i = 0; i < crowd_fibers; i++) {
        REQUIRE(thrum_go(crowd_one, (void *)(uintptr_t)i) == 0);
    }
    REQUIRE(thrum_waitgroup_wait(&done.group) == 0);
}

static void crowd(unsigned workers, unsigned fibers, unsigned steps, void (*step)(unsigned),
                  result *out) {
    crowd_fibers = fibers;
    crowd_steps = steps;
    crowd_step = step;
    measured(crowd_round, workers, 1, (uint64_t)fibers * steps, out);
}

/* mutex: two fibers a worker, one mutex, 50 ns inside and 500 outside */
static struct { ALIGNED thrum_mutex mutex; } one_mutex;

static void mutex_step(unsigned who) {
    (void)who;
    thrum_mutex_lock(&one_mutex.mutex);
    cores_work(50);
    thrum_mutex_unlock(&one_mutex.mutex);
    cores_work(500);
}

static void mutex_inside(unsigned workers, result *out) {
    thrum_mutex_init(&one_mutex.mutex);
    crowd(workers, 2 * workers, workers > 16 ? 150 : 400, mutex_step, out);
    const double most = 1 / 50.0, each = workers / 550.0;
    out->ideal = most < each ? most : each;
}

static void run_mutex(unsigned workers, result *out) {
    inside(workers, out, mutex_inside);
}

/* yield: four fibers a worker */
static void yield_step(unsigned who) {
    (void)who;
    thrum_yield();
}

static void yield_inside(unsigned workers, result *out) {
    crowd(workers, 4 * workers, workers > 16 ? 100 : 300, yield_step, out);
}

static void run_yield(unsigned workers, result *out) {
    inside(workers, out, yield_inside);
}

/* channels: a pair a worker; each pair has a channel, or all have one */
static thrum_chan *chans[CORES_MAX];
static unsigned chans_count;

static void chan_step(unsigned who) {
    thrum_chan *chan = chans[who / 2 % chans_count];
    long value = who;
    if (who % 2 == 0) {
        REQUIRE(thrum_chan_send(chan, &value) == 0);
    } else {
        REQUIRE(thrum_chan_recv(chan, &value) == 0);
    }
}

static void chan_inside(unsigned workers, unsigned n, result *out) {
    chans_count = n;
    for (unsigned i = 0; i < n; i++) {
        REQUIRE(thrum_chan_create(&chans[i], sizeof(long), 64) == 0);
    }
    crowd(workers, 2 * workers, n == 1 ? 12800 / workers : 600, chan_step, out);
    out->ops /= 2;
    for (unsigned i = 0; i < n; i++) {
        REQUIRE(thrum_chan_destroy(chans[i]) == 0);
    }
}

static void chans_inside(unsigned workers, result *out) {
    chan_inside(workers, workers, out);
}

static void chan_one_inside(unsigned workers, result *out) {
    chan_inside(workers, 1, out);
}

static void run_chans(unsigned workers, result *out) {
    inside(workers, out, chans_inside);
}

static void run_chan_one(unsigned workers, result *out) {
    inside(workers, out, chan_one_inside);
}

/* pingpong: a pair of fibers a worker, over two semaphores */
static struct { ALIGNED thrum_sem sems[2]; } pairs[CORES_MAX];

static void ping_step(unsigned who) {
    thrum_sem *sems = pairs[who / 2].sems;
    thrum_sem_post(&sems[who % 2]);
    REQUIRE(thrum_sem_wait(&sems[1 - who % 2]) == 0);
}

static void ping_inside(unsigned workers, result *out) {
    for (unsigned i = 0; i < workers; i++) {
        thrum_sem_init(&pairs[i].sems[0], 0);
        thrum_sem_init(&pairs[i].sems[1], 0);
    }
    crowd(workers, 2 * workers, workers > 16 ? 150 : 500, ping_step, out);
    out->ops /= 2;
}

static void run_ping(unsigned workers, result *out) {
    inside(workers, out, ping_inside);
}

/* timers: 32 fibers a worker sleep 200 to 400 us, and compute 2 us between */
static void timer_step(unsigned who) {
    REQUIRE(thrum_sleep(200000 + (int64_t)(who * 7919 % 200000)) == 0);
    cores_work(2000);
}

static void timers_inside(unsigned workers, result *out) {
    crowd(workers, 32 * workers, workers > 16 ? 6 : 12, timer_step, out);
    out->ideal = 32 * workers / 302000.0;
}

static void run_timers(unsigned workers, result *out) {
    inside(workers, out, timers_inside);
}

const row the_rows[] = {
    {"spawn", "one task starts 1000 that do nothing", run_spawn},
    {"spawn-each", "a task for each worker starts 1000 that do nothing", run_each},
    {"fib", "fork and join, nothing else: fib(22)", run_fib},
    {"fork-join", "32,768 leaves of 1 us by fork and join", run_leaves},
    {"fanout", "one task starts 10,000 of 1 us", run_fan},
    {"post-external", "tasks of 200 ns, posted by one plain thread", run_post_1},
    {"post-external-8", "the same by eight", run_post_8},
    {"chan-each", "a pair of fibers a worker, each with a channel", run_chans},
    {"chan-one", "the same, all with one channel", run_chan_one},
    {"mutex", "two fibers a worker, one mutex: 50 ns inside, 500 outside", run_mutex},
    {"pingpong", "a pair of fibers a worker, over semaphores", run_ping},
    {"yield", "four fibers a worker", run_yield},
    {"timers", "32 fibers a worker sleep 200 to 400 us", run_timers},
};
const unsigned the_rows_count = sizeof(the_rows) / sizeof(the_rows[0]);
