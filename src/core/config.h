/*
 * config.h: from what the program asked for to what a scheduler uses.
 */
#ifndef TH_CONFIG_H
#define TH_CONFIG_H

#include "thrum/config.h"

/*
 * Checks every field and makes the values final: counts resolved, sizes rounded, hooks filled in.
 * 0, -EINVAL or -ENOTSUP.
 */
int th_config_settle(thrum_config *out, const thrum_config *in);

#endif
