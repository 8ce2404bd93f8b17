/*
 * waiting.c: for thrum-gdb.sh: what there is to be seen in gdb, before the program aborts. On a
 * scheduler with one worker tasks wait for each kind of thing, and others are queued; a second
 * scheduler does nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

thrum_sem ready;
thrum_sem never;
thrum_mutex mutex;
thrum_event event;
static thrum_rwlock rwlock;
thrum_chan *chan;
thrum_chan *other_chan;
static thrum_sched *idle;
static thrum_task tied[3];
static thrum_task late;
static int slots[2];

static __attribute__((noinline)) int go_deep(int level) {
    volatile char here[256];
    volatile int marked = 4700 + level;
    int result;
    memset((char *)(uintptr_t)here, level, sizeof(here));
    if (level > 0) {
        result = go_deep(level - 1);
    } else {
        thrum_sem_post(&ready);
        result = thrum_sem_wait(&never);
    }
    return result + here[0] - level + marked;
}

static int reader(void *arg) {
    (void)arg;
    return go_deep(5);
}

static int reads_pipe(void *arg) {
    int fds[2];
    thrum_io io;
    char byte;
    (void)arg;
    return pipe(fds) != 0 || thrum_io_adopt(&io, fds[0]) != 0 || thrum_read(io, &byte, 1) != 1;
}

static int holds(void *arg) {
    (void)arg;
    thrum_mutex_lock(&mutex);
    thrum_rwlock_wrlock(&rwlock);
    thrum_sem_post(&ready);
    int code = thrum_sem_wait(&never);
    thrum_mutex_unlock(&mutex);
    return code;
}

static int locks(void *arg) {
    (void)arg;
    thrum_sem_post(&ready);
    thrum_mutex_lock(&mutex);
    thrum_mutex_unlock(&mutex);
    return 0;
}

/* Two of these are in one call of the program's, and in two of the library's. */
static int reads_or_writes(void *arg) {
    static int turn;
    void (*lock)(thrum_rwlock *) = turn++ ? thrum_rwlock_wrlock : thrum_rwlock_rdlock;
    (void)arg;
    thrum_sem_post(&ready);
    lock(&rwlock);
    return 0;
}

static int chooses(void *arg) {
    int got = 0;
    thrum_case cases[] = {THRUM_RECV_CASE(other_chan, &got), THRUM_RECV_CASE(chan, &got)};
    (void)arg;
    thrum_sem_post(&ready);
    return thrum_select(cases, 2, THRUM_FOREVER);
}

static int receives(void *arg) {
    int got = 0;
    (void)arg;
    thrum_sem_post(&ready);
    return thrum_chan_recv(chan, &got);
}

static int child(void *arg) {
    (void)arg;
    thrum_sem_post(&ready);
    return thrum_event_wait(&event);
}

static int nests(void *arg) {
    thrum_scope scope;
    (void)arg;
    int code = thrum_scope_open(&scope, THRUM_FOREVER);
    return code != 0 || thrum_scope_go(&scope, child, NULL) != 0 ? 1 : thrum_scope_join(&scope);
}

static int opens(void *arg) {
    thrum_scope scope;
    (void)arg;
    int code = thrum_scope_open(&scope, INT64_MAX / 2);
    if (code != 0 || thrum_scope_go(&scope, child, NULL) != 0 ||
        thrum_scope_go(&scope, nests, NULL) != 0) {
        return 1;
    }
    return thrum_scope_join(&scope);
}

static void body(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
}

static int queued(void *arg) {
    (void)arg;
    return 0;
}

/* Whether a dump of the scheduler says this. */
static bool dump_says(thrum_sched *sched, const char *what) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    bool says = out && thrum_dump(sched, out, THRUM_TEXT) == 0 && fclose(out) == 0 &&
                strstr(text, what) != NULL;
    free(text);
    return says;
}

/* Starts a task, and waits until it has come `posts` times to where it waits. */
static int start(const char *name, thrum_fn fn, int posts) {
    thrum_attr attr;
    thrum_attr_init(&attr);
    attr.name = name;
    int code = thrum_go_with(&attr, fn, NULL);
    while (code == 0 && posts-- > 0) {
        code = thrum_sem_wait(&ready);
    }
    return code;
}

static int fill_queues(void) {
    for (int i = 0; i < 3; i++) {
        thrum_task_init(&tied[i], body, NULL);
        thrum_task_set_worker(&tied[i], 0);
        if (thrum_task_post(thrum_sched_current(), &tied[i]) != 0) {
            return 1;
        }
    }
    thrum_task_init(&late, body, NULL);
    if (thrum_task_post_after(thrum_sched_current(), &late, THRUM_S(3600)) != 0) {
        return 1;
    }
    for (int i = 0; i < 4; i++) {
        if (thrum_go(queued, NULL) != 0) {
            return 1;
        }
    }
    return 0;
}

static int fill(void *arg) {
    (void)arg;
    if (start("a pipe", reads_pipe, 0) != 0) {
        return 1;
    }
    while (!dump_says(thrum_sched_current(), "\"a pipe\" reads fd ") ||
           !dump_says(thrum_sched_current(), "an external thread waits for task ") ||
           !dump_says(idle, "worker 0 sleeps")) {
        thrum_yield();
    }
    for (int i = 0; i < 3; i++) {
        slots[i & 1] += start("a reader", reader, 1);
    }
    if (start("the holder", holds, 1) != 0 || start("a locker", locks, 1) != 0 ||
        start("a locker", locks, 1) != 0 || start("either", reads_or_writes, 1) != 0 ||
        start("either", reads_or_writes, 1) != 0 || start("the chooser", chooses, 1) != 0 ||
        start("a receiver", receives, 1) != 0 || start("the opener", opens, 2) != 0 ||
        slots[0] + slots[1] != 0 || fill_queues() != 0) {
        return 1;
    }
    abort();
}

int main(void) {
    thrum_config config;
    thrum_config_init(&config);
    thrum_sem_init(&ready, 0);
    thrum_sem_init(&never, 0);
    thrum_mutex_init(&mutex);
    thrum_rwlock_init(&rwlock);
    thrum_event_init(&event, THRUM_EVENT_MANUAL, false);
    config.workers = 1;
    config.name = "idle";
    if (thrum_sched_start(&idle, &config) != 0 || thrum_chan_create(&chan, sizeof(int), 4) != 0 ||
        thrum_chan_create(&other_chan, sizeof(int), 4) != 0) {
        return 1;
    }
    config.name = "busy";
    return thrum_run(&config, fill, NULL);
}
