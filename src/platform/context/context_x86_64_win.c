/*
 * context_x86_64_win.c: lays out a new context; context_x86_64_win.S is where it begins.
 */
#include "platform/context/context.h"

#include <assert.h>
#include <windows.h>

#include "base/atomic.h"
#include "platform/platform.h"

static_assert(offsetof(th_context, sp) == TH_CONTEXT_SP, "the assembly");
static_assert(offsetof(th_context, bp) == TH_CONTEXT_BP, "the assembly");
static_assert(offsetof(th_context, ip) == TH_CONTEXT_IP, "the assembly");
static_assert(offsetof(th_context, mxcsr) == TH_CONTEXT_MXCSR, "the assembly");
static_assert(offsetof(th_context, fpucw) == TH_CONTEXT_FPUCW, "the assembly");
static_assert(offsetof(th_context, base) == TH_CONTEXT_BASE, "the assembly");
static_assert(offsetof(th_context, limit) == TH_CONTEXT_LIMIT, "the assembly");
static_assert(offsetof(th_context, memory) == TH_CONTEXT_MEMORY, "the assembly");
static_assert(offsetof(th_context, handlers) == TH_CONTEXT_HANDLERS, "the assembly");
static_assert(offsetof(NT_TIB, ExceptionList) == TH_TEB_HANDLERS, "the assembly");
static_assert(offsetof(NT_TIB, StackBase) == TH_TEB_BASE, "the assembly");
static_assert(offsetof(NT_TIB, StackLimit) == TH_TEB_LIMIT, "the assembly");

#define FRAME_WORDS 8 /* th_context_entry's stack use, and the return address */

void th_context_begin(void);

void th_context_make(th_context *context, void *bottom, void *top, void (*entry)(void *),
                     void *arg) {
    uint64_t *sp = (uint64_t *)((uintptr_t)top & ~(uintptr_t)15) - FRAME_WORDS;
    sp[4] = (uintptr_t)entry;
    sp[5] = (uintptr_t)arg;
    sp[7] = 0;
    *context = (th_context){
        .sp = (uintptr_t)sp,
        .ip = (uintptr_t)th_context_begin,
        .base = (uintptr_t)top,
        .limit = (uintptr_t)bottom,
        .memory = (uintptr_t)bottom - th_os_guard_size(),
        .handlers = UINT64_MAX,
    };
    /* A new context has its maker's floating-point settings. */
    __asm__ volatile("stmxcsr %0" : "=m"(context->mxcsr));
    __asm__ volatile("fnstcw %0" : "=m"(context->fpucw));
    context->mxcsr &= ~0x3fu; /* the sticky exception flags are not settings */
}

void th_context_set_limit(th_context *context, void *limit) {
    NT_TIB *tib;
    __asm__("movq %%gs:%c1, %0" : "=r"(tib) : "i"(offsetof(NT_TIB, Self)));
    if ((uintptr_t)tib->StackBase == context->base) {
        tib->StackLimit = limit;
        /*
         * Where it was last suspended may have been given back; a snapshot that still takes it for
         * suspended must not read there.
         */
        if (context->sp < (uintptr_t)limit) {
            /* relaxed: any recent value will do */
            th_store_relaxed(&context->sp, (uintptr_t)limit);
        }
    }
    context->limit = (uintptr_t)limit;
}

/* The switch as a function: the compiler saves around it the registers that a call has to keep. */
TH_NOINLINE void th_context_switch(th_context *from, const th_context *to) {
    th_context_jump(from, to);
}
