/*
 * await_counts.c: waits of intrusive tasks (thrum/await.h) for waitgroups, several units of a
 * semaphore, turns of tickets, objects of a pool, and what is done once.
 */
/* matrix: policy workers */
#include "support/sync/awaits.h"
#include "support/times.h"

static int on_waitgroup(place *p) {
    return thrum_waitgroup_on_until(p->of, &p->await, &p->task, p->deadline);
}

static int on_two_units(place *p) {
    return thrum_sem_on_n_until(p->of, 2, &p->await, &p->task, p->deadline);
}

static int on_ticket(place *p) {
    return thrum_ticket_on_until(p->of, &p->await, &p->task, p->deadline);
}

static int on_pool(place *p) {
    return thrum_pool_borrow_on_until(p->of, p->items, 2, &p->await, &p->task, p->deadline);
}

static int on_once(place *p) {
    return thrum_once_on_until(p->of, &p->await, &p->task, p->deadline);
}

/* ---- one of each, at which a task would wait ---- */

enum { WAITGROUP, UNITS, TICKET, POOL, ONCE, KINDS };

static const on_fn on[KINDS] = {on_waitgroup, on_two_units, on_ticket, on_pool, on_once};
static thrum_waitgroup wg;
static thrum_sem sem;
static thrum_tickets queue;
static thrum_ticket first, second;
static thrum_pool *pool;
static void *lent;
static thrum_once once;
static void *const things[] = {&wg, &sem, &second, NULL, &once};

static void *thing(int kind) {
    return kind == POOL ? (void *)pool : things[kind];
}

static void make_all(void) {
    thrum_pool_config config = THRUM_POOL_CONFIG_INIT;
    config.item_size = sizeof(int);
    config.capacity = 2;
    rig_begin(&r, 0);
    thrum_waitgroup_init(&wg, 1);
    thrum_sem_init(&sem, 1);
    thrum_tickets_init(&queue);
    thrum_tickets_take(&queue, &first);
    thrum_tickets_take(&queue, &second);
    CHECK_EQ(thrum_pool_create(&pool, &config), 0);
    CHECK_EQ(thrum_pool_borrow(pool, &lent), 0);
    thrum_once_init(&once);
    place p;
    CHECK_EQ(begin(&p, on_once, &once, THRUM_FOREVER), 2); /* the test's turn */
}

/* What each of them is waited for, by the test's thread. */
static void give_all(void) {
    plain = 7;
    thrum_waitgroup_done(&wg);
    thrum_sem_post(&sem);
    thrum_ticket_done(&first);
    thrum_pool_give_back(pool, lent);
    thrum_once_finish(&once, 0);
}

static void end_all(void) {
    thrum_ticket_done(&second);
    rig_stop(&r);
    CHECK_EQ(thrum_waitgroup_destroy(&wg), 0);
    CHECK_EQ(thrum_sem_destroy(&sem), 0);
    CHECK_EQ(thrum_tickets_destroy(&queue), 0);
    CHECK_EQ(thrum_pool_destroy(pool), 0);
    CHECK_EQ(thrum_once_destroy(&once), 0);
}

static void give_back_two(place *p) {
    thrum_pool_give_back(pool, p->items[0]);
    thrum_pool_give_back(pool, p->items[1]);
}

TEST(what_is_there_is_had_at_once) {
    /* Also with a deadline that has passed; nothing is posted. */
    place p;
    make_all();
    give_all();
    for (int late = 0; late < 2; late++) {
        for (int kind = 0; kind < KINDS; kind++) {
            CHECK_EQ(begin(&p, on[kind], thing(kind), late ? 0 : THRUM_FOREVER), 1);
            CHECK_EQ(atomic_load(&p.runs), 0);
            if (kind == UNITS) {
                thrum_sem_post_n(&sem, 2);
            } else if (kind == POOL) {
                give_back_two(&p);
            }
        }
    }
    end_all();
}

TEST(the_other_side_makes_the_task_due) {
    /* The body has what it waited for, and sees what was written before. */
    place p[KINDS];
    make_all();
    for (int kind = 0; kind < KINDS; kind++) {
        thrum_time deadline = kind % 2 ? far_off() : THRUM_FOREVER;
        CHECK_EQ(begin(&p[kind], on[kind], thing(kind), deadline), 0);
    }
    give_all();
    for (int kind = 0; kind < KINDS; kind++) {
        await_run(&p[kind]);
        CHECK_EQ(p[kind].ended, 0);
        CHECK_EQ(p[kind].plain, 7);
    }
    CHECK_EQ(thrum_sem_try_wait(&sem), -EAGAIN);
    CHECK_EQ(thrum_pool_try_borrow(pool, &lent), -EAGAIN);
    give_back_two(&p[POOL]);
    CHECK(thrum_once_is_done(&once));
    end_all();
}

TEST(a_deadline_a_cancel_and_a_wakeup_take_nothing) {
    /* The wait is over, with its code; what is given afterwards is still there. */
    static const int codes[] = {-ETIMEDOUT, -ECANCELED, -EAGAIN};
    place p;
    make_all();
    for (int how = 0; how < 3; how++) {
        for (int kind = 0; kind < KINDS; kind++) {
            CHECK_EQ(begin(&p, on[kind], thing(kind), past()), -ETIMEDOUT);
            thrum_time deadline = how ? THRUM_FOREVER : soon();
            int code = begin(&p, on[kind], thing(kind), deadline);
            if (code == -ETIMEDOUT && !how) {
                continue; /* it came before the wait */
            }
            CHECK_EQ(code, 0);
            if (how == 1) {
                CHECK_EQ(thrum_task_cancel(&p.task), 0);
            } else if (how == 2) {
                thrum_task_wakeup(&p.task);
            }
            await_run(&p);
            CHECK_EQ(p.ended, codes[how]);
        }
    }
    give_all();
    CHECK_EQ(thrum_waitgroup_wait(&wg), 0);
    CHECK_EQ(thrum_sem_try_wait_n(&sem, 2), 0);
    CHECK(thrum_ticket_is_called(&second));
    CHECK_EQ(begin(&p, on_pool, pool, THRUM_FOREVER), 1);
    give_back_two(&p);
    CHECK(thrum_once_is_done(&once));
    end_all();
}

TEST(a_stop_cancels_waits_that_nothing_ends) {
    /* Nothing but such waits is left: the stop ends them, and they take themselves off. */
    place p[KINDS];
    make_all();
    for (int kind = 0; kind < KINDS; kind++) {
        CHECK_EQ(begin(&p[kind], on[kind], thing(kind), THRUM_FOREVER), 0);
    }
    rig_stop(&r);
    for (int kind = 0; kind < KINDS; kind++) {
        CHECK_EQ(p[kind].ended, -ECANCELED);
    }
    rig_begin(&r, 0);
    give_all();
    end_all();
}

/* No units, and no objects: there is nothing to wait for. */
static int on_nothing(place *p) {
    int code = thrum_sem_on_n_until(&sem, 0, &p->await, &p->task, p->deadline);
    CHECK_EQ(code, 1);
    return thrum_pool_borrow_on_until(pool, NULL, 0, &p->await, &p->task, p->deadline);
}

TEST(what_makes_no_sense_begins_nothing) {
    /* Too many units, too many objects, a ticket that is not taken; none of either is nothing. */
    place p;
    void *three[3];
    make_all();
    memset(&p, 0, sizeof p);
    thrum_task_init(&p.task, ends, &p);
    thrum_ticket untaken = {0};
    CHECK_EQ(thrum_ticket_on_until(&untaken, &p.await, &p.task, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_sem_on_n_until(&sem, THRUM_SEM_MAX + 1u, &p.await, &p.task, 0), -EINVAL);
    CHECK_EQ(thrum_pool_borrow_on_until(pool, three, 3, &p.await, &p.task, 0), -EINVAL);
    CHECK_EQ(thrum_waitgroup_on_until(&wg, &p.await, &p.task, 0), -ESRCH); /* a plain thread */
    CHECK_EQ(thrum_once_on_until(&once, &p.await, &p.task, 0), -ESRCH);
    CHECK_EQ(begin(&p, on_nothing, NULL, THRUM_FOREVER), 1);
    CHECK_EQ(begin(&p, on_nothing, NULL, 0), 1);
    give_all();
    end_all();
}

/* ---- turns of a once ---- */

TEST(a_turn_that_fails_goes_to_the_first_who_waits) {
    /* Of tasks and a fiber, in their order; each may end it on any thread. */
    place p[3];
    make_all();
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(begin(&p[i], on_once, &once, THRUM_FOREVER), 0);
    }
    thrum_once_finish(&once, -EIO);
    await_run(&p[0]);
    CHECK_EQ(p[0].ended, 2);
    CHECK_EQ(atomic_load(&p[1].runs), 0);
    thrum_once_finish(&once, -EIO);
    await_run(&p[1]);
    CHECK_EQ(p[1].ended, 2);
    CHECK(!thrum_once_is_done(&once));
    plain = 9;
    thrum_once_finish(&once, 3);
    await_run(&p[2]);
    CHECK_EQ(p[2].ended, 0);
    CHECK_EQ(p[2].plain, 9);
    thrum_once_init(&once);
    CHECK_EQ(begin(&p[0], on_once, &once, THRUM_FOREVER), 2);
    give_all();
    end_all();
}

static int counts(void *arg) {
    ++*(int *)arg;
    return 0;
}

static int runs_once(void *arg) {
    return thrum_once_run(&once, counts, arg);
}

TEST(a_fiber_waits_for_the_turn_of_a_task) {
    /* And has it when that fails. */
    int called = 0;
    thrum_handle *handle;
    make_all();
    thrum_attr attr = rig_attr(&r);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, runs_once, &called), 0);
    SPIN_UNTIL(ONCE_WAITING(&once) == 1);
    CHECK_EQ(called, 0);
    thrum_once_finish(&once, -EIO);
    int result = -1;
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, 0);
    CHECK_EQ(called, 1);
    thrum_once_init(&once);
    place p;
    CHECK_EQ(begin(&p, on_once, &once, THRUM_FOREVER), 2);
    give_all();
    end_all();
}

/* ---- objects that are made at each borrow ---- */

static int made, refuse;

static int construct(void *item, void *ctx) {
    (void)ctx;
    if (refuse) {
        return refuse;
    }
    *(int *)item = ++made;
    return 0;
}

static int on_one(place *p) {
    return thrum_pool_borrow_on_until(p->of, p->items, 1, &p->await, &p->task, p->deadline);
}

/* A pool of one object, which is constructed anew each time. */
static thrum_pool *making_pool(void) {
    thrum_pool_config config = THRUM_POOL_CONFIG_INIT;
    thrum_pool *made_anew;
    config.item_size = sizeof(int);
    config.capacity = 1;
    config.construct = construct;
    CHECK_EQ(thrum_pool_create(&made_anew, &config), 0);
    return made_anew;
}

TEST(objects_are_constructed_in_the_run_that_has_them) {
    /* Where that fails nothing is borrowed, at once or later. */
    place p;
    rig_begin(&r, 0);
    thrum_pool *made_anew = making_pool();
    CHECK_EQ(thrum_pool_borrow(made_anew, &lent), 0);
    for (int round = 0; round < 2; round++) {
        CHECK_EQ(begin(&p, on_one, made_anew, THRUM_FOREVER), 0);
        refuse = round ? -EIO : 0;
        thrum_pool_give_back(made_anew, lent);
        await_run(&p);
        CHECK_EQ(p.ended, refuse);
        lent = p.items[0];
    }
    CHECK_EQ(made, 2);
    CHECK_EQ(begin(&p, on_one, made_anew, THRUM_FOREVER), -EIO);
    CHECK_EQ(thrum_pool_destroy(made_anew), 0);
    rig_stop(&r);
}

/* Begins a wait for the only object, which is lent, and ends it by the code. */
static void ends_early(place *p, thrum_pool *of, int code) {
    thrum_time deadline = code == -ETIMEDOUT ? soon() : THRUM_FOREVER;
    const int begun = begin(p, on_one, of, deadline);
    if (begun == -ETIMEDOUT && code == -ETIMEDOUT) {
        return; /* it came before the wait */
    }
    CHECK_EQ(begun, 0);
    if (code == -ECANCELED) {
        CHECK_EQ(thrum_task_cancel(&p->task), 0);
    } else if (code == -EAGAIN) {
        thrum_task_wakeup(&p->task);
    }
    await_run(p);
    CHECK_EQ(p->ended, code);
}

TEST(a_constructors_code_is_told_from_the_waits_own) {
    /* By the first place of the array, also where both are the same code, at once or later. */
    static const int codes[] = {-ETIMEDOUT, -ECANCELED, -EAGAIN};
    place p;
    rig_begin(&r, 0);
    thrum_pool *made_anew = making_pool();
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(thrum_pool_borrow(made_anew, &lent), 0);
        ends_early(&p, made_anew, codes[i]);
        CHECK(p.items[0] == NULL);
        CHECK_EQ(begin(&p, on_one, made_anew, 0), -ETIMEDOUT);
        CHECK(p.items[0] == NULL);
        CHECK_EQ(begin(&p, on_one, made_anew, THRUM_FOREVER), 0);
        refuse = codes[i];
        thrum_pool_give_back(made_anew, lent);
        await_run(&p);
        CHECK_EQ(p.ended, codes[i]);
        CHECK(p.items[0] != NULL);
        CHECK_EQ(begin(&p, on_one, made_anew, THRUM_FOREVER), codes[i]);
        CHECK(p.items[0] != NULL);
        refuse = 0;
    }
    CHECK_EQ(thrum_pool_destroy(made_anew), 0);
    rig_stop(&r);
}

static int allowed; /* how many allocations are granted */

static void *grants(void *ctx, size_t size) {
    (void)ctx;
    return allowed-- > 0 ? malloc(size) : NULL;
}

static void takes_back(void *ctx, void *ptr) {
    (void)ctx;
    free(ptr);
}

TEST(an_unbounded_pool_tells_them_apart_too) {
    /* One that has an object, but no memory for a second, has run no constructor. */
    thrum_pool_config config = THRUM_POOL_CONFIG_INIT;
    thrum_pool *grows;
    place p;
    config.item_size = sizeof(int);
    config.construct = construct;
    config.alloc = grants;
    config.free = takes_back;
    allowed = 2;
    rig_begin(&r, 0);
    CHECK_EQ(thrum_pool_create(&grows, &config), 0);
    CHECK_EQ(begin(&p, on_one, grows, THRUM_FOREVER), 1);
    thrum_pool_give_back(grows, p.items[0]);
    CHECK_EQ(begin(&p, on_pool, grows, THRUM_FOREVER), -ENOMEM);
    CHECK(p.items[0] == NULL);
    allowed = 1;
    refuse = -ENOMEM;
    CHECK_EQ(begin(&p, on_pool, grows, THRUM_FOREVER), -ENOMEM);
    CHECK(p.items[0] != NULL);
    CHECK_EQ(thrum_pool_destroy(grows), 0);
    rig_stop(&r);
}

TEST(an_unbounded_pool_is_not_waited_for) {
    /* It makes what is missing at once. */
    thrum_pool_config config = THRUM_POOL_CONFIG_INIT;
    thrum_pool *grows;
    place p;
    config.item_size = sizeof(int);
    rig_begin(&r, 0);
    CHECK_EQ(thrum_pool_create(&grows, &config), 0);
    CHECK_EQ(begin(&p, on_pool, grows, THRUM_FOREVER), 1);
    thrum_pool_give_back(grows, p.items[0]);
    thrum_pool_give_back(grows, p.items[1]);
    CHECK_EQ(thrum_pool_destroy(grows), 0);
    rig_stop(&r);
}
