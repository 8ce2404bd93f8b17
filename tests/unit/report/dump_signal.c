/*
 * dump_signal.c: a dump to stderr when a signal comes: `dump_signal`, THRUM_DUMP.
 */
/* matrix: policy workers */
#include "support/report/asked.h"
#include "support/times.h"
#include "support/io/unread.h"

static thrum_sem sem;

static int waits(void *arg) {
    (void)arg;
    return thrum_sem_wait(&sem);
}

TEST(a_signal_has_its_scheduler_dumped) {
    /* It is so as often as it comes, also in what is a deadlock; then all is as it was. */
    rig r;
    thrum_sem_init(&sem, 0);
    begin(&r, "asked", SIGUSR1);
    rig_go(&r, waits, NULL);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    capture_begin();
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(raise(SIGUSR1), 0);
        await_dump("asked");
        await("1 waiting, 0 ready, 0 running\n");
        await(" waits for semaphore 0x");
    }
    capture_end();
    thrum_sem_post(&sem);
    rig_stop(&r);
    CHECK(is_default(SIGUSR1));
    no_printer_is_left();
}

TEST(nothing_is_there_unless_it_is_asked_for) {
    /* No thread, and no handler. */
    rig r;
    make_default(SIGQUIT);
    begin(&r, "plain", 0);
    CHECK_EQ(printers(), 0);
    CHECK(is_default(SIGUSR1) && is_default(SIGQUIT));
    rig_stop(&r);
}

/* ---- held up ---- */

typedef struct hold {
    int pipe[2];
    atomic_int in;
} hold;

static int holds(void *arg) {
    hold *h = arg;
    char byte;
    atomic_fetch_add(&h->in, 1);
    ssize_t n;
    while ((n = read(h->pipe[0], &byte, 1)) < 0 && errno == EINTR) {
    }
    CHECK_EQ(n, 0);
    return 0;
}

TEST(it_needs_no_worker) {
    /* All of them are in a system call, and tasks are queued behind. */
    static hold h;
    rig r;
    CHECK_EQ(pipe(h.pipe), 0);
    begin(&r, "held", SIGQUIT);
    const int workers = (int)thrum_sched_parallelism(r.sched);
    thrum_attr attr = rig_attr(&r);
    for (int i = 0; i < workers; i++) {
        attr.name = "holds";
        CHECK_EQ(thrum_go_with(&attr, holds, &h), 0);
    }
    SPIN_UNTIL(atomic_load(&h.in) == workers);
    thrum_sem_init(&sem, 1);
    rig_go(&r, waits, NULL);
    capture_begin();
    CHECK_EQ(raise(SIGQUIT), 0);
    await_dump("held");
    for (int i = 0; i < workers; i++) {
        await(" \"holds\" runs on worker ");
    }
    capture_end();
    close(h.pipe[1]);
    rig_stop(&r);
    close(h.pipe[0]);
}

static int never_called(void *arg) {
    (void)arg;
    return 0;
}

TEST(it_needs_no_workers_at_all) {
    /* A bound thread's own code does not look at its tasks; the dump tells what is queued. */
    rig r;
    rig_init(&r);
    r.config.workers = 0;
    r.config.name = "bound";
    r.config.dump_signal = SIGUSR2;
    rig_start(&r);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    rig_go(&r, never_called, NULL);
    capture_begin();
    CHECK_EQ(raise(SIGUSR2), 0);
    await_dump("bound");
    await("1 task alive, 1 queued");
    await("\n  bound thread 0 runs its own code\n");
    capture_end();
    CHECK_EQ(thrum_sched_wait_done(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&r);
}

/* ---- several ---- */

TEST(each_signal_asks_its_schedulers) {
    /* Two have one signal, another has its own; the last that stops gives a signal back. */
    NOT_BY_POSIX("names of threads");
    rig a;
    rig b;
    rig c;
    begin(&a, "first", SIGUSR1);
    begin(&b, "second", SIGUSR1);
    begin(&c, "third", SIGUSR2);
    capture_begin();
    unwanted = "third"; /* it would come before the others: the newest is the first */
    CHECK_EQ(raise(SIGUSR1), 0);
    await_dump("second");
    await_dump("first");
    unwanted = NULL;
    CHECK_EQ(raise(SIGUSR2), 0);
    await_dump("third");
    await("worker 0 ");
    capture_end();
    CHECK_EQ(printers(), 1);
    rig_stop(&a);
    CHECK(!is_default(SIGUSR1) && !is_default(SIGUSR2));
    capture_begin();
    CHECK_EQ(raise(SIGUSR1), 0);
    await_dump("second");
    capture_end();
    rig_stop(&b);
    CHECK(is_default(SIGUSR1) && !is_default(SIGUSR2));
    rig_stop(&c);
    CHECK(is_default(SIGUSR2));
    no_printer_is_left();
}

TEST(it_can_be_started_again) {
    /* Each start has a thread of its own, and each stop gives the signal back. */
    NOT_BY_POSIX("names of threads");
    for (int i = 0; i < 5; i++) {
        rig r;
        begin(&r, "again", SIGUSR1);
        capture_begin();
        CHECK_EQ(raise(SIGUSR1), 0);
        await_dump("again");
        await("worker 0 ");
        capture_end();
        CHECK_EQ(printers(), 1);
        rig_stop(&r);
        CHECK(is_default(SIGUSR1));
        no_printer_is_left();
    }
}

/* ---- a reader that does not read ---- */

TEST(a_dump_that_nobody_reads_holds_up_nobody_else) {
    /* Another scheduler starts and stops meanwhile, and its own stop keeps its deadline. */
    rig a, b;
    unread u;
    begin(&a, "stuck", SIGUSR1);
    unread_begin(&u);
    CHECK_EQ(raise(SIGUSR1), 0);
    begin(&b, "free", SIGUSR2);
    rig_stop(&b);
    CHECK_EQ(thrum_sched_stop_until(a.sched, soon()), 0);
    a.sched = NULL;
    unread_end(&u);
    no_printer_is_left();
    begin(&a, "again", SIGUSR1);
    capture_begin();
    CHECK_EQ(raise(SIGUSR1), 0);
    await_dump("again");
    capture_end();
    rig_stop(&a);
}
