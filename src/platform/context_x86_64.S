/*
 * context_x86_64.S: th_context_switch and the first frame of a context (x86_64, System V).
 *
 * Both sides of a switch have the same frame (context_x86_64.h), so one description of it (CFI) is
 * true at every instruction: before the stack pointer is exchanged it tells the caller's frame, after
 * it the other one's.
 *
 * The control words are stored each time but loaded only when the other side's differ from the
 * stored ones, which are what the processor holds: loading them costs more than all the rest.
 *
 * The way back is a jump, not a `ret`: the processor predicts a `ret` by the call before it, which
 * here is always another stack's.
 */
#include "platform/context_x86_64.h"

    .text

    .globl th_context_switch
    .hidden th_context_switch
    .type th_context_switch, @function
    .p2align 4
th_context_switch: /* rdi: from, rsi: to */
    .cfi_startproc
    endbr64
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    pushq %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbx, 0
    pushq %r12
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r12, 0
    pushq %r13
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r13, 0
    pushq %r14
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r14, 0
    pushq %r15
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r15, 0
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    stmxcsr TH_FRAME_MXCSR(%rsp)
    fnstcw TH_FRAME_FPUCW(%rsp)
    movl TH_FRAME_MXCSR(%rsp), %eax
    movzwl TH_FRAME_FPUCW(%rsp), %edx
    movq %rsp, (%rdi)
    movq (%rsi), %rsp

    .globl th_context_resume
    .hidden th_context_resume
th_context_resume:
    cmpl %eax, TH_FRAME_MXCSR(%rsp)
    jne .Lload_mxcsr
.Lmxcsr_done:
    cmpw %dx, TH_FRAME_FPUCW(%rsp)
    jne .Lload_fpucw
.Lfpucw_done:
    movq TH_FRAME_R15(%rsp), %r15
    movq TH_FRAME_R14(%rsp), %r14
    movq TH_FRAME_R13(%rsp), %r13
    movq TH_FRAME_R12(%rsp), %r12
    movq TH_FRAME_RBX(%rsp), %rbx
    movq TH_FRAME_RBP(%rsp), %rbp
    movq TH_FRAME_RIP(%rsp), %rcx
    .cfi_remember_state
    .cfi_restore %r15
    .cfi_restore %r14
    .cfi_restore %r13
    .cfi_restore %r12
    .cfi_restore %rbx
    .cfi_restore %rbp
    .cfi_register %rip, %rcx
    addq $TH_FRAME_SIZE, %rsp
    .cfi_def_cfa %rsp, 0
    notrack jmp *%rcx

    .cfi_restore_state
.Lload_mxcsr:
    ldmxcsr TH_FRAME_MXCSR(%rsp)
    jmp .Lmxcsr_done
.Lload_fpucw:
    fldcw TH_FRAME_FPUCW(%rsp)
    jmp .Lfpucw_done
    .cfi_endproc
    .size th_context_switch, . - th_context_switch

    /*
     * Where a new context begins: th_context_make has put the function into r12 and its argument
     * into r13. Nobody called this, so the walk up the stack ends here.
     */
    .globl th_context_entry
    .hidden th_context_entry
    .type th_context_entry, @function
    .p2align 4
th_context_entry:
    .cfi_startproc
    .cfi_undefined %rip
    endbr64
    movq %r13, %rdi
    xorl %ebp, %ebp
    call *%r12
    ud2 /* it must not return */
    .cfi_endproc
    .size th_context_entry, . - th_context_entry

    .section .note.GNU-stack, "", @progbits

    /*
     * Indirect branches land on endbr64 (IBT). Shadow stacks are not claimed: a program that links
     * this runs without them, because each context would need a shadow stack of its own.
     */
    .section .note.gnu.property, "a"
    .p2align 3
    .long 4          /* size of the name */
    .long 16         /* size of the property */
    .long 5          /* NT_GNU_PROPERTY_TYPE_0 */
    .asciz "GNU"
    .long 0xc0000002 /* GNU_PROPERTY_X86_FEATURE_1_AND */
    .long 4
    .long 1          /* IBT */
    .long 0
