/*
 * config.h: turns the program's config into the one that a scheduler uses.
 */
#ifndef TH_CONFIG_H
#define TH_CONFIG_H

#include "thrum/config.h"

#define TH_TRACE_FILE_MAX 900u /* bytes of trace_file */

/*
 * Checks every field and makes the values final: counts resolved, sizes rounded, hooks filled in.
 * Returns 0 or -EINVAL.
 */
int th_config_settle(thrum_config *out, const thrum_config *in);

/* The signal that THRUM_DUMP names; 0 for "off"; -1 where it is not set or makes no sense. */
int th_config_env_dump(void);

/* Whether THRUM_TRACE asks for the flight recorder. */
bool th_config_env_trace(void);

/* The number of spare workers that a settled config asks for. */
unsigned th_config_spares(const thrum_config *config);

/* The default hooks: the system's heap. */
void *th_alloc_default(void *ctx, size_t size);
void th_free_default(void *ctx, void *ptr);

#endif
