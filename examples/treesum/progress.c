/*
 * progress.c: see progress.h.
 */
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "system.h"

enum { INTERVAL_MS = 100 };

static const char erase[] = "\r\033[K";

static void *redraw(void *arg);

void progress_start(struct progress *progress) {
    *progress = (struct progress){.start = thrum_now(), .screen = THRUM_MUTEX_INIT};
    atomic_init(&progress->xfiles, 0);
    atomic_init(&progress->xbytes, 0);
    thrum_event_init(&progress->ending, THRUM_EVENT_MANUAL, false);
    progress->enabled = isatty(STDERR_FILENO) != 0; /* before the thread, which reads it */
    if (progress->enabled && pthread_create(&progress->thread, NULL, redraw, progress) != 0) {
        progress->enabled = false;
    }
}

void progress_end(struct progress *progress) {
    if (!progress->enabled) {
        return;
    }
    thrum_event_signal(&progress->ending);
    pthread_join(progress->thread, NULL);
    progress->enabled = false;
}

void progress_add(struct progress *progress, unsigned files, unsigned long long bytes) {
    atomic_fetch_add_explicit(&progress->xfiles, files, memory_order_relaxed);
    atomic_fetch_add_explicit(&progress->xbytes, bytes, memory_order_relaxed);
}

static void lock(struct progress *progress) {
    thrum_mutex_lock(&progress->screen);
}

static void show(const char *text, size_t size) {
    (void)system_write(STDERR_FILENO, text, size); /* the line is a courtesy */
}

bool progress_hide(struct progress *progress, bool to_terminal) {
    if (!progress->enabled || !to_terminal) {
        return false;
    }
    lock(progress);
    if (progress->visible) {
        show(erase, sizeof erase - 1);
        progress->visible = false;
    }
    return true;
}

void progress_show(struct progress *progress, bool hidden) {
    if (hidden) {
        thrum_mutex_unlock(&progress->screen);
    }
}

static void draw(struct progress *progress) {
    unsigned long long files = atomic_load_explicit(&progress->xfiles, memory_order_relaxed);
    unsigned long long bytes = atomic_load_explicit(&progress->xbytes, memory_order_relaxed);
    double seconds = (double)(thrum_now() - progress->start) / 1e9;
    double megabytes = (double)bytes / 1e6;
    char line[128];
    int length = snprintf(line, sizeof line, "%s%llu files, %.1f MB, %.1f MB/s", erase, files,
                          megabytes, seconds > 0 ? megabytes / seconds : 0.0);
    lock(progress);
    show(line, (size_t)length);
    progress->visible = true;
    thrum_mutex_unlock(&progress->screen);
}

/* The thread: draws until it is asked to end. */
static void *redraw(void *arg) {
    struct progress *progress = arg;
    do {
        draw(progress);
    } while (thrum_event_wait_until(&progress->ending, thrum_after_ms(INTERVAL_MS)) != 0);
    progress_show(progress, progress_hide(progress, true));
    return NULL;
}
