/*
 * Integers by their short names, and the macros of mg/box/Definitions.h.
 */
#ifndef THRUM_COMPAT_MG_COMMON_TYPES_H
#define THRUM_COMPAT_MG_COMMON_TYPES_H

#include "mg/box/Definitions.h"

using uint8 = uint8_t;
using uint16 = uint16_t;
using uint32 = uint32_t;
using uint64 = uint64_t;
using int8 = int8_t;
using int16 = int16_t;
using int32 = int32_t;
using int64 = int64_t;
using float32 = float;
using float64 = double;

namespace mg {
namespace common {

using ::float32;
using ::float64;
using ::int16;
using ::int32;
using ::int64;
using ::int8;
using ::uint16;
using ::uint32;
using ::uint64;
using ::uint8;

} // namespace common
} // namespace mg

#endif
