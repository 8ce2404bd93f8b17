/*
 * model_counts.c: semaphore, waitgroup, events, tickets and the pool in the model.
 */
#include "model.h"

/* ---- semaphore ---- */

/* Gives units to the waiters, in their order: the first keeps its place until it has its number. */
void m_sems_serve(model *m) {
    for (int s = 0; s < SEMS; s++) {
        for (int first; (first = m_first(m, W_SEM, s)) >= 0;) {
            m_actor *a = &m->actors[first];
            if (a->n > m->sems[s]) {
                break;
            }
            m->sems[s] -= a->n;
            /* a cancel may have come to thrum_with_deadline, though not to the wait in it */
            bool told = a->part && a->why != 0 && m->seen->result[first] == a->why;
            m_finish(m, first, told ? a->why : 0, 0);
        }
    }
}

/* Waits within thrum_with_deadline: the wait is only cancelled, the call around it says why. */
static void sem_within(model *m, const call *c, bool ready) {
    m_actor *a = &m->actors[c->who];
    thrum_time around = m_inherited(m, a);
    thrum_time deadline = c->deadline < around ? c->deadline : around;
    int why = deadline <= m->now ? -ETIMEDOUT : m_is_cancelled(m, c->who) ? -ECANCELED : 0;
    if (fuzz_is_thread(c->who)) {
        m_finish(m, c->who, -ESRCH, 0);
    } else if (ready) {
        m->sems[c->a] -= c->b;
        m_finish(m, c->who, why, 0);
    } else if (why != 0) {
        m_finish(m, c->who, why, -ECANCELED);
    } else if (m_block(m, c->who, W_SEM, c->a, deadline)) {
        a->n = c->b;
        a->part = true;
        a->why = 0;
    }
}

static void sem(model *m, const call *c) {
    int *value = &m->sems[c->a];
    bool ready = c->b == 0 || (*value >= c->b && m_first(m, W_SEM, c->a) < 0);
    if (c->op == OP_sem_post) {
        *value += c->b; /* model_do serves the waiters */
        m_finish(m, c->who, 0, 0);
    } else if (c->form == FORM_DEADLINE) {
        sem_within(m, c, ready);
    } else if (ready) {
        *value -= c->b;
        m_finish(m, c->who, 0, 0);
    } else if (c->op == OP_sem_try) {
        m_finish(m, c->who, -EAGAIN, 0);
    } else if (m_block(m, c->who, W_SEM, c->a, c->deadline)) {
        m->actors[c->who].n = c->b;
    }
}

/* ---- waitgroup ---- */

static void group(model *m, const call *c) {
    int *count = &m->groups[c->a];
    if (c->op == OP_group_wait) {
        if (*count == 0) {
            m_finish(m, c->who, 0, 0);
        } else {
            m_block(m, c->who, W_GROUP, c->a, c->deadline);
        }
        return;
    }
    *count += c->op == OP_group_done ? -1 : c->b;
    for (int first; *count == 0 && (first = m_first(m, W_GROUP, c->a)) >= 0;) {
        m_finish(m, first, 0, 0);
    }
    m_finish(m, c->who, 0, 0);
}

/* ---- events ---- */

/* The first that waits for this event, alone or among others; -1: none. */
static int event_first(const model *m, int event) {
    int found = m_first(m, W_EVENT, event);
    for (int i = 0; i < ACTORS; i++) {
        const m_actor *a = &m->actors[i];
        if (a->state == A_BLOCKED && a->wait == W_ANY && (a->n & 1 << event) &&
            (found < 0 || a->since < m->actors[found].since)) {
            found = i;
        }
    }
    return found;
}

/* Which entry of the list of a wait-any an event is. */
static int entry_of(int mask, int event) {
    int n = 0;
    for (int i = 0; i < event; i++) {
        n += (mask & 1 << i) != 0;
    }
    return n;
}

static void event_signal(model *m, int event) {
    for (int first; (first = event_first(m, event)) >= 0;) {
        const m_actor *a = &m->actors[first];
        m_finish(m, first, a->wait == W_ANY ? entry_of(a->n, event) : 0, 0);
        if (event != 0) {
            return; /* an automatic event lets one through */
        }
    }
    m->events[event] = true;
}

static void event_take(model *m, int event) {
    if (event != 0) {
        m->events[event] = false;
    }
}

static void event_any(model *m, const call *c) {
    int chosen = -1, signaled = 0;
    for (int i = 0; i < EVENTS; i++) {
        if ((c->a & 1 << i) && m->events[i]) {
            signaled++;
            if (chosen < 0 || m->seen->result[c->who] == entry_of(c->a, i)) {
                chosen = i;
            }
        }
    }
    if (signaled > 0) {
        event_take(m, chosen);
        m_finish(m, c->who, entry_of(c->a, chosen), 0);
    } else if (m_block(m, c->who, W_ANY, 0, c->deadline)) {
        m->actors[c->who].n = c->a;
    }
}

static void event(model *m, const call *c) {
    bool is = m->events[c->a % EVENTS];
    switch (c->op) {
    case OP_event_signal:
        event_signal(m, c->a);
        m_finish(m, c->who, 0, 0);
        break;
    case OP_event_clear:
        m->events[c->a] = false;
        m_finish(m, c->who, 0, 0);
        break;
    case OP_event_test:
        m_finish(m, c->who, is, 0);
        if (c->b % 2 != 0 && is) {
            event_take(m, c->a);
        }
        break;
    case OP_event_any:
        event_any(m, c);
        break;
    default:
        if (is) {
            event_take(m, c->a);
            m_finish(m, c->who, 0, 0);
        } else {
            m_block(m, c->who, W_EVENT, c->a, c->deadline);
        }
    }
}

/* ---- tickets ---- */

/* The ticket that has the turn; -1: none is taken. */
static int ticket_called(const model *m) {
    int found = -1;
    for (int k = 0; k < TICKETS; k++) {
        if (m->tickets[k].taken && (found < 0 || m->tickets[k].since < m->tickets[found].since)) {
            found = k;
        }
    }
    return found;
}

/* A ticket has the turn: actors that wait for it go on; what is on call runs and is done. */
static void ticket_turn(model *m) {
    for (int k; (k = ticket_called(m)) >= 0;) {
        for (int first; (first = m_first(m, W_TICKET, k)) >= 0;) {
            m_finish(m, first, 0, 0);
        }
        if (!m->tickets[k].on_call) {
            return;
        }
        m->tickets[k].taken = false;
        m->tickets_called++;
    }
}

/* A stop cancels what is on call: it runs all the same, and is done. */
void m_tickets_cancelled(model *m) {
    for (int k = 0; k < TICKETS; k++) {
        if (m->tickets[k].taken && m->tickets[k].on_call) {
            m->tickets[k].taken = false;
            m->tickets_called++;
        }
    }
}

/* Why the ticket cannot be on call; 0: it can. Of several reasons it is the one that was seen. */
static int not_on_call(const model *m, const call *c) {
    const m_ticket *t = &m->tickets[c->a];
    bool refused = fuzz_is_thread(c->who) && m->stopping;
    int why = !t->taken ? -EINVAL : t->on_call ? -EBUSY : 0;
    if (fuzz_is_thread(c->who) && c->b % 2 == 0) {
        return -ESRCH; /* the call names no scheduler */
    }
    if (refused && (why == 0 || m->seen->result[c->who] == -ESHUTDOWN)) {
        return -ESHUTDOWN;
    }
    return why;
}

static void ticket(model *m, const call *c) {
    m_ticket *t = &m->tickets[c->a % TICKETS];
    int why;
    switch (c->op) {
    case OP_ticket_take:
        *t = (m_ticket){.taken = true, .since = m->seq++};
        m_finish(m, c->who, 0, 0);
        break;
    case OP_ticket_called:
        m_finish(m, c->who, ticket_called(m) == c->a, 0);
        break;
    case OP_ticket_done:
        t->taken = false;
        ticket_turn(m);
        m_finish(m, c->who, 0, 0);
        break;
    case OP_ticket_on_call:
        why = not_on_call(m, c);
        if (why == 0) {
            t->on_call = true;
            ticket_turn(m);
        }
        m_finish(m, c->who, why, 0);
        break;
    default:
        if (!t->taken) {
            m_finish(m, c->who, -EINVAL, 0);
        } else if (ticket_called(m) == c->a) {
            m_finish(m, c->who, 0, 0);
        } else {
            m_block(m, c->who, W_TICKET, c->a, c->deadline);
        }
    }
}

/* Whether no stop cancels the actor's wait: its ticket must not be on call, which would end it. */
static bool stays(const model *m, int who) {
    return fuzz_is_thread(who) || m->actors[who].shields > 0;
}

static bool ticket_allows(const model *m, call *c) {
    c->a %= TICKETS;
    const m_ticket *t = &m->tickets[c->a];
    if (c->op == OP_ticket_take) {
        return !t->taken;
    }
    if (c->op == OP_ticket_called) {
        return t->taken;
    }
    if (c->op == OP_ticket_done) {
        return t->taken && !t->on_call && m_first(m, W_TICKET, c->a) < 0;
    }
    if (c->op == OP_ticket_wait) {
        return !t->on_call || !stays(m, c->who);
    }
    for (int i = 0; i < ACTORS; i++) {
        const m_actor *a = &m->actors[i];
        if (a->state == A_BLOCKED && a->wait == W_TICKET && a->object == c->a && stays(m, i)) {
            return false;
        }
    }
    return true;
}

/* ---- pool ---- */

void m_pool_serve(model *m) {
    for (int first; (first = m_first(m, W_POOL, 0)) >= 0;) {
        m_actor *a = &m->actors[first];
        if (a->n > m->pool_free) {
            return;
        }
        m->pool_free -= a->n;
        a->items += a->n;
        m_finish(m, first, 0, 0);
    }
}

static void pool(model *m, const call *c) {
    m_actor *a = &m->actors[c->who];
    if (c->op == OP_pool_give) {
        a->items--;
        m->pool_free++;
        m_finish(m, c->who, 0, 0); /* model_do serves the waiters */
    } else if (c->a <= m->pool_free && m_first(m, W_POOL, 0) < 0) {
        m->pool_free -= c->a;
        a->items += c->a;
        m_finish(m, c->who, 0, 0);
    } else if (c->op == OP_pool_try) {
        m_finish(m, c->who, -EAGAIN, 0);
    } else if (m_block(m, c->who, W_POOL, 0, c->deadline)) {
        a->n = c->a;
    }
}

/* ---- which of them ---- */

bool m_counts_allow(const model *m, call *c) {
    switch (c->op) {
    case OP_sem_wait:
    case OP_sem_try:
    case OP_sem_post:
        c->a %= SEMS;
        if (c->op == OP_sem_wait) {
            c->form = (form)((c->b >> 5) % 3);
        }
        if (c->form == FORM_DEADLINE && m->actors[c->who].shields > 0) {
            c->form = FORM_DIRECT; /* else nothing would end the wait */
        }
        c->b = ((c->b >> 3) + 1) % 4;
        return true;
    case OP_group_add:
    case OP_group_done:
    case OP_group_wait:
        c->a %= GROUPS;
        c->b = 1 + c->b % 3;
        return c->op != OP_group_done || m->groups[c->a] > 0;
    case OP_event_signal:
    case OP_event_clear:
    case OP_event_wait:
    case OP_event_test:
        c->a %= EVENTS;
        return true;
    case OP_event_any:
        c->a = 1 + c->a % 7;
        return true;
    case OP_ticket_take:
    case OP_ticket_wait:
    case OP_ticket_called:
    case OP_ticket_done:
    case OP_ticket_on_call:
        return ticket_allows(m, c);
    case OP_pool_borrow:
        c->a = 1 + c->a % POOL_SIZE;
        return true;
    case OP_pool_try:
        c->a = 1;
        return true;
    case OP_pool_give:
        return m->actors[c->who].items > 0;
    default:
        return true;
    }
}

void m_counts_do(model *m, const call *c) {
    switch (c->op) {
    case OP_sem_wait:
    case OP_sem_try:
    case OP_sem_post:
        sem(m, c);
        break;
    case OP_group_add:
    case OP_group_done:
    case OP_group_wait:
        group(m, c);
        break;
    case OP_event_signal:
    case OP_event_clear:
    case OP_event_wait:
    case OP_event_test:
    case OP_event_any:
        event(m, c);
        break;
    case OP_ticket_take:
    case OP_ticket_wait:
    case OP_ticket_called:
    case OP_ticket_done:
    case OP_ticket_on_call:
        ticket(m, c);
        break;
    case OP_pool_borrow:
    case OP_pool_try:
    case OP_pool_give:
        pool(m, c);
        break;
    default:
        break;
    }
}
