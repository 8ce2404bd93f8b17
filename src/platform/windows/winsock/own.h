/*
 * own.h: descriptors that are more than their handle to the library: its ends of pipes to programs
 * (io/pipe.c), and watchers of files (file/watch.h). What is known of one contains a th_own.
 */
#ifndef TH_WINDOWS_OWN_H
#define TH_WINDOWS_OWN_H

#include "platform/windows/winsock/winsock.h"

typedef enum { TH_OWN_READS, TH_OWN_WRITES, TH_OWN_WATCHER } th_own_kind;

typedef struct th_own {
    struct th_own *next; /* at its place, with the lock of them all */
    int fd;
    th_own_kind kind; /* an end that is read, one that is written, a watcher */
    int signal[2];    /* can be read exactly while there is something to do (winsock/pair.c) */
} th_own;

/* It is found by its descriptor from now on. */
void th_own_add(th_own *own);

/* The one of this descriptor, or NULL. It stays until the descriptor is closed. */
th_own *th_own_find(int fd);
/* The same; calls `hold` before others can take it out. */
th_own *th_own_hold(int fd, void (*hold)(th_own *own));

/* Takes it out, if it is a watcher or not, as said: NULL, or the caller's alone to be found. */
th_own *th_own_take(int fd, bool watcher);

bool th_own_is_watcher(int fd);

/*
 * Whether the descriptor is an end of a pipe: then *reads, and *signal is a socket that can be read
 * while a call on the end would not find -EAGAIN. It stays open until th_pipe_close.
 */
bool th_pipe_signal(int fd, bool *reads, SOCKET *signal);

#endif
