/*
 * annotate.c: a fence that the thread sanitizers understand, and contexts for crowds of tasks.
 */
#include "base/annotate.h"
#include "base/atomic.h"

#if TH_TSAN && !defined(TH_SIM)
/*
 * A fence is a read-modify-write of one shared word. On one word these are totally ordered, and
 * each synchronises with those before it, which is all that the code here needs of a seq_cst fence.
 */
static uint32_t xfence;

void th_fence_for_tsan(void) {
    th_add_seq(&xfence, 1u);
}

/*
 * The sanitizer maps one region for a context when it is made, and one of another kind when it
 * first runs. When contexts are made and run one by one, the two kinds alternate, and 50,000
 * contexts have more mappings than the kernel allows (vm.max_map_count). When they are made several
 * at a time, regions of one kind lie side by side and count as one mapping.
 */
#define CONTEXTS 64

static uint32_t xlocked; /* protects the next two variables */
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
typedef int th_annotate_nothing; /* ISO C requires a declaration */
#endif
