/*
 * context_riscv64.c: lays out the first frame of a context; context_riscv64.S does the rest.
 */
#include "platform/context/context.h"

#include <assert.h>
#include <string.h>

/* The frame that th_context_switch leaves and finds, low address first. */
typedef struct frame {
    uint64_t ra;
    uint64_t s0_to_s11[12];
    uint64_t fs0_to_fs11[12];
    uint64_t frm;
} frame;

static_assert(offsetof(th_context, sp) == 0, "the assembly stores the pointer at 0");
static_assert(offsetof(frame, ra) == TH_FRAME_RA, "frame");
static_assert(offsetof(frame, s0_to_s11) == TH_FRAME_S0, "frame");
static_assert(offsetof(frame, fs0_to_fs11) == TH_FRAME_FS0, "frame");
static_assert(offsetof(frame, frm) == TH_FRAME_FRM, "frame");
static_assert(sizeof(frame) == TH_FRAME_SIZE, "frame");

void th_context_entry(void);

void th_context_make(th_context *context, void *bottom, void *top, void (*entry)(void *),
                     void *arg) {
    frame *f = (frame *)(((uintptr_t)top & ~(uintptr_t)15) - sizeof(frame));
    memset(f, 0, sizeof *f);
    /* A new context has its maker's floating-point settings. */
    __asm__ volatile("frrm %0" : "=r"(f->frm));
    f->s0_to_s11[1] = (uintptr_t)entry;
    f->s0_to_s11[2] = (uintptr_t)arg;
    f->ra = (uintptr_t)th_context_entry;
    context->sp = f;
    (void)bottom;
}
