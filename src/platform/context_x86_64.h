/*
 * context_x86_64.h: what a suspended context is on x86_64 (System V), for C and for the assembly.
 *
 * Everything lies on the context's own stack, below the return address of th_context_switch; the
 * context itself is the stack pointer. From the saved pointer upwards:
 *
 *     +0  mxcsr (4 bytes)   +4  x87 control word (2 bytes, 2 unused)
 *     +8  r15   +16 r14   +24 r13   +32 r12   +40 rbx   +48 rbp   +56 return address
 *
 * To look at a suspended fiber in gdb: set $rsp to the saved pointer and $rip to
 * th_context_resume, a label of that layout, and its backtrace is the fiber's.
 */
#ifndef TH_CONTEXT_X86_64_H
#define TH_CONTEXT_X86_64_H

#define TH_FRAME_MXCSR 0
#define TH_FRAME_FPUCW 4
#define TH_FRAME_R15 8
#define TH_FRAME_R14 16
#define TH_FRAME_R13 24
#define TH_FRAME_R12 32
#define TH_FRAME_RBX 40
#define TH_FRAME_RBP 48
#define TH_FRAME_RIP 56
#define TH_FRAME_SIZE 64

#ifndef __ASSEMBLER__

typedef struct th_context {
    void *sp; /* valid while suspended; written by the switch away from it */
} th_context;

#endif
#endif
