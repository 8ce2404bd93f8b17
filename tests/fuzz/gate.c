/*
 * gate.c: see gate.h. Invariant: `running`, under the lock, counts the threads that neither rest
 * nor are blocked. A waker stores to the word and then takes the lock for the wake; a thread that
 * is about to be blocked compares the word under the lock. So no wake is lost, as with the
 * system's.
 */
#include "gate.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cc.h"
#include "fuzz.h"
#include "platform/platform.h"

int __wrap_th_os_futex_wait(uint32_t *xword, uint32_t value, int64_t deadline);
int __real_th_os_futex_wait(uint32_t *xword, uint32_t value, int64_t deadline);
void __wrap_th_os_futex_wake(uint32_t *xword, int n);
void __real_th_os_futex_wake(uint32_t *xword, int n);

typedef struct gated {
    pthread_t id;
    pthread_cond_t cond;
    bool turn;       /* it may take a step */
    uint32_t *xword; /* the word that it is blocked on; NULL: none */
    int64_t deadline;
    int result;
} gated;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t settled;
    gated threads[THREADS];
    int count, running;
    atomic_long moves; /* written under the lock */
    bool over;
    void (*life)(int number);
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .settled = PTHREAD_COND_INITIALIZER};

static _Thread_local gated *me; /* NULL: the thread is none of these */

/* Called with the lock. */
static void goes_on(gated *t) {
    gate.running++;
    atomic_fetch_add(&gate.moves, 1);
    pthread_cond_signal(&t->cond);
}

/* Called with the lock. */
static void rests(void) {
    if (--gate.running == 0) {
        pthread_cond_signal(&gate.settled);
    }
}

/* ---- blocked ---- */

/* The value of a lock of the library's own (core/basis/lock.c) that is waited for. It is held for a
 * moment, perhaps by a worker that has nothing to do, so a thread that waits for it counts as
 * running. */
#define LOCK_WAITED_FOR 2u

TH_NO_TSAN static uint32_t look(const uint32_t *xword) {
    return __atomic_load_n(xword, __ATOMIC_SEQ_CST);
}

int __wrap_th_os_futex_wait(uint32_t *xword, uint32_t value, int64_t deadline) {
    if (!me || value == LOCK_WAITED_FOR) {
        return __real_th_os_futex_wait(xword, value, deadline);
    }
    int result = -EAGAIN;
    pthread_mutex_lock(&gate.lock);
    if (look(xword) == value) {
        me->result = -ETIMEDOUT;
        if (deadline > th_os_now()) {
            me->xword = xword;
            me->deadline = deadline;
            rests();
            while (me->xword) {
                pthread_cond_wait(&me->cond, &gate.lock);
            }
        }
        result = me->result;
    }
    pthread_mutex_unlock(&gate.lock);
    return result;
}

/* Called with the lock. */
static void unblock(gated *t, int result) {
    t->xword = NULL;
    t->result = result;
    goes_on(t);
}

void __wrap_th_os_futex_wake(uint32_t *xword, int n) {
    pthread_mutex_lock(&gate.lock);
    for (int i = 0; i < gate.count && n > 0; i++) {
        if (gate.threads[i].xword == xword) {
            unblock(&gate.threads[i], 0);
            n--;
        }
    }
    pthread_mutex_unlock(&gate.lock);
    if (n > 0) {
        __real_th_os_futex_wake(xword, n);
    }
}

void gate_time_is(int64_t now) {
    pthread_mutex_lock(&gate.lock);
    for (int i = 0; i < gate.count; i++) {
        gated *t = &gate.threads[i];
        if (t->xword && t->deadline <= now) {
            unblock(t, -ETIMEDOUT);
        }
    }
    pthread_mutex_unlock(&gate.lock);
}

/* ---- turns ---- */

static void *begins(void *arg) {
    me = arg;
    gate.life((int)(me - gate.threads));
    return NULL;
}

void gate_begin(int count, void (*life)(int number)) {
    gate.life = life;
    gate.over = false;
    gate.count = count;
    gate.running = count;
    for (int i = 0; i < count; i++) {
        gated *t = &gate.threads[i];
        *t = (gated){.cond = PTHREAD_COND_INITIALIZER};
        if (pthread_create(&t->id, NULL, begins, t) != 0) {
            abort();
        }
    }
}

bool gate_turn(int number) {
    gated *t = &gate.threads[number];
    pthread_mutex_lock(&gate.lock);
    rests();
    while (!t->turn && !gate.over) {
        pthread_cond_wait(&t->cond, &gate.lock);
    }
    t->turn = false;
    bool over = gate.over;
    pthread_mutex_unlock(&gate.lock);
    return !over;
}

void gate_go(int number) {
    gated *t = &gate.threads[number];
    pthread_mutex_lock(&gate.lock);
    t->turn = true;
    goes_on(t);
    pthread_mutex_unlock(&gate.lock);
}

long gate_settle(void) {
    pthread_mutex_lock(&gate.lock);
    while (gate.running != 0) {
        pthread_cond_wait(&gate.settled, &gate.lock);
    }
    const long moves = gate_moves(); /* with the lock: later ones are not of this moment */
    pthread_mutex_unlock(&gate.lock);
    return moves;
}

long gate_moves(void) {
    return atomic_load(&gate.moves);
}

void gate_end(void) {
    pthread_mutex_lock(&gate.lock);
    gate.over = true;
    for (int i = 0; i < gate.count; i++) {
        goes_on(&gate.threads[i]);
    }
    pthread_mutex_unlock(&gate.lock);
    for (int i = 0; i < gate.count; i++) {
        pthread_join(gate.threads[i].id, NULL);
    }
}
