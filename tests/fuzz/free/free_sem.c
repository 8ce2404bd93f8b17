/*
 * free_sem.c: semaphores when all run at once: waits for one unit and for several, directly, by a
 * node of a graph of which several runs go on, and within thrum_with_deadline.
 */
#include <stdlib.h>

#include "free.h"

typedef struct waiting {
    thrum_sem *sem;
    unsigned n;
    thrum_time until;
    atomic_int called[WAIT_NODES];
} waiting;

static int wait_until(waiting *w, thrum_time until) {
    if (w->n == 1) {
        return until == THRUM_FOREVER ? thrum_sem_wait(w->sem)
                                      : thrum_sem_wait_until(w->sem, until);
    }
    return until == THRUM_FOREVER ? thrum_sem_wait_n(w->sem, w->n)
                                  : thrum_sem_wait_n_until(w->sem, w->n, until);
}

/* ---- in a graph ---- */

static int wait_node(void *arg, void *run_arg) {
    int which = (int)(intptr_t)arg;
    waiting *w = run_arg;
    atomic_fetch_add(&w->called[which], 1);
    if (which == 0) {
        thrum_yield();
    }
    return which == 1 ? wait_until(w, w->until) : 0;
}

/* Makes a graph: 0 before 1, 1 before 2, and 3 beside them. */
thrum_dag *free_wait_graph(void) {
    thrum_dag *dag;
    int bad = thrum_dag_create(&dag);
    for (intptr_t i = 0; bad == 0 && i < WAIT_NODES; i++) {
        bad |= thrum_dag_node_with(dag, wait_node, (void *)i) != i;
    }
    if (bad != 0 || thrum_dag_edge(dag, 0, 1) != 0 || thrum_dag_edge(dag, 1, 2) != 0) {
        abort();
    }
    return dag;
}

static bool wait_in_graph(runner *r, waiting *w) {
    int result = thrum_dag_run_with(r->w->waits, w);
    for (int i = 0; i < WAIT_NODES; i++) {
        EXPECT(r, atomic_load(&w->called[i]) == (i == 2 && result != 0 ? 0 : 1), i);
    }
    return free_ok(r, result, w->until, 0);
}

/* ---- within thrum_with_deadline ---- */

static int wait_for_ever(void *arg) {
    return wait_until(arg, THRUM_FOREVER);
}

static bool wait_within(runner *r, waiting *w) {
    int value = 1;
    thrum_time around = thrum_deadline();
    thrum_time due = w->until < around ? w->until : around;
    int result = thrum_with_deadline(w->until, wait_for_ever, w, &value);
    if (r->thread) {
        EXPECT(r, result == -ESRCH && value == 1, result);
        return false;
    }
    EXPECT(r, value == 0 || (value == -ECANCELED && result != 0), value);
    EXPECT(r, result == 0 || result == -ETIMEDOUT || result == -ECANCELED, result);
    EXPECT(r, result != -ETIMEDOUT || thrum_now() >= due, result);
    EXPECT(r, result != -ECANCELED || thrum_cancelled(), result);
    return value == 0;
}

/* ---- */

void free_step_sem(runner *r, const step *s) {
    int i = s->a % SEMS;
    int how = (s->b >> 5) % 3;
    waiting w = {
        .sem = &r->w->sems[i], .n = 1 + (s->b >> 3) % 3, .until = free_deadline(r, s, false)};
    bool got;
    if (s->op == OP_sem_post) {
        atomic_fetch_add(&r->w->posts[i], (long)w.n);
        if (w.n == 1) {
            thrum_sem_post(w.sem);
        } else {
            thrum_sem_post_n(w.sem, w.n);
        }
        return;
    }
    if (s->op == OP_sem_try) {
        got = free_ok(r, w.n == 1 ? thrum_sem_try_wait(w.sem) : thrum_sem_try_wait_n(w.sem, w.n), 0,
                      -EAGAIN);
    } else if (how == FORM_GRAPH) {
        got = wait_in_graph(r, &w);
    } else if (how == FORM_DEADLINE && r->shields == 0) {
        got = wait_within(r, &w);
    } else {
        got = free_ok(r, wait_until(&w, w.until), w.until, 0);
    }
    if (got) {
        atomic_fetch_add(&r->w->takes[i], (long)w.n);
    }
}
