/*
 * io_on.c: tasks that are posted when a descriptor is ready (io/DIRECTION.md, R12), on a bare
 * scheduler: the event against the deadline, a wakeup, a cancel, a close and a stop. The body frees
 * its task, so whatever still finds it in its place uses freed memory. With it, schedulers that
 * share a descriptor (R9), where tasks read.
 */
#include <errno.h>

#include <thrum/io.h>

#include "base/atomic.h"
#include "io/record.h"
#include "platform/platform.h"
#include "platform/sim/outside.h"
#include "whole.h"

#define SOON 300 /* about as long as a few steps take */

static thrum_sched *sched;
static int fds[2];
static thrum_io io;
static thrum_task *task;
static whole_gate listed, ran;
static int data;  /* plain: the writer's earlier writes */
static bool told; /* plain: the body is to find the byte */
static unsigned runs;

static void begin(unsigned workers) {
    thrum_config config = whole_config(workers);
    sim_pipe(fds);
    th_os_io_nonblocking(fds[1], true);
    sim_check(thrum_io_adopt(&io, fds[0]) == 0);
    sched = whole_start_bare(&config);
}

static void adopts(void *arg) {
    sim_check(thrum_io_adopt(arg, *(int *)arg) == 0);
}

static void end(void) {
    whole_stop(sched);
    sim_check(runs == 1);
    int code = thrum_io_close(io);
    sim_check(code == 0 || code == -EBADF);
    th_os_io_close(fds[1]);
    sim_check(sim_descriptors() == 0);
}

/* It runs once, regardless of the cause, and may go. */
static void frees(thrum_task *self, void *arg) {
    char byte;
    (void)arg;
    runs++;
    bool woken = !thrum_task_is_expired(self) && !thrum_task_is_cancelled(self);
    if (told && woken) {
        int64_t n = th_os_io_read(fds[0], TH_OS_PIPE, &byte, 1);
        sim_check(n == -EAGAIN || (n == 1 && data == 1)); /* an event may be false */
    }
    sim_free(self);
    whole_open(&ran);
}

/* Lists the task from another one's body, with a deadline or without. */
static void lists(thrum_task *self, void *arg) {
    whole_count(self, NULL);
    thrum_time until = arg ? thrum_now() + SOON : THRUM_FOREVER;
    int code = thrum_io_on_until(io, THRUM_IO_READ, task, until);
    sim_check(code == 0 || code == -EBADF);
    if (code) {
        runs++;
        sim_free(task);
        whole_open(&ran);
    }
    whole_open(&listed);
}

static void list(bool soon) {
    task = sim_alloc(sizeof *task);
    thrum_task_init(task, frees, NULL);
    whole_post(sched, 0, lists, soon ? task : NULL);
}

static void writes(void *unused) {
    (void)unused;
    data = 1;
    (void)th_os_io_write(fds[1], TH_OS_PIPE, "a", 1);
}

/* The byte is there before, comes while the task is listed, or later. */
static void event_only(unsigned workers) {
    told = true;
    begin(workers);
    if (sim_pick(2)) { /* so that listing it makes no event */
        sim_check(th_record_join(th_record_at(fds[0]), io.turn, sched) == 0);
    }
    int t = sim_spawn(writes, NULL);
    list(false);
    whole_pass(&ran);
    sim_join(t);
    end();
}

SIM_WORLD(io_on_1, .asleep = whole_asleep, .keeps_memory = true) {
    event_only(1);
}

SIM_WORLD(io_on_2, .asleep = whole_asleep, .keeps_memory = true) {
    event_only(2);
}

static void lists_and_holds(thrum_task *self, void *arg) {
    lists(self, arg);
    whole_pass(&ran);
}

/*
 * The event is another worker's than the listing, whose worker is held up behind it, so that no
 * later fence of its own orders the two: the caller asks the system, or the event sees the task.
 */
SIM_WORLD(io_on_held, .asleep = whole_asleep_shared, .keeps_memory = true) {
    told = true;
    begin(2);
    sim_check(th_record_join(th_record_at(fds[0]), io.turn, sched) == 0);
    int t = sim_spawn(writes, NULL);
    task = sim_alloc(sizeof *task);
    thrum_task_init(task, frees, NULL);
    thrum_task_init(&whole_tasks[0], lists_and_holds, NULL);
    thrum_task_set_worker(&whole_tasks[0], 1);
    sim_check(thrum_task_post(sched, &whole_tasks[0]) == 0);
    whole_pass(&ran);
    sim_join(t);
    end();
}

/* The deadline passes at the moment of the event. */
SIM_WORLD(io_on_deadline, .asleep = whole_asleep, .keeps_memory = true) {
    begin(1 + sim_pick(2));
    int t = sim_spawn(writes, NULL);
    list(true);
    whole_pass(&ran);
    sim_join(t);
    end();
}

static void closes(void *unused) {
    (void)unused;
    sim_check(thrum_io_close(io) == 0);
}

/* A close meets the event, the deadline, and the listing itself. */
SIM_WORLD(io_on_close, .asleep = whole_asleep, .keeps_memory = true) {
    begin(1 + sim_pick(2));
    int t = sim_spawn(closes, NULL);
    list(sim_pick(2));
    if (sim_pick(2)) {
        writes(NULL);
    }
    whole_pass(&ran);
    sim_join(t);
    end();
}

/* A stop cancels it, or the event comes first. */
SIM_WORLD(io_on_stop, .asleep = whole_asleep, .keeps_memory = true) {
    begin(1 + sim_pick(2));
    int t = sim_spawn(writes, NULL);
    list(sim_pick(2));
    whole_pass(&listed);
    sim_join(t);
    end();
}

/* ---- the table ---- */

static int four[4];
static thrum_io taken[2];

/*
 * Two threads take over descriptors in a part of the table that is not there yet; a stop reads
 * it.
 */
SIM_WORLD(io_table, .keeps_memory = true) {
    begin(1);
    sim_pipe(four);
    sim_pipe(four + 2);
    taken[0].fd = four[0]; /* 5 and 6: not in the part of 3 */
    taken[1].fd = four[1];
    list(false);
    writes(NULL);
    whole_pass(&ran);
    int a = sim_spawn(adopts, &taken[0]);
    int b = sim_spawn(adopts, &taken[1]);
    whole_stop(sched);
    sim_join(a);
    sim_join(b);
}

/* ---- a task that is not freed: wakeups and cancels from others ---- */

static void stays(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    runs++;
    whole_open(&ran);
}

static void lists_to_stay(thrum_task *self, void *arg) {
    whole_count(self, NULL);
    (void)arg;
    sim_check(thrum_io_on_until(io, THRUM_IO_READ, &whole_tasks[1], THRUM_FOREVER) == 0);
    whole_open(&listed);
}

static void cancels(void *unused) {
    (void)unused;
    whole_pass(&listed);
    if (sim_pick(2)) {
        (void)thrum_task_cancel(&whole_tasks[1]);
    } else {
        (void)thrum_task_wakeup(&whole_tasks[1]);
    }
}

/* A cancel, or a wakeup, meets the event: one run, and the place is empty behind it. */
SIM_WORLD(io_on_cancel, .asleep = whole_asleep, .keeps_memory = true) {
    begin(1 + sim_pick(2));
    thrum_task_init(&whole_tasks[1], stays, NULL);
    int t = sim_spawn(cancels, NULL);
    whole_post(sched, 0, lists_to_stay, NULL);
    whole_pass(&listed);
    writes(NULL);
    whole_pass(&ran);
    sim_join(t);
    end();
}

/* ---- a serial task that two list at the same time ---- */

static thrum_io rival;
static unsigned refused;
static whole_gate tried[2];

static void lists_serial(thrum_task *self, void *arg) {
    whole_count(self, NULL);
    int code = thrum_io_on(arg ? rival : io, THRUM_IO_READ, &whole_tasks[2]);
    sim_check(code == 0 || code == -EBUSY);
    if (code) {
        (void)th_add_relaxed(&refused, 1u); /* relaxed: the gates order it */
    }
    whole_open(&tried[arg != NULL]);
}

static bool is_empty(thrum_io of) {
    th_direction *direction = &th_record_at(of.fd)->directions[0];
    uint32_t word = th_word32_lock_list(&direction->xword);
    bool empty = direction->task == NULL;
    th_word32_publish(&direction->xword, word);
    return empty;
}

/* One of them is refused, and a stop leaves no place taken. */
SIM_WORLD(io_on_serial, .asleep = whole_asleep, .keeps_memory = true) {
    int more[2];
    begin(2);
    sim_pipe(more);
    sim_check(thrum_io_adopt(&rival, more[0]) == 0);
    thrum_task_init(&whole_tasks[2], stays, NULL);
    thrum_task_set_serial(&whole_tasks[2]);
    whole_post(sched, 0, lists_serial, NULL);
    whole_post(sched, 1, lists_serial, &rival);
    whole_pass(&tried[0]);
    whole_pass(&tried[1]);
    whole_stop(sched);
    sim_check(runs + refused == 2); /* an event may be false: then the other one came later */
    sim_check(is_empty(io) && is_empty(rival));
    sim_check(thrum_io_close(io) == 0 && thrum_io_close(rival) == 0);
    th_os_io_close(fds[1]);
    th_os_io_close(more[1]);
    sim_check(sim_descriptors() == 0);
}

/* ---- several schedulers (R9) ---- */

static thrum_sched *both[2];
static uint32_t xgot;

static int reads(void *arg) {
    char byte = 0;
    (void)arg;
    int64_t n = thrum_read(io, &byte, 1);
    sim_check(n == 1 && byte == 'a' && data == 1);
    th_add_relaxed(&xgot, 1u); /* relaxed: only how many there are */
    return 0;
}

static void stops(void *arg) {
    sim_check(thrum_sched_stop(arg) == 0);
}

/*
 * Two schedulers wait under one descriptor; the scheduler that gets its byte first stops
 * meanwhile.
 */
SIM_WORLD(io_two_scheds, .heavy = true, .keeps_memory = true) {
    thrum_config config = whole_config(1);
    sim_pipe(fds);
    th_os_io_nonblocking(fds[1], true);
    sim_check(thrum_io_adopt(&io, fds[0]) == 0);
    for (unsigned i = 0; i < 2; i++) {
        thrum_attr attr = THRUM_ATTR_INIT;
        both[i] = whole_start(&config);
        attr.sched = both[i];
        sim_check(thrum_go_with(&attr, reads, NULL) == 0);
    }
    data = 1;
    int t = sim_spawn(stops, both[0]);
    sim_check(th_os_io_write(fds[1], TH_OS_PIPE, "a", 1) == 1);
    sim_check(th_os_io_write(fds[1], TH_OS_PIPE, "a", 1) == 1);
    whole_stop(both[1]);
    sim_join(t);
    whole_forget(both[0]);
    sim_check(xgot == 2);
    sim_check(thrum_io_close(io) == 0);
    th_os_io_close(fds[1]);
    sim_check(sim_descriptors() == 0);
}

/* ---- bound threads that share a set ---- */

static int others[2];
static thrum_io second;

static void bound_reads(void *arg) {
    char byte = 0;
    sim_check(thrum_sched_bind(sched) == 0);
    sim_check(thrum_read(arg ? second : io, &byte, 1) == 1 && byte == 'a');
    sim_check(thrum_sched_unbind() == 0);
}

/* Without workers: two bound threads wait, each for its own descriptor, in sets with one inside. */
SIM_WORLD(io_bound, .heavy = true, .keeps_memory = true) {
    thrum_config config = whole_config(0);
    sim_pipe(fds);
    sim_pipe(others);
    th_os_io_nonblocking(fds[1], true);
    th_os_io_nonblocking(others[1], true);
    sim_check(thrum_io_adopt(&io, fds[0]) == 0);
    sim_check(thrum_io_adopt(&second, others[0]) == 0);
    sched = whole_start(&config);
    int a = sim_spawn(bound_reads, NULL);
    int b = sim_spawn(bound_reads, &second);
    sim_check(th_os_io_write(others[1], TH_OS_PIPE, "a", 1) == 1);
    sim_check(th_os_io_write(fds[1], TH_OS_PIPE, "a", 1) == 1);
    sim_join(a);
    sim_join(b);
    whole_stop(sched);
    sim_check(thrum_io_close(io) == 0);
    sim_check(thrum_io_close(second) == 0);
    th_os_io_close(fds[1]);
    th_os_io_close(others[1]);
    sim_check(sim_descriptors() == 0);
}

static thrum_sem woken;

static void posts(void *unused) {
    (void)unused;
    thrum_sem_post(&woken);
}

/* The waker of a bound thread has from it the set in which it sleeps, which it has just opened. */
SIM_WORLD(io_bound_woken, .heavy = true, .keeps_memory = true) {
    thrum_config config = whole_config(0);
    sim_pipe(fds);
    sim_check(thrum_io_adopt(&io, fds[0]) == 0);
    sched = whole_start(&config);
    thrum_sem_init(&woken, 0);
    int t = sim_spawn(posts, NULL);
    sim_check(th_record_join(th_record_at(fds[0]), io.turn, sched) == 0);
    sim_check(thrum_sched_bind(sched) == 0);
    sim_check(thrum_sem_wait(&woken) == 0);
    sim_check(thrum_sched_unbind() == 0);
    sim_join(t);
    whole_stop(sched);
    sim_check(thrum_io_close(io) == 0);
    th_os_io_close(fds[1]);
    sim_check(sim_descriptors() == 0);
}
