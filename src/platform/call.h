/*
 * call.h: whether the instruction that ends at a place in memory is a call, for each processor. So
 * a word on a stack that looks like a return address is one, or a very rare number.
 *
 * Nothing here asks on which processor it runs; TH_CALL_BEFORE is the one of this build.
 */
#ifndef TH_CALL_H
#define TH_CALL_H

#include "base/cc.h"

typedef struct th_code_call {
    unsigned length; /* of the instruction */
    bool direct;     /* it calls what lies `to` bytes from its end; else what a register says */
    int64_t to;
    unsigned other; /* of a direct one: the length of one by register that may be meant, or 0 */
} th_code_call;

/* Of `room` bytes before `end`, which can be read. False: no call ends there. */
bool th_call_x86_64(const uint8_t *end, size_t room, th_code_call *out);
bool th_call_aarch64(const uint8_t *end, size_t room, th_code_call *out);
bool th_call_riscv64(const uint8_t *end, size_t room, th_code_call *out);

/* Which bits of a saved return address are the address: it may be signed (aarch64, PAC). */
#if defined(__x86_64__) && defined(__LP64__)
#define TH_CALL_BEFORE th_call_x86_64
#define TH_CALL_BITS UINTPTR_MAX
#elif defined(__aarch64__) && defined(__LP64__)
#define TH_CALL_BEFORE th_call_aarch64
#define TH_CALL_BITS (((uintptr_t)1 << 48) - 1)
#elif defined(__riscv) && __riscv_xlen == 64
#define TH_CALL_BEFORE th_call_riscv64
#define TH_CALL_BITS UINTPTR_MAX
#else
#define TH_CALL_BITS UINTPTR_MAX /* no calls are known: no backtraces */
#endif

#endif
