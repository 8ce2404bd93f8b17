/*
 * context_x86_64.S: the first frame of a context (x86_64, System V). The switch itself is inlined
 * (context_x86_64.h).
 */
#include "platform/context/context_x86_64.h"
#include "platform/gdb_script.h"

    .text

    /*
     * Where a new context begins: th_context_make has left the function and its argument on the
     * stack. This has no caller, so the walk up the stack ends here.
     */
    .globl th_context_entry
    .hidden th_context_entry
    .type th_context_entry, @function
    .p2align 4
th_context_entry:
    .cfi_startproc
    .cfi_undefined %rip
    endbr64
    popq %rax
    popq %rdi
    xorl %ebp, %ebp
    call *%rax
    ud2 /* it must not return */
    .cfi_endproc
    .size th_context_entry, . - th_context_entry

    .section .note.GNU-stack, "", @progbits

    /*
     * Indirect branches land on endbr64 (IBT). Shadow stacks are not declared: a program that links
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
