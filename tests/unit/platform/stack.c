/*
 * stack.c: stacks: sizes, reuse, and what happens when the system refuses. Their guards are in
 * stack_guards.c.
 */
#include "support/memory.h"
#include "support/stacks.h"

/* ---- sizes ---- */

TEST(class_is_the_smallest_that_fits) {
    /* The sizes are powers of two from 16 KiB to 64 MiB; 0 and too much get the ends. */
    CHECK_EQ(th_stack_class(0), 0);
    CHECK_EQ(th_stack_class(1), 0);
    CHECK_EQ(th_stack_class(16 * KIB), 0);
    CHECK_EQ(th_stack_class(16 * KIB + 1), 1);
    CHECK_EQ(th_stack_class(128 * KIB), CLASS_128K);
    CHECK_EQ(th_stack_class(64 * KIB * KIB), TH_STACK_CLASSES - 1);
    CHECK_EQ(th_stack_class(SIZE_MAX), TH_STACK_CLASSES - 1);
    for (unsigned c = 0; c < TH_STACK_CLASSES; c++) {
        CHECK_EQ(th_stack_class_size(c), (16 * KIB) << c);
        CHECK_EQ(th_stack_class(th_stack_class_size(c)), c);
    }
}

TEST(every_class_gives_its_size) {
    /* It gives it in full, all of it writable and zero. */
    th_stacks stacks;
    th_stack stack;
    open_stacks(&stacks, THRUM_GUARD_AUTO);
    for (unsigned c = 0; c < TH_STACK_CLASSES; c++) {
        CHECK_EQ(th_stack_get(&stacks, c, &stack), 0);
        size_t page = th_os_page_size();
        size_t size = th_stack_class_size(c);
        CHECK_EQ(stack.top - stack.bottom, (size + page - 1) / page * page);
        CHECK_EQ((uintptr_t)stack.top % page, 0);
        reach(&stack, stack.bottom);
        CHECK_EQ(stack.bottom[0] | stack.top[-1], 0);
        stack.bottom[0] = stack.top[-1] = 1;
        CHECK_EQ(stack.class_index, c);
        th_stack_put(&stacks, stack);
    }
    close_stacks(&stacks);
}

TEST(stacks_do_not_overlap) {
    /* Of several slabs' worth of them, marked at both ends, all have their marks afterwards. */
    enum { N = 300 };
    static th_stack all[N];
    th_stacks stacks;
    open_stacks(&stacks, THRUM_GUARD_AUTO);
    for (int i = 0; i < N; i++) {
        CHECK_EQ(th_stack_get(&stacks, 1, &all[i]), 0);
        reach(&all[i], all[i].bottom);
        *(int *)(void *)all[i].bottom = i;
        *(int *)(void *)(all[i].top - sizeof(int)) = i;
    }
    for (int i = 0; i < N; i++) {
        CHECK_EQ(*(int *)(void *)all[i].bottom, i);
        CHECK_EQ(*(int *)(void *)(all[i].top - sizeof(int)), i);
        th_stack_put(&stacks, all[i]);
    }
    close_stacks(&stacks);
}

/* ---- reuse ---- */

TEST(stack_put_last_is_got_first) {
    /* Its page tables and books are warm; and it is zero again. */
    th_stacks stacks;
    th_stack a, b, c;
    open_stacks(&stacks, THRUM_GUARD_AUTO);
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &a), 0);
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &b), 0);
    reach(&b, b.bottom);
    memset(b.bottom, 7, (size_t)(b.top - b.bottom));
    th_stack_put(&stacks, a);
    th_stack_put(&stacks, b);
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &c), 0);
    CHECK(c.bottom == b.bottom && c.slot == b.slot && c.guard == b.guard);
    for (char *p = th_stack_limit(&c); p < c.top; p++) {
        CHECK_EQ(*p, 0);
    }
    reach(&c, c.bottom);
    for (char *p = c.bottom; p < (char *)th_stack_limit(&c); p++) {
        CHECK_EQ(*p, 0);
    }
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &b), 0);
    CHECK(b.bottom == a.bottom);
    CHECK_EQ(th_stacks_live(&stacks), 2);
    th_stack_put(&stacks, b);
    th_stack_put(&stacks, c);
    close_stacks(&stacks);
}

TEST(put_gives_the_pages_back) {
    /* What was touched is no longer resident. */
    th_stacks stacks;
    th_stack stack;
    open_stacks(&stacks, THRUM_GUARD_AUTO);
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &stack), 0);
    reach(&stack, stack.bottom);
    memset(stack.bottom, 7, (size_t)(stack.top - stack.bottom));
    th_stack_put(&stacks, stack);
    CHECK_EQ(th_stack_high_water(&stack), 0);
    close_stacks(&stacks);
}

TEST(high_water_and_trim) {
    /* The deepest page touched tells the depth; trimming keeps what is wanted from the top. */
    th_stacks stacks;
    th_stack stack;
    size_t page = th_os_page_size();
    open_stacks(&stacks, THRUM_GUARD_AUTO);
    CHECK_EQ(th_stack_get(&stacks, th_stack_class(32 * page), &stack), 0);
    CHECK_EQ(th_stack_high_water(&stack), 0);
    stack.top[-1] = 1;
    CHECK_EQ(th_stack_high_water(&stack), page);
    reach(&stack, stack.top - 10 * page); /* and with it the pages above */
    *(stack.top - 10 * page) = 1;
    CHECK_EQ(th_stack_high_water(&stack), 10 * page);
    th_stack_trim(&stacks, &stack, 10 * page);
    CHECK_EQ(th_stack_high_water(&stack), 10 * page);
    th_stack_trim(&stacks, &stack, 9 * page + 1);
    CHECK_EQ(th_stack_high_water(&stack), 10 * page);
    th_stack_trim(&stacks, &stack, 9 * page);
    CHECK_EQ(th_stack_high_water(&stack), th_stack_grows(&stack) ? 9 * page : page);
    th_stack_trim(&stacks, &stack, SIZE_MAX);
    CHECK_EQ(stack.top[-1], 1);
    reach(&stack, stack.bottom);
    stack.bottom[0] = 1;
    CHECK_EQ(th_stack_high_water(&stack), stack.top - stack.bottom);
    th_stack_trim(&stacks, &stack, 0);
    CHECK_EQ(th_stack_high_water(&stack), 0);
    th_stack_put(&stacks, stack);
    close_stacks(&stacks);
}

static bool count_visit(void *ctx, const th_stack *stack, bool in_use) {
    int *counts = ctx;
    CHECK(stack->guard != THRUM_GUARD_AUTO);
    counts[in_use]++;
    return true;
}

TEST(each_visits_used_and_free_slots) {
    /* It visits every slot that ever had a stack, and tells whether it has one now. */
    th_stacks stacks;
    th_stack all[20];
    th_stack_cursor at = {0};
    int counts[2] = {0, 0};
    open_stacks(&stacks, THRUM_GUARD_AUTO);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(th_stack_get(&stacks, i % 2 ? 0 : CLASS_128K, &all[i]), 0);
    }
    for (int i = 0; i < 7; i++) {
        th_stack_put(&stacks, all[i]);
    }
    CHECK(!th_stacks_some(&stacks, &at, UINT32_MAX, count_visit, counts));
    CHECK_EQ(counts[true], 13);
    CHECK_EQ(counts[false], 7);
    for (int i = 7; i < 20; i++) {
        th_stack_put(&stacks, all[i]);
    }
    close_stacks(&stacks);
}

/* ---- refusals ---- */

TEST(refused_mapping_is_an_error_and_no_more) {
    /* It is -ENOMEM while nothing is granted; smaller pieces are tried first; all is well later. */
    th_stacks stacks;
    th_stack stack, other;
    open_stacks(&stacks, THRUM_GUARD_AUTO);
    th_os_fail(TH_OS_FAULT_MAP, 0, 1000000);
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &stack), -ENOMEM);
    CHECK(th_os_fails_left(TH_OS_FAULT_MAP) < 1000000 - 3); /* 4 MiB, 2 MiB, ... one stack */
    th_os_fail(TH_OS_FAULT_MAP, 0, 4);
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &stack), 0);
    CHECK_EQ(th_os_fails_left(TH_OS_FAULT_MAP), 0);
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &other), 0);
    th_stack_put(&stacks, stack);
    th_stack_put(&stacks, other);
    close_stacks(&stacks);
}

TEST(refused_books_are_an_error_and_no_more) {
    /* The allocator refuses: it is -ENOMEM, and it works once there is memory again. */
    th_stacks stacks;
    th_stack stack;
    open_stacks(&stacks, THRUM_GUARD_AUTO);
    books.refuse = true;
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &stack), -ENOMEM);
    books.refuse = false;
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &stack), 0);
    th_stack_put(&stacks, stack);
    close_stacks(&stacks);
}

/* ---- many ---- */

TEST(a_hundred_thousand_stacks) {
    /*
     * All are guarded, with at most 16 bytes of books each beside the record, and the mappings are
     * few unless mprotect is all.
     */
    int n = TH_TSAN || TH_ASAN ? 10000 : check_scaled(100000);
    th_stack *all = malloc((size_t)n * sizeof *all);
    th_stacks stacks;
    needs_stacks(n, th_stack_class_size(CLASS_128K), th_os_page_size());
    open_stacks(&stacks, THRUM_GUARD_AUTO);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &all[i]), 0);
        CHECK(all[i].guard != THRUM_GUARD_AUTO);
    }
    CHECK_EQ(th_stacks_live(&stacks), n);
    CHECK(books.bytes <= (size_t)n * (16 + TH_STACK_RECORD) + 64 * KIB); /* and one begun slab */
    for (int i = 0; i < n; i++) {
        th_stack_put(&stacks, all[i]);
    }
    close_stacks(&stacks);
    free(all);
}

static th_stacks shared;
static uint64_t xgot;

static void get_and_put(void *arg) {
    th_stack mine[8];
    for (int round = 0; round < *(int *)arg; round++) {
        for (int i = 0; i < 8; i++) {
            CHECK_EQ(th_stack_get(&shared, (unsigned)i % 2, &mine[i]), 0);
            mine[i].top[-1] = (char)i;
        }
        for (int i = 0; i < 8; i++) {
            CHECK_EQ(mine[i].top[-1], i);
            th_stack_put(&shared, mine[i]);
        }
        th_add_relaxed(&xgot, 8); /* relaxed: read after the join */
    }
}

TEST(threads_share_the_stacks) {
    /* Each stack belongs to one thread at a time; reuse keeps the books as small as the need. */
    th_os_thread threads[4];
    int rounds = check_scaled(TH_TSAN ? 100 : 2000);
    open_stacks(&shared, THRUM_GUARD_AUTO);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(th_os_thread_start(&threads[i], "stacks", get_and_put, &rounds), 0);
    }
    for (int i = 0; i < 4; i++) {
        th_os_thread_join(threads[i]);
    }
    CHECK_EQ(xgot, 4 * 8 * rounds);
    CHECK(shared.classes[0].slab_count == 1 && shared.classes[1].slab_count == 1);
    close_stacks(&shared);
}
