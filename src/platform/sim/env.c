/*
 * env.c: almost no environment, two processors, no signals; printing ends the run.
 */
#include "platform/platform.h"

#include <stdio.h>

#include "platform/sim/controller.h"

const char *th_os_env(const char *name) {
    return sim_env(name);
}

int th_os_pid(void) {
    return 1;
}

void th_os_stderr(const char *text, size_t length) {
    sim_said(text, length);
}

bool th_os_stderr_waits(int ms) {
    (void)ms;
    return true;
}

void th_os_abort(void) {
    sim_aborted();
}

void th_os_exit(int status) {
    (void)status; /* worlds do not fork */
    sim_aborted();
}

#if !TH_KIT /* it has texts, and names code as on Linux */
const char *th_os_error_text(int number) {
    (void)number;
    return NULL;
}

void th_os_code_name(uintptr_t address, char *text, size_t size, th_os_symbols *symbols) {
    (void)symbols;
    snprintf(text, size, "0x%lx", (unsigned long)address);
}

bool th_os_code_place(uintptr_t address, th_os_place *place, th_os_symbols *symbols) {
    (void)address;
    (void)place;
    (void)symbols;
    return false;
}

bool th_os_code_call(uintptr_t after, th_os_place *place, th_os_symbols *symbols) {
    (void)after;
    (void)place;
    (void)symbols;
    return false;
}

unsigned th_os_code_spans(th_os_span spans[], unsigned max) {
    (void)spans;
    (void)max;
    return 0;
}

unsigned th_os_modules(th_os_module modules[], unsigned max) {
    (void)modules;
    (void)max;
    return 0;
}

#endif

unsigned th_os_cpus(void) {
    return 2;
}

unsigned th_os_cpus_at(const char *root, unsigned affinity) {
    (void)root;
    return affinity;
}

int th_os_cpuset_granted(th_os_cpuset *out) {
    *out = (th_os_cpuset){{3}};
    return 0;
}

void th_os_cpuset_of_cache(const char *root, unsigned cpu, th_os_cpuset *out) {
    (void)root;
    (void)cpu;
    *out = (th_os_cpuset){{0}};
}

int th_os_fault_catch(th_os_fault_fn ask) {
    (void)ask;
    return 0;
}

void th_os_crash_catch(th_os_crash_fn tell) {
    (void)tell;
}

void th_os_crash_in_child(void) {
}

int th_os_record_open(const char *path) {
    (void)path;
    return -1; /* worlds record nothing */
}

bool th_os_record_write(int fd, const char *bytes, size_t length) {
    (void)fd;
    (void)bytes;
    (void)length;
    return false;
}

bool th_os_record_close(int fd, const char *path, const char *to) {
    (void)fd;
    (void)path;
    (void)to;
    return false;
}

int th_os_fault_thread_enter(void **altstack) {
    *altstack = NULL;
    return 0;
}

void th_os_fault_thread_leave(void *altstack) {
    (void)altstack;
}
