/*
 * The context switch: what it keeps, how a context begins, that it may move between threads, and
 * that debuggers and unwinders can walk its stack.
 */
/* compile: -O2 -g */
#define _GNU_SOURCE
#include <assert.h>
#if !defined(CHECK_NO_UNWINDER)
#include <unwind.h>
#endif

#include "base/annotate.h"
#include "base/atomic.h"
#include "check.h"
#include "platform/context/context.h"
#include "platform/platform.h"

#define STACK_SIZE ((size_t)256 * 1024)

/* One end of a switch, with what the sanitizers want to know. */
typedef struct side {
    th_context context;
    void *tsan;
    void *asan_fake;
    const void *bottom;
    size_t size;
    struct side *from; /* the side that switched here last */
    void (*body)(struct side *self);
    char *stack; /* NULL: a thread's own */
    unsigned valgrind;
} side;

/*
 * Not seen by the thread sanitizer, and so never inlined into what is seen: it leaves on another
 * side than it came in on.
 */
TH_NO_TSAN TH_NOINLINE static void go(side *from, side *to) {
    to->from = from;
    th_asan_leave(&from->asan_fake, to->bottom, to->size);
    th_tsan_to_worker(to->tsan);
    th_context_switch(&from->context, &to->context);
    th_asan_arrive(from->asan_fake, &from->from->bottom, &from->from->size);
}

TH_NO_TSAN static void begin(void *arg) {
    side *self = arg;
    th_asan_arrive(NULL, &self->from->bottom, &self->from->size);
    self->body(self);
    go(self, self->from);
    abort();
}

static void here(side *s) {
    *s = (side){.tsan = th_tsan_here()};
}

static void make(side *s, void (*body)(side *)) {
    char *stack = th_os_map(STACK_SIZE);
    CHECK(stack != NULL);
    *s = (side){.body = body,
                .stack = stack,
                .bottom = stack,
                .size = STACK_SIZE,
                .tsan = th_tsan_create(),
                .valgrind = th_valgrind_stack(stack, stack + STACK_SIZE)};
    th_context_make(&s->context, stack, stack + STACK_SIZE, begin, s);
}

static void drop(side *s) {
    th_tsan_destroy(s->tsan);
    th_valgrind_stack_gone(s->valgrind);
    th_os_unmap(s->stack, STACK_SIZE);
}

/* ---- beginning ---- */

static side *entered;

static void remember_entry(side *self) {
    entered = self;
    go(self, self->from);
    entered = NULL;
}

TEST(entry_gets_its_argument) {
    /* A new context calls its function with its argument, and goes on where it was left. */
    side me, fiber;
    here(&me);
    make(&fiber, remember_entry);
    go(&me, &fiber);
    CHECK(entered == &fiber);
    go(&me, &fiber);
    CHECK(entered == NULL);
    drop(&fiber);
}

static char printed[64];
static uintptr_t aligned_local;

static void use_alignment(side *self) {
    _Alignas(16) volatile char local[16] = {0};
    (void)self;
    aligned_local = (uintptr_t)local;
    snprintf(printed, sizeof printed, "%.2f %.1f %g %d", 1.25, 2.5, 1e100, 7);
}

TEST(stack_is_aligned) {
    /* The stack is as the ABI wants it, so that vector stores and variadic doubles work. */
    side me, fiber;
    here(&me);
    for (size_t skew = 0; skew < 40; skew += 4) {
        make(&fiber, use_alignment);
        th_context_make(&fiber.context, fiber.stack, fiber.stack + STACK_SIZE - skew, begin,
                        &fiber);
        go(&me, &fiber);
        CHECK_STR(printed, "1.25 2.5 1e+100 7");
        CHECK_EQ(aligned_local % 16, 0);
        drop(&fiber);
    }
}

static TH_NOINLINE uint64_t deep(unsigned n) {
    volatile char room[64];
    room[0] = (char)n;
    return n == 0 ? (uint64_t)room[0] : deep(n - 1) + (uint64_t)(room[0] == (char)n);
}

static uint64_t depth;

static void recurse(side *self) {
    (void)self;
    depth = deep(500);
}

TEST(deep_recursion_runs) {
    /* A context can use the depth of its stack. */
    side me, fiber;
    here(&me);
    make(&fiber, recurse);
    go(&me, &fiber);
    CHECK_EQ(depth, 500);
    drop(&fiber);
}

/* ---- what is kept ---- */

/*
 * check_registers(from, to, seed): fills every callee-saved register from the seed, switches, and
 * returns 0 when all of them came back. The sanitizers do not see it, nor need they.
 */
uint64_t check_registers(th_context *from, const th_context *to, uint64_t seed);

#if defined(__x86_64__) &&                                                                         \
    !defined(_WIN32) /* tests/windows/program/registers.c has that convention's */
__asm__(".text\n"
        ".type check_registers, @function\n"
        "check_registers:\n"
        "pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n pushq %rdx\n"
        "movq %rdx, %rbx\n leaq 1(%rdx), %rbp\n leaq 2(%rdx), %r12\n leaq 3(%rdx), %r13\n"
        "leaq 4(%rdx), %r14\n leaq 5(%rdx), %r15\n"
        "call th_context_switch\n"
        "popq %rdx\n"
        "movq %rbx, %rax\n xorq %rdx, %rax\n"
        "incq %rdx\n xorq %rdx, %rbp\n orq %rbp, %rax\n"
        "incq %rdx\n xorq %rdx, %r12\n orq %r12, %rax\n"
        "incq %rdx\n xorq %rdx, %r13\n orq %r13, %rax\n"
        "incq %rdx\n xorq %rdx, %r14\n orq %r14, %rax\n"
        "incq %rdx\n xorq %rdx, %r15\n orq %r15, %rax\n"
        "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n"
        "ret\n"
        ".size check_registers, . - check_registers\n");
#elif defined(__aarch64__)
__asm__(
    ".macro each do\n"
    "\\do x19, d8\n \\do x20, d9\n \\do x21, d10\n \\do x22, d11\n \\do x23, d12\n"
    "\\do x24, d13\n \\do x25, d14\n \\do x26, d15\n \\do x27, d8\n \\do x28, d8\n"
    ".endm\n"
    ".macro fill x, d\n mov \\x, x2\n fmov \\d, x2\n add x2, x2, #1\n .endm\n"
    ".macro test_x x, d\n eor x3, \\x, x2\n orr x0, x0, x3\n add x2, x2, #1\n .endm\n"
    ".macro test_d d\n fmov x3, \\d\n eor x3, x3, x2\n orr x0, x0, x3\n add x2, x2, #1\n .endm\n"
    ".text\n"
    ".type check_registers, %function\n"
    "check_registers:\n"
    "stp x29, x30, [sp, #-176]!\n stp x19, x20, [sp, #16]\n stp x21, x22, [sp, #32]\n"
    "stp x23, x24, [sp, #48]\n stp x25, x26, [sp, #64]\n stp x27, x28, [sp, #80]\n"
    "stp d8, d9, [sp, #96]\n stp d10, d11, [sp, #112]\n stp d12, d13, [sp, #128]\n"
    "stp d14, d15, [sp, #144]\n str x2, [sp, #160]\n"
    "each fill\n" /* d8 is overwritten by the last two: it holds seed + 9 */
    "bl th_context_switch\n"
    "ldr x2, [sp, #160]\n mov x0, #0\n"
    "each test_x\n"
    "ldr x2, [sp, #160]\n add x2, x2, #9\n test_d d8\n"
    "ldr x2, [sp, #160]\n add x2, x2, #1\n test_d d9\n test_d d10\n test_d d11\n test_d d12\n"
    "test_d d13\n test_d d14\n test_d d15\n"
    "ldp x19, x20, [sp, #16]\n ldp x21, x22, [sp, #32]\n ldp x23, x24, [sp, #48]\n"
    "ldp x25, x26, [sp, #64]\n ldp x27, x28, [sp, #80]\n ldp d8, d9, [sp, #96]\n"
    "ldp d10, d11, [sp, #112]\n ldp d12, d13, [sp, #128]\n ldp d14, d15, [sp, #144]\n"
    "ldp x29, x30, [sp], #176\n"
    "ret\n"
    ".size check_registers, . - check_registers\n");
#elif defined(__riscv)
__asm__(".macro each do\n"
        ".set at, 0\n"
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11\n"
        "\\do s\\n, fs\\n\n .set at, at + 16\n"
        ".endr\n"
        ".endm\n"
        ".macro keep x, f\n sd \\x, at(sp)\n fsd \\f, at + 8(sp)\n .endm\n"
        ".macro give x, f\n ld \\x, at(sp)\n fld \\f, at + 8(sp)\n .endm\n"
        ".macro fill x, f\n addi a2, a2, 1\n mv \\x, a2\n fmv.d.x \\f, a2\n .endm\n"
        ".macro test x, f\n addi a2, a2, 1\n xor a3, \\x, a2\n or a0, a0, a3\n"
        "fmv.x.d a3, \\f\n xor a3, a3, a2\n or a0, a0, a3\n .endm\n"
        ".text\n"
        ".type check_registers, %function\n"
        "check_registers:\n"
        "addi sp, sp, -208\n sd ra, 192(sp)\n sd a2, 200(sp)\n"
        "each keep\n each fill\n"
        "call th_context_switch\n"
        "ld a2, 200(sp)\n li a0, 0\n each test\n"
        "each give\n ld ra, 192(sp)\n addi sp, sp, 208\n"
        "ret\n"
        ".size check_registers, . - check_registers\n");
#else
uint64_t check_registers(th_context *from, const th_context *to, uint64_t seed) {
    (void)seed;
    th_context_switch(from, to);
    return 0;
}
#endif

static th_context registers_main, registers_fiber;
static uint64_t registers_differ;

static void registers_loop(void *arg) {
    for (uint64_t i = *(uint64_t *)arg;; i += 1000)
        registers_differ |= check_registers(&registers_fiber, &registers_main, i);
}

TEST(callee_saved_registers_survive) {
    /* Both sides find the registers that a call keeps as they left them. */
    if (TH_ASAN || TH_TSAN)
        CHECK_SKIP("the sanitizers do not see it");
    uint64_t first = 0x7700000000000000;
    char *stack = th_os_map(STACK_SIZE);
    CHECK(stack != NULL);
    th_context_make(&registers_fiber, stack, stack + STACK_SIZE, registers_loop, &first);
    for (uint64_t i = 0; i < 1000; i++)
        registers_differ |= check_registers(&registers_main, &registers_fiber, i * 77);
    CHECK_EQ(registers_differ, 0);
    th_os_unmap(stack, STACK_SIZE);
}

/* It lies in memory, so that it is computed where it stands. */
static volatile double one = 1.0, three = 3.0;

/*
 * Does what the C library's fesetround does, without its libm, and sets flushing to zero, which it
 * has no call for.
 */
#if defined(__x86_64__)
enum { NEAREST = 0, DOWN = 1, UP = 2, FLUSH = 0x8040 };
static unsigned control_word(void) {
    uint16_t x87;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    return (__builtin_ia32_stmxcsr() & ~0x3fu) | (unsigned)x87 << 16;
}
static void set_rounding(unsigned mode, unsigned flush) {
    uint16_t x87 = (uint16_t)((control_word() >> 16 & ~0xc00u) | mode << 10);
    __asm__ volatile("fldcw %0" : : "m"(x87));
    __builtin_ia32_ldmxcsr((__builtin_ia32_stmxcsr() & ~0x6000u) | mode << 13 | flush);
}
static unsigned rounding(void) {
    return control_word() >> 13 & 3;
}
#elif defined(__aarch64__)
enum { NEAREST = 0, UP = 1, DOWN = 2, FLUSH = 1 << 24 };
static unsigned control_word(void) {
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return (unsigned)fpcr;
}
static void set_rounding(unsigned mode, unsigned flush) {
    uint64_t fpcr = (control_word() & ~(3u << 22)) | mode << 22 | flush;
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
}
static unsigned rounding(void) {
    return control_word() >> 22 & 3;
}
#elif defined(__riscv)
enum { NEAREST = 0, DOWN = 2, UP = 3, FLUSH = 0 /* it has no such mode */ };
static unsigned control_word(void) {
    unsigned long frm;
    __asm__ volatile("frrm %0" : "=r"(frm));
    return (unsigned)frm;
}
static void set_rounding(unsigned mode, unsigned flush) {
    __asm__ volatile("fsrm %0" : : "r"((unsigned long)(mode | flush)));
}
static unsigned rounding(void) {
    return control_word();
}
#else
#include <fenv.h>
enum { NEAREST = FE_TONEAREST, DOWN = FE_DOWNWARD, UP = FE_UPWARD, FLUSH = 0 };
static unsigned control_word(void) {
    return (unsigned)fegetround();
}
static void set_rounding(unsigned mode, unsigned flush) {
    (void)fesetround((int)(mode | flush));
}
static unsigned rounding(void) {
    return control_word();
}
#endif

static double fiber_third;

static void round_up(side *self) {
    CHECK_EQ(rounding(), DOWN); /* its maker had this mode */
    set_rounding(UP, FLUSH);
    unsigned word = control_word();
    for (int i = 0; i < 3; i++) {
        go(self, self->from);
        CHECK_EQ(rounding(), UP);
        CHECK_EQ(control_word(), word);
        fiber_third = one / three;
    }
}

TEST(rounding_mode_is_kept_per_context) {
    /*
     * A context computes as it was told to, whatever the others do; a new one computes as its maker
     * did.
     */
    side me, fiber;
    here(&me);
    set_rounding(DOWN, 0);
    make(&fiber, round_up);
    set_rounding(NEAREST, 0);
    unsigned word = control_word();
    volatile double third = one / three;
    for (int i = 0; i < 4; i++) {
        go(&me, &fiber);
        CHECK_EQ(rounding(), NEAREST);
        CHECK_EQ(control_word(), word);
        volatile double again = one / three; /* some processors compute with more bits */
        CHECK(again == third);
    }
#if !defined(TH_VALGRIND) /* valgrind computes in its own way; it keeps the control words */
    CHECK(fiber_third > third);
#endif
    drop(&fiber);
}

/* ---- threads ---- */

static void *seen_selves[2];

static void see_threads(side *self) {
    for (int i = 0; i < 2; i++) {
        seen_selves[i] = th_os_self_get();
        th_os_errno_set(EAGAIN);
        go(self, self->from);
        CHECK_EQ(th_os_errno_get(), 0); /* it is the other thread's own */
    }
}

static void resume_elsewhere(void *arg) {
    side me;
    here(&me);
    th_os_self_set(&seen_selves[1]);
    th_os_errno_set(0);
    go(&me, arg);
    CHECK_EQ(th_os_errno_get(), EAGAIN);
    th_os_errno_set(0);
    th_os_self_set(NULL);
}

TEST(suspended_context_resumes_on_another_thread) {
    /* It goes on there, and finds that thread's pointer and errno. */
    side me, fiber;
    th_os_thread thread;
    here(&me);
    make(&fiber, see_threads);
    th_os_self_set(&seen_selves[0]);
    go(&me, &fiber);
    CHECK_EQ(th_os_thread_start(&thread, "other", resume_elsewhere, &fiber), 0);
    th_os_thread_join(thread);
    th_os_errno_set(0);
    go(&me, &fiber);
    CHECK(seen_selves[0] == &seen_selves[0]);
    CHECK(seen_selves[1] == &seen_selves[1]);
    th_os_self_set(NULL);
    drop(&fiber);
}

/* ---- unwinding ---- */

#if !defined(CHECK_NO_UNWINDER)
typedef struct walk {
    int frames;
    bool saw_inner, saw_outer;
    _Unwind_Reason_Code end;
} walk;

static walk walked;
static void unwind_inner(void);

static void unwind_outer(side *self) {
    (void)self;
    unwind_inner();
    __asm__ volatile("" ::: "memory"); /* prevents a tail call */
}

static _Unwind_Reason_Code count_frame(struct _Unwind_Context *context, void *arg) {
    walk *w = arg;
    const uintptr_t function = (uintptr_t)_Unwind_GetRegionStart(context) | 1; /* ARM's own bit */
    w->frames++;
    w->saw_inner |= function == ((uintptr_t)unwind_inner | 1);
    w->saw_outer |= function == ((uintptr_t)unwind_outer | 1);
    return w->frames > 50 ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static TH_NOINLINE void unwind_inner(void) {
    walked.end = _Unwind_Backtrace(count_frame, &walked);
    __asm__ volatile("" ::: "memory");
}

static void check_unwinding(void) {
    side me, fiber;
    here(&me);
    make(&fiber, unwind_outer);
    go(&me, &fiber);
    CHECK(walked.saw_inner && walked.saw_outer && walked.frames >= 3 && walked.frames < 10);
#if defined(__ARM_EABI__)
    CHECK_EQ(walked.end, _URC_FAILURE); /* it has no other code for an end */
#else
    CHECK_EQ(walked.end, _URC_END_OF_STACK);
#endif
    drop(&fiber);
}
#else
static void check_unwinding(void) {
    CHECK_SKIP("no unwinder for this C library");
}
#endif

TEST(unwinding_stops_at_the_first_frame) {
    /* The C runtime's unwinder finds the functions of a context, and a clean end below them. */
    check_unwinding();
}

/* ---- gdb ---- */

th_context *gdb_suspended; /* read by gdb */
void gdb_break(void);
void gdb_fiber_inner(side *self);
void gdb_fiber_outer(side *self);

TH_NOINLINE void gdb_break(void) {
    __asm__ volatile("" ::: "memory");
}

TH_NOINLINE void gdb_fiber_inner(side *self) {
    gdb_break();
    go(self, self->from);
    gdb_break();
}

TH_NOINLINE void gdb_fiber_outer(side *self) {
    gdb_fiber_inner(self);
    __asm__ volatile("" ::: "memory");
}

/* What gdb looks at: stopped in a fiber, then off it while the fiber is suspended. */
static void gdb_target(void) {
    side me, fiber;
    here(&me);
    make(&fiber, gdb_fiber_outer);
    go(&me, &fiber);
    gdb_suspended = &fiber.context;
    gdb_break();
}

/* gdb's commands: a walk in the fiber, then one in the suspended fiber, from its saved sp. */
#if defined(TH_CONTEXT_X86_64)
#define GDB_TO_SUSPENDED                                                                           \
    "-ex 'set $new=*gdb_suspended' -ex 'set $rsp=$new.sp' -ex 'set $rbp=$new.bp' "                 \
    "-ex 'set $rip=$new.ip' "
#define GDB_FIRST_FRAME "th_context_entry"
#elif defined(TH_CONTEXT_AARCH64) || defined(TH_CONTEXT_RISCV64)
#define GDB_TO_SUSPENDED "-ex 'set $sp=*(long*)gdb_suspended' -ex 'set $pc=&th_context_resume' "
#define GDB_FIRST_FRAME "th_context_entry"
#else
#define GDB_TO_SUSPENDED ""          /* the C library's layout is its own */
#define GDB_FIRST_FRAME "entry_high" /* an argument of its begin() */
#endif

/* The text between two marks must name the functions from the innermost out, and end there. */
static void check_walk(const char *text, const char *from, const char *to) {
    const char *p = strstr(text, from);
    CHECK(p != NULL);
    const char *end = strstr(p, to);
    CHECK(end != NULL);
    const char *names[] = {"gdb_fiber_inner", "gdb_fiber_outer", "begin", GDB_FIRST_FRAME};
    for (int i = 0; i < 4; i++) {
        p = strstr(p, names[i]);
        if (!p || p > end)
            check_failed(__FILE__, __LINE__, "%s is not in: %.900s", names[i], text);
    }
    if (GDB_TO_SUSPENDED[0] == '\0')
        return; /* the end of its walk is not ours either */
    p = strchr(p, '\n');
    if (!p || memchr(p, '#', (size_t)(end - p)) || strstr(text, "corrupt"))
        check_failed(__FILE__, __LINE__, "more behind the first frame: %.900s", text);
}

TEST(gdb_walks_a_fiber) {
    /* A debugger shows a fiber's functions down to its first frame, running and suspended. */
    if (getenv("CONTEXT_UNDER_GDB")) {
        gdb_target();
        return;
    }
    if (TH_ASAN || TH_TSAN)
        CHECK_SKIP("not under a sanitizer");
    if (system("command -v gdb >/dev/null 2>&1") != 0)
        CHECK_SKIP("no gdb");
    char program[512], command[2048];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    CHECK(n > 0);
    program[n] = '\0';
    snprintf(command, sizeof command,
             "CONTEXT_UNDER_GDB=1 gdb -nx -batch -ex 'set breakpoint pending on' "
             "-ex 'handle SIGSTOP SIGCONT nostop noprint nopass' -ex 'break gdb_break' -ex run "
             "-ex 'echo @running\\n' -ex bt -ex continue -ex 'echo @suspended\\n' %s -ex bt "
             "-ex 'echo @end\\n' -ex kill --args '%s' gdb_walks_a_fiber </dev/null 2>&1",
             GDB_TO_SUSPENDED, program);
    static char text[65536];
    FILE *gdb = popen(command, "r");
    CHECK(gdb != NULL);
    size_t length = fread(text, 1, sizeof text - 1, gdb);
    pclose(gdb);
    text[length] = '\0';
    if (!strstr(text, "Breakpoint 1, "))
        CHECK_SKIP("gdb can't run this program here: %.300s", text);
    check_walk(text, "@running", "@suspended");
    if (GDB_TO_SUSPENDED[0] != '\0')
        check_walk(text, "@suspended", "@end");
}
