/*
 * marl/sanitizers.h: which sanitizer the file is compiled with. X_SANITIZER_ENABLED is 0 or 1, and
 * X_SANITIZER_ONLY(code) is the code or nothing.
 */
#ifndef THRUM_COMPAT_MARL_SANITIZERS_H
#define THRUM_COMPAT_MARL_SANITIZERS_H

#if defined(__has_feature)
#define THRUM_COMPAT_HAS(feature) __has_feature(feature)
#else
#define THRUM_COMPAT_HAS(feature) 0
#endif

#ifndef ADDRESS_SANITIZER_ENABLED
#if defined(__SANITIZE_ADDRESS__) || THRUM_COMPAT_HAS(address_sanitizer)
#define ADDRESS_SANITIZER_ENABLED 1
#else
#define ADDRESS_SANITIZER_ENABLED 0
#endif
#endif

#ifndef MEMORY_SANITIZER_ENABLED
#if defined(__SANITIZE_MEMORY__) || THRUM_COMPAT_HAS(memory_sanitizer)
#define MEMORY_SANITIZER_ENABLED 1
#else
#define MEMORY_SANITIZER_ENABLED 0
#endif
#endif

#ifndef THREAD_SANITIZER_ENABLED
#if defined(__SANITIZE_THREAD__) || THRUM_COMPAT_HAS(thread_sanitizer)
#define THREAD_SANITIZER_ENABLED 1
#else
#define THREAD_SANITIZER_ENABLED 0
#endif
#endif

#if ADDRESS_SANITIZER_ENABLED
#define ADDRESS_SANITIZER_ONLY(x) x
#else
#define ADDRESS_SANITIZER_ONLY(x)
#endif

/* MSAN_UNPOISON(pointer, size) marks memory as initialized for the memory sanitizer. */
#if MEMORY_SANITIZER_ENABLED
#include <sanitizer/msan_interface.h>
#define MEMORY_SANITIZER_ONLY(x) x
#define MSAN_UNPOISON(p, size) __msan_unpoison(p, size)
#else
#define MEMORY_SANITIZER_ONLY(x)
#define MSAN_UNPOISON(p, size)
#endif

#if THREAD_SANITIZER_ENABLED
#define THREAD_SANITIZER_ONLY(x) x
#else
#define THREAD_SANITIZER_ONLY(x)
#endif

#endif
