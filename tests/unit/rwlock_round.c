/*
 * rwlock_round.c: readers that a writer has let in past another one, and those that join them.
 */
/* matrix: policy workers */
/* matrix: quick 1 2 8 */
#include <thrum/await.h>

#include "support/actors.h"

typedef struct stage {
    thrum_rwlock lock;
    rig r;
    cast *c;
    atomic_int readers, written, late;
    atomic_bool let_go;
} stage;

static int write_once(void *arg) {
    stage *s = ((actor *)arg)->arg;
    thrum_rwlock_wrlock(&s->lock);
    CHECK_EQ(atomic_load(&s->readers), 0);
    atomic_fetch_add(&s->written, 1);
    thrum_rwlock_unlock(&s->lock);
    return 0;
}

static int write_in_vain(void *arg) {
    stage *s = ((actor *)arg)->arg;
    CHECK_EQ(thrum_rwlock_wrlock_until(&s->lock, thrum_after_ms(2)), -ETIMEDOUT);
    atomic_fetch_add(&s->late, 1);
    return 0;
}

static int read_until_let_go(void *arg) {
    stage *s = ((actor *)arg)->arg;
    thrum_rwlock_rdlock(&s->lock);
    atomic_fetch_add(&s->readers, 1);
    YIELD_UNTIL(atomic_load(&s->let_go));
    atomic_fetch_sub(&s->readers, 1);
    thrum_rwlock_unlock(&s->lock);
    return 0;
}

/* The caller, a writer, lets a reader in past the writer that calls `writes`. */
static void begin_round(stage *s, int (*writes)(void *arg)) {
    *s = (stage){.lock = THRUM_RWLOCK_INIT};
    rig_begin(&s->r, 0);
    s->c = cast_new(&s->r);
    thrum_rwlock_wrlock(&s->lock);
    cast_add(s->c, true, writes, s);
    SPIN_UNTIL(WRITERS_WAITING(&s->lock) == 1 || atomic_load(&s->late) == 1);
    cast_add(s->c, false, read_until_let_go, s);
    SPIN_UNTIL(READERS_WAITING(&s->lock) == 1);
    thrum_rwlock_unlock(&s->lock);
    SPIN_UNTIL(atomic_load(&s->readers) == 1);
}

/* A writer has waited through all that. */
static void end_round(stage *s) {
    CHECK_EQ(WRITERS_WAITING(&s->lock), 1);
    CHECK_EQ(atomic_load(&s->written), 0);
    atomic_store(&s->let_go, true);
    cast_join(s->c);
    CHECK_EQ(atomic_load(&s->written), 1);
    CHECK_EQ(thrum_rwlock_destroy(&s->lock), 0);
    rig_stop(&s->r);
}

static bool can_read(stage *s) {
    if (thrum_rwlock_rdlock_until(&s->lock, 0) != 0)
        return false;
    thrum_rwlock_unlock(&s->lock);
    return true;
}

TEST(others_join_it) {
    /* They do not wait for the writer, which waits for them; a try does not join. */
    stage s;
    begin_round(&s, write_once);
    CHECK_EQ(thrum_rwlock_try_rdlock(&s.lock), -EBUSY);
    thrum_rwlock_rdlock(&s.lock);
    thrum_rwlock_unlock(&s.lock);
    CHECK(can_read(&s));
    cast_add_mixed(s.c, 2, 2, read_until_let_go, &s);
    SPIN_UNTIL(atomic_load(&s.readers) == 5);
    CHECK_EQ(thrum_rwlock_wrlock_until(&s.lock, 0), -ETIMEDOUT);
    end_round(&s);
}

TEST(it_ends_for_newcomers) {
    /* When it is late no more than 31 others join it: the next one waits for the writer. */
    stage s;
    begin_round(&s, write_once);
    const thrum_time late = thrum_now() + THRUM_MS(1);
    SPIN_UNTIL(thrum_now() >= late);
    for (int i = 0; i < 31; i++)
        CHECK(can_read(&s));
    CHECK(!can_read(&s));
    CHECK(!can_read(&s));
    end_round(&s);
}

TEST(it_is_over_with_its_writers) {
    /* When the last writer that waits has given up, the next one that comes is passed by nobody. */
    stage s;
    begin_round(&s, write_in_vain);
    SPIN_UNTIL(atomic_load(&s.late) == 1);
    cast_add(s.c, true, write_once, &s);
    SPIN_UNTIL(WRITERS_WAITING(&s.lock) == 1);
    CHECK(!can_read(&s));
    end_round(&s);
}

TEST(readers_that_nobody_let_in_are_none) {
    /* They had the lock before a writer came: it is the next. */
    stage s = {.lock = THRUM_RWLOCK_INIT};
    rig_begin(&s.r, 0);
    s.c = cast_new(&s.r);
    cast_add(s.c, true, read_until_let_go, &s);
    SPIN_UNTIL(atomic_load(&s.readers) == 1);
    cast_add(s.c, true, write_once, &s);
    SPIN_UNTIL(WRITERS_WAITING(&s.lock) == 1);
    CHECK(!can_read(&s));
    end_round(&s);
}

/* ---- without a stack ---- */

static void never(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    CHECK(false);
}

static int read_on(void *arg) {
    static thrum_task task;
    static thrum_await await;
    stage *s = arg;
    thrum_task_init(&task, never, NULL);
    CHECK_EQ(thrum_rwlock_rdlock_on_until(&s->lock, &await, &task, 0), 1);
    thrum_rwlock_unlock(&s->lock);
    return 0;
}

TEST(a_call_that_does_not_suspend_joins_it) {
    /* It has the lock at once, and posts no task. */
    stage s;
    begin_round(&s, write_once);
    CHECK_EQ(rig_run(&s.r, read_on, &s), 0);
    end_round(&s);
}
