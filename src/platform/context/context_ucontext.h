/*
 * context_ucontext.h: a suspended context by the C library's means, for processors that have no
 * assembly here. It is slow: each switch makes a system call for the signal mask.
 */
#ifndef TH_CONTEXT_UCONTEXT_H
#define TH_CONTEXT_UCONTEXT_H

#include <ucontext.h>

typedef struct th_context {
    ucontext_t state; /* about 1 KiB on x86_64, 4.5 KiB on aarch64 */
} th_context;

#endif
