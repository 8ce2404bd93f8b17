/*
 * spawn.h: what the inside asks of spawning.
 */
#ifndef TH_SPAWN_H
#define TH_SPAWN_H

#include "core/wait/family.h"
#include "thrum/spawn.h"

/* Starts a child (spawn.c). 0, -EINVAL, -ENOMEM, -ESHUTDOWN as thrum_go_with. */
int th_family_go(th_family *family, thrum_fn fn, void *arg);

#endif
