/*
 * Random numbers for tests; each thread has its own.
 */
#ifndef THRUM_COMPAT_MG_COMMON_RANDOM_H
#define THRUM_COMPAT_MG_COMMON_RANDOM_H

#include <random>

#include "mg/common/Types.h"

namespace mg {
namespace common {

inline uint32_t RandomUniformUInt32(uint32_t least, uint32_t most) {
    static thread_local std::mt19937 engine{std::random_device()()};
    return std::uniform_int_distribution<uint32_t>(least, most)(engine);
}
inline uint32_t RandomUInt32() {
    return RandomUniformUInt32(0, UINT32_MAX);
}
inline bool RandomBool() {
    return RandomUniformUInt32(0, 1) == 1;
}

/* Other names of the same. */
inline uint32_t RandomUniformuint32_t(uint32_t least, uint32_t most) {
    return RandomUniformUInt32(least, most);
}
inline uint32_t Randomuint32_t() {
    return RandomUInt32();
}

} // namespace common
} // namespace mg

#endif
