/*
 * marl/export.h: marks for declarations that a shared library exports. Everything here is inline,
 * so they have no effect.
 */
#ifndef THRUM_COMPAT_MARL_EXPORT_H
#define THRUM_COMPAT_MARL_EXPORT_H

#define MARL_EXPORT
#define MARL_NO_EXPORT

#endif
