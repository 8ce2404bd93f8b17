/*
 * watched.h: the watcher of deadlocks looks every 5 ms. A deadlock is reported at its second look,
 * or at the twentieth while a plain thread runs: 10 s with the interval of programs.
 */
#ifndef WATCHED_H
#define WATCHED_H

#include "core/watch/cycle_watch.h"

__attribute__((constructor)) static void look_often(void) {
    th_watch_interval = 5000000;
}

#endif
