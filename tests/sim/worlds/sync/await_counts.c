/*
 * await_counts.c: waits of tasks for counts, turns and objects (core/wait/WAITING.md, "Waits of
 * tasks"), on a bare scheduler: the end of the wait against its beginning and its deadline, for a
 * pool also against a cancel and a post that is refused. The body frees the object if nobody else
 * needs it.
 */
#include <errno.h>

#include <thrum/await.h>

#include "whole.h"

#define SOON 300 /* about as long as a few steps take */

typedef struct place {
    thrum_task task;
    thrum_await await;
    void *object;
} place;

static thrum_sched *sched;
static place *of_wait;
static thrum_waitgroup *wg;
static thrum_sem *sem;
static thrum_tickets *tickets;
static thrum_ticket *first, *second;
static thrum_pool *pool;
static void *lent; /* plain: the object that the thread has borrowed */
static whole_gate ended;
static int data;    /* plain: the other side's earlier writes */
static int outcome; /* plain: of the wait */
static bool keeps;  /* constant: another thread uses the task, so it is freed behind that one */
static int64_t deadline = THRUM_FOREVER;

static void body(thrum_task *self, void *arg);

static void start(void) {
    thrum_config config = whole_config(1);
    sched = whole_start_bare(&config);
    of_wait = sim_alloc(sizeof *of_wait);
    of_wait->object = NULL;
    thrum_task_init(&of_wait->task, body, of_wait);
}

static void is_over(place *p, int code) {
    outcome = code;
    sim_check(code != 0 || data == 1);
    sim_check(code == 0 || !pool || !p->object); /* nothing was handed out */
    if (code == 0 && pool) {
        sim_check(p->object == lent);
        thrum_pool_give_back(pool, p->object);
    }
    if (tickets) {
        thrum_ticket_done(second);
    }
    if (code == 0 && wg) {
        sim_free(wg);
    } else if (code == 0 && sem) {
        sim_free(sem);
    } else if (code == 0 && tickets) {
        sim_free(first);
        sim_free(second);
        sim_check(thrum_tickets_destroy(tickets) == 0);
        sim_free(tickets);
    }
    if (!keeps) {
        sim_free(p);
    }
    whole_open(&ended);
}

static void body(thrum_task *self, void *arg) {
    (void)self;
    place *p = arg;
    is_over(p, thrum_await_end(&p->await));
}

/* Begins the wait in a task; an object that is there is taken at once. */
static void begins(thrum_task *self, void *arg) {
    (void)self, (void)arg;
    place *p = of_wait;
    thrum_await *await = &p->await;
    const int code =
        wg     ? thrum_waitgroup_on_until(wg, await, &p->task, deadline)
        : sem  ? thrum_sem_on_n_until(sem, 2, await, &p->task, deadline)
        : pool ? thrum_pool_borrow_on_until(pool, &p->object, 1, await, &p->task, deadline)
               : thrum_ticket_on_until(second, await, &p->task, deadline);
    if (code) {
        is_over(p, code == 1 ? 0 : code);
    }
}

static void gives(void *arg) {
    (void)arg;
    data = 1;
    if (wg) {
        thrum_waitgroup_done(wg);
    } else if (sem) {
        thrum_sem_post(sem);
        thrum_sem_post(sem);
    } else if (pool) {
        thrum_pool_give_back(pool, lent);
    } else {
        thrum_ticket_done(first);
    }
}

static void cancels(void *arg) {
    (void)arg;
    const int code = thrum_task_cancel(&of_wait->task);
    sim_check(code == 0 || code == -EBUSY);
}

static void play(void) {
    int t = sim_spawn(gives, NULL);
    int c = keeps ? sim_spawn(cancels, NULL) : 0;
    whole_post(sched, 0, begins, NULL);
    sim_join(t);
    whole_pass(&ended);
    whole_stop(sched);
    if (keeps) {
        sim_join(c);
        sim_free(of_wait);
    }
}

static void make_waitgroup(void) {
    wg = sim_alloc(sizeof *wg);
    thrum_waitgroup_init(wg, 1);
}

static void make_sem(void) {
    sem = sim_alloc(sizeof *sem);
    thrum_sem_init(sem, 0);
}

static void make_tickets(void) {
    tickets = sim_alloc(sizeof *tickets);
    first = sim_alloc(sizeof *first);
    second = sim_alloc(sizeof *second);
    thrum_tickets_init(tickets);
    thrum_tickets_take(tickets, first);
    thrum_tickets_take(tickets, second);
}

static void make_pool(void) {
    thrum_pool_config config = THRUM_POOL_CONFIG_INIT;
    config.item_size = 8;
    config.capacity = 1;
    sim_check(thrum_pool_create(&pool, &config) == 0);
    sim_check(thrum_pool_borrow(pool, &lent) == 0);
}

/* ---- the other side comes before, while or after the wait begins ---- */

SIM_WORLD(await_waitgroup, .asleep = whole_asleep) {
    start();
    make_waitgroup();
    play();
    sim_check(outcome == 0);
}

SIM_WORLD(await_sem_n, .asleep = whole_asleep) {
    start();
    make_sem();
    play();
    sim_check(outcome == 0);
}

SIM_WORLD(await_ticket, .asleep = whole_asleep) {
    start();
    make_tickets();
    play();
    sim_check(outcome == 0);
}

SIM_WORLD(await_pool, .asleep = whole_asleep) {
    start();
    make_pool();
    play();
    sim_check(outcome == 0 && thrum_pool_destroy(pool) == 0);
}

/* ---- against the deadline: it is the wait's, or it is still there ---- */

static void late(void) {
    deadline = thrum_after(SOON);
    play();
    sim_check(outcome == 0 || outcome == -ETIMEDOUT);
}

SIM_WORLD(await_waitgroup_late, .asleep = whole_asleep, .timers_max = 2) {
    start();
    make_waitgroup();
    late();
    if (outcome) {
        sim_check(thrum_waitgroup_destroy(wg) == 0);
        sim_free(wg);
    }
}

SIM_WORLD(await_sem_n_late, .asleep = whole_asleep, .timers_max = 2) {
    start();
    make_sem();
    late();
    if (outcome) {
        sim_check(thrum_sem_try_wait_n(sem, 2) == 0);
        sim_check(thrum_sem_destroy(sem) == 0);
        sim_free(sem);
    }
}

SIM_WORLD(await_ticket_late, .asleep = whole_asleep, .timers_max = 2) {
    start();
    make_tickets();
    late();
    if (outcome) {
        sim_check(thrum_tickets_destroy(tickets) == 0);
        sim_free(first);
        sim_free(second);
        sim_free(tickets);
    }
}

SIM_WORLD(await_pool_late, .asleep = whole_asleep, .timers_max = 2) {
    start();
    make_pool();
    late();
    sim_check(thrum_pool_destroy(pool) == 0);
}

/* ---- against a cancel, and where the task cannot be posted: so, too ---- */

SIM_WORLD(await_pool_cancelled, .asleep = whole_asleep) {
    start();
    make_pool();
    keeps = true;
    play();
    sim_check(outcome == 0 || outcome == -ECANCELED);
    sim_check(thrum_pool_destroy(pool) == 0);
}

SIM_WORLD(await_pool_refused, .asleep = whole_asleep) {
    start();
    make_pool();
    thrum_task_set_worker(&of_wait->task, 1000);
    play();
    sim_check(outcome == 0 || outcome == -EINVAL);
    sim_check(thrum_pool_destroy(pool) == 0);
}
