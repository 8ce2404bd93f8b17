/*
 * fibers.c: what Windows has to believe of a fiber's stack: where it lies, how it is walked, what
 * an overflow of it is, and whose handlers an exception there finds. Built for Windows alone.
 */
#include <setjmp.h>

#include "support/support.h"

/* Behind what it may not come before. */
#include <windows.h>

/* ---- where the stack lies ---- */

static int bounds_body(void *arg) {
    ULONG_PTR low, high;
    char here = 0;
    (void)arg;
    thrum_yield();
    GetCurrentThreadStackLimits(&low, &high);
    CHECK((uintptr_t)&here >= low && (uintptr_t)&here < high);
    CHECK(high - low <= (size_t)64 << 10);
    return 0;
}

TEST(the_system_knows_the_stack_that_a_fiber_is_on) {
    /* The limits that the system tells inside a fiber are those of its stack. */
    rig r;
    rig_init(&r);
    r.config.stack_size = 32 << 10;
    rig_start(&r);
    CHECK_EQ(rig_run(&r, bounds_body, NULL), 0);
    rig_stop(&r);
}

/* ---- walking it ---- */

typedef struct walk {
    int frames;
    bool saw_body;
} walk;

/* Walks the caller's own stack by the unwind tables up to the frame without a caller. */
static __attribute__((noinline)) void walk_up(walk *w, uintptr_t low, uintptr_t high) {
    CONTEXT context;
    RtlCaptureContext(&context);
    while (context.Rip != 0 && w->frames < 100) {
        DWORD64 base;
        void *data;
        DWORD64 frame;
        RUNTIME_FUNCTION *function = RtlLookupFunctionEntry(context.Rip, &base, NULL);
        CHECK(function != NULL);
        w->saw_body = w->saw_body || (context.Rip >= low && context.Rip < high);
        RtlVirtualUnwind(UNW_FLAG_NHANDLER, base, context.Rip, function, &context, &data, &frame,
                         NULL);
        w->frames++;
    }
    CHECK_EQ(context.Rip, 0);
}

static __attribute__((noinline)) int walked_body(void *arg) {
    walk *w = arg;
    uintptr_t low = (uintptr_t)walked_body;
    thrum_yield(); /* it has been switched away from once */
    walk_up(w, low, low + 512);
    return 0;
}

TEST(the_unwind_tables_lead_from_a_fiber_to_its_first_frame) {
    /* A walk by RtlVirtualUnwind ends at the return address 0 of the first frame of the context. */
    walk w = {0};
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, walked_body, &w), 0);
    rig_stop(&r);
    CHECK(w.saw_body);
    CHECK(w.frames >= 3 && w.frames < 100);
}

/* ---- leaving frames ---- */

static jmp_buf back;

static __attribute__((noinline)) void deep(int n) {
    volatile char room[64];
    room[0] = (char)n;
    if (n > 0) {
        deep(n - 1);
        room[1] = room[0];
    } else if (n == 0) { /* always: but compilers want to see an end */
        longjmp(back, 7);
    }
}

static int jump_body(void *arg) {
    (void)arg;
    thrum_yield();
    int value = setjmp(back);
    if (value == 0) {
        deep(10);
    }
    CHECK_EQ(value, 7);
    thrum_yield();
    return 0;
}

TEST(longjmp_leaves_frames_of_a_fiber) {
    /* longjmp unwinds on Windows, which has to find its way on a fiber's stack. */
    rig r;
    rig_begin(&r, 1);
    CHECK_EQ(rig_run(&r, jump_body, NULL), 0);
    rig_stop(&r);
}

/* ---- overflows and faults ---- */

static __attribute__((noinline)) int fall(volatile int n) {
    volatile char room[256];
    memset((char *)room, n, sizeof room);
    return n > 100000000 ? room[3] : fall(n + 1) + room[0];
}

static int fall_body(void *arg) {
    (void)arg;
    return fall(0);
}

static void overflow(void *arg) {
    rig r;
    (void)arg;
    rig_begin(&r, 1);
    rig_run(&r, fall_body, NULL);
}

TEST(an_overflow_is_reported) {
    /* The guard is touched: the report names the fiber's stack, and the program aborts. */
    check_dies(overflow, NULL, "thrum: stack overflow in fiber");
}

static LONG WINAPI told(EXCEPTION_POINTERS *both) {
    static const char text[] = "the program's last handler: ";
    fprintf(stderr, "%s%lx\n", text, both->ExceptionRecord->ExceptionCode);
    fflush(stderr);
    abort();
}

static int fault_body(void *arg) {
    thrum_yield();
    *(volatile int *)arg = 1;
    return 0;
}

static void fault(void *arg) {
    rig r;
    SetUnhandledExceptionFilter(told);
    rig_begin(&r, 1);
    rig_run(&r, fault_body, arg);
}

TEST(a_fault_in_a_fiber_finds_the_programs_last_handler) {
    /* Which the system has at the bottom of a thread's own stack only; contexts bring it. */
    check_dies(fault, (void *)16, "the program's last handler: c0000005");
}
