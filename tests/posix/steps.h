/*
 * steps.h: a part of support/steps.h: the processor's trap flag, whose traps are a signal.
 */
#ifndef POSIX_STEPS_H
#define POSIX_STEPS_H

#include <signal.h>

static void (*steps_taken)(void);

CHECK_UNUSED static void steps_trap(int number) {
    (void)number;
    steps_taken();
}

CHECK_UNUSED static void steps_catch(void (*taken)(void)) {
    const struct sigaction action = {.sa_handler = steps_trap};
    steps_taken = taken;
    CHECK_EQ(sigaction(SIGTRAP, &action, NULL), 0);
}

#if defined(__x86_64__)
#define STEPS_BEGIN                                                                                \
    "leaq -128(%%rsp), %%rsp\n pushfq\n orq $0x100, (%%rsp)\n popfq\n leaq 128(%%rsp), %%rsp"
#define STEPS_END                                                                                  \
    "leaq -128(%%rsp), %%rsp\n pushfq\n andq $~0x100, (%%rsp)\n popfq\n leaq 128(%%rsp), %%rsp"
#define steps_begin() __asm__ volatile(STEPS_BEGIN ::: "memory", "cc")
#define steps_end() __asm__ volatile(STEPS_END ::: "memory", "cc")
#else
#define steps_begin() CHECK_SKIP("only x86_64 walks step by step here")
#define steps_end() ((void)0)
#endif

#endif
