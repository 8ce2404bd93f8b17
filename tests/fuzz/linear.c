/*
 * linear.c: real runs of two or three actors on one object; each history is checked
 * (linear_check.c).
 *
 *     thrum-linear [--histories N] [--seconds S] [--seed N] [--object NAME] [--workers N]
 *
 * The actors are two fibers on workers of their own and, in half of the histories, a plain thread.
 * A history that no order explains is printed, and the program aborts. The objects broken-semaphore
 * and broken-channel are plants: with them such a history must be found, or the program fails.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#include "linear.h"

#define REQUIRE(cond)                                                                              \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "linear: line %d: %s\n", __LINE__, #cond);                             \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

typedef struct broken {
    atomic_int n;
    atomic_int first;
    atomic_int elems[64];
} broken;

static struct {
    object_kind kind;
    thrum_sem sem;
    thrum_mutex mutex;
    thrum_event event;
    thrum_pool *pool;
    thrum_chan *chan;
    broken broken;
} object;

static struct {
    long histories;
    double seconds;
    uint32_t seed;
    int only; /* -1: all but the plants */
    unsigned workers;
} want = {20000, 0, 1, -1, 4};

static history shared;          /* the history of this round */
static int planned[ACTORS_MAX]; /* calls of each actor */
static atomic_ulong ticks;      /* the order of begins and ends */
static atomic_long round_begun; /* the number of the round that the actors may do */
static atomic_int round_ended;  /* actors that have done it */
static atomic_int actors_ready; /* for the start line */
static atomic_bool over;
static void *borrowed[ACTORS_MAX][CALLS_MAX];
static int held[ACTORS_MAX]; /* what each actor holds: the mutex, or pool items */

static void pause_a_little(int i) {
    if (i % 256 == 255) {
        sched_yield();
    }
}

static uint32_t rnd_of(uint32_t *seed, uint32_t below) {
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

/*
 * Waits until another actor has done something, or seems to have no more to do. Where they share
 * one processor a yield may come back at once; a sleep does not.
 */
static void let_another_go(void) {
    const unsigned long now = atomic_load(&ticks);
    for (int i = 0; i < 10 && atomic_load(&ticks) == now; i++) {
        if (i < 3) {
            sched_yield();
        } else {
            nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
        }
    }
}

/* Opens the plants' window, often enough on few processors, too. */
static void between_two_steps(void) {
    if (atomic_load(&ticks) / 2 % 4 == 0) { /* the ticks of a call that is alone are odd */
        let_another_go();
    }
}

/* ---- calls ---- */

static thrum_time soon(void) {
    return thrum_after_us(5);
}

static int take(int actor, bool waits, int *value) {
    int got = 0, result, n;
    void *item;
    switch (object.kind) {
    case OBJECT_SEM:
        return waits ? thrum_sem_wait_until(&object.sem, soon()) : thrum_sem_try_wait(&object.sem);
    case OBJECT_MUTEX:
        return waits ? thrum_mutex_lock_until(&object.mutex, soon())
                     : thrum_mutex_try_lock(&object.mutex);
    case OBJECT_AUTO:
        if (waits) {
            return thrum_event_wait_until(&object.event, soon());
        }
        return thrum_event_test(&object.event) ? 0 : -EAGAIN;
    case OBJECT_MANUAL:
        if (waits) {
            return thrum_event_wait_until(&object.event, soon());
        }
        return thrum_event_is_signaled(&object.event) ? 0 : -EAGAIN;
    case OBJECT_POOL:
        result = waits ? thrum_pool_borrow_until(object.pool, &item, soon())
                       : thrum_pool_try_borrow(object.pool, &item);
        if (result == 0) {
            borrowed[actor][held[actor]] = item;
        }
        return result;
    case OBJECT_CHAN:
        result = waits ? thrum_chan_recv_until(object.chan, &got, soon())
                       : thrum_chan_try_recv(object.chan, &got);
        *value = got;
        return result;
    case OBJECT_BROKEN_SEM:
        n = atomic_load(&object.broken.n);
        if (n == 0) {
            return waits ? -ETIMEDOUT : -EAGAIN;
        }
        between_two_steps();
        atomic_store(&object.broken.n, n - 1); /* two actors may take the same one */
        return 0;
    default:
        n = atomic_load(&object.broken.first);
        if (n == atomic_load(&object.broken.n)) {
            return waits ? -ETIMEDOUT : -EAGAIN;
        }
        *value = atomic_load(&object.broken.elems[n]);
        between_two_steps();
        atomic_store(&object.broken.first, n + 1); /* likewise */
        return 0;
    }
}

static int give(int actor, bool waits, int value) {
    switch (object.kind) {
    case OBJECT_SEM:
        thrum_sem_post(&object.sem);
        return 0;
    case OBJECT_MUTEX:
        thrum_mutex_unlock(&object.mutex);
        return 0;
    case OBJECT_AUTO:
    case OBJECT_MANUAL:
        thrum_event_signal(&object.event);
        return 0;
    case OBJECT_POOL:
        thrum_pool_give_back(object.pool, borrowed[actor][held[actor] - 1]);
        return 0;
    case OBJECT_CHAN:
        return waits ? thrum_chan_send_until(object.chan, &value, soon())
                     : thrum_chan_try_send(object.chan, &value);
    case OBJECT_BROKEN_SEM:
        atomic_fetch_add(&object.broken.n, 1);
        return 0;
    default:
        actor = atomic_fetch_add(&object.broken.n, 1); /* counted before the element is there */
        atomic_store(&object.broken.elems[actor], value);
        return 0;
    }
}

/* Makes a call; one that would be misuse becomes another: an actor gives back only what it has. */
static void one_call(call *c) {
    const bool owns = object.kind == OBJECT_MUTEX || object.kind == OBJECT_POOL;
    if (object.kind == OBJECT_MUTEX && held[c->actor] > 0) {
        c->kind = GIVE;
    }
    if (owns && c->kind == GIVE && held[c->actor] == 0) {
        c->kind = TAKE;
    }
    c->begun = atomic_fetch_add(&ticks, 1);
    if (c->kind == TAKE || c->kind == TAKE_UNTIL) {
        c->result = take(c->actor, c->kind == TAKE_UNTIL, &c->value);
    } else if (c->kind == GIVE || c->kind == GIVE_UNTIL) {
        c->result = give(c->actor, c->kind == GIVE_UNTIL, c->value);
    } else if (c->kind == CLOSE) {
        c->result = thrum_chan_close(object.chan);
    } else {
        thrum_event_clear(&object.event);
        c->result = 0;
    }
    c->ended = atomic_fetch_add(&ticks, 1);
    if (owns) {
        held[c->actor] += c->kind == GIVE ? -1 : c->result == 0;
    }
}

/* ---- rounds ---- */

static int actor_rounds(void *arg) {
    const int actor = (int)(intptr_t)arg;
    uint32_t seed = (uint32_t)actor * 77 + 1;
    for (long round = 1;; round++) {
        for (int i = 0; atomic_load(&round_begun) < round; i++) {
            if (atomic_load(&over)) {
                return 0;
            }
            pause_a_little(i);
        }
        if (planned[actor] > 0) {
            int first = 0, active = 0;
            for (int a = 0; a < ACTORS_MAX; a++) {
                first += a < actor ? planned[a] : 0;
                active += planned[a] > 0;
            }
            atomic_fetch_add(&actors_ready, 1);
            for (int i = 0; atomic_load(&actors_ready) < active; i++) {
                pause_a_little(i);
            }
            for (int i = 0; i < planned[actor]; i++) {
                if (rnd_of(&seed, 4) == 0) {
                    let_another_go();
                }
                for (atomic_int spin = (int)rnd_of(&seed, 60); spin > 0; spin--) {
                }
                one_call(&shared.calls[first + i]);
            }
        }
        atomic_fetch_add(&round_ended, 1);
    }
}

static void *actor_thread(void *arg) {
    actor_rounds(arg);
    return NULL;
}

static uint32_t rnd(uint32_t below) {
    return rnd_of(&want.seed, below);
}

static call_kind pick(object_kind kind) {
    static const call_kind usual[] = {TAKE, TAKE_UNTIL, GIVE, GIVE};
    static const call_kind events[] = {TAKE, TAKE_UNTIL, GIVE, CLEAR};
    static const call_kind chans[] = {TAKE, TAKE_UNTIL, GIVE, GIVE_UNTIL};
    if (kind == OBJECT_CHAN) {
        return rnd(14) == 0 ? CLOSE : chans[rnd(4)];
    }
    return kind == OBJECT_AUTO || kind == OBJECT_MANUAL ? events[rnd(4)] : usual[rnd(4)];
}

static void plan(object_kind kind) {
    memset(&shared, 0, sizeof(shared));
    memset(held, 0, sizeof(held));
    shared.kind = kind;
    shared.start = (int)rnd(3);
    if (kind == OBJECT_POOL && shared.start == 0) {
        shared.start = 1;
    }
    for (int a = 0; a < ACTORS_MAX; a++) {
        planned[a] = a < 2 || rnd(2) == 0 ? 3 + (int)rnd(3) : 0;
        for (int i = 0; i < planned[a]; i++) {
            call *c = &shared.calls[shared.count++];
            c->actor = a;
            c->kind = pick(kind);
            c->value = c->kind == GIVE || c->kind == GIVE_UNTIL ? shared.count : 0;
        }
    }
}

static void object_make(void) {
    thrum_pool_config config = THRUM_POOL_CONFIG_INIT;
    object.kind = shared.kind;
    thrum_sem_init(&object.sem, (unsigned)shared.start);
    thrum_mutex_init(&object.mutex);
    thrum_event_init(&object.event,
                     shared.kind == OBJECT_AUTO ? THRUM_EVENT_AUTO : THRUM_EVENT_MANUAL, false);
    config.item_size = 8;
    config.capacity = (size_t)shared.start;
    if (shared.kind == OBJECT_POOL) {
        REQUIRE(thrum_pool_create(&object.pool, &config) == 0);
    }
    if (shared.kind == OBJECT_CHAN) {
        REQUIRE(thrum_chan_create(&object.chan, sizeof(int),
                                  shared.start == 0 ? THRUM_UNBOUNDED : (size_t)shared.start) == 0);
    }
    atomic_store(&object.broken.n, shared.kind == OBJECT_BROKEN_SEM ? shared.start : 0);
    atomic_store(&object.broken.first, 0);
    if (shared.kind == OBJECT_BROKEN_CHAN) {
        shared.start = 0;
    }
}

/* A wait that ended late holds nothing back: each object can be destroyed. */
static void object_end(void) {
    int locked = 0;
    for (int a = 0; a < ACTORS_MAX; a++) {
        locked += object.kind == OBJECT_MUTEX ? held[a] : 0;
        for (int i = 0; object.kind == OBJECT_POOL && i < held[a]; i++) {
            thrum_pool_give_back(object.pool, borrowed[a][i]);
        }
    }
    REQUIRE(locked <= 1);
    REQUIRE(thrum_sem_destroy(&object.sem) == 0);
    REQUIRE(thrum_mutex_destroy(&object.mutex) == (locked > 0 ? -EBUSY : 0));
    REQUIRE(thrum_event_destroy(&object.event) == 0);
    if (object.kind == OBJECT_POOL) {
        REQUIRE(thrum_pool_destroy(object.pool) == 0);
    }
    if (object.kind == OBJECT_CHAN) {
        REQUIRE(thrum_chan_destroy(object.chan) == 0);
    }
}

/* Whether two calls of different actors overlap: else a history shows little. */
static bool overlaps(void) {
    for (int i = 0; i < shared.count; i++) {
        for (int j = 0; j < shared.count; j++) {
            const call *a = &shared.calls[i], *b = &shared.calls[j];
            if (a->actor != b->actor && a->begun < b->begun && b->begun < a->ended) {
                return true;
            }
        }
    }
    return false;
}

static void options(int argc, char **argv) {
    static const struct option all[] = {{"histories", 1, NULL, 'h'}, {"seconds", 1, NULL, 't'},
                                        {"seed", 1, NULL, 's'},      {"object", 1, NULL, 'o'},
                                        {"workers", 1, NULL, 'w'},   {NULL, 0, NULL, 0}};
    for (int c; (c = getopt_long(argc, argv, "", all, NULL)) != -1;) {
        if (c == 'h') {
            want.histories = atol(optarg);
        } else if (c == 't') {
            want.seconds = atof(optarg);
        } else if (c == 's') {
            want.seed = strcmp(optarg, "fresh") == 0 ? (uint32_t)thrum_now()
                                                     : (uint32_t)strtoul(optarg, NULL, 0);
        } else if (c == 'w') {
            want.workers = (unsigned)atoi(optarg);
        } else if (c == 'o') {
            for (int k = 0; k < OBJECT_ALL; k++) {
                want.only = strcmp(optarg, object_names[k]) == 0 ? k : want.only;
            }
            if (want.only < 0) {
                exit(2);
            }
        } else {
            exit(2);
        }
    }
}

int main(int argc, char **argv) {
    thrum_config config;
    thrum_sched *sched;
    pthread_t thread;
    long done = 0, overlapping = 0;
    options(argc, argv);
    const uint32_t seed = want.seed;
    thrum_config_init(&config);
    config.workers = want.workers;
    REQUIRE(thrum_sched_start(&sched, &config) == 0);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    attr.flags = THRUM_PINNED; /* the fibers spin for the start, each on a worker of its own */
    for (int a = 0; a < 2; a++) {
        attr.worker = a;
        REQUIRE(thrum_go_with(&attr, actor_rounds, (void *)(intptr_t)a) == 0);
    }
    REQUIRE(pthread_create(&thread, NULL, actor_thread, (void *)(intptr_t)2) == 0);
    const thrum_time end =
        want.seconds > 0 ? thrum_after((thrum_time)(want.seconds * 1e9)) : THRUM_FOREVER;
    const bool plant = want.only >= OBJECT_KINDS;
    bool found = false;
    for (long n = 1; !found && (want.seconds > 0 ? thrum_now() < end : n <= want.histories); n++) {
        plan(want.only >= 0 ? (object_kind)want.only : (object_kind)rnd(OBJECT_KINDS));
        object_make();
        atomic_store(&actors_ready, 0);
        atomic_store(&round_ended, 0);
        atomic_store(&ticks, 0);
        atomic_store(&round_begun, n);
        for (int i = 0; atomic_load(&round_ended) < ACTORS_MAX; i++) {
            pause_a_little(i);
        }
        object_end();
        done++;
        overlapping += overlaps();
        found = !linear_explained(&shared);
    }
    if (found && !plant) {
        fprintf(stderr, "linear: no order explains this history (seed %u):\n", seed);
        linear_print(&shared, stderr);
        abort();
    }
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    REQUIRE(thrum_sched_stop(sched) == 0);
    printf("linear: %ld histories, %ld with calls at the same time, %s: %s\n", done, overlapping,
           want.only >= 0 ? object_names[want.only] : "all objects",
           found ? "the plant was found" : "each is explained");
    if (found) {
        linear_print(&shared, stdout);
    }
    return found == plant ? 0 : 1;
}
