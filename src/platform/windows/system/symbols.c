/*
 * symbols.c: see symbols.h.
 */
#include "platform/windows/system/symbols.h"

#include <string.h>

#include "platform/windows/system/nt.h"

#define PATH_WORDS 1024
#define SYMBOLS_PIECE (sizeof(((th_os_symbols *)0)->memory) / (sizeof(IMAGE_SYMBOL)))

/* A file that is being read, and the target of the search. */
typedef struct search {
    HANDLE file;
    th_os_symbols *symbols;
    const IMAGE_FILE_HEADER *header;
    uintptr_t base;
    uintptr_t wanted; /* the offset of the address in the module */
    uintptr_t best;   /* the offset of the last function at or before it */
    IMAGE_SYMBOL found;
    bool has;
} search;

/* Reads exactly this; false: it is not there, or the question has reached its limit. */
static bool read_at(search *s, uint64_t at, void *to, size_t size) {
    OVERLAPPED where = {.Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32)};
    DWORD n;
    if (s->symbols->left < size) {
        return false;
    }
    s->symbols->left -= size;
    return ReadFile(s->file, to, (DWORD)size, &n, &where) && n == size;
}

static bool is_the_file(search *s, const IMAGE_NT_HEADERS64 *headers) {
    IMAGE_NT_HEADERS64 there;
    uint64_t at = (uintptr_t)headers - s->base;
    return read_at(s, at, &there, sizeof there) && there.Signature == headers->Signature &&
           there.FileHeader.TimeDateStamp == headers->FileHeader.TimeDateStamp &&
           there.FileHeader.NumberOfSymbols == headers->FileHeader.NumberOfSymbols &&
           there.OptionalHeader.SizeOfImage == headers->OptionalHeader.SizeOfImage &&
           there.OptionalHeader.CheckSum == headers->OptionalHeader.CheckSum;
}

/* Keeps the symbol if it is a function that begins nearer before the address. */
static void consider(search *s, const IMAGE_SYMBOL *symbol, const IMAGE_SECTION_HEADER *sections) {
    if (!ISFCN(symbol->Type) || symbol->SectionNumber <= 0 ||
        symbol->SectionNumber > s->header->NumberOfSections) {
        return;
    }
    uintptr_t at = sections[symbol->SectionNumber - 1].VirtualAddress + (uintptr_t)symbol->Value;
    if (at <= s->wanted && (!s->has || at > s->best)) {
        s->best = at;
        s->found = *symbol;
        s->has = true;
    }
}

/* Goes through the table; false: it could not be read to its end. */
static bool go_through(search *s, const IMAGE_SECTION_HEADER *sections) {
    IMAGE_SYMBOL *piece = (IMAGE_SYMBOL *)(void *)s->symbols->memory;
    DWORD skip = 0; /* entries that belong to the symbol before them */
    for (DWORD i = 0; i < s->header->NumberOfSymbols;) {
        DWORD count = s->header->NumberOfSymbols - i;
        count = count < SYMBOLS_PIECE ? count : (DWORD)SYMBOLS_PIECE;
        uint64_t at = s->header->PointerToSymbolTable + (uint64_t)i * sizeof *piece;
        if (!read_at(s, at, piece, count * sizeof *piece)) {
            return false;
        }
        for (DWORD j = 0; j < count; j++) {
            if (skip) {
                skip--;
            } else {
                consider(s, &piece[j], sections);
                skip = piece[j].NumberOfAuxSymbols;
            }
        }
        i += count;
    }
    return true;
}

/* A name of more than eight bytes is behind the table. */
static void take_name(search *s, th_os_place *place) {
    size_t size = sizeof place->symbol - 1;
    if (s->found.N.Name.Short) {
        size = sizeof s->found.N.ShortName;
        memcpy(place->symbol, s->found.N.ShortName, size);
    } else {
        uint64_t at = s->header->PointerToSymbolTable +
                      (uint64_t)s->header->NumberOfSymbols * sizeof(IMAGE_SYMBOL) +
                      s->found.N.Name.Long;
        while (size > 0 && !read_at(s, at, place->symbol, size)) {
            size /= 2; /* the name may be the last one in the file */
        }
    }
    place->symbol[size] = '\0';
    if (place->symbol[0]) {
        place->past = s->wanted - s->best;
    }
}

static HANDLE open_module(uintptr_t base) {
    wchar_t path[PATH_WORDS];
    DWORD length = GetModuleFileNameW((HMODULE)base, path, PATH_WORDS);
    if (length == 0 || length == PATH_WORDS) {
        return INVALID_HANDLE_VALUE;
    }
    return CreateFileW(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                       NULL, OPEN_EXISTING, 0, NULL);
}

void th_nt_symbols_find(th_os_symbols *symbols, uintptr_t base, th_os_place *place) {
    const IMAGE_DOS_HEADER *dos = (const IMAGE_DOS_HEADER *)base;
    const IMAGE_NT_HEADERS64 *headers =
        (const IMAGE_NT_HEADERS64 *)(base + (uintptr_t)dos->e_lfanew);
    search s = {
        .symbols = symbols,
        .header = &headers->FileHeader,
        .base = base,
        .wanted = place->offset,
    };
    if (s.header->PointerToSymbolTable == 0) {
        return;
    }
    s.file = open_module(base);
    if (s.file == INVALID_HANDLE_VALUE) {
        return;
    }
    if (is_the_file(&s, headers) && go_through(&s, IMAGE_FIRST_SECTION(headers)) && s.has) {
        take_name(&s, place);
    }
    CloseHandle(s.file);
}
