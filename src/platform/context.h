/*
 * context.h: one stack's suspended execution, and the switch from one to another.
 *
 * A context is what the callee-saved registers were when it stopped. Which file implements it is
 * chosen by the build (TH_CONTEXT_X86_64, TH_CONTEXT_AARCH64, TH_CONTEXT_RISCV64,
 * TH_CONTEXT_UCONTEXT).
 */
#ifndef TH_CONTEXT_H
#define TH_CONTEXT_H

#include "base/cc.h"

#if defined(TH_CONTEXT_X86_64)
#include "platform/context_x86_64.h"
#elif defined(TH_CONTEXT_AARCH64)
#include "platform/context_aarch64.h"
#elif defined(TH_CONTEXT_RISCV64)
#include "platform/context_riscv64.h"
#elif defined(TH_CONTEXT_UCONTEXT)
#include "platform/context_ucontext.h"
#else
#error "the build chooses a context: TH_CONTEXT_X86_64, _AARCH64, _RISCV64 or _UCONTEXT"
#endif

/*
 * Prepares a context that, when first switched to, calls entry(arg) on the stack below `top` (which
 * is rounded down to what the ABI wants). `bottom` is the lowest usable byte. entry must not
 * return.
 */
void th_context_make(th_context *context, void *bottom, void *top, void (*entry)(void *),
                     void *arg);

/*
 * Saves the caller in *from and goes on with *to. Returns when somebody switches back, maybe on
 * another thread. Keeps all that the ABI says a call keeps, the floating-point control words too.
 */
void th_context_switch(th_context *from, const th_context *to);

/* The same where it is inlined, if it can be: for the one place in the library that switches. */
#ifndef TH_CONTEXT_INLINE
static inline void th_context_jump(th_context *from, const th_context *to) {
    th_context_switch(from, to);
}
#endif

/*
 * Where the stack of a suspended context ends, or 0: it is not known. Of one that is not suspended
 * the last value, or 0; one that is just being made or switched may be read meanwhile.
 */
uintptr_t th_context_pointer(const th_context *context);

#endif
