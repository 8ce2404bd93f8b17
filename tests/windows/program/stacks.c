/*
 * stacks.c: stacks are committed as they grow: what counts against the system's limit, growth in
 * small steps and in one, on whichever thread, what is given back, and the end.
 */
#include <pthread.h>

#include "core/fiber/stack.h"
#include "platform/context/context.h"
#include "support/support.h"

/* Behind what it may not come before. */
#include <windows.h>

#define KIB ((size_t)1024)
#define CLASS_256K 4u

static size_t page(void) {
    return th_os_page_size();
}

/* ---- what the system says ---- */

static MEMORY_BASIC_INFORMATION ask(uintptr_t address) {
    MEMORY_BASIC_INFORMATION info;
    CHECK(VirtualQuery((void *)address, &info, sizeof info) == sizeof info);
    return info;
}

/* How many of these bytes are committed. */
static size_t committed(uintptr_t low, uintptr_t high) {
    size_t sum = 0;
    while (low < high) {
        MEMORY_BASIC_INFORMATION info = ask(low);
        uintptr_t end = (uintptr_t)info.BaseAddress + info.RegionSize;
        end = end < high ? end : high;
        sum += info.State == MEM_COMMIT ? end - low : 0;
        low = end;
    }
    return sum;
}

/*
 * Of the stack that the caller is on; and that its limit is where its guard says. The first query
 * may make the stack grow, so the limit is read after it; the others need no more room.
 */
static size_t own_committed(void) {
    ULONG_PTR low, high;
    uintptr_t limit;
    GetCurrentThreadStackLimits(&low, &high);
    (void)ask(low);
    __asm__ volatile("movq %%gs:%c1, %0" : "=r"(limit) : "i"(offsetof(NT_TIB, StackLimit)));
    CHECK(limit > low && limit < (uintptr_t)&limit);
    MEMORY_BASIC_INFORMATION above = ask(limit);
    MEMORY_BASIC_INFORMATION guard = ask(limit - 1);
    MEMORY_BASIC_INFORMATION below = ask(limit - page() - 1);
    CHECK(above.State == MEM_COMMIT && above.Protect == PAGE_READWRITE);
    CHECK(guard.State == MEM_COMMIT && guard.Protect == (PAGE_READWRITE | PAGE_GUARD));
    CHECK_EQ(below.State, MEM_RESERVE);
    return committed(low, high);
}

/* ---- ways down ---- */

/* Calls itself until `left` bytes of stack are used, and `at_end` there; checks what it wrote. */
static __attribute__((noinline)) size_t dive(size_t left, size_t (*at_end)(void)) {
    volatile unsigned char room[512];
    for (size_t i = 0; i < sizeof room; i++) {
        room[i] = (unsigned char)(left / 7 + i);
    }
    const size_t step = sizeof room;
    size_t result = left > step ? dive(left - step, at_end) : at_end();
    for (size_t i = 0; i < sizeof room; i++) {
        CHECK_EQ(room[i], (unsigned char)(left / 7 + i));
    }
    return result;
}

/* A frame that is larger than many pages, used from its lowest byte on. */
static __attribute__((noinline)) size_t jump(size_t (*at_end)(void)) {
    volatile unsigned char room[100 * 1024];
    room[0] = 1;
    size_t result = at_end();
    room[sizeof room - 1] = 2;
    CHECK_EQ(room[0], 1);
    return result;
}

/* ---- fibers ---- */

static void begin(rig *r, size_t size) {
    rig_init(r);
    r->config.stack_size = size;
    rig_start(r);
}

static int charge_body(void *arg) {
    (void)arg;
    CHECK(own_committed() <= 32 * KIB);
    size_t grown = dive(100 * KIB, own_committed);
    CHECK(grown >= 100 * KIB && grown < 160 * KIB);
    CHECK_EQ(own_committed(), grown);
    return 0;
}

TEST(a_stack_counts_as_far_as_it_was_used) {
    /* A fiber of 256 KiB begins with a few pages, and has as many as it came deep. */
    rig r;
    begin(&r, 256 * KIB);
    CHECK_EQ(rig_run(&r, charge_body, NULL), 0);
    rig_stop(&r);
}

static int jump_body(void *arg) {
    (void)arg;
    CHECK(jump(own_committed) >= 100 * KIB);
    return 0;
}

TEST(a_large_frame_is_probed) {
    /* The compiler touches each of its pages from the top down, so that the stack can grow. */
    rig r;
    begin(&r, 256 * KIB);
    CHECK_EQ(rig_run(&r, jump_body, NULL), 0);
    rig_stop(&r);
}

static size_t yield_and_look(void) {
    thrum_yield();
    return own_committed();
}

static int yields_body(void *arg) {
    (void)arg;
    for (size_t kib = 8; kib <= 192; kib += 8) {
        CHECK(dive(kib * KIB, yield_and_look) >= kib * KIB);
    }
    return 0;
}

TEST(stacks_grow_side_by_side) {
    /* Sixteen fibers take turns at each depth, on all workers. */
    rig r;
    thrum_handle *handles[16];
    begin(&r, 256 * KIB);
    const thrum_attr attr = rig_attr(&r);
    for (int i = 0; i < 16; i++) {
        CHECK_EQ(thrum_spawn_with(&handles[i], &attr, yields_body, NULL), 0);
    }
    for (int i = 0; i < 16; i++) {
        int result = 1;
        CHECK_EQ(thrum_join(handles[i], &result), 0);
        CHECK_EQ(result, 0);
    }
    rig_stop(&r);
}

static int whole_body(void *arg) {
    ULONG_PTR low, high;
    (void)arg;
    GetCurrentThreadStackLimits(&low, &high);
    size_t all = committed(low, high);
    CHECK(all >= 256 * KIB);
    CHECK_EQ(all, high - low);
    return (int)dive(200 * KIB, page) - (int)page();
}

TEST(a_stack_with_a_canary_is_committed_as_a_whole) {
    /* Nothing below it could grow it. */
    rig r;
    rig_init(&r);
    r.config.stack_size = 256 * KIB;
    r.config.guard = THRUM_GUARD_CANARY;
    rig_start(&r);
    CHECK_EQ(rig_run(&r, whole_body, NULL), 0);
    rig_stop(&r);
}

/* ---- overflows ---- */

static __attribute__((noinline)) int fall(volatile int n) {
    volatile char room[20 * 1024];
    room[0] = (char)n;
    return n > 100000000 ? room[3] : fall(n + 1) + room[0];
}

static int fall_body(void *arg) {
    (void)arg;
    dive(150 * KIB, yield_and_look);
    return fall(0);
}

static void overflow(void *arg) {
    rig r;
    begin(&r, *(size_t *)arg);
    rig_run(&r, fall_body, NULL);
}

TEST(an_overflow_by_large_frames_is_reported) {
    /* Behind growth, and a switch at some depth. */
    size_t size = 256 * KIB;
    check_dies(overflow, &size, "thrum: stack overflow in fiber");
}

/* ---- stacks by hand ---- */

static void *books_alloc(void *ctx, size_t size) {
    (void)ctx;
    return malloc(size);
}

static void books_free(void *ctx, void *ptr) {
    (void)ctx;
    free(ptr);
}

static th_stacks stacks;
static th_stack stack;
static th_context caller;
static th_context guest;
static DWORD threads[4]; /* those on which the guest was, each time that it came deeper */
static size_t depths[4]; /* and how much was committed then */

static size_t come_back(void) {
    static int n;
    int i = n++ % 4;
    threads[i] = GetCurrentThreadId();
    depths[i] = own_committed();
    th_context_switch(&guest, &caller);
    if (i == 0) {
        dive(100 * KIB, come_back);
    }
    return 0;
}

static void guest_main(void *arg) {
    (void)arg;
    for (;;) {
        dive(50 * KIB, come_back);
    }
}

static void make_guest(void) {
    th_context_make(&guest, stack.bottom, stack.top, guest_main, NULL);
    th_context_set_limit(&guest, th_stack_limit(&stack));
}

static size_t stack_committed(void) {
    return committed((uintptr_t)stack.bottom - th_os_guard_size(), (uintptr_t)stack.top);
}

static void *visit_guest(void *arg) {
    (void)arg;
    th_context_switch(&caller, &guest);
    return NULL;
}

static void open_one(void) {
    th_stacks_init(&stacks, THRUM_GUARD_MPROTECT, books_alloc, books_free, NULL);
    CHECK_EQ(th_stack_get(&stacks, CLASS_256K, &stack), 0);
    CHECK_EQ(th_stack_class_size(CLASS_256K), 256 * KIB);
    make_guest();
}

static void close_one(void) {
    th_stack_put(&stacks, stack);
    th_stacks_destroy(&stacks);
}

TEST(a_grown_stack_goes_on_on_another_thread) {
    /* It has grown on one, is taken over by another one, grows there, and comes back. */
    pthread_t thread;
    open_one();
    CHECK_EQ(stack_committed(), 3 * page());
    th_context_switch(&caller, &guest);
    CHECK(depths[0] >= 50 * KIB && depths[0] < 80 * KIB);
    CHECK_EQ(pthread_create(&thread, NULL, visit_guest, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK(depths[1] >= 150 * KIB);
    CHECK(threads[0] == GetCurrentThreadId() && threads[1] != threads[0]);
    th_context_switch(&caller, &guest); /* its deepest frames end here */
    CHECK(threads[2] == threads[0] && depths[2] == depths[1]);
    CHECK_EQ(stack_committed(), depths[1]);
    close_one();
}

TEST(what_is_given_back_does_not_count) {
    /* A stack that was trimmed, and one that was put, have few pages again, and grow again. */
    open_one();
    th_context_switch(&caller, &guest);
    CHECK(stack_committed() >= 50 * KIB);
    make_guest(); /* nothing is on the stack from now on */
    void *limit = th_stack_trim(&stacks, &stack, 16 * KIB);
    CHECK(limit == stack.top - 16 * KIB);
    CHECK_EQ(stack_committed(), 16 * KIB + page());
    CHECK(th_stack_trim(&stacks, &stack, 16 * KIB) == NULL);
    th_context_set_limit(&guest, limit);
    th_context_switch(&caller, &guest);
    CHECK(stack_committed() >= 50 * KIB);
    th_stack_put(&stacks, stack);
    CHECK_EQ(stack_committed(), 3 * page());
    char *bottom = stack.bottom;
    CHECK_EQ(th_stack_get(&stacks, CLASS_256K, &stack), 0);
    CHECK(stack.bottom == bottom);
    make_guest();
    th_context_switch(&caller, &guest);
    CHECK(stack_committed() >= 50 * KIB);
    close_one();
}
