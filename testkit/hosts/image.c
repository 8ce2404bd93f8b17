/*
 * image.c: the static data of the hosts. One copy is in place, that of the host whose thread runs.
 * If a thread of another host goes on, the copies are exchanged. Most pages never change, so only
 * those are copied that have differed before.
 */
#include <string.h>

#include "hosts/hosts.h"

static size_t length_of(unsigned page) {
    const size_t left = E->data_size - page * PAGE_BYTES;
    return left < PAGE_BYTES ? left : PAGE_BYTES;
}

static void copy(char *to, const char *from, unsigned page) {
    memcpy(to + page * PAGE_BYTES, from + page * PAGE_BYTES, length_of(page));
}

/* Finds pages that have changed for the first time; the other hosts have them as at the start. */
static void find_changes(void) {
    for (unsigned page = 0; page * PAGE_BYTES < E->data_size; page++) {
        if (H->differs[page] || !memcmp(E->data + page * PAGE_BYTES,
                                        E->data_copy + page * PAGE_BYTES, length_of(page))) {
            continue;
        }
        H->differs[page] = true;
        H->pages[H->pages_count++] = page;
        for (unsigned i = 0; i < H->count; i++) {
            copy(H->host[i].image, E->data_copy, page);
        }
    }
}

void image_fresh(unsigned number) {
    for (unsigned i = 0; i < H->pages_count; i++) {
        copy(H->host[number].image, E->data_copy, H->pages[i]);
    }
    memcpy(H->host[number].locals, E->locals_copy, E->locals_size);
}

void image_place(unsigned number) {
    if (number == H->placed) {
        return;
    }
    sim_host *from = &H->host[H->placed];
    sim_host *to = &H->host[number];
    find_changes();
    for (unsigned i = 0; i < H->pages_count; i++) {
        copy(from->image, E->data, H->pages[i]);
        copy(E->data, to->image, H->pages[i]);
    }
    if (E->locals_size) {
        memcpy(from->locals, E->locals, E->locals_size);
        memcpy(E->locals, to->locals, E->locals_size);
    }
    H->placed = number;
}
