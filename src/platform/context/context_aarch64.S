/*
 * context_aarch64.S: th_context_switch and the first frame of a context (aarch64, AAPCS64).
 *
 * Both sides of a switch have the same frame (context_aarch64.h), so one description of it (CFI) is
 * true at every instruction. fpcr is read each time but written only when the other side's differs:
 * writing it drains the pipeline on many cores.
 *
 * The way back is a `br x30`, not a `ret`: the processor predicts a `ret` by the call before it,
 * which here is always another stack's. Where branch targets are enforced (BTI), the target after a
 * call carries no landing pad, so there it has to be `ret`.
 */
#include "platform/context/context_aarch64.h"
#include "platform/gdb_script.h"

    .text

    .globl th_context_switch
    .hidden th_context_switch
    .type th_context_switch, %function
    .p2align 4
th_context_switch: /* x0: from, x1: to */
    .cfi_startproc
    hint #34 /* bti c */
    ldr x1, [x1]
    sub sp, sp, #TH_FRAME_SIZE
    .cfi_adjust_cfa_offset TH_FRAME_SIZE
    stp x19, x20, [sp, #TH_FRAME_X19]
    stp x21, x22, [sp, #TH_FRAME_X19 + 16]
    stp x23, x24, [sp, #TH_FRAME_X19 + 32]
    stp x25, x26, [sp, #TH_FRAME_X19 + 48]
    stp x27, x28, [sp, #TH_FRAME_X19 + 64]
    stp x29, x30, [sp, #TH_FRAME_X29]
    .cfi_rel_offset x19, TH_FRAME_X19
    .cfi_rel_offset x20, TH_FRAME_X19 + 8
    .cfi_rel_offset x21, TH_FRAME_X19 + 16
    .cfi_rel_offset x22, TH_FRAME_X19 + 24
    .cfi_rel_offset x23, TH_FRAME_X19 + 32
    .cfi_rel_offset x24, TH_FRAME_X19 + 40
    .cfi_rel_offset x25, TH_FRAME_X19 + 48
    .cfi_rel_offset x26, TH_FRAME_X19 + 56
    .cfi_rel_offset x27, TH_FRAME_X19 + 64
    .cfi_rel_offset x28, TH_FRAME_X19 + 72
    .cfi_rel_offset x29, TH_FRAME_X29
    .cfi_rel_offset x30, TH_FRAME_X30
    stp d8, d9, [sp, #TH_FRAME_D8]
    stp d10, d11, [sp, #TH_FRAME_D8 + 16]
    stp d12, d13, [sp, #TH_FRAME_D8 + 32]
    stp d14, d15, [sp, #TH_FRAME_D8 + 48]
    .cfi_rel_offset d8, TH_FRAME_D8
    .cfi_rel_offset d9, TH_FRAME_D8 + 8
    .cfi_rel_offset d10, TH_FRAME_D8 + 16
    .cfi_rel_offset d11, TH_FRAME_D8 + 24
    .cfi_rel_offset d12, TH_FRAME_D8 + 32
    .cfi_rel_offset d13, TH_FRAME_D8 + 40
    .cfi_rel_offset d14, TH_FRAME_D8 + 48
    .cfi_rel_offset d15, TH_FRAME_D8 + 56
    mrs x2, fpcr
    str x2, [sp, #TH_FRAME_FPCR]
    mov x3, sp
    str x3, [x0]
    mov sp, x1

    .globl th_context_resume
    .hidden th_context_resume
th_context_resume:
    ldr x3, [sp, #TH_FRAME_FPCR]
    ldp x29, x30, [sp, #TH_FRAME_X29]
    ldp x19, x20, [sp, #TH_FRAME_X19]
    ldp x21, x22, [sp, #TH_FRAME_X19 + 16]
    ldp x23, x24, [sp, #TH_FRAME_X19 + 32]
    ldp x25, x26, [sp, #TH_FRAME_X19 + 48]
    ldp x27, x28, [sp, #TH_FRAME_X19 + 64]
    ldp d8, d9, [sp, #TH_FRAME_D8]
    ldp d10, d11, [sp, #TH_FRAME_D8 + 16]
    ldp d12, d13, [sp, #TH_FRAME_D8 + 32]
    ldp d14, d15, [sp, #TH_FRAME_D8 + 48]
    cmp x2, x3
    b.ne .Lload_fpcr
.Lleave:
    add sp, sp, #TH_FRAME_SIZE
    .cfi_remember_state
    .cfi_def_cfa sp, 0
    .cfi_restore x19
    .cfi_restore x20
    .cfi_restore x21
    .cfi_restore x22
    .cfi_restore x23
    .cfi_restore x24
    .cfi_restore x25
    .cfi_restore x26
    .cfi_restore x27
    .cfi_restore x28
    .cfi_restore x29
    .cfi_restore x30
    .cfi_restore d8
    .cfi_restore d9
    .cfi_restore d10
    .cfi_restore d11
    .cfi_restore d12
    .cfi_restore d13
    .cfi_restore d14
    .cfi_restore d15
#ifdef __ARM_FEATURE_BTI_DEFAULT
    ret
#else
    br x30
#endif

    .cfi_restore_state
.Lload_fpcr:
    msr fpcr, x3
    b .Lleave
    .cfi_endproc
    .size th_context_switch, . - th_context_switch

    /*
     * Where a new context begins: th_context_make has put the function into x19 and its argument
     * into x20. This has no caller, so the walk up the stack ends here.
     */
    .globl th_context_entry
    .hidden th_context_entry
    .type th_context_entry, %function
    .p2align 4
th_context_entry:
    .cfi_startproc
    .cfi_undefined x30
    hint #36 /* bti j */
    mov x0, x20
    mov x29, xzr
    mov x30, xzr
    blr x19
    brk #1000 /* it must not return */
    .cfi_endproc
    .size th_context_entry, . - th_context_entry

    .section .note.GNU-stack, "", %progbits

#ifdef __ARM_FEATURE_BTI_DEFAULT
    /* Indirect branches land on pads (BTI); return addresses are not signed, so PAC is not
     * declared. */
    .section .note.gnu.property, "a"
    .p2align 3
    .word 4          /* size of the name */
    .word 16         /* size of the property */
    .word 5          /* NT_GNU_PROPERTY_TYPE_0 */
    .asciz "GNU"
    .word 0xc0000000 /* GNU_PROPERTY_AARCH64_FEATURE_1_AND */
    .word 4
    .word 1          /* BTI */
    .word 0
#endif
