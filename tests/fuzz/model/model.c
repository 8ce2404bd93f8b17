/*
 * model.c: waiting, ending, time and cancelling in the model; the operations are in model_*.c.
 */
#include "model.h"

#include <string.h>

/* One operation of a program lasts no time; deadlines are so far apart that each comes alone. */
#define SECOND 1000000000
#define APART 4000000

void model_init(model *m, thrum_time now) {
    memset(m, 0, sizeof(*m));
    m->now = now;
    m->pool_free = POOL_SIZE;
    memset(m->mutex_owner, -1, sizeof(m->mutex_owner));
    memset(m->writer, -1, sizeof(m->writer));
    for (int i = 0; i < ACTORS; i++) {
        m->actors[i].owner = -1;
    }
    for (int i = 0; i < 3; i++) {
        m->actors[i].state = A_READY;
        m->actors[i].has_handle = true;
    }
    for (int i = HAND; i < ACTORS; i++) {
        m->actors[i].state = A_READY;
    }
}

bool m_holds_any(const m_actor *a) {
    return a->mutexes != 0 || a->writes != 0 || a->reads[0] != 0 || a->reads[1] != 0 ||
           a->nested != 0;
}

void m_finish(model *m, int who, int result, long value) {
    m_actor *a = &m->actors[who];
    a->done = true;
    a->result = result;
    a->value = value;
    if (a->state == A_BLOCKED) {
        a->state = A_READY;
    }
    a->wait = W_NONE;
}

bool m_is_cancelled(const model *m, int who) {
    return who < FIBERS && (m->cancelling || m->actors[who].cancelled);
}

static bool is_point(wait_kind wait) {
    return wait != W_MUTEX && wait != W_READ && wait != W_WRITE && wait != W_ONCE &&
           wait != W_SCOPE;
}

bool m_block(model *m, int who, wait_kind wait, int object, thrum_time deadline) {
    m_actor *a = &m->actors[who];
    if (deadline <= m->now) {
        m_finish(m, who, wait == W_SLEEP ? 0 : -ETIMEDOUT, 0);
        return false;
    }
    if (is_point(wait) && m_is_cancelled(m, who) && a->shields == 0) {
        m_finish(m, who, -ECANCELED, 0);
        return false;
    }
    a->state = A_BLOCKED;
    a->part = false;
    a->wait = wait;
    a->object = object;
    a->deadline = deadline;
    a->since = m->seq++;
    return true;
}

int m_first(const model *m, wait_kind wait, int object) {
    int found = -1;
    for (int i = 0; i < ACTORS; i++) {
        const m_actor *a = &m->actors[i];
        if (a->state == A_BLOCKED && a->wait == wait && a->object == object &&
            (found < 0 || a->since < m->actors[found].since)) {
            found = i;
        }
    }
    return found;
}

static void cancel_all(model *m);

/* A wait ends without what it waited for. */
static void leave(model *m, int who, int code) {
    m_actor *a = &m->actors[who];
    wait_kind wait = a->wait;
    int object = a->object;
    if (wait == W_COND) {
        a->code = code;
        m->relocking |= 1 << who;
        return;
    }
    if (wait == W_JOIN) {
        m->actors[object].joined = false;
    }
    m_finish(m, who, wait == W_SLEEP && code == -ETIMEDOUT ? 0 : code, a->part ? -ECANCELED : 0);
    if (wait == W_READ || wait == W_WRITE) {
        m_rw_left(m, object);
    }
    if (wait == W_STOP) {
        cancel_all(m);
    }
}

/* Cancels the actor's wait, if it can be cancelled. */
static void cancel_wait(model *m, int who, int why) {
    m_actor *a = &m->actors[who];
    /* waiters before it may have been cancelled first, and left it their objects or units */
    bool queues = a->wait == W_POOL || a->wait == W_SEM;
    bool served =
        queues && m->seen->done[who] && (a->part ? m->seen->value[who] : m->seen->result[who]) == 0;
    if (a->state != A_BLOCKED || !is_point(a->wait) || a->wait == W_BLOCKING || a->shields > 0 ||
        (m->relocking & 1 << who) != 0) {
        return;
    }
    if (served) {
        a->why = why;
    } else {
        leave(m, who, a->part ? why : -ECANCELED);
    }
}

/* Cancels the actor and its open scopes, with the reason: a deadline counts for all below. */
static void cancel_actor(model *m, int who, int why) {
    m_actor *a = &m->actors[who];
    if (a->cancelled || a->state == A_FREE || a->state == A_ENDED) {
        return;
    }
    a->cancelled = true;
    cancel_wait(m, who, why);
    for (int level = a->depth - 1; level >= 0; level--) {
        m_cancel_scope(m, &a->scopes[level], who, level, why);
    }
}

void m_cancel_actor(model *m, int who) {
    cancel_actor(m, who, -ECANCELED);
}

void m_cancel_scope(model *m, m_scope *scope, int owner, int level, int why) {
    if (scope->visited) {
        return;
    }
    scope->visited = true;
    scope->cancelled = true;
    if (scope->reason == 0) {
        scope->reason = why;
    }
    for (int i = 0; i < ACTORS; i++) {
        if (m->actors[i].owner == owner && m->actors[i].level == level) {
            cancel_actor(m, i, why == -ETIMEDOUT ? why : -ECANCELED);
        }
    }
}

/* Does what a stop past its deadline does: cancels all fibers, and all tasks that wait or have a
 * timer. */
static void cancel_all(model *m) {
    m->cancelling = true;
    for (int i = 0; i < FIBERS; i++) {
        m_actor *a = &m->actors[i];
        cancel_wait(m, i, -ECANCELED);
        for (int level = 0; level < a->depth; level++) {
            m_scope *s = &a->scopes[level];
            s->timed = false;
            s->cancelled = true;
            s->reason = s->reason == 0 ? -ECANCELED : s->reason;
        }
    }
    for (int k = 0; k < TASKS; k++) {
        if (m->tasks[k].posted) {
            m_task_due(m, k, 2);
        }
    }
    m_tickets_cancelled(m);
}

int model_stopper(const model *m) {
    for (int i = HAND + 1; i < ACTORS; i++) {
        if (m->actors[i].state == A_BLOCKED && m->actors[i].wait == W_STOP) {
            return i;
        }
    }
    return -1;
}

static void stop(model *m, const call *c) {
    if (c->who < FIBERS) {
        m_finish(m, c->who, -EDEADLK, 0);
    } else if (model_stopper(m) >= 0) {
        m_finish(m, c->who, -EBUSY, 0);
    } else {
        m->stopping = true;
        if (!m_block(m, c->who, W_STOP, 0, c->deadline)) {
            cancel_all(m);
        }
    }
}

void model_stopped(model *m) {
    for (int i = 0; i < ACTORS; i++) {
        m->actors[i].done = false;
    }
    for (int k = 0; k < TASKS; k++) {
        if (m->tasks[k].posted) {
            m_task_due(m, k, 2);
        }
    }
    if (model_stopper(m) >= 0) {
        m_finish(m, model_stopper(m), 0, 0);
    }
    m->stopping = false;
    m->cancelling = false;
}

/* ---- time ---- */

thrum_time model_next(const model *m) {
    thrum_time next = THRUM_FOREVER;
    for (int i = 0; i < ACTORS; i++) {
        const m_actor *a = &m->actors[i];
        if (a->state == A_BLOCKED && a->deadline < next) {
            next = a->deadline;
        }
        for (int level = 0; level < a->depth; level++) {
            const m_scope *s = &a->scopes[level];
            if (s->timed && s->deadline > m->now && s->deadline < next) {
                next = s->deadline;
            }
        }
    }
    for (int k = 0; k < TASKS; k++) {
        if (m->tasks[k].posted && m->tasks[k].deadline < next) {
            next = m->tasks[k].deadline;
        }
    }
    return next;
}

static void advance(model *m) {
    thrum_time due = model_next(m);
    m->now = due + APART / 8;
    for (int i = 0; i < ACTORS; i++) {
        m_actor *a = &m->actors[i];
        if (a->state == A_BLOCKED && a->deadline == due && a->part) {
            cancel_wait(m, i, -ETIMEDOUT);
        } else if (a->state == A_BLOCKED && a->deadline == due) {
            leave(m, i, -ETIMEDOUT);
        }
        for (int level = 0; level < a->depth; level++) {
            if (a->scopes[level].timed && a->scopes[level].deadline == due) {
                m_cancel_scope(m, &a->scopes[level], i, level, -ETIMEDOUT);
            }
        }
    }
    for (int k = 0; k < TASKS; k++) {
        if (m->tasks[k].posted && m->tasks[k].deadline == due) {
            m_task_due(m, k, 1);
        }
    }
    m_finish(m, HAND, 0, 0);
}

static bool is_near(thrum_time a, thrum_time b) {
    return a != THRUM_FOREVER && (a > b ? a - b : b - a) < APART;
}

/* Returns an instant ahead at which nothing else ends. */
static thrum_time instant(const model *m, int seconds) {
    thrum_time t = m->now + (thrum_time)seconds * SECOND;
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < ACTORS; i++) {
            const m_actor *a = &m->actors[i];
            moved |= a->state == A_BLOCKED && is_near(a->deadline, t);
            for (int level = 0; level < a->depth; level++) {
                moved |= is_near(a->scopes[level].deadline, t); /* a later scope may inherit it */
            }
        }
        for (int k = 0; k < TASKS; k++) {
            moved |= m->tasks[k].posted && is_near(m->tasks[k].deadline, t);
        }
        t += moved ? APART : 0;
    }
    return t;
}

/* ---- calls ---- */

/* Sets one of 8 kinds of deadline: 3 for ever, 0, past, and 3 ahead. */
static void set_deadline(const model *m, call *c, int kind, bool bounded) {
    kind &= 7;
    c->deadline = THRUM_FOREVER;
    c->plain = kind == 0;
    if (kind == 3) {
        c->deadline = 0;
    } else if (kind == 4) {
        c->deadline = m->now - SECOND;
    } else if (kind > 4 || bounded) {
        c->plain = false;
        c->deadline = instant(m, kind > 4 ? kind - 3 : kind + 1);
    }
}

static int doer(const model *m, const step *s) {
    int who = s->who % ACTORS;
    if (who == HAND && fuzz_op_who[s->op] == 2) {
        return HAND;
    }
    if (who == HAND) {
        who = s->a % FIBERS;
    }
    for (int i = 0; i < ACTORS; i++) {
        int next = i == 0 ? who : (who + i) % ACTORS;
        bool can = next < FIBERS || (next > HAND && i == 0 && fuzz_op_who[s->op] < 8);
        if (can && m->actors[next].state == A_READY) {
            return next;
        }
    }
    return fuzz_op_who[s->op] == 2 ? HAND : -1;
}

bool model_call(model *m, const step *s, call *c) {
    if (s->op >= OP_COUNT || (s->op >= OP_io_write && s->op <= OP_io_renew)) {
        return false;
    }
    int who = s->op == OP_advance || s->op == OP_blocking_end ? HAND : doer(m, s);
    if (who < 0) {
        return false;
    }
    const m_actor *a = &m->actors[who];
    *c = (call){.who = who, .op = (op)s->op, .a = s->a, .b = s->b, .value = m->seq++};
    /* behind a shield the end does not cancel it; and two actors that take two locks each might
     * wait for each other for ever */
    bool locks = c->op == OP_mutex_lock || c->op == OP_rw_read || c->op == OP_rw_write ||
                 c->op == OP_once_run;
    /* nothing cancels a thread: at the end it can be freed only from waits that others end */
    bool alone = fuzz_is_thread(who) &&
                 (c->op == OP_barrier_wait || c->op == OP_sleep ||
                  (c->op == OP_select && c->a % (1 << 2 * CHANS) == 0) ||
                  ((c->op == OP_join || c->op == OP_pool_borrow || c->op == OP_stop) &&
                   (m_holds_any(a) || a->items != 0)));
    set_deadline(m, c, s->b, a->shields != 0 || alone || (locks && m_holds_any(a)));
    if (c->op == OP_stop && who == HAND) {
        c->deadline = 0;
    }
    if (c->op == OP_advance) {
        thrum_time next = model_next(m);
        c->deadline = next == THRUM_FOREVER ? next : next + APART / 16;
        return next != THRUM_FOREVER;
    }
    return m_locks_allow(m, c) && m_counts_allow(m, c) && m_chans_allow(m, c) &&
           m_tasks_allow(m, c);
}

void model_do(model *m, const call *c, const seen *saw) {
    for (int i = 0; i < ACTORS; i++) {
        m->actors[i].done = false;
    }
    m->seen = saw;
    m->relocking = 0;
    if (c->op == OP_advance) {
        advance(m);
    }
    if (c->op == OP_stop) {
        stop(m, c);
    }
    m_locks_do(m, c);
    m_counts_do(m, c);
    m_chans_do(m, c);
    m_tasks_do(m, c);
    m_relock(m);
    m_pool_serve(m);
    m_sems_serve(m);
}
