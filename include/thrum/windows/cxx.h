/*
 * thrum/windows/cxx.h: the place of the program's C++ run time, on Windows (mingw-w64); elsewhere
 * it is empty. Each header includes it.
 *
 * A task keeps its C++ exceptions over its waits. For that the library asks the run time for the
 * exception state of each thread. As a DLL it cannot see a run time that is linked into the
 * program. So C++ code that includes a header of thrum registers its run time, before the static
 * initializers of its program or DLL run. If THRUM_NO_CXX_REGISTER is defined, it does not. That is
 * for a C++ program that uses the types of the headers but is not linked with the library.
 */
#ifndef THRUM_WINDOWS_CXX_H
#define THRUM_WINDOWS_CXX_H

#if defined(__MINGW32__)

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Registers the program's C++ run time with the library. A program whose C++ includes no header of
 * thrum may make the call itself.
 *
 * It has no effect once the first worker has begun or the first thread has been bound: that decides
 * for all threads. If several run times are registered before, the program's counts, and without
 * one the first. The DLL that it is in stays loaded.
 *
 * Parameters:
 *   globals  the run time's __cxa_get_globals, or NULL for no effect
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    void *__cxa_get_globals(void);
 *    thrum_cxx_register(__cxa_get_globals);
 */
void thrum_cxx_register(void *(*globals)(void));

#if defined(__cplusplus) && !defined(THRUM_NO_CXX_REGISTER)
/* The run time's function, or NULL. Unlike a weak declaration it leaves other references to that
 * name unchanged. */
static void *thrum_cxx_globals(void) __attribute__((weakref("__cxa_get_globals")));

__attribute__((constructor(101))) static void thrum_cxx_register_own(void) {
    /* In memory, because the compiler assumes that a static function exists. */
    static void *(*volatile globals)(void) = thrum_cxx_globals;
    thrum_cxx_register(globals);
}
#endif

#ifdef __cplusplus
}
#endif

#endif

#endif
