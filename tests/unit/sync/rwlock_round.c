/*
 * rwlock_round.c: readers that a writer has let in past another one, and those that join them.
 */
/* matrix: policy workers */
/* wrap: th_os_now */
#include <thrum/await.h>

#include "support/sync/actors.h"
#include "support/sync/stopped_clock.h"

typedef struct stage {
    thrum_rwlock lock;
    rig r;
    cast *c;
    atomic_int readers, written, late;
    atomic_bool let_go;
    int64_t now; /* of the thread that has begun the round: it says how long that is on */
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
    CHECK_EQ(thrum_rwlock_wrlock_until(&s->lock, soon()), -ETIMEDOUT);
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
    s->now = clock_stop();
    thrum_rwlock_unlock(&s->lock);
    SPIN_UNTIL(atomic_load(&s->readers) == 1);
}

/* The round's time has passed. */
static void round_gets_late(void) {
    clock_set(soon());
}

/* A writer has waited through all that. */
static void end_round(stage *s) {
    clock_set(0);
    CHECK_EQ(WRITERS_WAITING(&s->lock), 1);
    CHECK_EQ(atomic_load(&s->written), 0);
    atomic_store(&s->let_go, true);
    cast_join(s->c);
    CHECK_EQ(atomic_load(&s->written), 1);
    CHECK_EQ(thrum_rwlock_destroy(&s->lock), 0);
    rig_stop(&s->r);
}

static bool can_read(stage *s) {
    if (thrum_rwlock_rdlock_until(&s->lock, 0) != 0) {
        return false;
    }
    thrum_rwlock_unlock(&s->lock);
    return true;
}

TEST(others_join_it) {
    /* They do not wait for the writer, which waits for them; a try does not join. */
    enum { N = 100 };
    stage s;
    begin_round(&s, write_once);
    CHECK_EQ(thrum_rwlock_try_rdlock(&s.lock), -EBUSY);
    for (int i = 0; i < N; i++) {
        thrum_rwlock_rdlock(&s.lock);
    }
    CHECK_EQ(thrum_rwlock_wrlock_until(&s.lock, 0), -ETIMEDOUT);
    for (int i = 0; i < N; i++) {
        thrum_rwlock_unlock(&s.lock);
    }
    CHECK(can_read(&s));
    end_round(&s);
}

TEST(it_ends_for_newcomers) {
    /* When it is late nobody joins who looks at the clock: the first, and then at the latest the
     * 16th. */
    stage s;
    begin_round(&s, write_once);
    round_gets_late();
    CHECK(!can_read(&s));
    CHECK(!can_read(&s));
    end_round(&s);
}

TEST(few_join_late) {
    /* Those that come after its time are no more than have joined in it, and than 15. */
    static const int early[] = {1, 2, 3, 5, 8, 16, 17, 31, 40};
    for (unsigned k = 0; k < sizeof early / sizeof early[0]; k++) {
        stage s;
        int late = 0;
        begin_round(&s, write_once);
        for (int i = 0; i < early[k]; i++) {
            CHECK(can_read(&s));
        }
        round_gets_late();
        while (can_read(&s)) {
            late++;
        }
        CHECK(late <= early[k] && late <= 15);
        end_round(&s);
    }
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
    clock_set(s->now);
    const int code = thrum_rwlock_rdlock_on_until(&s->lock, &await, &task, THRUM_FOREVER);
    clock_set(0);
    CHECK_EQ(code, 1);
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
