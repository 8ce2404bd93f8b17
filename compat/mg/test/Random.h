/*
 * Random numbers for tests; each thread has its own. If the program has serverbox's own header
 * further on in its include path, that is taken.
 */
#ifndef THRUM_COMPAT_MG_TEST_RANDOM_H
#define THRUM_COMPAT_MG_TEST_RANDOM_H

#if defined(__has_include_next)
#if __has_include_next("mg/test/Random.h")
#define THRUM_COMPAT_HAS_RANDOM 1
#endif
#endif

#if defined(THRUM_COMPAT_HAS_RANDOM)
#include_next "mg/test/Random.h"
#else

#include <random>

#include "mg/box/Definitions.h"

namespace mg {
namespace tst {

inline std::mt19937 &RandomEngine() {
    static thread_local std::mt19937 engine{std::random_device()()};
    return engine;
}

inline uint32_t RandomUniformUInt32(uint32_t least, uint32_t most) {
    return std::uniform_int_distribution<uint32_t>(least, most)(RandomEngine());
}

inline uint32_t RandomUInt32() {
    return RandomUniformUInt32(0, UINT32_MAX);
}

inline bool RandomBool() {
    return RandomUniformUInt32(0, 1) == 1;
}

} // namespace tst

/* The older name. */
namespace test {
using tst::RandomBool;
using tst::RandomUInt32;
using tst::RandomUniformUInt32;
} // namespace test
} // namespace mg

#endif

#endif
