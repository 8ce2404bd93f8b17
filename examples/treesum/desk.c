/*
 * desk.c: see desk.h.
 */
#include "desk.h"

#include <stdlib.h>

#include "memory.h"

void desks_init(struct desks *desks, unsigned count) {
    *desks = (struct desks){.count = count, .mutex = THRUM_MUTEX_INIT};
    desks->all = memory_new(count * sizeof *desks->all);
    thrum_sem_init(&desks->available, count);
    for (unsigned i = 0; i < count; i++) {
        struct desk *desk = &desks->all[i];
        desk->buffer = memory_new(DESK_SIZE); /* no memory before its first use */
        desk->sha = sha_new();
        desk->next = desks->free;
        desks->free = desk;
    }
}

void desks_end(struct desks *desks) {
    for (unsigned i = 0; i < desks->count; i++) {
        sha_free(desks->all[i].sha);
        free(desks->all[i].buffer);
    }
    free(desks->all);
}

static void lock(struct desks *desks) {
    if (thrum_mutex_lock(&desks->mutex) != 0) {
        abort(); /* held already: a bug */
    }
}

struct desk *desks_take(struct desks *desks) {
    thrum_sem_wait(&desks->available);
    lock(desks);
    struct desk *desk = desks->free;
    desks->free = desk->next;
    thrum_mutex_unlock(&desks->mutex);
    return desk;
}

void desks_give_back(struct desks *desks, struct desk *desk) {
    lock(desks);
    desk->next = desks->free;
    desks->free = desk;
    thrum_mutex_unlock(&desks->mutex);
    thrum_sem_post(&desks->available);
}
