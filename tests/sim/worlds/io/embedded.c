/*
 * embedded.c: a bound thread that is embedded in a foreign loop (core/bound/BOUND.md, "Embedded
 * loop"), beside another bound thread. Posts, events and the set that another thread opens meet the
 * embedded thread while it is announced: in the other loop, before it gets there, and when it waits
 * elsewhere after all. A lost event is a deadlock.
 */
#include <errno.h>

#include <thrum/io.h>
#include <thrum/poll.h>

#include "base/atomic.h"
#include "core/state/worker.h"
#include "platform/sim/outside.h"
#include "whole.h"

static thrum_sched *sched;
static int fds[2];
static thrum_io io;
static int data;       /* plain: the writer's earlier writes */
static uint32_t xdone; /* parts that have ended */
static whole_gate bound_too, held;
static thrum_sem sem, own;

static void begin(void) {
    thrum_config config = whole_config(0);
    sim_pipe(fds);
    th_os_io_nonblocking(fds[1], true);
    sim_check(thrum_io_adopt(&io, fds[0]) == 0);
    thrum_sem_init(&sem, 0);
    thrum_sem_init(&own, 0);
    sched = whole_start(&config);
    sim_check(thrum_sched_bind(sched) == 0);
}

static void end(void) {
    sim_check(thrum_sched_unbind() == 0);
    whole_stop(sched);
    sim_check(thrum_io_close(io) == 0);
    th_os_io_close(fds[1]);
    sim_check(sim_descriptors() == 0);
}

/*
 * The other loop: it waits for the embedded thread's descriptor, as long as the embedded thread
 * wants.
 */
static void turns_until(unsigned n) {
    for (;;) {
        thrum_time next;
        sim_check(thrum_poll_run(&next) == 0);
        if (th_load_relaxed(&xdone) >= n) {
            return;
        }
        int bits = th_os_io_poll(thrum_poll_fd(), TH_OS_IN, -1, next);
        sim_check(bits >= 0 || bits == -EINTR);
    }
}

static void is_done(void) {
    th_add_relaxed(&xdone, 1u); /* relaxed: only how many; joins order the rest */
}

static int ends(void *arg) {
    (void)arg;
    is_done();
    return 0;
}

static int reads(void *arg) {
    char byte = 0;
    (void)arg;
    sim_check(thrum_read(io, &byte, 1) == 1);
    sim_check(byte == 'a' && data == 1);
    is_done();
    return 0;
}

static void post(thrum_fn fn) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    sim_check(thrum_go_with(&attr, fn, NULL) == 0);
}

static void posts(void *unused) {
    (void)unused;
    post(ends);
}

static void writes(void *unused) {
    (void)unused;
    data = 1;
    sim_check(th_os_io_write(fds[1], TH_OS_PIPE, "a", 1) == 1);
}

/* ---- alone ---- */

/* A post comes when the embedded thread is in the other loop, or about to enter it. */
SIM_WORLD(embedded_post, .heavy = true, .keeps_memory = true) {
    begin();
    int t = sim_spawn(posts, NULL);
    turns_until(1);
    sim_join(t);
    end();
}

/* A fiber of the embedded thread's own waits for a byte: the shared set is opened in a turn. */
SIM_WORLD(embedded_event, .heavy = true, .keeps_memory = true) {
    begin();
    post(reads);
    int t = sim_spawn(writes, NULL);
    turns_until(1);
    sim_join(t);
    end();
}

/* ---- beside another bound thread ---- */

static void bound_reads(void *unused) {
    (void)unused;
    sim_check(thrum_sched_bind(sched) == 0);
    (void)reads(NULL);
    sim_check(thrum_sched_unbind() == 0);
    post(ends); /* only the embedded thread is left to run it */
}

/*
 * Another thread opens the set that they share, and waits there for a byte; a post comes as well.
 * The embedded thread sleeps in a set in which the shared one is not yet.
 */
SIM_WORLD(embedded_opened, .heavy = true, .keeps_memory = true) {
    begin();
    int other = sim_spawn(bound_reads, NULL);
    int writer = sim_spawn(writes, NULL);
    int t = sim_spawn(posts, NULL);
    turns_until(3);
    sim_join(writer);
    sim_join(t);
    sim_join(other);
    end();
}

static void bound_waits(void *unused) {
    (void)unused;
    sim_check(thrum_sched_bind(sched) == 0);
    whole_open(&bound_too);
    sim_check(thrum_sem_wait(&sem) == 0);
    sim_check(thrum_sched_unbind() == 0);
}

/* Lets the embedded thread go on, which is held up: so the other thread has to run it. */
static int frees(void *arg) {
    (void)arg;
    whole_open(&held);
    return 0;
}

static void posts_freeing(void *unused) {
    (void)unused;
    post(frees);
}

/* On the embedded thread's own thread, which runs nothing else meanwhile. */
static int holds(void *arg) {
    (void)arg;
    whole_pass(&held);
    thrum_sem_post(&sem);
    thrum_sem_post(&own);
    return 0;
}

/*
 * The embedded thread waits elsewhere after all: work tied to its thread goes on there, and is held
 * up until a task that was posted has run. So a wake that the embedded thread has got is the other
 * thread's.
 */
SIM_WORLD(embedded_elsewhere, .heavy = true, .keeps_memory = true) {
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_time next;
    begin();
    bool first = sim_pick(2); /* the thread that has bound itself last is woken first */
    if (!first) {
        sim_check(thrum_sched_unbind() == 0);
    }
    int other = sim_spawn(bound_waits, NULL);
    whole_pass(&bound_too);
    sim_check(thrum_sched_bind(sched) == (first ? -EBUSY : 0));
    sim_check(thrum_poll_run(&next) == 0);
    int t = sim_spawn(posts_freeing, NULL);
    attr.flags = THRUM_PINNED;
    sim_check(thrum_go_with(&attr, holds, NULL) == 0);
    sim_check(thrum_sem_wait(&own) == 0);
    sim_join(t);
    sim_join(other);
    end();
}

static thrum_sem tied; /* the fiber tied to the embedded thread waits for this */
static whole_gate posted, woken;

static int holds_when_woken(void *arg) {
    sim_check(thrum_sem_wait(&tied) == 0);
    return holds(arg);
}

static void posts_freeing_first(void *unused) {
    posts_freeing(unused);
    whole_open(&posted);
}

static void wakes_tied(void *unused) {
    (void)unused;
    whole_pass(&posted);
    thrum_sem_post(&tied);
    whole_open(&woken);
}

/*
 * The same if the embedded thread has been notified of the task, and then gets the work that holds
 * it from a thread that does not know that. Without its own fence it has the task from the word by
 * which it was notified, and notifies the other one.
 */
SIM_WORLD(embedded_elsewhere_told, .heavy = true, .keeps_memory = true) {
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_time next;
    begin();
    thrum_sem_init(&tied, 0);
    sim_check(thrum_sched_unbind() == 0);
    int other = sim_spawn(bound_waits, NULL);
    whole_pass(&bound_too);
    sim_check(thrum_sched_bind(sched) == 0); /* the last one, so the first to be woken */
    attr.flags = THRUM_PINNED;
    sim_check(thrum_go_with(&attr, holds_when_woken, NULL) == 0);
    sim_check(thrum_poll_run(&next) == 0);
    int poster = sim_spawn(posts_freeing_first, NULL);
    int waker = sim_spawn(wakes_tied, NULL);
    whole_pass(&woken);
    sim_check(thrum_sem_wait(&own) == 0);
    sim_join(poster);
    sim_join(waker);
    sim_join(other);
    end();
}
