/*
 * spawn.h: spawning, as the library itself uses it.
 */
#ifndef TH_SPAWN_H
#define TH_SPAWN_H

#include "core/wait/scope_tree.h"
#include "thrum/spawn.h"

/* Starts a child of the scope (spawn.c). 0, -EINVAL, -ENOMEM, -ESHUTDOWN as thrum_go_with. */
int th_scope_go(th_scope *scope, thrum_fn fn, void *arg);

#endif
