/*
 * objects.c: the objects that a stepped program uses, made before it and destroyed after it.
 */
#include <stdlib.h>
#include <string.h>

#include "act.h"

static int item_made(void *item, void *ctx) {
    (void)item;
    atomic_fetch_add(&((objects *)ctx)->constructs, 1);
    return 0;
}

static void item_unmade(void *item, void *ctx) {
    (void)item;
    atomic_fetch_add(&((objects *)ctx)->unmade, 1);
}

void objects_chan(objects *o, int i) {
    static const size_t capacities[] = {0, CHAN_BOUND, THRUM_UNBOUNDED};
    if (thrum_chan_create(&o->chans[i], sizeof(long), capacities[i]) != 0) {
        abort();
    }
}

static objects *destructs_of; /* a destructor gets only the value */

static void value_gone(void *value) {
    (void)value;
    atomic_fetch_add(&destructs_of->destructs, 1);
}

static void task_body(thrum_task *self, void *arg) {
    objects *o = arg;
    int k = self == &o->tasks[0] ? 0 : 1;
    int flags = (thrum_task_is_expired(self) ? 1 : 0) | (thrum_task_is_cancelled(self) ? 2 : 0);
    flags |= thrum_task_receive_signal(self) ? 4 : 0;
    atomic_store(&o->task_last[k], flags);
    atomic_fetch_add(&o->task_runs[k], 1);
}

static int node_body(void *arg) {
    if (atomic_fetch_add(&((objects *)arg)->nodes_run, 1) % 3 == 0) {
        thrum_yield();
    }
    return 0;
}

static int waits_node(void *arg, void *run_arg) {
    waiting *w = run_arg;
    int which = (int)(intptr_t)arg;
    atomic_fetch_add(&w->called[which], 1);
    if (which == 0) {
        thrum_yield();
    }
    return which == 1 ? act_sem_wait(w, w->call->plain) : 0;
}

/* Makes a graph: 0 before 1, 1 before 2, and 3 beside them. */
static void waits_make(objects *o) {
    if (thrum_dag_create(&o->waits) != 0) {
        abort();
    }
    for (intptr_t i = 0; i < 4; i++) {
        (void)!thrum_dag_node_with(o->waits, waits_node, (void *)i);
    }
    (void)thrum_dag_edge(o->waits, 0, 1);
    (void)thrum_dag_edge(o->waits, 1, 2);
}

static void dag_make(objects *o) {
    int nodes[5];
    if (thrum_dag_create(&o->dag) != 0) {
        abort();
    }
    for (int i = 0; i < 5; i++) {
        nodes[i] = thrum_dag_node(o->dag, node_body, o);
    }
    for (int i = 1; i < 4; i++) {
        (void)thrum_dag_edge(o->dag, nodes[0], nodes[i]);
        (void)thrum_dag_edge(o->dag, nodes[i], nodes[4]);
    }
}

void objects_make(objects *o, thrum_sched *sched, actor *actors) {
    memset(o, 0, sizeof(*o));
    o->sched = sched;
    o->actors = actors;
    destructs_of = o;
    for (int i = 0; i < MUTEXES; i++) {
        thrum_mutex_init(&o->mutexes[i]);
        thrum_cond_init(&o->conds[i]);
        thrum_rwlock_init(&o->locks[i]);
        thrum_sem_init(&o->sems[i], 0);
        thrum_waitgroup_init(&o->groups[i], 0);
        thrum_once_init(&o->onces[i]);
        thrum_task_init(&o->tasks[i], task_body, o);
        if (thrum_key_create(&o->keys[i], value_gone) != 0) {
            abort();
        }
    }
    for (int i = 0; i < EVENTS; i++) {
        thrum_event_init(&o->events[i], i == 0 ? THRUM_EVENT_MANUAL : THRUM_EVENT_AUTO, false);
    }
    for (int i = 0; i < CHANS; i++) {
        objects_chan(o, i);
    }
    thrum_barrier_init(&o->barrier, BARRIER_SIZE);
    thrum_tickets_init(&o->tickets);
    thrum_pool_config config = THRUM_POOL_CONFIG_INIT;
    config.item_size = 8;
    config.capacity = POOL_SIZE;
    config.construct = item_made;
    config.destruct = item_unmade;
    config.ctx = o;
    if (thrum_pool_create(&o->pool, &config) != 0) {
        abort();
    }
    dag_make(o);
    waits_make(o);
    thrum_task_set_serial(&o->tasks[1]);
}

const char *objects_unmake(objects *o) {
    int bad = 0;
    for (int i = 0; i < MUTEXES; i++) {
        bad |= thrum_mutex_destroy(&o->mutexes[i]);
        bad |= thrum_cond_destroy(&o->conds[i]);
        bad |= thrum_rwlock_destroy(&o->locks[i]);
        bad |= thrum_sem_destroy(&o->sems[i]);
        bad |= thrum_waitgroup_destroy(&o->groups[i]);
        bad |= thrum_once_destroy(&o->onces[i]);
        bad |= thrum_key_delete(o->keys[i]);
    }
    for (int i = 0; i < EVENTS; i++) {
        bad |= thrum_event_destroy(&o->events[i]);
    }
    for (int i = 0; i < CHANS; i++) {
        bad |= thrum_chan_destroy(o->chans[i]);
    }
    bad |= thrum_barrier_destroy(&o->barrier);
    bad |= thrum_tickets_destroy(&o->tickets);
    bad |= thrum_pool_destroy(o->pool);
    bad |= thrum_dag_destroy(o->dag) | thrum_dag_destroy(o->waits);
    if (bad != 0) {
        return "an object can't be destroyed though nobody uses it";
    }
    if (atomic_load(&o->constructs) != atomic_load(&o->unmade)) {
        return "objects of the pool: more constructed than destructed";
    }
    return NULL;
}
