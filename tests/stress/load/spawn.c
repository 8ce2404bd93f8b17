/*
 * spawn.c: storms of spawn, join and detach, by fibers and by plain threads.
 */
/* matrix: policy workers */
#include "support/support.h"

typedef struct storm {
    rig *r;
    int rounds;
    atomic_int ran;
} storm;

static int quick(void *arg) {
    storm *s = arg;
    atomic_fetch_add(&s->ran, 1);
    return 21;
}

static int slow(void *arg) {
    thrum_yield();
    thrum_yield();
    return quick(arg);
}

/* Spawns handfuls and gives each handle up in its own way and order. */
static int spawn_and_settle(void *arg) {
    storm *s = arg;
    thrum_attr attr = rig_attr(s->r);
    thrum_handle *handles[12];
    int result = 0;
    for (int i = 0; i < s->rounds; i++) {
        for (int k = 0; k < 12; k++) {
            attr.flags = k % 5 == 4 ? THRUM_NEXT : 0;
            attr.name = k % 4 == 1 ? "one of many" : NULL;
            attr.stack_size = k % 6 == 5 ? 64u << 10 : 0;
            CHECK_EQ(thrum_spawn_with(&handles[k], &attr, k % 3 == 0 ? slow : quick, s), 0);
        }
        for (int k = 0; k < 12; k++) {
            thrum_handle *handle = handles[i % 2 == 0 ? k : 11 - k];
            if ((i + k) % 4 == 3) {
                CHECK_EQ(thrum_detach(handle), 0);
            } else {
                result = 0;
                CHECK_EQ(thrum_join(handle, &result), 0);
                CHECK_EQ(result, 21);
            }
        }
    }
    return 0;
}

static void *spawn_in_thread(void *seat) {
    spawn_and_settle(((crew_seat *)seat)->arg);
    return NULL;
}

TEST(spawned_joined_and_detached) {
    /* Fibers and threads join and detach before and after the end, in order and against it. */
    rig r;
    crew c;
    storm s = {.r = &r, .rounds = SCALED(500)};
    rig_begin(&r, 0);
    for (int i = 0; i < 8; i++) {
        rig_go(&r, spawn_and_settle, &s);
    }
    crew_start(&c, 2, spawn_in_thread, &s);
    crew_join(&c);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&s.ran), 10 * 12 * s.rounds);
}

/* ---- handles that change hands ---- */

#define MAILBOX 64

typedef struct mailbox {
    thrum_sem full, empty;
    thrum_mutex mutex;
    thrum_handle *handles[MAILBOX]; /* a ring, protected by mutex */
    int head, count;
    int rounds;
    rig *r;
} mailbox;

static int end_somehow(void *arg) {
    if (((uintptr_t)arg & 1) != 0) {
        thrum_yield();
    }
    return 5;
}

static int send_handles(void *arg) {
    mailbox *m = arg;
    const thrum_attr attr = rig_attr(m->r);
    for (int i = 0; i < m->rounds; i++) {
        thrum_handle *handle = NULL;
        CHECK_EQ(thrum_spawn_with(&handle, &attr, end_somehow, (void *)(uintptr_t)i), 0);
        CHECK_EQ(thrum_sem_wait(&m->empty), 0);
        thrum_mutex_lock(&m->mutex);
        m->handles[(m->head + m->count) % MAILBOX] = handle;
        m->count++;
        thrum_mutex_unlock(&m->mutex);
        thrum_sem_post(&m->full);
    }
    return 0;
}

static int join_what_comes(void *arg) {
    mailbox *m = arg;
    for (int i = 0; i < m->rounds; i++) {
        int result = 0;
        CHECK_EQ(thrum_sem_wait(&m->full), 0);
        thrum_mutex_lock(&m->mutex);
        thrum_handle *handle = m->handles[m->head];
        m->head = (m->head + 1) % MAILBOX;
        m->count--;
        thrum_mutex_unlock(&m->mutex);
        thrum_sem_post(&m->empty);
        CHECK_EQ(thrum_join(handle, &result), 0);
        CHECK_EQ(result, 5);
    }
    return 0;
}

static void *join_in_thread(void *seat) {
    join_what_comes(((crew_seat *)seat)->arg);
    return NULL;
}

static void *send_in_thread(void *seat) {
    send_handles(((crew_seat *)seat)->arg);
    return NULL;
}

TEST(handles_are_joined_by_others) {
    /* A fiber or thread joins what another fiber or thread has spawned. */
    rig r;
    crew senders, joiners;
    mailbox m = {.r = &r,
                 .rounds = SCALED(4000),
                 .full = THRUM_SEM_INIT(0),
                 .empty = THRUM_SEM_INIT(MAILBOX),
                 .mutex = THRUM_MUTEX_INIT};
    rig_begin(&r, 0);
    for (int i = 0; i < 3; i++) {
        rig_go(&r, send_handles, &m);
        rig_go(&r, join_what_comes, &m);
    }
    crew_start(&senders, 1, send_in_thread, &m);
    crew_start(&joiners, 1, join_in_thread, &m);
    crew_join(&senders);
    crew_join(&joiners);
    rig_stop(&r);
    CHECK_EQ(m.count, 0);
}

/* ---- more than fit ---- */

static thrum_sem crowd_sem = THRUM_SEM_INIT(0);

static int stand_in_crowd(void *arg) {
    CHECK_EQ(thrum_sem_wait(&crowd_sem), 0);
    return quick(arg);
}

static int gather_and_release(void *arg) {
    storm *s = arg;
    for (int i = 0; i < s->rounds; i++) {
        for (int k = 0; k < 500; k++) {
            CHECK_EQ(thrum_go(stand_in_crowd, s), 0);
        }
        thrum_yield();
        for (int k = 0; k < 500; k++) {
            thrum_sem_post(&crowd_sem);
        }
        YIELD_UNTIL(atomic_load(&s->ran) == (i + 1) * 500);
    }
    return 0;
}

TEST(crowds_come_and_go) {
    /* Five hundred fibers block at a time: stacks are taken and given back in storms. */
    rig r;
    storm s = {.r = &r, .rounds = SCALED(40)};
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, gather_and_release, &s), 0);
    rig_stop(&r);
}
