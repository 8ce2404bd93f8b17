/*
 * thread.c: threads of the simulator.
 */
#include "platform/platform.h"

#include <errno.h>

#include "platform/faults.h"
#include "platform/sim/controller.h"

/* A new thread's arguments, in memory of the run. */
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

int th_os_thread_start_on(th_os_thread *thread, const char *name, void (*entry)(void *), void *arg,
                          const th_os_cpuset *cpus) {
    (void)cpus;
    if (th_os_fails(TH_OS_FAULT_THREAD) || sim_choose(SIM_REFUSAL, 2) != 0) {
        return -EAGAIN;
    }
    const int fault = sim_fault(SIM_FAULT_THREAD);
    if (fault) {
        return fault;
    }
    start *s = sim_memory(sizeof *s);
    *s = (start){.entry = entry, .arg = arg};
    uintptr_t handle;
    int code = sim_thread_start(name, thread_main, s, &handle);
    if (code != 0) {
        sim_memory_free(s);
        return code;
    }
    sim_point(); /* the thread may run, and end, before its starter knows its handle */
    thread->handle = handle;
    sim_wrote(&thread->handle, sizeof thread->handle);
    return 0;
}

void th_os_thread_join(th_os_thread thread) {
    sim_thread_join(thread.handle);
}

uint64_t th_os_thread_number(void) {
    return 0;
}

/* A thread that is held up in a world is blocked, unless the world declares that it computes. */
int64_t th_os_thread_ran(th_os_thread thread) {
    (void)thread;
    return th_os_fails(TH_OS_FAULT_RAN) ? -1 : 0;
}

bool th_os_thread_waits(uint64_t number) {
    (void)number;
    return true;
}

void th_os_thread_reports(void) {
}

bool th_os_thread_runs(uint64_t number) {
    (void)number;
    return false;
}

uintptr_t th_os_thread_pointer(uint64_t number) {
    (void)number;
    return 0;
}

void th_os_thread_detach(th_os_thread thread) {
    sim_thread_detach(thread.handle);
}

int th_os_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void)) {
    (void)before, (void)in_parent, (void)in_child; /* worlds do not fork */
    return 0;
}

void th_os_thread_yield(void) {
    sim_yield_point();
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
    return sim_exceptions_here();
}

int th_os_barrier_start(void) {
    return th_os_fails(TH_OS_FAULT_BARRIER) ? -ENOSYS : 0;
}

bool th_os_barrier(void) {
    sim_point();
    if (th_os_fails(TH_OS_FAULT_BARRIER) || sim_choose(SIM_REFUSAL, 2) != 0) {
        return false;
    }
    sim_fence_everywhere();
    return true;
}

unsigned long th_os_timer_slack(unsigned long ns) {
    (void)ns;
    return 0; /* the clock is virtual: a sleep ends when it may */
}

void th_os_stack(uintptr_t *low, uintptr_t *high) {
    *low = 0;
    *high = 0;
}
