/*
 * tsan_names.S: the names that compilers call for -fsanitize=thread, for libthrum-test, which has no
 * use for them. Without them, a program that was compiled in that way would not link, in many
 * lines. Now it says in one line what is wrong (kit_refuse_tsan in builds.c): __tsan_init is called
 * before main. The others are never reached.
 */
/* clang-format off */
.macro name text
    .weak __tsan_\text
    .type __tsan_\text, %function
__tsan_\text:
.endm
.macro plain size
    name read\size
    name write\size
    name read_write\size
    name volatile_read\size
    name volatile_write\size
    name unaligned_read\size
    name unaligned_write\size
    name unaligned_read_write\size
.endm
.macro atomics bits
    name atomic\bits\()_load
    name atomic\bits\()_store
    name atomic\bits\()_exchange
    name atomic\bits\()_fetch_add
    name atomic\bits\()_fetch_sub
    name atomic\bits\()_fetch_and
    name atomic\bits\()_fetch_or
    name atomic\bits\()_fetch_xor
    name atomic\bits\()_fetch_nand
    name atomic\bits\()_compare_exchange_strong
    name atomic\bits\()_compare_exchange_weak
    name atomic\bits\()_compare_exchange_val
.endm

.text
.irp call, init, func_entry, func_exit, read_range, write_range, memcpy, memmove, memset, vptr_update, vptr_read
    name \call
.endr
.irp size, 1, 2, 4, 8, 16
    plain \size
.endr
.irp bits, 8, 16, 32, 64, 128
    atomics \bits
.endr
    name atomic_thread_fence
    name atomic_signal_fence
#if defined(__x86_64__)
    jmp kit_refuse_tsan
#else
    b kit_refuse_tsan
#endif
.section .note.GNU-stack, "", %progbits
/* clang-format on */
