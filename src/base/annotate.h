/*
 * annotate.h: annotations for the address and thread sanitizers and valgrind about fibers.
 *
 * Thread sanitizer. Every task has a context of its own, and each worker thread has one in which
 * the scheduler itself runs:
 *   - A task that calls into the scheduler enters the worker's context with synchronisation, so the
 *     scheduler sees the task's effects. It leaves that context without synchronisation, so tasks
 *     that run one after another on one worker do not look ordered.
 *   - The real order of tasks is annotated explicitly: th_tsan_release in the context of the
 *     spawner, th_tsan_acquire in the context of the body. Wakes are ordered by the waiter's own
 *     atomic word.
 *   - The processor switches between fibers only while in a worker's context. Functions in which
 *     that happens, or in which the context changes, are TH_NO_TSAN: their entry and exit would be
 *     recorded in different contexts.
 *   - So the stack of a task is written by its own context and by the worker's in turn, and the
 *     worker's writes there are not ordered before the task's next accesses. Code that runs in the
 *     worker's context on a task's stack must hide its accesses to locals: their addresses are not
 *     passed on, or the functions that access them are TH_NO_TSAN.
 *
 * Address sanitizer. It is notified of each switch, and of the stack that is switched to.
 *
 * Valgrind. It is notified of each stack when it is made and when it goes, and that the stack's
 * memory may then be written again.
 */
#ifndef TH_ANNOTATE_H
#define TH_ANNOTATE_H

#include "base/cc.h"

/* ---- thread sanitizer ---- */

#if TH_TSAN && !defined(TH_SIM)
#include <sanitizer/tsan_interface.h>
#define TH_TSAN_CONTEXTS 1 /* every task has a fiber and a context of its own */

#define th_tsan_create() __tsan_create_fiber(0)
void *th_tsan_create_one_of_many(void); /* the same; only called in a context without history */
#define th_tsan_destroy(context) __tsan_destroy_fiber(context)
#define th_tsan_here() __tsan_get_current_fiber()
/* Switches to the worker's context, which acquires the task's writes. */
#define th_tsan_to_worker(context) __tsan_switch_to_fiber((context), 0)
/* Switches to a task's context, which acquires nothing. */
#define th_tsan_to_task(context) __tsan_switch_to_fiber((context), 1 /* no sync */)
#define th_tsan_release(object) __tsan_release((void *)(uintptr_t)(object))
#define th_tsan_acquire(object) __tsan_acquire((void *)(uintptr_t)(object))
/* Called around a mapping: its memory has no history, not even a write by the thread that maps. */
TH_FOREIGN void AnnotateIgnoreWritesBegin(const char *file, int line);
TH_FOREIGN void AnnotateIgnoreWritesEnd(const char *file, int line);
#define th_tsan_fresh_begin() AnnotateIgnoreWritesBegin(__FILE__, __LINE__)
#define th_tsan_fresh_end() AnnotateIgnoreWritesEnd(__FILE__, __LINE__)
/* Hides a copying loop: without it the compiler makes the loop a memcpy, which is seen. */
#define th_tsan_unseen() __asm__ volatile("" ::: "memory")
#else
#define TH_TSAN_CONTEXTS 0
#define th_tsan_unseen() ((void)0)
#define th_tsan_fresh_begin() ((void)0)
#define th_tsan_fresh_end() ((void)0)
#define th_tsan_create() NULL
#define th_tsan_create_one_of_many() NULL
#define th_tsan_destroy(context) ((void)(context))
#define th_tsan_here() NULL
#define th_tsan_to_worker(context) ((void)(context))
#define th_tsan_to_task(context) ((void)(context))
#define th_tsan_release(object) ((void)(object))
#define th_tsan_acquire(object) ((void)(object))
#endif

/* ---- address sanitizer ---- */

#if TH_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
/* `fake` keeps the fake stack of the context that leaves; NULL when it never comes back. */
#define th_asan_leave(fake, bottom, size) __sanitizer_start_switch_fiber((fake), (bottom), (size))
#define th_asan_arrive(fake, bottom, size) __sanitizer_finish_switch_fiber((fake), (bottom), (size))
#define th_asan_unpoison(addr, size) __asan_unpoison_memory_region((addr), (size))
#else
#define th_asan_leave(fake, bottom, size) ((void)(fake), (void)(bottom), (void)(size))
#define th_asan_arrive(fake, bottom, size) ((void)(fake), (void)(bottom), (void)(size))
#define th_asan_unpoison(addr, size) ((void)(addr), (void)(size))
#endif

/* ---- valgrind ---- */

#if defined(TH_VALGRIND)
#include <valgrind/memcheck.h>
#define th_valgrind_stack(bottom, top) VALGRIND_STACK_REGISTER((bottom), (top))
#define th_valgrind_stack_gone(id) VALGRIND_STACK_DEREGISTER(id)
/* Valgrind forbids access to popped frames; a stack that is given back is zero, and may be read. */
#define th_valgrind_zeroed(addr, size) ((void)VALGRIND_MAKE_MEM_DEFINED((addr), (size)))
#else
#define th_valgrind_stack(bottom, top) ((void)(bottom), (void)(top), 0u)
#define th_valgrind_stack_gone(id) ((void)(id))
#define th_valgrind_zeroed(addr, size) ((void)(addr), (void)(size))
#endif

#endif
