/*
 * linear_check.c: Wing and Gong's search. A call may come next when no call that is still to come
 * was over before it began; the model says whether it may return what it returned. Pairs of calls
 * done and state that were tried are kept, and not tried again.
 */
#include "linear.h"

#include <errno.h>
#include <string.h>

typedef struct state {
    int n;      /* value, owner + 1, flag, free ones, elements */
    int closed; /* channels */
    uint8_t elems[ELEMS_MAX];
} state;

typedef struct search {
    const history *h;
    int tried_count;
    struct tried {
        uint32_t done;
        state s;
    } tried[4096];
} search;

const char *const object_names[OBJECT_ALL] = {"semaphore",        "mutex",         "auto-event",
                                              "manual-event",     "pool",          "channel",
                                              "broken-semaphore", "broken-channel"};

static bool is_no(const call *c, int at_once) {
    return c->result == (c->kind == TAKE_UNTIL || c->kind == GIVE_UNTIL ? -ETIMEDOUT : at_once);
}

static bool chan_step(const history *h, state *s, const call *c) {
    switch (c->kind) {
    case GIVE:
    case GIVE_UNTIL:
        if (s->closed) {
            return c->result == -EPIPE;
        }
        if (h->start != 0 && s->n == h->start) {
            return is_no(c, -EAGAIN);
        }
        s->elems[s->n++] = (uint8_t)c->value;
        return c->result == 0;
    case CLOSE:
        if (s->closed) {
            return c->result == -EPIPE;
        }
        s->closed = 1;
        return c->result == 0;
    default:
        if (s->n == 0) {
            return s->closed ? c->result == -EPIPE : is_no(c, -EAGAIN);
        }
        if (c->result != 0 || c->value != s->elems[0]) {
            return false;
        }
        s->n--;
        memmove(s->elems, s->elems + 1, sizeof(s->elems) - 1);
        s->elems[ELEMS_MAX - 1] = 0;
        if (s->n < ELEMS_MAX) {
            s->elems[s->n] = 0; /* equal states look equal */
        }
        return true;
    }
}

/* Does one call on the model; false: the call may not return that here. */
static bool step(const history *h, state *s, const call *c) {
    const bool takes = c->kind == TAKE || c->kind == TAKE_UNTIL;
    switch (h->kind) {
    case OBJECT_CHAN:
    case OBJECT_BROKEN_CHAN:
        return chan_step(h, s, c);
    case OBJECT_MUTEX:
        if (!takes) {
            const bool owns = s->n == c->actor + 1;
            s->n = 0;
            return owns;
        }
        if (s->n != 0) {
            return is_no(c, -EBUSY);
        }
        s->n = c->actor + 1;
        return c->result == 0;
    case OBJECT_AUTO:
    case OBJECT_MANUAL:
        if (!takes) {
            s->n = c->kind == GIVE;
            return true;
        }
        if (s->n == 0) {
            return is_no(c, -EAGAIN);
        }
        s->n = h->kind == OBJECT_MANUAL;
        return c->result == 0;
    default: /* semaphore, pool */
        if (!takes) {
            s->n++;
            return true;
        }
        if (s->n == 0) {
            return is_no(c, -EAGAIN);
        }
        s->n--;
        return c->result == 0;
    }
}

static bool was_tried(search *x, uint32_t done, const state *s) {
    for (int i = 0; i < x->tried_count; i++) {
        if (x->tried[i].done == done && memcmp(&x->tried[i].s, s, sizeof(*s)) == 0) {
            return true;
        }
    }
    if (x->tried_count < (int)(sizeof(x->tried) / sizeof(x->tried[0]))) {
        x->tried[x->tried_count].done = done;
        x->tried[x->tried_count++].s = *s;
    }
    return false;
}

/* Recursive, as deep as there are calls. */
static bool explains(search *x, uint32_t done, const state *s) {
    const history *h = x->h;
    uint64_t first_end = UINT64_MAX;
    if (done == (1u << h->count) - 1) {
        return true;
    }
    if (was_tried(x, done, s)) {
        return false;
    }
    for (int i = 0; i < h->count; i++) {
        if ((done >> i & 1) == 0 && h->calls[i].ended < first_end) {
            first_end = h->calls[i].ended;
        }
    }
    for (int i = 0; i < h->count; i++) {
        state next = *s;
        if ((done >> i & 1) == 0 && h->calls[i].begun < first_end && step(h, &next, &h->calls[i]) &&
            explains(x, done | 1u << i, &next)) {
            return true;
        }
    }
    return false;
}

bool linear_explained(const history *h) {
    static search x; /* one checker at a time */
    state s;
    memset(&s, 0, sizeof(s));
    s.n = h->kind == OBJECT_SEM || h->kind == OBJECT_POOL || h->kind == OBJECT_BROKEN_SEM ? h->start
                                                                                          : 0;
    x.h = h;
    x.tried_count = 0;
    return explains(&x, 0, &s);
}

void linear_print(const history *h, FILE *out) {
    static const char *const kinds[] = {"take",       "take until", "give",
                                        "give until", "clear",      "close"};
    fprintf(out, "%s, starts with %d\n", object_names[h->kind], h->start);
    for (int i = 0; i < h->count; i++) {
        const call *c = &h->calls[i];
        fprintf(out, "  actor %d  %4lu to %4lu  %-10s", c->actor, (unsigned long)c->begun,
                (unsigned long)c->ended, kinds[c->kind]);
        fprintf(out, "  value %d: %d\n", c->value, c->result);
    }
}
