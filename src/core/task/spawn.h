/*
 * spawn.h: spawning, as the library itself uses it.
 */
#ifndef TH_SPAWN_H
#define TH_SPAWN_H

#include "core/wait/scope_tree.h"
#include "thrum/spawn.h"

/* Starts a child of the scope (spawn.c). 0, -EINVAL, -ENOMEM, -ESHUTDOWN as thrum_go_with. */
int th_scope_go(th_scope *scope, thrum_fn fn, void *arg);

/* Starts a child whose result the scope keeps. The same codes. */
int th_scope_spawn(th_scope *scope, const thrum_attr *attr, thrum_fn fn, void *arg);

/* Returns the result of a child that th_scope_take gave, and its argument, and lets it go. */
int th_handle_take(thrum_handle *handle, void **arg);

/*
 * The end of a task as a case of a select. th_handle_look returns 0 if the task has ended, -EAGAIN
 * if it may still end, or a code: a join would return it. A part is put down unless the task has
 * ended (false); no thread touches it after it was taken back.
 */
int th_handle_look(thrum_handle *tagged);
bool th_handle_stand(thrum_handle *tagged, th_waiter *part, th_waiter *whole, int32_t number);
void th_handle_take_back(thrum_handle *tagged, th_waiter *part);

#endif
