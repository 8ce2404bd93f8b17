/*
 * launch.h: the system's arguments for a start, in our own memory.
 */
#ifndef TH_LAUNCH_H
#define TH_LAUNCH_H

#include "platform/platform.h"
#include "thrum/process.h"

#define TH_STREAMS 3u

typedef struct th_launch {
    th_os_program program;
    void *places;                /* the files to be tried, with their names; or NULL */
    const char *const *ours_env; /* our environment, or NULL: there is none */
    void *env_memory;            /* memory that the system's part has made for it; or NULL */
    const char **merged;         /* the environment, where it is made of two; or NULL */
    int *fds;                    /* the process's descriptors, and as much room again */
    const char *single[2];
    int theirs[TH_STREAMS + 1]; /* descriptors that are closed after the start, or -1 */
    thrum_io ours[TH_STREAMS];  /* our ends of pipes */
} th_launch;

/*
 * Makes it from valid options: 0, or a code with nothing left and *failed, its subject:
 * "descriptor", "program", "process".
 */
int th_launch_open(th_launch *launch, const char *const argv[],
                   const thrum_process_options *options, bool has_fd, const char **failed);

/* Frees it. `started`: our ends of pipes are given to the caller, and else closed. */
void th_launch_close(th_launch *launch, const thrum_process_options *options, bool started);

#endif
