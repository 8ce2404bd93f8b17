/*
 * annotate.c: a fence that the thread sanitizers understand, and contexts for crowds of tasks.
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

/*
 * The sanitizer maps one region for a context when it is made, and one of another kind when it
 * first runs. Made and run one by one, their regions alternate, and a crowd of 50,000 has more
 * mappings than the kernel allows (vm.max_map_count). Made several at a time they lie in rows, each
 * of which counts as one.
 */
#define CONTEXTS 64

static uint32_t xlocked; /* protects the next two */
static void *contexts[CONTEXTS];
static unsigned contexts_count;

TH_NO_TSAN void *th_tsan_create_one_of_many(void) {
    /* pairs: th_tsan_create_one_of_many; the spare contexts */
    while (th_xchg_acquire(&xlocked, 1u)) {
    }
    if (contexts_count == 0) {
        while (contexts_count < CONTEXTS) {
            contexts[contexts_count++] = __tsan_create_fiber(0);
        }
    }
    void *context = contexts[--contexts_count];
    /* pairs: th_tsan_create_one_of_many; the spare contexts */
    th_store_release(&xlocked, 0u);
    return context;
}
#else
typedef int th_annotate_nothing; /* ISO C wants one declaration */
#endif
