/*
 * context_x86_64.S: th_context_switch and the first frame of a context (x86_64, System V).
 *
 * Both sides of a switch have the same frame (context_x86_64.h), so one description of it (CFI) is
 * true at every instruction: before the stack pointer is exchanged it tells the caller's frame, after
 * it the other one's.
 *
 * The control words cost more than all the rest together (measured, 2.6 GHz EPYC, ns one way): none
 * 3.1; with mxcsr stored 4.7, stored and loaded 4.7; with the x87 word as well, stored and loaded 5.0,
 * loaded only when it differs 4.7. Comparing mxcsr first costs 6.7, since a value that was just stored
 * is slow to read back. So mxcsr is always loaded, the x87 word rarely, and its compare comes last.
 *
 * The way back is a jump, not a `ret`: the processor predicts a `ret` by the call before it, which
 * here is always another stack's (10 ns more).
 */
#include "platform/context_x86_64.h"

    .text

    .globl th_context_switch
    .hidden th_context_switch
    .type th_context_switch, @function
    .p2align 6
th_context_switch: /* rdi: from, rsi: to */
    .cfi_startproc
    endbr64
    movq (%rsi), %rsi
    leaq -TH_FRAME_RIP(%rsp), %rsp
    .cfi_adjust_cfa_offset TH_FRAME_RIP
    stmxcsr TH_FRAME_MXCSR(%rsp)
    fnstcw TH_FRAME_FPUCW(%rsp)
    movzwl TH_FRAME_FPUCW(%rsp), %edx
    movq %r15, TH_FRAME_R15(%rsp)
    .cfi_rel_offset %r15, TH_FRAME_R15
    movq %r14, TH_FRAME_R14(%rsp)
    .cfi_rel_offset %r14, TH_FRAME_R14
    movq %r13, TH_FRAME_R13(%rsp)
    .cfi_rel_offset %r13, TH_FRAME_R13
    movq %r12, TH_FRAME_R12(%rsp)
    .cfi_rel_offset %r12, TH_FRAME_R12
    movq %rbx, TH_FRAME_RBX(%rsp)
    .cfi_rel_offset %rbx, TH_FRAME_RBX
    movq %rbp, TH_FRAME_RBP(%rsp)
    .cfi_rel_offset %rbp, TH_FRAME_RBP
    movq %rsp, (%rdi)
    movq %rsi, %rsp

    .globl th_context_resume
    .hidden th_context_resume
th_context_resume:
    movq TH_FRAME_RIP(%rsp), %rcx
    ldmxcsr TH_FRAME_MXCSR(%rsp)
    movq TH_FRAME_R15(%rsp), %r15
    movq TH_FRAME_R14(%rsp), %r14
    movq TH_FRAME_R13(%rsp), %r13
    movq TH_FRAME_R12(%rsp), %r12
    movq TH_FRAME_RBX(%rsp), %rbx
    movq TH_FRAME_RBP(%rsp), %rbp
    cmpw %dx, TH_FRAME_FPUCW(%rsp)
    jne .Lload_fpucw
.Lleave:
    leaq TH_FRAME_SIZE(%rsp), %rsp
    .cfi_remember_state
    .cfi_def_cfa %rsp, 0
    .cfi_restore %r15 /* as they are now */
    .cfi_restore %r14
    .cfi_restore %r13
    .cfi_restore %r12
    .cfi_restore %rbx
    .cfi_restore %rbp
    .cfi_register %rip, %rcx
    notrack jmp *%rcx

    .cfi_restore_state
.Lload_fpucw:
    fldcw TH_FRAME_FPUCW(%rsp)
    jmp .Lleave
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
