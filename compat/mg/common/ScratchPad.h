/*
 * Formatted texts that live as long as the object.
 */
#ifndef THRUM_COMPAT_MG_COMMON_SCRATCHPAD_H
#define THRUM_COMPAT_MG_COMMON_SCRATCHPAD_H

#include <cstdarg>
#include <cstdio>
#include <vector>

#include "mg/common/Assert.h"

namespace mg {
namespace common {

class ScratchBuffer {
  public:
    explicit ScratchBuffer(size_t size) : bytes_(size) {
    }
    char *GetBuffer() {
        return bytes_.data();
    }
    operator char *() {
        return bytes_.data();
    }

  private:
    std::vector<char> bytes_;
};

MG_STRFORMAT_PRINTF(1, 0)
inline ScratchBuffer ScratchVsprintf(const char *format, std::va_list args) {
    std::va_list again;
    va_copy(again, args);
    int length = std::vsnprintf(nullptr, 0, format, again);
    va_end(again);
    MG_COMMON_ASSERT(length >= 0);
    ScratchBuffer text(static_cast<size_t>(length) + 1);
    std::vsnprintf(text.GetBuffer(), static_cast<size_t>(length) + 1, format, args);
    return text;
}

MG_STRFORMAT_PRINTF(1, 2) inline ScratchBuffer ScratchSprintf(const char *format, ...) {
    std::va_list args;
    va_start(args, format);
    ScratchBuffer text = ScratchVsprintf(format, args);
    va_end(args);
    return text;
}

} // namespace common
} // namespace mg

#endif
