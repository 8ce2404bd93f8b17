/*
 * pool.c: the pool of objects, by fibers and by plain threads.
 */
/* matrix: policy workers */
#include "support/sync/pools.h"
#include "support/times.h"

/* ---- what is constructed when ---- */

TEST(reconstructing_constructs_at_each_borrow) {
    /* It also destructs at each give-back, exactly; bounded and unbounded. */
    for (size_t capacity = 0; capacity < 8; capacity += 4) {
        stage *s = stage_new(capacity, false);
        object *o[4];
        CHECK_EQ(atomic_load(&s->constructed), 0);
        for (int round = 1; round <= 3; round++) {
            for (int i = 0; i < 4; i++) {
                o[i] = borrowed(s);
                CHECK_EQ(o[i]->plain, 1);
            }
            CHECK_EQ(atomic_load(&s->constructed), 4 * round);
            for (int i = 0; i < 4; i++) {
                give_back(s, o[i]);
            }
            CHECK_EQ(atomic_load(&s->destructed), 4 * round);
        }
        stage_end(s);
    }
}

TEST(preserving_constructs_once) {
    /* A bounded pool constructs all of its objects at the start; they keep their state. */
    stage *s = stage_new(10, true);
    CHECK_EQ(atomic_load(&s->constructed), 10);
    int sum = 0;
    for (int round = 1; round <= 3; round++) {
        object *o[10];
        for (int i = 0; i < 10; i++) {
            o[i] = borrowed(s);
        }
        for (int i = 0; i < 10; i++) {
            sum += o[i]->plain;
            give_back(s, o[i]);
        }
    }
    CHECK_EQ(sum, 10 * (1 + 2 + 3));
    CHECK_EQ(atomic_load(&s->constructed), 10);
    CHECK_EQ(atomic_load(&s->destructed), 0);
    stage_end(s);
}

TEST(an_unbounded_pool_makes_what_it_needs) {
    /* It makes as many as were out at a time, no more; they are used again. */
    stage *s = stage_new(0, true);
    CHECK_EQ(atomic_load(&s->constructed), 0);
    for (int round = 0; round < 3; round++) {
        void *items[50];
        for (int i = 0; i < 40; i++) {
            items[i] = borrowed(s);
        }
        CHECK_EQ(thrum_pool_borrow_n(s->pool, items + 40, 10), 0);
        for (int i = 0; i < 40; i++) {
            give_back(s, items[i]);
        }
        for (int i = 40; i < 50; i++) {
            thrum_pool_give_back(s->pool, items[i]);
        }
        CHECK_EQ(atomic_load(&s->constructed), 50);
    }
    stage_end(s);
}

TEST(hooks_may_be_left_out) {
    /* Without them the memory of a new object is zero, and an object keeps what is in it. */
    thrum_pool_config config = THRUM_POOL_CONFIG_INIT;
    thrum_pool *pool = NULL;
    void *item = NULL;
    config.item_size = 1;
    config.capacity = 1;
    CHECK_EQ(thrum_pool_create(&pool, &config), 0);
    CHECK_EQ(thrum_pool_borrow(pool, &item), 0);
    CHECK_EQ(*(char *)item, 0);
    *(char *)item = 5;
    thrum_pool_give_back(pool, item);
    CHECK_EQ(thrum_pool_try_borrow(pool, &item), 0);
    CHECK_EQ(*(char *)item, 5);
    thrum_pool_give_back(pool, item);
    CHECK_EQ(thrum_pool_destroy(pool), 0);
}

static bool init_is_as_text(void) {
    const thrum_pool_config by_text = THRUM_POOL_CONFIG_INIT;
    thrum_pool_config by_call;
    thrum_pool_config_init(&by_call);
    return by_text.size == sizeof(by_text) && by_text.size == by_call.size &&
           by_text.item_size == by_call.item_size && by_text.capacity == by_call.capacity &&
           by_text.construct == by_call.construct && by_text.destruct == by_call.destruct &&
           by_text.ctx == by_call.ctx && by_text.preserve == by_call.preserve &&
           by_text.alloc == by_call.alloc && by_text.free == by_call.free;
}

TEST(what_create_refuses) {
    /* It refuses nonsense and sizes that cannot be had; nothing is left of them. */
    stage *s = stage_bare();
    thrum_pool *pool = NULL;
    thrum_pool_config config = config_of(s, 2, true);
    long live = atomic_load(&s->r.live);
    CHECK(init_is_as_text());
    CHECK_EQ(thrum_pool_create(NULL, &config), -EINVAL);
    CHECK_EQ(thrum_pool_create(&pool, NULL), -EINVAL);
    config.item_size = 0;
    CHECK_EQ(thrum_pool_create(&pool, &config), -EINVAL);
    config.item_size = SIZE_MAX - 8;
    CHECK_EQ(thrum_pool_create(&pool, &config), -ENOMEM);
    config.item_size = SIZE_MAX / 2;
    CHECK_EQ(thrum_pool_create(&pool, &config), -ENOMEM);
    config.item_size = 8;
    config.free = NULL;
    CHECK_EQ(thrum_pool_create(&pool, &config), -EINVAL);
    config.free = rig_free;
    config.size--;
    CHECK_EQ(thrum_pool_create(&pool, &config), -EINVAL);
    CHECK(pool == NULL);
    CHECK_EQ(atomic_load(&s->constructed), 0);
    CHECK_EQ(atomic_load(&s->r.live), live);
    rig_stop(&s->r);
    free(s);
}

/* ---- many ---- */

static int borrow_once(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; i < s->rounds; i++) {
        object *o = borrowed(s);
        int now = atomic_fetch_add(&s->borrowed, 1) + 1;
        CHECK(now <= s->n);
        int most = atomic_load(&s->most);
        while (now > most && !atomic_compare_exchange_weak(&s->most, &most, now)) {
        }
        thrum_yield(); /* with the object in hand: others have to wait */
        atomic_fetch_sub(&s->borrowed, 1);
        give_back(s, o);
    }
    return 0;
}

TEST(ten_thousand_borrows_of_ten) {
    /*
     * A thousand fibers and some threads borrow ten times each: never more than ten are out, each
     * object has one borrower, and is constructed and destructed as often as it was borrowed.
     */
    stage *s = stage_new(10, false);
    s->n = 10;
    s->rounds = 10;
    int fibers = SCALED(992);
    cast *c = cast_new(&s->r);
    cast_add_mixed(c, fibers, 8, borrow_once, s);
    cast_join(c);
    CHECK_EQ(atomic_load(&s->constructed), 10 * (fibers + 8));
    CHECK_EQ(atomic_load(&s->destructed), 10 * (fibers + 8));
    CHECK(atomic_load(&s->most) <= 10); /* how many were out at once depends on the machine */
    stage_end(s);
}

TEST(ten_thousand_borrows_of_ten_preserved) {
    /* The same where the objects are kept: ten are constructed, and hold all that was counted. */
    stage *s = stage_new(10, true);
    s->n = 10;
    s->rounds = 10;
    int fibers = SCALED(992);
    cast *c = cast_new(&s->r);
    cast_add_mixed(c, fibers, 8, borrow_once, s);
    cast_join(c);
    CHECK_EQ(atomic_load(&s->constructed), 10);
    CHECK_EQ(atomic_load(&s->destructed), 0);
    void *items[10];
    CHECK_EQ(thrum_pool_borrow_n(s->pool, items, 10), 0);
    int sum = 0;
    for (int i = 0; i < 10; i++) {
        sum += ((object *)items[i])->plain;
        thrum_pool_give_back(s->pool, items[i]);
    }
    CHECK_EQ(sum, 10 * (fibers + 8));
    stage_end(s);
}

static int borrow_unbounded(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; i < s->rounds; i++) {
        object *o = borrowed(s);
        if (i % 4 == 0) {
            thrum_yield();
        }
        give_back(s, o);
    }
    return 0;
}

TEST(hooks_may_suspend) {
    /* While they do, the pool is not locked. */
    for (size_t capacity = 0; capacity < 4; capacity += 3) {
        stage *s = stage_new(capacity, false);
        s->blocks = true;
        s->rounds = SCALED(100);
        cast *c = cast_new(&s->r);
        cast_add_mixed(c, 12, 4, borrow_unbounded, s);
        cast_join(c);
        CHECK_EQ(atomic_load(&s->constructed), 16 * s->rounds);
        stage_end(s);
    }
}

/* ---- order ---- */

static int borrow_and_log(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    object *o = borrowed(s);
    order_add(&s->log, a->index);
    give_back(s, o);
    return 0;
}

TEST(borrowers_are_served_first_come_first_served) {
    /* Fibers and threads queue; none passes them. */
    enum { N = 12 };
    stage *s = stage_new(1, true);
    cast *c = cast_new(&s->r);
    object *o = borrowed(s);
    void *item = NULL;
    for (int i = 0; i < N; i++) {
        cast_add(c, i % 3 != 0, borrow_and_log, s);
        SPIN_UNTIL(POOL_WAITING(s->pool) == i + 1);
    }
    CHECK_EQ(thrum_pool_try_borrow(s->pool, &item), -EAGAIN);
    CHECK_EQ(thrum_pool_borrow_until(s->pool, &item, 0), -ETIMEDOUT);
    CHECK(item == NULL);
    give_back(s, o);
    cast_join(c);
    for (int i = 0; i < N; i++) {
        CHECK_EQ(s->log.seen[i], i);
    }
    stage_end(s);
}

static int borrow_n_and_log(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    void *items[3];
    CHECK_EQ(thrum_pool_borrow_n(s->pool, items, 3), 0);
    order_add(&s->log, a->index);
    for (int i = 0; i < 3; i++) {
        use(items[i]);
        give_back(s, items[i]);
    }
    return 0;
}

TEST(a_borrower_of_several_is_not_passed) {
    /* It waits for three of four; what is free meanwhile is kept for it, then the others come. */
    stage *s = stage_new(4, true);
    cast *c = cast_new(&s->r);
    object *o[3];
    void *item = NULL;
    for (int i = 0; i < 3; i++) {
        o[i] = borrowed(s);
    }
    cast_add(c, true, borrow_n_and_log, s);
    SPIN_UNTIL(POOL_WAITING(s->pool) == 1);
    CHECK_EQ(thrum_pool_try_borrow(s->pool, &item), -EAGAIN); /* although one is free */
    cast_add(c, false, borrow_and_log, s);
    SPIN_UNTIL(POOL_WAITING(s->pool) == 2);
    give_back(s, o[0]);
    CHECK_EQ(POOL_WAITING(s->pool), 2);
    give_back(s, o[1]);
    cast_join(c);
    CHECK_EQ(s->log.seen[0], 0);
    CHECK_EQ(s->log.seen[1], 1);
    give_back(s, o[2]);
    stage_end(s);
}

static int borrow_n_often(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    void *items[8];
    for (int i = 0; i < s->rounds; i++) {
        size_t n = 1 + (size_t)(a->index + i) % (size_t)s->n;
        CHECK_EQ(thrum_pool_borrow_n(s->pool, items, n), 0);
        for (size_t j = 0; j < n; j++) {
            use(items[j]);
        }
        if (i % 4 == 0) {
            thrum_yield();
        }
        for (size_t j = 0; j < n; j++) {
            give_back(s, items[j]);
        }
    }
    return 0;
}

TEST(borrowing_several_never_deadlocks) {
    /*
     * All of them need up to the whole pool; if they took one by one they would wait for each
     * other.
     */
    for (int capacity = 2; capacity <= 8; capacity += 3) {
        stage *s = stage_new((size_t)capacity, capacity == 5);
        s->n = capacity;
        s->rounds = SCALED(200);
        cast *c = cast_new(&s->r);
        cast_add_mixed(c, 12, 4, borrow_n_often, s);
        cast_join(c);
        stage_end(s);
    }
}

TEST(none_and_too_many_at_a_time) {
    /* 0 is nothing to do; more than there are cannot be waited for. */
    stage *s = stage_new(3, true);
    void *items[4];
    CHECK_EQ(thrum_pool_borrow_n(s->pool, items, 0), 0);
    CHECK_EQ(thrum_pool_borrow_n(s->pool, items, 4), -EINVAL);
    CHECK_EQ(thrum_pool_borrow_n_until(s->pool, items, 4, 0), -EINVAL);
    CHECK_EQ(thrum_pool_borrow_n_until(s->pool, items, 3, 0), 0);
    CHECK_EQ(thrum_pool_borrow_n_until(s->pool, items + 3, 1, soon()), -ETIMEDOUT);
    for (int i = 0; i < 3; i++) {
        thrum_pool_give_back(s->pool, items[i]);
    }
    stage_end(s);
}

/* ---- late, cancelled ---- */

static int borrow_in_vain(void *arg) {
    stage *s = ((actor *)arg)->arg;
    void *items[2];
    thrum_time until = soon();
    CHECK_EQ(thrum_pool_borrow_n_until(s->pool, items, 2, until), -ETIMEDOUT);
    CHECK_PASSED(until);
    atomic_fetch_add(&s->late, 1);
    return 0;
}

TEST(a_late_borrower_makes_room_for_the_next) {
    /* It needed more than is free; those behind it do not, and get it when it has left. */
    stage *s = stage_new(2, true);
    cast *c = cast_new(&s->r);
    object *o = borrowed(s);
    cast_add_mixed(c, 3, 3, borrow_in_vain, s);
    SPIN_UNTIL(POOL_WAITING(s->pool) + atomic_load(&s->late) >= 6);
    cast_add_mixed(c, 3, 3, borrow_and_log, s);
    cast_join(c);
    CHECK_EQ(atomic_load(&s->late), 6);
    CHECK_EQ(atomic_load(&s->log.count), 6);
    give_back(s, o);
    stage_end(s);
}

static int borrow_and_be_cancelled(void *arg) {
    stage *s = arg;
    void *items[2];
    CHECK_EQ(thrum_pool_borrow_n(s->pool, items, 2), -ECANCELED);
    CHECK_EQ(thrum_pool_borrow_n_until(s->pool, items, 2, far_off()), -ECANCELED);
    atomic_fetch_add(&s->cancelled, 1);
    return 0;
}

TEST(a_cancelled_borrower_has_nothing) {
    /* The objects are there for others. */
    enum { N = 20 };
    stage *s = stage_new(2, false);
    object *o = borrowed(s);
    for (int i = 0; i < N; i++) {
        rig_go(&s->r, borrow_and_be_cancelled, s);
    }
    SPIN_UNTIL(POOL_WAITING(s->pool) == N);
    CHECK_EQ(thrum_sched_stop_until(s->r.sched, past()), -ETIMEDOUT);
    SPIN_UNTIL(atomic_load(&s->cancelled) == N);
    give_back(s, o);
    void *items[2];
    CHECK_EQ(thrum_pool_borrow_n(s->pool, items, 2), 0);
    thrum_pool_give_back(s->pool, items[0]);
    thrum_pool_give_back(s->pool, items[1]);
    stage_end(s);
}
