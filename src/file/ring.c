/*
 * ring.c: see ring.h.
 *
 * Rings are never freed: a late event finds one, which may be another worker's by then, and takes
 * the completions there. A transfer that no caller waits for any longer may outlive the scheduler:
 * then a thread takes the ring over until it is empty.
 */
#include "file/ring.h"

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "core/control/atfork.h"
#include "core/due/poll.h"
#include "core/ready/waiter.h"
#include "core/state/driver.h"
#include "core/state/thread.h"
#include "core/state/worker.h"
#include "file/pool.h"
#include "io/call.h"
#include "sync/waitlist.h"

#define ENTRIES TH_LIMIT(128u, 2u) /* transfers of a ring at a time */
#define TAKEN_MAX TH_LIMIT(32u, 2u)
#define PUT_MAX TH_LIMIT(32u, 2u) /* transfers submitted at a time */
#define BURST_NS 100000           /* one so soon after another waits for more */
#define CHUNK 32u                 /* rings that are made at a time */
#define CHUNKS 64u

typedef struct ring {
    th_lock lock; /* protects all that follows */
    th_os_ring os;
    bool taken;   /* it belongs to a worker, or to a thread that empties it */
    bool emptied; /* by that thread, and nobody else */
    uint32_t number;
    unsigned in_flight; /* including transfers not begun */
    unsigned put_count; /* the last ones, which have not begun */
    uint64_t put_at;    /* the time of the last one, in ticks */
    th_operation *put[PUT_MAX];
    th_os_ring_end ends[TAKEN_MAX];
} ring;

/* The driver's state for a scheduler: a ring's number plus one, for each worker; 0: none yet. */
typedef struct rings_of {
    thrum_sched *sched;
    uint32_t refused; /* the system has no rings */
    uint32_t xof[];   /* each is its worker's, until the stop */
} rings_of;

static th_lock table_lock; /* protects `taken` of all rings, and the table's growth */
static ring *xchunks[CHUNKS];
static uint64_t xtransfers;

static ring *ring_at(uint32_t number) {
    /* relaxed: the number is of a ring that was taken with the table's lock, which orders the chunk
     * before it, and so before all that the number goes through: a set's event, a scheduler's own
     * table, a job */
    return &th_load_relaxed(&xchunks[number / CHUNK])[number % CHUNK];
}

uint64_t th_ring_transfers(void) {
    return th_load_relaxed(&xtransfers); /* relaxed: a figure */
}

/* ---- the table ---- */

/* In the child of a fork, on its only thread: the rings, and their contents, are the parent's. */
static void in_child(void) {
    th_lock_init(&table_lock);
    for (unsigned c = 0; c < CHUNKS && xchunks[c]; c++) {
        for (unsigned i = 0; i < CHUNK; i++) {
            ring *r = &xchunks[c][i];
            th_os_ring_abandon(&r->os);
            *r = (ring){.os = {.fd = -1}, .number = r->number};
        }
    }
}

/* With the table's lock. */
static bool grow(unsigned c) {
    ring *chunk = th_os_map(CHUNK * sizeof *chunk);
    for (unsigned i = 0; chunk && i < CHUNK; i++) {
        chunk[i].os.fd = -1;
        chunk[i].number = c * CHUNK + i;
    }
    if (chunk) {
        th_store_relaxed(&xchunks[c], chunk); /* relaxed: the lock publishes it, see ring_at */
    }
    return chunk != NULL;
}

/* A ring that is nobody's; NULL: no memory, or too many. */
static ring *take_one(void) {
    ring *found = NULL;
    th_atfork_in_child(in_child);
    TH_LOCKED(&table_lock);
    for (unsigned n = 0; n < CHUNKS * CHUNK && !found; n++) {
        if (n % CHUNK == 0 && !xchunks[n / CHUNK] && !grow(n / CHUNK)) {
            break;
        }
        ring *r = &xchunks[n / CHUNK][n % CHUNK];
        found = r->taken ? NULL : r;
    }
    if (found) {
        found->taken = true;
    }
    return found;
}

static void give_back(ring *r) {
    TH_LOCKED(&table_lock);
    r->taken = false;
}

unsigned th_rings_open(void) {
    unsigned n = 0;
    TH_LOCKED(&table_lock);
    for (unsigned c = 0; c < CHUNKS && xchunks[c]; c++) {
        for (unsigned i = 0; i < CHUNK; i++) {
            n += xchunks[c][i].taken;
        }
    }
    return n;
}

/* ---- the end of a transfer ---- */

/* Codes that are not about the file: a thread makes the transfer, and its result counts. */
static bool is_no_result(int64_t result) {
    return result == -ECANCELED || result == -EAGAIN || result == -EINTR || result == -EINVAL ||
           result == -EOPNOTSUPP;
}

/* Wakes the callers that wait for a finished operation. `by`: as below. */
static void wake_all(th_worker *by, th_waiter *chain) {
    while (by && chain) {
        th_waiter *next = chain->next;
        th_poll_wake(by, chain);
        chain = next;
    }
    th_waitlist_wake_all(chain);
}

/*
 * With the ring's lock; `by`: the worker that has the event, in its context, or NULL. An operation
 * that nobody waits for is freed here: it is of a local file, whose close does not wait for others.
 */
static void end_one(th_worker *by, const th_os_ring_end *end) {
    th_operation *operation = (th_operation *)(uintptr_t)end->key;
    th_lock_acquire(&th_file_jobs.lock);
    const bool forgotten = th_jobs_is_forgotten(&operation->job);
    operation->result = end->result;
    operation->made = !is_no_result(end->result);
    th_waiter *chain = th_jobs_done(&th_file_jobs, &operation->job);
    th_lock_release(&th_file_jobs.lock);
    wake_all(by, chain);
    if (forgotten) {
        th_operation_free(operation);
    }
}

/* With the ring's lock. */
static void take_ends(ring *r, th_worker *by) {
    unsigned n;
    do {
        n = th_os_ring_take(&r->os, r->ends, TAKEN_MAX);
        r->in_flight -= n;
        for (unsigned i = 0; i < n; i++) {
            end_one(by, &r->ends[i]);
        }
    } while (n == TAKEN_MAX);
}

/* With the ring's lock: submits waiting transfers; threads make those that the system refuses. */
static void send_put(ring *r, th_worker *by) {
    const unsigned n = r->put_count;
    const unsigned begun = n ? th_os_ring_send(&r->os, n) : 0;
    r->put_count = 0;
    for (unsigned i = begun; i < n; i++) {
        const th_os_ring_end refused = {(uint64_t)(uintptr_t)r->put[i], -EAGAIN};
        r->in_flight--;
        end_one(by, &refused);
    }
}

/* In the worker's context, perhaps on a task's stack. */
static void on_event(th_worker *by, uint32_t number) {
    ring *r = ring_at(number);
    TH_LOCKED(&r->lock);
    if (r->in_flight && !r->emptied) {
        send_put(r, by);
        take_ends(r, by);
    }
}

/* ---- a scheduler's end ---- */

/* Blocks the thread until nothing is under way, and closes the ring. */
static void empty_one(ring *r) {
    th_lock_acquire(&r->lock);
    while (take_ends(r, NULL), r->in_flight) {
        th_lock_release(&r->lock);
        th_os_ring_wait(&r->os); /* nobody else uses it: it is emptied, and its worker is gone */
        th_lock_acquire(&r->lock);
    }
    th_os_ring_close(&r->os);
    r->emptied = false;
    th_lock_release(&r->lock);
    give_back(r);
}

static int64_t empty(th_operation *operation) {
    empty_one(ring_at((uint32_t)operation->request.offset));
    return 0;
}

/* If no thread could be had, it is made when it is freed. */
static void empty_all_the_same(th_operation *operation) {
    if (!operation->made) {
        (void)empty(operation);
    }
}

/* False: no memory, so it has to be emptied here. */
static bool leave_to_thread(const ring *r) {
    const th_os_file_request request = {.offset = (int64_t)r->number};
    th_operation *operation;
    if (th_operation_new(&operation, &request, 0, false)) {
        return false;
    }
    operation->make = empty;
    operation->finish = empty_all_the_same;
    th_file_pool_put(operation);
    th_jobs_drop(&th_file_jobs, &operation->job);
    return true;
}

static void let_go(ring *r) {
    th_lock_acquire(&r->lock);
    send_put(r, NULL);
    const bool busy = r->in_flight != 0;
    r->emptied = true;
    th_lock_release(&r->lock);
    if (!busy || !leave_to_thread(r)) {
        empty_one(r);
    }
}

static void stop(void *instance) {
    rings_of *rings = instance;
    const unsigned n = rings->sched->workers_count;
    for (unsigned i = 0; i < n; i++) {
        if (rings->xof[i]) {
            let_go(ring_at(rings->xof[i] - 1));
        }
    }
    th_sched_free(rings->sched, rings);
}

/* ---- a worker's ring ---- */

static void *make(thrum_sched *sched) {
    rings_of *rings =
        th_sched_alloc(sched, sizeof *rings + sched->workers_count * sizeof(uint32_t));
    if (rings) {
        rings->sched = sched;
    }
    return rings;
}

static const th_driver driver = {.name = "rings", .make = make, .stop = stop};

/* Whether rings are wanted in this process: "epoll" leaves files to threads. */
static bool are_wanted(void) {
    const char *word = th_os_env("THRUM_IO");
    return !word || strcmp(word, "epoll") != 0;
}

static int open_ring(ring *r, thrum_sched *sched, unsigned worker) {
    int code = th_os_ring_open(&r->os, ENTRIES);
    if (!code) {
        code = th_record_add_ring(sched, worker, r->os.fd, r->number, on_event);
        if (code) {
            th_os_ring_close(&r->os);
        }
    }
    return code;
}

/* Whether a later try may succeed. */
static bool may_come(int code) {
    return code == -EMFILE || code == -ENFILE;
}

/* The ring of the calling worker, opened if need be; NULL: there is none to be had. */
static ring *own(th_worker *worker) {
    rings_of *rings = th_sched_driver(worker->sched, &driver);
    /* relaxed: tasks of one worker write and read it, and the stop behind all of them */
    const uint32_t mine = rings ? th_load_relaxed(&rings->xof[worker->index]) : 0;
    if (!rings || mine) {
        return rings ? ring_at(mine - 1) : NULL;
    }
    if (th_load_relaxed(&rings->refused)) { /* relaxed: a hint */
        return NULL;
    }
    ring *r = are_wanted() ? take_one() : NULL;
    const int code = r ? open_ring(r, worker->sched, worker->index) : -ENOSYS;
    if (!code) {
        th_store_relaxed(&rings->xof[worker->index], r->number + 1); /* relaxed: as above */
        return r;
    }
    if (r) {
        give_back(r);
    }
    if (!may_come(code)) {
        th_store_relaxed(&rings->refused, 1u); /* relaxed: a hint, which saves spurious calls */
    }
    return NULL;
}

/* ---- asking ---- */

/*
 * With the ring's lock, and the operation behind the others that have not begun. Submission is the
 * largest cost, and costs as much for many as for one. So the first is begun at once. A transfer
 * soon after another is begun together with the following ones: before the worker looks at its set,
 * as it does when it has nothing else to run. A spare's ring is in another worker's set.
 */
static void begin(ring *r, th_worker *worker) {
    const uint64_t now = th_os_ticks();
    const bool waits = th_os_ticks_ns(now - r->put_at) < BURST_NS && r->put_count < PUT_MAX;
    r->put_at = now;
    if (waits && !th_is_spare(worker)) {
        th_poll_put_off(worker, th_record_ring_key(r->number));
    } else {
        send_put(r, NULL);
    }
}

/* 0, or a code: it is not in the ring. */
static int put(ring *r, th_worker *worker, th_operation *operation) {
    const th_os_file_request *q = &operation->request;
    const th_os_transfer transfer = {.fd = q->fd,
                                     .write = q->call == TH_OS_FILE_WRITE,
                                     .bytes = q->bytes,
                                     .size = q->size,
                                     .offset = q->offset};
    TH_LOCKED(&r->lock);
    int code = r->in_flight == ENTRIES ? -EBUSY : 0;
    code = code ? code : th_os_ring_put(&r->os, &transfer, (uint64_t)(uintptr_t)operation);
    if (!code) {
        r->in_flight++;
        r->put[r->put_count++] = operation;
        begin(r, worker);
        take_ends(r, NULL); /* transfers from the page cache have ended by now */
    }
    return code;
}

/* It could not be put into the ring: its caller is woken as if it had come back. */
static void take_back(th_operation *operation) {
    th_lock_acquire(&th_file_jobs.lock);
    th_waiter *chain = th_jobs_done(&th_file_jobs, &operation->job);
    th_lock_release(&th_file_jobs.lock);
    th_waitlist_wake_all(chain);
}

static bool is_done(const th_operation *operation) {
    TH_LOCKED(&th_file_jobs.lock);
    return operation->job.state == TH_JOB_DONE;
}

bool th_ring_ask(th_operation *operation, thrum_time deadline, int *code) {
    th_worker *worker = th_here();
    ring *r = worker && !worker->bound ? own(worker) : NULL;
    th_waiter me;
    if (!r) {
        return false;
    }
    th_jobs_begin(&th_file_jobs);
    th_lock_acquire(&th_file_jobs.lock);
    operation->asked = true;
    th_jobs_begun(&th_file_jobs, &operation->job);
    th_jobs_join(&th_file_jobs, &operation->job, &me, operation->told);
    th_lock_release(&th_file_jobs.lock);
    if (put(r, worker, operation)) {
        take_back(operation);
    } else {
        th_add_relaxed(&xtransfers, 1u); /* relaxed: a figure */
    }
    const bool at_once = is_done(operation);
    *code = th_file_pool_wait(operation, &me, deadline);
    if (!*code && !operation->made) {
        *code = th_file_pool_ask(operation, deadline); /* a thread makes it */
        th_call_has_waited();
    } else if (at_once) {
        th_call_was_ready(); /* it has not suspended, so others may be due */
    } else {
        th_call_has_waited();
    }
    return true;
}
