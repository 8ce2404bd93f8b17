/*
 * futex.c: sleeping on a word and waking its sleepers, by a mutex and a condition variable.
 *
 * A sleeper is in a list, with its own mutex and condition variable; the word's address selects the
 * list. The list's lock is held while the word is compared and while sleepers are taken off, so a
 * wake that comes after the word has changed finds the sleeper or keeps it from sleeping. The word
 * itself is only read by the sleeper: a waker does not touch it. A sleeper that was taken off stays
 * until it has been woken.
 *
 * Handlers of signals wake, too (io/signal.c, core/watch/dump_signal.c). The lists' locks have
 * signals blocked (masked_lock.h). A thread that lets signals in, *exposed*, sleeps without
 * blocking them, so a handler may interrupt it while it holds its own mutex. So such a mutex is
 * taken without any list's lock, and never by a handler: that only sets the sleeper's word, and an
 * exposed thread looks at its word every SLICE_NS. All others, the library's own threads too,
 * sleep with all signals blocked until woken: a signal sent to such a thread waits that long.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <time.h>

#include "base/atomic.h"
#include "platform/posix/masked_lock.h"

#define LISTS 64u
#define SLICE_NS 20000000

typedef struct sleeper {
    struct sleeper *next;
    const uint32_t *word;
    bool exposed; /* handlers may run on its thread while it sleeps */
    uint32_t xwoken;
    pthread_mutex_t lock;
    pthread_cond_t cond;
} sleeper;

typedef struct list {
    pthread_mutex_t lock;
    sleeper *first;
} list;

static list lists[LISTS];

/* ---- forks ---- */

static sigset_t forks_mask; /* of the thread that forks; with all locks */

static void before_fork(void) {
    sigset_t before;
    th_masked_lock(&lists[0].lock, &before);
    for (unsigned i = 1; i < LISTS; i++) {
        pthread_mutex_lock(&lists[i].lock);
    }
    forks_mask = before;
}

static void in_parent(void) {
    const sigset_t before = forks_mask;
    for (unsigned i = 1; i < LISTS; i++) {
        pthread_mutex_unlock(&lists[i].lock);
    }
    th_masked_unlock(&lists[0].lock, &before);
}

/* The sleepers are not in this process. */
static void in_child(void) {
    for (unsigned i = 0; i < LISTS; i++) {
        lists[i].first = NULL;
    }
    in_parent();
}

__attribute__((constructor(101))) static void set_up(void) {
    for (unsigned i = 0; i < LISTS; i++) {
        pthread_mutex_init(&lists[i].lock, NULL);
    }
    (void)pthread_atfork(before_fork, in_parent, in_child);
}

static list *list_of(const uint32_t *word) {
    const uint64_t at = (uint64_t)(uintptr_t)word >> 2;
    return &lists[(at * UINT64_C(0x9E3779B97F4A7C15)) >> 58];
}

/* ---- sleeping ---- */

static void sleeper_init(sleeper *s, const uint32_t *word, bool exposed) {
    pthread_condattr_t attributes;
    *s = (sleeper){.word = word, .exposed = exposed};
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&s->cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* With the list's lock. False: a waker has taken it off. */
static bool take_off(list *l, const sleeper *s) {
    return TH_UNLINK(&l->first, s, next);
}

/* Whether a thread with this mask lets in any signal that the library's own threads block. */
static bool is_exposed(const sigset_t *mask) {
    for (int number = 1; number < TH_OS_SIGNALS; number++) {
        if (th_os_signal_asks(number) && sigismember(mask, number) == 0) {
            return true;
        }
    }
    return false;
}

/* Sleeps until it is woken, or the deadline has passed. */
static void sleep_until(sleeper *s, int64_t deadline) {
    bool late = false;
    pthread_mutex_lock(&s->lock);
    /* relaxed: the lock orders it; a handler that sets it has interrupted this very thread, or
     * orders it by the list's lock */
    while (!th_load_relaxed(&s->xwoken) && !late) {
        const int64_t slice = s->exposed ? th_os_now() + SLICE_NS : TH_FOREVER;
        const int64_t until = deadline < slice ? deadline : slice;
        if (until == TH_FOREVER) {
            pthread_cond_wait(&s->cond, &s->lock);
        } else {
            const int64_t at = until > 0 ? until : 0;
            const struct timespec t = {(time_t)(at / 1000000000), (long)(at % 1000000000)};
            pthread_cond_timedwait(&s->cond, &s->lock, &t);
            late = deadline != TH_FOREVER && th_os_now() >= deadline;
        }
    }
    pthread_mutex_unlock(&s->lock);
}

int th_os_futex_wait(uint32_t *xword, uint32_t value, int64_t deadline) {
    sleeper me;
    sigset_t before;
    list *l = list_of(xword);
    th_masked_lock(&l->lock, &before);
    /* relaxed: the caller orders its reads; the lock orders it with the wake */
    if (th_load_relaxed(xword) != value) {
        th_masked_unlock(&l->lock, &before);
        return -EAGAIN;
    }
    sleeper_init(&me, xword, is_exposed(&before));
    me.next = l->first;
    l->first = &me;
    pthread_mutex_unlock(&l->lock);
    if (me.exposed) {
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }

    sleep_until(&me, deadline);

    th_masked_lock(&l->lock, NULL);
    const bool woken = !take_off(l, &me);
    pthread_mutex_unlock(&l->lock);
    if (woken) {
        sleep_until(&me, TH_FOREVER); /* until the waker is done with it */
    }
    pthread_cond_destroy(&me.cond);
    pthread_mutex_destroy(&me.lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return woken ? 0 : -ETIMEDOUT;
}

/* ---- waking ---- */

/* Without any list's lock. */
static void wake_all(sleeper *chain) {
    while (chain) {
        sleeper *next = chain->next; /* a woken sleeper may be gone */
        pthread_mutex_lock(&chain->lock);
        th_store_relaxed(&chain->xwoken, 1u); /* relaxed: with the lock */
        pthread_cond_signal(&chain->cond);
        pthread_mutex_unlock(&chain->lock);
        chain = next;
    }
}

void th_os_futex_wake(uint32_t *xword, int n) {
    sleeper *chain = NULL;
    sigset_t before;
    list *l = list_of(xword);
    TH_KEEPS_ERRNO;
    th_masked_lock(&l->lock, &before);
    for (sleeper **at = &l->first; *at && n > 0;) {
        sleeper *s = *at;
        if (s->word != xword) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        n--;
        if (s->exposed && th_handlers_depth) {
            /* relaxed: its thread takes the list's lock, which is held here, before it goes */
            th_store_relaxed(&s->xwoken, 1u);
        } else {
            s->next = chain;
            chain = s;
        }
    }
    pthread_mutex_unlock(&l->lock);
    wake_all(chain);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
