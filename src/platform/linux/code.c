/*
 * code.c: names of places in the program's code, the calls there, and the bounds of code.
 *
 * All that is in memory is read inside dl_iterate_phdr, which keeps the loader from unmapping what
 * it shows. Names that are not, are read out of the file (symbols.h) when that is over: no lock of
 * the loader's, and none that a fork takes, waits for a disk.
 * dladdr is not used: it takes the lock that dlopen holds while constructors run, and the fiber
 * that is reported may be waiting in such a constructor.
 *
 * dl_iterate_phdr holds a lock of the loader, which glibc neither takes before a fork nor
 * initialises again in the child. So it is called under walk_lock, which forks take.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "platform/call.h"
#include "platform/linux/symbols.h"
#include "platform/own_code.h"
#include "platform/platform.h"

/* ---- the modules ---- */

/* Its holder takes no other lock of the library, and no memory: it waits only for the loader. */
static pthread_mutex_t walk_lock = PTHREAD_MUTEX_INITIALIZER;

void th_os_code_lock(void) {
    pthread_mutex_lock(&walk_lock);
}

void th_os_code_unlock(void) {
    pthread_mutex_unlock(&walk_lock);
}

/* Calls fn(module, size, ctx) for each module until one returns not 0. Leaves errno alone. */
static void walk(int (*fn)(struct dl_phdr_info *, size_t, void *), void *ctx) {
    TH_KEEPS_ERRNO;
    th_os_code_lock();
    dl_iterate_phdr(fn, ctx);
    th_os_code_unlock();
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The program itself has an empty name there, or, linked statically with musl, this one. */
static const char *file_of(const struct dl_phdr_info *module) {
    const char *path = module->dlpi_name;
    if (!path || !path[0] || !strcmp(path, "/proc/self/exe")) {
        path = (const char *)getauxval(AT_EXECFN);
    }
    return path && path[0] ? last_part(path) : "program";
}

/* ---- symbols ---- */

typedef struct exports {
    const ElfW(Sym) * table;
    const char *names;
    size_t names_size;
    size_t count;
} exports;

/* Some processors' loaders, and the kernel's own module, leave the addresses as in the file. */
static const void *from_dynamic(const struct dl_phdr_info *module, ElfW(Addr) at) {
    return (const void *)(at < module->dlpi_addr ? at + module->dlpi_addr : at);
}

/* The symbol table's length is not stored: it ends where the hash table's chains end. */
static size_t gnu_hash_count(const uint32_t *hash) {
    uint32_t buckets_count = hash[0];
    uint32_t first = hash[1]; /* the symbols before it are in no chain, and not defined here */
    const uint32_t *buckets = hash + 4 + hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = buckets + buckets_count;
    uint32_t last = 0;
    for (uint32_t i = 0; i < buckets_count; i++) {
        last = buckets[i] > last ? buckets[i] : last;
    }
    if (last < first) {
        return 0;
    }
    while (!(chain[last - first] & 1)) {
        last++;
    }
    return last + 1;
}

static bool has_symbols(const struct dl_phdr_info *module, const ElfW(Dyn) * entry, exports *out) {
    const uint32_t *hash = NULL;
    const uint32_t *gnu_hash = NULL;
    *out = (exports){0};
    for (; entry->d_tag != DT_NULL; entry++) {
        const void *at = from_dynamic(module, entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_SYMTAB:
            out->table = at;
            break;
        case DT_STRTAB:
            out->names = at;
            break;
        case DT_STRSZ:
            out->names_size = entry->d_un.d_val;
            break;
        case DT_HASH:
            hash = at;
            break;
        case DT_GNU_HASH:
            gnu_hash = at;
            break;
        default:
            break;
        }
    }
    out->count = gnu_hash ? gnu_hash_count(gnu_hash) : hash ? hash[1] : 0;
    return out->table && out->names && out->count;
}

/* Finds the exported function around the place: only those are in memory. */
static void find_symbol(const struct dl_phdr_info *module, th_os_place *out) {
    exports all;
    for (int i = 0; i < module->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &module->dlpi_phdr[i];
        if (part->p_type != PT_DYNAMIC ||
            !has_symbols(module, (const void *)(module->dlpi_addr + part->p_vaddr), &all)) {
            continue;
        }
        for (size_t s = 0; s < all.count; s++) {
            const ElfW(Sym) *symbol = &all.table[s];
            if (th_symbol_is_around(symbol, out->offset) && symbol->st_name < all.names_size) {
                snprintf(out->symbol, sizeof out->symbol, "%s", all.names + symbol->st_name);
                out->past = out->offset - symbol->st_value;
                return;
            }
        }
    }
}

/* ---- places ---- */

/* The module's mapped part around an address that has the wanted flags, or NULL. */
static const ElfW(Phdr) *
    part_around(const struct dl_phdr_info *module, uintptr_t address, ElfW(Word) flags) {
    for (int i = 0; i < module->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &module->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & flags) == flags &&
            address - module->dlpi_addr - part->p_vaddr < part->p_memsz) {
            return part;
        }
    }
    return NULL;
}

typedef struct question {
    uintptr_t address;
    th_os_place *place;
    th_os_symbols *symbols; /* NULL: no file is read */
    bool found;
} question;

static void describe(question *q, const struct dl_phdr_info *module, uintptr_t address) {
    th_os_place *out = q->place;
    snprintf(out->file, sizeof out->file, "%s", file_of(module));
    out->offset = address - module->dlpi_addr;
    out->at = address;
    find_symbol(module, out);
    if (q->symbols) {
        th_module_note(&th_symbols_of(q->symbols)->module, module, address);
    }
    q->found = true;
}

/* Asks the modules, then the file of the one that has the place. Leaves errno alone. */
static void ask(question *q, int (*fn)(struct dl_phdr_info *, size_t, void *)) {
    *q->place = (th_os_place){.file = ""};
    walk(fn, q);
    if (q->found && q->symbols && !q->place->symbol[0]) {
        TH_KEEPS_ERRNO;
        th_symbols_find(q->symbols, q->place);
    }
}

static int is_here(struct dl_phdr_info *module, size_t size, void *ctx) {
    question *q = ctx;
    (void)size;
    if (!part_around(module, q->address, 0)) {
        return 0;
    }
    describe(q, module, q->address);
    return 1;
}

void th_os_code_name(uintptr_t address, char *text, size_t size, th_os_symbols *symbols) {
    th_os_place place;
    question q = {address, &place, symbols, false};
    TH_KEEPS_ERRNO;
    ask(&q, is_here);
    if (place.symbol[0]) {
        snprintf(text, size, place.past ? "%s+0x%" PRIxPTR : "%s", place.symbol, place.past);
    } else if (q.found) {
        snprintf(text, size, "%s+0x%" PRIxPTR, place.file, place.offset);
    } else {
        snprintf(text, size, "0x%" PRIxPTR, address);
    }
}

bool th_os_code_place(uintptr_t address, th_os_place *place, th_os_symbols *symbols) {
    question q = {address, place, symbols, false};
    ask(&q, is_here);
    return q.found;
}

/* ---- calls ---- */

#ifdef TH_CALL_BEFORE

#define IS_CODE (PF_R | PF_X) /* code that may only be executed cannot be read */

/* The byte before the address must lie in the module: a call may be the last instruction there. */
static int call_is_here(struct dl_phdr_info *module, size_t size, void *ctx) {
    question *q = ctx;
    const ElfW(Phdr) *part = part_around(module, q->address - 1, IS_CODE);
    (void)size;
    if (!part) {
        return 0;
    }
    th_code_call call;
    uintptr_t room = q->address - module->dlpi_addr - part->p_vaddr;
    if (!TH_CALL_BEFORE((const uint8_t *)q->address, room, &call)) {
        return 1;
    }
    unsigned length = call.length;
    uintptr_t leads = call.direct ? q->address + (uintptr_t)call.to : 0;
    if (call.direct && !part_around(module, leads, IS_CODE)) {
        length = call.other;
        leads = 0;
    }
    if (length) {
        describe(q, module, q->address - length);
        q->place->leads = leads;
    }
    return 1;
}

bool th_os_code_call(uintptr_t after, th_os_place *place, th_os_symbols *symbols) {
    question q = {after, place, symbols, false};
    ask(&q, call_is_here);
    return q.found;
}

/* ---- where code lies ---- */

static int collect_module(struct dl_phdr_info *module, size_t size, void *ctx) {
    (void)size;
    for (int i = 0; i < module->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &module->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & IS_CODE) == IS_CODE) {
            uintptr_t low = module->dlpi_addr + part->p_vaddr;
            th_own_collect(ctx, low, low + part->p_memsz);
        }
    }
    return 0;
}

unsigned th_os_code_spans(th_os_span spans[], unsigned max) {
    th_own_collection c = th_own_collect_begin(spans, max);
    walk(collect_module, &c);
    return c.count;
}

#else

bool th_os_code_call(uintptr_t after, th_os_place *place, th_os_symbols *symbols) {
    (void)after;
    (void)place;
    (void)symbols;
    return false;
}

unsigned th_os_code_spans(th_os_span spans[], unsigned max) {
    (void)spans;
    (void)max;
    return 0;
}

#endif

/* ---- all modules ---- */

typedef struct listing {
    th_os_module *modules;
    unsigned count;
    unsigned max;
} listing;

static int list_module(struct dl_phdr_info *module, size_t size, void *ctx) {
    listing *all = ctx;
    th_os_module *out = &all->modules[all->count];
    (void)size;
    if (all->count == all->max) {
        return 1;
    }
    *out = (th_os_module){.low = UINTPTR_MAX, .base = module->dlpi_addr};
    for (unsigned i = 0; i < module->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &module->dlpi_phdr[i];
        const uintptr_t low = module->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD) {
            out->low = low < out->low ? low : out->low;
            out->high = low + part->p_memsz > out->high ? low + part->p_memsz : out->high;
        }
    }
    strncpy(out->file, file_of(module), sizeof out->file - 1);
    all->count++;
    return 0;
}

unsigned th_os_modules(th_os_module modules[], unsigned max) {
    listing all = {.modules = modules, .max = max};
    walk(list_module, &all);
    return all.count;
}
