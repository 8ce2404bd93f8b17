/*
 * observe.c: see core/control/observed.h: answers observers of the process, at a socket that only
 * its user may use. observe/OBSERVE.md has the protocol and the argument.
 *
 * Words:      a *peer* is a connection; a *request* is one line of it.
 * Invariants: the socket, the wake-up and the thread are there while the list of schedulers is not
 *             empty. The thread alone uses the peers. While it answers it holds `lock`, so printed
 *             objects stay alive.
 */
#include "core/control/observed.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/control/atfork.h"
#include "core/basis/lock.h"
#include "observe/dump_json.h"
#include "observe/live.h"
#include "platform/platform.h"

#define PEERS_MAX 8u
#define PLACES (PEERS_MAX + 1) /* one for a connection that has yet to show the key */
#define LINE_BYTES 64u
#define PAGE_BYTES 4096u
#define REST_NS 100000000        /* after a connection that could not be taken */
#define PATIENCE_NS 2000000000ll /* the longest that one answer waits for its reader, in all */

typedef struct peer {
    int fd;        /* -1: free */
    bool asked;    /* its first line has to be the secret that only the user knows */
    bool spoke;    /* it has made a request */
    uint64_t turn; /* the number of its last request, or of its coming; it grows */
    size_t length;
    char line[LINE_BYTES]; /* the received part of the next request */
} peer;

static th_lock turn = TH_LOCK_INIT; /* taken for a whole begin or end; protects the next four */
static unsigned observed_count;
static th_os_private listener = {.fd = -1}; /* fd, like `wakeup`: -1 while it is closed */
static int wakeup = -1;
static th_os_thread thread;

static th_lock lock = TH_LOCK_INIT; /* protects the list; held during an answer */
static thrum_sched *observed;       /* observable schedulers, by next_observed */

static uint32_t xwanted;  /* 1: another thread waits for the lock, or has it */
static uint32_t xleaving; /* how many want the lock for the list: an answer gives up waiting */

static int coming = -1;    /* a connection that has no place yet; the thread's */
static peer peers[PLACES]; /* the thread's, like `turns` */
static uint64_t turns;     /* the last `turn` of a peer */

/*
 * The thread takes the lock by this. The lock is not fair, and a thread that answers without a
 * pause would have it again before a start or a stop has woken up.
 */
static void take_lock(void) {
    /*
     * relaxed: the lock orders its data. The thread that has set it holds `turn`, and wants only
     * the lock, which this thread does not hold
     */
    while (th_load_relaxed(&xwanted)) {
        (void)th_os_futex_wait(&xwanted, 1, TH_FOREVER);
    }
    th_lock_acquire(&lock);
}

/* With `turn`, on any other thread. */
static void take_lock_first(void) {
    th_store_relaxed(&xwanted, 1u); /* relaxed: see take_lock */
    th_lock_acquire(&lock);
}

static void give_lock_back(void) {
    th_lock_release(&lock);
    th_store_relaxed(&xwanted, 0u); /* relaxed: see take_lock */
    th_os_futex_wake(&xwanted, 1);
}

/* ---- answers ---- */

/* An answer that is being written. */
typedef struct answer {
    int fd;
    int64_t patience;
    bool failed; /* nothing more is sent: the answer would have a hole */
} answer;

/*
 * Waits for room; false: there will be none in time, or another thread wants to leave. The wake-up
 * may be one of before.
 */
static bool await_room(answer *a) {
    int ready = 0;
    /* relaxed: a thread that has set it wakes this one afterwards, and gets the lock then */
    while ((!ready || ready == -EINTR) && a->patience > 0 && !th_load_relaxed(&xleaving)) {
        int64_t now = th_os_now();
        ready = th_os_io_poll(a->fd, TH_OS_OUT, wakeup, now + a->patience);
        a->patience -= th_os_now() - now;
        th_os_wakeup_take(wakeup);
    }
    return ready > 0 && (ready & (int)TH_OS_OUT);
}

static void send_page(void *ctx, const char *bytes, size_t length) {
    answer *a = ctx;
    while (length && !a->failed) {
        int64_t n = th_os_io_write(a->fd, TH_OS_STREAM, bytes, length);
        if (n > 0) {
            bytes += n;
            length -= (size_t)n;
        } else {
            a->failed = n != -EAGAIN || !await_room(a);
        }
    }
}

static void add_hello(th_text *text) {
    th_text_add_quoted(text, "{\"sched\": ", text->sched->name);
    th_text_add(text, ", \"pid\": %d, \"version\": \"%d.%d.%d\", \"now\": %" PRId64 "}\n",
                th_os_pid(), THRUM_VERSION_MAJOR, THRUM_VERSION_MINOR, THRUM_VERSION_PATCH,
                th_os_now());
}

typedef struct kind {
    const char *request;
    void (*add)(th_text *text);
} kind;

static const kind kinds[] = {
    {"hello", add_hello},     {"metrics", th_metrics_add},  {"dump", th_dump_add},
    {"top", th_live_add_top}, {"waits", th_live_add_waits},
};

static const kind *kind_of(const char *request) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!strcmp(kinds[i].request, request)) {
            return &kinds[i];
        }
    }
    return NULL;
}

/* With the lock: an array with an element for each scheduler. */
static void add_answer(const answer *a, th_plain *page, const kind *what) {
    th_plain_put(page, observed ? "" : "[");
    for (thrum_sched *sched = observed; sched && !a->failed; sched = sched->next_observed) {
        th_text text = {.put = th_text_put_plain, .ctx = page, .sched = sched};
        th_plain_put(page, sched == observed ? "[" : ",");
        what->add(&text);
    }
    th_plain_put(page, "]\n");
}

/* With the lock, an answer and a zero byte: with that it is whole. False: not all has been sent. */
static bool send_answer(int fd, const kind *what) {
    answer a = {.fd = fd, .patience = PATIENCE_NS};
    char bytes[PAGE_BYTES];
    th_plain page = {.take = send_page, .ctx = &a, .bytes = bytes, .room = sizeof bytes};
    if (what) {
        add_answer(&a, &page, what);
    } else {
        th_plain_put(&page, "{\"error\": \"no such request\"}\n");
    }
    th_plain_bytes(&page, "", 1);
    th_plain_flush(&page);
    return !a.failed;
}

/* False: the peer has not got all. */
static bool reply(int fd, const char *request) {
    take_lock();
    const bool sent = send_answer(fd, kind_of(request));
    th_lock_release(&lock);
    return sent;
}

/* ---- peers ---- */

/* With the last one the looks at workers end. */
static void drop(peer *p) {
    bool any = false;
    th_lock_acquire(&th_observed_lock);
    th_os_io_close(p->fd);
    *p = (peer){.fd = -1};
    th_lock_release(&th_observed_lock);
    for (unsigned i = 0; i < PLACES; i++) {
        any = any || peers[i].fd >= 0;
    }
    if (!any) {
        th_live_leave();
    }
}

/* Whether `a` is closed before `b`: first those without a request, then the longest silent. */
static bool goes_before(const peer *a, const peer *b) {
    return a->spoke != b->spoke ? b->spoke : a->turn < b->turn;
}

/* It may ask. If it is one too many, another one is closed, so that idle ones keep nobody out. */
static void admit(peer *p) {
    peer *first = &peers[p == peers];
    p->asked = false;
    for (unsigned i = 0; i < PLACES; i++) {
        if (peers[i].fd < 0 || peers[i].asked) {
            return;
        }
        if (&peers[i] != p && goes_before(&peers[i], first)) {
            first = &peers[i];
        }
    }
    drop(first);
}

/* Handles a line. False: it is not the key, or the answer could not be sent. */
static bool heed(peer *p) {
    if (!p->asked) {
        p->spoke = true;
        p->turn = ++turns;
        return reply(p->fd, p->line);
    }
    if (!th_os_private_admits(p->line)) {
        return false;
    }
    admit(p);
    return true;
}

/* Answers the first request that is there; false: there is none. */
static bool serve_line(peer *p) {
    char *end = memchr(p->line, '\n', p->length);
    if (!end) {
        return false;
    }
    *end = '\0';
    if (!heed(p)) {
        drop(p);
        return false;
    }
    size_t used = (size_t)(end - p->line) + 1;
    p->length -= used;
    memmove(p->line, p->line + used, p->length);
    return true;
}

/* A line that does not fit is no request: the peer goes. */
static void serve(peer *p) {
    size_t room = sizeof p->line - p->length;
    int64_t n = th_os_io_read(p->fd, TH_OS_STREAM, p->line + p->length, room);
    if (n == -EAGAIN) {
        return;
    }
    if (n <= 0) {
        drop(p);
        return;
    }
    p->length += (size_t)n;
    while (serve_line(p)) {
    }
    if (p->fd >= 0 && p->length == sizeof p->line) {
        drop(p);
    }
}

/*
 * A place for a new connection. One is always free, or has a connection that has not shown the key
 * yet (admit); the oldest of these is closed.
 */
static peer *place(void) {
    peer *oldest = peers;
    for (unsigned i = 0; i < PLACES; i++) {
        if (peers[i].fd < 0) {
            return &peers[i];
        }
        if (peers[i].asked && (!oldest->asked || peers[i].turn < oldest->turn)) {
            oldest = &peers[i];
        }
    }
    drop(oldest);
    return oldest;
}

/* False: the system has nothing left for a connection. */
static bool take(void) {
    th_lock_acquire(&th_observed_lock);
    const int fd = th_os_private_accept(&listener);
    coming = fd;
    th_lock_release(&th_observed_lock);
    if (fd >= 0) {
        peer *p = place();
        th_lock_acquire(&th_observed_lock);
        *p = (peer){.fd = fd, .asked = th_os_private_asks(), .turn = ++turns};
        coming = -1;
        th_lock_release(&th_observed_lock);
        if (!p->asked) {
            admit(p);
        }
    }
    return fd >= 0 || fd == -EAGAIN || fd == -EPERM || fd == -ECONNABORTED || fd == -ECONNRESET;
}

/* ---- the thread ---- */

/* Looks at the workers if it is time for that; `*next` is when it is again. False: it is over. */
static bool look(int64_t *next) {
    take_lock();
    const bool goes_on = observed != NULL;
    *next = th_live_look(observed, th_os_now());
    th_lock_release(&lock);
    return goes_on;
}

/*
 * For a system that does not poll at all, since RLIMIT_NOFILE is below the number of polled
 * descriptors.
 */
static void rest(void) {
    static uint32_t never;
    (void)th_os_futex_wait(&never, 0, th_os_now() + REST_NS);
}

/* If it cannot accept (no descriptors are left) it leaves the listener alone for a while. */
static void observe(void *arg) {
    int64_t rested = 0; /* until then it leaves the listener alone */
    int64_t next;
    (void)arg;
    th_os_thread_reports();
    th_live_forget();
    while (look(&next)) {
        th_os_polled polled[PLACES + 1] = {{.fd = listener.fd, .bits = TH_OS_IN}};
        const unsigned first = th_os_now() < rested;
        const int64_t until = first && rested < next ? rested : next;
        unsigned at[PLACES + 1];
        unsigned n = 1;
        for (unsigned i = 0; i < PLACES; i++) {
            if (peers[i].fd >= 0) {
                polled[n] = (th_os_polled){.fd = peers[i].fd, .bits = TH_OS_IN};
                at[n++] = i;
            }
        }
        const int found = th_os_io_poll_any(polled + first, n - first, wakeup, until);
        if (found < 0 && found != -EINTR) {
            rest();
        }
        th_os_wakeup_take(wakeup);
        for (unsigned i = 1; i < n; i++) {
            if (polled[i].ready && peers[at[i]].fd >= 0) {
                serve(&peers[at[i]]);
            }
        }
        if (polled[0].ready && !take()) {
            rested = th_os_now() + REST_NS;
        }
    }
    for (unsigned i = 0; i < PLACES; i++) {
        if (peers[i].fd >= 0) {
            drop(&peers[i]);
        }
    }
}

/* ---- beginning and ending ---- */

/* In the child of a fork: it serves nobody, and the file belongs to the parent. */
static void in_child(void) {
    if (listener.fd >= 0) {
        th_os_io_close(listener.fd);
    }
    if (wakeup >= 0) {
        th_os_wakeup_close(wakeup);
    }
    if (coming >= 0) {
        th_os_io_close(coming);
    }
    listener.fd = wakeup = coming = -1;
    for (unsigned i = 0; i < PLACES; i++) {
        if (peers[i].fd >= 0) {
            th_os_io_close(peers[i].fd);
        }
        peers[i] = (peer){.fd = -1};
    }
    th_lock_init(&turn);
    th_lock_init(&lock);
    observed = NULL;
    observed_count = 0;
    th_live_forget();
    th_store_relaxed(&xleaving, 0u); /* relaxed: there is no other thread */
    th_store_relaxed(&xwanted, 0u);  /* relaxed: likewise */
}

/* An answer that waits for its reader gives up, so that the lock is to be had soon. */
static void take_turn(void) {
    th_add_relaxed(&xleaving, 1u); /* relaxed: see await_room */
    th_lock_acquire(&turn);
    if (observed_count) {
        th_os_wakeup_set(wakeup);
    }
}

/* The socket and the wake-up. */
static int open_both(void) {
    TH_LOCKED(&th_observed_lock);
    wakeup = th_os_wakeup_open();
    int code = wakeup < 0 ? wakeup : th_os_private_open(&listener);
    if (code) {
        listener.fd = -1;
        if (wakeup >= 0) {
            th_os_wakeup_close(wakeup);
        }
        wakeup = -1;
    }
    return code;
}

static void close_both(void) {
    TH_LOCKED(&th_observed_lock);
    th_os_private_close(&listener);
    th_os_wakeup_close(wakeup);
    wakeup = -1;
}

/* With `turn`: the socket and its thread. */
static int open_all(void) {
    th_lock_acquire(&th_observed_lock);
    for (unsigned i = 0; i < PLACES; i++) {
        peers[i] = (peer){.fd = -1};
    }
    th_lock_release(&th_observed_lock);
    th_atfork_in_child(in_child); /* a fork sees no peers that have not been set */
    int code = open_both();
    if (!code) {
        code = th_os_thread_start(&thread, "thrum/observe", observe, NULL);
        if (code) {
            close_both();
        }
    }
    return code;
}

static void enlist(thrum_sched *sched) {
    take_lock_first();
    sched->next_observed = observed;
    observed = sched;
    give_lock_back();
}

/* True: it was there. */
static bool strike(thrum_sched *sched) {
    take_lock_first();
    bool found = TH_UNLINK(&observed, sched, next_observed);
    give_lock_back();
    return found;
}

void th_observe_begin(thrum_sched *sched) {
    if (!sched->config.observe) {
        return;
    }
    th_live_begin(sched);
    take_turn();
    enlist(sched);
    th_sub_relaxed(&xleaving, 1u); /* relaxed: see await_room */
    if (!observed_count && open_all()) {
        (void)strike(sched);
        th_live_end(sched);
    } else {
        observed_count++;
    }
    th_lock_release(&turn);
}

void th_observe_end(thrum_sched *sched) {
    if (!sched->config.observe) {
        return;
    }
    take_turn();
    bool found = strike(sched);
    if (found && --observed_count == 0) {
        th_os_wakeup_set(wakeup);
        th_os_thread_join(thread);
        close_both();
    }
    th_sub_relaxed(&xleaving, 1u); /* relaxed: see await_room. No answer waits before the join */
    th_lock_release(&turn);
    th_live_end(sched);
}
