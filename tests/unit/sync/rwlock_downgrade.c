/*
 * rwlock_downgrade.c: a writer of a rwlock that goes on as a reader.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"
#include "support/times.h"

typedef struct stage {
    thrum_rwlock lock;
    atomic_int readers;
    atomic_bool let_go;
    int plain; /* changed by writers */
} stage;

static void downgrade(void *arg) {
    thrum_rwlock_downgrade(arg);
}

static void downgrade_a_read(void *arg) {
    thrum_rwlock_rdlock(arg);
    thrum_rwlock_downgrade(arg);
}

static void downgrade_twice(void *arg) {
    thrum_rwlock_wrlock(arg);
    thrum_rwlock_downgrade(arg);
    thrum_rwlock_downgrade(arg);
}

static int downgrade_anothers(void *arg) {
    thrum_rwlock_downgrade(arg);
    return 0;
}

static void downgrade_in_fiber(void *arg) {
    thrum_rwlock_wrlock(arg);
    rig_do(1, downgrade_anothers, arg);
}

TEST(only_a_writer_downgrades) {
    /* A line names the call. */
    thrum_rwlock lock = THRUM_RWLOCK_INIT;
    static const char line[] = "thrum_rwlock_downgrade: not held for writing by the caller";
    check_dies(downgrade, &lock, line);
    check_dies(downgrade_a_read, &lock, line);
    check_dies(downgrade_twice, &lock, line);
    check_dies(downgrade_in_fiber, &lock, line);
}

TEST(a_downgraded_lock_is_held_for_reading) {
    /* Others may read beside it, and its unlock frees it. */
    thrum_rwlock lock = THRUM_RWLOCK_INIT;
    thrum_rwlock_wrlock(&lock);
    thrum_rwlock_downgrade(&lock);
    CHECK_EQ(thrum_rwlock_try_wrlock(&lock), -EBUSY);
    CHECK_EQ(thrum_rwlock_try_rdlock(&lock), 0);
    thrum_rwlock_unlock(&lock);
    CHECK_EQ(thrum_rwlock_destroy(&lock), -EBUSY);
    thrum_rwlock_unlock(&lock);
    CHECK_EQ(thrum_rwlock_destroy(&lock), 0);
}

static int read_beside(void *arg) {
    stage *s = ((actor *)arg)->arg;
    thrum_rwlock_rdlock(&s->lock);
    CHECK_EQ(s->plain, 1);
    atomic_fetch_add(&s->readers, 1);
    YIELD_UNTIL(atomic_load(&s->let_go));
    CHECK_EQ(s->plain, 1);
    thrum_rwlock_unlock(&s->lock);
    return 0;
}

static int write_behind(void *arg) {
    stage *s = ((actor *)arg)->arg;
    thrum_rwlock_wrlock(&s->lock);
    CHECK_EQ(atomic_load(&s->let_go), true); /* not before all who read have unlocked */
    s->plain++;
    thrum_rwlock_unlock(&s->lock);
    return 0;
}

/* The caller, a writer, downgrades while so many readers and writers wait. */
static void downgrade_before(int readers, int writers) {
    rig r;
    rig_begin(&r, 0);
    stage all = {.lock = THRUM_RWLOCK_INIT};
    stage *s = &all;
    cast *c = cast_new(&r);
    thrum_rwlock_wrlock(&s->lock);
    for (int i = 0; i < writers; i++) {
        cast_add(c, i % 2 != 0, write_behind, s);
    }
    SPIN_UNTIL(WRITERS_WAITING(&s->lock) == writers);
    for (int i = 0; i < readers; i++) {
        cast_add(c, i % 2 == 0, read_beside, s);
    }
    SPIN_UNTIL(READERS_WAITING(&s->lock) == readers);
    s->plain = 1;
    thrum_rwlock_downgrade(&s->lock);
    SPIN_UNTIL(atomic_load(&s->readers) == readers); /* beside the caller */
    CHECK_EQ(WRITERS_WAITING(&s->lock), writers);
    CHECK_EQ(thrum_rwlock_try_rdlock(&s->lock), writers ? -EBUSY : 0);
    if (!writers) {
        thrum_rwlock_unlock(&s->lock);
    }
    CHECK_EQ(s->plain, 1);
    atomic_store(&s->let_go, true);
    thrum_rwlock_unlock(&s->lock);
    cast_join(c);
    CHECK_EQ(s->plain, 1 + writers);
    CHECK_EQ(thrum_rwlock_destroy(&s->lock), 0);
    rig_stop(&r);
}

TEST(waiting_readers_come_in_beside_a_downgraded_writer) {
    /* Writers that wait come after all of them; no wait is forgotten. */
    downgrade_before(3, 0);
    downgrade_before(3, 2);
    downgrade_before(0, 2);
    downgrade_before(0, 0);
}
