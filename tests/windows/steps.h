/*
 * steps.h: a part of support/steps.h: the processor's trap flag, whose traps are an exception. The
 * system takes the flag back at each of them.
 */
#ifndef WINDOWS_STEPS_H
#define WINDOWS_STEPS_H

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>
#undef near
#undef far

static void (*steps_taken)(void);
static volatile int steps_on; /* of the one thread that walks */

static LONG CALLBACK steps_trap(EXCEPTION_POINTERS *both) {
    if (both->ExceptionRecord->ExceptionCode != EXCEPTION_SINGLE_STEP) {
        return EXCEPTION_CONTINUE_SEARCH;
    }
    if (steps_on) {
        steps_taken();
        both->ContextRecord->EFlags |= 0x100;
    }
    return EXCEPTION_CONTINUE_EXECUTION;
}

CHECK_UNUSED static void steps_catch(void (*taken)(void)) {
    steps_taken = taken;
    CHECK(AddVectoredExceptionHandler(1, steps_trap) != NULL);
}

#define STEPS_BEGIN "pushfq\n orq $0x100, (%%rsp)\n popfq"
#define steps_begin()                                                                              \
    do {                                                                                           \
        steps_on = 1;                                                                              \
        __asm__ volatile(STEPS_BEGIN ::: "memory", "cc");                                          \
    } while (0)
#define steps_end() (steps_on = 0)

#endif
