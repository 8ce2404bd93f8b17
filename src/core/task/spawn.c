/*
 * spawn.c: starting tasks, joining and naming them (thrum/spawn.h).
 */
#include "thrum/spawn.h"

#include <inttypes.h>
#include <string.h>

#include "base/annotate.h"
#include "base/atomic.h"
#include "base/check.h"
#include "base/text.h"
#include "base/usdt.h"
#include "core/fiber/stack.h"
#include "core/ready/external.h"
#include "core/ready/submit.h"
#include "core/ready/waiter.h"
#include "core/state/panic.h"
#include "core/state/self_id.h"
#include "core/state/worker.h"
#include "core/task/await.h"
#include "core/task/run.h"
#include "core/task/spawn.h"
#include "core/wait/scope_tree.h"
#include "core/wait/wait.h"
#include "core/trace/trace_notes.h"
#include "platform/platform.h"
#include "thrum/task.h"

/* A shorter sleep takes less than its own wake: other units were probably meant (THRUM_CHECK). */
#define SHORT_NS 10000u
/* In tests with virtual time, one nanosecond is a way to come behind a deadline. */
#define SHORT_FROM TH_LIMIT(1u, 2u)

int thrum_go(thrum_fn fn, void *arg) {
    th_worker *worker = th_here();
    if (th_unlikely(!worker || !fn)) {
        return fn ? th_thread_refusal() : -EINVAL;
    }
    th_enter(worker);
    th_go *go = th_slab_get(&worker->go);
    if (th_unlikely(!go)) {
        th_leave(worker);
        return -ENOMEM;
    }
    *go = (th_go){.work = worker->fresh, .fn = fn, .arg = arg};
    TH_USDT2(spawn, fn, arg);
    th_publish(worker, go);
    th_activity_began(&worker->activity.xcreated);
    th_submit(worker, &go->work, THRUM_HINT_NONE);
    th_leave(worker);
    return 0;
}

void thrum_attr_init(thrum_attr *attr) {
    *attr = (thrum_attr)THRUM_ATTR_INIT;
}

/* ---- tasks with attributes, or a handle ---- */

static const thrum_attr attr_default = THRUM_ATTR_INIT;

static TH_COLD TH_NOINLINE bool flags_are_valid(unsigned flags) {
    const unsigned priorities = flags & (THRUM_HIGH | THRUM_NORMAL | THRUM_LOW);
    return !(flags & ~(THRUM_PINNED | THRUM_NEXT | THRUM_HIGH | THRUM_NORMAL | THRUM_LOW)) &&
           !(priorities & (priorities - 1));
}

static TH_ALWAYS_INLINE bool attr_is_valid(const thrum_attr *attr, const thrum_sched *sched) {
    return attr->size == sizeof *attr && (!attr->flags || flags_are_valid(attr->flags)) &&
           attr->worker >= -1 && attr->worker < (int)th_workers_end(sched) &&
           attr->stack_size <= TH_STACK_SIZE_MAX;
}

/* A task with flags. `handle` has the place of one without. */
static TH_COLD TH_NO_TSAN TH_NOINLINE void set_place(thrum_handle *handle, const thrum_attr *attr,
                                                     const th_worker *here) {
    const unsigned flags = attr->flags;
    th_priority priority = flags & THRUM_HIGH     ? TH_HIGH
                           : flags & THRUM_LOW    ? TH_LOW
                           : flags & THRUM_NORMAL ? TH_NORMAL
                                                  : th_place_priority(handle->work.worker);
    int worker = -1;
    if (flags & THRUM_PINNED) {
        worker = attr->worker >= 0 ? attr->worker : here ? (int)here->index : -1;
        handle->pinned = true;
    }
    handle->work.worker = th_place_of(priority, worker);
}

/*
 * Fills a fresh object from the attributes. Not shown to the thread sanitizer: the slab wrote the
 * object in workers' contexts, and this is a task's. It uses no memcpy, which that tool watches by
 * itself.
 */
static TH_NO_TSAN TH_NOINLINE void handle_fill(thrum_handle *handle, const thrum_attr *attr,
                                               thrum_sched *sched, const th_worker *here,
                                               thrum_fn fn, void *arg, bool joinable) {
    handle->work.kind = TH_WORK_SPAWN;
    handle->work.worker = here ? here->fresh.worker : -1; /* its priority is inherited */
    handle->pinned = false;
    if (th_unlikely(attr->flags)) {
        set_place(handle, attr, here);
    }
    handle->fn = fn;
    handle->arg = arg;
    handle->slab = sched->spawn_slab;
    handle->xjoin = joinable ? TH_JOIN_RUNNING : TH_JOIN_DETACHED; /* published with the work */
    handle->can_order = sched->can_order;
    handle->xcancelled = 0;
    handle->xfiber = NULL;
    handle->scope = NULL;
    th_lock_init(&handle->delegated_lock);
    handle->delegated = NULL;
    handle->stack_class =
        (uint8_t)(attr->stack_size ? th_stack_class(attr->stack_size) : sched->stack_class);
    size_t length = attr->name ? th_text_cut(attr->name, THRUM_NAME_MAX) : 0;
    for (size_t i = 0; i < length; i++) {
        th_tsan_unseen();
        handle->name[i] = attr->name[i];
    }
    handle->name[length] = '\0';
}

/*
 * Not shown to it either: one task writes the result, another reads it, and the slab orders them
 * with the next pair.
 */
static TH_NO_TSAN TH_NOINLINE void set_result(thrum_handle *handle, int result) {
    handle->result = result;
}

static TH_NO_TSAN TH_NOINLINE int get_result(const thrum_handle *handle) {
    return handle->result;
}

static TH_NO_TSAN TH_NOINLINE void *get_arg(const thrum_handle *handle) {
    return handle->arg;
}

/* Makes a fresh object a task, to be submitted next. `here`: the caller's worker, or NULL. */
static TH_ALWAYS_INLINE void prepare(thrum_handle *handle, thrum_sched *sched, th_worker *here,
                                     thrum_handle **out, th_scope *scope, const thrum_attr *attr,
                                     thrum_fn fn, void *arg) {
    TH_USDT2(spawn, fn, arg);
    th_slab_seen(sched->spawn_slab);
    th_tsan_acquire(handle); /* the task that had it before: handle_free */
    handle_fill(handle, attr, sched, here, fn, arg, out != NULL);
    if (out) {
        *out = th_handle_tag(handle); /* before the task may run and use it */
    }
    if (scope) {
        th_scope_child_begins(scope, handle);
    }
    th_tsan_release(handle);
}

static int start_here(th_worker *worker, thrum_handle **out, th_scope *scope,
                      const thrum_attr *attr, thrum_fn fn, void *arg) {
    if (!attr_is_valid(attr, worker->sched)) {
        return -EINVAL;
    }
    th_enter(worker);
    thrum_handle *handle = th_slab_get(&worker->spawn);
    th_leave(worker);
    if (!handle) {
        return -ENOMEM;
    }
    unsigned hint = attr->flags & THRUM_NEXT ? THRUM_HINT_NEXT : THRUM_HINT_NONE;
    prepare(handle, worker->sched, worker, out, scope, attr, fn, arg);
    th_enter(worker);
    th_activity_began(&worker->activity.xcreated);
    th_submit(worker, &handle->work, hint);
    th_leave(worker);
    return 0;
}

static int start_external(thrum_sched *sched, thrum_handle **out, th_scope *scope,
                          const thrum_attr *attr, thrum_fn fn, void *arg) {
    th_external *record = th_external_enter(sched, true);
    if (!record) {
        return -ESHUTDOWN;
    }
    if (!attr_is_valid(attr, sched)) {
        th_external_leave(sched, record);
        return -EINVAL;
    }
    thrum_handle *handle = th_external_take_object(sched, record);
    if (handle) {
        prepare(handle, sched, NULL, out, scope, attr, fn, arg);
        th_activity_began(&record->activity.xcreated);
        th_submit_external(sched, &handle->work);
    }
    th_external_leave(sched, record);
    return handle ? 0 : -ENOMEM;
}

static int start(thrum_handle **out, th_scope *scope, const thrum_attr *attr, thrum_fn fn,
                 void *arg) {
    th_worker *worker = th_here();
    attr = attr ? attr : &attr_default;
    thrum_sched *sched = attr->sched ? attr->sched : worker ? worker->sched : NULL;
    if (!fn || !sched) {
        return fn ? th_thread_refusal() : -EINVAL;
    }
    return worker && worker->sched == sched ? start_here(worker, out, scope, attr, fn, arg)
                                            : start_external(sched, out, scope, attr, fn, arg);
}

int thrum_go_with(const thrum_attr *attr, thrum_fn fn, void *arg) {
    return start(NULL, NULL, attr, fn, arg);
}

int thrum_spawn(thrum_handle **out, thrum_fn fn, void *arg) {
    return out ? start(out, NULL, NULL, fn, arg) : -EINVAL;
}

int thrum_spawn_with(thrum_handle **out, const thrum_attr *attr, thrum_fn fn, void *arg) {
    return out ? start(out, NULL, attr, fn, arg) : -EINVAL;
}

int th_scope_go(th_scope *scope, thrum_fn fn, void *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = scope->sched;
    return start(NULL, scope, &attr, fn, arg);
}

int th_scope_spawn(th_scope *scope, const thrum_attr *how, thrum_fn fn, void *arg) {
    thrum_handle *unused;
    thrum_attr attr = THRUM_ATTR_INIT;
    if (how) {
        if (how->size != sizeof attr || (how->sched && how->sched != scope->sched)) {
            return -EINVAL;
        }
        attr = *how;
    }
    attr.sched = scope->sched;
    return start(&unused, scope, &attr, fn, arg);
}

/* ---- the end of a task, and waiting for it ---- */

static void handle_free(thrum_handle *handle) {
    th_slab *slab = handle->slab;
    th_worker *worker = th_here();
    /* relaxed: only read to report misuse */
    th_store_relaxed(&handle->xjoin, TH_JOIN_FREE);
    /* relaxed: as above; nobody else writes it */
    th_store_relaxed(&handle->xgeneration, th_load_relaxed(&handle->xgeneration) + 1);
    th_tsan_release(handle);
    if (worker && worker->spawn.slab == slab) {
        th_enter(worker);
        th_slab_put(&worker->spawn, handle);
        th_leave(worker);
    } else {
        th_external_put_object(slab, handle);
    }
}

void th_handle_finish(thrum_handle *handle, int result) {
    set_result(handle, result); /* before the scope, whose owner may take it there */
    if (handle->scope) {
        th_scope_child_ended(handle, result);
    }
    /*
     * pairs: thrum_join, thrum_detach; publishes the result, takes the waiter that they left.
     * A detached task stays DETACHED: as DONE it could be joined once more, unnoticed
     */
    uintptr_t old = TH_JOIN_RUNNING;
    while (old != TH_JOIN_DETACHED &&
           !th_cas_acq_rel_acquire_both(&handle->xjoin, &old, TH_JOIN_DONE)) {
    }
    if (old == TH_JOIN_DETACHED) {
        handle_free(handle);
    } else if (old != TH_JOIN_RUNNING) {
        th_waiter *waiter = (th_waiter *)old; /* from here on the handle may be gone */
        if (waiter->timed && !th_waiter_claim(waiter, TH_WAIT_WOKEN)) {
            th_waiter_missed(waiter);
        } else {
            th_waiter_let_go(waiter);
        }
    }
}

static TH_ALWAYS_INLINE bool is_self(const thrum_handle *handle) {
    const th_fiber *fiber = th_fiber_self();
    const thrum_handle *self = fiber ? fiber->inherited.handle : NULL;
    /* relaxed: constant, except for the bit of a cancel */
    while (self && (th_load_relaxed(&self->xcancelled) & TH_CANCEL_NESTED)) {
        self = th_part_of(self)->outer;
    }
    return self && self == handle;
}

/* Ends the program unless the handle is neither joined nor detached yet. */
static void check_handle(const char *call, const thrum_handle *handle, uintptr_t state) {
    if (state > TH_JOIN_FREE) {
        th_misuse(call, "another call waits for the task already", handle);
    }
    if (state != TH_JOIN_RUNNING && state != TH_JOIN_DONE) {
        th_misuse(call, "the handle was joined or detached before", handle);
    }
}

/* Gives up when the time is out. False: the task has ended after all. */
static bool leave(void *object, th_waiter *waiter) {
    thrum_handle *handle = object;
    uintptr_t state = (uintptr_t)waiter;
    /* relaxed: only takes the waiter back; th_waiter_wait_missed acquires an end that came first */
    if (th_cas_relaxed(&handle->xjoin, &state, TH_JOIN_RUNNING)) {
        return true;
    }
    th_waiter_wait_missed(waiter);
    return false;
}

/* Has it that the task has ended. */
static TH_ALWAYS_INLINE int stand(void *object, th_waiter *me, bool late) {
    thrum_handle *handle = object;
    /* In the child of a fork the task may be the parent's. */
    const bool parents = !me->fiber && handle->slab->abandoned;
    uintptr_t state = TH_JOIN_RUNNING;
    if (late || parents) {
        /* pairs: th_handle_finish; sees that it has ended */
        state = th_load_acquire(&handle->xjoin);
        if (state == TH_JOIN_RUNNING) {
            return parents ? -ESHUTDOWN : -ETIMEDOUT;
        }
        /* pairs: th_handle_finish; hands the waiter over, or acquires the result */
    } else if (th_cas_acq_rel_acquire_both(&handle->xjoin, &state, (uintptr_t)me)) {
        return 0;
    }
    check_handle(me->leave ? "thrum_join_on_until" : "thrum_join", handle, state);
    return 1;
}

static const th_wait_kind waits = {.on = TH_ON_JOIN, .stand = stand, .leave = leave};

int thrum_join_until(thrum_handle *tagged, int *result, thrum_time deadline) {
    if (!tagged) {
        return -EINVAL;
    }
    thrum_handle *handle = th_handle_of("thrum_join", tagged);
    if (is_self(handle)) {
        return -EDEADLK;
    }
    th_waiter waiter;
    th_waiter_init(&waiter, TH_ON_JOIN, handle);
    /* A fiber's wait can be cancelled. */
    waiter.timed = deadline != THRUM_FOREVER || waiter.fiber || th_waits_alone();
    int code = th_wait_with(&waits, handle, &waiter, waiter.timed, deadline);
    if (code) {
        return code;
    }
    if (result) {
        *result = get_result(handle);
    }
    handle_free(handle);
    return 0;
}

int thrum_join(thrum_handle *handle, int *result) {
    return thrum_join_until(handle, result, THRUM_FOREVER);
}

int thrum_join_on_until(thrum_handle *tagged, thrum_await *await, thrum_task *task,
                        thrum_time deadline) {
    thrum_handle *handle = tagged ? th_handle_of("thrum_join_on_until", tagged) : NULL;
    int code = handle ? th_await_init(await, task, &waits, handle) : -EINVAL;
    if (code) {
        return code;
    }
    return is_self(handle) ? -EDEADLK : th_await_standing(await, deadline);
}

static void let_go(const char *call, thrum_handle *handle) {
    uintptr_t state = TH_JOIN_RUNNING;
    /* pairs: th_handle_finish; the second of the two frees the handle */
    if (!th_cas_acq_rel_acquire_both(&handle->xjoin, &state, TH_JOIN_DETACHED)) {
        check_handle(call, handle, state);
        handle_free(handle);
    }
}

int thrum_detach(thrum_handle *tagged) {
    if (!tagged) {
        return -EINVAL;
    }
    let_go("thrum_detach", th_handle_of("thrum_detach", tagged));
    return 0;
}

int th_handle_take(thrum_handle *handle, void **arg) {
    const int result = get_result(handle);
    *arg = get_arg(handle);
    let_go("thrum_scope_next", handle);
    return result;
}

/* ---- the end of a task as a case of a select ---- */

int th_handle_look(thrum_handle *tagged) {
    thrum_handle *handle = th_handle_of("thrum_select", tagged);
    /* pairs: th_handle_finish; sees that it has ended */
    const uintptr_t state = th_load_acquire(&handle->xjoin);
    if (state == TH_JOIN_DONE || state > TH_JOIN_FREE) { /* a waiter: perhaps the caller's own */
        return state == TH_JOIN_DONE ? 0 : -EAGAIN;
    }
    check_handle("thrum_select", handle, state);
    if (is_self(handle)) {
        return -EDEADLK;
    }
    return !th_fiber_self() && handle->slab->abandoned ? -ESHUTDOWN : -EAGAIN;
}

/*
 * In place of a release, since the end of a task does not know parts. It reads the part for the
 * last time before the wait that it has claimed can return (WAITING.md, "Results").
 */
static bool pass_on(void *object, th_waiter *part) {
    th_waiter *whole = object;
    const int32_t number = part->value;
    const bool first = th_waiter_claim(whole, TH_WAIT_WOKEN);
    th_waiter_missed(part);
    if (first) {
        whole->value = number;
        th_waiter_release(whole);
    }
    return false;
}

bool th_handle_stand(thrum_handle *tagged, th_waiter *part, th_waiter *whole, int32_t number) {
    thrum_handle *handle = th_handle_of("thrum_select", tagged);
    *part = (th_waiter){.timed = true, .leave = pass_on, .object = whole, .value = number};
    uintptr_t state = TH_JOIN_RUNNING;
    /* pairs: th_handle_finish; hands the part over. If it fails, th_handle_look sees the end */
    part->listed = th_cas_release(&handle->xjoin, &state, (uintptr_t)part);
    if (!part->listed) {
        check_handle("thrum_select", handle, state);
    }
    return part->listed;
}

void th_handle_take_back(thrum_handle *tagged, th_waiter *part) {
    if (part->listed) {
        (void)leave(th_handle_of("thrum_select", tagged), part);
    }
}

/* ---- the running task ---- */

int thrum_sleep_until(thrum_time deadline) {
    th_waiter waiter;
    th_waiter_init(&waiter, TH_ON_SLEEP, NULL);
    waiter.timed = true;
    if (deadline == THRUM_FOREVER) {
        deadline--; /* as good as for ever */
    }
    int result = th_waiter_result(th_waiter_wait_until(&waiter, deadline));
    return result == -ETIMEDOUT ? 0 : result;
}

int thrum_sleep(thrum_time ns) {
    if (th_unlikely((uint64_t)ns - SHORT_FROM < SHORT_NS - SHORT_FROM)) {
        th_mistake_report(TH_MISTAKE_SLEEP, true,
                          "thrum_sleep(%" PRId64 ") sleeps for so many nanoseconds: other units "
                          "need THRUM_US, THRUM_MS or THRUM_S",
                          ns);
    }
    return thrum_sleep_until(thrum_after(ns));
}

uint64_t thrum_self_id(void) {
    return th_self_id();
}

const char *thrum_name(void) {
    const th_fiber *fiber = th_fiber_self();
    return fiber && !fiber->root ? fiber->name : NULL;
}

int thrum_set_name(const char *name) {
    th_fiber *fiber = th_fiber_self();
    if (!fiber || fiber->root || !name) {
        return name ? th_thread_refusal() : -EINVAL;
    }
    size_t length = th_text_cut(name, THRUM_NAME_MAX);
    memmove(fiber->name, name, length);
    fiber->name[length] = '\0';
    fiber->dirty = true;
    if (th_is_traced(fiber->worker)) {
        th_trace_renames(fiber->worker, fiber);
    }
    return 0;
}

int thrum_worker_id(void) {
    const th_worker *worker = th_here();
    return worker && !worker->bound ? (int)worker->index : -1;
}
