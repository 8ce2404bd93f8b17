/*
 * exceptions.c: structured exceptions in fibers find the handlers of the fiber's own frames, and
 * nobody else's; also when the fiber is on another thread by then.
 */
#include <pthread.h>

#include "platform/context/context.h"
#include "platform/platform.h"
#include "support/support.h"

/* Behind what it may not come before. */
#include <windows.h>

#define OWN_CODE ((DWORD)0xe0746872) /* "thr" behind the bits of a program's own error */

/* ---- a frame with a handler ---- */

/* What is known of a call by `guarded`. */
typedef struct guard {
    int (*fn)(struct guard *guard);
    void *arg;
    bool declines; /* its handler has others handle it */
    int asked;     /* how often the handler was asked */
    int unwound;   /* how often the frame was left behind */
    DWORD code;
    ULONG_PTR told; /* the exception's own word */
    DWORD thread;
} guard;

/*
 * int guarded(guard *): calls guard->fn(guard), and returns what it returns, or -1 when the handler
 * has ended it. The handler finds the guard in the frame, 32 bytes above the stack pointer.
 */
int guarded(guard *guard);
void guarded_end(void);
EXCEPTION_DISPOSITION guarded_handler(EXCEPTION_RECORD *record, void *frame, CONTEXT *context,
                                      DISPATCHER_CONTEXT *dispatcher);

__asm__(".text\n"
        ".globl guarded\n"
        ".globl guarded_end\n"
        ".seh_proc guarded\n"
        "guarded:\n"
        ".seh_handler guarded_handler, @except, @unwind\n"
        "subq $40, %rsp\n"
        ".seh_stackalloc 40\n"
        ".seh_endprologue\n"
        "movq %rcx, 32(%rsp)\n"
        "call *(%rcx)\n"
        "guarded_end:\n" /* with the value in rax */
        "nop\n"
        "addq $40, %rsp\n"
        "ret\n"
        ".seh_endproc\n");

EXCEPTION_DISPOSITION guarded_handler(EXCEPTION_RECORD *record, void *frame, CONTEXT *context,
                                      DISPATCHER_CONTEXT *dispatcher) {
    guard *g = *(guard **)((char *)frame + 32);
    if (record->ExceptionFlags & (EXCEPTION_UNWINDING | EXCEPTION_EXIT_UNWIND)) {
        g->unwound++;
        return ExceptionContinueSearch;
    }
    g->asked++;
    g->code = record->ExceptionCode;
    g->told = record->NumberParameters > 0 ? record->ExceptionInformation[0] : 0;
    g->thread = GetCurrentThreadId();
    if (!g->declines) {
        RtlUnwindEx(frame, (void *)guarded_end, record, (void *)(intptr_t)-1, context,
                    dispatcher->HistoryTable);
    }
    return ExceptionContinueSearch;
}

static int raises(guard *g) {
    const ULONG_PTR word = (ULONG_PTR)g->arg;
    RaiseException(OWN_CODE, 0, 1, &word);
    return 1; /* not reached */
}

static int faults(guard *g) {
    *(volatile int *)g->arg = 1;
    return 1; /* not reached */
}

/* ---- within a fiber ---- */

static int own_body(void *arg) {
    (void)arg;
    for (int i = 1; i <= 20; i++) {
        guard g = {.fn = raises, .arg = (void *)(intptr_t)i};
        thrum_yield();
        CHECK_EQ(guarded(&g), -1);
        CHECK(g.asked == 1 && g.code == OWN_CODE && g.told == (ULONG_PTR)i);
        guard wild = {.fn = faults, .arg = (void *)16};
        CHECK_EQ(guarded(&wild), -1);
        CHECK(wild.asked == 1 && wild.code == EXCEPTION_ACCESS_VIOLATION && wild.told == 1);
    }
    return 0;
}

TEST(an_exception_finds_the_handler_of_a_fibers_frame) {
    /* One that is raised, and one of the processor's; the fiber goes on behind the frame. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, own_body, NULL), 0);
    rig_stop(&r);
}

static int calls_inner(guard *g) {
    return guarded(g->arg);
}

static int nested_body(void *arg) {
    guard inner = {.fn = raises, .arg = arg, .declines = true};
    guard outer = {.fn = calls_inner, .arg = &inner};
    CHECK_EQ(guarded(&outer), -1);
    CHECK(inner.asked == 1 && inner.unwound == 1);
    CHECK(outer.asked == 1 && outer.told == (ULONG_PTR)arg);
    return 0;
}

TEST(an_outer_frame_handles_what_an_inner_one_declines) {
    /* And the inner frame is told that it is left behind. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, nested_body, (void *)5), 0);
    rig_stop(&r);
}

/* ---- beside other fibers ---- */

typedef struct pair {
    thrum_event inside; /* the first fiber waits within its frame */
    thrum_event raised; /* the second one has raised and handled its own */
} pair;

static int waits_inside(guard *g) {
    pair *p = g->arg;
    thrum_event_signal(&p->inside);
    CHECK_EQ(thrum_event_wait(&p->raised), 0);
    return 7;
}

static int bystander(void *arg) {
    guard g = {.fn = waits_inside, .arg = arg};
    CHECK_EQ(guarded(&g), 7);
    CHECK(g.asked == 0 && g.unwound == 0);
    return 0;
}

static int raiser(void *arg) {
    pair *p = arg;
    CHECK_EQ(thrum_event_wait(&p->inside), 0);
    for (int i = 0; i < 10; i++) {
        guard g = {.fn = i % 2 ? faults : raises, .arg = (void *)16};
        CHECK_EQ(guarded(&g), -1);
        CHECK_EQ(g.asked, 1);
    }
    thrum_event_signal(&p->raised);
    return 0;
}

TEST(other_fibers_are_not_asked) {
    /* One waits within a frame that would handle anything, while another one raises. */
    rig r;
    pair p;
    thrum_handle *handles[2];
    int results[2] = {1, 1};
    thrum_event_init(&p.inside, THRUM_EVENT_MANUAL, false);
    thrum_event_init(&p.raised, THRUM_EVENT_MANUAL, false);
    rig_begin(&r, 0);
    const thrum_attr attr = rig_attr(&r);
    CHECK_EQ(thrum_spawn_with(&handles[0], &attr, bystander, &p), 0);
    CHECK_EQ(thrum_spawn_with(&handles[1], &attr, raiser, &p), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(thrum_join(handles[i], &results[i]), 0);
        CHECK_EQ(results[i], 0);
    }
    rig_stop(&r);
}

/* ---- a vectored handler that has it go on ---- */

static int saved = 42;

static LONG CALLBACK mend(EXCEPTION_POINTERS *both) {
    CONTEXT *context = both->ContextRecord;
    if (both->ExceptionRecord->ExceptionCode != EXCEPTION_ACCESS_VIOLATION || context->Rcx != 48) {
        return EXCEPTION_CONTINUE_SEARCH;
    }
    context->Rcx = (DWORD64)(uintptr_t)&saved;
    return EXCEPTION_CONTINUE_EXECUTION;
}

static int mended_body(void *arg) {
    (void)arg;
    for (int i = 0; i < 20; i++) {
        int value;
        thrum_yield();
        __asm__ volatile("movl (%%rcx), %0" : "=r"(value) : "c"((uintptr_t)48) : "memory");
        CHECK_EQ(value, 42);
    }
    return 0;
}

TEST(a_vectored_handler_has_a_fault_go_on) {
    /* It puts another address in place, and the instruction is made again. */
    rig r;
    void *handler = AddVectoredExceptionHandler(1, mend);
    CHECK(handler != NULL);
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, mended_body, NULL), 0);
    rig_stop(&r);
    CHECK(RemoveVectoredExceptionHandler(handler));
}

/* ---- on another thread ---- */

#define STACK_SIZE ((size_t)64 << 10)

static th_context caller;
static th_context guest;
static guard moved;
static int result;

static int moves(guard *g) {
    th_context_switch(&guest, &caller); /* and back on another thread */
    return raises(g);
}

static void guest_main(void *arg) {
    moved = (guard){.fn = moves, .arg = arg};
    result = guarded(&moved);
    for (;;) {
        th_context_switch(&guest, &caller);
    }
}

static void *visit_guest(void *arg) {
    th_context_switch(&caller, &guest);
    *(DWORD *)arg = GetCurrentThreadId();
    return NULL;
}

TEST(a_handler_is_found_on_another_thread) {
    /* The frame was made on one, the exception is raised on another. */
    pthread_t thread;
    DWORD number = 0;
    char *stack = th_os_map(STACK_SIZE);
    CHECK(stack != NULL);
    th_context_make(&guest, stack, stack + STACK_SIZE, guest_main, (void *)9);
    th_context_switch(&caller, &guest);
    CHECK_EQ(result, 0);
    CHECK_EQ(pthread_create(&thread, NULL, visit_guest, &number), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(result, -1);
    CHECK(moved.asked == 1 && moved.code == OWN_CODE && moved.told == 9);
    CHECK(moved.thread == number && number != GetCurrentThreadId());
    th_os_unmap(stack, STACK_SIZE);
}
