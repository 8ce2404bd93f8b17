/*
 * own.h: descriptors about which the library keeps more than the handle: its ends of pipes to child
 * processes (io/pipe.c), and watchers of files (file/watch.h). The record of each begins with a
 * th_own.
 */
#ifndef TH_WINDOWS_OWN_H
#define TH_WINDOWS_OWN_H

#include "platform/windows/winsock/winsock.h"

typedef enum { TH_OWN_READS, TH_OWN_WRITES, TH_OWN_WATCHER } th_own_kind;

typedef struct th_own {
    struct th_own *next; /* in its place of the table; protected by the table's lock */
    int fd;
    th_own_kind kind; /* a reading end, a writing end, a watcher */
    int signal[2];    /* readable if and only if there is something to do (winsock/pair.c) */
} th_own;

/* Adds it to the table, so that th_own_find finds it. */
void th_own_add(th_own *own);

/* The record of this descriptor, or NULL. It stays until the descriptor is closed. */
th_own *th_own_find(int fd);
/* The same; calls `hold` before others can take it out. */
th_own *th_own_hold(int fd, void (*hold)(th_own *own));

/* Removes and returns a watcher, or an end of a pipe; NULL: there is none. Nobody finds it then. */
th_own *th_own_take(int fd, bool watcher);

bool th_own_is_watcher(int fd);

/*
 * Whether the descriptor is an end of a pipe. If so, *reads is set to the kind of end, and *signal
 * is a socket that can be read while a call on the end would not return -EAGAIN. It stays open
 * until th_pipe_close.
 */
bool th_pipe_signal(int fd, bool *reads, SOCKET *signal);

#endif
