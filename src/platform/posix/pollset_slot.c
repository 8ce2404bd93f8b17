/*
 * pollset_slot.c: the lock of all sets, and the slot of each descriptor number; see
 * pollset.c.
 */
#include "platform/posix/pollset.h"

#include <stdlib.h>

#include "base/atomic.h"

#define CHUNK 256
#define CHUNKS 65536 /* numbers of descriptors are below CHUNK * CHUNKS */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static slot *xchunks[CHUNKS]; /* made under the lock, and never freed */

void th_pollset_lock(sigset_t *before) {
    th_masked_lock(&lock, before);
}

void th_pollset_unlock(const sigset_t *before) {
    th_masked_unlock(&lock, before);
}

/* ---- slots ---- */

/* Any thread, handlers too. NULL: nothing was ever known of the number. */
slot *th_pollset_slot(int fd) {
    if (fd < 0 || fd >= CHUNK * CHUNKS) {
        return NULL;
    }
    slot *chunk = th_load_acquire(&xchunks[fd / CHUNK]); /* pairs: th_pollset_slot_for; the slots */
    return chunk ? &chunk[fd % CHUNK] : NULL;
}

/* With the lock. NULL: there is no memory. */
slot *th_pollset_slot_for(int fd) {
    slot *found = th_pollset_slot(fd);
    if (!found && fd >= 0 && fd < CHUNK * CHUNKS) {
        slot *chunk = calloc(CHUNK, sizeof *chunk);
        if (!chunk) {
            return NULL;
        }
        th_store_release(&xchunks[fd / CHUNK], chunk); /* pairs: th_pollset_slot; the slots */
        found = &chunk[fd % CHUNK];
    }
    return found;
}

set *th_pollset_set(const th_os_pollset *named) {
    slot *s = th_pollset_slot(named->set);
    return s ? s->set : NULL;
}

member *th_pollset_member(int fd, const set *of) {
    const slot *at = th_pollset_slot(fd);
    member *m = at ? at->members : NULL;
    while (m && m->set != of) {
        m = m->next_of_fd;
    }
    return m;
}

int64_t th_pollset_alarm(int alarm) {
    const slot *at = th_pollset_slot(alarm);
    return at ? at->alarm : TH_FOREVER;
}
