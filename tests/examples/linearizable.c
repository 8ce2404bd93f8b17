/*
 * linearizable.c: the search of examples/kv/replicated/test, over histories that are linearizable
 * and over some that are not.
 */
#include "linearizable.h"

#include "check.h"

#define NEVER UINT64_MAX
#define GET(called, answered, value)                                                               \
    { OPERATION_GET, 0, value, called, answered }
#define SET(called, answered, value)                                                               \
    { OPERATION_SET, value, 0, called, answered }
#define INCR(called, answered, value)                                                              \
    { OPERATION_INCR, 0, value, called, answered }
#define IS(...)                                                                                    \
    linearizable((const struct operation[]){__VA_ARGS__},                                          \
                 sizeof((const struct operation[]){__VA_ARGS__}) / sizeof(struct operation))

TEST(one_after_the_other) {
    /* Without overlaps, each answer follows from the operations before. */
    CHECK(linearizable(NULL, 0));
    CHECK(IS(GET(1, 2, 0)));
    CHECK(!IS(GET(1, 2, 5)));
    CHECK(IS(SET(1, 2, 5), GET(3, 4, 5), INCR(5, 6, 6), GET(7, 8, 6)));
    CHECK(!IS(SET(1, 2, 5), GET(3, 4, 0)));
    CHECK(!IS(SET(1, 2, 5), SET(3, 4, 7), GET(5, 6, 5)));
    CHECK(!IS(INCR(1, 2, 1), INCR(3, 4, 1)));
    CHECK(!IS(INCR(1, 2, 2)));
}

TEST(overlaps_have_any_order) {
    /* A read beside a write may return either value, but not the old one after the new one. */
    CHECK(IS(SET(1, 4, 5), GET(2, 3, 0)));
    CHECK(IS(SET(1, 4, 5), GET(2, 3, 5)));
    CHECK(IS(SET(1, 6, 5), GET(2, 3, 0), GET(4, 5, 5)));
    CHECK(!IS(SET(1, 6, 5), GET(2, 3, 5), GET(4, 5, 0)));
    CHECK(IS(SET(1, 6, 5), GET(2, 5, 5), GET(3, 4, 0)));
    CHECK(IS(SET(1, 3, 5), SET(2, 4, 7), GET(5, 6, 5), GET(7, 8, 5)));
    CHECK(!IS(SET(1, 3, 5), SET(2, 4, 7), GET(5, 6, 5), GET(7, 8, 7)));
    CHECK(IS(INCR(1, 4, 2), INCR(2, 3, 1)));
    CHECK(!IS(INCR(1, 4, 1), INCR(2, 3, 1)));
}

TEST(operations_without_an_answer) {
    /* They take effect once, at any time after their call, or never. */
    CHECK(IS(SET(1, NEVER, 5), GET(2, 3, 0), GET(4, 5, 0)));
    CHECK(IS(SET(1, NEVER, 5), GET(2, 3, 0), GET(4, 5, 5)));
    CHECK(!IS(SET(1, NEVER, 5), GET(2, 3, 5), GET(4, 5, 0)));
    CHECK(!IS(GET(1, 2, 5), SET(3, NEVER, 5)));
    CHECK(IS(SET(1, NEVER, 5), SET(2, 3, 7), GET(4, 5, 7), GET(6, 7, 5)));
    CHECK(!IS(SET(1, NEVER, 5), SET(2, 3, 7), GET(4, 5, 5), GET(6, 7, 7), GET(8, 9, 5)));
    CHECK(IS(INCR(1, NEVER, 0), INCR(2, 3, 1), INCR(4, 5, 3)));
    CHECK(!IS(INCR(1, NEVER, 0), INCR(2, 3, 1), INCR(4, 5, 4)));
}

TEST(many_overlaps) {
    /* All operations overlap, so that there are far too many orders to try them one by one. */
    struct operation all[OPERATIONS_MAX];
    for (unsigned i = 0; i < OPERATIONS_MAX; i++) {
        all[i] = (struct operation)INCR(i + 1, i + 1000, OPERATIONS_MAX - i);
    }
    CHECK(linearizable(all, OPERATIONS_MAX));
    for (unsigned i = 0; i < 12; i++) {
        all[i] = (struct operation)SET(i + 1, i < 10 ? i + 1000 : NEVER, 1 + i / 2);
    }
    all[12] = (struct operation)GET(2000, 2001, 5);
    CHECK(linearizable(all, 13));
    all[12].answer = 7;
    CHECK(!linearizable(all, 13));
}
