/*
 * Stacks: sizes, reuse, every kind of guard, what happens when the system refuses.
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "base/annotate.h"
#include "base/atomic.h"
#include "check.h"
#include "core/fiber/stack.h"
#include "platform/context.h"
#include "platform/faults.h"
#include "platform/platform.h"

#define KIB ((size_t)1024)
#define CLASS_128K 3u

/* An allocator that counts what is out; it returns NULL while `refuse`. */
typedef struct heap {
    long live;
    size_t bytes;
    bool refuse;
} heap;

static heap books;

static void *heap_alloc(void *ctx, size_t size) {
    heap *h = ctx;
    if (h->refuse)
        return NULL;
    h->live++;
    h->bytes += size;
    return malloc(size);
}

static void heap_free(void *ctx, void *ptr) {
    heap *h = ctx;
    h->live--;
    free(ptr);
}

static void open_stacks(th_stacks *stacks, thrum_guard kind) {
    books = (heap){0};
    th_stacks_init(stacks, kind, heap_alloc, heap_free, &books);
}

/* Closes the stacks, and demands that nothing leaked. */
static void close_stacks(th_stacks *stacks) {
    CHECK_EQ(th_stacks_live(stacks), 0);
    th_stacks_destroy(stacks);
    CHECK_EQ(books.live, 0);
    CHECK_EQ(th_stacks_mprotect_count(), 0);
}

/* Returns whether this kernel knows the kind. */
static bool grants(thrum_guard kind) {
    th_stacks stacks;
    th_stack stack;
    open_stacks(&stacks, kind);
    int code = th_stack_get(&stacks, 0, &stack);
    if (code == 0)
        th_stack_put(&stacks, stack);
    close_stacks(&stacks);
    return code == 0;
}

/* ---- stacks that grow ---- */

static th_context asker;
static th_context climber;

static TH_NO_ASAN void climb(void *arg) {
    size_t page = th_os_page_size();
    volatile char *at = (volatile char *)((uintptr_t)&page & ~(uintptr_t)(page - 1));
    while (at > (volatile char *)arg) {
        at -= page;
        *at = *at;
    }
    th_context_switch(&climber, &asker);
}

/* Has all of a stack from `at` on been used, where only that makes it usable. What is there stays
 * as it is, but for some bytes that are neither the highest ones nor the lowest. */
static void reach(const th_stack *stack, char *at) {
    if (th_stack_grows(stack)) {
        uintptr_t low = (uintptr_t)at & ~(uintptr_t)(th_os_page_size() - 1);
        th_context_make(&climber, stack->bottom, stack->top - 256, climb, (void *)low);
        th_context_set_limit(&climber, th_stack_limit(stack));
        th_context_switch(&asker, &climber);
    }
}

/* Returns how writing there ends a process: 0 when it does not. */
static int signal_of_write(volatile char *where) {
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        *where = 1;
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

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
    for (char *p = th_stack_limit(&c); p < c.top; p++)
        CHECK_EQ(*p, 0);
    reach(&c, c.bottom);
    for (char *p = c.bottom; p < (char *)th_stack_limit(&c); p++)
        CHECK_EQ(*p, 0);
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
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &stack), 0);
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

static void count_visit(void *ctx, const th_stack *stack, bool in_use) {
    int *counts = ctx;
    CHECK(stack->guard != THRUM_GUARD_AUTO);
    counts[in_use]++;
}

TEST(each_visits_used_and_free_slots) {
    /* It visits every slot that ever had a stack, and tells whether it has one now. */
    th_stacks stacks;
    th_stack all[20];
    int counts[2] = {0, 0};
    open_stacks(&stacks, THRUM_GUARD_AUTO);
    for (int i = 0; i < 20; i++)
        CHECK_EQ(th_stack_get(&stacks, i % 2 ? 0 : CLASS_128K, &all[i]), 0);
    for (int i = 0; i < 7; i++)
        th_stack_put(&stacks, all[i]);
    th_stacks_each(&stacks, count_visit, counts);
    CHECK_EQ(counts[true], 13);
    CHECK_EQ(counts[false], 7);
    for (int i = 7; i < 20; i++)
        th_stack_put(&stacks, all[i]);
    close_stacks(&stacks);
}

/* ---- guards ---- */

/* The page below `bottom` faults and `bottom` does not; also after the pages were given back. */
static void guard_faults(thrum_guard kind) {
    th_stacks stacks;
    th_stack stack;
    if (!grants(kind))
        CHECK_SKIP("this system does not grant it");
    open_stacks(&stacks, kind);
    for (int round = 0; round < 2; round++) {
        CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &stack), 0);
        CHECK_EQ(stack.guard, kind);
        CHECK(signal_of_write(stack.bottom - 1) != 0);
        CHECK(signal_of_write(stack.bottom - th_os_page_size()) != 0);
        CHECK_EQ(signal_of_write(stack.bottom), 0);
        CHECK(th_stack_canary_ok(&stack));
        th_stack_trim(&stacks, &stack, 0);
        CHECK(signal_of_write(stack.bottom - 1) != 0);
        th_stack_put(&stacks, stack);
        CHECK(signal_of_write(stack.bottom - 1) != 0);
    }
    close_stacks(&stacks);
}

TEST(madvise_guard_faults) {
    /* The pages of MADV_GUARD_INSTALL fault, and survive when the stack's pages are given back. */
    guard_faults(THRUM_GUARD_MADVISE);
}

TEST(mprotect_guard_faults) {
    /* Protected pages do the same. */
    guard_faults(THRUM_GUARD_MPROTECT);
}

TEST(canary_tells_an_overflow) {
    /* It is good on a fresh stack, bad once it was written over, and good again on the next use. */
    th_stacks stacks;
    th_stack stack;
    open_stacks(&stacks, THRUM_GUARD_CANARY);
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &stack), 0);
    CHECK_EQ(stack.guard, THRUM_GUARD_CANARY);
    memset(stack.bottom, 7, (size_t)(stack.top - stack.bottom));
    CHECK(th_stack_canary_ok(&stack));
    for (int i = 1; i <= (int)TH_STACK_CANARY; i++) {
        stack.bottom[-i] = 1;
        CHECK(!th_stack_canary_ok(&stack));
        stack.bottom[-i] = 0;
        CHECK(th_stack_canary_ok(&stack));
    }
    stack.bottom[-1] = 1;
    th_stack_put(&stacks, stack);
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &stack), 0);
    CHECK(th_stack_canary_ok(&stack));
    th_stack_put(&stacks, stack);
    close_stacks(&stacks);
}

TEST(guard_is_found_by_address) {
    /* The guard is exactly its pages below the stack. */
    th_stacks stacks;
    th_stack stack;
    open_stacks(&stacks, THRUM_GUARD_AUTO);
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &stack), 0);
    uintptr_t bottom = (uintptr_t)stack.bottom;
    size_t size = TH_OS_GUARD_PAGES * th_os_page_size();
    CHECK(th_stack_find_guard(&stack, bottom - 1));
    CHECK(th_stack_find_guard(&stack, bottom - size));
    CHECK(!th_stack_find_guard(&stack, bottom));
    CHECK(!th_stack_find_guard(&stack, bottom - size - 1));
    CHECK(!th_stack_find_guard(&stack, 0));
    th_stack_put(&stacks, stack);
    close_stacks(&stacks);
}

TEST(auto_falls_back_stack_by_stack) {
    /* Each refusal leads to the next kind, and only for the stack that it happened to. */
    th_stacks stacks;
    th_stack all[4];
    bool madvise_known = grants(THRUM_GUARD_MADVISE);
    open_stacks(&stacks, THRUM_GUARD_AUTO);
    th_os_fail_guard_madvise(0, 2);
    th_os_fail_guard_mprotect(1, 1);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &all[i]), 0);
    th_os_fail_guard_mprotect(0, 0);
    CHECK_EQ(all[0].guard, THRUM_GUARD_MPROTECT);
    CHECK_EQ(all[1].guard, THRUM_GUARD_CANARY);
    CHECK_EQ(all[2].guard, madvise_known ? THRUM_GUARD_MADVISE : THRUM_GUARD_MPROTECT);
    CHECK_EQ(th_stacks_mprotect_count(), madvise_known ? 1 : 2);
    /* A slot keeps the guard that it has. */
    th_stack_put(&stacks, all[1]);
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &all[1]), 0);
    CHECK_EQ(all[1].guard, THRUM_GUARD_CANARY);
    for (int i = 0; i < 3; i++)
        th_stack_put(&stacks, all[i]);
    close_stacks(&stacks);
}

#define CROWD 200

TEST(stacks_of_a_crowd_are_made_ready_together) {
    /* Beyond a few, guards are installed for several stacks at once, and their tops are touched. */
    th_stacks stacks;
    static th_stack all[CROWD];
    if (!grants(THRUM_GUARD_MADVISE))
        CHECK_SKIP("this system has no guards by madvise");
    open_stacks(&stacks, THRUM_GUARD_AUTO);
    unsigned touched = 0;
    for (int i = 0; i < CROWD; i++) {
        CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &all[i]), 0);
        CHECK_EQ(all[i].guard, THRUM_GUARD_MADVISE);
        size_t used = th_stack_high_water(&all[i]);
        CHECK(used <= th_os_page_size());
        touched += used > 0;
        if (i < 16)
            CHECK_EQ(touched, 0); /* a few cost nothing that they do not use */
    }
    /* None where the system makes them ready one by one (Linux before 6.15). */
    CHECK(touched == 0 || touched >= CROWD * 3 / 4);
    CHECK_EQ(th_stacks_live(&stacks), CROWD);
    for (int i = 0; i < CROWD; i += CROWD / 8)
        CHECK(signal_of_write(all[i].bottom - 1) != 0);
    for (int i = 0; i < CROWD; i++)
        th_stack_put(&stacks, all[i]);
    close_stacks(&stacks);
}

TEST(refused_together_they_are_made_ready_one_by_one) {
    /* Whatever is refused, together or alone, each stack has a guard that faults. */
    th_stacks stacks;
    static th_stack all[CROWD];
    if (!grants(THRUM_GUARD_MADVISE))
        CHECK_SKIP("this system has no guards by madvise");
    open_stacks(&stacks, THRUM_GUARD_AUTO);
    for (int i = 0; i < CROWD; i++) {
        th_os_fail_guard_madvise(0, i >= 64 && i < 68 ? 2u : i % 3 == 0 ? 1u : 0u);
        CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &all[i]), 0);
        CHECK(all[i].guard == THRUM_GUARD_MADVISE || all[i].guard == THRUM_GUARD_MPROTECT);
    }
    th_os_fail_guard_madvise(0, 0);
    CHECK_EQ(th_stacks_live(&stacks), CROWD);
    for (int i = 0; i < CROWD; i += 3)
        CHECK(signal_of_write(all[i].bottom - 1) != 0);
    for (int i = 0; i < CROWD; i++)
        th_stack_put(&stacks, all[i]);
    close_stacks(&stacks);
}

TEST(auto_keeps_to_the_mapping_budget) {
    /* Protected pages end where the process's share of mappings does; the rest get canaries. */
    th_stacks stacks;
    th_stack all[30];
    open_stacks(&stacks, THRUM_GUARD_AUTO);
    CHECK_EQ(stacks.mprotect_max, th_os_map_count_max() / 4);
    stacks.mprotect_max = 10;
    th_os_fail_guard_madvise(0, 1000);
    for (int i = 0; i < 30; i++) {
        CHECK_EQ(th_stack_get(&stacks, 0, &all[i]), 0);
        CHECK_EQ(all[i].guard, i < 10 ? THRUM_GUARD_MPROTECT : THRUM_GUARD_CANARY);
    }
    th_os_fail_guard_madvise(0, 0);
    CHECK_EQ(th_stacks_mprotect_count(), 10);
    for (int i = 0; i < 30; i++)
        th_stack_put(&stacks, all[i]);
    close_stacks(&stacks);
}

TEST(forced_guard_that_is_refused_fails) {
    /* It is -ENOMEM, nothing is lost, and the same slot serves when it is granted again. */
    th_stacks stacks;
    th_stack stack;
    open_stacks(&stacks, THRUM_GUARD_MPROTECT);
    th_os_fail_guard_mprotect(0, 2);
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &stack), -ENOMEM);
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &stack), -ENOMEM);
    CHECK_EQ(th_stacks_live(&stacks), 0);
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &stack), 0);
    CHECK_EQ(stack.slot, 0);
    CHECK_EQ(stack.guard, THRUM_GUARD_MPROTECT);
    th_stack_put(&stacks, stack);
    close_stacks(&stacks);

    open_stacks(&stacks, THRUM_GUARD_MADVISE);
    th_os_fail_guard_madvise(0, 1);
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &stack), -ENOMEM);
    th_os_fail_guard_madvise(0, 0);
    close_stacks(&stacks);
}

TEST(locked_memory_still_gets_stacks) {
    /* Under mlockall the kernel refuses the madvise guard; AUTO gives another one. */
    th_stacks stacks;
    th_stack stack;
    if (mlockall(MCL_FUTURE | MCL_ONFAULT) != 0)
        CHECK_SKIP("mlockall: %s", strerror(errno));
    open_stacks(&stacks, THRUM_GUARD_AUTO);
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &stack), 0);
    munlockall();
    CHECK(stack.guard == THRUM_GUARD_MPROTECT || stack.guard == THRUM_GUARD_MADVISE);
    CHECK(signal_of_write(stack.bottom - 1) != 0);
    th_stack_put(&stacks, stack);
    close_stacks(&stacks);
}

/* ---- refusals ---- */

TEST(refused_mapping_is_an_error_and_no_more) {
    /* It is -ENOMEM while nothing is granted; smaller pieces are tried first; all is well later. */
    th_stacks stacks;
    th_stack stack, other;
    open_stacks(&stacks, THRUM_GUARD_AUTO);
    th_os_fail_map(0, 1000000);
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &stack), -ENOMEM);
    CHECK(th_os_fails_left(TH_OS_FAULT_MAP) < 1000000 - 3); /* 4 MiB, 2 MiB, ... one stack */
    th_os_fail_map(0, 4);
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
    open_stacks(&stacks, THRUM_GUARD_AUTO);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &all[i]), 0);
        CHECK(all[i].guard != THRUM_GUARD_AUTO);
    }
    CHECK_EQ(th_stacks_live(&stacks), n);
    CHECK(books.bytes <= (size_t)n * (16 + TH_STACK_RECORD) + 64 * KIB); /* and one begun slab */
    for (int i = 0; i < n; i++)
        th_stack_put(&stacks, all[i]);
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
    for (int i = 0; i < 4; i++)
        CHECK_EQ(th_os_thread_start(&threads[i], "stacks", get_and_put, &rounds), 0);
    for (int i = 0; i < 4; i++)
        th_os_thread_join(threads[i]);
    CHECK_EQ(xgot, 4 * 8 * rounds);
    CHECK(shared.classes[0].slab_count == 1 && shared.classes[1].slab_count == 1);
    close_stacks(&shared);
}
