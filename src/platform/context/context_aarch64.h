/*
 * context_aarch64.h: a suspended context on aarch64, for C and for the assembly.
 *
 * Everything lies on the context's own stack; the context itself is the stack pointer. From the
 * saved pointer upwards:
 *
 *     +0   x19 .. x28 (80 bytes)   +80  x29 (frame pointer), x30 (return address)
 *     +96  d8 .. d15 (64 bytes)    +160 fpcr, 8 unused
 *
 * To look at a suspended fiber in gdb: set $sp to the saved pointer and $pc to th_context_resume, a
 * label of that layout, and its backtrace is the fiber's.
 */
#ifndef TH_CONTEXT_AARCH64_H
#define TH_CONTEXT_AARCH64_H

#define TH_FRAME_X19 0
#define TH_FRAME_X29 80
#define TH_FRAME_X30 88
#define TH_FRAME_D8 96
#define TH_FRAME_FPCR 160
#define TH_FRAME_SIZE 176

#ifndef __ASSEMBLER__

typedef struct th_context {
    void *sp; /* valid while suspended; written by the switch away from it */
} th_context;

#endif
#endif
