/*
 * faults.c: the words that select the calls to fail; see faults.h.
 */
#include "platform/faults.h"

uint64_t th_os_faults[TH_OS_FAULT_KINDS];
static int xcodes[TH_OS_FAULT_KINDS]; /* of th_os_fail_with */

bool th_os_fails_slow(th_os_fault kind) {
    uint64_t *xword = &th_os_faults[kind];
    uint64_t old = th_load_relaxed(xword); /* relaxed: the word publishes nothing but itself */
    for (;;) {
        if ((uint32_t)old == 0) {
            return false;
        }
        bool fails = (old >> 32) == 0;
        uint64_t want = fails ? old - 1 : old - (UINT64_C(1) << 32);
        /* relaxed: as above. Lock-free; ABA is harmless, since the word is the whole state. */
        if (th_cas_relaxed(xword, &old, want)) {
            return fails;
        }
    }
}

void th_os_fail(th_os_fault kind, uint32_t after, uint32_t times) {
    uint64_t word = times == 0 ? 0 : (uint64_t)after << 32 | times;
    th_store_relaxed(&th_os_faults[kind], word); /* relaxed: see th_os_fails */
}

void th_os_fail_with(th_os_fault kind, int code, uint32_t after, uint32_t times) {
    th_store_relaxed(&xcodes[kind], code); /* relaxed: see th_os_fails */
    th_os_fail(kind, after, times);
}

int th_os_fails_with(th_os_fault kind) {
    return th_os_fails(kind) ? th_load_relaxed(&xcodes[kind]) : 0; /* relaxed: see th_os_fails */
}

uint32_t th_os_fails_left(th_os_fault kind) {
    return (uint32_t)th_load_relaxed(&th_os_faults[kind]); /* relaxed: a figure for tests */
}
