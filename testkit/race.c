/*
 * race.c: the kit over the simulator's model of memory (model.c, seqcst.c, shadow.c, tsan.c), for
 * tests that were compiled by -fsanitize=thread.
 */
#include "kit.h"
#include "platform/own_code.h"

const memory_mode kit_mode = M_C11;

/* The library's code: it is one object, so its text is one piece, and so are its unlikely parts. */
static th_os_span inner[2];

static void find_inner(void) {
    inner[0].low = inner[1].low = UINTPTR_MAX;
    for (size_t i = 0; i < th_own_marks(); i++) {
        const th_os_span own = th_own_mark(i);
        th_os_span *all = &inner[i % 2];
        all->low = own.low < all->low ? own.low : all->low;
        all->high = own.high > all->high ? own.high : all->high;
    }
}

static bool is_in(uintptr_t at, th_os_span span) {
    return at >= span.low && at < span.high;
}

bool kit_is_quiet(const void *site) {
    if (unlikely(!inner[0].high)) {
        find_inner();
    }
    const uintptr_t at = (uintptr_t)site;
    return !kit_atomics && (is_in(at, inner[0]) || is_in(at, inner[1]));
}

void kit_access(sim_step *step, bool write, bool atomic, const void *site) {
    static const char *const names[] = {"reads", "writes", "reads atomically", "writes atomically"};
    kit_step_is(step, names[write + 2 * atomic], NULL, (uintptr_t)site);
}

/* ---- what the model asks of its program ---- */

const char *site_name(const void *site) {
    (void)site;
    return "";
}

const char *order_name(int order) {
    (void)order;
    return "";
}

int mutated_order(int order, const void *site, unsigned op) {
    (void)site, (void)op;
    return order;
}
