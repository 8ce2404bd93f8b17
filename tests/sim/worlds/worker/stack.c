/*
 * stack.c: stacks from one mapping, taken and given back by several threads (core/fiber/stack.h),
 * and the walk over all of them beside that.
 */
#include "core/fiber/stack.h"

#include "platform/platform.h"
#include "sim.h"

static th_stacks stacks;

static void *alloc(void *ctx, size_t size) {
    (void)ctx;
    return th_os_alloc(size);
}

static void give_back(void *ctx, void *ptr) {
    (void)ctx;
    th_os_free(ptr);
}

static void begin(thrum_guard kind) {
    th_stacks_init(&stacks, kind, alloc, give_back, NULL);
}

static void finish(void) {
    sim_check(th_stacks_live(&stacks) == 0);
    th_stacks_destroy(&stacks);
    sim_check(th_stacks_mprotect_count() == 0);
}

/* Writes to both ends: two users of one stack would race, as would neighbours that overlap. */
static void use(const th_stack *stack) {
    unsigned *low = (unsigned *)(void *)stack->bottom;
    unsigned *high = (unsigned *)(void *)(stack->top - 16);
    *low = *high = sim_thread_number();
    sim_check(th_stack_canary_ok(stack) && stack->guard != THRUM_GUARD_AUTO);
}

static bool get_use_put(unsigned class_index) {
    th_stack stack;
    if (th_stack_get(&stacks, class_index, &stack)) {
        return false;
    }
    use(&stack);
    th_stack_put(&stacks, stack);
    return true;
}

static void two_and_one(void *arg) {
    (void)arg;
    th_stack stack;
    sim_check(th_stack_get(&stacks, 0, &stack) == 0);
    use(&stack);
    sim_check(get_use_put(0)); /* a second one beside it */
    use(&stack);
    th_stack_put(&stacks, stack);
    sim_check(get_use_put(0)); /* a stack that was used before, by any thread */
}

/* The list of free slots, the slots never used, and the first mapping. */
SIM_WORLD(stack_two_threads, .exhaustive = true) {
    begin(THRUM_GUARD_AUTO);
    int t = sim_spawn(two_and_one, NULL);
    two_and_one(NULL);
    sim_join(t);
    finish();
}

static unsigned seen_in_use;

static bool visit(void *ctx, const th_stack *stack, bool in_use) {
    (void)ctx;
    sim_check(stack->guard != THRUM_GUARD_AUTO);
    seen_in_use += in_use;
    return true;
}

static void put_one(void *arg) {
    th_stack_put(&stacks, *(th_stack *)arg);
    get_use_put(0);
}

/*
 * th_stacks_some looks at words of stacks that others are just getting, guarding and putting. A
 * stack that is in use throughout is always seen so.
 */
SIM_WORLD(stack_each, .exhaustive = true) {
    th_stack held;
    static th_stack passed;
    th_stack_cursor at = {0};
    begin(THRUM_GUARD_CANARY);
    sim_check(th_stack_get(&stacks, 0, &held) == 0 && th_stack_get(&stacks, 0, &passed) == 0);
    int t = sim_spawn(put_one, &passed);
    sim_check(!th_stacks_some(&stacks, &at, UINT32_MAX, visit, NULL));
    sim_check(seen_in_use >= 1 && seen_in_use <= 2);
    sim_join(t);
    th_stack_put(&stacks, held);
    finish();
}

static void get_or_not(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 2; i++) {
        get_use_put(0);
    }
}

/* Mappings and books that are refused: the caller gets the error, the next one tries again. */
SIM_WORLD(stack_refused, .refusals = 5) {
    begin(THRUM_GUARD_MPROTECT);
    int t = sim_spawn(get_or_not, NULL);
    get_or_not(NULL);
    sim_join(t);
    finish();
}
