/*
 * context_x86_64_win.S: the first frame of a context (x86_64, Microsoft's calling convention). The
 * switch itself is inlined (context_x86_64_win.h).
 */
#include "platform/context/context_x86_64_win.h"

    .text

    /*
     * The frame that th_context_make lays out is the one that this prologue would: shadow space of
     * four words, the function and its argument, a word that is not used, and a return address of
     * 0, where the walk up the stack ends. A context begins behind the prologue.
     *
     * What no handler in the context has caught would end the process without a word, since the
     * system's own last handler is at the bottom of each thread's stack, and not of this one. So
     * this frame has that handler.
     */
    .globl th_context_entry
    .globl th_context_begin
    .def th_context_entry
    .scl 2
    .type 32
    .endef
    .p2align 4
    .seh_proc th_context_entry
th_context_entry:
    .seh_handler th_context_unhandled, @except
    subq $56, %rsp
    .seh_stackalloc 56
    .seh_endprologue
th_context_begin:
    movq 40(%rsp), %rcx
    xorl %ebp, %ebp
    call *32(%rsp)
    ud2 /* it must not return */
    .seh_endproc
