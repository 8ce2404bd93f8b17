/*
 * symbols.h: names of functions out of the file that a part of the program was loaded from.
 *
 * The loaded part of a file has the names that it exports. The names of its static functions, and
 * all names in a program that exports none, are only in the file's symbol table (.symtab), which is
 * read for each question and kept nowhere.
 *
 * A file is a stranger: since the program was loaded it may have been replaced, cut off, or put
 * there by somebody else. So it must prove that it is the file of the *module* in memory: it is an
 * ELF file of this processor with the same program headers, and has the module's build-id; a module
 * without one must have been mapped from this very file (/proc/self/exe is, by the kernel's word,
 * others by device and number as /proc/self/maps has them). Everything in it is only a claim,
 * checked against the file's size before it is used. It is read by pread, not mapped: a mapping of
 * a file that somebody cuts off meanwhile ends in SIGBUS. The amount that a question may read is
 * counted (`left`), so no table, however large, takes a report's time without end.
 *
 * To open the file does not touch the program: only regular files are opened (stat comes first),
 * without waiting, without taking a terminal; the descriptor is above 2, and is closed before the
 * answer. (It is closed: a program that locks its own file by fcntl loses that lock, as with every
 * close.) In a program that has more rights than the one that started it, no path of a library is
 * opened, which may mean another file by now than the loader's: only /proc/self/exe.
 */
#ifndef TH_LINUX_SYMBOLS_H
#define TH_LINUX_SYMBOLS_H

#include <link.h>

#include "platform/platform.h"

#define TH_MODULE_PATH 512u /* a longer one is not opened */
#define TH_PIECE_BYTES 16384u
#define TH_MODULE_ID 64u /* a build-id has 20 bytes as a rule */

/* A module in memory: the path of its file, and the data that must match it. */
typedef struct th_module {
    char path[TH_MODULE_PATH]; /* "": none that may be opened */
    bool is_program;           /* /proc/self/exe is tried before the path */
    unsigned parts;            /* the number of program headers */
    uint64_t parts_sum;        /* th_module_sum of them */
    uint64_t id_at;            /* the place of the build-id in the file */
    size_t id_size;            /* 0: the module has none */
    unsigned char id[TH_MODULE_ID];
    uintptr_t mapped; /* an address in memory that was mapped from the file */
} th_module;

/* The memory of th_os_symbols. */
typedef struct th_symbols {
    th_module module;                   /* as th_module_note has filled it in */
    uint64_t piece[TH_PIECE_BYTES / 8]; /* of a file */
} th_symbols;

static inline th_symbols *th_symbols_of(th_os_symbols *symbols) {
    return (th_symbols *)(void *)symbols->memory;
}

/* A sum over bytes, 0 to begin with. Two files that differ by accident have different ones. */
uint64_t th_module_sum(uint64_t sum, const void *bytes, size_t size);

/*
 * Fills in the record of the module around an address. While the loader keeps it where it is
 * (inside dl_iterate_phdr); takes nothing, and opens nothing.
 */
void th_module_note(th_module *module, const struct dl_phdr_info *info, uintptr_t address);

/* Whether the entry of a table of symbols is the function around an address of the file. */
bool th_symbol_is_around(const void *entry, uintptr_t address);

/*
 * Looks for the function around an address, which is the file's (place->offset), and fills in its
 * name and the offset from its beginning, or leaves the name empty. Leaves errno changed.
 */
void th_symbols_find(th_os_symbols *symbols, th_os_place *place);

#endif
