/*
 * system.h: the functions that this folder's files, which all Unix systems share, need from the
 * system's own folder (linux/ or posix/), and the names of the C library that they see. It is
 * included before any header.
 *
 * For the fallback (posix/) the C library shows the names of POSIX.1-2008, and nothing else, so
 * that nothing of Linux creeps in, although it is Linux on which the fallback is tested.
 */
#ifndef TH_UNIX_SYSTEM_H
#define TH_UNIX_SYSTEM_H

#ifdef TH_PLATFORM_POSIX
#define _XOPEN_SOURCE 700
#else
#define _GNU_SOURCE
#endif

#include <pthread.h>
#include <signal.h>

#include "platform/platform.h"

/* ---- threads ---- */

/* Names the calling thread, for debuggers; nothing where the system has no such names. */
void th_system_thread_name(const char *name);

/*
 * Creates a thread that runs only on these CPUs from its beginning on. Returns 0 or the system's
 * code, a positive one.
 */
int th_system_thread_create_on(pthread_t *id, void *(*entry)(void *), void *arg,
                               const th_os_cpuset *cpus);

/* ---- signals ---- */

/* The signal mask of a library thread that a thread with the mask `starters` starts. */
void th_system_thread_mask(sigset_t *set, const sigset_t *starters);

/* How many handlers of signal.c the calling thread is in. */
extern __thread unsigned th_handlers_depth;

/*
 * In a handler: sends the signal to the calling thread once more. With `info`: with the first one's
 * data, if the system can.
 */
void th_system_signal_again(int number, const siginfo_t *info);
/* The largest size of the frame that the system writes for a handler, in bytes. */
size_t th_system_signal_frame(void);

/* ---- descriptors ---- */

struct pollfd;
/* As poll, until an absolute deadline (TH_FOREVER: none; 0: does not wait). */
int th_system_poll(struct pollfd *fds, unsigned n, int64_t deadline);
/* As pipe; programs that are started do not get its ends. */
int th_system_pipe(int ends[2]);
/*
 * Writes as much as possible without waiting to a pipe, with no signal if nobody reads any
 * longer.
 */
int64_t th_system_pipe_writev(int fd, const th_os_part parts[], unsigned n);
/* Takes a connection, which is closed on exec and does not wait, as accept returns it. */
int th_system_accept(int fd);
/* Sends or takes several messages at a call, as th_os_socket_send and th_os_socket_receive. */
int th_system_send_some(int fd, const th_os_message messages[], unsigned n);
int th_system_receive_some(int fd, th_os_message messages[], unsigned n);
/* Whether the other side of a connected UNIX socket is the process's own user, or root. */
bool th_system_is_own_peer(int fd);

/* ---- processes ---- */

/* As waitid, for this process. */
int64_t th_system_wait(const th_os_process *process, siginfo_t *said, int options);
/* For a process that waitid no longer knows: 1 with *ended, or -ECHILD. */
int th_system_forgotten(const th_os_process *process, th_os_ended *ended);

/* ---- files ---- */

/* Calls of th_os_file_do that POSIX does not have, or has only by halves: -1 with errno. */
int64_t th_system_file_add(th_os_file_request *r);
int64_t th_system_file_allocate(th_os_file_request *r);
int64_t th_system_file_rename_new(th_os_file_request *r);
int64_t th_system_file_list(th_os_file_request *r);
int64_t th_system_file_copy(th_os_file_request *r);
int64_t th_system_file_lock(th_os_file_request *r);
int64_t th_system_file_watch(th_os_file_request *r);

#endif
