/*
 * pool.c: the trivial thread pool: a list of tasks, one mutex, one condition variable. It shows the
 * gain of cleverer pools. Tasks cannot block, and are in their owner's memory.
 */
#include <pthread.h>

#include "peer.h"

typedef struct task {
    struct task *next;
    void (*run)(struct task *self);
    uint32_t *slot;
} task;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t more; /* there are tasks, or the end */
    pthread_cond_t done; /* none is left */
    task *first, *last;
    unsigned left; /* not yet run */
    bool ended;
    pthread_t *threads;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .more = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER};

static void *work(void *arg) {
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (!pool.first && !pool.ended) {
            pthread_cond_wait(&pool.more, &pool.lock);
        }
        if (!pool.first) {
            break;
        }
        task *t = pool.first;
        pool.first = t->next;
        pthread_mutex_unlock(&pool.lock);
        t->run(t);
        pthread_mutex_lock(&pool.lock);
        if (--pool.left == 0) {
            pthread_cond_broadcast(&pool.done);
        }
    }
    pthread_mutex_unlock(&pool.lock);
    return arg;
}

static void start(void) {
    pool.threads = calloc(peer.workers, sizeof(pthread_t));
    for (unsigned i = 0; i < peer.workers; i++) {
        peer_check(pthread_create(&pool.threads[i], NULL, work, NULL) == 0, "no thread");
    }
}

static void stop(void) {
    pthread_mutex_lock(&pool.lock);
    pool.ended = true;
    pthread_cond_broadcast(&pool.more);
    pthread_mutex_unlock(&pool.lock);
    for (unsigned i = 0; i < peer.workers; i++) {
        pthread_join(pool.threads[i], NULL);
    }
    free(pool.threads);
    pool.ended = false;
}

static void post(task *t) {
    pthread_mutex_lock(&pool.lock);
    t->next = NULL;
    if (!pool.first) {
        pool.first = t;
    } else {
        pool.last->next = t;
    }
    pool.last = t;
    pool.left++;
    pthread_cond_signal(&pool.more);
    pthread_mutex_unlock(&pool.lock);
}

static void wait_done(void) {
    pthread_mutex_lock(&pool.lock);
    while (pool.left > 0) {
        pthread_cond_wait(&pool.done, &pool.lock);
    }
    pthread_mutex_unlock(&pool.lock);
}

/* ---- the rows ---- */

static task *tasks;

static void count_run(task *self) {
    ++*self->slot;
}

static void post_round(uint32_t *slots, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        tasks[i] = (task){NULL, count_run, &slots[i]};
        post(&tasks[i]);
    }
    wait_done();
}

static void in_pool(const char *name, unsigned n, unsigned rounds) {
    tasks = calloc(n, sizeof(task));
    memset(tasks, 0, n * sizeof(task));
    start();
    peer_rounds(name, n, rounds, post_round);
    stop();
    free(tasks);
}

static void run_external(void) {
    in_pool("post-external", peer_scale(1000000, 10000), 1);
}

static void run_external_rounds(void) {
    in_pool("post-external-rounds", 1000, peer_scale(1000, 20));
}

static void run_many_remote(void) {
    in_pool("spawn_many_remote_idle", 10000, peer_scale(100, 7));
}

/* Eight threads post an eighth each; then all tasks are waited for. */
enum { THREADS = 8, REMOTE = 12800 };
static uint32_t *remote_slots;

static void *post_part(void *arg) {
    unsigned first = (unsigned)(uintptr_t)arg * (REMOTE / THREADS);
    for (unsigned i = first; i < first + REMOTE / THREADS; i++) {
        tasks[i] = (task){NULL, count_run, &remote_slots[i]};
        post(&tasks[i]);
    }
    wait_done();
    return arg;
}

static void threads_round(uint32_t *slots, unsigned n) {
    pthread_t threads[THREADS];
    remote_slots = slots;
    (void)n;
    for (unsigned i = 0; i < THREADS; i++) {
        peer_check(pthread_create(&threads[i], NULL, post_part, (void *)(uintptr_t)i) == 0,
                   "no thread");
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void run_remote_spawn(void) {
    tasks = calloc(REMOTE, sizeof(task));
    start();
    peer_rounds("remote_spawn", REMOTE, peer_scale(40, 4), threads_round);
    stop();
}

static int64_t woken_ns;

static void note_time(task *self) {
    (void)self;
    woken_ns = peer_now();
}

static int64_t wake_once(void) {
    task t = {NULL, note_time, NULL};
    int64_t sent = peer_now();
    post(&t);
    wait_done();
    return woken_ns - sent;
}

static void run_wake(void) {
    start();
    peer_wake(wake_once);
    stop();
}

static void run_idle(void) {
    task t = {NULL, note_time, NULL};
    start();
    post(&t);
    wait_done();
    peer_idle();
    stop();
}

/* Each of a thousand links posts the next one. */
static task links[1001];

static void link_run(task *self) {
    ++*self->slot;
    if (self < &links[999]) {
        post(self + 1);
    }
}

static void chain_round(uint32_t *slots, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        links[i] = (task){NULL, link_run, &slots[i]};
    }
    post(&links[0]);
    wait_done();
}

static void run_chained(void) {
    start();
    peer_rounds("chained_spawn", 1000, peer_scale(1000, 20), chain_round);
    stop();
}

/* A task starts the others; it cannot wait, so the thread that started it does. */
static task spawner;
static unsigned spawned;

static void spawn_all(task *self) {
    for (unsigned i = 0; i < spawned; i++) {
        tasks[i] = (task){NULL, count_run, &self->slot[i]};
        post(&tasks[i]);
    }
}

static void spawn_round(uint32_t *slots, unsigned n) {
    spawned = n;
    spawner = (task){NULL, spawn_all, slots};
    post(&spawner);
    wait_done();
}

static void spawn_inside(const char *name, unsigned n, unsigned rounds) {
    tasks = calloc(n, sizeof(task));
    start();
    peer_rounds(name, n, rounds, spawn_round);
    stop();
}

static void run_spawn(void) {
    spawn_inside("post", 1000, peer_scale(1000, 20));
}

static void run_fanout(void) {
    tasks = calloc(10000, sizeof(task));
    start();
    peer_fanout(spawn_round);
    stop();
}

static void run_many_local(void) {
    spawn_inside("spawn_many_local", 10000, peer_scale(100, 7));
}

int main(int argc, char **argv) {
    static const peer_work works[] = {
        {"post", run_spawn},
        {"post-external", run_external},
        {"post-external-rounds", run_external_rounds},
        {"chained_spawn", run_chained},
        {"fanout", run_fanout},
        {"spawn_many_local", run_many_local},
        {"spawn_many_remote_idle", run_many_remote},
        {"remote_spawn", run_remote_spawn},
        {"wake-p50 wake-p99", run_wake},
        {"idle", run_idle},
    };
    return peer_main("pool", "ours", works, sizeof(works) / sizeof(works[0]), argc, argv);
}
