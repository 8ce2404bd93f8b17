/*
 * process_child.h: the steps of a child between its beginning and its program, in the memory of the
 * thread that has started it.
 */
#ifndef TH_LINUX_PROCESS_CHILD_H
#define TH_LINUX_PROCESS_CHILD_H

#include "platform/platform.h"

/* The subject of a failed start, as th_os_process_start returns it. */
typedef enum th_child_step {
    TH_CHILD_PROCESS,
    TH_CHILD_FOLDER,
    TH_CHILD_LIMIT,
    TH_CHILD_DESCRIPTOR,
    TH_CHILD_PROGRAM
} th_child_step;

/* Its report when it gives up. */
typedef struct th_child_told {
    int code;
    th_child_step step;
} th_child_told;

typedef struct th_child {
    const th_os_program *program;
    bool stays_ignored[TH_OS_SIGNALS];
    th_os_cpuset cpus;
    long cpus_size; /* bytes of `cpus`; 0: those of the caller */
    int tell;       /* a descriptor to report on, too, if it has its own memory; or -1 */
    /* Written by the child: */
    volatile bool began; /* so the memory is shared */
    volatile th_child_told told;
} th_child;

/* The entry; it never returns. The thread that starts it has all signals blocked. */
int th_child_main(void *child);

#endif
