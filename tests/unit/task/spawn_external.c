/*
 * spawn_external.c: task objects of external threads, which each keep some for themselves.
 */
/* matrix: policy workers */
#include "core/ready/external.h"
#include "core/state/external_state.h"
#include "core/state/worker.h"
#include "support/support.h"

#define MANY 300 /* more than two magazines */

static int nothing(void *arg) {
    (void)arg;
    return 0;
}

static void spawn_some(rig *r, thrum_handle **handles, int count) {
    const thrum_attr attr = rig_attr(r);
    for (int i = 0; i < count; i++) {
        CHECK_EQ(thrum_spawn_with(&handles[i], &attr, nothing, NULL), 0);
    }
}

static void join_some(thrum_handle **handles, int count) {
    for (int i = 0; i < count; i++) {
        CHECK_EQ(thrum_join(handles[i], NULL), 0);
    }
}

/* The number of objects that all chunks have. */
static size_t made(rig *r) {
    th_lock_acquire(&r->sched->spawn_slab->lock);
    size_t total = r->sched->spawn_slab->total;
    th_lock_release(&r->sched->spawn_slab->lock);
    return total;
}

/* The most objects that a thread which is still there keeps. */
static unsigned kept_most(rig *r) {
    unsigned most = 0;
    th_lock_acquire(&th_external_lock);
    for (th_external *e = r->sched->externals.first; e; e = e->next_of_sched) {
        const unsigned kept = e->spawn.count + (e->spawn.spare ? TH_MAGAZINE : 0);
        most = kept > most ? kept : most;
    }
    th_lock_release(&th_external_lock);
    return most;
}

static void *spawn_and_join(void *arg) {
    thrum_handle *handles[MANY];
    spawn_some(arg, handles, MANY);
    join_some(handles, MANY);
    return NULL;
}

TEST(a_threads_objects_come_home_when_it_ends) {
    /* The second thread and all others find those of the first. */
    rig r;
    rig_begin(&r, 0);
    size_t first = 0;
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, spawn_and_join, &r), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        first = i == 0 ? made(&r) : first;
    }
    CHECK_EQ(made(&r), first);
    rig_stop(&r);
}

TEST(a_thread_keeps_no_more_than_it_needed) {
    /* One that has begun n tasks has fetched fewer than 2n objects; one that puts back a crowd's
     * keeps two magazines of them at most. */
    rig r;
    thrum_handle *handles[MANY];
    rig_begin(&r, 0);
    for (int n = 1; n <= 64; n *= 2) {
        spawn_some(&r, handles, n);
        CHECK(kept_most(&r) < (unsigned)n);
        for (int i = 0; i < n; i++) {
            CHECK_EQ(thrum_detach(handles[i]), 0);
        }
        rig_wait_done(&r);
    }
    spawn_some(&r, handles, MANY);
    join_some(handles, MANY);
    CHECK(kept_most(&r) <= 2 * TH_MAGAZINE);
    rig_stop(&r);
}

TEST(objects_are_kept_over_a_stop_by_nobody) {
    /* A thread that stays, and goes on with the next scheduler; handles of the first are given up
     * after it has stopped. rig_check_freed fails if anything is left. */
    thrum_handle *handles[10][MANY / 10];
    for (int i = 0; i < 10; i++) {
        rig r;
        rig_begin(&r, 0);
        spawn_some(&r, handles[i], MANY / 10);
        join_some(handles[i], MANY / 20);
        watchdog_remove(&r);
        CHECK_EQ(thrum_sched_stop(r.sched), 0);
        join_some(&handles[i][MANY / 20], MANY / 20);
        rig_check_freed(&r);
    }
}

typedef struct leaver {
    rig *r;
    thrum_handle *handles[MANY];
    atomic_bool spawned;
    atomic_bool *go;
} leaver;

static void *detach_beside_stop(void *arg) {
    leaver *l = arg;
    spawn_some(l->r, l->handles, MANY);
    atomic_store(&l->spawned, true);
    SPIN_UNTIL(atomic_load(l->go));
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(thrum_detach(l->handles[i]), 0);
    }
    return NULL;
}

TEST(handles_are_given_up_beside_a_stop) {
    /* Each object goes to its thread's own before the scheduler forgets the thread, else to the
     * slab, which the last one frees. */
    for (int round = 0; round < 20; round++) {
        rig r;
        static leaver leavers[3];
        pthread_t threads[COUNT_OF(leavers)];
        atomic_bool go;
        atomic_init(&go, false);
        rig_begin(&r, 0);
        for (size_t i = 0; i < COUNT_OF(leavers); i++) {
            leavers[i].r = &r;
            leavers[i].go = &go;
            atomic_init(&leavers[i].spawned, false);
            CHECK_EQ(pthread_create(&threads[i], NULL, detach_beside_stop, &leavers[i]), 0);
        }
        for (size_t i = 0; i < COUNT_OF(leavers); i++) {
            SPIN_UNTIL(atomic_load(&leavers[i].spawned));
        }
        rig_wait_done(&r);
        watchdog_remove(&r);
        atomic_store(&go, true);
        CHECK_EQ(thrum_sched_stop(r.sched), 0);
        for (size_t i = 0; i < COUNT_OF(leavers); i++) {
            CHECK_EQ(pthread_join(threads[i], NULL), 0);
        }
        rig_check_freed(&r);
    }
}
