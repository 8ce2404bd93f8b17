/*
 * model_chans.c: channels and select in the model. A select that waits has the masks of what it
 * would do in `n`: the channels to send to in the low bits, those to receive from above.
 */
#include "model.h"

#define SENDS(mask, chan) (((mask)&1 << (chan)) != 0)
#define RECVS(mask, chan) (((mask)&1 << (CHANS + (chan))) != 0)

static int capacity(int chan) {
    return chan == 0 ? 0 : chan == 1 ? CHAN_BOUND : STEPS_MAX;
}

/* The number of a case in the list that the mask stands for. */
static int entry_of(int mask, bool sends, int chan) {
    int n = 0;
    for (int bit = 0; bit < (sends ? chan : CHANS + chan); bit++) {
        n += (mask & 1 << bit) != 0;
    }
    return n;
}

/* The first actor that would send to it, or receive from it; -1: none. */
static int party(const model *m, bool sends, int chan) {
    int found = m_first(m, sends ? W_SEND : W_RECV, chan);
    for (int i = 0; i < ACTORS; i++) {
        const m_actor *a = &m->actors[i];
        if (a->state == A_BLOCKED && a->wait == W_SELECT &&
            (sends ? SENDS(a->n, chan) : RECVS(a->n, chan)) &&
            (found < 0 || a->since < m->actors[found].since)) {
            found = i;
        }
    }
    return found;
}

/* An actor that waited has sent, or received `value`; or the channel was closed (100 more). */
static void conclude(model *m, int who, bool sends, int chan, int code, long value) {
    const m_actor *a = &m->actors[who];
    int result = code;
    if (a->wait == W_SELECT) {
        result = entry_of(a->n, sends, chan) + (code != 0 ? 100 : 0);
    }
    m_finish(m, who, result, value);
}

static bool can_send(const model *m, int chan) {
    const m_chan *ch = &m->chans[chan];
    return ch->closed || party(m, false, chan) >= 0 || ch->count < capacity(chan);
}

static int send_now(model *m, int chan, long value) {
    m_chan *ch = &m->chans[chan];
    if (ch->closed) {
        return -EPIPE;
    }
    int receiver = party(m, false, chan);
    if (receiver >= 0) {
        conclude(m, receiver, false, chan, 0, value);
    } else {
        ch->elems[ch->count++] = value;
    }
    return 0;
}

static bool can_recv(const model *m, int chan) {
    const m_chan *ch = &m->chans[chan];
    return ch->count > 0 || ch->closed || party(m, true, chan) >= 0;
}

static int recv_now(model *m, int chan, long *value) {
    m_chan *ch = &m->chans[chan];
    int sender = party(m, true, chan);
    *value = 0;
    if (ch->count == 0 && sender < 0) {
        return -EPIPE;
    }
    if (ch->count > 0) {
        *value = ch->elems[0];
        ch->count--;
        for (int i = 0; i < ch->count; i++) {
            ch->elems[i] = ch->elems[i + 1];
        }
        if (sender >= 0) {
            ch->elems[ch->count++] = m->actors[sender].sends;
        }
    } else {
        *value = m->actors[sender].sends;
    }
    if (sender >= 0) {
        conclude(m, sender, true, chan, 0, 0);
    }
    return 0;
}

static void send(model *m, const call *c) {
    if (can_send(m, c->a)) {
        int result = send_now(m, c->a, c->value);
        m_finish(m, c->who, result, 0);
    } else if (c->op == OP_chan_try_send) {
        m_finish(m, c->who, -EAGAIN, 0);
    } else if (m_block(m, c->who, W_SEND, c->a, c->deadline)) {
        m->actors[c->who].sends = c->value;
    }
}

static void recv(model *m, const call *c) {
    long value;
    if (can_recv(m, c->a)) {
        int result = recv_now(m, c->a, &value);
        m_finish(m, c->who, result, value);
    } else if (c->op == OP_chan_try_recv) {
        m_finish(m, c->who, -EAGAIN, 0);
    } else {
        m_block(m, c->who, W_RECV, c->a, c->deadline);
    }
}

static void close_chan(model *m, const call *c) {
    m_chan *ch = &m->chans[c->a];
    m_finish(m, c->who, ch->closed ? -EPIPE : 0, 0);
    ch->closed = true;
    for (int side = 0; side < 2; side++) {
        for (int who; (who = party(m, side == 0, c->a)) >= 0;) {
            conclude(m, who, side == 0, c->a, -EPIPE, 0);
        }
    }
}

static void renew(model *m, const call *c) {
    bool busy = party(m, true, c->a) >= 0 || party(m, false, c->a) >= 0;
    if (!busy) {
        m->chans[c->a] = (m_chan){0};
    }
    m_finish(m, c->who, busy ? -EBUSY : 0, 0);
}

/* Does that of the possible cases that was seen. */
static void select_any(model *m, const call *c) {
    int chosen = -1;
    for (int bit = 0; bit < 2 * CHANS; bit++) {
        if ((c->a & 1 << bit) == 0) {
            continue;
        }
        int chan = bit % CHANS;
        bool sends = bit < CHANS;
        bool can = sends ? can_send(m, chan) : can_recv(m, chan);
        if (can && (chosen < 0 || m->seen->result[c->who] % 100 == entry_of(c->a, sends, chan))) {
            chosen = bit;
        }
    }
    if (chosen >= 0) {
        long value = 0;
        int chan = chosen % CHANS;
        bool sends = chosen < CHANS;
        int code = sends ? send_now(m, chan, c->value) : recv_now(m, chan, &value);
        m_finish(m, c->who, entry_of(c->a, sends, chan) + (code != 0 ? 100 : 0), value);
    } else if (m_block(m, c->who, W_SELECT, 0, c->deadline)) {
        m->actors[c->who].n = c->a;
        m->actors[c->who].sends = c->value;
    }
}

bool m_chans_allow(const model *m, call *c) {
    switch (c->op) {
    case OP_chan_send:
    case OP_chan_recv:
    case OP_chan_try_send:
    case OP_chan_try_recv:
    case OP_chan_close:
    case OP_chan_len:
    case OP_chan_renew:
        c->a %= CHANS;
        return true;
    case OP_select:
        (void)m;
        c->a %= 1 << 2 * CHANS;
        return true;
    default:
        return true;
    }
}

void m_chans_do(model *m, const call *c) {
    switch (c->op) {
    case OP_chan_send:
    case OP_chan_try_send:
        send(m, c);
        break;
    case OP_chan_recv:
    case OP_chan_try_recv:
        recv(m, c);
        break;
    case OP_chan_close:
        close_chan(m, c);
        break;
    case OP_chan_len:
        m_finish(m, c->who, m->chans[c->a].count, 0);
        break;
    case OP_chan_renew:
        renew(m, c);
        break;
    case OP_select:
        select_any(m, c);
        break;
    default:
        break;
    }
}
