/*
 * model_tasks.c: actors, scopes, values under keys, blocking calls and intrusive tasks in the
 * model.
 */
#include "model.h"

#include <string.h>

/* ---- actors ---- */

static void start(model *m, int who, bool has_handle) {
    m->actors[who] = (m_actor){.state = A_READY, .has_handle = has_handle, .owner = -1};
}

static void spawn(model *m, const call *c) {
    bool thread = fuzz_is_thread(c->who);
    int why = thread && c->b % 4 == 3 ? -ESRCH : thread && m->stopping ? -ESHUTDOWN : 0;
    if (why == 0) {
        start(m, c->a, true);
    }
    m_finish(m, c->who, why, 0);
}

static void forget(model *m, int who) {
    m->actors[who] = (m_actor){.owner = -1};
}

/* The task has returned `result`. */
static void end(model *m, const call *c) {
    m_actor *a = &m->actors[c->who];
    int result = c->a;
    for (int k = 0; k < KEYS; k++) {
        m->destructs += a->keys[k] != 0;
    }
    a->done = true;
    a->result = result;
    a->value = 0;
    a->state = A_ENDED;
    a->ended_with = result;
    if (a->owner >= 0) {
        int owner = a->owner, level = a->level;
        m_scope *scope = &m->actors[owner].scopes[level];
        a->owner = -1;
        if (result < 0) {
            m_cancel_scope(m, scope, owner, level, result);
        }
        if (--scope->living == 0) {
            int who = m_first(m, W_SCOPE, owner);
            if (who >= 0 && level == m->actors[owner].depth - 1) {
                m->actors[owner].depth--;
                m_finish(m, owner, scope->reason, 0);
            }
        }
        a->state = A_FREE;
    }
    int joiner = m_first(m, W_JOIN, c->who);
    if (joiner >= 0) {
        m_finish(m, joiner, 0, result);
        a->state = A_FREE;
    }
}

static void join(model *m, const call *c) {
    m_actor *of = &m->actors[c->a];
    if (c->a == c->who) {
        m_finish(m, c->who, -EDEADLK, 0);
    } else if (of->state == A_ENDED) {
        m_finish(m, c->who, 0, of->ended_with);
        forget(m, c->a);
    } else if (m_block(m, c->who, W_JOIN, c->a, c->deadline)) {
        of->joined = true;
    }
}

/* ---- scopes ---- */

/* The deadline of the scope that the actor is a child in: past it the actor's scopes are cancelled,
 * too. */
static thrum_time parents_deadline(const model *m, const m_actor *a) {
    return a->owner < 0 ? THRUM_FOREVER : m->actors[a->owner].scopes[a->level].deadline;
}

thrum_time m_inherited(const model *m, const m_actor *a) {
    return a->depth > 0 ? a->scopes[a->depth - 1].deadline : parents_deadline(m, a);
}

static void scope_open(model *m, const call *c) {
    m_actor *a = &m->actors[c->who];
    if (fuzz_is_thread(c->who)) {
        m_finish(m, c->who, -ESRCH, 0);
        return;
    }
    m_scope *s = &a->scopes[a->depth];
    thrum_time around = m_inherited(m, a);
    *s = (m_scope){.deadline = c->deadline < around ? c->deadline : around};
    if (s->deadline <= m->now) { /* it is cancelled from the start: no later reason counts */
        s->visited = true;
        s->cancelled = true;
        s->reason = -ETIMEDOUT;
    } else {
        s->timed = s->deadline < parents_deadline(m, a);
        s->cancelled = m_is_cancelled(m, c->who);
        s->reason = s->cancelled ? -ECANCELED : 0;
    }
    a->depth++;
    m_finish(m, c->who, 0, 0);
}

/* The scope that a `go` of this actor would use: its own, or the one it is in; false: none. */
static bool scope_of(const model *m, int who, bool own, int *owner, int *level) {
    const m_actor *a = &m->actors[who];
    if (own && a->depth > 0) {
        *owner = who;
        *level = a->depth - 1;
        return true;
    }
    *owner = a->owner;
    *level = a->level;
    return a->owner >= 0;
}

static void scope_go(model *m, const call *c) {
    int owner = (int)(c->value / DEPTH), level = (int)(c->value % DEPTH);
    m_scope *s = &m->actors[owner].scopes[level];
    start(m, c->a, false);
    m->actors[c->a].owner = owner;
    m->actors[c->a].level = level;
    m->actors[c->a].cancelled = s->cancelled;
    s->living++;
    m_finish(m, c->who, 0, 0);
}

static void scope_join(model *m, const call *c) {
    m_actor *a = &m->actors[c->who];
    m_scope *s = &a->scopes[a->depth - 1];
    if (s->living == 0) {
        a->depth--;
        m_finish(m, c->who, s->reason, 0);
    } else {
        m_block(m, c->who, W_SCOPE, c->who, THRUM_FOREVER);
    }
}

/* ---- intrusive tasks ---- */

static void run_task(m_task *t, int flags) {
    t->runs++;
    t->last = flags | (t->signaled ? 4 : 0);
    t->posted = false;
    t->woken = false;
    t->signaled = false;
}

void m_task_due(model *m, int k, int flags) {
    run_task(&m->tasks[k], flags);
}

static void task(model *m, const call *c) {
    m_task *t = &m->tasks[c->a];
    int result = 0;
    bool refused;
    switch (c->op) {
    case OP_task_post:
        refused = fuzz_is_thread(c->who) && m->stopping;
        if (refused && (!t->posted || m->seen->result[c->who] == -ESHUTDOWN)) {
            result = -ESHUTDOWN;
        } else if (t->posted) {
            result = -EBUSY;
        } else {
            t->posted = true;
            t->deadline = c->plain ? 0 : c->deadline;
            bool late = t->deadline <= m->now;
            bool cancelled = m->cancelling && !c->plain && t->deadline < THRUM_FOREVER;
            if (t->woken || t->signaled || late || cancelled) {
                run_task(t, late + 2 * cancelled);
            }
        }
        break;
    case OP_task_cancel:
        result = t->posted ? 0 : -EBUSY;
        if (t->posted) {
            run_task(t, 2);
        }
        break;
    default:
        t->woken |= c->op == OP_task_wake;
        t->signaled |= c->op == OP_task_signal;
        if (t->posted) {
            run_task(t, 0);
        }
    }
    m_finish(m, c->who, result, 0);
}

/* ---- which of them ---- */

static bool is_task(op o) {
    return o == OP_task_post || o == OP_task_wake || o == OP_task_signal || o == OP_task_cancel;
}

static bool actors_allow(const model *m, call *c) {
    m_actor const *a = &m->actors[c->who];
    const m_actor *of = &m->actors[c->a % FIBERS];
    int owner, level;
    switch (c->op) {
    case OP_spawn:
        c->a %= FIBERS;
        return of->state == A_FREE;
    case OP_join:
        c->a %= FIBERS;
        return of->state != A_FREE && of->has_handle && !of->joined;
    case OP_detach:
        c->a %= FIBERS;
        return of->state == A_ENDED && !of->joined;
    case OP_cancel:
        c->a %= FIBERS;
        return of->state != A_FREE && of->has_handle;
    case OP_scope_go:
        c->a %= FIBERS;
        if (of->state != A_FREE || !scope_of(m, c->who, c->b % 2 == 0, &owner, &level)) {
            return false;
        }
        c->value = owner * DEPTH + level;
        return true;
    case OP_scope_open: /* a thread's is refused */
        return a->depth < DEPTH;
    case OP_scope_cancel:
        c->a %= FIBERS;
        c->b %= DEPTH;
        return of->depth > c->b;
    case OP_scope_join: /* only without what its children may wait for */
        return a->depth > 0 && !m_holds_any(a) && !a->items;
    case OP_end:
        c->a = c->a % 4 == 3 ? -EIO : c->a % 4;
        return a->depth == 0 && !m_holds_any(a) && a->items == 0;
    default:
        return true;
    }
}

bool m_tasks_allow(const model *m, call *c) {
    const m_actor *a = &m->actors[c->who];
    switch (c->op) {
    case OP_shield_begin:
        return a->shields < 2;
    case OP_shield_end:
        return a->shields > 0 || fuzz_is_thread(c->who);
    case OP_key_set:
    case OP_key_get:
        c->a %= KEYS;
        return true;
    case OP_parallel:
        c->a %= 4;
        return true;
    case OP_blocking_end:
        c->a %= FIBERS;
        return m->actors[c->a].state == A_BLOCKED && m->actors[c->a].wait == W_BLOCKING;
    default:
        if (is_task(c->op)) {
            c->a %= TASKS;
            return true;
        }
        return actors_allow(m, c);
    }
}

static void actors_do(model *m, const call *c) {
    switch (c->op) {
    case OP_spawn:
        spawn(m, c);
        break;
    case OP_join:
        join(m, c);
        break;
    case OP_detach:
        forget(m, c->a);
        m_finish(m, c->who, 0, 0);
        break;
    case OP_cancel:
        m_finish(m, c->who, 0, 0);
        m_cancel_actor(m, c->a);
        break;
    case OP_end:
        end(m, c);
        break;
    case OP_scope_open:
        scope_open(m, c);
        break;
    case OP_scope_go:
        scope_go(m, c);
        break;
    case OP_scope_cancel:
        m_finish(m, c->who, 0, 0);
        m_cancel_scope(m, &m->actors[c->a].scopes[c->b], c->a, c->b, -ECANCELED);
        break;
    case OP_scope_join:
        scope_join(m, c);
        break;
    default:
        break;
    }
}

void m_tasks_do(model *m, const call *c) {
    m_actor *a = &m->actors[c->who];
    switch (c->op) {
    case OP_sleep:
        m_block(m, c->who, W_SLEEP, 0, c->deadline);
        break;
    case OP_yield:
    case OP_parallel:
        m_finish(m, c->who, 0, 0);
        break;
    case OP_cancelled:
        m_finish(m, c->who, m_is_cancelled(m, c->who), 0);
        break;
    case OP_shield_begin:
    case OP_shield_end:
        if (!fuzz_is_thread(c->who)) {
            a->shields += c->op == OP_shield_begin ? 1 : -1;
        }
        m_finish(m, c->who, 0, 0);
        break;
    case OP_key_set:
        a->keys[c->a] = c->b % 4 == 0 ? 0 : c->value;
        m_finish(m, c->who, 0, 0);
        break;
    case OP_key_get:
        m_finish(m, c->who, 0, a->keys[c->a]);
        break;
    case OP_blocking:
        m_block(m, c->who, W_BLOCKING, 0, THRUM_FOREVER);
        break;
    case OP_blocking_end:
        m_finish(m, c->a, 0, 7);
        m_finish(m, c->who, 0, 0);
        break;
    default:
        if (is_task(c->op)) {
            task(m, c);
        } else {
            actors_do(m, c);
        }
    }
}
