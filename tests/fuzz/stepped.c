/*
 * stepped.c: one step at a time. The driver, a plain thread (with one worker) or a bound one
 * (without), has one actor do one call, waits until nothing runs, and compares what all actors have
 * returned with the model. The hand, a fiber like the actors, does what suits no actor, so that
 * each call is over before what it woke begins.
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
#include "model.h"

int64_t __wrap_th_os_now(void);
int64_t __real_th_os_now(void);

static int64_t fake_now; /* 0: the real time */

TH_NO_TSAN int64_t __wrap_th_os_now(void) {
    int64_t now = __atomic_load_n(&fake_now, __ATOMIC_RELAXED);
    return now != 0 ? now : __real_th_os_now();
}

static struct {
    thrum_sched *sched;
    bool bound;
    model m;
    objects o;
    actor actors[ACTORS + 1];
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

void stepped_begin(unsigned workers, bool lifo) {
    thrum_config config;
    /* ahead of the real time, so that whoever sleeps until an instant sleeps */
    __atomic_store_n(&fake_now, __real_th_os_now() + (int64_t)3600 * 1000000000, __ATOMIC_SEQ_CST);
    thrum_config_init(&config);
    config.workers = workers;
    config.policy = THRUM_SHARDED;
    config.wake_hint = lifo;
    config.name = "fuzz";
    if (thrum_sched_start(&run.sched, &config) != 0)
        abort();
    run.bound = workers == 0;
    if (run.bound && thrum_sched_bind(run.sched) != 0)
        abort();
}

void stepped_end(outcome *out) {
    run.out = out;
    if (thrum_sched_stop(run.sched) != 0)
        fail("the scheduler can't be stopped");
    run.sched = NULL;
}

/* ---- one step ---- */

static void idle(void) {
    if (thrum_sched_wait_idle(run.sched, THRUM_FOREVER) != 0)
        abort();
}

static void kick_body(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
}

/* Until somebody has set it who may need time, another thread, or a look at the timers. */
static void await(atomic_bool *flag) {
    static thrum_task kick = THRUM_TASK_INIT(kick_body, NULL);
    while (!atomic_load(flag)) {
        if (thrum_task_post(run.sched, &kick) != 0)
            sched_yield(); /* it is posted already */
        idle();
        sched_yield();
    }
    idle();
}

static void do_it(const call *c, thrum_time then) {
    actor *a = &run.actors[c->who];
    a->call = *c;
    thrum_sem_post(&a->turn);
    idle();
    if (c->op == OP_advance) {
        __atomic_store_n(&fake_now, then, __ATOMIC_SEQ_CST);
        await(&a->done);
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
    fprintf(stderr, "  %s%d %s %d %d %s", c->who == HAND ? "hand" : "", c->who,
            fuzz_op_names[c->op], c->a, c->b,
            c->plain                       ? ""
            : c->deadline == THRUM_FOREVER ? "for ever"
                                           : "");
    if (!c->plain && c->deadline != THRUM_FOREVER)
        fprintf(stderr, "%+.3f s", (double)(c->deadline - run.m.now) / 1e9);
    fprintf(stderr, "  ->");
    for (int i = 0; i <= ACTORS; i++) {
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

static void compare(const call *c) {
    for (int i = 0; i <= ACTORS; i++) {
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
    for (int k = 0; k < TASKS; k++) {
        if (atomic_load(&run.o.task_runs[k]) != run.m.tasks[k].runs ||
            atomic_load(&run.o.task_last[k]) != run.m.tasks[k].last)
            fail("a task's runs, or their flags, are not what they should be");
    }
    if (atomic_load(&run.o.tickets_called) != run.m.tickets_called)
        fail("tickets on call");
    if (atomic_load(&run.o.destructs) != run.m.destructs)
        fail("values under keys are not destructed");
}

/* False: it could not be done now. */
static bool one(const step *s) {
    call c;
    seen saw;
    if (!model_call(&run.m, s, &c))
        return false;
    thrum_time then = c.op == OP_advance ? model_next(&run.m) + 500000 : run.m.now;
    do_it(&c, then);
    run.out->calls++;
    for (int i = 0; i <= ACTORS; i++) {
        saw.done[i] = atomic_load(&run.actors[i].done);
        saw.result[i] = run.actors[i].result.code;
    }
    if (run.trace)
        tell(&c);
    model_do(&run.m, &c, &saw);
    compare(&c);
    return true;
}

/* ---- the end: everybody is cancelled, gives back what he has, and ends ---- */

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
    return a->depth == 0 && again(who, OP_end, 0, 0);
}

static bool anybody(void) {
    for (int i = 0; i < ACTORS; i++) {
        if (run.m.actors[i].state != A_FREE)
            return true;
    }
    return false;
}

static bool wind_up(void) {
    bool moved = false;
    for (int i = 0; i < ACTORS && !failed(); i++) {
        const m_actor *a = &run.m.actors[i];
        if (a->state == A_BLOCKED && a->wait == W_BLOCKING)
            moved |= again(HAND, OP_blocking_end, i, 0);
        if (a->has_handle && a->state != A_FREE && a->state != A_ENDED && !a->cancelled)
            moved |= again(HAND, OP_cancel, i, 0);
        if (a->state == A_READY)
            moved |= give_back(i);
        if (a->state == A_ENDED)
            moved |= again(HAND, OP_detach, i, 0);
    }
    return moved;
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

static void finish(void) {
    while (anybody() && !failed()) {
        if (!wind_up() && !again(HAND, OP_advance, 0, 0) && !failed())
            fail("nobody can go on though all are cancelled");
    }
    if (!failed())
        put_away();
}

/* ---- a program ---- */

static void spawn(int i) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = run.sched;
    actor_reset(&run.actors[i], &run.o, i);
    if (thrum_spawn_with(&run.actors[i].handle, &attr, actor_main, &run.actors[i]) != 0)
        abort();
}

void stepped_run(const program *p, outcome *out, bool trace) {
    memset(out, 0, sizeof(*out));
    run.out = out;
    run.trace = trace;
    model_init(&run.m, __atomic_load_n(&fake_now, __ATOMIC_RELAXED));
    objects_make(&run.o, run.sched, run.actors);
    for (int i = 0; i <= ACTORS; i++)
        actor_reset(&run.actors[i], &run.o, i);
    for (int i = 0; i < 3; i++)
        spawn(i);
    spawn(HAND);
    idle();
    for (out->at = 0; out->at < p->count; out->at++) {
        (void)one(&p->steps[out->at]);
        if (failed())
            return;
    }
    out->at = -1;
    finish();
    if (failed())
        return;
    run.actors[HAND].call = (call){.op = OP_end};
    thrum_sem_post(&run.actors[HAND].turn);
    if (thrum_join(run.actors[HAND].handle, NULL) != 0)
        fail("the hand can't be joined");
    idle();
    const char *wrong = objects_unmake(&run.o);
    if (wrong != NULL)
        fail(wrong);
}
