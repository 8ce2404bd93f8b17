/*
 * instructions.c: how many instructions the hot paths take, for callgrind
 * (tools/measure/instructions).
 *
 * All happens on one worker; each row is done ROUNDS times to warm up, then ROUNDS times between
 * two of callgrind's marks. The numbers are the same in each run, to a few per mille.
 */
#include <stdio.h>
#include <stdlib.h>
#include <thrum.h>
#include <valgrind/callgrind.h>

#define ROUNDS 2000
#define BATCH 100

static void must(int code) {
    if (code < 0) {
        fprintf(stderr, "instructions: a call failed: %s\n", thrum_strerror(code));
        exit(1);
    }
}

/* ---- tasks ---- */

static thrum_waitgroup group;
static thrum_task tasks[BATCH];

static int goes(void *arg) {
    (void)arg;
    thrum_waitgroup_done(&group);
    return 0;
}

static void posted(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    thrum_waitgroup_done(&group);
}

static void spawn_and_run(void) {
    for (int i = 0; i < ROUNDS / BATCH; i++) {
        thrum_waitgroup_add(&group, BATCH);
        for (int k = 0; k < BATCH; k++) {
            must(thrum_go(goes, NULL));
        }
        must(thrum_waitgroup_wait(&group));
    }
}

static void post_and_run(void) {
    for (int i = 0; i < ROUNDS / BATCH; i++) {
        thrum_waitgroup_add(&group, BATCH);
        for (int k = 0; k < BATCH; k++) {
            must(thrum_task_post(thrum_sched_current(), &tasks[k]));
        }
        must(thrum_waitgroup_wait(&group));
    }
}

static int returns(void *arg) {
    (void)arg;
    return 0;
}

static void spawn_and_join(void) {
    for (int i = 0; i < ROUNDS; i++) {
        thrum_handle *handle;
        must(thrum_spawn(&handle, returns, NULL));
        must(thrum_join(handle, NULL));
    }
}

static void fork_and_join(void) {
    for (int i = 0; i < ROUNDS; i++) {
        thrum_fork fork;
        thrum_fork_start(&fork, returns, NULL);
        must(thrum_fork_join(&fork));
    }
}

/* ---- switches ---- */

static thrum_sem ping;
static thrum_sem pong;

static int answers(void *arg) {
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        must(thrum_sem_wait(&ping));
        thrum_sem_post(&pong);
    }
    return 0;
}

static void ping_pong(void) {
    must(thrum_go(answers, NULL));
    for (int i = 0; i < ROUNDS; i++) {
        thrum_sem_post(&ping);
        must(thrum_sem_wait(&pong));
    }
}

static int yields(void *arg) {
    (void)arg;
    for (int i = 0; i < ROUNDS / 2; i++) {
        thrum_yield();
    }
    return 0;
}

static void yield_in_turn(void) {
    must(thrum_go(yields, NULL));
    must(yields(NULL));
}

/* ---- primitives that one fiber uses alone ---- */

static thrum_mutex mutex = THRUM_MUTEX_INIT;
static thrum_rwlock rwlock = THRUM_RWLOCK_INIT;
static thrum_sem sem = THRUM_SEM_INIT(0);
static thrum_chan *chan;
static thrum_chan *other;

static void lock_and_unlock(void) {
    for (int i = 0; i < ROUNDS; i++) {
        thrum_mutex_lock(&mutex);
        (void)thrum_mutex_unlock(&mutex);
    }
}

static void read_lock_and_unlock(void) {
    for (int i = 0; i < ROUNDS; i++) {
        thrum_rwlock_rdlock(&rwlock);
        thrum_rwlock_unlock(&rwlock);
    }
}

static void post_and_take(void) {
    for (int i = 0; i < ROUNDS; i++) {
        thrum_sem_post(&sem);
        must(thrum_sem_wait(&sem));
    }
}

static void send_and_receive(void) {
    for (int i = 0; i < ROUNDS; i++) {
        must(thrum_chan_send(chan, &i));
        must(thrum_chan_recv(chan, &i));
    }
}

/* One of two channels has an element. */
static void select_at_once(void) {
    for (int i = 0; i < ROUNDS; i++) {
        thrum_case cases[] = {THRUM_RECV_CASE(chan, &i), THRUM_RECV_CASE(other, &i)};
        must(thrum_chan_send(chan, &i));
        must(thrum_select(cases, 2, THRUM_FOREVER));
    }
}

static int sends_each(void *arg) {
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        must(thrum_chan_send(other, &i));
        thrum_yield();
    }
    return 0;
}

/* Each select waits until the other fiber sends. */
static void select_and_wait(void) {
    thrum_handle *handle;
    must(thrum_spawn(&handle, sends_each, NULL));
    for (int i = 0; i < ROUNDS; i++) {
        int got;
        thrum_case cases[] = {THRUM_RECV_CASE(chan, &got), THRUM_RECV_CASE(other, &got)};
        must(thrum_select(cases, 2, THRUM_FOREVER));
    }
    must(thrum_join(handle, NULL));
}

static void timer_in_and_out(void) {
    thrum_time far = thrum_after_s(1000);
    for (int i = 0; i < ROUNDS; i++) {
        must(thrum_task_post_until(thrum_sched_current(), &tasks[0], far + i));
        must(thrum_task_cancel(&tasks[0]));
        thrum_waitgroup_add(&group, 1);
        must(thrum_waitgroup_wait(&group)); /* it runs, as cancelled */
    }
}

/* ---- all of them ---- */

static const struct {
    const char *name;
    void (*run)(void);
} rows[] = {
    {"spawn + run", spawn_and_run},
    {"post + run", post_and_run},
    {"spawn + run + join", spawn_and_join},
    {"fork + join, nobody took it", fork_and_join},
    {"ping-pong of two fibers, a round trip", ping_pong},
    {"yield to another fiber", yield_in_turn},
    {"mutex: lock + unlock", lock_and_unlock},
    {"rwlock: read lock + unlock", read_lock_and_unlock},
    {"semaphore: post + wait, a unit is there", post_and_take},
    {"channel: send + receive, buffered", send_and_receive},
    {"select: send + receive from one of two", select_at_once},
    {"select: wait for one of two, a sender's turn", select_and_wait},
    {"timer: task posted until then + cancelled + run", timer_in_and_out},
};

static int all(void *arg) {
    (void)arg;
    for (int i = 0; i < BATCH; i++) {
        thrum_task_init(&tasks[i], posted, NULL);
    }
    must(thrum_chan_create(&chan, sizeof(int), 16));
    must(thrum_chan_create(&other, sizeof(int), 16));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rows[i].run();
        CALLGRIND_ZERO_STATS;
        rows[i].run();
        CALLGRIND_DUMP_STATS_AT(rows[i].name);
    }
    thrum_chan_destroy(chan);
    thrum_chan_destroy(other);
    printf("rounds %d\n", ROUNDS);
    return 0;
}

int main(void) {
    thrum_config config;
    thrum_config_init(&config);
    config.workers = 1;
    config.policy = THRUM_SHARDED;
    config.global_interval = UINT32_MAX; /* else turns of the inject queue depend on the clock */
    return thrum_run(&config, all, NULL);
}
