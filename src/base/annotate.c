/*
 * annotate.c: a fence that the thread sanitizers understand.
 */
#include "base/annotate.h"
#include "base/atomic.h"

#if TH_TSAN && !defined(TH_SIM)
/*
 * Each thread's fence is a read-modify-write of one shared word: on one word they are totally
 * ordered, and each synchronises with those before it, which is what a seq_cst fence gives the code
 * here.
 */
static uint32_t xfence;

void th_fence_for_tsan(void) {
    th_add_seq(&xfence, 1u);
}
#else
typedef int th_annotate_nothing; /* ISO C wants one declaration */
#endif
