/*
 * context_ucontext.c: contexts by makecontext and swapcontext, the portable fallback.
 *
 * The C library's swap saves and restores the signal mask too, which belongs to the thread and not
 * to the context: a fiber that moves would carry its thread's mask to another one. All threads that
 * run fibers are started with the same mask, so this shows only where a program changes it in a
 * fiber or binds threads of its own.
 */
#include "platform/context/context.h"

#include <stdlib.h>

/* makecontext passes only ints, so each pointer is passed as two halves. */
static void begin(unsigned entry_high, unsigned entry_low, unsigned arg_high, unsigned arg_low) {
    uint64_t entry = (uint64_t)entry_high << 32 | entry_low;
    uint64_t arg = (uint64_t)arg_high << 32 | arg_low;
    ((void (*)(void *))(uintptr_t)entry)((void *)(uintptr_t)arg);
    abort(); /* it must not return */
}

void th_context_make(th_context *context, void *bottom, void *top, void (*entry)(void *),
                     void *arg) {
    uint64_t e = (uintptr_t)entry, a = (uintptr_t)arg;
    if (getcontext(&context->state) != 0) {
        abort();
    }
    context->state.uc_stack.ss_sp = bottom;
    context->state.uc_stack.ss_size = (size_t)((char *)top - (char *)bottom);
    context->state.uc_link = NULL;
    makecontext(&context->state, (void (*)(void))begin, 4, (unsigned)(e >> 32), (unsigned)e,
                (unsigned)(a >> 32), (unsigned)a);
}

void th_context_switch(th_context *from, const th_context *to) {
    if (swapcontext(&from->state, &to->state) != 0) {
        abort();
    }
}

/* The C library documents its struct for the processors whose calls are known (call.h). */
TH_NO_TSAN uintptr_t th_context_pointer(const th_context *context) {
#if defined(__x86_64__)
    return (uintptr_t)context->state.uc_mcontext.gregs[15]; /* REG_RSP */
#elif defined(__aarch64__)
    return (uintptr_t)context->state.uc_mcontext.sp;
#elif defined(__riscv)
    return (uintptr_t)context->state.uc_mcontext.__gregs[2];
#else
    (void)context;
    return 0;
#endif
}
