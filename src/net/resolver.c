/*
 * resolver.c: see resolver.h. A lookup is a job, protected by the lock of its jobs (pools/jobs.h).
 */
#include "net/resolver.h"

#include <errno.h>
#include <string.h>

#include "pools/jobs.h"
#include "net/hosts.h"

#define PATIENCE THRUM_MS(20)

typedef struct lookup {
    th_job job; /* the first */
    th_os_family family;
    int found; /* how many addresses, or a code */
    th_os_address *addresses;
    char host[]; /* ends the struct */
} lookup;

static void ask(th_job *job);
static void read_hosts(th_job *job);
static void free_lookup(th_job *job);

th_jobs th_resolver_jobs = {.name = "thrum-resolve",
                            .on = TH_ON_NAME,
                            .run = ask,
                            .end = free_lookup,
                            .threads_max = TH_ASKERS_MAX,
                            .hanging_max = TH_ASKERS_HANGING,
                            .patience = PATIENCE};
#define resolver th_resolver_jobs
/* Lookups in the file of hosts alone. */
static th_jobs hosts = {.name = "thrum-hosts",
                        .on = TH_ON_NAME,
                        .run = read_hosts,
                        .end = free_lookup,
                        .threads_max = 1};

/* ---- an asker ---- */

static void free_lookup(th_job *job) {
    lookup *l = (lookup *)(void *)job;
    th_os_free(l->addresses);
    th_os_free(l);
}

/* Makes the call, and keeps its result. */
static void ask_with(th_job *job, int (*call)(const char *host, th_os_family family,
                                              th_os_address out[], unsigned max)) {
    lookup *l = (lookup *)(void *)job;
    th_os_address found[TH_RESOLVED_MAX];
    l->found = call(l->host, l->family, found, TH_RESOLVED_MAX);
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

static void ask(th_job *job) {
    ask_with(job, th_os_resolve);
}

static void read_hosts(th_job *job) {
    ask_with(job, th_hosts_find);
}

/* ---- a caller ---- */

typedef struct name {
    const char *host;
    th_os_family family;
    bool waits; /* for an asker, if none is free */
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

/*
 * Puts the waiter on the lookup of the name, which is queued if it is new. 1, -ENOMEM, or 0: it
 * would have to wait for an asker.
 */
static int join_lookup(lookup **out, th_jobs *jobs, const name *wanted, th_waiter *me) {
    lookup *made = new_lookup(wanted);
    th_jobs_call call = {0};
    if (!made) {
        return -ENOMEM;
    }
    th_lock_acquire(&jobs->lock);
    th_job *job = th_jobs_find(jobs, is_of, wanted);
    if (job) {
        job->references++;
    } else if (wanted->waits || !th_jobs_are_crowded(jobs)) {
        job = &made->job;
        made = NULL;
        call = th_jobs_put(jobs, job);
    }
    if (job) {
        th_jobs_join(jobs, job, me, wanted->host);
    }
    th_jobs_unlock(jobs, call);
    th_os_free(made);
    *out = (lookup *)(void *)job;
    return job != NULL;
}

/* As th_resolve, by these jobs; 0: the name was not looked up, since it would have to wait. */
static int look_up(th_jobs *jobs, const name *wanted, th_os_address out[], unsigned max,
                   thrum_time deadline) {
    th_waiter me;
    lookup *l;
    th_jobs_begin(jobs);
    int n = join_lookup(&l, jobs, wanted, &me);
    if (n <= 0) {
        return n;
    }
    n = th_jobs_wait(jobs, &l->job, &me, deadline);
    n = n ? n : l->job.code ? l->job.code : l->found;
    if (n > 0) {
        n = (unsigned)n < max ? n : (int)max;
        memcpy(out, l->addresses, (size_t)n * sizeof out[0]);
    }
    th_jobs_drop(jobs, &l->job);
    return n;
}

int th_resolve(const char *host, th_os_family family, th_os_address out[], unsigned max,
               thrum_time deadline) {
    if (deadline != THRUM_FOREVER && deadline <= thrum_now()) {
        return -ETIMEDOUT;
    }
    int n = look_up(&resolver, &(name){host, family, false}, out, max, deadline);
    if (n == 0) {
        const name wanted = {host, family, true};
        n = look_up(&hosts, &wanted, out, max, deadline);
        if (n == -ENOENT || n == -EAGAIN) { /* it is not there, or there was no thread to look */
            n = look_up(&resolver, &wanted, out, max, deadline);
        }
    }
    return n;
}
