/*
 * resolver.c: see resolver.h. A lookup is a job, protected by the lock of its jobs (io/jobs.h).
 */
#include "net/resolver.h"

#include <errno.h>
#include <string.h>

#include "io/jobs.h"

typedef struct lookup {
    th_job job; /* the first */
    th_os_family family;
    int found; /* how many addresses, or a code */
    th_os_address *addresses;
    char host[]; /* ends the struct */
} lookup;

static void ask(th_job *job);
static void free_lookup(th_job *job);

static th_jobs resolver = {
    .name = "thrum-resolve", .run = ask, .end = free_lookup, .threads_max = TH_ASKERS_MAX};

/* ---- an asker ---- */

static void free_lookup(th_job *job) {
    lookup *l = (lookup *)(void *)job;
    th_os_free(l->addresses);
    th_os_free(l);
}

/* Makes the call, and keeps what it says. */
static void ask(th_job *job) {
    lookup *l = (lookup *)(void *)job;
    th_os_address found[TH_RESOLVED_MAX];
    l->found = th_os_resolve(l->host, l->family, found, TH_RESOLVED_MAX);
    if (l->found > 0) {
        const size_t size = (size_t)l->found * sizeof found[0];
        l->addresses = th_os_alloc(size);
        if (l->addresses) {
            memcpy(l->addresses, found, size);
        } else {
            l->found = -ENOMEM;
        }
    }
}

/* ---- a caller ---- */

typedef struct name {
    const char *host;
    th_os_family family;
} name;

/* Whether the job looks the name up. */
static bool is_of(const th_job *job, const void *ctx) {
    const lookup *l = (const lookup *)(const void *)job;
    const name *wanted = ctx;
    return l->family == wanted->family && strcmp(l->host, wanted->host) == 0;
}

static lookup *new_lookup(const name *wanted) {
    const size_t size = strlen(wanted->host) + 1;
    lookup *l = th_os_alloc(sizeof *l + size);
    if (l) {
        *l = (lookup){.family = wanted->family};
        th_job_init(&l->job);
        memcpy(l->host, wanted->host, size);
    }
    return l;
}

/* Puts the waiter on the lookup of the name, which is queued if it is new. NULL: no memory. */
static lookup *join_lookup(const name *wanted, th_waiter *me) {
    lookup *made = NULL;
    th_jobs_call call = {0};
    th_lock_acquire(&resolver.lock);
    th_job *job = th_jobs_find(&resolver, is_of, wanted);
    if (!job) {
        th_lock_release(&resolver.lock);
        made = new_lookup(wanted);
        if (!made) {
            return NULL;
        }
        th_lock_acquire(&resolver.lock);
        job = th_jobs_find(&resolver, is_of, wanted); /* another caller may have been faster */
    }
    if (job) {
        job->references++;
    } else {
        job = &made->job;
        made = NULL;
        call = th_jobs_put(&resolver, job);
    }
    th_jobs_join(&resolver, job, me);
    th_lock_release(&resolver.lock);
    th_jobs_called(&resolver, call);
    th_os_free(made);
    return (lookup *)(void *)job;
}

int th_resolve(const char *host, th_os_family family, th_os_address out[], unsigned max,
               thrum_time deadline) {
    if (deadline != THRUM_FOREVER && deadline <= thrum_now()) {
        return -ETIMEDOUT;
    }
    const name wanted = {host, family};
    th_waiter me;
    th_jobs_begin(&resolver);
    th_waiter_init(&me, TH_ON_NAME, (void *)(uintptr_t)host); /* for reports; the caller's */
    me.timed = true;
    lookup *l = join_lookup(&wanted, &me);
    if (!l) {
        return -ENOMEM;
    }
    int n = th_jobs_wait(&resolver, &l->job, &me, deadline);
    n = n ? n : l->job.code ? l->job.code : l->found;
    if (n > 0) {
        n = (unsigned)n < max ? n : (int)max;
        memcpy(out, l->addresses, (size_t)n * sizeof out[0]);
    }
    th_jobs_drop(&resolver, &l->job);
    return n;
}

void th_resolver_read(th_resolver_figures *out) {
    th_lock_acquire(&resolver.lock);
    *out = (th_resolver_figures){resolver.calls, resolver.waiting, resolver.threads};
    th_lock_release(&resolver.lock);
}
