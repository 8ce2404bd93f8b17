/*
 * leaks.c: the program's memory that is left at the end of a run, and that nothing points to. A
 * block is reached if any word of static data, of the heap outside of runs, of the thread's own
 * stack or of a block that is reached has an address within it. Only a run with blocks left takes
 * this time.
 */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "kit.h"

typedef struct found {
    arena_block block;
    bool reached;
    bool inner; /* a block that is not reached points to it */
} found;

static struct {
    found *all; /* by their addresses; not in the heap, whose words are searched */
    size_t count;
    size_t *todo; /* blocks whose words are still to be searched */
    size_t todo_count;
    size_t reached;
} left;

#define THREAD_BYTES 2048u /* of the C library's own thread object, at least */

static found *block_at(uintptr_t at) {
    size_t low = 0, high = left.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if ((uintptr_t)left.all[middle].block.at <= at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    found *f = low ? &left.all[low - 1] : NULL;
    return f && at <= (uintptr_t)f->block.end ? f : NULL;
}

static void search(const void *from, const void *to, bool inner) {
    const uintptr_t first = (uintptr_t)left.all[0].block.at;
    const uintptr_t last = (uintptr_t)left.all[left.count - 1].block.end;
    const uintptr_t begin = ((uintptr_t)from + 7) & ~(uintptr_t)7;
    for (uintptr_t at = begin; at + 8 <= (uintptr_t)to; at += 8) {
        const uintptr_t word = *(const volatile uintptr_t *)at;
        found *f = word - first <= last - first ? block_at(word) : NULL;
        if (f && !(inner ? f->inner : f->reached)) {
            f->reached = f->reached || !inner;
            f->inner = f->inner || inner;
            left.reached += !inner;
            left.todo[left.todo_count++] = (size_t)(f - left.all);
        }
    }
}

static void search_all(const void *from, const void *to, bool inner) {
    search(from, to, inner);
    while (left.todo_count) {
        const arena_block *b = &left.all[left.todo[--left.todo_count]].block;
        search(b->at, b->end, inner);
    }
}

/* The data of shared objects, and their thread-locals. */
static int search_object(struct dl_phdr_info *info, size_t size, void *arg) {
    bool *is_program = arg; /* the first; its data has been searched */
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const char *at = (const char *)info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && part->p_flags & PF_W && !*is_program) {
            search_all(at, at + part->p_memsz, false);
        } else if (part->p_type == PT_TLS && info->dlpi_tls_data) {
            at = info->dlpi_tls_data;
            search_all(at, at + part->p_memsz, false);
        }
    }
    *is_program = false;
    return 0;
}

static bool all_reached(void) {
    return left.reached == left.count;
}

static void search_roots(void) {
    bool is_program = true;
    const char *from, *to;
    search_all(E->data, E->data + E->data_size, false);
    if (!all_reached()) {
        search_all(E->locals, E->locals + E->locals_size, false);
        search_all(E->stack_begin, E->stack_end, false);
        search_all((char *)pthread_self(), (char *)pthread_self() + THREAD_BYTES, false);
        dl_iterate_phdr(search_object, &is_program);
    }
    if (!all_reached()) {
        kit_outside_range(&from, &to);
        search_all(from, to, false);
    }
}

static bool collect(void) {
    const struct block *b = NULL;
    arena_block block;
    left.count = left.reached = 0;
    while ((b = arena_next_user(b, &block))) {
        left.count++;
    }
    const size_t bytes = left.count * (sizeof *left.all + sizeof *left.todo);
    if (bytes > E->leaks_bytes) {
        if (E->leaks_bytes) {
            munmap(E->leaks, E->leaks_bytes);
        }
        E->leaks_bytes = 0;
        E->leaks =
            mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (E->leaks == MAP_FAILED) {
            return false;
        }
        E->leaks_bytes = 2 * bytes;
    }
    left.all = E->leaks;
    left.todo = (size_t *)(void *)(left.all + left.count);
    b = NULL;
    for (size_t i = left.count; i > 0 && (b = arena_next_user(b, &block)); i--) {
        left.all[i - 1] = (found){.block = block};
    }
    return left.count > 0;
}

void kit_find_leaks(void) {
    arena_block block;
    if (!arena_next_user(NULL, &block) || !collect()) {
        return;
    }
    search_roots();
    if (!all_reached() && kit_is_alone()) { /* real threads may have pointers, too */
        size_t bytes = 0;
        for (size_t i = 0; i < left.count; i++) {
            bytes += left.all[i].reached ? 0 : left.all[i].block.size;
        }
        const size_t blocks = left.count - left.reached;
        E->failed = true;
        snprintf(E->fault, sizeof E->fault, "leak");
        snprintf(E->message, sizeof E->message, "%zu block%s of the test, %zu byte%s, %s not freed",
                 blocks, blocks == 1 ? "" : "s", bytes, bytes == 1 ? "" : "s",
                 blocks == 1 ? "was" : "were");
    }
}

/* ---- the report ---- */

static bool is_printed(const found *f) {
    return !f->reached && !f->inner;
}

void kit_print_leaks(FILE *out) {
    size_t inner = 0;
    for (size_t i = 0; i < left.count; i++) { /* the first one of a cycle remains */
        const arena_block *b = &left.all[i].block;
        if (is_printed(&left.all[i])) {
            search_all(b->at, b->end, true);
            left.all[i].inner = false;
        }
    }
    fprintf(out, "\n  Not freed:\n");
    for (size_t i = 0, lines = 0; i < left.count && lines < 10; i++) {
        const arena_block *b = &left.all[i].block;
        size_t blocks = 0, bytes = 0;
        for (size_t k = 0; is_printed(&left.all[i]) && k < left.count; k++) {
            const bool same = is_printed(&left.all[k]) && left.all[k].block.after == b->after;
            if (same && k < i) {
                blocks = 0;
                break;
            }
            blocks += same;
            bytes += same ? left.all[k].block.size : 0;
        }
        if (blocks) {
            const uintptr_t address = b->after - 1;
            kit_place its = {"", "", false};
            kit_find_places(&its, &address, 1);
            fprintf(out, "    %zu block%s, %zu bytes, allocated by %s at %s\n", blocks,
                    blocks == 1 ? "" : "s", bytes, b->what, kit_place_text(&its));
            lines++;
        }
    }
    for (size_t i = 0; i < left.count; i++) {
        inner += !left.all[i].reached && left.all[i].inner;
    }
    if (inner) {
        fprintf(out, "    and %zu block%s to which only these point\n", inner,
                inner == 1 ? "" : "s");
    }
}
