/*
 * resolver.c: see resolver.h.
 *
 * One lock protects everything: a lookup costs far more than it. A lookup is in one of these
 * states:
 *
 *   queued   in the list, and no thread has begun it
 *   begun    in the list, and an asker is in the system's call
 *   done     in the list no more; its waiters are woken, and read the answer
 *
 * Invariant: while lookups are queued there is an asker for each, which will look at the list
 * before it ends, or as many askers as there may be, or no more could be started.
 */
#include "net/resolver.h"

#include <errno.h>
#include <string.h>

#include "core/control/atfork.h"
#include "core/ready/waiter.h"
#include "core/state/lock.h"
#include "core/wait/wait.h"
#include "sync/waitlist.h"

typedef struct lookup {
    struct lookup *next;
    void *first; /* callers that wait for it */
    void *last;
    uint32_t references;
    th_os_family family;
    bool begun;
    int found; /* how many addresses, or a code */
    th_os_address *addresses;
    char host[]; /* ends the struct */
} lookup;

static struct {
    th_lock lock;
    lookup *first; /* those that are queued or begun, oldest first */
    lookup **last;
    uint32_t askers;
    uint32_t queued;
    uint32_t waiting;
    uint64_t begun;
} resolver = {.last = &resolver.first};

static inline th_waitlist waiters_of(lookup *l) {
    return (th_waitlist){&l->first, &l->last};
}

/* ---- with the lock ---- */

static void take_off(lookup *l) {
    lookup **link = &resolver.first;
    while (*link != l) {
        link = &(*link)->next;
    }
    *link = l->next;
    if (!l->next) {
        resolver.last = link;
    }
}

/* Returns what is to be freed once the lock is given up, or NULL. */
static lookup *drop(lookup *l) {
    return --l->references ? NULL : l;
}

/* A lookup of the name, which has not ended; NULL: there is none. */
static lookup *find(const char *host, th_os_family family) {
    lookup *l = resolver.first;
    while (l && (l->family != family || strcmp(l->host, host) != 0)) {
        l = l->next;
    }
    return l;
}

static lookup *first_queued(void) {
    lookup *l = resolver.first;
    while (l && l->begun) {
        l = l->next;
    }
    return l;
}

/* ---- an asker ---- */

static void free_lookup(lookup *l) {
    if (l) {
        th_os_free(l->addresses);
        th_os_free(l);
    }
}

/* Without the lock: makes the call, and keeps what it says. */
static int ask(lookup *l) {
    th_os_address found[TH_RESOLVED_MAX];
    int n = th_os_resolve(l->host, l->family, found, TH_RESOLVED_MAX);
    if (n > 0) {
        l->addresses = th_os_alloc((size_t)n * sizeof found[0]);
        if (!l->addresses) {
            return -ENOMEM;
        }
        memcpy(l->addresses, found, (size_t)n * sizeof found[0]);
    }
    return n;
}

/* With the lock, which it gives up and takes again: ends a lookup that is in the list. */
static void end_lookup(lookup *l, int found) {
    take_off(l);
    l->found = found;
    th_waiter *chain = th_waitlist_detach(waiters_of(l));
    l = drop(l);
    th_lock_release(&resolver.lock);
    th_waitlist_wake_all(chain);
    free_lookup(l);
    th_lock_acquire(&resolver.lock);
}

static void asker_main(void *arg) {
    (void)arg;
    lookup *l;
    th_lock_acquire(&resolver.lock);
    while ((l = first_queued())) {
        l->begun = true;
        resolver.queued--;
        resolver.begun++;
        th_lock_release(&resolver.lock);
        int found = ask(l);
        th_lock_acquire(&resolver.lock);
        end_lookup(l, found);
    }
    resolver.askers--;
    th_lock_release(&resolver.lock);
}

/*
 * Without the lock, the asker being counted: starts it. If it was the only one, all lookups fail.
 */
static void start_asker(void) {
    th_os_thread thread;
    int code = th_os_thread_start(&thread, "thrum-resolve", asker_main, NULL);
    if (!code) {
        th_os_thread_detach(thread);
        return;
    }
    th_lock_acquire(&resolver.lock);
    resolver.askers--;
    lookup *l;
    while (!resolver.askers && (l = first_queued())) {
        l->begun = true;
        resolver.queued--;
        end_lookup(l, code);
    }
    th_lock_release(&resolver.lock);
}

/* ---- a caller ---- */

/*
 * In the child of a fork, on its only thread: the askers, and what they were asked, are the
 * parent's.
 */
static void in_child(void) {
    th_lock_init(&resolver.lock);
    resolver.first = NULL;
    resolver.last = &resolver.first;
    resolver.askers = 0;
    resolver.queued = 0;
    resolver.waiting = 0;
}

static lookup *new_lookup(const char *host, th_os_family family) {
    const size_t size = strlen(host) + 1;
    lookup *l = th_os_alloc(sizeof *l + size);
    if (l) {
        *l = (lookup){.references = 1, .family = family};
        memcpy(l->host, host, size);
    }
    return l;
}

/*
 * Puts the waiter on the lookup of the name, which is queued if it is new; *start: an asker has
 * been counted, and is to be started.
 */
static lookup *join_lookup(const char *host, th_os_family family, th_waiter *me, bool *start) {
    lookup *made = NULL;
    th_lock_acquire(&resolver.lock);
    lookup *l = find(host, family);
    if (!l) {
        th_lock_release(&resolver.lock);
        made = new_lookup(host, family); /* its reference is the asker's */
        if (!made) {
            return NULL;
        }
        th_lock_acquire(&resolver.lock);
        l = find(host, family); /* another caller may have been faster */
        if (!l) {
            l = made;
            made = NULL;
            *resolver.last = l;
            resolver.last = &l->next;
            resolver.queued++;
            *start = resolver.askers < TH_ASKERS_MAX;
            resolver.askers += *start;
        }
    }
    l->references++;
    resolver.waiting++;
    th_waitlist_push(waiters_of(l), me);
    th_lock_release(&resolver.lock);
    free_lookup(made);
    return l;
}

/* The caller's part in a lookup ends: how many addresses it gets, or a code. */
static int leave_lookup(lookup *l, th_waiter *me, int code, th_os_address out[], unsigned max) {
    lookup *asked = NULL;
    th_lock_acquire(&resolver.lock);
    (void)th_waitlist_leave(waiters_of(l), me);
    resolver.waiting--;
    int n = code ? code : l->found;
    if (n > 0) {
        n = (unsigned)n < max ? n : (int)max;
        memcpy(out, l->addresses, (size_t)n * sizeof out[0]);
    }
    l->references--;
    if (code && !l->begun && l->references == 1) { /* nobody waits any more: it is not begun */
        take_off(l);
        resolver.queued--;
        asked = drop(l);
    } else if (!l->references) {
        asked = l;
    }
    th_lock_release(&resolver.lock);
    free_lookup(asked);
    return n;
}

int th_resolve(const char *host, th_os_family family, th_os_address out[], unsigned max,
               thrum_time deadline) {
    if (deadline != THRUM_FOREVER && deadline <= thrum_now()) {
        return -ETIMEDOUT;
    }
    th_waiter me;
    bool start = false;
    th_atfork_in_child(in_child);
    th_waiter_init(&me, TH_ON_NAME, (void *)(uintptr_t)host); /* for reports; the caller's */
    me.timed = true;
    lookup *l = join_lookup(host, family, &me, &start);
    if (!l) {
        return -ENOMEM;
    }
    if (start) {
        start_asker();
    }
    int code = th_waiter_result(th_waiter_wait_until(&me, deadline));
    return leave_lookup(l, &me, code, out, max);
}

void th_resolver_read(th_resolver_figures *out) {
    th_lock_acquire(&resolver.lock);
    *out = (th_resolver_figures){resolver.begun, resolver.waiting, resolver.askers};
    th_lock_release(&resolver.lock);
}
