/*
 * free_ops.c: locks, counts and channels when all run at once: each call's result is one of those
 * that are documented, and what it protects, hands over or counts adds up.
 */
#include <stdlib.h>

#include "free.h"

thrum_time free_deadline(const runner *r, const step *s, bool locks) {
    static const int64_t ahead[] = {5000, 50000, 300000};
    int kind = s->b & 7;
    /* it cancels its children itself, so it must not wait for what one of them has locked */
    bool bounded =
        r->thread || r->shields > 0 ||
        (locks && (r->mutexes || r->writes || r->reads[0] || r->reads[1] || r->children_count > 0));
    if (kind == 3) {
        return 0;
    }
    if (kind == 4) {
        return thrum_now() - 1000;
    }
    if (kind < 3 && !bounded) {
        return THRUM_FOREVER;
    }
    return thrum_after(ahead[kind % 3]);
}

bool free_ok(runner *r, int result, thrum_time deadline, int also) {
    if (result == -ETIMEDOUT) {
        EXPECT(r, thrum_now() >= deadline, 0); /* never early */
    } else if (result == -ECANCELED) {
        EXPECT(r, thrum_cancelled() && r->shields == 0, r->id);
    } else {
        EXPECT(r, result == 0 || result == also, result);
    }
    return result == 0;
}

bool free_refused(const runner *r, int result) {
    return result == -ESHUTDOWN && r->thread && atomic_load(&r->w->stopping);
}

static void pause_a_bit(const step *s) {
    if (s->a % 4 == 3) {
        thrum_yield();
    }
}

/* ---- mutex, cond ---- */

static void entered(runner *r, int i) {
    EXPECT(r, r->w->mutex_user[i] == 0, r->w->mutex_user[i]);
    r->w->mutex_user[i] = r->id;
    r->mutexes |= 1 << i;
}

static void leaves(runner *r, int i) {
    EXPECT(r, r->w->mutex_user[i] == r->id, r->w->mutex_user[i]);
    r->w->mutex_user[i] = 0;
    r->mutexes &= ~(1 << i);
}

static void lock(runner *r, const step *s, int i) {
    thrum_mutex *mutex = &r->w->mutexes[i];
    thrum_time t = free_deadline(r, s, true);
    if (r->mutexes & 1 << i) {
        EXPECT(r, thrum_mutex_try_lock(mutex) == -EBUSY, 0);
        return;
    }
    int result = 0;
    if (s->op == OP_mutex_try) {
        result = thrum_mutex_try_lock(mutex);
    } else if (t == THRUM_FOREVER) {
        thrum_mutex_lock(mutex);
    } else {
        result = thrum_mutex_lock_until(mutex, t);
    }
    EXPECT(r, result != -ECANCELED, result);
    if (free_ok(r, result, t, s->op == OP_mutex_try ? -EBUSY : 0)) {
        entered(r, i);
        pause_a_bit(s);
    }
}

static void cond_wait(runner *r, const step *s, int i) {
    if (r->mutexes != 1 << i || r->writes || r->reads[0] || r->reads[1] || r->children_count > 0) {
        return;
    }
    thrum_time t = free_deadline(r, s, false);
    leaves(r, i);
    int result = t == THRUM_FOREVER ? thrum_cond_wait(&r->w->conds[i], &r->w->mutexes[i])
                                    : thrum_cond_wait_until(&r->w->conds[i], &r->w->mutexes[i], t);
    (void)free_ok(r, result, t, 0);
    entered(r, i);
}

/* ---- rwlock, once, barrier ---- */

static void rw_unlock(runner *r, int i) {
    world *w = r->w;
    if (r->writes & 1 << i) {
        EXPECT(r, w->lock_data[i] == r->id, w->lock_data[i]);
        r->writes &= ~(1 << i);
    } else if (r->reads[i] > 0) {
        EXPECT(r, w->lock_data[i] == r->read_data[i], w->lock_data[i]);
        r->reads[i]--;
    } else {
        return;
    }
    thrum_rwlock_unlock(&w->locks[i]);
}

static void rw_lock(runner *r, const step *s, int i) {
    thrum_rwlock *lk = &r->w->locks[i];
    bool reads = s->op == OP_rw_read || s->op == OP_rw_try_read;
    bool tries = s->op == OP_rw_try_read || s->op == OP_rw_try_write;
    thrum_time t = tries ? 0 : free_deadline(r, s, true);
    if ((r->writes & 1 << i) || r->reads[i] > 0) {
        return;
    }
    int result = 0;
    if (tries) {
        result = reads ? thrum_rwlock_try_rdlock(lk) : thrum_rwlock_try_wrlock(lk);
    } else if (t == THRUM_FOREVER && reads) {
        thrum_rwlock_rdlock(lk);
    } else if (t == THRUM_FOREVER) {
        thrum_rwlock_wrlock(lk);
    } else {
        result = reads ? thrum_rwlock_rdlock_until(lk, t) : thrum_rwlock_wrlock_until(lk, t);
    }
    EXPECT(r, result != -ECANCELED, result);
    if (!free_ok(r, result, t, tries ? -EBUSY : 0)) {
        return;
    }
    if (reads) {
        r->reads[i]++;
        r->read_data[i] = r->w->lock_data[i];
    } else {
        r->writes |= 1 << i;
        r->w->lock_data[i] = r->id;
    }
    pause_a_bit(s);
}

typedef struct once_call {
    runner *r;
    const step *s;
    bool ran;
} once_call;

static int once_body(void *arg) {
    once_call *c = arg;
    int *done = &c->r->w->once_done[c->s->a % ONCES];
    c->ran = true;
    EXPECT(c->r, *done == 0, *done);
    pause_a_bit(c->s);
    if (c->s->b % 2 != 0) {
        return -EIO;
    }
    ++*done;
    return 1;
}

static void once(runner *r, const step *s) {
    int i = s->a % ONCES;
    thrum_time t = free_deadline(r, s, true);
    once_call c = {r, s, false};
    int result = t == THRUM_FOREVER ? thrum_once_run(&r->w->onces[i], once_body, &c)
                                    : thrum_once_run_until(&r->w->onces[i], once_body, &c, t);
    EXPECT(r, result != -ECANCELED, result);
    EXPECT(r, result != -EIO || c.ran, result);
    EXPECT(r, result != -ETIMEDOUT || !c.ran, result);
    if (free_ok(r, result, t, -EIO)) {
        EXPECT(r, r->w->once_done[i] == 1, r->w->once_done[i]);
    }
}

static void barrier(runner *r, const step *s) {
    thrum_time t = free_deadline(r, s, false);
    int result = t == THRUM_FOREVER ? thrum_barrier_wait(&r->w->barrier)
                                    : thrum_barrier_wait_until(&r->w->barrier, t);
    (void)free_ok(r, result, t, 1);
    atomic_fetch_add(&r->w->lasts, result == 1);
    atomic_fetch_add(&r->w->passed, result >= 0);
}

void free_step_locks(runner *r, const step *s) {
    int i = s->a % 2;
    switch (s->op) {
    case OP_mutex_lock:
    case OP_mutex_try:
        lock(r, s, i);
        break;
    case OP_mutex_unlock:
        if (r->mutexes & 1 << i) {
            leaves(r, i);
            thrum_mutex_unlock(&r->w->mutexes[i]);
        }
        break;
    case OP_cond_wait:
        cond_wait(r, s, i);
        break;
    case OP_cond_signal:
        thrum_cond_signal(&r->w->conds[i]);
        break;
    case OP_cond_broadcast:
        thrum_cond_broadcast(&r->w->conds[i]);
        break;
    case OP_rw_unlock:
        rw_unlock(r, i);
        break;
    case OP_once_run:
        once(r, s);
        break;
    case OP_barrier_wait:
        barrier(r, s);
        break;
    case OP_once_end:
    case OP_once_destroy:
        break;
    default:
        rw_lock(r, s, i);
    }
}

void free_drop_locks(runner *r) {
    for (int i = 0; i < MUTEXES; i++) {
        if (r->mutexes & 1 << i) {
            leaves(r, i);
            thrum_mutex_unlock(&r->w->mutexes[i]);
        }
        rw_unlock(r, i);
    }
}

/* ---- waitgroup, events ---- */

static void group(runner *r, const step *s) {
    int i = s->a % GROUPS;
    thrum_waitgroup *g = &r->w->groups[i];
    thrum_time t = free_deadline(r, s, false);
    if (s->op == OP_group_add) {
        r->owed[i]++;
        thrum_waitgroup_add(g, 1);
    } else if (s->op == OP_group_done) {
        if (r->owed[i] > 0) {
            r->owed[i]--;
            thrum_waitgroup_done(g);
        }
    } else {
        (void)free_ok(
            r, t == THRUM_FOREVER ? thrum_waitgroup_wait(g) : thrum_waitgroup_wait_until(g, t), t,
            0);
    }
}

static void event_any(runner *r, const step *s) {
    thrum_event *events[EVENTS];
    int numbers[EVENTS];
    size_t n = 0;
    thrum_time t = free_deadline(r, s, false);
    for (int i = 0; i < EVENTS; i++) {
        if ((1 + s->a % 7) & 1 << i) {
            numbers[n] = i;
            events[n++] = &r->w->events[i];
        }
    }
    int result = thrum_event_wait_any(events, n, t);
    if (result >= 0) {
        EXPECT(r, result < (int)n, result);
        atomic_fetch_add(&r->w->passes[numbers[result]], 1);
    } else {
        (void)free_ok(r, result, t, 0);
    }
}

static void event(runner *r, const step *s) {
    int i = s->a % EVENTS;
    thrum_event *e = &r->w->events[i];
    thrum_time t = free_deadline(r, s, false);
    switch (s->op) {
    case OP_event_signal:
        atomic_fetch_add(&r->w->signals[i], 1);
        thrum_event_signal(e);
        break;
    case OP_event_clear:
        thrum_event_clear(e);
        break;
    case OP_event_test:
        atomic_fetch_add(&r->w->passes[i], thrum_event_test(e));
        break;
    case OP_event_any:
        event_any(r, s);
        break;
    default:
        if (free_ok(r, t == THRUM_FOREVER ? thrum_event_wait(e) : thrum_event_wait_until(e, t), t,
                    0)) {
            atomic_fetch_add(&r->w->passes[i], 1);
        }
    }
}

/* ---- tickets, pool ---- */

typedef struct called {
    thrum_ticket ticket;
    world *w;
} called;

static int on_call(void *arg) {
    called *c = arg;
    world *w = c->w;
    if (thrum_ticket_wait(&c->ticket) == 0) {
        w->turn = -1;
    }
    atomic_fetch_add(&w->called, 1);
    thrum_ticket_done(&c->ticket);
    free(c);
    return 0;
}

static void tickets(runner *r, const step *s) {
    called *c = malloc(sizeof(*c));
    if (!c) {
        return;
    }
    c->w = r->w;
    thrum_tickets_take(&r->w->tickets, &c->ticket);
    if (s->op == OP_ticket_on_call) {
        atomic_fetch_add(&r->w->on_call, 1);
        int result = thrum_ticket_on_call_with(&c->ticket, r->w->sched, on_call, c);
        if (result != 0) {
            EXPECT(r, free_refused(r, result), result);
            atomic_fetch_sub(&r->w->on_call, 1);
            thrum_ticket_done(&c->ticket);
            free(c);
        }
        return;
    }
    thrum_time t = free_deadline(r, s, false);
    if (s->op != OP_ticket_done && free_ok(r, thrum_ticket_wait_until(&c->ticket, t), t, 0)) {
        EXPECT(r, thrum_ticket_is_called(&c->ticket), 0);
        r->w->turn = r->id;
        pause_a_bit(s);
        EXPECT(r, r->w->turn == r->id, r->w->turn);
    }
    thrum_ticket_done(&c->ticket); /* the ticket has its turn, or is dropped */
    free(c);
}

static void pool(runner *r, const step *s) {
    thrum_pool *p = r->w->pool;
    void *items[POOL_SIZE];
    size_t n = 1 + s->a % POOL_SIZE;
    if (s->op == OP_pool_give) {
        if (r->items_count > 0) {
            int *user = r->items[--r->items_count];
            EXPECT(r, *user == r->id, *user);
            *user = 0;
            thrum_pool_give_back(p, user);
        }
        return;
    }
    thrum_time t = free_deadline(r, s, false);
    bool tries = s->op == OP_pool_try;
    if (r->items_count + (int)n > POOL_SIZE) {
        return;
    }
    n = tries ? 1 : n;
    int result = tries                ? thrum_pool_try_borrow(p, items)
                 : t == THRUM_FOREVER ? thrum_pool_borrow_n(p, items, n)
                                      : thrum_pool_borrow_n_until(p, items, n, t);
    if (!free_ok(r, result, t, tries ? -EAGAIN : 0)) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        int *user = items[i];
        EXPECT(r, *user == 0, *user);
        *user = r->id;
        r->items[r->items_count++] = user;
    }
}

void free_step_counts(runner *r, const step *s) {
    if (s->op <= OP_sem_post) {
        free_step_sem(r, s);
    } else if (s->op <= OP_group_wait) {
        group(r, s);
    } else if (s->op <= OP_event_any) {
        event(r, s);
    } else if (s->op <= OP_ticket_on_call) {
        tickets(r, s);
    } else {
        pool(r, s);
    }
}

/* ---- channels ---- */

static uint64_t check_of(int sender, int seq) {
    uint64_t state = (uint64_t)sender << 32 | (uint32_t)seq;
    return fuzz_random(&state);
}

static element next_element(runner *r) {
    r->seq++;
    return (element){r->id, r->seq, check_of(r->id, r->seq)};
}

static void sent(runner *r, int chan, const element *e) {
    atomic_fetch_add(&r->w->traffic[chan].sent, 1);
    atomic_fetch_add(&r->w->traffic[chan].sent_sum, e->check);
}

static void received(runner *r, int chan, const element *e) {
    EXPECT(r, e->check == check_of(e->sender, e->seq), chan);
    EXPECT(r, e->sender > 0 && e->sender < RUNNERS_MAX, e->sender);
    if (e->sender > 0 && e->sender < RUNNERS_MAX) {
        EXPECT(r, e->seq > r->last[chan][e->sender], e->seq); /* in the order sent */
        r->last[chan][e->sender] = e->seq;
    }
    atomic_fetch_add(&r->w->traffic[chan].received, 1);
    atomic_fetch_add(&r->w->traffic[chan].received_sum, e->check);
}

static bool chan_ok(runner *r, int result, thrum_time t, bool tries) {
    return result != -EPIPE && free_ok(r, result, t, tries ? -EAGAIN : 0);
}

static void select_some(runner *r, const step *s) {
    thrum_case cases[2 * CHANS];
    element out = next_element(r), in[CHANS] = {{0}};
    int numbers[2 * CHANS];
    size_t n = 0;
    thrum_time t = free_deadline(r, s, false);
    for (int bit = 0; bit < 2 * CHANS; bit++) {
        if (s->a & 1 << bit) {
            int i = bit % CHANS;
            numbers[n] = i;
            cases[n++] = bit < CHANS ? THRUM_SEND_CASE(r->w->chans[i], &out)
                                     : THRUM_RECV_CASE(r->w->chans[i], &in[i]);
        }
    }
    int which = thrum_select(cases, n, t);
    if (which < 0) {
        EXPECT(r, in[0].seq + in[1].seq + in[2].seq == 0, which); /* nothing was received */
        (void)free_ok(r, which, t, 0);
        return;
    }
    EXPECT(r, which < (int)n, which);
    EXPECT(r, cases[which].status == 0 || cases[which].status == -EPIPE, cases[which].status);
    for (int i = 0; i < CHANS; i++) {
        EXPECT(r, in[i].seq == 0 || (cases[which].to == &in[i] && cases[which].status == 0), i);
    }
    if (cases[which].status != 0) {
        return;
    }
    if (!cases[which].to) {
        sent(r, numbers[which], &out);
    } else {
        received(r, numbers[which], cases[which].to);
    }
}

void free_step_chans(runner *r, const step *s) {
    int i = s->a % CHANS;
    thrum_chan *chan = r->w->chans[i];
    thrum_time t = free_deadline(r, s, false);
    bool tries = s->op == OP_chan_try_send || s->op == OP_chan_try_recv;
    bool forever = t == THRUM_FOREVER;
    element e;
    switch (s->op) {
    case OP_chan_send:
    case OP_chan_try_send:
        e = next_element(r);
        if (chan_ok(r,
                    tries     ? thrum_chan_try_send(chan, &e)
                    : forever ? thrum_chan_send(chan, &e)
                              : thrum_chan_send_until(chan, &e, t),
                    t, tries)) {
            sent(r, i, &e);
        }
        break;
    case OP_chan_recv:
    case OP_chan_try_recv:
        if (chan_ok(r,
                    tries     ? thrum_chan_try_recv(chan, &e)
                    : forever ? thrum_chan_recv(chan, &e)
                              : thrum_chan_recv_until(chan, &e, t),
                    t, tries)) {
            received(r, i, &e);
        }
        break;
    case OP_chan_close:
        if (s->b % 16 == 0) {
            (void)thrum_chan_close(chan);
        }
        break;
    case OP_select:
        select_some(r, s);
        break;
    default:
        EXPECT(r, i == 2 || thrum_chan_len(chan) <= (i == 0 ? 0 : CHAN_BOUND), i);
    }
}
