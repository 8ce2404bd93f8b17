/*
 * A stopwatch.
 */
#ifndef THRUM_COMPAT_MG_BOX_QPTIMER_H
#define THRUM_COMPAT_MG_BOX_QPTIMER_H

#include "mg/box/Time.h"

namespace mg {
namespace box {

class QPTimer {
  public:
    void Start() {
        start_ = GetNanoseconds();
    }
    /* The time since Start. */
    double GetMilliSeconds() {
        return static_cast<double>(GetNanoseconds() - start_) / 1e6;
    }

  private:
    uint64_t start_ = 0;
};

} // namespace box
} // namespace mg

#endif
