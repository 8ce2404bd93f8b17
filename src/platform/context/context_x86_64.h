/*
 * context_x86_64.h: the switch on x86_64 (System V), and a suspended context.
 *
 * The switch is inlined where it is used. As a function it costs 20 to 30 ns more in a program: the
 * processor predicts each return by the call before it, and after a switch those calls were another
 * stack's. A function that leaves by `ret` is itself mispredicted, one that leaves by a jump shifts
 * the prediction of every return above it by one. Inlined there is no call, and two fibers that
 * wait in the same place find each other's predictions right.
 *
 * The compiler saves the values that it still needs: everything but the stack and frame pointers is
 * declared as overwritten. Nothing is pushed, so the red zone is safe and the unwind tables of the
 * function around it hold: to look at a suspended fiber in gdb, set $rsp, $rbp and $rip from its
 * context.
 *
 * The control words cost more than all the rest together (measured on a 2.6 GHz EPYC, ns one way):
 * none 0.6 to 1.0; with mxcsr 4.3; with the x87 word as well 4.4 to 4.9. mxcsr is always loaded,
 * since comparing a value that was just stored is slower; the x87 word only when it differs.
 */
#ifndef TH_CONTEXT_X86_64_H
#define TH_CONTEXT_X86_64_H

#define TH_CONTEXT_SP 0
#define TH_CONTEXT_BP 8
#define TH_CONTEXT_IP 16
#define TH_CONTEXT_MXCSR 24
#define TH_CONTEXT_FPUCW 28

#ifndef __ASSEMBLER__

#include "base/cc.h"

/* Valid while suspended; written by the switch away from it. */
typedef struct th_context {
    uint64_t sp;
    uint64_t bp;
    uint64_t ip;
    uint32_t mxcsr;
    uint16_t fpucw;
    uint16_t unused;
} th_context;

#define TH_CONTEXT_INLINE 1

static TH_ALWAYS_INLINE void th_context_jump(th_context *from, const th_context *to) {
    __asm__ volatile("leaq 1f(%%rip), %%rax\n\t"
                     "movq %%rax, %c[ip](%%rdi)\n\t"
                     "movq %%rsp, %c[sp](%%rdi)\n\t"
                     "movq %%rbp, %c[bp](%%rdi)\n\t"
                     "stmxcsr %c[mxcsr](%%rdi)\n\t"
                     "fnstcw %c[fpucw](%%rdi)\n\t"
                     "movzwl %c[fpucw](%%rdi), %%edx\n\t"
                     "movq %c[ip](%%rsi), %%rcx\n\t"
                     "movq %c[sp](%%rsi), %%rsp\n\t"
                     "movq %c[bp](%%rsi), %%rbp\n\t"
                     "ldmxcsr %c[mxcsr](%%rsi)\n\t"
                     "cmpw %%dx, %c[fpucw](%%rsi)\n\t"
                     "je 2f\n\t"
                     "fldcw %c[fpucw](%%rsi)\n"
                     "2:\n\t"
                     "notrack jmp *%%rcx\n"
                     "1:\n\t"
                     : "+D"(from), "+S"(to)
                     : [sp] "i"(TH_CONTEXT_SP), [bp] "i"(TH_CONTEXT_BP), [ip] "i"(TH_CONTEXT_IP),
                       [mxcsr] "i"(TH_CONTEXT_MXCSR), [fpucw] "i"(TH_CONTEXT_FPUCW)
                     : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
                       "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                       "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
                       "memory", "cc");
}

#endif
#endif
