/*
 * pools.c: marl's tests of its pools, restated: bounded and unbounded, objects made anew or kept.
 */
/* matrix: bound */
#include "support/sync/bound.h"

#include "support/sync/pools.h"
#include "support/times.h"

enum { MANY = 10000, FEW = 10 };

/* Makes a stage and binds the main thread to its scheduler; stage_end unbinds it. */
static stage *bound_stage(size_t capacity, bool preserve) {
    stage *s = stage_new(capacity, preserve);
    bound_enter(&s->r);
    return s;
}

static int borrows(void *arg) {
    stage *s = arg;
    object *o = borrowed(s);
    const int now = atomic_fetch_add(&s->borrowed, 1) + 1;
    int most = atomic_load(&s->most);
    while (now > most && !atomic_compare_exchange_weak(&s->most, &most, now)) {
    }
    thrum_yield();
    atomic_fetch_sub(&s->borrowed, 1);
    give_back(s, o);
    return 0;
}

static void borrow_many(size_t capacity, bool preserve) {
    stage *s = bound_stage(capacity, preserve);
    const int n = SCALED(MANY);
    for (int i = 0; i < n; i++) {
        rig_go(&s->r, borrows, s);
    }
    CHECK_EQ(borrows(s), 0);
    rig_wait_done(&s->r);
    const int made = atomic_load(&s->constructed);
    const int most = atomic_load(&s->most);
    if (!preserve) {
        CHECK_EQ(made, n + 1);
        CHECK_EQ(atomic_load(&s->destructed), n + 1);
    } else {
        CHECK_EQ(atomic_load(&s->destructed), 0);
        if (capacity > 0) {
            CHECK_EQ(made, (int)capacity);
        } else {
            CHECK(made >= most && made <= n + 1);
        }
    }
    CHECK(most >= 1);
    CHECK(capacity == 0 || most <= (int)capacity);
    stage_end(s);
}

TEST(ten_thousand_borrow_of_ten) {
    /* Never more than ten are out at a time; each borrow has a construct and a destruct. */
    borrow_many(FEW, false);
}

TEST(ten_thousand_borrow_of_ten_that_are_kept) {
    /* Ten are constructed at the beginning, and destructed at the end. */
    borrow_many(FEW, true);
}

TEST(ten_thousand_borrow_without_bound) {
    /* The pool makes as many as are needed. */
    borrow_many(0, false);
}

TEST(ten_thousand_borrow_without_bound_and_keep) {
    /* What comes back is kept: no object is destructed before the end. */
    borrow_many(0, true);
}

TEST(all_are_out) {
    /* Trying and waiting for a while end for nothing; what comes back can be borrowed. */
    stage *s = bound_stage(FEW, true);
    object *out[FEW];
    void *item = NULL;
    for (int i = 0; i < FEW; i++) {
        out[i] = borrowed(s);
        for (int k = 0; k < i; k++) {
            CHECK(out[i] != out[k]);
        }
    }
    CHECK_EQ(thrum_pool_try_borrow(s->pool, &item), -EAGAIN);
    const thrum_time deadline = soon();
    CHECK_EQ(thrum_pool_borrow_until(s->pool, &item, deadline), -ETIMEDOUT);
    CHECK_PASSED(deadline);
    CHECK(item == NULL);
    rig_go(&s->r, borrows, s);
    bound_settle(&s->r);
    CHECK_EQ(POOL_WAITING(s->pool), 1);
    for (int i = 0; i < FEW; i++) {
        give_back(s, out[i]);
    }
    rig_wait_done(&s->r);
    CHECK_EQ(thrum_pool_try_borrow(s->pool, &item), 0);
    thrum_pool_give_back(s->pool, item);
    stage_end(s);
}

static int borrows_several(void *arg) {
    stage *s = arg;
    void *items[FEW];
    const int n = 1 + atomic_fetch_add(&s->most, 1) % FEW;
    CHECK_EQ(thrum_pool_borrow_n(s->pool, items, (size_t)n), 0);
    for (int i = 0; i < n; i++) {
        use(items[i]);
    }
    thrum_yield();
    for (int i = 0; i < n; i++) {
        give_back(s, items[i]);
    }
    atomic_fetch_add(&s->borrowed, n);
    return 0;
}

TEST(a_thousand_borrow_several_at_once) {
    /* Each task borrows one to all ten, and has all of them at the same moment. */
    stage *s = bound_stage(FEW, false);
    const int n = SCALED(1000);
    for (int i = 0; i < n; i++) {
        rig_go(&s->r, borrows_several, s);
    }
    CHECK_EQ(borrows_several(s), 0);
    rig_wait_done(&s->r);
    CHECK_EQ(atomic_load(&s->constructed), atomic_load(&s->borrowed));
    CHECK_EQ(atomic_load(&s->destructed), atomic_load(&s->borrowed));
    stage_end(s);
}
