/*
 * call.h: whether the instruction that ends at a place in memory is a call, for each processor. If
 * it is, a word on a stack that points behind it is almost certainly a return address.
 *
 * The functions work on any processor; TH_CALL_BEFORE is the one for this build's.
 */
#ifndef TH_CALL_H
#define TH_CALL_H

#include "base/cc.h"

typedef struct th_code_call {
    unsigned length; /* the instruction's length in bytes */
    bool direct;     /* true: the target is a constant, `to`; false: it is in a register */
    int64_t to;      /* the distance from the instruction's end to the target */
    unsigned other;  /* with `direct`: the length of a call by register that may be meant, or 0 */
} th_code_call;

/* Decodes the call that ends at `end`, with `room` readable bytes before it. False: none does. */
bool th_call_x86_64(const uint8_t *end, size_t room, th_code_call *out);
bool th_call_aarch64(const uint8_t *end, size_t room, th_code_call *out);
bool th_call_riscv64(const uint8_t *end, size_t room, th_code_call *out);

/* The bits of a saved return address that are the address; the others may be a signature (PAC). */
#if defined(__x86_64__) && !defined(__ILP32__)
#define TH_CALL_BEFORE th_call_x86_64
#define TH_CALL_BITS UINTPTR_MAX
#elif defined(__aarch64__) && defined(__LP64__)
#define TH_CALL_BEFORE th_call_aarch64
#define TH_CALL_BITS (((uintptr_t)1 << 48) - 1)
#elif defined(__riscv) && __riscv_xlen == 64
#define TH_CALL_BEFORE th_call_riscv64
#define TH_CALL_BITS UINTPTR_MAX
#else
#define TH_CALL_BITS UINTPTR_MAX /* it is not known how calls look: no backtraces */
#endif

#endif
