/*
 * serve.c: accepting connections, a task for each, and the end of them all.
 *
 * Three tasks: the *caller* waits for the server's end; the *keeper*, which nothing cancels,
 * accepts, and owns the scope of the connections; with signals a third waits for those. To end the
 * server the caller sets `xdraining` and has the keeper check it, which has each connection check
 * that waits for its next request. They get an event without one of the system's behind it
 * (th_direction_tell); its only effect is one call that is tried for nothing.
 */
#include "thrum/serve.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "core/state/driver.h"
#include "core/task/run.h"
#include "core/task/spawn.h"
#include "core/wait/scope_tree.h"
#include "io/call.h"
#include "io/named.h"
#include "io/signal.h"
#include "net/accept.h"
#include "thrum/net.h"
#include "thrum/sem.h"
#include "thrum/signal.h"
#include "thrum/spawn.h"

#define AGAIN_NS THRUM_MS(100) /* between two tries where no descriptor is left */

typedef struct server server;

/* The connections of all servers of a scheduler, for its metrics. */
typedef struct servers {
    thrum_sched *sched;
    uint64_t xserved;
} servers;

/* A connection; the server's list has it as long as its function runs. */
typedef struct served {
    server *of;
    thrum_io io;
    struct served *next;
    struct served *prev;
} served;

struct server {
    thrum_io listener;
    int (*connection)(thrum_io io, void *arg);
    void *arg;
    thrum_serve_options options;

    uint32_t xdraining; /* 1: nothing more is begun */
    thrum_event over;   /* accepting has ended */
    thrum_event ended;  /* a connection has ended */
    thrum_event signal; /* one of the signals came, or cannot be waited for */
    bool signaled;      /* one came; known when the task that waits for them has ended */
    thrum_sem places;   /* connections that may be begun; used with a limit */
    th_scope scope;     /* the keeper's, which has the connections */
    unsigned next_home;
    char name[THRUM_NAME_MAX + 1]; /* constant: "tcp:127.0.0.1:80", the listener's */

    servers *all;
    th_lock lock; /* protects the list */
    served *first;
    unsigned count;
};

static bool is_draining(const server *s) {
    /* relaxed: the thread that sets it notifies afterwards */
    return th_load_relaxed(&s->xdraining) != 0;
}

/* ---- the metrics ---- */

static void *make(thrum_sched *sched) {
    servers *all = th_sched_alloc(sched, sizeof *all);
    if (all) {
        all->sched = sched;
    }
    return all;
}

static void free_servers(void *instance) {
    th_sched_free(((servers *)instance)->sched, instance);
}

static void add_metrics(void *instance, thrum_metrics *metrics) {
    const servers *all = instance;
    metrics->io_served += th_load_relaxed(&all->xserved); /* relaxed: a figure */
}

static const th_driver driver = {
    .name = "serve", .make = make, .stop = free_servers, .metrics = add_metrics};

/* ---- names of tasks, for dumps and traces ---- */

#define NUMBER_MAX 12 /* of an fd, with its 0 */

/* "tcp:127.0.0.1:80"; without an address, "fd 3". */
static void name_server(server *s) {
    char address[THRUM_ADDRESS_TEXT];
    if (thrum_io_local(s->listener, address, sizeof address) >= 0) {
        (void)snprintf(s->name, sizeof s->name, "%.*s", THRUM_NAME_MAX, address);
    } else {
        (void)snprintf(s->name, sizeof s->name, "fd %d", s->listener.fd);
    }
}

/* "fd 12 of tcp:127.0.0.1:80", cut at the end; put together by hand, since each connection pays. */
static void name_connection(const served *c) {
    char name[NUMBER_MAX + sizeof "fd  of " + THRUM_NAME_MAX] = "fd ";
    char digits[NUMBER_MAX];
    char *to = name + 3;
    unsigned n = 0;
    unsigned fd = (unsigned)c->io.fd;
    do {
        digits[n++] = (char)('0' + fd % 10);
        fd /= 10;
    } while (fd);
    while (n) {
        *to++ = digits[--n];
    }
    memcpy(to, " of ", 4);
    memcpy(to + 4, c->of->name, sizeof c->of->name);
    (void)thrum_set_name(name);
}

/* ---- connections ---- */

static void list(server *s, served *c) {
    TH_LOCKED(&s->lock);
    TH_LIST_PUSH(&s->first, c, next, prev);
    s->count++;
    th_add_relaxed(&s->all->xserved, UINT64_C(1)); /* relaxed: a figure */
}

static void unlist(server *s, served *c) {
    TH_LOCKED(&s->lock);
    TH_LIST_TAKE(&s->first, c, next, prev);
    s->count--;
    th_sub_relaxed(&s->all->xserved, UINT64_C(1)); /* relaxed: a figure */
}

static void end_connection(served *c) {
    server *s = c->of;
    unlist(s, c);
    /* The record forgets it with its turn. Stale, if the function has closed or released it. */
    (void)thrum_io_close(c->io);
    th_os_free(c);
    thrum_event_signal(&s->ended);
    if (s->options.connections_max) {
        thrum_sem_post(&s->places);
    }
}

static int run_connection(void *arg) {
    served *c = arg;
    th_run_shows((uintptr_t)c->of->connection);
    name_connection(c);
    (void)c->of->connection(c->io, c->of->arg);
    end_connection(c);
    return 0; /* its own result would cancel the others */
}

/* Begins a connection, which it closes if it cannot. */
static int begin_connection(server *s, thrum_io io) {
    served *c = th_os_alloc(sizeof *c);
    if (!c) {
        (void)thrum_io_close(io);
        return -ENOMEM;
    }
    th_record *record = th_record_at(io.fd);
    *c = (served){.of = s, .io = io};
    record->placed = true;
    record->home = s->next_home++;
    th_store_relaxed(&record->xserved, c); /* relaxed: the start of its task publishes it */
    list(s, c);
    int code = th_scope_go(&s->scope, run_connection, c); /* a failure cancels no other one */
    if (code) {
        end_connection(c);
    }
    return code;
}

/* ---- the keeper ---- */

/* Waits until there is a place. False: the server drains. */
static bool wait_for_place(server *s) {
    int code = s->options.connections_max ? thrum_sem_wait(&s->places) : 0;
    return !code && !is_draining(s);
}

static int accept_all(server *s) {
    int code = 0;
    while (!code && wait_for_place(s)) {
        thrum_io io;
        code = th_accept_unless(s->listener, &io, THRUM_FOREVER, &s->xdraining);
        if (!code) {
            code = begin_connection(s, io);
            continue;
        }
        if (s->options.connections_max) {
            thrum_sem_post(&s->places); /* the place is still free */
        }
        if (code == -EMFILE || code == -ENFILE) {
            int waited = thrum_event_wait_until(&s->ended, thrum_after(AGAIN_NS));
            code = waited == -ETIMEDOUT ? 0 : waited;
        }
    }
    return is_draining(s) || code == -EBADF ? 0 : code;
}

static bool is_empty(server *s) {
    TH_LOCKED(&s->lock);
    return s->count == 0;
}

/* Notifies connections that wait for their next request. */
static void tell_all(server *s) {
    TH_LOCKED(&s->lock);
    for (served *c = s->first; c; c = c->next) {
        th_direction_tell(&th_record_at(c->io.fd)->directions[0]);
    }
}

static int keep(void *arg) {
    server *s = arg;
    (void)th_scope_open(&s->scope, thrum_sched_current(), THRUM_FOREVER);
    int code = accept_all(s);
    /* relaxed: the notification publishes it (th_direction_tell) */
    th_store_relaxed(&s->xdraining, 1u);
    thrum_event_signal(&s->over);
    tell_all(s);
    const thrum_time until = thrum_after(s->options.drain);
    while (!is_empty(s) && thrum_event_wait_until(&s->ended, until) == 0) {
    }
    if (!is_empty(s)) {
        code = code ? code : -ETIMEDOUT;
        th_scope_cancel(&s->scope, -ETIMEDOUT);
    }
    (void)th_scope_wait(&s->scope, &s->scope.living); /* the cause of their end is known */
    th_scope_close(&s->scope);
    return code;
}

/* ---- the caller ---- */

static unsigned signal_count(const server *s) {
    unsigned n = 0;
    while (s->options.stop_signals && s->options.stop_signals[n]) {
        n++;
    }
    return n;
}

/* One of them that comes this soon after the first means the same, and is let pass. */
#define SAME_SIGNAL_NS 1000000000

static void let_signals_linger(const server *s, unsigned n) {
    while (n) {
        const int signal = s->options.stop_signals[--n];
        (void)th_signal_release_lingering(signal, th_os_now() + SAME_SIGNAL_NS);
    }
}

static void release_signals(const server *s, unsigned n) {
    while (n) {
        (void)thrum_signal_release(s->options.stop_signals[--n]);
    }
}

/* All of them or none: 0 or a code. */
static int catch_signals(const server *s, unsigned n) {
    int code = 0;
    for (unsigned i = 0; i < n && !code; i++) {
        code = thrum_signal_catch(s->options.stop_signals[i]);
        if (code) {
            release_signals(s, i);
        }
    }
    return code;
}

static int wait_for_signal(void *arg) {
    server *s = arg;
    int signal = thrum_signal_wait(s->options.stop_signals, signal_count(s), THRUM_FOREVER);
    s->signaled = signal > 0;
    thrum_event_signal(&s->signal); /* also when it cannot wait: else nothing ended the server */
    return signal < 0 && signal != -ECANCELED ? signal : 0;
}

/* Waits for the server's end: 0, or -ECANCELED for the caller. */
static int wait_for_end(server *s) {
    thrum_event *events[3] = {&s->over, &s->signal, s->options.stop};
    int code = thrum_event_wait_any(events, s->options.stop ? 3 : 2, THRUM_FOREVER);
    return code < 0 ? code : 0;
}

/* Has the keeper see that the server ends. */
static void begin_draining(server *s) {
    th_store_relaxed(&s->xdraining, 1u); /* relaxed: the direction's lock, and the post, order it */
    int code;
    th_record *listener = th_record_named(s->listener, &code);
    if (listener) {
        th_direction_tell(&listener->directions[0]);
    }
    if (s->options.connections_max) {
        thrum_sem_post(&s->places);
    }
    thrum_event_signal(&s->ended);
}

static int settle(thrum_serve_options *out, const thrum_serve_options *options) {
    *out = (thrum_serve_options)THRUM_SERVE_OPTIONS_INIT;
    if (!options) {
        return 0;
    }
    if (options->size != sizeof *options || options->drain < 0 || options->reserved ||
        options->connections_max > THRUM_SEM_MAX / 2) {
        return -EINVAL;
    }
    *out = *options;
    return 0;
}

static int serve(server *s) {
    thrum_handle *keeper;
    thrum_handle *listener = NULL;
    int kept;
    int heard = 0;
    const unsigned signals = signal_count(s);
    /* The connections that come first may take all descriptors, and have to be waited for then. */
    int code = th_record_prepare(thrum_sched_current());
    code = code ? code : catch_signals(s, signals);
    if (code) {
        return code;
    }
    if (s->options.started) {
        s->options.started(s->listener, s->arg);
    }
    char name[sizeof "serves " + THRUM_NAME_MAX];
    (void)snprintf(name, sizeof name, "serves %s", s->name);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.name = name;
    code = thrum_spawn_with(&keeper, &attr, keep, s);
    if (code) {
        release_signals(s, signals);
        return code;
    }
    if (signals) {
        code = thrum_spawn(&listener, wait_for_signal, s);
    }
    code = code ? code : wait_for_end(s);
    begin_draining(s);
    thrum_shield_begin();
    if (listener) {
        (void)thrum_cancel(listener);
        th_check(thrum_join(listener, &heard) == 0);
    }
    if (s->signaled) {
        let_signals_linger(s, signals);
    } else {
        release_signals(s, signals);
    }
    th_check(thrum_join(keeper, &kept) == 0);
    thrum_shield_end();
    return code ? code : heard ? heard : kept;
}

int thrum_serve(thrum_io listener, int (*connection)(thrum_io io, void *arg), void *arg,
                const thrum_serve_options *options) {
    server s = {.listener = listener, .connection = connection, .arg = arg};
    int code = connection ? settle(&s.options, options) : -EINVAL;
    if (code) {
        return code;
    }
    thrum_sched *sched = thrum_sched_current();
    if (!sched) {
        return th_thread_refusal();
    }
    th_record *record = th_record_named(listener, &code);
    if (!record) {
        return code;
    }
    s.all = th_sched_driver(sched, &driver);
    if (!s.all) {
        return -ENOMEM;
    }
    th_lock_init(&s.lock);
    thrum_event_init(&s.over, THRUM_EVENT_MANUAL, false);
    thrum_event_init(&s.signal, THRUM_EVENT_MANUAL, false);
    thrum_event_init(&s.ended, THRUM_EVENT_AUTO, false);
    thrum_sem_init(&s.places, s.options.connections_max);
    name_server(&s);
    return serve(&s);
}

/* ---- between two requests ---- */

/* Whether the system reports something to read. */
static bool is_readable(const th_record *record) {
    /* seq: READY is consumed before the system is asked, as in watch.c */
    th_fence_seq();
    return th_os_io_poll(record->fd, TH_OS_IN, -1, 0) != 0;
}

/*
 * As the holder. The system is polled regardless of events: an event may be about bytes that have
 * been read by now, and a caller that trusts it goes on to a read that nobody ends.
 */
static int await_request(th_inside *inside, const server *s) {
    int code = 0;
    while (!code) {
        bool draining = is_draining(s);
        if ((inside->ready || draining) && is_readable(inside->record)) {
            return 0;
        }
        th_inside_again(inside);
        code = draining ? -ESHUTDOWN : th_inside_await(inside);
    }
    return code;
}

/* Enters the connection to read, and finds its server. 0 or a code. */
static int enter_served(th_inside *inside, thrum_io io, thrum_time deadline, const server **s) {
    if (!th_fiber_self()) {
        return th_thread_refusal();
    }
    int code = th_inside_enter(inside, io, THRUM_IO_READ, deadline);
    if (code) {
        return code;
    }
    const served *c = th_load_relaxed(&inside->record->xserved); /* relaxed: the task's own */
    if (!c) {
        th_inside_leave(inside, th_inside_left(inside));
        return -EINVAL;
    }
    *s = c->of;
    return 0;
}

int thrum_serve_idle(thrum_io io, thrum_time deadline) {
    th_inside inside;
    const server *s;
    int code = enter_served(&inside, io, deadline, &s);
    if (!code) {
        code = await_request(&inside, s);
        th_inside_leave(&inside, code ? TH_LEFT_NOTHING : TH_LEFT_MORE);
    }
    return code;
}

/* The read itself asks the system, and there is no other call. */
int64_t thrum_serve_read(thrum_io io, void *to, size_t size, thrum_time deadline) {
    th_inside inside;
    const server *s;
    int64_t n = size ? enter_served(&inside, io, deadline, &s) : -EINVAL;
    if (n) {
        return n;
    }
    th_leftover left = th_inside_left(&inside);
    n = inside.direction->error; /* a copy has seen it, and the system reports it once */
    while (!n) {
        bool draining = is_draining(s);
        n = inside.ready || draining ? th_inside_read(&inside, to, size, &left) : -EAGAIN;
        if (n == -EAGAIN) {
            left = TH_LEFT_NOTHING;
            n = draining ? -ESHUTDOWN : th_inside_await(&inside);
        } else if (!n) {
            break; /* the end */
        }
    }
    th_inside_leave(&inside, left);
    return n;
}
