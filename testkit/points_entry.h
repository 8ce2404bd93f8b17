/*
 * points_entry.h: the entry of a public call, in assembly. It saves all arguments, calls kit_call
 * with the number of the call, its return address and its first two arguments, restores the
 * arguments, and jumps to the call itself. The .cfi lines let reports find the callers.
 */
#if defined(__x86_64__)
/* clang-format off */
.macro kit_entry name, number
    .globl \name
    .type \name, @function
\name:
    movl $\number, %eax
    leaq kit_inner_\name(%rip), %r11
    jmp kit_enter
    .size \name, . - \name
.endm
#define KIT_ENTRY(name, number) kit_entry name, number

.text
.type kit_enter, @function
kit_enter: /* the call's arguments are in place; eax: its number, r11: the call itself */
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    pushq %rdi
    pushq %rsi
    pushq %rdx
    pushq %rcx
    pushq %r8
    pushq %r9
    pushq %r11
    pushq %r11
    subq $128, %rsp
    movups %xmm0, (%rsp)
    movups %xmm1, 16(%rsp)
    movups %xmm2, 32(%rsp)
    movups %xmm3, 48(%rsp)
    movups %xmm4, 64(%rsp)
    movups %xmm5, 80(%rsp)
    movups %xmm6, 96(%rsp)
    movups %xmm7, 112(%rsp)
    movq %rsi, %rcx
    movq %rdi, %rdx
    movl %eax, %edi
    movq 8(%rbp), %rsi
    call kit_call
    movups (%rsp), %xmm0
    movups 16(%rsp), %xmm1
    movups 32(%rsp), %xmm2
    movups 48(%rsp), %xmm3
    movups 64(%rsp), %xmm4
    movups 80(%rsp), %xmm5
    movups 96(%rsp), %xmm6
    movups 112(%rsp), %xmm7
    addq $128, %rsp
    popq %r11
    popq %r11
    popq %r9
    popq %r8
    popq %rcx
    popq %rdx
    popq %rsi
    popq %rdi
    popq %rbp
    .cfi_def_cfa %rsp, 8
    movl $8, %eax /* for calls with variable arguments: the number of vector registers */
    jmp *%r11
    .cfi_endproc
    .size kit_enter, . - kit_enter
/* clang-format on */
#elif defined(__aarch64__)
/* clang-format off */
.macro kit_entry name, number
    .globl \name
    .type \name, %function
\name:
    mov w16, #\number
    adrp x17, kit_inner_\name
    add x17, x17, :lo12:kit_inner_\name
    b kit_enter
    .size \name, . - \name
.endm
#define KIT_ENTRY(name, number) kit_entry name, number

.text
.type kit_enter, %function
kit_enter: /* the call's arguments are in place; w16: its number, x17: the call itself */
    .cfi_startproc
    stp x29, x30, [sp, #-240]!
    .cfi_def_cfa_offset 240
    .cfi_offset x29, -240
    .cfi_offset x30, -232
    mov x29, sp
    .cfi_def_cfa_register x29
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    stp x8, x17, [sp, #80]
    stp q0, q1, [sp, #96]
    stp q2, q3, [sp, #128]
    stp q4, q5, [sp, #160]
    stp q6, q7, [sp, #192]
    mov x3, x1
    mov x2, x0
    mov w0, w16
    mov x1, x30
    bl kit_call
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldp x8, x17, [sp, #80]
    ldp q0, q1, [sp, #96]
    ldp q2, q3, [sp, #128]
    ldp q4, q5, [sp, #160]
    ldp q6, q7, [sp, #192]
    ldp x29, x30, [sp], #240
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    br x17
    .cfi_endproc
    .size kit_enter, . - kit_enter
/* clang-format on */
#else
#error "the test kit has no entries for this processor"
#endif
