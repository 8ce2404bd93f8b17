/*
 * check.h: three tiers of assertion.
 *
 *   th_check      in all builds: misuse and corruption, if the check is cheap
 *   th_debug      in debug builds
 *   th_expensive  in debug builds with TH_EXPENSIVE_CHECKS: invariants of whole structures
 */
#ifndef TH_CHECK_H
#define TH_CHECK_H

#include "base/cc.h"

/*
 * Stops the program with one line: "thrum: CALL: WHAT (object ADDRESS, fiber NAME)", which goes to
 * the running scheduler's panic hook if it has one. If the function of the fiber's task is known,
 * ", which runs FUNCTION" follows the name. Implemented by core/state/panic.c.
 */
TH_NORETURN TH_COLD void th_misuse(const char *call, const char *what, const void *object);

/* Stops the program: the library itself is wrong. */
TH_NORETURN TH_COLD void th_broken(const char *file, int line, const char *condition);

#define th_check(cond) (th_likely(cond) ? (void)0 : th_broken(__FILE__, __LINE__, #cond))

#ifdef NDEBUG
#define TH_IS_DEBUG false
#define th_debug(cond) ((void)sizeof(!(cond)))
#else
#define TH_IS_DEBUG true
#define th_debug(cond) th_check(cond)
#endif

#if !defined(NDEBUG) && defined(TH_EXPENSIVE_CHECKS)
#define th_expensive(cond) th_check(cond)
#else
#define th_expensive(cond) ((void)sizeof(!(cond)))
#endif

#endif
