/*
 * stack.c: see stack.h.
 *
 * A slot's number is its slab's number in the upper bits and its place in the slab in the lower 12.
 * Its word in the slab's table has the rest:
 *
 *     bits 0-29   the next free slot, NO_SLOT at the list's end, or IN_USE
 *     bits 30-31  its guard, a thrum_guard; 0 as long as it has none
 *
 * The class's lock protects the list of free slots, and the words in it. While a slot is in use,
 * its word belongs to the thread that got it: so a guard is installed, and pages are given back,
 * without the lock. Words are read and written atomically only because th_stacks_some looks at
 * those in use as well.
 *
 * These functions are hidden from the thread sanitizer: stacks are got and put in a context that is
 * not the caller's (core/fiber/fiber.c), on the caller's stack.
 */
#include "core/fiber/stack.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/annotate.h"
#include "base/atomic.h"
#include "base/check.h"
#include "core/basis/stack_state.h"
#include "platform/platform.h"

#define SLOT_BITS 12u
#define SLAB_SLOTS_MAX (1u << SLOT_BITS)
#define SLABS_MAX (1u << (30 - SLOT_BITS))
#define NEXT_MASK 0x3fffffffu
#define NO_SLOT 0x3fffffffu
#define IN_USE 0x3ffffffeu
#define GUARD_SHIFT 30

#define SLAB_BYTES_FIRST TH_LIMIT((size_t)4 << 20, (size_t)64 << 10)
/* Less where addresses have 32 bits: a piece that large may not be found. */
#define SLAB_BYTES_MAX TH_LIMIT((size_t)(sizeof(void *) == 8 ? 64 : 4) << 20, (size_t)64 << 10)

static_assert(THRUM_GUARD_AUTO == 0 && THRUM_GUARD_CANARY == 3, "a guard fits into two bits");
static_assert(TH_STACK_SIZE_MIN << (TH_STACK_CLASSES - 1) == TH_STACK_SIZE_MAX, "classes");

struct th_stack_slab {
    char *base;        /* constant, like the next two */
    uint32_t count;    /* the number of slots */
    char *records;     /* the slots' records, TH_STACK_RECORD bytes each */
    uint32_t xwords[]; /* see above */
};

/*
 * Guards are installed for several stacks at once, and their tops are touched: for one of READY_OF
 * that are in use, READY_MAX at most. So a few fibers cost no page that they do not use.
 */
#define READY_MAX TH_LIMIT(TH_OS_GUARDS_MAX, 2u)
#define READY_OF TH_LIMIT(8u, 1u)

/* The mprotect guards of all schedulers: the kernel's limit is one for the process. */
static size_t xmprotect_count;

static int take_slot(th_stacks *stacks, unsigned class_index, uint32_t *slot, uint32_t **xword,
                     uint32_t *more);
static void make_ready(th_stacks *stacks, th_stack *stack, uint32_t more);
static int install_guard(th_stacks *stacks, th_stack *stack);
static void *shrink(th_stacks *stacks, const th_stack *stack, size_t keep);
static void give_slot(th_stack_class_books *books, uint32_t slot);
static void describe(const th_stack_slab *slab, unsigned class_index, uint32_t slot, th_stack *out);
static bool add_slab(th_stacks *stacks, unsigned class_index);

TH_NO_TSAN int th_stack_get(th_stacks *stacks, unsigned class_index, th_stack *out) {
    uint32_t slot;
    uint32_t *xword;
    uint32_t more; /* slots behind it that are to be made ready as well */
    th_debug(class_index < TH_STACK_CLASSES);
    th_stack_class_books *books = &stacks->classes[class_index];
    th_lock_acquire(&books->lock);
    int code = take_slot(stacks, class_index, &slot, &xword, &more);
    if (code == 0) {
        describe(books->slabs[slot >> SLOT_BITS], class_index, slot, out);
    }
    th_lock_release(&books->lock);
    if (code != 0) {
        return code;
    }

    /* relaxed: the word is the caller's now */
    out->guard = (uint8_t)(th_load_relaxed(xword) >> GUARD_SHIFT);
    if (more > 0) {
        make_ready(stacks, out, more);
    }
    if (out->guard == THRUM_GUARD_AUTO) {
        code = install_guard(stacks, out);
        if (code != 0) {
            give_slot(books, slot);
            return code;
        }
        /* relaxed: th_stacks_some may see either value */
        th_store_relaxed(xword, IN_USE | (uint32_t)out->guard << GUARD_SHIFT);
    }
    return 0;
}

TH_NO_TSAN void th_stack_put(th_stacks *stacks, th_stack stack) {
    size_t size = (size_t)(stack.top - stack.bottom);
    th_asan_unpoison(stack.bottom, size);
    /* It is refused only where memory is locked: then the pages stay, dirty, which does no harm. */
    if (TH_TSAN) {
        th_os_remap(stack.bottom, size); /* the sanitizer would take old accesses for races */
    } else if (th_stack_grows(&stack)) {
        shrink(stacks, &stack, 0);
    } else {
        th_os_discard(stack.bottom, size);
    }
    th_valgrind_zeroed(stack.bottom, size);
    if (stack.guard == THRUM_GUARD_CANARY) {
        th_os_discard(stack.bottom - th_os_guard_size(), th_os_guard_size());
    }
    give_slot(&stacks->classes[stack.class_index], stack.slot);
}

/* ---- sizes ---- */

TH_NO_TSAN unsigned th_stack_class(size_t size) {
    unsigned class_index = 0;
    while (class_index < TH_STACK_CLASSES - 1 && th_stack_class_size(class_index) < size) {
        class_index++;
    }
    return class_index;
}

TH_NO_TSAN size_t th_stack_class_size(unsigned class_index) {
    return TH_STACK_SIZE_MIN << class_index;
}

/*
 * The size with the guard, in whole pages: an odd number of them, so that the tops of many stacks
 * spread over all sets of the processor's address caches.
 */
TH_NO_TSAN static size_t slot_size(unsigned class_index) {
    size_t page = th_os_page_size();
    return ((th_stack_class_size(class_index) + page - 1) & ~(page - 1)) + th_os_guard_size();
}

TH_NO_TSAN static void describe(const th_stack_slab *slab, unsigned class_index, uint32_t slot,
                                th_stack *out) {
    size_t size = slot_size(class_index);
    char *low = slab->base + (slot & (SLAB_SLOTS_MAX - 1)) * size;
    *out = (th_stack){
        .bottom = low + th_os_guard_size(),
        .top = low + size,
        .record = slab->records + (size_t)(slot & (SLAB_SLOTS_MAX - 1)) * TH_STACK_RECORD,
        .slot = slot,
        .class_index = (uint8_t)class_index,
    };
}

/* ---- slots; under the class's lock ---- */

TH_NO_TSAN static uint32_t *word_of(const th_stack_class_books *books, uint32_t slot) {
    return &books->slabs[slot >> SLOT_BITS]->xwords[slot & (SLAB_SLOTS_MAX - 1)];
}

/* The number of never used slots to make ready with the one that was just taken. */
TH_NO_TSAN static uint32_t count_more(const th_stacks *stacks, const th_stack_class_books *books) {
    if (stacks->kind != THRUM_GUARD_AUTO && stacks->kind != THRUM_GUARD_MADVISE) {
        return 0;
    }
    uint32_t all = books->live / READY_OF;
    all = all < READY_MAX ? all : READY_MAX;
    return all < 2 ? 0 : all - 1 < books->slab_tail ? all - 1 : books->slab_tail;
}

/*
 * Takes the first free slot, else one never used, if need be of a new slab; with such a one go so
 * many `more` behind it, which nobody else finds until they are on the list of free slots.
 */
TH_NO_TSAN static int take_slot(th_stacks *stacks, unsigned class_index, uint32_t *slot,
                                uint32_t **xword, uint32_t *more) {
    th_stack_class_books *books = &stacks->classes[class_index];
    uint32_t guard = 0;
    *more = 0;
    if (books->free_first != NO_SLOT) {
        *slot = books->free_first;
        *xword = word_of(books, *slot);
        uint32_t word = th_load_relaxed(*xword); /* relaxed: the lock protects it */
        books->free_first = word & NEXT_MASK;
        guard = word & ~NEXT_MASK;
    } else {
        if (books->slab_tail == 0 && !add_slab(stacks, class_index)) {
            return -ENOMEM;
        }
        uint32_t last = books->slab_count - 1;
        *slot = last << SLOT_BITS | (books->slabs[last]->count - books->slab_tail);
        *xword = word_of(books, *slot);
        books->slab_tail--;
        *more = count_more(stacks, books);
        books->slab_tail -= *more;
    }
    th_store_relaxed(*xword, guard | IN_USE); /* relaxed: the lock protects it */
    books->live++;
    return 0;
}

TH_NO_TSAN static void give_slot(th_stack_class_books *books, uint32_t slot) {
    th_lock_acquire(&books->lock);
    uint32_t *xword = word_of(books, slot);
    uint32_t guard = th_load_relaxed(xword) & ~NEXT_MASK; /* relaxed: the lock protects it */
    th_store_relaxed(xword, guard | books->free_first);   /* relaxed: likewise */
    books->free_first = slot;
    books->live--;
    th_lock_release(&books->lock);
}

/* Makes room for one more slab in the table. */
TH_NO_TSAN static bool grow_table(th_stacks *stacks, th_stack_class_books *books) {
    if (books->slab_count < books->slab_room) {
        return true;
    }
    if (books->slab_room >= SLABS_MAX) {
        return false; /* GCOVR_EXCL_LINE: more stacks than the address space holds */
    }
    uint32_t room = books->slab_room == 0 ? 16 : books->slab_room * 2;
    th_stack_slab **slabs = stacks->alloc(stacks->ctx, room * sizeof *slabs);
    if (!slabs) {
        return false;
    }
    if (books->slab_count > 0) {
        memcpy(slabs, books->slabs, books->slab_count * sizeof *slabs);
    }
    if (books->slabs) {
        stacks->free(stacks->ctx, books->slabs);
    }
    books->slabs = slabs;
    books->slab_room = room;
    return true;
}

/* Whether stacks that are made now have no guard, where guards are the system's protections. */
TH_NO_TSAN static bool is_without_guards(const th_stacks *stacks) {
    return stacks->kind == THRUM_GUARD_CANARY ||
           (stacks->kind == THRUM_GUARD_AUTO &&
            /* relaxed: a count that publishes nothing */
            th_load_relaxed(&xmprotect_count) >= stacks->mprotect_max);
}

/* Maps as many slots as fit into the next size; halves their number until the system grants it. */
TH_NO_TSAN static bool add_slab(th_stacks *stacks, unsigned class_index) {
    th_stack_class_books *books = &stacks->classes[class_index];
    if (!grow_table(stacks, books)) {
        return false;
    }
    size_t size = slot_size(class_index);
    size_t count = books->next_bytes / size;
    if (count > SLAB_SLOTS_MAX) {
        count = SLAB_SLOTS_MAX;
    }
    /* The last slots of the last slab would have the numbers NO_SLOT and IN_USE. */
    if (count == SLAB_SLOTS_MAX && books->slab_count == SLABS_MAX - 1) {
        count = SLAB_SLOTS_MAX - 2;
    }
    if (count == 0) {
        count = 1;
    }
    size_t words = (count * sizeof(uint32_t) + 7) & ~(size_t)7;
    th_tsan_fresh_begin();
    th_stack_slab *slab =
        stacks->alloc(stacks->ctx, sizeof *slab + words + count * TH_STACK_RECORD);
    th_tsan_fresh_end();
    if (!slab) {
        return false;
    }
    slab->base = th_os_stacks_map(count * size);
    while (!slab->base && count > 1) {
        count /= 2;
        slab->base = th_os_stacks_map(count * size);
    }
    if (!slab->base) {
        stacks->free(stacks->ctx, slab);
        return false;
    }
    if (is_without_guards(stacks)) {
        /*
         * Each of its stacks will be committed as a whole: in one go they are one mapping below
         * wine, but stay apart if they are touched one by one. If that is refused, they are
         * committed one by one.
         */
        (void)th_os_stack_commit(slab->base, slab->base + count * size);
    }
    slab->count = (uint32_t)count;
    memset(slab->xwords, 0, count * sizeof(uint32_t));
    slab->records = (char *)slab->xwords + words;
    books->slabs[books->slab_count++] = slab;
    books->slab_tail = (uint32_t)count;
    if (books->next_bytes < SLAB_BYTES_MAX) {
        books->next_bytes *= 2;
    }
    return true;
}

/* ---- guards ---- */

TH_NO_TSAN static int install_mprotect(const th_stack *stack, size_t max) {
    char *low = stack->bottom - th_os_guard_size();
    /* relaxed: a count that publishes nothing */
    if (th_add_relaxed(&xmprotect_count, 1) < max &&
        th_os_stack_guard(low, stack->bottom, stack->top) == 0) {
        return 0;
    }
    th_sub_relaxed(&xmprotect_count, 1); /* relaxed: likewise */
    return -ENOMEM;
}

/* Installs a guard for a slot that is the caller's and has none yet; sets stack->guard. */
TH_NO_TSAN static int install_guard(th_stacks *stacks, th_stack *stack) {
    char *low = stack->bottom - th_os_guard_size();
    thrum_guard kind = stacks->kind;
    if (kind == THRUM_GUARD_AUTO || kind == THRUM_GUARD_MADVISE) {
        if (th_os_guard_madvise(low, th_os_guard_size()) == 0) {
            stack->guard = THRUM_GUARD_MADVISE;
            return 0;
        }
    }
    if (kind == THRUM_GUARD_AUTO || kind == THRUM_GUARD_MPROTECT) {
        size_t max = kind == THRUM_GUARD_AUTO ? stacks->mprotect_max : SIZE_MAX;
        if (install_mprotect(stack, max) == 0) {
            stack->guard = THRUM_GUARD_MPROTECT;
            return 0;
        }
    }
    if (kind == THRUM_GUARD_AUTO || kind == THRUM_GUARD_CANARY) {
        stack->guard = THRUM_GUARD_CANARY; /* nothing to write: fresh pages are zero */
        return th_os_stack_commit(low, stack->top);
    }
    return -ENOMEM;
}

/*
 * Installs the guards of a stack that was just got and of those behind it, which nobody has, and
 * puts those on the list of free slots. If that is refused none has a guard, and each gets one by
 * itself when it is got.
 */
TH_NO_TSAN static void make_ready(th_stacks *stacks, th_stack *stack, uint32_t more) {
    th_stack_class_books *books = &stacks->classes[stack->class_index];
    char *low = stack->bottom - th_os_guard_size();
    if (th_os_guards_madvise(low, th_os_guard_size(), slot_size(stack->class_index), more + 1) ==
        0) {
        stack->guard = THRUM_GUARD_MADVISE;
    }
    th_lock_acquire(&books->lock);
    uint32_t guard = (uint32_t)stack->guard << GUARD_SHIFT;
    /* relaxed: the lock protects it; th_stacks_some may see either value */
    th_store_relaxed(word_of(books, stack->slot), IN_USE | guard);
    for (uint32_t i = more; i > 0; i--) {
        /* relaxed: as above */
        th_store_relaxed(word_of(books, stack->slot + i), guard | books->free_first);
        books->free_first = stack->slot + i;
    }
    th_lock_release(&books->lock);
}

TH_NO_TSAN bool th_stack_find_guard(const th_stack *stack, uintptr_t address) {
    uintptr_t bottom = (uintptr_t)stack->bottom;
    return address < bottom && address >= bottom - th_os_guard_size();
}

TH_NO_TSAN size_t th_stacks_mprotect_count(void) {
    return th_load_relaxed(&xmprotect_count); /* relaxed: a figure for tests */
}

/* ---- pages ---- */

/* Pages given back cannot even be read: th_stacks_some visits stacks with the lock. */
TH_NO_TSAN static void *shrink(th_stacks *stacks, const th_stack *stack, size_t keep) {
    th_stack_class_books *books = &stacks->classes[stack->class_index];
    th_lock_acquire(&books->lock);
    void *limit = th_os_stack_trim(stack->bottom - th_os_guard_size(), stack->top, keep);
    th_lock_release(&books->lock);
    return limit;
}

TH_NO_TSAN void th_stacks_hold(th_stacks *stacks, unsigned class_index) {
    th_lock_acquire(&stacks->classes[class_index].lock);
}

TH_NO_TSAN void th_stacks_let_go(th_stacks *stacks, unsigned class_index) {
    th_lock_release(&stacks->classes[class_index].lock);
}

TH_NO_TSAN void *th_stack_trim(th_stacks *stacks, const th_stack *stack, size_t keep) {
    size_t size = (size_t)(stack->top - stack->bottom);
    if (keep >= size) {
        return NULL;
    }
    if (th_stack_grows(stack)) {
        return shrink(stacks, stack, keep);
    }
    size_t deep = (size - keep) & ~(th_os_page_size() - 1);
    if (deep > 0) {
        th_os_discard(stack->bottom, deep);
    }
    return NULL;
}

TH_NO_TSAN size_t th_stack_high_water(const th_stack *stack) {
    size_t size = (size_t)(stack->top - stack->bottom);
    return size - th_os_untouched(stack->bottom, size);
}

/* ---- the whole ---- */

TH_NO_TSAN void th_stacks_init(th_stacks *stacks, thrum_guard kind,
                               void *(*alloc)(void *ctx, size_t size),
                               void (*free)(void *ctx, void *ptr), void *ctx) {
    *stacks = (th_stacks){
        .kind = kind,
        .alloc = alloc,
        .free = free,
        .ctx = ctx,
        /* Half of the limit; and each guard costs two mappings more. */
        .mprotect_max = th_os_map_count_max() / 2 / 2,
    };
    for (unsigned i = 0; i < TH_STACK_CLASSES; i++) {
        th_lock_init(&stacks->classes[i].lock);
        stacks->classes[i].free_first = NO_SLOT;
        stacks->classes[i].next_bytes = SLAB_BYTES_FIRST;
    }
}

TH_NO_TSAN void th_stacks_destroy(th_stacks *stacks) {
    for (unsigned c = 0; c < TH_STACK_CLASSES; c++) {
        th_stack_class_books *books = &stacks->classes[c];
        for (uint32_t s = 0; s < books->slab_count; s++) {
            th_stack_slab *slab = books->slabs[s];
            size_t guards = 0;
            for (uint32_t i = 0; i < slab->count; i++) { /* relaxed: the last user */
                guards += th_load_relaxed(&slab->xwords[i]) >> GUARD_SHIFT == THRUM_GUARD_MPROTECT;
            }
            /*
             * Otherwise a later thread's stack would have leftovers of fibers' frames in its
             * shadow.
             */
            th_asan_unpoison(slab->base, slab->count * slot_size(c));
            th_os_unmap(slab->base, slab->count * slot_size(c));
            th_sub_relaxed(&xmprotect_count, guards); /* relaxed: a count */
            stacks->free(stacks->ctx, slab);
        }
        if (books->slabs) {
            stacks->free(stacks->ctx, books->slabs);
        }
        books->slabs = NULL;
        books->slab_count = 0;
    }
}

TH_NO_TSAN void th_stacks_count(th_stacks *stacks, uint64_t *live, uint64_t *bytes) {
    *live = 0;
    *bytes = 0;
    for (unsigned c = 0; c < TH_STACK_CLASSES; c++) {
        th_lock_acquire(&stacks->classes[c].lock);
        *live += stacks->classes[c].live;
        *bytes += stacks->classes[c].live * (uint64_t)th_stack_class_size(c);
        th_lock_release(&stacks->classes[c].lock);
    }
}

size_t th_stacks_live(th_stacks *stacks) {
    uint64_t live;
    uint64_t bytes;
    th_stacks_count(stacks, &live, &bytes);
    return (size_t)live;
}

/* With the class's lock: visits a slot, unless it has no guard yet. */
TH_NO_TSAN static bool visit_slot(const th_stack_slab *slab, unsigned class_index, uint32_t slot,
                                  bool (*visit)(void *ctx, const th_stack *stack, bool in_use),
                                  void *ctx) {
    /* relaxed: a slot whose guard is being installed may be seen or not */
    uint32_t word = th_load_relaxed(&slab->xwords[slot & (SLAB_SLOTS_MAX - 1)]);
    th_stack stack;
    if (word >> GUARD_SHIFT == THRUM_GUARD_AUTO) {
        return true;
    }
    describe(slab, class_index, slot, &stack);
    stack.guard = (uint8_t)(word >> GUARD_SHIFT);
    return visit(ctx, &stack, (word & NEXT_MASK) == IN_USE);
}

TH_NO_TSAN bool th_stacks_some(th_stacks *stacks, th_stack_cursor *at, unsigned max,
                               bool (*visit)(void *ctx, const th_stack *stack, bool in_use),
                               void *ctx) {
    bool more = true;
    for (; more && at->class_index < TH_STACK_CLASSES; at->class_index++, at->slab = 0) {
        th_stack_class_books *books = &stacks->classes[at->class_index];
        th_lock_acquire(&books->lock);
        while (more && at->slab < books->slab_count) {
            const th_stack_slab *slab = books->slabs[at->slab];
            uint32_t slot = at->slab << SLOT_BITS | at->slot;
            more = visit_slot(slab, at->class_index, slot, visit, ctx) && --max > 0;
            if (++at->slot >= slab->count) {
                at->slot = 0;
                at->slab++;
            }
        }
        th_lock_release(&books->lock);
        if (!more) {
            return true; /* the cursor stays in this class */
        }
    }
    return false;
}
