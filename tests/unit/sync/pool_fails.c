/*
 * pool_fails.c: the pool of objects where something goes wrong: hooks, memory, callers.
 */
/* matrix: policy workers */
#include "support/sync/pools.h"

/* ---- what fails ---- */

TEST(a_failed_construct_is_told_and_nothing_is_lost) {
    /*
     * It may be any of several objects: those before it are undone, all are there for the next
     * borrow.
     */
    for (size_t capacity = 0; capacity < 8; capacity += 4) {
        stage *s = stage_new(capacity, false);
        void *items[4];
        void *item = NULL;
        for (int at = 1; at <= 4; at++) {
            atomic_store(&s->fail_in, at);
            CHECK_EQ(thrum_pool_borrow_n(s->pool, items, 4), -EIO);
            CHECK_EQ(atomic_load(&s->constructed), atomic_load(&s->destructed));
        }
        atomic_store(&s->fail_in, 1);
        CHECK_EQ(thrum_pool_try_borrow(s->pool, &item), -EIO);
        CHECK(item == NULL);
        CHECK_EQ(thrum_pool_borrow_n(s->pool, items, 4), 0);
        for (int i = 0; i < 4; i++) {
            thrum_pool_give_back(s->pool, items[i]);
        }
        stage_end(s);
    }
}

TEST(a_failed_construct_at_the_start_undoes_the_rest) {
    /* The pool is bounded and preserves: nothing is left of it. */
    for (int at = 1; at <= 3; at++) {
        stage *s = stage_bare();
        thrum_pool_config config = config_of(s, 3, true);
        thrum_pool *pool = NULL;
        long live = atomic_load(&s->r.live);
        atomic_store(&s->fail_in, at);
        CHECK_EQ(thrum_pool_create(&pool, &config), -EIO);
        CHECK(pool == NULL);
        CHECK_EQ(atomic_load(&s->constructed), at - 1);
        CHECK_EQ(atomic_load(&s->destructed), at - 1);
        CHECK_EQ(atomic_load(&s->r.live), live);
        rig_stop(&s->r);
        free(s);
    }
}

TEST(every_allocation_may_fail) {
    /* Create and borrow return -ENOMEM, with nothing lost, and work afterwards. */
    for (size_t capacity = 0; capacity < 8; capacity += 4) {
        stage *s = stage_bare();
        thrum_pool_config config = config_of(s, capacity, false);
        void *items[4];
        int refused = 0;
        for (long at = 1;; at++) {
            long live = atomic_load(&s->r.live);
            thrum_pool *pool = NULL;
            atomic_store(&s->r.fail_at, atomic_load(&s->r.calls) + at);
            int result = thrum_pool_create(&pool, &config);
            if (!result) {
                result = thrum_pool_borrow_n(pool, items, 4);
                CHECK(result == 0 || (result == -ENOMEM && capacity == 0));
                atomic_store(&s->r.fail_at, 0);
                if (result) {
                    CHECK_EQ(thrum_pool_borrow_n(pool, items, 4), 0);
                }
                for (int i = 0; i < 4; i++) {
                    thrum_pool_give_back(pool, items[i]);
                }
                CHECK_EQ(thrum_pool_destroy(pool), 0);
            } else {
                CHECK_EQ(result, -ENOMEM);
            }
            CHECK_EQ(atomic_load(&s->r.live), live);
            if (!result) {
                break;
            }
            refused++;
        }
        CHECK_EQ(refused, capacity ? 2 : 5);
        CHECK_EQ(atomic_load(&s->constructed), atomic_load(&s->destructed));
        atomic_store(&s->r.fail_at, 0);
        rig_stop(&s->r);
        free(s);
    }
}

/* ---- misuse ---- */

static void give_back_nothing(void *arg) {
    thrum_pool_give_back(((stage *)arg)->pool, NULL);
}

static void give_back_twice(void *arg) {
    stage *s = arg;
    object *o = borrowed(s);
    give_back(s, o);
    thrum_pool_give_back(s->pool, o);
}

static void give_back_to_another(void *arg) {
    stage *s = arg;
    thrum_pool *other = NULL;
    thrum_pool_config config = config_of(s, 1, true);
    CHECK_EQ(thrum_pool_create(&other, &config), 0);
    thrum_pool_give_back(other, borrowed(s));
}

TEST(giving_back_what_was_not_borrowed_aborts) {
    /* A line names the call. */
    stage *s = stage_new(1, true);
    const char *line = "thrum_pool_give_back: not borrowed from this pool";
    check_dies(give_back_nothing, s, line);
    check_dies(give_back_twice, s, line);
    check_dies(give_back_to_another, s, line);
    stage_end(s);
}

static int borrow_and_log(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    object *o = borrowed(s);
    order_add(&s->log, a->index);
    give_back(s, o);
    return 0;
}

TEST(destroy_is_refused_while_in_use) {
    /* It is -EBUSY while one is out; nothing was destructed by that. */
    stage *s = stage_new(2, true);
    cast *c = cast_new(&s->r);
    object *o[2] = {borrowed(s), borrowed(s)};
    cast_add(c, true, borrow_and_log, s);
    SPIN_UNTIL(POOL_WAITING(s->pool) == 1);
    CHECK_EQ(thrum_pool_destroy(s->pool), -EBUSY);
    give_back(s, o[0]);
    cast_join(c);
    CHECK_EQ(thrum_pool_destroy(s->pool), -EBUSY);
    CHECK_EQ(atomic_load(&s->destructed), 0);
    give_back(s, o[1]);
    stage_end(s);
}
