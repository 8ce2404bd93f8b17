/*
 * quit.h: SIGINT and SIGTERM end the program in order: they are handed to a function, and the
 * program kills itself by the same signal when it has cleaned up, or after a second.
 */
#ifndef TREESUM_QUIT_H
#define TREESUM_QUIT_H

#include <pthread.h>
#include <thrum.h>

struct quit {
    pthread_t thread;
    thrum_event ended;
    int signal; /* the signal that came; 0: none */
    void (*fn)(void *ctx, int signal);
    void *ctx;
};

/*
 * Holds the signals back, except signals that the program was started to ignore. First call in
 * main.
 */
void quit_prepare(struct quit *quit);

/* From now on a thread calls fn(ctx, signal) once, when a signal comes. */
int quit_begin(struct quit *quit, void (*fn)(void *ctx, int signal), void *ctx);
/* Ends that. Afterwards `signal` shows whether one came. */
void quit_end(struct quit *quit);

/* Ends the program as the signal would have. */
void quit_die(int signal);

#endif
