/*
 * context_x86_64.c: lays out the first frame of a context; context_x86_64.S does the rest.
 */
#include "platform/context.h"

#include <assert.h>
#include <string.h>

/* The frame that th_context_switch leaves and finds, low address first. */
typedef struct frame {
    uint32_t mxcsr;
    uint16_t fpucw;
    uint16_t unused;
    uint64_t r15, r14, r13, r12, rbx, rbp;
    uint64_t rip;
} frame;

static_assert(offsetof(th_context, sp) == 0, "the assembly stores the pointer at 0");
static_assert(offsetof(frame, mxcsr) == TH_FRAME_MXCSR, "frame");
static_assert(offsetof(frame, fpucw) == TH_FRAME_FPUCW, "frame");
static_assert(offsetof(frame, r15) == TH_FRAME_R15, "frame");
static_assert(offsetof(frame, r14) == TH_FRAME_R14, "frame");
static_assert(offsetof(frame, r13) == TH_FRAME_R13, "frame");
static_assert(offsetof(frame, r12) == TH_FRAME_R12, "frame");
static_assert(offsetof(frame, rbx) == TH_FRAME_RBX, "frame");
static_assert(offsetof(frame, rbp) == TH_FRAME_RBP, "frame");
static_assert(offsetof(frame, rip) == TH_FRAME_RIP, "frame");
static_assert(sizeof(frame) == TH_FRAME_SIZE, "frame");

void th_context_entry(void);

void th_context_make(th_context *context, void *bottom, void *top, void (*entry)(void *),
                     void *arg) {
    /* Popping the frame leaves the pointer 16-aligned, as the ABI wants it before a call. */
    frame *f = (frame *)(((uintptr_t)top & ~(uintptr_t)15) - sizeof(frame));
    memset(f, 0, sizeof *f);
    /* A new context computes as its maker does. */
    __asm__ volatile("stmxcsr %0" : "=m"(f->mxcsr));
    __asm__ volatile("fnstcw %0" : "=m"(f->fpucw));
    f->mxcsr &= ~0x3fu; /* the sticky exception flags are not settings */
    f->r12 = (uintptr_t)entry;
    f->r13 = (uintptr_t)arg;
    f->rip = (uintptr_t)th_context_entry;
    context->sp = f;
    (void)bottom;
}
