/*
 * cxx_runtime.c: which C++ run time is asked for what it keeps for each thread. These programs are
 * in C, so none is linked with the library.
 */
#include "support/support.h"

#include "platform/platform.h"

/* Behind what it may not come before. */
#include <windows.h>

typedef void *(*globals_fn)(void);

static globals_fn in_dll(const char *file, const char *name) {
    const HMODULE module = LoadLibraryA(file);
    return module ? (globals_fn)(void *)GetProcAddress(module, name) : NULL;
}

TEST(a_run_time_that_is_a_dll_is_found) {
    /* The compiler's own, where it lies beside this program's folder. */
    const globals_fn dlls = in_dll("libstdc++-6.dll", "__cxa_get_globals");
    if (!dlls) {
        CHECK_SKIP("no libstdc++-6.dll");
    }
    CHECK((void *)th_os_exceptions_at() == dlls());
}
