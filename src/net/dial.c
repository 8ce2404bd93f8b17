/*
 * dial.c: connecting, to several addresses side by side where a name has several (RFC 8305).
 */
#include <errno.h>

#include "io/watch.h"
#include "net/resolver.h"
#include "net/target.h"
#include "thrum/spawn.h"

#define STEP_NS THRUM_MS(250) /* from one address to the next while none has answered */
#define FULL_MIN_NS THRUM_US(500)
#define FULL_MAX_NS THRUM_MS(50)

_Static_assert(TH_RESOLVED_MAX <= TH_WATCHED_MAX, "all of them are waited for at once");

typedef struct race {
    const th_target *target;
    const char *text; /* the address, as the caller has it */
    thrum_time deadline;
    thrum_time step; /* when the next address is tried, regardless of the others */
    int code;        /* the code to return if none answers, or 0 */
    unsigned n;      /* addresses, and how many have been tried */
    unsigned tried;
    unsigned flying; /* those without an answer: the first places of `watched` */
    th_os_address addresses[TH_RESOLVED_MAX];
    th_watched watched[TH_RESOLVED_MAX];
} race;

/* ---- one address ---- */

/*
 * A UNIX listener with too many connections does not report when it has room again: it is tried
 * again, more and more seldom.
 */
static int connect_to(int fd, const th_os_address *address, thrum_time deadline) {
    thrum_time pause = FULL_MIN_NS;
    int code;
    while ((code = th_os_socket_connect(fd, address)) == -EAGAIN) {
        thrum_time until = thrum_after(pause);
        code = thrum_sleep_until(until < deadline ? until : deadline);
        if (code) {
            break;
        }
        if (deadline <= until) {
            return -ETIMEDOUT;
        }
        pause = pause * 2 < FULL_MAX_NS ? pause * 2 : FULL_MAX_NS;
    }
    return code;
}

/* Sets a socket's options before it is connected. */
static int prepare(int fd, const th_target *target) {
    if (target->local && target->style == TH_OS_DATAGRAMS) {
        th_os_address chosen; /* an answer needs an address to go to */
        (void)th_os_address_local(&chosen, "", 0, true);
        return th_os_socket_bind(fd, &chosen);
    }
    return target->style == TH_OS_BYTES && !target->local ? th_os_socket_set(fd, TH_OS_NO_DELAY, 1)
                                                          : 0;
}

/*
 * Whether a socket is connected with itself: that may happen if nobody listens at a port that the
 * system gives to connecting sockets.
 */
static bool is_its_own_peer(int fd, const th_target *target) {
    th_os_address local;
    th_os_address peer;
    return target->style == TH_OS_BYTES && !target->local && !th_os_socket_local(fd, &local) &&
           !th_os_socket_peer(fd, &peer) && th_os_address_is(&local, &peer);
}

/* Begins to connect: 0, *out is connected; -EINPROGRESS, it is connecting; or a code. */
static int begin(thrum_io *out, const th_target *target, const th_os_address *address,
                 thrum_time deadline) {
    int fd = th_os_socket_open(th_os_address_family(address), target->style);
    if (fd < 0) {
        return fd;
    }
    int code = prepare(fd, target);
    code = code ? code : connect_to(fd, address, deadline);
    if (!code && is_its_own_peer(fd, target)) {
        code = -ECONNREFUSED;
    }
    if (!code || code == -EINPROGRESS) {
        int refused = th_record_adopt(out, fd, th_target_kind(target), true);
        code = refused ? refused : code;
    }
    if (code && code != -EINPROGRESS) {
        (void)th_os_io_close(fd);
    }
    return code;
}

/* ---- several ---- */

/* Codes of an address that could not even be tried. */
static bool is_of_the_route(int code) {
    return code == -ENETUNREACH || code == -EHOSTUNREACH || code == -EADDRNOTAVAIL ||
           code == -EAFNOSUPPORT || code == -ENETDOWN;
}

static void note_failure(race *r, int code) {
    if (!r->code || is_of_the_route(r->code)) {
        r->code = code;
    }
}

/* Tries the addresses whose time has come: 1, *out is connected; else 0. */
static int begin_those_due(race *r, thrum_io *out) {
    while (r->tried < r->n && (!r->flying || thrum_now() >= r->step)) {
        th_watched *w = &r->watched[r->flying];
        *w = (th_watched){.bits = THRUM_IO_WRITE};
        int code = begin(&w->io, r->target, &r->addresses[r->tried++], r->deadline);
        if (!code) {
            *out = w->io;
            return 1;
        }
        if (code == -EINPROGRESS) {
            r->flying++;
            r->step = thrum_after(STEP_NS);
        } else {
            note_failure(r, code);
            r->step = 0; /* the next one at once */
        }
    }
    return 0;
}

/* Checks the connections that have been answered: 1, *out is connected; else 0. */
static int look_at_answers(race *r, thrum_io *out) {
    for (unsigned i = 0; i < r->flying;) {
        thrum_io io = r->watched[i].io;
        int code = r->watched[i].ready;
        if (!code) {
            i++;
            continue;
        }
        code = code < 0 ? code : th_os_socket_error(io.fd);
        if (!code && is_its_own_peer(io.fd, r->target)) {
            code = -ECONNREFUSED;
        }
        r->watched[i] = r->watched[--r->flying];
        if (!code) {
            *out = io;
            return 1;
        }
        (void)thrum_io_close(io);
        note_failure(r, code);
        r->step = 0;
    }
    return 0;
}

/* Waits until one is answered: 1, *out is connected; else a code. */
static int run(race *r, thrum_io *out) {
    for (;;) {
        if (begin_those_due(r, out)) {
            return 1;
        }
        if (!r->flying) {
            return r->code;
        }
        bool more = r->tried < r->n && r->step < r->deadline;
        int code = th_watch_any(r->watched, r->flying, more ? r->step : r->deadline, r->text);
        if (code < 0 && !(code == -ETIMEDOUT && more)) {
            return code;
        }
        if (code > 0 && look_at_answers(r, out)) {
            return 1;
        }
    }
}

/* The addresses in turn of their families, that of the first one first; otherwise as they came. */
static void interleave(race *r, const th_os_address found[], unsigned n, uint16_t port) {
    const th_os_family first = th_os_address_family(&found[0]);
    unsigned at[2] = {0, 0}; /* the next one of the first family, and of the other */
    for (unsigned other = 0; r->n < n; other = !other) {
        unsigned i = at[other];
        while (i < n && (th_os_address_family(&found[i]) != first) != other) {
            i++;
        }
        at[other] = i + 1;
        if (i < n) {
            r->addresses[r->n] = found[i];
            th_os_address_set_port(&r->addresses[r->n++], port);
        }
    }
}

/* Fills in the addresses: 0 or a code. */
static int find_addresses(race *r) {
    const th_target *target = r->target;
    if (target->where == TH_AT_ADDRESS) {
        r->addresses[r->n++] = target->address;
        return 0;
    }
    th_os_address *found = th_os_alloc(TH_RESOLVED_MAX * sizeof *found);
    int n = found ? th_resolve(target->host, TH_OS_UNNAMED, found, TH_RESOLVED_MAX, r->deadline)
                  : -ENOMEM;
    if (n > 0) {
        interleave(r, found, (unsigned)n, target->port);
    }
    th_os_free(found);
    return n < 0 ? n : 0;
}

int thrum_dial(thrum_io *out, const char *address, thrum_time deadline) {
    th_target target;
    if (!out || !address) {
        return -EINVAL;
    }
    int code = th_target_parse(&target, address);
    if (code || target.where == TH_AT_ANY) {
        return code ? code : -EINVAL;
    }
    if (deadline != THRUM_FOREVER && deadline <= thrum_now()) {
        return -ETIMEDOUT;
    }
    race *r = th_os_alloc(sizeof *r);
    if (!r) {
        return -ENOMEM;
    }
    r->target = &target;
    r->text = address;
    r->deadline = deadline;
    r->step = 0;
    r->code = 0;
    r->n = r->tried = r->flying = 0;
    code = find_addresses(r);
    code = code ? code : run(r, out);
    for (unsigned i = 0; i < r->flying; i++) {
        (void)thrum_io_close(r->watched[i].io);
    }
    th_os_free(r);
    return code > 0 ? 0 : code;
}
