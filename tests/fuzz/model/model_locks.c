/*
 * model_locks.c: mutex, rwlock, cond, once and barrier in the model.
 */
#include "model.h"

/* ---- mutex ---- */

void m_mutex_take(model *m, int who, int object, int code, thrum_time deadline) {
    m_actor *a = &m->actors[who];
    if (m->mutex_owner[object] < 0) {
        m->mutex_owner[object] = who;
        a->mutexes |= 1 << object;
        m_finish(m, who, code, 0);
    } else if (m_block(m, who, W_MUTEX, object, deadline)) {
        a->code = code;
    }
}

/* Gives the mutex to the first; actors that came at the same moment are served in any order. */
void m_mutex_give(model *m, int object) {
    int first = m_first(m, W_MUTEX, object);
    m->mutex_owner[object] = -1;
    if (first < 0) {
        return;
    }
    for (int i = 0; i < ACTORS; i++) {
        const m_actor *a = &m->actors[i];
        if (a->state == A_BLOCKED && a->wait == W_MUTEX && a->object == object &&
            a->since == m->actors[first].since && m->seen->done[i]) {
            first = i;
        }
    }
    m->mutex_owner[object] = first;
    m->actors[first].mutexes |= 1 << object;
    m_finish(m, first, m->actors[first].code, 0);
}

/* Lets the actors whose wait at a cond ended in this step lock again, in any order. */
void m_relock(model *m) {
    long since = m->seq++;
    for (int round = 0; round < 2; round++) { /* those that were seen to get it come first */
        for (int i = 0; i < ACTORS; i++) {
            m_actor *a = &m->actors[i];
            if ((m->relocking & 1 << i) == 0 || m->seen->done[i] != (round == 0)) {
                continue;
            }
            m->relocking &= ~(1 << i);
            m_mutex_take(m, i, a->object, a->code, THRUM_FOREVER);
            if (a->state == A_BLOCKED) {
                a->since = since;
            }
        }
    }
}

static void cond_wait(model *m, const call *c) {
    m_actor *a = &m->actors[c->who];
    a->mutexes &= ~(1 << c->a);
    bool waits = m_block(m, c->who, W_COND, c->a, c->deadline);
    if (waits) {
        m_mutex_give(m, c->a);
        return;
    }
    /* it did not wait: it may be faster than an actor that was woken, or not */
    int code = a->result;
    a->done = false;
    if (m_first(m, W_MUTEX, c->a) >= 0 && !m->seen->done[c->who]) {
        m_mutex_give(m, c->a);
    } else {
        m->mutex_owner[c->a] = -1;
    }
    m_mutex_take(m, c->who, c->a, code, THRUM_FOREVER);
}

static void cond_wake(model *m, const call *c) {
    for (;;) {
        int first = -1;
        for (int i = 0; i < ACTORS; i++) {
            const m_actor *a = &m->actors[i];
            if (a->state == A_BLOCKED && a->wait == W_COND && a->object == c->a &&
                (m->relocking & 1 << i) == 0 && (first < 0 || a->since < m->actors[first].since)) {
                first = i;
            }
        }
        if (first < 0) {
            return;
        }
        m->actors[first].code = 0;
        m->relocking |= 1 << first;
        if (c->op == OP_cond_signal) {
            return;
        }
    }
}

/* ---- rwlock ---- */

static bool rw_waited_for(const model *m, int object) {
    return m_first(m, W_READ, object) >= 0 || m_first(m, W_WRITE, object) >= 0;
}

static bool admit_readers(model *m, int object) {
    bool any = false;
    for (int first; (first = m_first(m, W_READ, object)) >= 0; any = true) {
        m->readers[object]++;
        m->actors[first].reads[object]++;
        m_finish(m, first, 0, 0);
    }
    return any;
}

static bool admit_writer(model *m, int object) {
    int first = m_first(m, W_WRITE, object);
    if (first < 0) {
        return false;
    }
    m->writer[object] = first;
    m->actors[first].writes |= 1 << object;
    m->round[object] = false;
    m_finish(m, first, 0, 0);
    return true;
}

void m_rw_left(model *m, int object) {
    if (m->writer[object] < 0 && m_first(m, W_WRITE, object) < 0) {
        admit_readers(m, object);
    }
    if (!rw_waited_for(m, object)) {
        m->round[object] = false;
    }
}

/* Whether the one that joins a round as the n-th, from 0, is one that looks at the clock. */
static bool looks(int n) {
    return n > 15 ? n % 16 == 15 : (n & (n + 1)) == 0;
}

/* A round of readers may be joined for 100 µs, and by a few more: here time stands still, or
 * seconds pass. */
static bool join_round(model *m, int object) {
    if (!m->round[object] || (looks(m->joined[object]) && m->now != m->round_at[object])) {
        return false;
    }
    m->joined[object]++;
    return true;
}

static void rw_lock(model *m, const call *c) {
    m_actor *a = &m->actors[c->who];
    bool reads = c->op == OP_rw_read || c->op == OP_rw_try_read;
    bool tries = c->op == OP_rw_try_read || c->op == OP_rw_try_write;
    bool open = m->writer[c->a] < 0 && !rw_waited_for(m, c->a) && (reads || !m->readers[c->a]);
    if (open || (reads && !tries && join_round(m, c->a))) {
        m->readers[c->a] += reads;
        a->reads[c->a] += reads;
        if (!reads) {
            m->writer[c->a] = c->who;
            a->writes |= 1 << c->a;
        }
        m_finish(m, c->who, 0, 0);
    } else if (tries) {
        m_finish(m, c->who, -EBUSY, 0);
    } else {
        m_block(m, c->who, reads ? W_READ : W_WRITE, c->a, c->deadline);
    }
}

static void rw_unlock(model *m, const call *c) {
    m_actor *a = &m->actors[c->who];
    if (m->writer[c->a] == c->who) {
        m->writer[c->a] = -1;
        a->writes &= ~(1 << c->a);
        if (!admit_readers(m, c->a)) {
            admit_writer(m, c->a);
        } else if (m_first(m, W_WRITE, c->a) >= 0) {
            m->round[c->a] = true;
            m->round_at[c->a] = m->now;
            m->joined[c->a] = 0;
        }
    } else {
        a->reads[c->a]--;
        if (--m->readers[c->a] == 0 && !admit_writer(m, c->a)) {
            admit_readers(m, c->a);
        }
    }
    m_finish(m, c->who, 0, 0);
}

/* ---- once ---- */

static void once_enter(model *m, int who, int object) {
    m_actor *a = &m->actors[who];
    m->onces[object] = ONCE_RUNNING;
    m->once_owner[object] = who;
    a->onces[a->nested++] = object;
    m_finish(m, who, ENTERED, 0);
}

static void once_run(model *m, const call *c) {
    if (m->onces[c->a] == ONCE_DONE) {
        m_finish(m, c->who, 0, 0);
    } else if (m->onces[c->a] == ONCE_NEW) {
        once_enter(m, c->who, c->a);
    } else if (m->once_owner[c->a] == c->who) {
        m_finish(m, c->who, -EDEADLK, 0);
    } else {
        m_block(m, c->who, W_ONCE, c->a, c->deadline);
    }
}

static void once_end(model *m, const call *c) {
    m_actor *a = &m->actors[c->who];
    int object = a->onces[--a->nested];
    bool fails = c->b % 2 != 0;
    int first = m_first(m, W_ONCE, object);
    m->onces[object] = fails ? ONCE_NEW : ONCE_DONE;
    m_finish(m, c->who, fails ? -EIO : 0, 0);
    if (fails && first >= 0) {
        once_enter(m, first, object);
    }
    while (!fails && (first = m_first(m, W_ONCE, object)) >= 0) {
        m_finish(m, first, 0, 0);
    }
}

static void once_destroy(model *m, const call *c) {
    bool busy = m->onces[c->a] == ONCE_RUNNING;
    if (!busy) {
        m->onces[c->a] = ONCE_NEW;
    }
    m_finish(m, c->who, busy ? -EBUSY : 0, 0);
}

/* ---- barrier ---- */

static void barrier_wait(model *m, const call *c) {
    int arrived = 0;
    for (int i = 0; i < ACTORS; i++) {
        arrived += m->actors[i].state == A_BLOCKED && m->actors[i].wait == W_BARRIER;
    }
    if (arrived < BARRIER_SIZE - 1) {
        m_block(m, c->who, W_BARRIER, 0, c->deadline);
        return;
    }
    for (int first; (first = m_first(m, W_BARRIER, 0)) >= 0;) {
        m_finish(m, first, 0, 0);
    }
    m_finish(m, c->who, 1, 0);
}

/* ---- which of them ---- */

bool m_locks_allow(const model *m, call *c) {
    const m_actor *a = &m->actors[c->who];
    switch (c->op) {
    case OP_mutex_lock: /* locking one's own aborts, which the tests of misuse cover */
        c->a %= MUTEXES;
        return m->mutex_owner[c->a] != c->who;
    case OP_mutex_try:
    case OP_cond_signal:
    case OP_cond_broadcast:
        c->a %= MUTEXES;
        return true;
    case OP_mutex_unlock:
        c->a %= MUTEXES;
        return m->mutex_owner[c->a] == c->who;
    case OP_cond_wait: /* with no other lock: it could not be cancelled where it locks again */
        c->a %= MUTEXES;
        return a->mutexes == 1 << c->a && !a->writes && !a->reads[0] && !a->reads[1] && !a->nested;
    case OP_rw_read:
    case OP_rw_write:
        c->a %= LOCKS;
        return m->writer[c->a] != c->who;
    case OP_rw_try_read:
    case OP_rw_try_write:
        c->a %= LOCKS;
        return true;
    case OP_rw_unlock:
        c->a %= LOCKS;
        return m->writer[c->a] == c->who || a->reads[c->a] > 0;
    case OP_once_run:
        c->a %= ONCES;
        return a->nested < ONCES;
    case OP_once_destroy:
        c->a %= ONCES;
        return true;
    case OP_once_end:
        return a->nested > 0;
    default:
        return true;
    }
}

void m_locks_do(model *m, const call *c) {
    switch (c->op) {
    case OP_mutex_lock:
        m_mutex_take(m, c->who, c->a, 0, c->deadline);
        break;
    case OP_mutex_try:
        if (m->mutex_owner[c->a] < 0) {
            m_mutex_take(m, c->who, c->a, 0, 0);
        } else {
            m_finish(m, c->who, -EBUSY, 0);
        }
        break;
    case OP_mutex_unlock:
        m->actors[c->who].mutexes &= ~(1 << c->a);
        m_mutex_give(m, c->a);
        m_finish(m, c->who, 0, 0);
        break;
    case OP_cond_wait:
        cond_wait(m, c);
        break;
    case OP_cond_signal:
    case OP_cond_broadcast:
        cond_wake(m, c);
        m_finish(m, c->who, 0, 0);
        break;
    case OP_rw_read:
    case OP_rw_write:
    case OP_rw_try_read:
    case OP_rw_try_write:
        rw_lock(m, c);
        break;
    case OP_rw_unlock:
        rw_unlock(m, c);
        break;
    case OP_once_run:
        once_run(m, c);
        break;
    case OP_once_end:
        once_end(m, c);
        break;
    case OP_once_destroy:
        once_destroy(m, c);
        break;
    case OP_barrier_wait:
        barrier_wait(m, c);
        break;
    default:
        break;
    }
}
