/*
 * replica.c: see replica.h. One task receives the messages of the other replicas, and acts when
 * they are silent. The sessions put their requests into the log. Messages may be lost, repeated,
 * or overtake each other. The lock protects everything here and the log.
 */
#include "replica.h"

#include <errno.h>
#include <string.h>

#define HEARTBEAT THRUM_MS(25) /* the longest silence of a leader */
#define SILENCE THRUM_MS(100)  /* of a leader, before another replica stands for election */
#define PATIENCE THRUM_S(2)    /* of a client that waits for a majority */
#define NOBODY 0u

enum role { FOLLOWER, CANDIDATE, LEADER };

/* A session that waits until its request has run. */
struct waiting {
    struct waiting *next;
    struct session *session;
    uint32_t index;
    uint64_t term;
    enum submitted state;
};

static const struct replica_options *options;
static thrum_mutex lock = THRUM_MUTEX_INIT;
static thrum_cond has_run = THRUM_COND_INIT;
static struct waiting *waiting;
static int failed; /* the error that ends this replica */

static enum role role;
static uint64_t term;
static unsigned vote;           /* for replica vote - 1 in this term, or NOBODY */
static unsigned votes;          /* CANDIDATE: a bit for each replica that votes for this one */
static uint32_t next[REPLICAS]; /* LEADER: the entry that the replica gets next */
static uint32_t has[REPLICAS];  /* LEADER: up to this entry, its log is known to be the leader's */
static uint32_t committed;      /* the last entry that a majority has */
static uint32_t applied;        /* the last entry that has run */
static thrum_time deadline;     /* when silence ends: the leader's own, or that of the others */

/* ---- messages ---- */

static void send(unsigned to, struct message m) {
    m.from = options->me;
    m.term = term;
    message_send(to, &m); /* if it is lost, a later one takes its place */
}

static void send_entry(unsigned to) {
    struct message m = {.kind = APPEND, .index = next[to] - 1, .committed = committed};
    m.index_term = log_term(m.index);
    if (next[to] <= log_last()) {
        const struct entry *entry = log_at(next[to]);
        m.entry_term = entry->term;
        m.size = (uint32_t)entry->size;
        memcpy(m.request, entry->request, entry->size);
    }
    send(to, m);
}

static void send_entries(void) {
    for (unsigned i = 0; i < REPLICAS; i++) {
        if (i != options->me) {
            send_entry(i);
        }
    }
    deadline = thrum_after(HEARTBEAT);
}

/* ---- entries that a majority has ---- */

/* The session that waits for the entry, or NULL. */
static struct waiting *waiter_of(uint32_t index, uint64_t entry_term) {
    struct waiting *w = waiting;
    while (w && (w->index != index || w->term != entry_term)) {
        w = w->next;
    }
    return w;
}

static void commit(uint32_t index) {
    committed = index > committed ? index : committed;
    while (applied < committed && failed == 0) {
        const struct entry *entry = log_at(++applied);
        const struct text request = {entry->request, entry->size};
        struct waiting *w = waiter_of(applied, entry->term);
        failed = commands_apply(w ? w->session : NULL, request);
        if (w) {
            w->state = SUBMITTED_DONE;
            thrum_cond_broadcast(&has_run);
        }
    }
}

/* Entries of earlier terms are committed by one of this term: until then, a replica without them
   may become the leader. */
static void count_replicas(void) {
    for (uint32_t i = log_last(); i > committed && log_term(i) == term; i--) {
        unsigned count = 1;
        for (unsigned k = 0; k < REPLICAS; k++) {
            count += k != options->me && has[k] >= i;
        }
        if (count >= MAJORITY) {
            commit(i);
            return;
        }
    }
}

/* ---- elections ---- */

/* Replicas wait for different times, which change from term to term. */
static thrum_time silence(void) {
    const uint64_t mixed = (term * REPLICAS + options->me + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return SILENCE + (thrum_time)((mixed >> 32) % (uint64_t)SILENCE);
}

/* To be called before a message depends on it. */
static void keep_vote(void) {
    failed = log_vote(term, vote, options->planted != PLANTED_UNSYNCED_VOTE);
}

static void follow(uint64_t new_term) {
    if (new_term > term) {
        term = new_term;
        vote = NOBODY;
        keep_vote();
    }
    role = FOLLOWER;
}

static void stand_for_election(void) {
    role = CANDIDATE;
    term++;
    vote = options->me + 1;
    votes = 1u << options->me;
    deadline = thrum_after(silence());
    keep_vote();
    const struct message m = {
        .kind = VOTE_REQUEST, .index = log_last(), .index_term = log_term(log_last())};
    for (unsigned i = 0; i < REPLICAS && failed == 0; i++) {
        if (i != options->me) {
            send(i, m);
        }
    }
}

static void answer_vote_request(const struct message *m) {
    const uint64_t last = log_term(log_last());
    const bool has_all = m->index_term > last || (m->index_term == last && m->index >= log_last());
    const bool yes = m->term == term && has_all && (vote == NOBODY || vote == m->from + 1u);
    if (yes && vote == NOBODY) {
        vote = m->from + 1u;
        keep_vote();
    }
    if (yes) {
        deadline = thrum_after(silence());
    }
    if (failed == 0) {
        send(m->from, (struct message){.kind = VOTE, .yes = yes});
    }
}

static void count_vote(const struct message *m) {
    if (role != CANDIDATE || m->term != term || !m->yes) {
        return;
    }
    votes |= 1u << m->from;
    if (__builtin_popcount(votes) >= MAJORITY) {
        role = LEADER;
        for (unsigned i = 0; i < REPLICAS; i++) {
            next[i] = log_last() + 1;
            has[i] = 0;
        }
        send_entries();
    }
}

/* ---- the log ---- */

/* Takes the entry of a leader. Returns whether the log is the same as the leader's up to it. */
static bool take(const struct message *m) {
    const uint32_t index = m->index + 1;
    if (m->index > log_last() || log_term(m->index) != m->index_term) {
        return false;
    }
    if (m->size == 0 || (index <= log_last() && (log_term(index) == m->entry_term ||
                                                 options->planted == PLANTED_UNCUT_LOG))) {
        return true; /* it is there */
    }
    failed = log_put(index, m->entry_term, (struct text){m->request, m->size});
    return true;
}

static void answer_append(const struct message *m) {
    struct message answer = {.kind = APPENDED};
    if (m->term == term) {
        follow(term);
        deadline = thrum_after(silence());
        answer.yes = take(m);
        answer.index = answer.yes ? m->index + (m->size > 0) : m->index - 1;
        answer.index = answer.index < log_last() ? answer.index : log_last();
    }
    if (failed == 0) {
        send(m->from, answer);
    }
    if (answer.yes && failed == 0) {
        commit(m->committed < answer.index ? m->committed : answer.index);
    }
}

static void count_append(const struct message *m) {
    if (role != LEADER || m->term != term) {
        return;
    }
    if (m->yes && m->index <= has[m->from]) {
        return; /* it is known */
    }
    const uint32_t before = next[m->from];
    next[m->from] = m->index > has[m->from] ? m->index + 1 : has[m->from] + 1;
    if (m->yes) {
        has[m->from] = m->index;
        count_replicas();
    }
    if (m->yes ? next[m->from] <= log_last() : next[m->from] < before) {
        send_entry(m->from);
    }
}

/* ---- sessions ---- */

bool replica_reads_locally(void) {
    return options->planted == PLANTED_LOCAL_READ && role == LEADER;
}

enum submitted replica_submit(struct session *s) {
    struct waiting w = {.session = s, .state = SUBMITTED_REFUSED};
    const thrum_time patience = thrum_after(PATIENCE);
    thrum_mutex_lock(&lock);
    if (role == LEADER && failed == 0) {
        w.state = SUBMITTED_UNKNOWN;
        w.index = log_last() + 1;
        w.term = term;
        failed = log_put(w.index, term, (struct text){s->request.base, s->request.at});
    }
    if (w.state == SUBMITTED_UNKNOWN && failed == 0) {
        w.next = waiting;
        waiting = &w;
        send_entries();
        if (options->planted == PLANTED_EARLY_ANSWER) {
            commit(w.index);
        }
        int err = 0;
        while (w.state != SUBMITTED_DONE && err == 0) {
            err = thrum_cond_wait_until(&has_run, &lock, patience);
        }
        struct waiting **place = &waiting;
        while (*place != &w) {
            place = &(*place)->next;
        }
        *place = w.next;
    }
    thrum_mutex_unlock(&lock);
    return w.state;
}

/* ---- the task of the messages ---- */

static void receive(const struct message *m) {
    if (m->term > term) {
        follow(m->term);
    }
    if (failed) {
        return;
    }
    switch (m->kind) {
    case VOTE_REQUEST:
        answer_vote_request(m);
        break;
    case VOTE:
        count_vote(m);
        break;
    case APPEND:
        answer_append(m);
        break;
    case APPENDED:
        count_append(m);
        break;
    }
}

static void wait_no_longer(void) {
    if (thrum_now() < deadline) {
        return; /* a session has moved the deadline */
    }
    if (role == LEADER) {
        send_entries();
    } else {
        stand_for_election();
    }
}

int replica_exchange(void *unused) {
    struct message m;
    (void)unused;
    thrum_mutex_lock(&lock);
    deadline = thrum_after(silence());
    while (failed == 0) {
        const thrum_time until = deadline;
        thrum_mutex_unlock(&lock);
        const int err = message_receive(&m, until);
        thrum_mutex_lock(&lock);
        if (err == 0) {
            receive(&m);
        } else if (err == -ETIMEDOUT) {
            wait_no_longer();
        } else if (err != -EBADMSG) {
            failed = err;
        }
    }
    thrum_mutex_unlock(&lock);
    return failed;
}

int replica_open(const struct replica_options *own) {
    options = own;
    const int err = log_open(own->log, &term, &vote);
    return err ? err : messages_open(own->hosts, own->me);
}
