/*
 * code.c: names of places in the program's code, the calls there, and the bounds of code, by the
 * headers of the loaded modules.
 *
 * The unwind tables, which every function with a frame has here, have the bounds of code and of its
 * functions. Names come from a module's exports, which are in memory, and from its file's symbol
 * table (symbols.h).
 */
#include "platform/platform.h"
#include "platform/windows/system/nt.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <tlhelp32.h>

#include "platform/call.h"
#include "platform/own_code.h"
#include "platform/windows/system/symbols.h"

void th_os_code_lock(void) {
    /* no process forks here */
}

void th_os_code_unlock(void) {
}

/* ---- modules ---- */

typedef struct module {
    uintptr_t base;
    const IMAGE_NT_HEADERS64 *headers;
    char file[64];
} module;

/* The module at its base, without its name. */
static bool read_headers(uintptr_t base, module *out) {
    const IMAGE_DOS_HEADER *dos = (const IMAGE_DOS_HEADER *)base;
    if (dos->e_magic != IMAGE_DOS_SIGNATURE) {
        return false;
    }
    out->base = base;
    out->headers = (const IMAGE_NT_HEADERS64 *)(base + (uintptr_t)dos->e_lfanew);
    out->file[0] = '\0';
    return out->headers->Signature == IMAGE_NT_SIGNATURE;
}

/* The last part of the path, in UTF-8, cut. */
static void name_module(module *m) {
    wchar_t path[512];
    char name[512 * 3];
    DWORD length = GetModuleFileNameW((HMODULE)m->base, path, 512);
    const wchar_t *last = length ? wcsrchr(path, L'\\') : NULL;
    const wchar_t *from = last ? last + 1 : length ? path : L"program";
    if (WideCharToMultiByte(CP_UTF8, 0, from, -1, name, sizeof name, NULL, NULL) <= 0) {
        strcpy(name, "program");
    }
    size_t size = strnlen(name, sizeof m->file - 1);
    memcpy(m->file, name, size);
    m->file[size] = '\0';
}

static bool find_module(uintptr_t address, module *out) {
    HMODULE handle;
    DWORD flags =
        GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    return GetModuleHandleExW(flags, (const wchar_t *)address, &handle) &&
           read_headers((uintptr_t)handle, out);
}

/* The n'th span of code of the module; false: there is none. */
static bool code_of(const module *m, unsigned n, th_os_span *out) {
    const IMAGE_SECTION_HEADER *section = IMAGE_FIRST_SECTION(m->headers);
    for (WORD i = 0; i < m->headers->FileHeader.NumberOfSections; i++, section++) {
        if ((section->Characteristics & IMAGE_SCN_MEM_EXECUTE) && n-- == 0) {
            out->low = m->base + section->VirtualAddress;
            out->high = out->low + section->Misc.VirtualSize;
            return true;
        }
    }
    return false;
}

/* The module's span of code around an address. */
static bool code_around(const module *m, uintptr_t address, th_os_span *out) {
    for (unsigned n = 0; code_of(m, n, out); n++) {
        if (address >= out->low && address < out->high) {
            return true;
        }
    }
    return false;
}

static bool find_code(uintptr_t address, module *m, th_os_span *out) {
    return find_module(address, m) && code_around(m, address, out);
}

/* Calls fn for each module that is loaded until it returns false. */
static void each_module(bool (*fn)(module *m, void *ctx), void *ctx) {
    HANDLE list = CreateToolhelp32Snapshot(TH32CS_SNAPMODULE, GetCurrentProcessId());
    MODULEENTRY32W entry = {.dwSize = sizeof entry};
    if (list == INVALID_HANDLE_VALUE) {
        return;
    }
    module m;
    bool more = Module32FirstW(list, &entry);
    while (more) {
        more = !read_headers((uintptr_t)entry.modBaseAddr, &m) || fn(&m, ctx);
        more = more && Module32NextW(list, &entry);
    }
    CloseHandle(list);
}

/* ---- names ---- */

/* The name of the last function that the module exports at or before the address. */
static void find_export(const module *m, uintptr_t address, th_os_place *place) {
    const IMAGE_DATA_DIRECTORY *where =
        &m->headers->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXPORT];
    if (where->Size == 0) {
        return;
    }
    const IMAGE_EXPORT_DIRECTORY *table =
        (const IMAGE_EXPORT_DIRECTORY *)(m->base + where->VirtualAddress);
    const DWORD *functions = (const DWORD *)(m->base + table->AddressOfFunctions);
    const DWORD *names = (const DWORD *)(m->base + table->AddressOfNames);
    const WORD *numbers = (const WORD *)(m->base + table->AddressOfNameOrdinals);
    DWORD64 base;
    const RUNTIME_FUNCTION *function = RtlLookupFunctionEntry(address, &base, NULL);
    if (!function) {
        return;
    }
    for (DWORD i = 0; i < table->NumberOfNames; i++) {
        if (functions[numbers[i]] == function->BeginAddress) {
            const char *name = (const char *)(m->base + names[i]);
            size_t size = strnlen(name, sizeof place->symbol - 1);
            memcpy(place->symbol, name, size);
            place->symbol[size] = '\0';
            place->past = address - (m->base + function->BeginAddress);
            return;
        }
    }
}

bool th_os_code_place(uintptr_t address, th_os_place *place, th_os_symbols *symbols) {
    module m;
    th_os_span span;
    *place = (th_os_place){.file = ""};
    if (!find_code(address, &m, &span)) {
        return false;
    }
    name_module(&m);
    memcpy(place->file, m.file, sizeof place->file);
    place->offset = address - m.base;
    place->at = address;
    find_export(&m, address, place);
    if (!place->symbol[0] && symbols) {
        th_nt_symbols_find(symbols, m.base, place);
    }
    return true;
}

void th_os_code_name(uintptr_t address, char *text, size_t size, th_os_symbols *symbols) {
    th_os_place place;
    if (!th_os_code_place(address, &place, symbols)) {
        (void)snprintf(text, size, "0x%" PRIxPTR, address);
    } else if (!place.symbol[0]) {
        (void)snprintf(text, size, "%s+0x%" PRIxPTR, place.file, place.offset);
    } else if (place.past == 0) {
        (void)snprintf(text, size, "%s", place.symbol);
    } else {
        (void)snprintf(text, size, "%s+0x%" PRIxPTR, place.symbol, place.past);
    }
}

bool th_os_code_call(uintptr_t after, th_os_place *place, th_os_symbols *symbols) {
    module m;
    th_os_span span;
    th_code_call call;
    if (!find_code(after - 1, &m, &span) ||
        !TH_CALL_BEFORE((const uint8_t *)after, after - span.low, &call)) {
        return false;
    }
    uintptr_t leads = call.direct ? after + (uintptr_t)call.to : 0;
    if (call.direct && !code_around(&m, leads, &span)) {
        if (call.other == 0) {
            return false;
        }
        call.length = call.other;
        leads = 0;
    }
    const bool found = th_os_code_place(after - call.length, place, symbols);
    place->leads = leads;
    return found;
}

/* ---- lists ---- */

static bool add_spans(module *m, void *ctx) {
    th_os_span span;
    for (unsigned n = 0; code_of(m, n, &span); n++) {
        th_own_collect(ctx, span.low, span.high);
    }
    return true;
}

unsigned th_os_code_spans(th_os_span at[], unsigned max) {
    th_own_collection all = th_own_collect_begin(at, max);
    each_module(add_spans, &all);
    return all.count;
}

typedef struct list {
    th_os_module *at;
    unsigned count;
    unsigned max;
} list;

static bool add_module(module *m, void *ctx) {
    list *all = ctx;
    if (all->count == all->max) {
        return false;
    }
    th_os_module *out = &all->at[all->count++];
    name_module(m);
    *out = (th_os_module){
        .low = m->base,
        .high = m->base + m->headers->OptionalHeader.SizeOfImage,
        .base = m->base,
    };
    memcpy(out->file, m->file, sizeof out->file);
    return true;
}

unsigned th_os_modules(th_os_module modules[], unsigned max) {
    list all = {modules, 0, max};
    each_module(add_module, &all);
    return all.count;
}
