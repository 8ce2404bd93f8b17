/*
 * symbols.c: see symbols.h.
 */
#define _GNU_SOURCE
#include "platform/linux/symbols.h"

#include <assert.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "platform/unix/above.h"
#include "platform/unix/interrupted.h"

#define OWN_FILE "/proc/self/exe"

#define IS_64 (sizeof(ElfW(Addr)) == 8)

/* The machine that the file must be made for; 0: its program headers alone decide. */
#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#elif defined(__riscv)
#define MACHINE EM_RISCV
#elif defined(__powerpc64__)
#define MACHINE EM_PPC64
#elif defined(__s390x__)
#define MACHINE EM_S390
#else
#define MACHINE 0
#endif

static_assert(sizeof(th_symbols) <= sizeof((th_os_symbols){0}.memory),
              "th_os_symbols is too small");

/* ---- the module in memory ---- */

uint64_t th_module_sum(uint64_t sum, const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++) {
        sum = (sum ^ at[i]) * 0x100000001b3u + 0x9e37u;
    }
    return sum;
}

/* Whether these bytes of the module are in memory, and may be read. */
static bool is_mapped(const struct dl_phdr_info *info, uint64_t at, uint64_t size) {
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_R) && at >= part->p_vaddr &&
            at - part->p_vaddr <= part->p_filesz && size <= part->p_filesz - (at - part->p_vaddr)) {
            return true;
        }
    }
    return false;
}

/* Takes the build-id if it is in this part, which has notes. */
static void note_id(th_module *module, const unsigned char *notes, const ElfW(Phdr) * part) {
    const uint64_t align = part->p_align == 8 ? 8 : 4;
    uint64_t at = 0;
    ElfW(Nhdr) head;
    while (part->p_filesz - at >= sizeof head) {
        memcpy(&head, notes + at, sizeof head);
        uint64_t id = (at + sizeof head + head.n_namesz + align - 1) & ~(align - 1);
        uint64_t end = (id + head.n_descsz + align - 1) & ~(align - 1);
        if (id > part->p_filesz || head.n_descsz > part->p_filesz - id) {
            return;
        }
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && head.n_descsz > 0 &&
            head.n_descsz <= TH_MODULE_ID && !memcmp(notes + at + sizeof head, "GNU", 4)) {
            module->id_at = part->p_offset + id;
            module->id_size = head.n_descsz;
            memcpy(module->id, notes + id, head.n_descsz);
            return;
        }
        at = end < part->p_filesz ? end : part->p_filesz;
    }
}

/* The loader's path of the file: one with a slash, else it was made by no path (the kernel's). */
static void note_path(th_module *module, const struct dl_phdr_info *info) {
    const char *path = info->dlpi_name;
    module->path[0] = '\0';
    if (module->is_program && (!path || !strchr(path, '/') || !strcmp(path, OWN_FILE))) {
        path = (const char *)getauxval(AT_EXECFN);
    }
    if (path && strchr(path, '/') && strlen(path) < TH_MODULE_PATH && !getauxval(AT_SECURE)) {
        memcpy(module->path, path, strlen(path) + 1);
    }
}

void th_module_note(th_module *module, const struct dl_phdr_info *info, uintptr_t address) {
    const size_t size = info->dlpi_phnum * sizeof info->dlpi_phdr[0];
    module->is_program = info->dlpi_phdr == (const void *)getauxval(AT_PHDR);
    module->parts = info->dlpi_phnum;
    module->parts_sum = th_module_sum(0, info->dlpi_phdr, size);
    module->id_size = 0;
    module->mapped = address;
    note_path(module, info);
    for (int i = 0; i < info->dlpi_phnum && !module->id_size; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_NOTE && is_mapped(info, part->p_vaddr, part->p_filesz)) {
            note_id(module, (const void *)(info->dlpi_addr + part->p_vaddr), part);
        }
    }
}

/* ---- its file ---- */

typedef struct file {
    th_os_symbols *symbols; /* whose bytes are counted */
    int fd;
    uint64_t size;
    dev_t device;
    ino_t number;
    ElfW(Ehdr) head;
} file;

static bool open_regular(const char *path, struct stat *out) {
    return stat(path, out) == 0 && S_ISREG(out->st_mode);
}

/* Opens the file unless it is a pipe, a device or the like: its descriptor, or a code. */
static int open_file(const char *path, struct stat *out) {
    if (!open_regular(path, out)) {
        return -ENOENT;
    }
    int fd = above_standard(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    /* Another file may be there by now. */
    if (fd >= 0 && (fstat(fd, out) != 0 || !S_ISREG(out->st_mode))) {
        (void)close(fd);
        return -ENOENT;
    }
    return fd;
}

/* Whether all of these bytes were read. */
static bool read_at(file *f, uint64_t offset, void *to, size_t size) {
    size_t got = 0;
    if (offset > f->size || size > f->size - offset) {
        return false;
    }
    if (size > f->symbols->left) {
        f->symbols->left = 0; /* no file is opened any longer */
        return false;
    }
    f->symbols->left -= size;
    while (got < size) {
        int64_t n = RETRY(pread(f->fd, (char *)to + got, size - got, (off_t)(offset + got)));
        if (n <= 0) {
            return false; /* it was cut off meanwhile */
        }
        got += (size_t)n;
    }
    return true;
}

/* Whether a table of so many entries of this size lies in the file. */
static bool fits(const file *f, uint64_t offset, uint64_t count, size_t size) {
    return offset <= f->size && count <= (f->size - offset) / size;
}

/* ---- that it is the one ---- */

/* Whether the line of /proc/self/maps is of this address and this file. */
static bool is_mapping_of(const char *line, uintptr_t address, const file *f) {
    char *at;
    unsigned major_number;
    unsigned minor_number;
    unsigned long long number;
    uintptr_t low = strtoul(line, &at, 16);
    uintptr_t high = *at == '-' ? strtoul(at + 1, &at, 16) : 0;
    return address >= low && address < high &&
           sscanf(at, " %*s %*x %x:%x %llu", &major_number, &minor_number, &number) == 3 &&
           makedev(major_number, minor_number) == f->device && number == f->number;
}

/* Whether the address was mapped from this file, as far as the system reports it. */
static bool is_mapped_from(file *f, uintptr_t address) {
    th_symbols *s = th_symbols_of(f->symbols);
    char *text = (char *)s->piece;
    size_t kept = 0;
    bool found = false;
    int fd = above_standard(open("/proc/self/maps", O_RDONLY | O_CLOEXEC | O_NOCTTY));
    while (fd >= 0 && !found && f->symbols->left >= TH_PIECE_BYTES) {
        int64_t n = RETRY(read(fd, text + kept, TH_PIECE_BYTES - kept));
        if (n <= 0) {
            break;
        }
        f->symbols->left -= (uint64_t)n;
        char *line = text;
        char *end = text + kept + n;
        for (char *stop; !found && (stop = memchr(line, '\n', (size_t)(end - line)));
             line = stop + 1) {
            *stop = '\0';
            found = is_mapping_of(line, address, f);
        }
        kept = (size_t)(end - line);
        kept = kept < TH_PIECE_BYTES ? kept : 0; /* no line is as long */
        memmove(text, end - kept, kept);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return found;
}

static bool is_native(const ElfW(Ehdr) * head) {
    const unsigned char order =
        __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    return !memcmp(head->e_ident, ELFMAG, SELFMAG) &&
           head->e_ident[EI_CLASS] == (IS_64 ? ELFCLASS64 : ELFCLASS32) &&
           head->e_ident[EI_DATA] == order && head->e_ident[EI_VERSION] == EV_CURRENT &&
           (head->e_type == ET_EXEC || head->e_type == ET_DYN) &&
           (!MACHINE || head->e_machine == MACHINE) && head->e_phentsize == sizeof(ElfW(Phdr)) &&
           head->e_shentsize == sizeof(ElfW(Shdr));
}

/* Whether the file is the module's; `vouched`: the system guarantees it. */
static bool is_of_module(file *f, bool vouched) {
    th_symbols *s = th_symbols_of(f->symbols);
    const th_module *m = &s->module;
    const size_t size = m->parts * sizeof(ElfW(Phdr));
    unsigned char id[TH_MODULE_ID];
    if (!read_at(f, 0, &f->head, sizeof f->head) || !is_native(&f->head) ||
        f->head.e_phnum != m->parts || size > TH_PIECE_BYTES ||
        !read_at(f, f->head.e_phoff, s->piece, size) ||
        th_module_sum(0, s->piece, size) != m->parts_sum) {
        return false;
    }
    if (m->id_size) {
        return read_at(f, m->id_at, id, m->id_size) && !memcmp(id, m->id, m->id_size);
    }
    return vouched || is_mapped_from(f, m->mapped);
}

/* ---- its symbols ---- */

/*
 * Reads a table of the file piece by piece, until an entry fits the question: that one is in *out.
 * False: none does, or it cannot be read.
 */
static bool find_entry(file *f, uint64_t offset, uint64_t count, size_t size,
                       bool (*fits_to)(const void *entry, uintptr_t wanted), uintptr_t wanted,
                       void *out) {
    char *entries = (char *)th_symbols_of(f->symbols)->piece;
    const size_t most = TH_PIECE_BYTES / size;
    for (uint64_t i = 0; i < count; i += most) {
        const size_t n = count - i < most ? (size_t)(count - i) : most;
        if (!read_at(f, offset + i * size, entries, n * size)) {
            return false;
        }
        for (size_t j = 0; j < n; j++) {
            if (fits_to(entries + j * size, wanted)) {
                memcpy(out, entries + j * size, size);
                return true;
            }
        }
    }
    return false;
}

static bool is_of_type(const void *entry, uintptr_t type) {
    return ((const ElfW(Shdr) *)entry)->sh_type == type;
}

static bool find_section(file *f, ElfW(Word) type, ElfW(Shdr) * out) {
    return find_entry(f, f->head.e_shoff, f->head.e_shnum, sizeof *out, is_of_type, type, out);
}

bool th_symbol_is_around(const void *entry, uintptr_t address) {
    const ElfW(Sym) *symbol = entry;
    return (symbol->st_info & 15) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
           address - symbol->st_value < symbol->st_size && address >= symbol->st_value;
}

static bool find_symbol(file *f, const ElfW(Shdr) * table, uintptr_t address, ElfW(Sym) * out) {
    const uint64_t count = table->sh_size / sizeof *out;
    return table->sh_entsize == sizeof *out && fits(f, table->sh_offset, count, sizeof *out) &&
           find_entry(f, table->sh_offset, count, sizeof *out, th_symbol_is_around, address, out);
}

/* A name may hold anything; a name that no compiler makes is ignored. */
static bool is_name(const char *name) {
    const unsigned char *at = (const unsigned char *)name;
    while (*at > ' ' && *at != 0x7f) {
        at++;
    }
    return name[0] && !*at;
}

/* Reads the name, as much as there is room for; it must end before its table does. */
static void read_name(file *f, const ElfW(Shdr) * strings, uint64_t at, th_os_place *place) {
    const size_t room = sizeof place->symbol - 1;
    bool known = false;
    if (fits(f, strings->sh_offset, strings->sh_size, 1) && at < strings->sh_size) {
        const uint64_t rest = strings->sh_size - at;
        const size_t size = rest < room ? (size_t)rest : room;
        known = read_at(f, strings->sh_offset + at, place->symbol, size);
        place->symbol[size] = '\0';
        known = known && is_name(place->symbol) && (size == room || strlen(place->symbol) < size);
    }
    if (!known) {
        place->symbol[0] = '\0';
    }
}

static void find_in(file *f, th_os_place *place) {
    ElfW(Shdr) table;
    ElfW(Shdr) strings;
    ElfW(Sym) symbol;
    if (!find_section(f, SHT_SYMTAB, &table) || table.sh_link >= f->head.e_shnum ||
        !read_at(f, f->head.e_shoff + table.sh_link * sizeof strings, &strings, sizeof strings) ||
        strings.sh_type != SHT_STRTAB || !find_symbol(f, &table, place->offset, &symbol)) {
        return;
    }
    read_name(f, &strings, symbol.st_name, place);
    place->past = place->offset - symbol.st_value;
}

/* Whether this is the module's file. It may lack the function. */
static bool try_file(th_os_symbols *symbols, const char *path, bool vouched, th_os_place *place) {
    struct stat what;
    file f = {.symbols = symbols, .fd = open_file(path, &what)};
    if (f.fd < 0) {
        return false;
    }
    f.size = (uint64_t)what.st_size;
    f.device = what.st_dev;
    f.number = what.st_ino;
    bool is_it = is_of_module(&f, vouched);
    if (is_it) {
        find_in(&f, place);
    }
    (void)close(f.fd);
    return is_it;
}

void th_symbols_find(th_os_symbols *symbols, th_os_place *place) {
    const th_module *module = &th_symbols_of(symbols)->module;
    if (symbols->left > 0 && !(module->is_program && try_file(symbols, OWN_FILE, true, place)) &&
        module->path[0]) {
        (void)try_file(symbols, module->path, false, place);
    }
}
