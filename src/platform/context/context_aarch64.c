/*
 * context_aarch64.c: lays out the first frame of a context; context_aarch64.S does the rest.
 */
#include "platform/context/context.h"

#include <assert.h>
#include <string.h>

/* The frame that th_context_switch leaves and finds, low address first. */
typedef struct frame {
    uint64_t x19, x20, x21, x22, x23, x24, x25, x26, x27, x28;
    uint64_t x29, x30;
    uint64_t d8_to_d15[8];
    uint64_t fpcr;
    uint64_t unused;
} frame;

static_assert(offsetof(th_context, sp) == 0, "the assembly stores the pointer at 0");
static_assert(offsetof(frame, x19) == TH_FRAME_X19, "frame");
static_assert(offsetof(frame, x29) == TH_FRAME_X29, "frame");
static_assert(offsetof(frame, x30) == TH_FRAME_X30, "frame");
static_assert(offsetof(frame, d8_to_d15) == TH_FRAME_D8, "frame");
static_assert(offsetof(frame, fpcr) == TH_FRAME_FPCR, "frame");
static_assert(sizeof(frame) == TH_FRAME_SIZE, "frame");

void th_context_entry(void);

void th_context_make(th_context *context, void *bottom, void *top, void (*entry)(void *),
                     void *arg) {
    frame *f = (frame *)(((uintptr_t)top & ~(uintptr_t)15) - sizeof(frame));
    memset(f, 0, sizeof *f);
    /* A new context has its maker's floating-point settings. */
    __asm__ volatile("mrs %0, fpcr" : "=r"(f->fpcr));
    f->x19 = (uintptr_t)entry;
    f->x20 = (uintptr_t)arg;
    f->x30 = (uintptr_t)th_context_entry;
    context->sp = f;
    (void)bottom;
}
