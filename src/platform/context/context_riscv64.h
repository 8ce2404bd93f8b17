/*
 * context_riscv64.h: a suspended context on riscv64, for C and for the assembly.
 *
 * Everything lies on the context's own stack; the context itself is the stack pointer. From the
 * saved pointer upwards:
 *
 *     +0   ra (return address)     +8   s0 (frame pointer), s1 .. s11 (96 bytes)
 *     +104 fs0 .. fs11 (96 bytes)  +200 the rounding mode (frm)
 *
 * The vector registers and their modes are not kept across any call. To look at a suspended fiber
 * in gdb: set $sp to the saved pointer and $pc to th_context_resume, a label of that layout, and
 * its backtrace is the fiber's.
 */
#ifndef TH_CONTEXT_RISCV64_H
#define TH_CONTEXT_RISCV64_H

#if __riscv_xlen != 64 || !defined(__riscv_float_abi_double)
#error "this is for the LP64D calling convention; others can be built with THRUM_CONTEXT=ucontext"
#endif

#define TH_FRAME_RA 0
#define TH_FRAME_S0 8
#define TH_FRAME_FS0 104
#define TH_FRAME_FRM 200
#define TH_FRAME_SIZE 208

#ifndef __ASSEMBLER__

typedef struct th_context {
    void *sp; /* valid while suspended; written by the switch away from it */
} th_context;

#endif
#endif
