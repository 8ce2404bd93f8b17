/*
 * cxx.c: the C++ run time whose exceptions fibers take along when they wait.
 *
 * It is chosen at the first thread's query, for all threads and for good: a fiber takes the words
 * of one thread to another, so all must be of one run time, or there must be none. The first of
 * these that is there is taken:
 *   - the run time linked with this file (the static library in a program in C++);
 *   - the registered one. A DLL's weak references find nothing in the program, which may export
 *     nothing either, so the program itself registers it (thrum/windows/cxx.h);
 *   - the one in a loaded DLL. Its module stays, since threads keep addresses in it.
 */
#include "platform/platform.h"
#include "platform/windows/system/nt.h"

#include <thrum/base.h>

#include "base/atomic.h"

typedef void *(*globals_fn)(void);

/* Defined if the program has a C++ run time anyway: the weak reference links none. */
extern void *__cxa_get_globals(void) __attribute__((weak));

/* gcc emits a weak reference only if it calls the symbol. */
static void *linked_globals(void) {
    return __cxa_get_globals();
}

#define NONE ((uintptr_t)1) /* no function lies there */

static uintptr_t xregistered; /* the function, or 0 */
static uintptr_t xchosen;     /* the function, or NONE; 0 as long as no thread has asked */

static uintptr_t find_loaded(void) {
    static const wchar_t *const files[] = {L"libstdc++-6.dll", L"libc++.dll", L"libc++abi.dll"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        HMODULE module;
        if (GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN, files[i], &module)) {
            const uintptr_t at = (uintptr_t)GetProcAddress(module, "__cxa_get_globals");
            if (at) {
                return at;
            }
        }
    }
    return 0;
}

static TH_COLD uintptr_t choose(void) {
    uintptr_t at = __cxa_get_globals ? (uintptr_t)linked_globals : 0;
    if (!at) {
        at = th_load_relaxed(&xregistered); /* relaxed: code that was there before the word */
    }
    if (!at) {
        at = find_loaded();
    }
    return at ? at : NONE;
}

th_os_exceptions *th_os_exceptions_at(void) {
    uintptr_t chosen = th_load_relaxed(&xchosen); /* relaxed: as xregistered */
    if (!chosen) {
        const uintptr_t mine = choose();
        if (th_cas_relaxed(&xchosen, &chosen, mine)) { /* relaxed: as above */
            chosen = mine;
        }
    }
    return chosen == NONE ? NULL : ((globals_fn)chosen)();
}

void thrum_cxx_register(void *(*globals)(void)) {
    const DWORD flags = GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS;
    const uintptr_t at = (uintptr_t)globals;
    uintptr_t none = 0;
    HMODULE module;
    if (!at || th_load_relaxed(&xchosen) || !GetModuleHandleExW(flags, (LPCWSTR)at, &module)) {
        return; /* relaxed: a registration that comes late is without effect, now or there */
    }
    if (module == GetModuleHandleW(NULL)) {
        th_store_relaxed(&xregistered, at); /* relaxed: see choose */
    } else {
        (void)th_cas_relaxed(&xregistered, &none, at); /* relaxed: as above */
    }
}
