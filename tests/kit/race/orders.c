/*
 * orders.c: each way in which the library and atomics order the accesses of two tasks. The corrected
 * kernel has no race, so it must pass; the other one writes after the step that orders the two.
 */
#include "kernels.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static int data[4];

static void writes(void) {
    for (int i = 0; i < 4; i++) {
        data[i] = i + 1;
    }
}

static void reads(void) {
    int copy[4];
    memcpy(copy, data, sizeof copy);
    for (int i = 0; i < 4; i++) {
        THRUM_TEST(copy[i] == i + 1 || !fixed);
    }
}

/* A task that writes, and then tells it, in the way of the kernel. */
static void (*tells)(void);

static int writes_and_tells(void *arg) {
    (void)arg;
    if (fixed) {
        writes();
    }
    tells();
    if (!fixed) {
        writes();
    }
    return 0;
}

static void begin(void (*how)(void)) {
    tells = how;
    go(writes_and_tells, NULL);
}

static int read_and_join(void) {
    reads();
    join_all();
    return 0;
}

static void says_nothing(void) {
}

/* ---- starts and ends ---- */

static int only_reads(void *arg) {
    (void)arg;
    reads();
    return 0;
}

KERNEL(by_spawn, "race") {
    if (fixed) {
        writes();
    }
    go(only_reads, NULL);
    if (!fixed) {
        writes();
    }
    join_all();
    return 0;
}

KERNEL(by_join, "race") {
    begin(says_nothing);
    if (fixed) {
        join_all();
        reads();
        return 0;
    }
    return read_and_join();
}

static int result_of_scope(void *arg) {
    (void)arg;
    writes();
    return 0;
}

KERNEL(by_scope, "race") {
    thrum_scope scope;
    MUST(thrum_scope_open(&scope, THRUM_FOREVER));
    MUST(thrum_scope_go(&scope, result_of_scope, NULL));
    if (!fixed) {
        reads();
    }
    MUST(thrum_scope_join(&scope));
    reads();
    return 0;
}

static void thread_writes(void *arg) {
    (void)arg;
    writes();
}

KERNEL(by_thread, "race") {
    thrum_test_thread thread;
    memset(data, 0, sizeof data);
    MUST(thrum_test_thread_start(&thread, thread_writes, NULL));
    if (!fixed) {
        reads();
    }
    thrum_test_thread_join(&thread);
    reads();
    return 0;
}

static int blocking_writes(void *arg) {
    (void)arg;
    writes();
    return 0;
}

static int calls_blocking(void *arg) {
    (void)arg;
    return thrum_blocking(blocking_writes, NULL, NULL);
}

KERNEL(by_blocking, "race") {
    go(calls_blocking, NULL);
    if (!fixed) {
        reads();
    }
    join_all();
    reads();
    return 0;
}

static void range_adds(size_t from, size_t to, void *ctx) {
    int *counts = ctx;
    for (size_t i = from; i < to; i++) {
        counts[fixed ? i : 0]++;
    }
}

KERNEL(by_parallel_for, "race") {
    int counts[16] = {0};
    MUST(thrum_parallel_for(0, 16, 1, range_adds, counts));
    THRUM_TEST(!fixed || (counts[0] == 1 && counts[15] == 1));
    return 0;
}

KERNEL(by_fork, "race") {
    thrum_fork fork;
    thrum_fork_start(&fork, result_of_scope, NULL);
    thrum_yield();
    if (!fixed) {
        reads();
    }
    thrum_fork_join(&fork);
    reads();
    return 0;
}

/* ---- locks ---- */

static thrum_mutex mutex = THRUM_MUTEX_INIT;
static thrum_rwlock rwlock = THRUM_RWLOCK_INIT;
static int total;

static int adds_under_mutex(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        if (fixed) {
            thrum_mutex_lock(&mutex);
        }
        total++;
        if (fixed) {
            thrum_mutex_unlock(&mutex);
        }
    }
    return 0;
}

KERNEL(by_mutex, "race") {
    go(adds_under_mutex, NULL);
    go(adds_under_mutex, NULL);
    join_all();
    return 0;
}

static int adds_under_rwlock(void *arg) {
    (void)arg;
    thrum_rwlock_rdlock(&rwlock);
    const int before = total;
    thrum_rwlock_unlock(&rwlock);
    if (fixed) {
        thrum_rwlock_wrlock(&rwlock);
    } else {
        thrum_rwlock_rdlock(&rwlock);
    }
    total += before >= 0;
    thrum_rwlock_unlock(&rwlock);
    return 0;
}

KERNEL(by_rwlock, "race") {
    go(adds_under_rwlock, NULL);
    go(adds_under_rwlock, NULL);
    join_all();
    return 0;
}

/* Of the C library. */
static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t plain_rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t plain_once = PTHREAD_ONCE_INIT;

static int adds_under_pthread(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        if (fixed) {
            THRUM_TEST(pthread_mutex_lock(&plain) == 0);
        }
        total++;
        if (fixed) {
            THRUM_TEST(pthread_mutex_unlock(&plain) == 0);
        }
    }
    return 0;
}

KERNEL(by_pthread_mutex, "race") {
    go(adds_under_pthread, NULL);
    go(adds_under_pthread, NULL);
    go(adds_under_pthread, NULL);
    join_all();
    THRUM_TEST(total == 6);
    return 0;
}

static int adds_under_pthread_rwlock(void *arg) {
    (void)arg;
    THRUM_TEST(pthread_rwlock_rdlock(&plain_rw) == 0);
    const int before = total;
    THRUM_TEST(pthread_rwlock_unlock(&plain_rw) == 0);
    THRUM_TEST((fixed ? pthread_rwlock_wrlock : pthread_rwlock_rdlock)(&plain_rw) == 0);
    total += before >= 0;
    THRUM_TEST(pthread_rwlock_unlock(&plain_rw) == 0);
    return 0;
}

KERNEL(by_pthread_rwlock, "race") {
    go(adds_under_pthread_rwlock, NULL);
    go(adds_under_pthread_rwlock, NULL);
    join_all();
    return 0;
}

static void begins_once(void) {
    writes();
}

static int reads_after_once(void *arg) {
    (void)arg;
    if (fixed) {
        (void)pthread_once(&plain_once, begins_once);
    } else if (data[0] == 0) {
        begins_once();
    }
    reads();
    return 0;
}

KERNEL(by_pthread_once, "race") {
    go(reads_after_once, NULL);
    go(reads_after_once, NULL);
    join_all();
    return 0;
}

/* ---- waits ---- */

static thrum_cond cond = THRUM_COND_INIT;
static bool told;

static void signals_cond(void) {
    thrum_mutex_lock(&mutex);
    told = true;
    thrum_mutex_unlock(&mutex);
    thrum_cond_signal(&cond);
}

KERNEL(by_cond, "race") {
    begin(signals_cond);
    thrum_mutex_lock(&mutex);
    while (!told) {
        MUST(thrum_cond_wait(&cond, &mutex));
    }
    thrum_mutex_unlock(&mutex);
    return read_and_join();
}

static thrum_event event = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);

static void signals_event(void) {
    thrum_event_signal(&event);
}

KERNEL(by_event, "race") {
    begin(signals_event);
    MUST(thrum_event_wait(&event));
    return read_and_join();
}

KERNEL(by_event_with_deadline, "race") {
    begin(signals_event);
    MUST(thrum_event_wait_until(&event, thrum_after(THRUM_S(1))));
    return read_and_join();
}

static thrum_sem sem;

static void posts(void) {
    thrum_sem_post(&sem);
}

KERNEL(by_sem, "race") {
    thrum_sem_init(&sem, 0);
    begin(posts);
    MUST(thrum_sem_wait(&sem));
    return read_and_join();
}

static thrum_barrier barrier;

static void arrives(void) {
    const int last = thrum_barrier_wait(&barrier);
    THRUM_TEST(last >= 0);
}

KERNEL(by_barrier, "race") {
    thrum_barrier_init(&barrier, 2);
    begin(arrives);
    arrives();
    return read_and_join();
}

static thrum_waitgroup group;

static void is_done(void) {
    thrum_waitgroup_done(&group);
}

KERNEL(by_waitgroup, "race") {
    thrum_waitgroup_init(&group, 1);
    begin(is_done);
    MUST(thrum_waitgroup_wait(&group));
    return read_and_join();
}

static thrum_once once;

static int writes_once(void *arg) {
    (void)arg;
    writes();
    return 0;
}

static int reads_once(void *arg) {
    (void)arg;
    MUST(fixed ? thrum_once_run(&once, writes_once, NULL) : writes_once(NULL));
    reads();
    return 0;
}

KERNEL(by_once, "race") {
    thrum_once_init(&once);
    go(reads_once, NULL);
    go(reads_once, NULL);
    join_all();
    return 0;
}

KERNEL(by_settle, "race") {
    begin(says_nothing);
    if (fixed) {
        thrum_test_settle();
    }
    return read_and_join();
}

static void sleeps(void) {
    MUST(thrum_sleep(THRUM_MS(5)));
}

KERNEL(by_sleep_and_join, "race") {
    begin(sleeps);
    sleeps();
    if (fixed) {
        join_all();
        reads();
        return 0;
    }
    return read_and_join();
}

/* ---- channels ---- */

static thrum_chan *chan;

static void sends(void) {
    int n = 1;
    MUST(thrum_chan_send(chan, &n));
}

static int by_message(size_t room, bool selects) {
    int n = 0;
    MUST(thrum_chan_create(&chan, sizeof n, room));
    begin(sends);
    if (selects) {
        thrum_case cases[] = {THRUM_RECV_CASE(chan, &n)};
        MUST(thrum_select(cases, 1, THRUM_FOREVER));
    } else {
        MUST(thrum_chan_recv(chan, &n));
    }
    read_and_join();
    return thrum_chan_destroy(chan);
}

KERNEL(by_message, "race") {
    return by_message(0, false);
}

KERNEL(by_message_in_a_buffer, "race") {
    return by_message(2, false);
}

KERNEL(by_select, "race") {
    return by_message(0, true);
}

static void closes(void) {
    (void)thrum_chan_close(chan);
}

KERNEL(by_close, "race") {
    int n;
    MUST(thrum_chan_create(&chan, sizeof n, 1));
    begin(closes);
    THRUM_TEST(thrum_chan_recv(chan, &n) == -EPIPE);
    read_and_join();
    return thrum_chan_destroy(chan);
}

/* What a message points to is the receiver's. */
static int consumes(void *arg) {
    int *box = NULL;
    (void)arg;
    while (thrum_chan_recv(chan, (void *)&box) == 0) {
        box[0]++;
        free(box);
    }
    return 0;
}

KERNEL(by_message_with_memory, "use-after-free") {
    MUST(thrum_chan_create(&chan, sizeof(int *), 1));
    go(consumes, NULL);
    go(consumes, NULL);
    for (int i = 0; i < 6; i++) {
        int *box = malloc(sizeof *box);
        THRUM_TEST(box);
        *box = i;
        MUST(thrum_chan_send(chan, (void *)&box));
        if (!fixed) {
            THRUM_TEST(*box >= 0); /* it is no longer the sender's */
        }
    }
    (void)thrum_chan_close(chan);
    join_all();
    return thrum_chan_destroy(chan);
}

/* ---- sockets ---- */

static char address[100];

static void dials_and_writes(void) {
    thrum_io io;
    MUST(thrum_dial(&io, address, thrum_after(THRUM_S(9))));
    THRUM_TEST(thrum_write(io, "now", 3) == 3);
    MUST(thrum_io_close(io));
}

static int by_socket(const char *at) {
    thrum_io listener, io;
    char text[8];
    MUST(thrum_listen(&listener, at, NULL));
    MUST(thrum_io_local(listener, address, sizeof address));
    begin(dials_and_writes);
    MUST(thrum_accept(listener, &io));
    THRUM_TEST(thrum_read(io, text, sizeof text) == 3 && !memcmp(text, "now", 3));
    read_and_join();
    MUST(thrum_io_close(io));
    return thrum_io_close(listener);
}

KERNEL(by_tcp, "race") {
    return by_socket("tcp:127.0.0.1:0");
}

#define FILE_OF_SOCKET "/tmp/thrum-race-of-a-test"

KERNEL(by_unix, "race") {
    (void)unlink(FILE_OF_SOCKET); /* of the real system, where another run may have left it */
    return by_socket("unix:" FILE_OF_SOCKET);
}

/* ---- atomics ---- */

static atomic_int flag;
static _Atomic uint8_t byte;

static void stores(void) {
    atomic_store_explicit(&flag, 1, memory_order_release);
}

KERNEL(by_release, "race") {
    begin(stores);
    if (atomic_load_explicit(&flag, memory_order_acquire)) {
        reads();
    }
    join_all();
    return 0;
}

static void fences_and_stores(void) {
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&byte, 1, memory_order_relaxed);
}

KERNEL(by_fences, "race") {
    begin(fences_and_stores);
    if (atomic_load_explicit(&byte, memory_order_relaxed)) {
        atomic_thread_fence(memory_order_acquire);
        reads();
    }
    join_all();
    return 0;
}

static void swaps(void) {
    int none = 0;
    (void)atomic_compare_exchange_strong(&flag, &none, 1);
}

KERNEL(by_compare_and_swap, "race") {
    begin(swaps);
    if (atomic_fetch_add(&flag, 0) == 1) {
        reads();
    }
    join_all();
    return 0;
}

/* A lock of the program's own, which waits in a loop. */
static atomic_flag busy = ATOMIC_FLAG_INIT;

static int spins(void *arg) {
    (void)arg;
    while (fixed && atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) {
        thrum_yield();
    }
    total++;
    if (fixed) {
        atomic_flag_clear_explicit(&busy, memory_order_release);
    }
    return 0;
}

KERNEL(by_spin_lock, "race") {
    go(spins, NULL);
    go(spins, NULL);
    go(spins, NULL);
    join_all();
    return 0;
}

/* ---- memory that is used in turns ---- */

static int uses_memory(void *arg) {
    char text[256];
    memset(text, (int)(intptr_t)arg, sizeof text);
    for (int i = 0; i < 4; i++) {
        char *block = malloc(sizeof text);
        THRUM_TEST(block);
        memcpy(block, text, sizeof text);
        block = realloc(block, 2 * sizeof text);
        THRUM_TEST(block && block[255] == (char)(intptr_t)arg);
        memmove(block + 1, block, sizeof text);
        free(block);
    }
    if (!fixed) {
        total++;
    }
    return 0;
}

KERNEL(in_turns, "race") {
    for (int round = 0; round < 3; round++) {
        thrum_scope scope;
        MUST(thrum_scope_open(&scope, THRUM_FOREVER));
        for (intptr_t i = 1; i <= 3; i++) {
            MUST(thrum_scope_go(&scope, uses_memory, (void *)i));
        }
        MUST(thrum_scope_join(&scope));
    }
    return 0;
}
