/*
 * locs.c: the words that are used atomically, found by their addresses.
 */
#include "engine.h"

#include <string.h>

#include "values.h"

loc *loc_find(void *addr, unsigned size) {
    uintptr_t at = (uintptr_t)addr;
    cell *c = cell_of(at);
    if (unlikely(!c)) {
        return NULL;
    }
    uint32_t *entry = &c->loc[(at & 4) >> 2];
    unsigned first = 0; /* of those in this half of the cell: its index and 1; 0: none */
    if (likely(*entry >> 16 == E->stamp)) {
        first = (*entry & 0xffff) + 1;
    }
    for (unsigned i = first; i; i = E->locs[i - 1].next) {
        loc *l = &E->locs[i - 1];
        if (likely(l->addr == at && l->size == size)) {
            return l;
        }
        if (l->addr < at + size && at < l->addr + l->size) {
            fail("mixed", "atomics of two sizes on one word");
        }
    }
    const uint32_t other = c->loc[(at & 4) ? 0 : 1];
    if (other >> 16 == E->stamp && (size == 8 || E->locs[other & 0xffff].size == 8)) {
        fail("mixed", "atomics of two sizes on one word");
    }
    uint32_t number = E->locs_free ? E->locs_free - 1 : E->locs_count++;
    if (number >= LOCS_MAX) {
        fail("limit", "more than %u words are used atomically", LOCS_MAX);
    }
    loc *l = &E->locs[number];
    E->locs_free = E->locs_free ? l->next : 0;
    *entry = (uint32_t)E->stamp << 16 | number;
    l->addr = at;
    l->next = (uint16_t)first;
    l->size = (uint8_t)size;
    l->count = 1;
    l->label = 0;
    l->order[0] = 0;
    memset(l->stale, 0, sizeof l->stale);
    memset(l->marks_count, 0, sizeof l->marks_count);
    store *s = &l->slots[0];
    memset(s, 0, sizeof *s);
    s->value = raw_read(addr, size);
    s->initial = true;
    return l;
}
