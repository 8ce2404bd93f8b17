/*
 * The macros of mg/box/Definitions.h and the names of mg/common/Types.h.
 */
#ifndef THRUM_COMPAT_MG_COMMON_DEFINITIONS_H
#define THRUM_COMPAT_MG_COMMON_DEFINITIONS_H

#include "mg/common/Types.h"

#endif
