/*
 * act.c: see act.h.
 */
#include "act.h"

#include <stdlib.h>
#include <string.h>

#include "gate.h"

void actor_reset(actor *a, objects *o, int index) {
    memset(a, 0, sizeof(*a));
    a->o = o;
    a->index = index;
    thrum_sem_init(&a->turn, 0);
}

/* ---- the loop ---- */

static result run(actor *a, const call *c);

/* Does what the actor is told, up to its end or to the end of a once's function. */
static int loop(actor *a) {
    for (;;) {
        if (fuzz_is_thread(a->index)) {
            if (!gate_turn(a->index - HAND - 1))
                return 0;
        } else {
            thrum_shield_begin();
            (void)!thrum_sem_wait(&a->turn);
            thrum_shield_end();
        }
        const call c = a->call;
        if (c.op == OP_end)
            return c.a;
        if (c.op == OP_once_end)
            return c.b % 2 != 0 ? -EIO : 0;
        a->result = run(a, &c);
        atomic_store(&a->done, true);
    }
}

void actor_thread(actor *a) {
    (void)loop(a);
}

int actor_main(void *arg) {
    actor *a = arg;
    int value = loop(a);
    a->result = (result){value, 0};
    atomic_store(&a->done, true);
    return value;
}

static int once_body(void *arg) {
    actor *a = arg;
    a->result = (result){ENTERED, 0};
    atomic_store(&a->done, true);
    return loop(a);
}

/* ---- calls, by kind ---- */

static result code(int value) {
    return (result){value, 0};
}

static int lock_mutex(thrum_mutex *mutex, bool plain, thrum_time deadline) {
    if (!plain) {
        return thrum_mutex_lock_until(mutex, deadline);
    }
    thrum_mutex_lock(mutex);
    return 0;
}

static int lock_to_read(thrum_rwlock *lock, bool plain, thrum_time deadline) {
    if (!plain) {
        return thrum_rwlock_rdlock_until(lock, deadline);
    }
    thrum_rwlock_rdlock(lock);
    return 0;
}

static int lock_to_write(thrum_rwlock *lock, bool plain, thrum_time deadline) {
    if (!plain) {
        return thrum_rwlock_wrlock_until(lock, deadline);
    }
    thrum_rwlock_wrlock(lock);
    return 0;
}

static result run_locks(actor *a, const call *c) {
    objects *o = a->o;
    const thrum_time t = c->deadline;
    switch (c->op) {
    case OP_mutex_lock:
        return code(lock_mutex(&o->mutexes[c->a], c->plain, t));
    case OP_mutex_try:
        return code(thrum_mutex_try_lock(&o->mutexes[c->a]));
    case OP_mutex_unlock:
        thrum_mutex_unlock(&o->mutexes[c->a]);
        return code(0);
    case OP_rw_read:
        return code(lock_to_read(&o->locks[c->a], c->plain, t));
    case OP_rw_write:
        return code(lock_to_write(&o->locks[c->a], c->plain, t));
    case OP_rw_try_read:
        return code(thrum_rwlock_try_rdlock(&o->locks[c->a]));
    case OP_rw_try_write:
        return code(thrum_rwlock_try_wrlock(&o->locks[c->a]));
    case OP_rw_unlock:
        thrum_rwlock_unlock(&o->locks[c->a]);
        return code(0);
    case OP_cond_wait:
        return code(c->plain ? thrum_cond_wait(&o->conds[c->a], &o->mutexes[c->a])
                             : thrum_cond_wait_until(&o->conds[c->a], &o->mutexes[c->a], t));
    case OP_cond_signal:
        thrum_cond_signal(&o->conds[c->a]);
        return code(0);
    case OP_cond_broadcast:
        thrum_cond_broadcast(&o->conds[c->a]);
        return code(0);
    case OP_once_run:
        return code(c->plain ? thrum_once_run(&o->onces[c->a], once_body, a)
                             : thrum_once_run_until(&o->onces[c->a], once_body, a, t));
    case OP_once_destroy:
        return code(thrum_once_destroy(&o->onces[c->a]));
    case OP_barrier_wait:
        return code(c->plain ? thrum_barrier_wait(&o->barrier)
                             : thrum_barrier_wait_until(&o->barrier, t));
    default:
        abort();
    }
}

/* The actor's address only names the ticket. */
static int on_call_body(void *arg) {
    objects *o = ((actor *)arg)->o;
    for (int k = 0; k < TICKETS; k++) {
        if (arg == &o->actors[k]) {
            while (atomic_load(&o->ticket_waits[k]) > 0)
                thrum_yield(); /* a stop cancels the waits, too, but not at one instant */
            atomic_fetch_add(&o->tickets_called, 1);
            thrum_ticket_done(&o->ticket[k]);
        }
    }
    return 0;
}

static result run_tickets(actor *a, const call *c) {
    objects *o = a->o;
    thrum_ticket *ticket = &o->ticket[c->a];
    int value;
    switch (c->op) {
    case OP_ticket_take:
        if (c->b % 2 == 0)
            thrum_tickets_take(&o->tickets, ticket);
        else
            thrum_tickets_take_n(&o->tickets, ticket, 1);
        return code(0);
    case OP_ticket_wait:
        atomic_fetch_add(&o->ticket_waits[c->a], 1);
        value = c->plain ? thrum_ticket_wait(ticket) : thrum_ticket_wait_until(ticket, c->deadline);
        atomic_fetch_sub(&o->ticket_waits[c->a], 1);
        return code(value);
    case OP_ticket_called:
        return code(thrum_ticket_is_called(ticket));
    case OP_ticket_done:
        thrum_ticket_done(ticket);
        return code(0);
    default:
        return code(c->b % 2 == 0 ? thrum_ticket_on_call(ticket, on_call_body, &o->actors[c->a])
                                  : thrum_ticket_on_call_with(ticket, o->sched, on_call_body,
                                                              &o->actors[c->a]));
    }
}

static result run_pool(actor *a, const call *c) {
    thrum_pool *pool = a->o->pool;
    void **at = &a->items[a->items_count];
    void *items[POOL_SIZE] = {0};
    if (c->op == OP_pool_give) {
        thrum_pool_give_back(pool, a->items[--a->items_count]);
        return code(0);
    }
    int got;
    if (c->op == OP_pool_try)
        got = thrum_pool_try_borrow(pool, items);
    else if (c->a == 1)
        got = c->plain ? thrum_pool_borrow(pool, items)
                       : thrum_pool_borrow_until(pool, items, c->deadline);
    else
        got = c->plain ? thrum_pool_borrow_n(pool, items, (size_t)c->a)
                       : thrum_pool_borrow_n_until(pool, items, (size_t)c->a, c->deadline);
    for (int i = 0; got == 0 && i < c->a; i++) {
        at[i] = items[i];
        a->items_count++;
    }
    return code(got);
}

static result run_event_any(actor *a, const call *c) {
    thrum_event *events[EVENTS];
    size_t n = 0;
    for (int i = 0; i < EVENTS; i++) {
        if (c->a & 1 << i)
            events[n++] = &a->o->events[i];
    }
    return code(thrum_event_wait_any(events, n, c->deadline));
}

int act_sem_wait(const waiting *w, bool plain) {
    const call *c = w->call;
    const unsigned n = (unsigned)c->b;
    if (n == 1)
        return plain ? thrum_sem_wait(w->sem) : thrum_sem_wait_until(w->sem, c->deadline);
    return plain ? thrum_sem_wait_n(w->sem, n) : thrum_sem_wait_n_until(w->sem, n, c->deadline);
}

static int wait_within(void *arg) {
    return act_sem_wait(arg, true);
}

/* Runs the graph and checks that each node is called once, the one behind the wait only if that
 * has succeeded. */
static int run_graph(thrum_dag *dag, waiting *w) {
    int got = thrum_dag_run_with(dag, w);
    for (int i = 0; i < 4; i++) {
        if (atomic_load(&w->called[i]) != (i == 2 && got != 0 ? 0 : 1))
            return 900 + i;
    }
    return got;
}

static result within_deadline(waiting *w) {
    int value = 0;
    int got = thrum_with_deadline(w->call->deadline, wait_within, w, &value);
    return (result){got, value};
}

static result run_sem(actor *a, const call *c) {
    thrum_sem *sem = &a->o->sems[c->a];
    waiting w = {.sem = sem, .call = c};
    if (c->op == OP_sem_try)
        return code(c->b == 1 ? thrum_sem_try_wait(sem)
                              : thrum_sem_try_wait_n(sem, (unsigned)c->b));
    if (c->op == OP_sem_post && c->b == 1)
        thrum_sem_post(sem);
    else if (c->op == OP_sem_post)
        thrum_sem_post_n(sem, (unsigned)c->b);
    else if (c->form == FORM_GRAPH)
        return code(run_graph(a->o->waits, &w));
    else if (c->form == FORM_DEADLINE)
        return within_deadline(&w);
    else
        return code(act_sem_wait(&w, c->plain));
    return code(0);
}

static result run_counts(actor *a, const call *c) {
    objects *o = a->o;
    const thrum_time t = c->deadline;
    switch (c->op) {
    case OP_sem_wait:
    case OP_sem_try:
    case OP_sem_post:
        return run_sem(a, c);
    case OP_group_add:
        thrum_waitgroup_add(&o->groups[c->a], c->b);
        return code(0);
    case OP_group_done:
        thrum_waitgroup_done(&o->groups[c->a]);
        return code(0);
    case OP_group_wait:
        return code(c->plain ? thrum_waitgroup_wait(&o->groups[c->a])
                             : thrum_waitgroup_wait_until(&o->groups[c->a], t));
    case OP_event_signal:
        thrum_event_signal(&o->events[c->a]);
        return code(0);
    case OP_event_clear:
        thrum_event_clear(&o->events[c->a]);
        return code(0);
    case OP_event_wait:
        return code(c->plain ? thrum_event_wait(&o->events[c->a])
                             : thrum_event_wait_until(&o->events[c->a], t));
    case OP_event_test:
        return code(c->b % 2 != 0 ? thrum_event_test(&o->events[c->a])
                                  : thrum_event_is_signaled(&o->events[c->a]));
    default:
        return run_event_any(a, c);
    }
}

/* ---- channels ---- */

static result run_select(actor *a, const call *c) {
    thrum_case cases[2 * CHANS];
    long got[CHANS] = {0};
    size_t n = 0;
    for (int i = 0; i < CHANS; i++) {
        if (c->a & 1 << i)
            cases[n++] = THRUM_SEND_CASE(a->o->chans[i], &c->value);
    }
    for (int i = 0; i < CHANS; i++) {
        if (c->a & 1 << (CHANS + i))
            cases[n++] = THRUM_RECV_CASE(a->o->chans[i], &got[i]);
    }
    int which = thrum_select(cases, n, c->deadline);
    if (which < 0)
        return (result){which, got[0] | got[1] | got[2]};
    if (cases[which].status != 0)
        return (result){which + (cases[which].status == -EPIPE ? 100 : 200),
                        got[0] | got[1] | got[2]};
    long *to = cases[which].to;
    for (int i = 0; i < CHANS; i++) {
        if (got[i] != 0 && to != &got[i])
            return (result){300, 0}; /* a case received although another one was chosen */
    }
    return (result){which, to ? *to : 0};
}

static result run_chans(actor *a, const call *c) {
    thrum_chan *chan = a->o->chans[c->a % CHANS];
    result r = {0, 0};
    switch (c->op) {
    case OP_chan_send:
        return code(c->plain ? thrum_chan_send(chan, &c->value)
                             : thrum_chan_send_until(chan, &c->value, c->deadline));
    case OP_chan_try_send:
        return code(thrum_chan_try_send(chan, &c->value));
    case OP_chan_recv:
        r.code = c->plain ? thrum_chan_recv(chan, &r.value)
                          : thrum_chan_recv_until(chan, &r.value, c->deadline);
        return r;
    case OP_chan_try_recv:
        r.code = thrum_chan_try_recv(chan, &r.value);
        return r;
    case OP_chan_close:
        return code(thrum_chan_close(chan));
    case OP_chan_len:
        return code((int)thrum_chan_len(chan));
    case OP_chan_renew:
        r.code = thrum_chan_destroy(chan);
        if (r.code == 0)
            objects_chan(a->o, c->a);
        return r;
    default:
        return run_select(a, c);
    }
}

/* ---- tasks ---- */

static int give_one(void *arg) {
    if ((uintptr_t)arg % 2 == 0)
        thrum_yield();
    return 1;
}

static int give_nothing(void *arg) {
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

static void add_range(size_t begin, size_t end, void *ctx) {
    atomic_fetch_add((atomic_int *)ctx, (int)(end - begin));
}

/* Starts, runs and ends one of them in one call; the result is 0 if it came out right. */
static result run_parallel(actor *a, const call *c) {
    atomic_int sum = 0;
    thrum_fork fork;
    const thrum_fn fns[3] = {give_nothing, give_nothing, give_nothing};
    void *const args[3] = {&sum, &sum, &sum};
    int value;
    switch (c->a) {
    case 0:
        thrum_fork_start(&fork, give_one, (void *)(uintptr_t)c->b);
        return code(thrum_fork_join(&fork) == 1 ? 0 : -1);
    case 1:
        value = thrum_invoke(3, fns, args);
        return code(value == 0 && atomic_load(&sum) == 3 ? 0 : -1);
    case 2:
        value = thrum_parallel_for(0, 100, (size_t)c->b % 4 * 7, add_range, &sum);
        return code(value == 0 && atomic_load(&sum) == 100 ? 0 : -1);
    default:
        value = atomic_load(&a->o->nodes_run);
        if (thrum_dag_run(a->o->dag) != 0)
            return code(0);
        return code(atomic_load(&a->o->nodes_run) - value >= 5 ? 0 : -1);
    }
}

static int blocking_body(void *arg) {
    actor *a = arg;
    atomic_store(&a->in_blocking, true);
    while ((atomic_load(&a->o->released) & 1 << a->index) == 0)
        thrum_yield();
    atomic_fetch_and(&a->o->released, ~(1 << a->index));
    return 7;
}

static result run_task(actor *a, const call *c) {
    thrum_task *task = &a->o->tasks[c->a];
    switch (c->op) {
    case OP_task_post:
        if (c->plain)
            return code(thrum_task_post(a->o->sched, task));
        return code(c->deadline == THRUM_FOREVER
                        ? thrum_task_post_wait(a->o->sched, task)
                        : thrum_task_post_until(a->o->sched, task, c->deadline));
    case OP_task_wake:
        thrum_task_wakeup(task);
        return code(0);
    case OP_task_signal:
        thrum_task_signal(task);
        return code(0);
    default:
        return code(thrum_task_cancel(task));
    }
}

static result run_join(actor *a, const call *c) {
    thrum_handle *handle = a->o->actors[c->a].handle;
    result r = {0, 0};
    int value = 0;
    r.code = c->plain ? thrum_join(handle, &value) : thrum_join_until(handle, &value, c->deadline);
    r.value = r.code == 0 ? value : 0;
    return r;
}

static result run_go(actor *a, const call *c, int owner, int level) {
    actor *of = &a->o->actors[c->a];
    actor_reset(of, a->o, c->a);
    if (c->op == OP_spawn && c->b % 4 == 3)
        return code(thrum_spawn(&of->handle, actor_main, of));
    if (c->op == OP_spawn) {
        thrum_attr attr = THRUM_ATTR_INIT;
        attr.sched = a->o->sched;
        return code(thrum_spawn_with(&of->handle, &attr, actor_main, of));
    }
    return code(thrum_scope_go(&a->o->actors[owner].scopes[level], actor_main, of));
}

static result run_scopes(actor *a, const call *c) {
    int value;
    switch (c->op) {
    case OP_scope_open:
        value = thrum_scope_open(&a->scopes[a->depth], c->deadline);
        a->depth += value == 0;
        return code(value);
    case OP_scope_join:
        return code(thrum_scope_join(&a->scopes[--a->depth]));
    case OP_scope_cancel:
        thrum_scope_cancel(&a->o->actors[c->a].scopes[c->b]);
        return code(0);
    default: /* the model has put the scope into the value: owner and level */
        return run_go(a, c, (int)(c->value / DEPTH), (int)(c->value % DEPTH));
    }
}

static result run_tasks(actor *a, const call *c) {
    objects *o = a->o;
    result r = {0, 0};
    int value = 0;
    switch (c->op) {
    case OP_sleep:
        return code(thrum_sleep_until(c->deadline));
    case OP_yield:
        thrum_yield();
        return r;
    case OP_join:
        return run_join(a, c);
    case OP_detach:
        return code(thrum_detach(o->actors[c->a].handle));
    case OP_cancel:
        return code(thrum_cancel(o->actors[c->a].handle));
    case OP_cancelled:
        return code(thrum_cancelled());
    case OP_shield_begin:
        thrum_shield_begin();
        return r;
    case OP_shield_end:
        thrum_shield_end();
        return r;
    case OP_key_set:
        return code(thrum_key_set(o->keys[c->a], (void *)(intptr_t)(c->b % 4 == 0 ? 0 : c->value)));
    case OP_key_get:
        r.value = (long)(intptr_t)thrum_key_get(o->keys[c->a]);
        return r;
    case OP_blocking:
        atomic_store(&a->in_blocking, false);
        r.code = thrum_blocking(blocking_body, a, &value);
        r.value = value;
        return r;
    case OP_blocking_end:
        atomic_fetch_or(&o->released, 1 << c->a);
        return r;
    default:
        return run_scopes(a, c);
    }
}

/* Sleeps until just behind the next instant, also when a stop cancels all fibers. */
static result sleep_shielded(thrum_time until) {
    thrum_shield_begin();
    int value = thrum_sleep_until(until);
    thrum_shield_end();
    return code(value);
}

static result run(actor *a, const call *c) {
    if (c->op == OP_advance)
        return sleep_shielded(c->deadline);
    if (c->op == OP_stop)
        return code(c->plain ? thrum_sched_stop(a->o->sched)
                             : thrum_sched_stop_until(a->o->sched, c->deadline));
    if (c->op <= OP_cond_broadcast)
        return run_locks(a, c);
    if (c->op <= OP_event_any)
        return run_counts(a, c);
    if (c->op <= OP_barrier_wait)
        return run_locks(a, c);
    if (c->op <= OP_ticket_on_call)
        return run_tickets(a, c);
    if (c->op <= OP_pool_give)
        return run_pool(a, c);
    if (c->op <= OP_select)
        return run_chans(a, c);
    if (c->op == OP_spawn)
        return run_go(a, c, 0, 0);
    if (c->op == OP_parallel)
        return run_parallel(a, c);
    if (c->op >= OP_task_post && c->op <= OP_task_cancel)
        return run_task(a, c);
    return run_tasks(a, c);
}
