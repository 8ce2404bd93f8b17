/*
 * stack_guards.c: every kind of guard of a stack, and which of them a stack gets.
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "support/stacks.h"

/* The page below `bottom` faults and `bottom` does not; also after the pages were given back. */
static void guard_faults(thrum_guard kind) {
    th_stacks stacks;
    th_stack stack;
    if (!grants(kind)) {
        CHECK_SKIP("this system does not grant it");
    }
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
    size_t size = th_os_guard_size();
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
    th_os_fail(TH_OS_FAULT_GUARD_MADVISE, 0, 2);
    th_os_fail(TH_OS_FAULT_GUARD_MPROTECT, 1, 1);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &all[i]), 0);
    }
    th_os_fail(TH_OS_FAULT_GUARD_MPROTECT, 0, 0);
    CHECK_EQ(all[0].guard, THRUM_GUARD_MPROTECT);
    CHECK_EQ(all[1].guard, THRUM_GUARD_CANARY);
    CHECK_EQ(all[2].guard, madvise_known ? THRUM_GUARD_MADVISE : THRUM_GUARD_MPROTECT);
    CHECK_EQ(th_stacks_mprotect_count(), madvise_known ? 1 : 2);
    /* A slot keeps the guard that it has. */
    th_stack_put(&stacks, all[1]);
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &all[1]), 0);
    CHECK_EQ(all[1].guard, THRUM_GUARD_CANARY);
    for (int i = 0; i < 3; i++) {
        th_stack_put(&stacks, all[i]);
    }
    close_stacks(&stacks);
}

#define CROWD 200

TEST(stacks_of_a_crowd_are_made_ready_together) {
    /* Beyond a few, guards are installed for several stacks at once, and their tops are touched. */
    th_stacks stacks;
    static th_stack all[CROWD];
    if (!grants(THRUM_GUARD_MADVISE)) {
        CHECK_SKIP("this system has no guards by madvise");
    }
    open_stacks(&stacks, THRUM_GUARD_AUTO);
    unsigned touched = 0;
    for (int i = 0; i < CROWD; i++) {
        CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &all[i]), 0);
        CHECK_EQ(all[i].guard, THRUM_GUARD_MADVISE);
        size_t used = th_stack_high_water(&all[i]);
        CHECK(used <= th_os_page_size());
        touched += used > 0;
        if (i < 16) {
            CHECK_EQ(touched, 0); /* a few cost nothing that they do not use */
        }
    }
    /* None where the system makes them ready one by one (Linux before 6.15). */
    CHECK(touched == 0 || touched >= CROWD * 3 / 4);
    CHECK_EQ(th_stacks_live(&stacks), CROWD);
    for (int i = 0; i < CROWD; i += CROWD / 8) {
        CHECK(signal_of_write(all[i].bottom - 1) != 0);
    }
    for (int i = 0; i < CROWD; i++) {
        th_stack_put(&stacks, all[i]);
    }
    close_stacks(&stacks);
}

TEST(refused_together_they_are_made_ready_one_by_one) {
    /* Whatever is refused, together or alone, each stack has a guard that faults. */
    th_stacks stacks;
    static th_stack all[CROWD];
    if (!grants(THRUM_GUARD_MADVISE)) {
        CHECK_SKIP("this system has no guards by madvise");
    }
    open_stacks(&stacks, THRUM_GUARD_AUTO);
    for (int i = 0; i < CROWD; i++) {
        th_os_fail(TH_OS_FAULT_GUARD_MADVISE, 0, i >= 64 && i < 68 ? 2u : i % 3 == 0 ? 1u : 0u);
        CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &all[i]), 0);
        CHECK(all[i].guard == THRUM_GUARD_MADVISE || all[i].guard == THRUM_GUARD_MPROTECT);
    }
    th_os_fail(TH_OS_FAULT_GUARD_MADVISE, 0, 0);
    CHECK_EQ(th_stacks_live(&stacks), CROWD);
    for (int i = 0; i < CROWD; i += 3) {
        CHECK(signal_of_write(all[i].bottom - 1) != 0);
    }
    for (int i = 0; i < CROWD; i++) {
        th_stack_put(&stacks, all[i]);
    }
    close_stacks(&stacks);
}

TEST(auto_keeps_to_the_mapping_budget) {
    /* Protected pages end where the process's share of mappings does; the rest get canaries. */
    th_stacks stacks;
    th_stack all[30];
    open_stacks(&stacks, THRUM_GUARD_AUTO);
    CHECK_EQ(stacks.mprotect_max, th_os_map_count_max() / 4);
    stacks.mprotect_max = 10;
    th_os_fail(TH_OS_FAULT_GUARD_MADVISE, 0, 1000);
    for (int i = 0; i < 30; i++) {
        CHECK_EQ(th_stack_get(&stacks, 0, &all[i]), 0);
        CHECK_EQ(all[i].guard, i < 10 ? THRUM_GUARD_MPROTECT : THRUM_GUARD_CANARY);
    }
    th_os_fail(TH_OS_FAULT_GUARD_MADVISE, 0, 0);
    CHECK_EQ(th_stacks_mprotect_count(), 10);
    for (int i = 0; i < 30; i++) {
        th_stack_put(&stacks, all[i]);
    }
    close_stacks(&stacks);
}

TEST(forced_guard_that_is_refused_fails) {
    /* It is -ENOMEM, nothing is lost, and the same slot serves when it is granted again. */
    th_stacks stacks;
    th_stack stack;
    open_stacks(&stacks, THRUM_GUARD_MPROTECT);
    th_os_fail(TH_OS_FAULT_GUARD_MPROTECT, 0, 2);
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &stack), -ENOMEM);
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &stack), -ENOMEM);
    CHECK_EQ(th_stacks_live(&stacks), 0);
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &stack), 0);
    CHECK_EQ(stack.slot, 0);
    CHECK_EQ(stack.guard, THRUM_GUARD_MPROTECT);
    th_stack_put(&stacks, stack);
    close_stacks(&stacks);

    open_stacks(&stacks, THRUM_GUARD_MADVISE);
    th_os_fail(TH_OS_FAULT_GUARD_MADVISE, 0, 1);
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &stack), -ENOMEM);
    th_os_fail(TH_OS_FAULT_GUARD_MADVISE, 0, 0);
    close_stacks(&stacks);
}

/* Whether so little memory may be locked that a stack is not mapped, and as much for its books. */
static bool locks_no_stack(void) {
    const size_t guard = th_os_guard_size();
    const size_t size = 2 * (th_stack_class_size(CLASS_128K) + guard);
    void *piece = th_os_map(size);
    if (piece) {
        th_os_unmap(piece, size);
    }
    return piece == NULL;
}

TEST(locked_memory_still_gets_stacks) {
    /* Under mlockall the kernel refuses the madvise guard; AUTO gives another one. */
    th_stacks stacks;
    th_stack stack;
    if (mlockall(MCL_FUTURE | MCL_ONFAULT) != 0) {
        CHECK_SKIP("mlockall: %s", strerror(errno));
    }
    if (locks_no_stack()) {
        CHECK_SKIP("the limit of locked memory is below that of a stack");
    }
    open_stacks(&stacks, THRUM_GUARD_AUTO);
    CHECK_EQ(th_stack_get(&stacks, CLASS_128K, &stack), 0);
    munlockall();
    CHECK(stack.guard == THRUM_GUARD_MPROTECT || stack.guard == THRUM_GUARD_MADVISE);
    CHECK(signal_of_write(stack.bottom - 1) != 0);
    th_stack_put(&stacks, stack);
    close_stacks(&stacks);
}
