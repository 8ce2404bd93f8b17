/*
 * context_x86_64_win.h: the switch on x86_64 by Microsoft's calling convention, and a suspended
 * context.
 *
 * It is inlined, and the compiler saves the values that it still needs, as in context_x86_64.h,
 * whose comments hold here too. A call keeps more here: rdi, rsi, and the lower halves of xmm6 to
 * xmm15. There is no red zone.
 *
 * The system trusts three words of the thread's block (TEB) about the stack: where it begins, how
 * far down it may be used, and where its memory begins. By them it decides whether a touched guard
 * page is an overflow, whether a frame may have a handler of exceptions, and how far a debugger
 * walks. So they belong to the context; the second one is the system's to change when the stack
 * grows, so each switch saves it. So does the word for a list of handlers on the stack, which is
 * Windows' only on 32 bits, but wine's here too: wine takes handlers at lower addresses for inner
 * ones, and so a thread's last handler for one of a fiber whose stack is above the thread's.
 */
#ifndef TH_CONTEXT_X86_64_WIN_H
#define TH_CONTEXT_X86_64_WIN_H

#define TH_CONTEXT_SP 0
#define TH_CONTEXT_BP 8
#define TH_CONTEXT_IP 16
#define TH_CONTEXT_MXCSR 24
#define TH_CONTEXT_FPUCW 28
#define TH_CONTEXT_BASE 32
#define TH_CONTEXT_LIMIT 40
#define TH_CONTEXT_MEMORY 48
#define TH_CONTEXT_HANDLERS 56

/* Where those four lie in the thread's block. */
#define TH_TEB_HANDLERS 0x00
#define TH_TEB_BASE 0x08
#define TH_TEB_LIMIT 0x10
#define TH_TEB_MEMORY 0x1478

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
    uint64_t base;     /* the first byte above the stack */
    uint64_t limit;    /* the lowest byte that may be used */
    uint64_t memory;   /* the lowest byte of all that belongs to it, guards too */
    uint64_t handlers; /* the first of the list; all ones: it is empty */
} th_context;

#define TH_CONTEXT_INLINE 1
#define TH_CONTEXT_LIMITED 1

static TH_ALWAYS_INLINE void th_context_jump(th_context *from, const th_context *to) {
    __asm__ volatile("leaq 1f(%%rip), %%rax\n\t"
                     "movq %%rax, %c[ip](%%rdi)\n\t"
                     "movq %%rsp, %c[sp](%%rdi)\n\t"
                     "movq %%rbp, %c[bp](%%rdi)\n\t"
                     "movq %%gs:%c[teb_base], %%r8\n\t"
                     "movq %%gs:%c[teb_limit], %%r9\n\t"
                     "movq %%gs:%c[teb_memory], %%r10\n\t"
                     "movq %%gs:%c[teb_handlers], %%r11\n\t"
                     "movq %%r8, %c[base](%%rdi)\n\t"
                     "movq %%r9, %c[limit](%%rdi)\n\t"
                     "movq %%r10, %c[memory](%%rdi)\n\t"
                     "movq %%r11, %c[handlers](%%rdi)\n\t"
                     "stmxcsr %c[mxcsr](%%rdi)\n\t"
                     "fnstcw %c[fpucw](%%rdi)\n\t"
                     "movzwl %c[fpucw](%%rdi), %%edx\n\t"
                     "movq %c[ip](%%rsi), %%rcx\n\t"
                     "movq %c[base](%%rsi), %%r8\n\t"
                     "movq %c[limit](%%rsi), %%r9\n\t"
                     "movq %c[memory](%%rsi), %%r10\n\t"
                     "movq %c[handlers](%%rsi), %%r11\n\t"
                     "movq %%r8, %%gs:%c[teb_base]\n\t"
                     "movq %%r9, %%gs:%c[teb_limit]\n\t"
                     "movq %%r10, %%gs:%c[teb_memory]\n\t"
                     "movq %%r11, %%gs:%c[teb_handlers]\n\t"
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
                       [mxcsr] "i"(TH_CONTEXT_MXCSR), [fpucw] "i"(TH_CONTEXT_FPUCW),
                       [base] "i"(TH_CONTEXT_BASE), [limit] "i"(TH_CONTEXT_LIMIT),
                       [memory] "i"(TH_CONTEXT_MEMORY), [handlers] "i"(TH_CONTEXT_HANDLERS),
                       [teb_handlers] "i"(TH_TEB_HANDLERS), [teb_base] "i"(TH_TEB_BASE),
                       [teb_limit] "i"(TH_TEB_LIMIT), [teb_memory] "i"(TH_TEB_MEMORY)
                     : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
                       "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                       "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
                       "memory", "cc");
}

#endif
#endif
