/*
 * shadow.c: each 8 bytes that are watched have a cell: the last accesses, seven at most, and which
 * words in it are used atomically. Watched are the arena (heap, stacks) and the program's data.
 *
 * A slot: bits 48-63 the run's stamp, 24-47 the thread's time, 16-23 the bytes, 8-15 the thread,
 * then flags. Those of this run come first. A race: two accesses to one byte, one of them a write,
 * not both atomic, neither happens before the other.
 */
#include <string.h>

#include "engine.h"

#define WRITE 1u
#define ATOMIC 2u
#define GONE 4u /* no thread may touch it */

#define STAMP(slot) ((slot) >> 48)
#define TIME(slot) ((uint32_t)((slot) >> 24) & 0xffffffu)
#define BYTES(slot) ((unsigned)((slot) >> 16) & 0xffu)
#define THREAD(slot) ((unsigned)((slot) >> 8) & 0xffu)
#define IN_ANY_RUN(slot) ((slot) << 16 >> 16)

cell *cell_of(uintptr_t addr) {
    uintptr_t off = addr - (uintptr_t)E->arena;
    if (likely(off < ARENA_BYTES)) {
        return &E->cells[off >> 3];
    }
    off = addr - (uintptr_t)E->data;
    if (off < E->data_size) {
        return &E->cells[(ARENA_BYTES >> 3) + (off >> 3)];
    }
    return NULL;
}

/* For the test kit, which shows both accesses (race.c). */
static void keep(cell *c, uintptr_t addr, uint64_t earlier, unsigned flags, const void *site) {
#if TH_KIT
    E->race_addr = addr;
    kit_access(&E->race_steps[1], flags & WRITE, flags & ATOMIC, site);
    E->race_cell = c;
    E->race_slot = IN_ANY_RUN(earlier);
#else
    (void)c, (void)addr, (void)earlier, (void)flags, (void)site;
#endif
}

/* In a run that is traced again, the earlier of two accesses. */
static void keep_earlier(const cell *c, uint64_t slot, const void *site) {
#if TH_KIT
    if (c == E->race_cell && IN_ANY_RUN(slot) == E->race_slot) {
        kit_access(&E->race_steps[0], slot & WRITE, slot & ATOMIC, site);
    }
#else
    (void)c, (void)slot, (void)site;
#endif
}

static void race(uintptr_t addr, bool write, bool atomic, uint64_t slot, const void *site) {
#if TH_KIT
    (void)addr, (void)atomic, (void)site;
    fail("race", "nothing orders this %s and an earlier %s of the same memory",
         write ? "write" : "read", slot & WRITE ? "write" : "read");
#else
    fail("race", "%s%s of %p by thread %u at %s, against %s%s by thread %u",
         atomic ? "atomic " : "", write ? "write" : "read", (void *)addr, me(), site_name(site),
         slot & ATOMIC ? "atomic " : "", slot & WRITE ? "write" : "read", THREAD(slot));
#endif
}

static void gone(uintptr_t addr, const void *site) {
#if TH_KIT
    kit_gone(addr, site);
#else
    fail("use-after-free", "%p is not allocated; thread %u at %s", (void *)addr, me(),
         site_name(site));
#endif
}

/* Its own store that is still in the buffer comes first. */
static void drain_overlapping(sim_thread *t, uintptr_t addr, size_t size) {
    for (unsigned i = 0; i < t->buffered; i++) {
        const pending_store *p = &t->buffer[i];
        if (p->addr < addr + size && addr < p->addr + p->size) {
            model_drain(t);
            return;
        }
    }
}

static inline void check_cell(cell *c, uintptr_t addr, unsigned bytes, unsigned flags,
                              const void *site) {
    const sim_thread *t = E->current;
    unsigned self = me();
    uint64_t mine = (uint64_t)E->stamp << 48 | (uint64_t)t->now.order[self] << 24 |
                    (uint64_t)bytes << 16 | (uint64_t)self << 8 | flags;
    if (unlikely(E->tracing)) {
        keep_earlier(c, mine, site);
    }
    unsigned old_slot = CELL_SLOTS; /* a slot that this access replaces */
    unsigned i;
    for (i = 0; i < CELL_SLOTS; i++) {
        uint64_t s = c->slots[i];
        if (s == mine) {
            return;
        }
        if (STAMP(s) != E->stamp) {
            break;
        }
        if (unlikely(s & GONE)) {
            gone(addr, site);
        }
        if (!(BYTES(s) & bytes)) {
            continue;
        }
        bool ordered = THREAD(s) == self || TIME(s) <= t->now.order[THREAD(s)];
        if (!ordered && ((s | flags) & WRITE) && !(s & flags & ATOMIC)) {
            keep(c, addr, s, flags, site);
            race(addr, flags & WRITE, flags & ATOMIC, s, site);
        }
        /* An access that races with the old one also races with this one. */
        if (ordered && (BYTES(s) & ~bytes) == 0 && ((flags & WRITE) || !(s & WRITE)) &&
            (!(flags & ATOMIC) || (s & ATOMIC))) {
            old_slot = i;
        }
    }
    if (old_slot < CELL_SLOTS) {
        i = old_slot;
    } else if (i == CELL_SLOTS) { /* it is full: one is forgotten, and a race with it missed */
        i = (unsigned)E->steps % CELL_SLOTS;
    }
    c->slots[i] = mine;
}

/* After a plain store its words begin a new history when they are next used atomically. */
static void forget(cell *c, unsigned bytes) {
    for (unsigned half = 0; half < 2; half++) {
        unsigned next = c->loc[half] >> 16 == E->stamp ? (c->loc[half] & 0xffff) + 1 : 0;
        c->loc[half] = 0;
        while (next) { /* those that keep their histories */
            loc *l = &E->locs[next - 1];
            unsigned reach = ((1u << l->size) - 1) << (l->addr & 7);
            unsigned at = next - 1;
            next = l->next;
            if (bytes & reach) {
                l->next = (uint16_t)E->locs_free;
                E->locs_free = at + 1;
            } else {
                l->next = (uint16_t)(c->loc[half] ? (c->loc[half] & 0xffff) + 1 : 0);
                c->loc[half] = (uint32_t)E->stamp << 16 | at;
            }
        }
    }
}

void shadow_access(uintptr_t addr, size_t size, bool write, bool atomic, const void *site) {
    uintptr_t off = addr - (uintptr_t)E->arena;
    cell *c;
    if (likely(off < ARENA_BYTES)) {
        for (size_t page = off / PAGE_BYTES; page <= (off + size - 1) / PAGE_BYTES; page++) {
            if (unlikely(E->pages[page] != E->stamp)) {
                gone(addr, site);
            }
        }
        c = &E->cells[off >> 3];
    } else {
        off = addr - (uintptr_t)E->data;
        if (off >= E->data_size) {
            return;
        }
        E->data_dirty |= write;
        c = &E->cells[(ARENA_BYTES >> 3) + (off >> 3)];
    }
    if (!atomic && unlikely(E->current->buffered)) {
        drain_overlapping(E->current, addr, size);
    }
    unsigned flags = (write ? WRITE : 0) | (atomic ? ATOMIC : 0);
    while (size) {
        unsigned first = (unsigned)(addr & 7);
        unsigned n = size < 8 - first ? (unsigned)size : 8 - first;
        unsigned bytes = ((1u << n) - 1) << first;
        check_cell(c, addr, bytes, flags, site);
        if (write && !atomic) {
            if (unlikely(c->loc[0] >> 16 == E->stamp || c->loc[1] >> 16 == E->stamp)) {
                forget(c, bytes);
            }
        }
        addr += n;
        size -= n;
        c++;
    }
}

/* Every access to it must be known to be done: to give it back is to write to all of it. */
void shadow_unmapped(uintptr_t addr, size_t size, const void *site) {
    if (!is_watched()) {
        return;
    }
    for (uintptr_t at = addr; at < addr + size; at += 8) {
        cell *c = cell_of(at);
        if (STAMP(c->slots[0]) == E->stamp) {
            check_cell(c, at, 0xff, WRITE, site);
        }
        c->loc[0] = c->loc[1] = 0;
    }
}

void shadow_fresh(uintptr_t addr, size_t size) {
    for (uintptr_t at = addr; at < addr + size; at += 8) {
        cell *c = cell_of(at);
        if (c) {
            memset(c, 0, sizeof *c);
        }
    }
}

void shadow_freed(uintptr_t addr, size_t size, const void *site) {
    if (!is_watched()) {
        return;
    }
    if (site) { /* freeing is a write to all of it */
        shadow_access(addr, size, true, false, site);
    }
    for (uintptr_t at = addr; at < addr + size; at += 8) {
        cell *c = cell_of(at);
        if (c) {
            c->slots[0] = (uint64_t)E->stamp << 48 | GONE;
            c->loc[0] = c->loc[1] = 0;
        }
    }
}
