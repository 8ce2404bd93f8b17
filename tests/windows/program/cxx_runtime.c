/*
 * cxx_runtime.c: which C++ run time is asked for what it keeps for each thread. These programs are
 * in C, so none is linked with the library.
 */
#include "support/support.h"

#include "platform/platform.h"

/* Behind what it may not come before. */
#include <windows.h>

static __thread th_os_exceptions words;
static th_os_exceptions others;

static void *globals(void) {
    return &words;
}

static void *other_globals(void) {
    return &others;
}

typedef void *(*globals_fn)(void);

static globals_fn in_dll(const char *file, const char *name) {
    const HMODULE module = LoadLibraryA(file);
    return module ? (globals_fn)(void *)GetProcAddress(module, name) : NULL;
}

static void ask(void *arg) {
    *(bool *)arg = th_os_exceptions_at() == &words;
}

TEST(what_is_registered_is_asked) {
    /* On each thread, and for good: what is registered later is never asked. */
    thrum_cxx_register(NULL);
    thrum_cxx_register(globals);
    CHECK(th_os_exceptions_at() == &words);
    thrum_cxx_register(other_globals);
    CHECK(th_os_exceptions_at() == &words);
    th_os_thread thread;
    bool own = false;
    CHECK_EQ(th_os_thread_start(&thread, "asks", ask, &own), 0);
    th_os_thread_join(thread);
    CHECK(own);
}

TEST(what_is_registered_late_is_not_asked) {
    /* A thread that has asked found none, and a fiber of another may come to it. */
    CHECK(th_os_exceptions_at() == NULL);
    thrum_cxx_register(globals);
    CHECK(th_os_exceptions_at() == NULL);
}

TEST(the_programs_own_is_asked_before_a_dlls) {
    /* Whichever is registered first: the DLLs of a program begin before it. */
    const globals_fn dlls = in_dll("kernel32.dll", "GetCommandLineA"); /* it returns a pointer */
    CHECK(dlls != NULL);
    thrum_cxx_register(dlls);
    thrum_cxx_register(globals);
    thrum_cxx_register(dlls);
    CHECK(th_os_exceptions_at() == &words);
}

TEST(the_first_of_two_dlls_is_asked) {
    /* A program in C that has two plugins in C++. */
    const globals_fn first = in_dll("kernel32.dll", "GetCommandLineA");
    const globals_fn second = in_dll("kernel32.dll", "GetCommandLineW");
    CHECK(first && second);
    thrum_cxx_register(first);
    thrum_cxx_register(second);
    CHECK((void *)th_os_exceptions_at() == first());
}

TEST(a_run_time_that_is_a_dll_is_found) {
    /* The compiler's own, where it lies as tests/cxx/dlls has it, with what it needs beside it. */
    char path[MAX_PATH + 64];
    const DWORD length = GetModuleFileNameA(NULL, path, MAX_PATH);
    CHECK(length > 0 && length < MAX_PATH);
    snprintf(strrchr(path, '\\'), 64, "\\..\\dlls\\libstdc++-6.dll");
    const HMODULE module = LoadLibraryExA(path, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
    if (!module) {
        CHECK_SKIP("no %s", path);
    }
    const globals_fn dlls = (globals_fn)(void *)GetProcAddress(module, "__cxa_get_globals");
    CHECK(dlls != NULL);
    CHECK((void *)th_os_exceptions_at() == dlls());
}
