/*
 * watch.h: descriptors that report changes of files.
 *
 * A *watcher* is a descriptor: a wake-up socket that can be read exactly while there are events
 * that nobody has read. They are in its memory, in the order in which they came (watcher.c). It has
 * *watches*, one for each file or directory, which query the system (watch_path.c).
 */
#ifndef TH_WINDOWS_WATCH_H
#define TH_WINDOWS_WATCH_H

#include "platform/windows/file/file.h"
#include "platform/windows/winsock/own.h"

/* As th_os_io_readv: whole events, -EAGAIN, or -EINVAL where the first one has no room. */
int64_t th_file_watch_readv(int fd, const th_os_part parts[], unsigned n);

/* Closes it, with all that it watches; false: it is none. */
bool th_file_watch_close(int fd);

/* TH_OS_FILE_WATCH */
int64_t th_file_watch(th_file_request *r);

/* ---- shared by the three files ---- */

#define TH_WATCH_ROOM 65536u /* bytes of events that nobody has read */

/* The kinds of requests to the system. */
enum { TH_WATCH_NAMES, TH_WATCH_FOLDERS, TH_WATCH_ATTRIBUTES, TH_WATCH_ITSELF, TH_WATCH_KINDS };

typedef struct th_file_watcher {
    th_own own;
    /* of the caller that adds a watch; taken before the next one */
    SRWLOCK adding;
    SRWLOCK lock;                    /* for the following */
    unsigned users;                  /* the descriptor, watches, calls: the last one frees it */
    bool closed;                     /* there is no signal any longer */
    bool told;                       /* the signal can be read */
    bool lost;                       /* there was no room: no event comes until all are read */
    int last;                        /* number of a watch */
    uint32_t pairs;                  /* number of a rename */
    struct th_file_watched *watches; /* watches that have not ended */
    size_t at;                       /* events that were not read: from here, up to `size` */
    size_t size;
    size_t newest; /* where the last of them begins; SIZE_MAX: there is none */
    char bytes[TH_WATCH_ROOM];
} th_file_watcher;

/* With the watcher's lock. */
typedef struct th_file_watched {
    struct th_file_watched *next;
    th_file_watcher *of;
    int number;
    uint32_t what;
    /* off the list, and reports nothing any longer */
    bool ended;
    unsigned requests;                                   /* that are not freed */
    struct th_file_watch_request *asked[TH_WATCH_KINDS]; /* unless it has ended */
    DWORD volume, high, low;                             /* the watched file */
    bool is_folder;
    wchar_t name[MAX_PATH]; /* its own, in its directory; "": it is in none */
} th_file_watched;

/*
 * With a place among its users, for callers that do not hold the descriptor for so long; or
 * NULL.
 */
th_file_watcher *th_file_watcher_hold(int fd);
/* With its lock, which is given back. */
void th_file_watcher_leave(th_file_watcher *r);

/* With the lock of the watcher: an event. The name has zeroes behind it, up to a multiple of 4. */
void th_file_watcher_add(th_file_watcher *r, int number, uint32_t what, uint32_t pair,
                         const char *name);

/* With the lock of its watcher: nothing is reported of it from now on. Its requests free it. */
void th_file_watch_drop(th_file_watched *w);

/* Makes sure that there is a thread that reports changes. 0 or a code. */
int th_file_watch_begin(void);

#endif
