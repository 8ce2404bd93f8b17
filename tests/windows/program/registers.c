/*
 * registers.c: what a call keeps by Microsoft's convention, a switch keeps too: eight registers and
 * ten of the vectors', of which the lower halves are filled.
 */
#include "check.h"
#include "platform/platform.h"

#define STACK_SIZE ((size_t)64 << 10)

/*
 * check_registers(from, to, seed): fills them from the seed, switches, and returns 0 when all of
 * them came back.
 */
uint64_t check_registers(th_context *from, const th_context *to, uint64_t seed);

__asm__(
    ".macro each_x do\n"
    "\\do %rbx\n \\do %rbp\n \\do %rsi\n \\do %rdi\n"
    "\\do %r12\n \\do %r13\n \\do %r14\n \\do %r15\n"
    ".endm\n"
    ".macro each_v do\n"
    "\\do 6\n \\do 7\n \\do 8\n \\do 9\n \\do 10\n \\do 11\n \\do 12\n \\do 13\n \\do 14\n"
    "\\do 15\n"
    ".endm\n"
    ".macro keep_v n\n movups %xmm\\n, 32 + 16 * (\\n - 6)(%rsp)\n .endm\n"
    ".macro give_v n\n movups 32 + 16 * (\\n - 6)(%rsp), %xmm\\n\n .endm\n"
    ".macro push_x x\n pushq \\x\n .endm\n"
    ".macro fill_x x\n movq %r8, \\x\n incq %r8\n .endm\n"
    ".macro fill_v n\n movq %r8, %xmm\\n\n incq %r8\n .endm\n"
    ".macro test_x x\n xorq %r8, \\x\n orq \\x, %rax\n incq %r8\n .endm\n"
    ".macro test_v n\n movq %xmm\\n, %rcx\n xorq %r8, %rcx\n orq %rcx, %rax\n incq %r8\n .endm\n"
    ".text\n"
    ".globl check_registers\n"
    "check_registers:\n"
    "each_x push_x\n"
    "subq $200, %rsp\n" /* 32 of shadow space, 160 of vectors, 8 for the seed */
    "each_v keep_v\n"
    "movq %r8, 192(%rsp)\n"
    "each_x fill_x\n each_v fill_v\n"
    "call th_context_switch\n"
    "movq 192(%rsp), %r8\n"
    "xorl %eax, %eax\n"
    "each_x test_x\n each_v test_v\n"
    "each_v give_v\n"
    "addq $200, %rsp\n"
    "popq %r15\n popq %r14\n popq %r13\n popq %r12\n"
    "popq %rdi\n popq %rsi\n popq %rbp\n popq %rbx\n"
    "ret\n");

static th_context main_context;
static th_context other_context;

static void other(void *arg) {
    uint64_t *wrong = arg;
    for (uint64_t seed = UINT64_C(1) << 40;; seed += 1000) {
        *wrong |= check_registers(&other_context, &main_context, seed);
    }
}

TEST(what_a_call_keeps_is_kept) {
    /* Two contexts fill all of them with different numbers, and find their own again. */
    static uint64_t wrong;
    char *stack = th_os_map(STACK_SIZE);
    CHECK(stack != NULL);
    th_context_make(&other_context, stack, stack + STACK_SIZE, other, &wrong);
    for (uint64_t seed = 1; seed < 100000; seed += 100) {
        CHECK_EQ(check_registers(&main_context, &other_context, seed), 0);
    }
    CHECK_EQ(wrong, 0);
    th_os_unmap(stack, STACK_SIZE);
}
