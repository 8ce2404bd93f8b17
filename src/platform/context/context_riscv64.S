/*
 * context_riscv64.S: th_context_switch and the first frame of a context (riscv64, LP64D).
 *
 * Both sides of a switch have the same frame (context_riscv64.h), so one description of it (CFI) is
 * true at every instruction. The rounding mode is read each time but written only when the other
 * side's differs: writing it drains the pipeline on many cores. tp is the thread's and stays.
 *
 * The way back is a jump through t2, not a `ret`: the processor predicts a `ret` by the call before
 * it, which here is always another stack's. Of the registers that predict nothing, t2 is the one
 * whose targets need no landing pad (Zicfilp).
 */
#include "platform/context/context_riscv64.h"
#include "platform/gdb_script.h"

    .text

    .globl th_context_switch
    .hidden th_context_switch
    .type th_context_switch, %function
    .p2align 2
th_context_switch: /* a0: from, a1: to */
    .cfi_startproc
    ld a1, 0(a1)
    addi sp, sp, -TH_FRAME_SIZE
    .cfi_adjust_cfa_offset TH_FRAME_SIZE
    sd ra, TH_FRAME_RA(sp)
    sd s0, TH_FRAME_S0(sp)
    sd s1, TH_FRAME_S0 + 8(sp)
    sd s2, TH_FRAME_S0 + 16(sp)
    sd s3, TH_FRAME_S0 + 24(sp)
    sd s4, TH_FRAME_S0 + 32(sp)
    sd s5, TH_FRAME_S0 + 40(sp)
    sd s6, TH_FRAME_S0 + 48(sp)
    sd s7, TH_FRAME_S0 + 56(sp)
    sd s8, TH_FRAME_S0 + 64(sp)
    sd s9, TH_FRAME_S0 + 72(sp)
    sd s10, TH_FRAME_S0 + 80(sp)
    sd s11, TH_FRAME_S0 + 88(sp)
    .cfi_rel_offset ra, TH_FRAME_RA
    .cfi_rel_offset s0, TH_FRAME_S0
    .cfi_rel_offset s1, TH_FRAME_S0 + 8
    .cfi_rel_offset s2, TH_FRAME_S0 + 16
    .cfi_rel_offset s3, TH_FRAME_S0 + 24
    .cfi_rel_offset s4, TH_FRAME_S0 + 32
    .cfi_rel_offset s5, TH_FRAME_S0 + 40
    .cfi_rel_offset s6, TH_FRAME_S0 + 48
    .cfi_rel_offset s7, TH_FRAME_S0 + 56
    .cfi_rel_offset s8, TH_FRAME_S0 + 64
    .cfi_rel_offset s9, TH_FRAME_S0 + 72
    .cfi_rel_offset s10, TH_FRAME_S0 + 80
    .cfi_rel_offset s11, TH_FRAME_S0 + 88
    fsd fs0, TH_FRAME_FS0(sp)
    fsd fs1, TH_FRAME_FS0 + 8(sp)
    fsd fs2, TH_FRAME_FS0 + 16(sp)
    fsd fs3, TH_FRAME_FS0 + 24(sp)
    fsd fs4, TH_FRAME_FS0 + 32(sp)
    fsd fs5, TH_FRAME_FS0 + 40(sp)
    fsd fs6, TH_FRAME_FS0 + 48(sp)
    fsd fs7, TH_FRAME_FS0 + 56(sp)
    fsd fs8, TH_FRAME_FS0 + 64(sp)
    fsd fs9, TH_FRAME_FS0 + 72(sp)
    fsd fs10, TH_FRAME_FS0 + 80(sp)
    fsd fs11, TH_FRAME_FS0 + 88(sp)
    .cfi_rel_offset fs0, TH_FRAME_FS0
    .cfi_rel_offset fs1, TH_FRAME_FS0 + 8
    .cfi_rel_offset fs2, TH_FRAME_FS0 + 16
    .cfi_rel_offset fs3, TH_FRAME_FS0 + 24
    .cfi_rel_offset fs4, TH_FRAME_FS0 + 32
    .cfi_rel_offset fs5, TH_FRAME_FS0 + 40
    .cfi_rel_offset fs6, TH_FRAME_FS0 + 48
    .cfi_rel_offset fs7, TH_FRAME_FS0 + 56
    .cfi_rel_offset fs8, TH_FRAME_FS0 + 64
    .cfi_rel_offset fs9, TH_FRAME_FS0 + 72
    .cfi_rel_offset fs10, TH_FRAME_FS0 + 80
    .cfi_rel_offset fs11, TH_FRAME_FS0 + 88
    frrm t0
    sd t0, TH_FRAME_FRM(sp)
    sd sp, 0(a0)
    mv sp, a1

    .globl th_context_resume
    .hidden th_context_resume
th_context_resume:
    ld t1, TH_FRAME_FRM(sp)
    ld ra, TH_FRAME_RA(sp)
    ld s0, TH_FRAME_S0(sp)
    ld s1, TH_FRAME_S0 + 8(sp)
    ld s2, TH_FRAME_S0 + 16(sp)
    ld s3, TH_FRAME_S0 + 24(sp)
    ld s4, TH_FRAME_S0 + 32(sp)
    ld s5, TH_FRAME_S0 + 40(sp)
    ld s6, TH_FRAME_S0 + 48(sp)
    ld s7, TH_FRAME_S0 + 56(sp)
    ld s8, TH_FRAME_S0 + 64(sp)
    ld s9, TH_FRAME_S0 + 72(sp)
    ld s10, TH_FRAME_S0 + 80(sp)
    ld s11, TH_FRAME_S0 + 88(sp)
    fld fs0, TH_FRAME_FS0(sp)
    fld fs1, TH_FRAME_FS0 + 8(sp)
    fld fs2, TH_FRAME_FS0 + 16(sp)
    fld fs3, TH_FRAME_FS0 + 24(sp)
    fld fs4, TH_FRAME_FS0 + 32(sp)
    fld fs5, TH_FRAME_FS0 + 40(sp)
    fld fs6, TH_FRAME_FS0 + 48(sp)
    fld fs7, TH_FRAME_FS0 + 56(sp)
    fld fs8, TH_FRAME_FS0 + 64(sp)
    fld fs9, TH_FRAME_FS0 + 72(sp)
    fld fs10, TH_FRAME_FS0 + 80(sp)
    fld fs11, TH_FRAME_FS0 + 88(sp)
    mv t2, ra
    bne t0, t1, .Lload_frm
.Lleave:
    addi sp, sp, TH_FRAME_SIZE
    .cfi_remember_state
    .cfi_def_cfa sp, 0
    .cfi_restore ra
    .cfi_restore s0
    .cfi_restore s1
    .cfi_restore s2
    .cfi_restore s3
    .cfi_restore s4
    .cfi_restore s5
    .cfi_restore s6
    .cfi_restore s7
    .cfi_restore s8
    .cfi_restore s9
    .cfi_restore s10
    .cfi_restore s11
    .cfi_restore fs0
    .cfi_restore fs1
    .cfi_restore fs2
    .cfi_restore fs3
    .cfi_restore fs4
    .cfi_restore fs5
    .cfi_restore fs6
    .cfi_restore fs7
    .cfi_restore fs8
    .cfi_restore fs9
    .cfi_restore fs10
    .cfi_restore fs11
    jr t2

    .cfi_restore_state
.Lload_frm:
    fsrm t1
    j .Lleave
    .cfi_endproc
    .size th_context_switch, . - th_context_switch

    /*
     * Where a new context begins: th_context_make has put the function into s1 and its argument
     * into s2. This has no caller, so the walk up the stack ends here.
     */
    .globl th_context_entry
    .hidden th_context_entry
    .type th_context_entry, %function
    .p2align 2
th_context_entry:
    .cfi_startproc
    .cfi_undefined ra
    mv a0, s2
    li s0, 0
    jalr s1
    ebreak /* it must not return */
    .cfi_endproc
    .size th_context_entry, . - th_context_entry

    .section .note.GNU-stack, "", %progbits
