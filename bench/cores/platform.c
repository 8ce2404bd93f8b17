/*
 * platform.c: the parts of the platform whose costs matter: the clock, sleeping on a word, threads.
 * All else is the simulator's (src/platform/sim/), whose other files this program links.
 */
#include "platform/platform.h"

#include <errno.h>

#include "machine.h"
#include "platform/sim/controller.h"

int64_t cores_thread_ran(uintptr_t handle);

/* ---- clock ---- */

int64_t th_os_now(void) {
    machine_charge(the_costs.clock);
    return sim_now();
}

uint64_t th_os_ticks(void) {
    machine_charge(the_costs.ticks);
    return (uint64_t)sim_now();
}

int64_t th_os_ticks_ns(uint64_t ticks) {
    return (int64_t)ticks;
}

/* ---- futex ---- */

int th_os_futex_wait(uint32_t *xword, uint32_t value, int64_t deadline) {
    machine_charge(the_costs.syscall);
    machine_access((uintptr_t)xword, sizeof(*xword), READ_ATOMIC, __builtin_return_address(0));
    if (sim_newest(xword) != value) {
        return -EAGAIN;
    }
    if (deadline <= sim_now()) {
        return -ETIMEDOUT;
    }
    return sim_sleep(xword, deadline) == SIM_TIMEOUT ? -ETIMEDOUT : 0;
}

void th_os_futex_wake(uint32_t *xword, int n) {
    machine_charge(the_costs.syscall);
    machine_point();
    for (int i = 0; i < n && sim_wake_one(xword); i++) {
    }
}

/* ---- threads ---- */

typedef struct start {
    void (*entry)(void *);
    void *arg;
} start;

static void (*exit_callback)(void *);

static void thread_main(void *ptr) {
    start s = *(start *)ptr;
    sim_memory_free(ptr);
    s.entry(s.arg);
    sim_thread_ends();
}

void sim_thread_ends(void) {
    void *self = sim_local_here()->self;
    if (self && exit_callback) {
        exit_callback(self);
        sim_local_here()->self = NULL;
    }
}

int th_os_thread_start(th_os_thread *thread, const char *name, void (*entry)(void *), void *arg) {
    start *s = sim_memory(sizeof *s);
    *s = (start){.entry = entry, .arg = arg};
    return sim_thread_start(name, thread_main, s, &thread->handle);
}

int th_os_thread_start_on(th_os_thread *thread, const char *name, void (*entry)(void *), void *arg,
                          const th_os_cpuset *cpus) {
    (void)cpus;
    return th_os_thread_start(thread, name, entry, arg);
}

void th_os_thread_join(th_os_thread thread) {
    sim_thread_join(thread.handle);
}

uint64_t th_os_thread_number(void) {
    return 0;
}

int64_t th_os_thread_ran(th_os_thread thread) {
    machine_charge(the_costs.syscall * 2);
    return cores_thread_ran(thread.handle);
}

bool th_os_thread_waits(uint64_t number) {
    (void)number;
    return false;
}

bool th_os_thread_runs(uint64_t number) {
    (void)number;
    return true;
}

void th_os_thread_reports(void) {
}

uintptr_t th_os_thread_pointer(uint64_t number) {
    (void)number;
    return 0;
}

void th_os_thread_detach(th_os_thread thread) {
    (void)thread;
}

int th_os_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void)) {
    (void)before, (void)in_parent, (void)in_child;
    return 0;
}

void th_os_thread_yield(void) {
    machine_charge(the_costs.syscall * 2);
    machine_point();
}

void th_os_relax(void) {
    sim_yield_point();
}

void *th_os_self_get(void) {
    return sim_local_here()->self;
}

int th_os_self_set(void *self) {
    sim_local_here()->self = self;
    return 0;
}

int th_os_self_on_exit(void (*on_exit)(void *self)) {
    exit_callback = on_exit;
    return 0;
}

void *th_os_self_storage(void) {
    return sim_storage_here();
}

int *th_os_errno_at(void) {
    return &sim_local_here()->error;
}

int th_os_errno_get(void) {
    return sim_local_here()->error;
}

void th_os_errno_set(int value) {
    sim_local_here()->error = value;
}

th_os_exceptions *th_os_exceptions_at(void) {
    return NULL;
}

int th_os_barrier_start(void) {
    return 0;
}

bool th_os_barrier(void) {
    machine_point();
    sim_fence_everywhere();
    return true;
}

unsigned long th_os_timer_slack(unsigned long ns) {
    (void)ns;
    return 0;
}

void th_os_stack(uintptr_t *low, uintptr_t *high) {
    *low = 0;
    *high = 0;
}
