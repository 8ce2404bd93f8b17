/*
 * context_x86_64.c: lays out a new context; context_x86_64.S is where it begins.
 */
#include "platform/context/context.h"

#include <assert.h>

static_assert(offsetof(th_context, sp) == TH_CONTEXT_SP, "the assembly");
static_assert(offsetof(th_context, bp) == TH_CONTEXT_BP, "the assembly");
static_assert(offsetof(th_context, ip) == TH_CONTEXT_IP, "the assembly");
static_assert(offsetof(th_context, mxcsr) == TH_CONTEXT_MXCSR, "the assembly");
static_assert(offsetof(th_context, fpucw) == TH_CONTEXT_FPUCW, "the assembly");

void th_context_entry(void);

void th_context_make(th_context *context, void *bottom, void *top, void (*entry)(void *),
                     void *arg) {
    /* The first frame: the function and its argument, popped by th_context_entry. */
    uint64_t *sp = (uint64_t *)(((uintptr_t)top & ~(uintptr_t)15) - 16);
    sp[0] = (uintptr_t)entry;
    sp[1] = (uintptr_t)arg;
    *context = (th_context){.sp = (uintptr_t)sp, .ip = (uintptr_t)th_context_entry};
    /* A new context has its maker's floating-point settings. */
    __asm__ volatile("stmxcsr %0" : "=m"(context->mxcsr));
    __asm__ volatile("fnstcw %0" : "=m"(context->fpucw));
    context->mxcsr &= ~0x3fu; /* the sticky exception flags are not settings */
    (void)bottom;
}

/* The switch as a function: the compiler saves around it the registers that a call has to keep. */
TH_NOINLINE TH_NO_TSAN void th_context_switch(th_context *from, const th_context *to) {
    th_context_jump(from, to);
}
