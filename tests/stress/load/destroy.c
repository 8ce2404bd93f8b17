/*
 * destroy.c: a primitive on the heap is destroyed and freed as soon as the wait on it has returned.
 */
/* matrix: policy workers */
#include "support/support.h"

typedef struct sync_set {
    thrum_mutex mutex;
    thrum_cond cond;
    thrum_sem sem;
    thrum_event event;
    thrum_waitgroup group;
    bool ready; /* protected by mutex */
} sync_set;

static sync_set *make(thrum_event_mode mode, unsigned count) {
    sync_set *s = malloc(sizeof(*s));
    CHECK(s != NULL);
    thrum_mutex_init(&s->mutex);
    thrum_cond_init(&s->cond);
    thrum_sem_init(&s->sem, 0);
    thrum_event_init(&s->event, mode, false);
    thrum_waitgroup_init(&s->group, count);
    s->ready = false;
    return s;
}

static void unmake(sync_set *s) {
    memset(s, 0xdd, sizeof(*s)); /* a later access finds nonsense */
    free(s);
}

/* Runs fn in several fibers, and in plain threads as well. */
typedef struct stage {
    rig r;
    thrum_fn fn;
    thrum_fn waker;
    int rounds;
} stage;

static int rounds_of(void *arg) {
    const stage *st = arg;
    for (int i = 0; i < st->rounds; i++) {
        CHECK_EQ(st->fn((void *)(uintptr_t)st), 0);
    }
    return 0;
}

static void *rounds_in_thread(void *seat) {
    rounds_of(((crew_seat *)seat)->arg);
    return NULL;
}

static void perform(thrum_fn fn, thrum_fn waker, int rounds) {
    static stage st;
    crew c;
    st.fn = fn;
    st.waker = waker;
    st.rounds = rounds;
    rig_begin(&st.r, 0);
    for (int i = 0; i < 6; i++) {
        rig_go(&st.r, rounds_of, &st);
    }
    crew_start(&c, 2, rounds_in_thread, &st);
    crew_join(&c);
    rig_stop(&st.r);
}

/* ---- semaphore ---- */

static int post_sem(void *arg) {
    thrum_sem_post(&((sync_set *)arg)->sem);
    return 0;
}

static int sem_round(void *arg) {
    stage *st = arg;
    sync_set *s = make(THRUM_EVENT_AUTO, 0);
    rig_go(&st->r, st->waker, s);
    CHECK_EQ(thrum_sem_wait(&s->sem), 0);
    CHECK_EQ(thrum_sem_destroy(&s->sem), 0);
    unmake(s);
    return 0;
}

TEST(semaphore_after_its_wait) {
    /* The poster's last access comes before the waiter goes on. */
    perform(sem_round, post_sem, SCALED(3000));
}

/* ---- event ---- */

static int signal_event(void *arg) {
    thrum_event_signal(&((sync_set *)arg)->event);
    return 0;
}

static int event_round(void *arg) {
    stage *st = arg;
    sync_set *s = make(THRUM_EVENT_AUTO, 0);
    rig_go(&st->r, st->waker, s);
    CHECK_EQ(thrum_event_wait(&s->event), 0);
    CHECK_EQ(thrum_event_destroy(&s->event), 0);
    unmake(s);
    return 0;
}

TEST(auto_event_after_its_wait) {
    /* The signaler's last access comes before the waiter goes on. */
    perform(event_round, signal_event, SCALED(3000));
}

static int manual_round(void *arg) {
    stage *st = arg;
    sync_set *s = make(THRUM_EVENT_MANUAL, 0);
    rig_go(&st->r, st->waker, s);
    CHECK_EQ(thrum_event_wait(&s->event), 0);
    CHECK_EQ(thrum_event_destroy(&s->event), 0);
    unmake(s);
    return 0;
}

TEST(manual_event_after_its_wait) {
    /* So it is with a manual event for which only one waits. */
    perform(manual_round, signal_event, SCALED(3000));
}

/* ---- waitgroup ---- */

static int group_done(void *arg) {
    thrum_waitgroup_done(&((sync_set *)arg)->group);
    return 0;
}

static int group_round(void *arg) {
    stage *st = arg;
    sync_set *s = make(THRUM_EVENT_AUTO, 5);
    for (int i = 0; i < 5; i++) {
        rig_go(&st->r, st->waker, s);
    }
    CHECK_EQ(thrum_waitgroup_wait(&s->group), 0);
    CHECK_EQ(thrum_waitgroup_destroy(&s->group), 0);
    unmake(s);
    return 0;
}

TEST(waitgroup_after_its_wait) {
    /* A waitgroup is made, waited on for five tasks, and freed, in a loop. */
    perform(group_round, group_done, SCALED(1500));
}

/* ---- mutex ---- */

static int lock_and_leave(void *arg) {
    sync_set *s = arg;
    thrum_mutex_lock(&s->mutex);
    s->ready = true;
    thrum_mutex_unlock(&s->mutex); /* the next owner may free it */
    return 0;
}

static int mutex_round(void *arg) {
    stage *st = arg;
    sync_set *s = make(THRUM_EVENT_AUTO, 0);
    rig_go(&st->r, st->waker, s);
    for (;;) {
        thrum_mutex_lock(&s->mutex);
        const bool ready = s->ready;
        thrum_mutex_unlock(&s->mutex);
        if (ready) {
            break;
        }
        thrum_yield();
    }
    CHECK_EQ(thrum_mutex_destroy(&s->mutex), 0);
    unmake(s);
    return 0;
}

TEST(mutex_after_the_last_owner_but_one) {
    /* The fiber that unlocked before does not touch it any more. */
    perform(mutex_round, lock_and_leave, SCALED(2000));
}

/* ---- cond ---- */

static int signal_cond(void *arg) {
    sync_set *s = arg;
    thrum_mutex_lock(&s->mutex);
    s->ready = true;
    thrum_cond_signal(&s->cond);
    thrum_mutex_unlock(&s->mutex);
    return 0;
}

static int cond_round(void *arg) {
    stage *st = arg;
    sync_set *s = make(THRUM_EVENT_AUTO, 0);
    rig_go(&st->r, st->waker, s);
    thrum_mutex_lock(&s->mutex);
    while (!s->ready) {
        CHECK_EQ(thrum_cond_wait(&s->cond, &s->mutex), 0);
    }
    thrum_mutex_unlock(&s->mutex);
    CHECK_EQ(thrum_cond_destroy(&s->cond), 0);
    CHECK_EQ(thrum_mutex_destroy(&s->mutex), 0);
    unmake(s);
    return 0;
}

TEST(cond_and_mutex_after_the_wait) {
    /* Both are freed right after the wait has returned and the mutex was released. */
    perform(cond_round, signal_cond, SCALED(2500));
}

/* ---- several waiters that are woken together ---- */

typedef struct party {
    sync_set *s;
    atomic_int left;
} party;

static int leave_party(void *arg) {
    party *p = arg;
    CHECK_EQ(thrum_event_wait(&p->s->event), 0);
    if (atomic_fetch_sub(&p->left, 1) == 1) {
        CHECK_EQ(thrum_event_destroy(&p->s->event), 0);
        unmake(p->s);
        free(p);
    }
    return 0;
}

static int broadcast_round(void *arg) {
    stage *st = arg;
    party *p = malloc(sizeof(*p));
    CHECK(p != NULL);
    p->s = make(THRUM_EVENT_MANUAL, 0);
    atomic_init(&p->left, 8);
    sync_set *s = p->s;
    for (int i = 0; i < 8; i++) {
        rig_go(&st->r, leave_party, p);
    }
    thrum_yield();
    thrum_event_signal(&s->event);
    return 0;
}

TEST(manual_event_freed_by_the_last_waiter) {
    /* The signaler is still in its call while the fibers that it woke leave, and the last one frees
     * the event. */
    perform(broadcast_round, NULL, SCALED(1000));
}

/* ---- handles ---- */

static int nothing(void *arg) {
    (void)arg;
    return 0;
}

static int join_round(void *arg) {
    stage *st = arg;
    const thrum_attr attr = rig_attr(&st->r);
    thrum_handle *handle = NULL;
    CHECK_EQ(thrum_spawn_with(&handle, &attr, nothing, NULL), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, nothing, NULL), 0);
    CHECK_EQ(thrum_detach(handle), 0);
    return 0;
}

TEST(handles_after_join_and_detach) {
    /* The handle goes while its task is ending. */
    perform(join_round, NULL, SCALED(2500));
}
