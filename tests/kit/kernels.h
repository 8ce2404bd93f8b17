/*
 * kernels.h: small programs with a bug of concurrency each, and the same programs without it. The
 * test kit must find each bug, and nothing in the corrected ones.
 */
#ifndef KERNELS_H
#define KERNELS_H

#include <string.h>
#include <thrum.h>
#include <thrum/test.h>

typedef struct kernel {
    const char *name;
    const char *fault; /* how the kit reports it */
    int (*run)(void *arg);
    struct kernel *next;
} kernel;

/* KERNEL(name, "fault") { the first task's body, which returns 0 } */
#define KERNEL(name_, fault_)                                                                      \
    static int kernel_##name_(void *arg);                                                          \
    static kernel kernel_of_##name_ = {#name_, fault_, kernel_##name_, NULL};                      \
    __attribute__((constructor)) static void kernel_add_##name_(void) {                            \
        kernel_of_##name_.next = kernels;                                                          \
        kernels = &kernel_of_##name_;                                                              \
    }                                                                                              \
    static int kernel_##name_(void *arg __attribute__((unused)))

extern kernel *kernels;
extern bool fixed; /* whether the bug is corrected */

/* Starts a task, up to 8 of them; join_all waits for all. */
void go(thrum_fn fn, void *arg);
void join_all(void);

/* All is well, or the run fails. */
#define MUST(call) THRUM_TEST((call) == 0)

#endif
