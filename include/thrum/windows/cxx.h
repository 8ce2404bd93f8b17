/*
 * thrum/windows/cxx.h: where the C++ run time of the program is; of Windows alone (mingw-w64), and
 * empty elsewhere. Each header includes it.
 *
 * A task keeps its exceptions of C++ over its waits. For that the library asks the run time for the
 * words of each thread. As a DLL it cannot see a run time that is linked into the program, so what
 * is compiled as C++ and includes a header of thrum's registers it, before the static initializers
 * of its program or DLL run. With THRUM_NO_CXX_REGISTER defined it does not: for a program in C++
 * that has the types of the headers but is not linked with the library.
 */
#ifndef THRUM_WINDOWS_CXX_H
#define THRUM_WINDOWS_CXX_H

#if defined(__MINGW32__)

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Says where the run time is: the address of its __cxa_get_globals; NULL says nothing. A program
 * whose C++ includes no header of thrum's may call it itself. It is without effect once the first
 * worker has begun or the first thread has been bound: that decides for all threads. If several are
 * registered before, the program's own counts, and without that the first; the DLL that it is in
 * stays loaded. Any thread may call it. It never suspends and cannot fail.
 */
void thrum_cxx_register(void *(*globals)(void));

#if defined(__cplusplus) && !defined(THRUM_NO_CXX_REGISTER)
/* Unlike a weak declaration it leaves other references to that name as they are. */
static void *thrum_cxx_globals(void) __attribute__((weakref("__cxa_get_globals")));

__attribute__((constructor(101))) static void thrum_cxx_register_own(void) {
    /* In memory, since the compiler takes it for granted that a static function is there. */
    static void *(*volatile globals)(void) = thrum_cxx_globals;
    thrum_cxx_register(globals);
}
#endif

#ifdef __cplusplus
}
#endif

#endif

#endif
