/*
 * context.h: one stack's suspended execution, and the switch from one to another.
 *
 * A context holds the callee-saved registers of the moment when it stopped. The build chooses the
 * file that implements it (TH_CONTEXT_X86_64, TH_CONTEXT_X86_64_WIN, TH_CONTEXT_AARCH64,
 * TH_CONTEXT_RISCV64, TH_CONTEXT_UCONTEXT).
 */
#ifndef TH_CONTEXT_H
#define TH_CONTEXT_H

#include "base/atomic.h"

#if defined(TH_CONTEXT_X86_64)
#include "platform/context/context_x86_64.h"
#elif defined(TH_CONTEXT_X86_64_WIN)
#include "platform/context/context_x86_64_win.h"
#elif defined(TH_CONTEXT_AARCH64)
#include "platform/context/context_aarch64.h"
#elif defined(TH_CONTEXT_RISCV64)
#include "platform/context/context_riscv64.h"
#elif defined(TH_CONTEXT_UCONTEXT)
#include "platform/context/context_ucontext.h"
#else
#error "the build chooses a context: TH_CONTEXT_X86_64, _X86_64_WIN, _AARCH64, _RISCV64, _UCONTEXT"
#endif

/*
 * Prepares a context that, when first switched to, calls entry(arg) on the stack below `top` (which
 * is rounded down as the ABI requires). `bottom` is the lowest usable byte. entry must not return.
 */
void th_context_make(th_context *context, void *bottom, void *top, void (*entry)(void *),
                     void *arg);

/*
 * Saves the caller in *from and goes on with *to. Returns after a switch back, maybe on another
 * thread. Keeps everything that a call keeps by the ABI, including the floating-point control
 * words.
 */
void th_context_switch(th_context *from, const th_context *to);

/* The same, inlined where it can be: for the one place in the library that switches. */
#ifndef TH_CONTEXT_INLINE
static inline void th_context_jump(th_context *from, const th_context *to) {
    th_context_switch(from, to);
}
#endif

/*
 * Says that less of the stack may be used from now on: `limit` is the lowest byte. The context is
 * suspended, or the caller is on it. Only Windows' contexts know it, which the system writes there
 * when a stack grows.
 */
#ifdef TH_CONTEXT_LIMITED
void th_context_set_limit(th_context *context, void *limit);
#else
static inline void th_context_set_limit(th_context *context, void *limit) {
    (void)context;
    (void)limit;
}
#endif

/*
 * The stack pointer of a suspended context; 0 when it is not known. For a context that is not
 * suspended it is the last value, or 0; a context that is just being made or switched may be read.
 */
#ifdef TH_CONTEXT_UCONTEXT
uintptr_t th_context_pointer(const th_context *context);
#else
static TH_INLINE_NO_TSAN uintptr_t th_context_pointer(const th_context *context) {
    return (uintptr_t)th_load_relaxed(&context->sp); /* relaxed: any recent value will do */
}
#endif

#endif
