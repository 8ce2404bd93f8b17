/*
 * stepped.c: one step at a time. The driver, a plain thread (with one worker) or a bound one
 * (without), has one actor do one call, waits until nothing runs, and compares what all actors have
 * returned with the model. The hand, a fiber like the actors, does what suits no actor, so that
 * each call is over before what it woke begins. Actors that are plain threads get their turns, and
 * are blocked, at the gate.
 *
 * Time stands still, but for the steps called advance: th_os_now is ours (-Wl,--wrap). So what a
 * deadline ends is as certain as the rest.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "act.h"
#include "base/cc.h"
#include "gate.h"
#include "fuzz/model/model.h"

int64_t __wrap_th_os_now(void);
int64_t __real_th_os_now(void);

static int64_t fake_now; /* 0: the real time */

TH_NO_TSAN int64_t __wrap_th_os_now(void) {
    int64_t now = __atomic_load_n(&fake_now, __ATOMIC_RELAXED);
    return now != 0 ? now : __real_th_os_now();
}

static struct {
    thrum_config config;
    thrum_sched *sched; /* each restart makes another */
    bool bound;
    thrum_sem poke; /* wakes the poker, a fiber that goes on when others need time */
    atomic_bool poker_ends;
    model m;
    objects o;
    actor actors[ACTORS];
    outcome *out;
    bool trace;
} run;

static void fail(const char *what) {
    if (run.out->what[0] == '\0')
        snprintf(run.out->what, sizeof(run.out->what), "%s", what);
}

static bool failed(void) {
    return run.out->what[0] != '\0';
}

/* ---- the scheduler ---- */

static int poker(void *arg) {
    (void)arg;
    thrum_shield_begin();
    while (!atomic_load(&run.poker_ends))
        (void)!thrum_sem_wait(&run.poke);
    return 0;
}

static void sched_open(void) {
    thrum_attr attr = THRUM_ATTR_INIT;
    if (thrum_sched_start(&run.sched, &run.config) != 0)
        abort();
    run.bound = run.config.workers == 0;
    if (run.bound && thrum_sched_bind(run.sched) != 0)
        abort();
    attr.sched = run.sched;
    thrum_sem_init(&run.poke, 0);
    atomic_store(&run.poker_ends, false);
    if (thrum_go_with(&attr, poker, NULL) != 0)
        abort();
}

/* Called when all fibers have ended. `stopper`: the thread that stops it; -1: the driver. */
static void sched_close(int stopper) {
    atomic_store(&run.poker_ends, true);
    thrum_sem_post(&run.poke);
    if (stopper < 0) {
        if (thrum_sched_stop(run.sched) != 0)
            fail("the scheduler can't be stopped");
    } else {
        if (run.bound && thrum_sched_unbind() != 0)
            fail("the driver can't unbind");
        while (!atomic_load(&run.actors[stopper].done)) {
            (void)gate_settle();
            sched_yield();
        }
    }
    run.sched = NULL;
}

static void thread_life(int number) {
    actor_thread(&run.actors[HAND + 1 + number]);
}

void stepped_begin(unsigned workers, bool lifo) {
    /* ahead of the real time, so that a sleep until an instant sleeps */
    __atomic_store_n(&fake_now, __real_th_os_now() + (int64_t)3600 * 1000000000, __ATOMIC_SEQ_CST);
    thrum_config_init(&run.config);
    run.config.workers = workers;
    run.config.policy = THRUM_SHARDED;
    run.config.wake_hint = lifo;
    run.config.name = "fuzz";
    sched_open();
    for (int i = HAND + 1; i < ACTORS; i++)
        actor_reset(&run.actors[i], &run.o, i);
    gate_begin(THREADS, thread_life);
    (void)gate_settle();
}

void stepped_end(outcome *out) {
    run.out = out;
    sched_close(-1);
    gate_end();
}

/* ---- one step ---- */

static void idle(void) {
    if (thrum_sched_wait_idle(run.sched, THRUM_FOREVER) != 0)
        abort();
}

/* Waits until no fiber and no thread runs: at some instant between two looks at the threads, in
 * which none had moved, the scheduler was idle. */
static void settle(void) {
    long before;
    do {
        before = gate_settle();
        idle();
    } while (gate_moves() != before);
}

/* Waits until it is set, which may need time, another thread, or a look at the timers. */
static void await(atomic_bool *flag) {
    while (!atomic_load(flag)) {
        thrum_sem_post(&run.poke);
        settle();
        sched_yield();
    }
    settle();
}

/*
 * A task whose deadline had passed when it was posted waits until a worker looks at the timers: for
 * a moment the scheduler may be idle before that.
 */
static void await_run(int k, int before) {
    while (atomic_load(&run.o.task_runs[k]) == before) {
        thrum_sem_post(&run.poke);
        settle();
        sched_yield();
    }
    settle();
}

static void do_it(const call *c, thrum_time then) {
    actor *a = &run.actors[c->who];
    int runs = c->op == OP_task_post ? atomic_load(&run.o.task_runs[c->a]) : 0;
    a->call = *c;
    if (c->who == HAND && c->op == OP_stop) { /* the driver stops it, as an external thread */
        a->result = (result){thrum_sched_stop_until(run.sched, c->deadline), 0};
        atomic_store(&a->done, true);
    } else if (fuzz_is_thread(c->who)) {
        gate_go(c->who - HAND - 1);
    } else {
        thrum_sem_post(&a->turn);
    }
    settle();
    if (c->op == OP_advance) {
        __atomic_store_n(&fake_now, then, __ATOMIC_SEQ_CST);
        gate_time_is(then);
        await(&a->done);
    } else if (c->op == OP_task_post && a->result.code == 0 && !c->plain &&
               c->deadline <= run.m.now) {
        await_run(c->a, runs);
    } else if (c->op == OP_blocking_end) {
        await(&run.actors[c->a].done);
    }
}

static const char *name_of(int code, char *text, size_t size) {
    if (code < 0)
        snprintf(text, size, "%d (%s)", code, thrum_strerror(code));
    else
        snprintf(text, size, "%d", code);
    return text;
}

static void tell(const call *c) {
    char code[32];
    fprintf(stderr, "  %s%d %s %d %d %s",
            c->who == HAND           ? "hand"
            : fuzz_is_thread(c->who) ? "thread"
                                     : "",
            c->who, fuzz_op_names[c->op], c->a, c->b,
            c->plain                       ? ""
            : c->deadline == THRUM_FOREVER ? "for ever"
                                           : "");
    if (c->form != FORM_DIRECT)
        fprintf(stderr, c->form == FORM_GRAPH ? " (graph)" : " (within a deadline)");
    if (!c->plain && c->deadline != THRUM_FOREVER)
        fprintf(stderr, "%+.3f s", (double)(c->deadline - run.m.now) / 1e9);
    fprintf(stderr, "  ->");
    for (int i = 0; i < ACTORS; i++) {
        if (atomic_load(&run.actors[i].done))
            fprintf(stderr, " %d:%s/%ld", i, name_of(run.actors[i].result.code, code, sizeof(code)),
                    run.actors[i].result.value);
    }
    fprintf(stderr, "\n");
}

static void differ(const call *c, int who) {
    char text[300], a[32], b[32];
    const m_actor *should = &run.m.actors[who];
    actor *is = &run.actors[who];
    snprintf(text, sizeof(text), "%d does %s %d: %d should have %s %s/%ld, but has %s %s/%ld",
             c->who, fuzz_op_names[c->op], c->a, who, should->done ? "returned" : "blocked",
             name_of(should->result, a, sizeof(a)), should->value,
             atomic_load(&is->done) ? "returned" : "blocked",
             name_of(is->result.code, b, sizeof(b)), is->result.value);
    fail(text);
}

static void compare_task(const call *c, int k) {
    char text[300];
    const m_task *should = &run.m.tasks[k];
    int runs = atomic_load(&run.o.task_runs[k]), last = atomic_load(&run.o.task_last[k]);
    if (runs != should->runs || last != should->last) {
        snprintf(
            text, sizeof(text),
            "%d does %s %d: task %d should have run %d times, at last with flags %d; is %d, %d",
            c->who, fuzz_op_names[c->op], c->a, k, should->runs, should->last, runs, last);
        fail(text);
    }
}

static void compare(const call *c) {
    for (int i = 0; i < ACTORS; i++) {
        const m_actor *should = &run.m.actors[i];
        actor *is = &run.actors[i];
        bool done = atomic_load(&is->done);
        if (should->state == A_BLOCKED && should->wait == W_BLOCKING && !done && i == c->who)
            await(&is->in_blocking);
        if (done != should->done ||
            (done && (is->result.code != should->result || is->result.value != should->value)))
            differ(c, i);
        atomic_store(&is->done, false);
    }
    for (int k = 0; k < TASKS; k++)
        compare_task(c, k);
    if (atomic_load(&run.o.tickets_called) != run.m.tickets_called)
        fail("tickets on call");
    if (atomic_load(&run.o.destructs) != run.m.destructs)
        fail("values under keys are not destructed");
}

static bool restart(void);

/* Does one step. False: it could not be done now. */
static bool one(const step *s) {
    call c;
    seen saw;
    if (s->op == OP_restart)
        return restart();
    if (!model_call(&run.m, s, &c))
        return false;
    thrum_time then = c.op == OP_advance ? model_next(&run.m) + 500000 : run.m.now;
    do_it(&c, then);
    run.out->calls++;
    for (int i = 0; i < ACTORS; i++) {
        saw.done[i] = atomic_load(&run.actors[i].done);
        saw.result[i] = run.actors[i].result.code;
        saw.value[i] = run.actors[i].result.value;
    }
    if (run.trace)
        tell(&c);
    model_do(&run.m, &c, &saw);
    compare(&c);
    return true;
}

/* ---- the end: each actor is cancelled, gives back what it has, and ends ---- */

static bool again(int who, op o, int a, int b) {
    const step s = {(uint8_t)who, (uint8_t)o, (uint8_t)a, (uint8_t)b};
    return !failed() && one(&s);
}

static bool give_back(int who) {
    const m_actor *a = &run.m.actors[who];
    for (int i = 0; i < MUTEXES; i++) {
        if ((a->mutexes & 1 << i) && again(who, OP_mutex_unlock, i, 0))
            return true;
        if ((a->writes & 1 << i || a->reads[i] > 0) && again(who, OP_rw_unlock, i, 0))
            return true;
    }
    if (a->shields > 0 && again(who, OP_shield_end, 0, 0))
        return true;
    if (a->nested > 0 && again(who, OP_once_end, 0, 0))
        return true;
    if (a->items > 0 && again(who, OP_pool_give, 0, 0))
        return true;
    if (a->depth > 0 && again(who, OP_scope_join, 0, 0))
        return true;
    return who < FIBERS && a->depth == 0 && again(who, OP_end, 0, 0);
}

static bool is_alive(int who) {
    const m_actor *a = &run.m.actors[who];
    return who < FIBERS && a->state != A_FREE && a->state != A_ENDED;
}

/* Whether it is a thread that is blocked, other than in a stop, or that holds something. */
static bool is_busy(int who) {
    const m_actor *a = &run.m.actors[who];
    return fuzz_is_thread(who) &&
           ((a->state == A_BLOCKED && a->wait != W_STOP) || m_holds_any(a) || a->items > 0);
}

static bool anybody(bool (*is)(int who)) {
    for (int i = 0; i < ACTORS; i++) {
        if (is(i))
            return true;
    }
    return false;
}

/* The ticket that has the turn; -1: none is taken. */
static int called(void) {
    const m_ticket *t = run.m.tickets;
    int found = -1;
    for (int k = 0; k < TICKETS; k++) {
        if (t[k].taken && (found < 0 || t[k].since < t[found].since))
            found = k;
    }
    return found;
}

static int lowest(int mask) {
    return __builtin_ctz((unsigned)mask);
}

/* Ends a thread's wait, which nothing cancels: the hand does what it waits for, if it can. */
static bool rescue(int who) {
    const m_actor *a = &run.m.actors[who];
    switch (a->wait) {
    case W_SEM:
        return again(HAND, OP_sem_post, a->object, 0);
    case W_GROUP:
        return again(HAND, OP_group_done, a->object, 0);
    case W_EVENT:
        return again(HAND, OP_event_signal, a->object, 0);
    case W_ANY:
        return again(HAND, OP_event_signal, lowest(a->n), 0);
    case W_COND:
        return again(HAND, OP_cond_broadcast, a->object, 0);
    case W_SEND:
    case W_RECV:
        return again(HAND, OP_chan_close, a->object, 0);
    case W_SELECT:
        return a->n != 0 && again(HAND, OP_chan_close, lowest(a->n) % CHANS, 0);
    case W_TICKET:
        return again(HAND, OP_ticket_done, called(), 0);
    default:
        return false;
    }
}

static bool wind_up_fibers(void) {
    bool moved = false;
    for (int i = 0; i < FIBERS && !failed(); i++) {
        const m_actor *a = &run.m.actors[i];
        if (a->state == A_BLOCKED && a->wait == W_BLOCKING)
            moved |= again(HAND, OP_blocking_end, i, 0);
        if (a->has_handle && is_alive(i) && !m_is_cancelled(&run.m, i))
            moved |= again(HAND, OP_cancel, i, 0);
        if (a->state == A_READY)
            moved |= give_back(i);
    }
    return moved;
}

static bool wind_up_threads(void) {
    bool moved = false;
    for (int i = HAND + 1; i < ACTORS && !failed(); i++)
        moved |= run.m.actors[i].state == A_READY ? give_back(i) : rescue(i);
    return moved;
}

/* Winds up until no actor is alive, or busy. */
static void wind_up(bool (*is)(int who)) {
    while (anybody(is) && !failed()) {
        if (!wind_up_fibers() && !wind_up_threads() && !again(HAND, OP_advance, 0, 0) && !failed())
            fail("nobody can go on though all are cancelled");
    }
}

static bool detach_ended(bool one_only) {
    bool any = false;
    for (int i = 0; i < FIBERS && !(any && one_only); i++) {
        if (run.m.actors[i].state == A_ENDED)
            any |= again(HAND, OP_detach, i, 0);
    }
    return any;
}

static void put_away(void) {
    for (int i = 0; i < GROUPS; i++) {
        while (run.m.groups[i] > 0 && again(HAND, OP_group_done, i, 0)) {
        }
    }
    for (int k = 0; k < TASKS; k++) {
        if (run.m.tasks[k].posted)
            again(HAND, OP_task_cancel, k, 0);
    }
    for (int round = 0; round < TICKETS; round++) {
        for (int k = 0; k < TICKETS; k++) {
            if (run.m.tickets[k].taken)
                again(HAND, OP_ticket_done, k, 0);
        }
    }
}

static void spawn(int i) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = run.sched;
    actor_reset(&run.actors[i], &run.o, i);
    if (thrum_spawn_with(&run.actors[i].handle, &attr, actor_main, &run.actors[i]) != 0)
        abort();
}

static void end_hand(void) {
    run.actors[HAND].call = (call){.op = OP_end};
    thrum_sem_post(&run.actors[HAND].turn);
}

static void join_hand(void) {
    if (thrum_join(run.actors[HAND].handle, NULL) != 0)
        fail("the hand can't be joined");
    atomic_store(&run.actors[HAND].done, false);
}

/* ---- another scheduler ---- */

static bool any_on_call(void) {
    for (int k = 0; k < TICKETS; k++) {
        if (run.m.tickets[k].taken && run.m.tickets[k].on_call)
            return true;
    }
    return false;
}

/* Called when the fibers have ended. The hand ends last, and a thread in a stop goes on with that.
 * Tasks that wait for a wakeup are left to the stop; those that have a deadline are cancelled
 * before. Threads stay blocked. */
static void replace(void) {
    const call c = {.who = HAND, .op = OP_restart};
    while (any_on_call() && !failed())
        again(HAND, OP_ticket_done, called(), 0);
    for (int k = 0; k < TASKS; k++) {
        if (run.m.tasks[k].posted && run.m.tasks[k].deadline != THRUM_FOREVER)
            again(HAND, OP_task_cancel, k, 0);
    }
    if (failed())
        return;
    end_hand();
    sched_close(model_stopper(&run.m));
    join_hand(); /* handles outlive their scheduler */
    model_stopped(&run.m);
    sched_open();
    run.o.sched = run.sched;
    spawn(HAND);
    settle();
    if (run.trace)
        tell(&c);
    compare(&c);
}

static bool restart(void) {
    int spawned = 0;
    wind_up(is_alive);
    if (!failed())
        replace();
    for (int round = 0; round < 2 && spawned == 0 && !failed(); round++) {
        for (int i = 0; i < FIBERS && spawned < 3; i++) {
            if (run.m.actors[i].state == A_FREE)
                spawned += again(HAND, OP_spawn, i, 0);
        }
        (void)(spawned > 0 || detach_ended(true));
    }
    return true;
}

/* ---- a program ---- */

static bool is_left(int who) {
    return is_alive(who) || is_busy(who);
}

static void finish(void) {
    wind_up(is_left);
    if (!failed())
        put_away();
    if (!failed() && run.m.stopping)
        replace();
    (void)detach_ended(false);
    if (failed())
        return;
    end_hand();
    join_hand();
}

void stepped_run(const program *p, outcome *out, bool trace) {
    memset(out, 0, sizeof(*out));
    run.out = out;
    run.trace = trace;
    model_init(&run.m, __atomic_load_n(&fake_now, __ATOMIC_RELAXED));
    objects_make(&run.o, run.sched, run.actors);
    for (int i = 0; i < ACTORS; i++)
        actor_reset(&run.actors[i], &run.o, i);
    for (int i = 0; i < 3; i++)
        spawn(i);
    spawn(HAND);
    settle();
    for (out->at = 0; out->at < p->count; out->at++) {
        (void)one(&p->steps[out->at]);
        if (failed())
            return;
    }
    out->at = -1;
    finish();
    if (failed())
        return;
    idle();
    const char *wrong = objects_unmake(&run.o);
    if (wrong)
        fail(wrong);
}
