/*
 * spawn.h: what the library's own parts ask of spawning.
 */
#ifndef TH_SPAWN_H
#define TH_SPAWN_H

#include "core/wait/family.h"
#include "thrum/spawn.h"

/* Starts a child of the family (spawn.c). 0, -EINVAL, -ENOMEM, -ESHUTDOWN as thrum_go_with. */
int th_family_go(th_family *family, thrum_fn fn, void *arg);

#endif
