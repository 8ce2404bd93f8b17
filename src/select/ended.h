/*
 * ended.h: the end of a task, and the next result of a scope, among the cases of a select. Their
 * parts are not on waiters' lists of primitives: a task and a scope have room for one waiter.
 */
#ifndef TH_ENDED_H
#define TH_ENDED_H

#include <errno.h>

#include "core/task/spawn.h"
#include "thrum/chan.h"

static inline thrum_handle *th_handle_of_case(const thrum_case *c) {
    return c->kind == THRUM_CASE_JOIN ? c->to : NULL;
}

static inline th_scope *th_scope_of_case(const thrum_case *c) {
    return c->kind == THRUM_CASE_NEXT ? c->to : NULL; /* thrum_scope begins with it (scope.c) */
}

static inline bool th_case_is_of_end(const thrum_case *c) {
    return c->kind == THRUM_CASE_JOIN || c->kind == THRUM_CASE_NEXT;
}

/* The status of a case that can happen, or -EAGAIN. */
static inline int th_end_look(const thrum_case *c) {
    thrum_handle *handle = th_handle_of_case(c);
    th_scope *scope = th_scope_of_case(c);
    if (scope) {
        return !th_scope_is_mine(scope, "thrum_select") ? -ESHUTDOWN
               : th_scope_has_result(scope)             ? 0
                                                        : -EAGAIN;
    }
    return handle ? th_handle_look(handle) : -EAGAIN;
}

/* Puts a part down, whose case is `number` of the whole. False: the case can happen. */
static inline bool th_end_stand(const thrum_case *c, th_waiter *part, th_waiter *whole,
                                int32_t number) {
    thrum_handle *handle = th_handle_of_case(c);
    th_scope *scope = th_scope_of_case(c);
    return handle  ? th_handle_stand(handle, part, whole, number)
           : scope ? th_scope_stand(scope, part)
                   : true;
}

/* Takes it back; afterwards no thread touches it. */
static inline void th_end_leave(const thrum_case *c, th_waiter *part) {
    if (th_handle_of_case(c)) {
        th_handle_take_back(c->to, part);
    } else if (th_scope_of_case(c)) {
        th_scope_take_back(c->to, part);
    }
}

#endif
