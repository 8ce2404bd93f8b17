/*
 * progress.h: the progress so far, and the line on a terminal that shows it.
 *
 * The line is redrawn by time, by a thread of its own, so that it also moves while one long file is
 * read. A writer to the terminal hides the line first.
 */
#ifndef TREESUM_PROGRESS_H
#define TREESUM_PROGRESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <thrum.h>

struct progress {
    atomic_ullong xfiles, xbytes; /* hashed so far; any thread adds */
    thrum_time start;

    bool enabled;       /* stderr is a terminal */
    bool visible;       /* under `screen` */
    thrum_mutex screen; /* a writer to the terminal holds it */
    thrum_event ending; /* ends the thread */
    pthread_t thread;
};

void progress_start(struct progress *progress);
void progress_end(struct progress *progress);

/* Any thread or fiber. */
void progress_add(struct progress *progress, unsigned files, unsigned long long bytes);

/*
 * Called before writing: if that goes to the terminal, takes the line away and keeps it away.
 * Returns the argument for progress_show afterwards.
 */
bool progress_hide(struct progress *progress, bool to_terminal);
void progress_show(struct progress *progress, bool hidden);

#endif
