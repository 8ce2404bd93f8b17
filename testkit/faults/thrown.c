/*
 * thrown.c: exceptions of C++ that nobody catches. The kit is in C, so it knows the run time of C++
 * by its names, as the ABI of C++ for these processors defines them. They are weak: a program in C
 * has none of them.
 */
#include <stdlib.h>
#include <unwind.h>

#include "kit.h"

extern char __executable_start[];
extern char etext[];

typedef void terminate_handler(void);
/* It returns an object that is returned in memory, as this struct is. */
typedef struct exception_ptr {
    void *object, *unused[2];
} exception_ptr;

#define WEAK extern __attribute__((weak))
WEAK terminate_handler *_ZSt13set_terminatePFvvE(terminate_handler *handler);
WEAK exception_ptr _ZSt17current_exceptionv(void);
WEAK const void *__cxa_current_exception_type(void);
WEAK char *__cxa_demangle(const char *name, char *text, size_t *size, int *status);
WEAK _Unwind_Reason_Code _Unwind_Backtrace(_Unwind_Trace_Fn fn, void *arg);
WEAK _Unwind_Ptr _Unwind_GetIP(struct _Unwind_Context *context);
WEAK const void
    *_ZTISt9exception; /* the type of std::exception: begins with its table of functions */

#define CATCHES 4 /* places of std::type_info's function and of `what` in their tables */
#define WHAT 2

typedef bool catches_fn(const void *type, const void *thrown, void **object, unsigned outer);
typedef const char *what_fn(const void *exception);

/* The text of `what`, or NULL if it is no std::exception. */
static const char *what_of(const void *type, void *object) {
    if (!&_ZTISt9exception || !object) {
        return NULL;
    }
    catches_fn *const *functions = (catches_fn *const *)_ZTISt9exception;
    if (!functions[CATCHES](&_ZTISt9exception, type, &object, 1)) {
        return NULL;
    }
    what_fn *const *its = *(what_fn *const **)object;
    return its[WHAT](object);
}

typedef struct search {
    bool beyond; /* the kit's own frames */
    uintptr_t after;
} search;

/* The first frame of the program behind those of the run time. */
static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *arg) {
    search *s = arg;
    const uintptr_t at = _Unwind_GetIP(context);
    const bool own = at >= (uintptr_t)__executable_start && at < (uintptr_t)etext;
    s->after = own && s->beyond ? at : 0;
    s->beyond = s->beyond || !own;
    return s->after ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static void terminated(void) {
    if (kit_is_outside()) {
        if (E->terminate_before) {
            E->terminate_before();
        }
        abort();
    }
    search s = {0};
    if (_Unwind_Backtrace && _Unwind_GetIP) {
        _Unwind_Backtrace(look, &s);
    }
    const void *type = __cxa_current_exception_type ? __cxa_current_exception_type() : NULL;
    if (!type) {
        spot(s.after, "called");
        fail("exit", "the test called std::terminate");
    }
    const char *name = ((const char *const *)type)[1];
    int status;
    name += *name == '*';
    char *clear = __cxa_demangle ? __cxa_demangle(name, NULL, NULL, &status) : NULL;
    if (clear) {
        kit_shorten(clear);
    }
    const char *what =
        what_of(type, _ZSt17current_exceptionv ? _ZSt17current_exceptionv().object : NULL);
    spot(s.after, "thrown");
    spot(E->current->after, "after the call of %s", E->current->what);
    fail("exception", "%.150s%s%s", clear ? clear : name, what ? ": " : "", what ? what : "");
}

void kit_terminate_begin(void) {
    if (_ZSt13set_terminatePFvvE) {
        E->terminate_before = _ZSt13set_terminatePFvvE(terminated);
    }
}

void kit_terminate_end(void) {
    if (_ZSt13set_terminatePFvvE) {
        _ZSt13set_terminatePFvvE(E->terminate_before);
    }
}
