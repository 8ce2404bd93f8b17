/*
 * points.c: the moments at which a test may be interrupted. Each public call begins with one (its
 * entry in points_calls.S), and so does each switch from one fiber to another.
 */
#include "kit.h"

#include "core/state/worker.h"

/* A task may let others of its worker run; threads, intrusive tasks and the loop do not. */
static bool may_yield(void) {
    const th_fiber *fiber = th_fiber_self();
    return fiber && !fiber->root && !fiber->task && th_fiber_function(fiber);
}

static void point(const char *what, const void *object, uintptr_t after) {
    if (E->tracing) {
        kit_step(what, object, after);
    }
    if (may_yield() && sim_choose(SIM_TASK, 2) != 0) {
        INNER(thrum_yield)();
    }
    E->idle = 0;
    sim_point();
    E->current->what = what;
    E->current->after = after;
}

void kit_point(const char *what, uintptr_t after) {
    kit_point_on(what, NULL, after);
}

void kit_point_on(const char *what, const void *object, uintptr_t after) {
    if (!kit_is_outside()) {
        point(what, object, after);
    }
}

/* ---- calls ---- */

/* As make_points writes them for each call. */
enum kit_kind {
    KIND_OTHER,
    KIND_MUTEX,
    KIND_RWLOCK,
    KIND_YIELD,
    KIND_SELECT,
    KIND_SCHED,
    KIND_SPAWN
};
#define KIND_OBJECT 8u /* the first argument is an object */
extern const uint8_t kit_kinds[];

/* Fails the run here if the object was freed: otherwise the library might wait in a loop for it. */
static void check_object(const void *object, const char *call, uintptr_t after) {
    if ((uintptr_t)object % 8 || (const char *)object < E->arena ||
        (const char *)object >= E->arena + ARENA_BYTES ||
        *(const uint64_t *)object != ARENA_FREED) {
        return;
    }
    arena_block block;
    if (arena_freed(object, &block)) {
        kit_spots_of(&block);
        spot(after, "used");
        fail("use-after-free", "%s: the object is in freed memory", call);
    }
}

static void check_cases(const thrum_case cases[], size_t n, const char *call, uintptr_t after) {
    for (size_t i = 0; i < n; i++) {
        check_object(cases[i].chan, call, after);
    }
}

static void note_lock(const void *lock, bool is_mutex) {
    unsigned i = E->locks_used;
    while (i > 0 && (E->locks[i - 1].lock != lock || E->locks[i - 1].host != sim_host_here())) {
        i--;
    }
    if (!i && E->locks_used < LOCKS_MAX) {
        E->locks[E->locks_used++] = (sim_lock){lock, is_mutex, (uint8_t)sim_host_here()};
    }
}

/* Called by each entry, with the number of the call and its first two arguments, if it has any. */
void kit_call(unsigned number, uintptr_t after, const void *first, uintptr_t second);
void kit_call(unsigned number, uintptr_t after, const void *first, uintptr_t second) {
    const char *call = kit_calls[number];
    if (kit_is_outside()) {
        if (kit_is_beside()) {
            char text[80];
            snprintf(text, sizeof text, "it calls %s", call);
            kit_fail_beside("mistake", text);
        }
        return;
    }
    const bool takes_object = kit_kinds[number] & KIND_OBJECT;
    const unsigned kind = kit_kinds[number] & ~KIND_OBJECT;
    point(call, takes_object ? first : NULL, after);
    if (kind == KIND_SPAWN && E->tracing) {
        kit_spawns((thrum_handle *const *)first);
    }
    if (takes_object) {
        check_object(first, call, after);
    }
    switch (kind) {
    case KIND_MUTEX:
    case KIND_RWLOCK:
        note_lock(first, kind == KIND_MUTEX);
        break;
    case KIND_YIELD: /* it may be in a loop that waits for a thread with a lower priority */
        sim_turn();
        break;
    case KIND_SELECT:
        check_cases(first, second, call, after);
        break;
    case KIND_SCHED:
        E->other_scheds = true;
        break;
    default:
        break;
    }
}

void thrum_test_point(const char *name) {
    kit_point(name, (uintptr_t)__builtin_return_address(0));
}

/* ---- atomics ---- */

int kit_atomics;

void kit_atomic_point(void) {
    sim_point();
}
