/*
 * parallel.c: invoke and parallel_for.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"

/* ---- invoke ---- */

#define CALLS 100

static atomic_int called[CALLS];
static int codes[CALLS];

static int call_it(void *arg) {
    const int i = (int)((atomic_int *)arg - called);
    atomic_fetch_add(&called[i], 1);
    if (i % 7 == 3) {
        thrum_yield();
    }
    return codes[i];
}

static int invoke_some(size_t n) {
    thrum_fn fns[CALLS];
    void *args[CALLS];
    for (int i = 0; i < CALLS; i++) {
        fns[i] = call_it;
        args[i] = &called[i];
        atomic_store(&called[i], 0);
    }
    const int result = thrum_invoke(n, fns, args);
    for (size_t i = 0; i < CALLS; i++) {
        CHECK_EQ(atomic_load(&called[i]), i < n ? 1 : 0);
    }
    return result;
}

static int invoke_entry(void *arg) {
    (void)arg;
    for (size_t n = 0; n <= CALLS; n += n < 9 ? 1 : 13) {
        CHECK_EQ(invoke_some(n), 0);
    }
    codes[90] = -3;
    codes[40] = -2;
    codes[57] = 9;
    CHECK_EQ(invoke_some(CALLS), -2);
    CHECK_EQ(invoke_some(40), 0);
    codes[0] = 1;
    CHECK_EQ(invoke_some(CALLS), 1);
    memset(codes, 0, sizeof(codes));
    return 0;
}

TEST(invoke_calls_each_once_and_returns_the_first_failure) {
    /* It calls any number of functions, in a task and on a plain thread. */
    rig_do(0, invoke_entry, NULL);
    CHECK_EQ(invoke_entry(NULL), 0);
}

static int wants_null(void *arg) {
    return !arg ? 0 : -1;
}

static int arguments_entry(void *arg) {
    (void)arg;
    const thrum_fn fns[] = {wants_null, wants_null, NULL};
    CHECK_EQ(thrum_invoke(2, fns, NULL), 0);
    CHECK_EQ(thrum_invoke(3, fns, NULL), -EINVAL);
    CHECK_EQ(thrum_invoke(1, NULL, NULL), -EINVAL);
    CHECK_EQ(thrum_invoke(0, NULL, NULL), 0);
    return 0;
}

TEST(invoke_refuses_what_it_cannot_call) {
    /* It passes NULL where there are no arguments. */
    CHECK_EQ(arguments_entry(NULL), 0);
    rig_do(0, arguments_entry, NULL);
}

static int first_worker;
static uintptr_t first_frame;

static int notes_where(void *arg) {
    (void)arg;
    char here;
    first_worker = thrum_worker_id();
    first_frame = (uintptr_t)&here;
    return 0;
}

static int first_entry(void *arg) {
    (void)arg;
    const thrum_fn fns[] = {notes_where, wants_null, wants_null, wants_null};
    char here;
    const int worker = thrum_worker_id();
    CHECK_EQ(thrum_invoke(4, fns, NULL), 0);
    CHECK_EQ(first_worker, worker);
    if (!UNDER_ASAN) { /* the sanitizer may keep its locals elsewhere */
        const uintptr_t far = (uintptr_t)&here - first_frame;
        CHECK(far < 16384);
    }
    return 0;
}

TEST(invoke_makes_the_first_call_on_the_caller) {
    /* It runs on its stack, before it waits for anything. */
    rig_do(0, first_entry, NULL);
}

static thrum_sem chain[5];

static int waits_for_next(void *arg) {
    const ptrdiff_t i = (thrum_sem *)arg - chain;
    if (i < 4) {
        CHECK_EQ(thrum_sem_wait(&chain[i]), 0);
    }
    if (i > 0) {
        thrum_sem_post(&chain[i - 1]);
    }
    return 0;
}

static int chain_entry(void *arg) {
    (void)arg;
    const thrum_fn fns[] = {waits_for_next, waits_for_next, waits_for_next, waits_for_next,
                            waits_for_next};
    void *args[5];
    for (int i = 0; i < 5; i++) {
        thrum_sem_init(&chain[i], 0);
        args[i] = &chain[i];
    }
    return thrum_invoke(5, fns, args);
}

TEST(invoked_functions_may_wait_for_later_ones) {
    /* Each but the last waits for the one behind it: all are begun, on one worker too. */
    rig_do(0, chain_entry, NULL);
}

/* ---- parallel_for ---- */

typedef struct cover {
    size_t begin;
    size_t end;
    size_t grain;
    unsigned char *seen; /* how often each number was done */
    atomic_size_t sum;
    int yields;
} cover;

static void cover_piece(size_t begin, size_t end, void *ctx) {
    cover *c = ctx;
    CHECK(begin < end && begin >= c->begin && end <= c->end);
    CHECK(c->grain == 0 || end - begin <= c->grain);
    if (c->yields) {
        thrum_yield();
    }
    for (size_t i = begin; i < end; i++) {
        c->seen[i - c->begin]++; /* plain: two pieces with the same number would race */
    }
    atomic_fetch_add(&c->sum, end - begin);
}

static void cover_range(size_t begin, size_t n, size_t grain, int yields) {
    cover c = {begin, begin + n, grain, calloc(n + 1, 1), 0, yields};
    CHECK(c.seen != NULL);
    CHECK_EQ(thrum_parallel_for(begin, begin + n, grain, cover_piece, &c), 0);
    CHECK_EQ(atomic_load(&c.sum), n);
    for (size_t i = 0; i < n; i++) {
        CHECK_EQ(c.seen[i], 1);
    }
    free(c.seen);
}

static int cover_entry(void *arg) {
    (void)arg;
    static const size_t sizes[] = {0, 1, 2, 3, 64, 1000, 100001};
    static const size_t grains[] = {0, 1, 2, 7, 1000, 100000, SIZE_MAX};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        for (size_t j = 0; j < COUNT_OF(grains); j++) {
            if (UNDER_TSAN && sizes[i] > 1000 && grains[j] - 1 < 1000) {
                continue;
            }
            cover_range(0, sizes[i], grains[j], 0);
            cover_range(SIZE_MAX - sizes[i], sizes[i], grains[j], 0);
        }
    }
    cover_range(17, (size_t)SCALED(2000), 3, 1);
    cover_range(0, (size_t)SCALED(2000), 0, 1);
    return 0;
}

TEST(each_number_is_done_once) {
    /*
     * Ranges are empty, single, with any grain, at the end of the numbers, with bodies that give
     * way.
     */
    rig_do(0, cover_entry, NULL);
    CHECK_EQ(cover_entry(NULL), 0);
}

static int refusals_entry(void *arg) {
    (void)arg;
    cover c = {0, 0, 0, NULL, 0, 0};
    CHECK_EQ(thrum_parallel_for(0, 1, 0, NULL, NULL), -EINVAL);
    CHECK_EQ(thrum_parallel_for(2, 1, 0, cover_piece, &c), -EINVAL);
    CHECK_EQ(thrum_parallel_for(SIZE_MAX, SIZE_MAX, 1, cover_piece, &c), 0);
    CHECK_EQ(atomic_load(&c.sum), 0);
    return 0;
}

TEST(parallel_for_refuses_what_is_no_range) {
    /* It calls nothing then. */
    CHECK_EQ(refusals_entry(NULL), 0);
    rig_do(0, refusals_entry, NULL);
}

static atomic_size_t huge_sum;

static void huge_piece(size_t begin, size_t end, void *ctx) {
    (void)ctx;
    atomic_fetch_add(&huge_sum, end - begin);
}

static int huge_entry(void *arg) {
    (void)arg;
    atomic_store(&huge_sum, 0);
    CHECK_EQ(thrum_parallel_for(0, SIZE_MAX, 0, huge_piece, NULL), 0);
    CHECK(atomic_load(&huge_sum) == SIZE_MAX);
    return 0;
}

TEST(all_numbers_that_there_are) {
    /* The pieces of automatic grain grow without end when they cost nothing. */
    rig_do(0, huge_entry, NULL);
    CHECK_EQ(huge_entry(NULL), 0);
}

static thrum_sem started;
static thrum_sem proceed;

static void blocks(size_t begin, size_t end, void *ctx) {
    (void)ctx;
    for (size_t i = begin; i < end; i++) {
        thrum_sem_post(&started);
        CHECK_EQ(thrum_sem_wait(&proceed), 0);
    }
}

static int opens(void *arg) {
    (void)arg;
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(thrum_sem_wait(&started), 0);
    }
    for (int i = 0; i < 50; i++) {
        thrum_sem_post(&proceed);
    }
    return 0;
}

static int block_entry(void *arg) {
    (void)arg;
    thrum_sem_init(&started, 0);
    thrum_sem_init(&proceed, 0);
    CHECK_EQ(thrum_go(opens, NULL), 0);
    return thrum_parallel_for(0, 50, 1, blocks, NULL);
}

TEST(pieces_that_block_let_the_others_begin) {
    /* All 50 have begun before any goes on, on one worker too. */
    rig_do(0, block_entry, NULL);
}

static atomic_int nested_sum;

static void inner(size_t begin, size_t end, void *ctx) {
    (void)ctx;
    atomic_fetch_add(&nested_sum, (int)(end - begin));
}

static void outer(size_t begin, size_t end, void *ctx) {
    const size_t depth = *(size_t *)ctx;
    for (size_t i = begin; i < end; i++) {
        size_t next = depth - 1;
        CHECK_EQ(thrum_parallel_for(0, 4, 1, next == 0 ? inner : outer, &next), 0);
    }
}

static int nested_entry(void *arg) {
    (void)arg;
    size_t depth = 4;
    CHECK_EQ(thrum_parallel_for(0, 4, 1, outer, &depth), 0);
    CHECK_EQ(atomic_load(&nested_sum), 1024);
    return 0;
}

TEST(loops_nest) {
    /* They nest five deep. */
    rig_do(0, nested_entry, NULL);
}
