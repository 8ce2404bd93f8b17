/*
 * Time in milliseconds, on the clock of the deadlines of tasks, and limits of waits: a point on
 * that clock, or a duration from now.
 */
#ifndef THRUM_COMPAT_MG_BOX_TIME_H
#define THRUM_COMPAT_MG_BOX_TIME_H

#include "mg/box/Assert.h"
#include "thrum/base.h"

namespace mg {
namespace box {

inline uint64_t GetNanoseconds() {
    return static_cast<uint64_t>(thrum_now());
}

inline uint64_t GetMilliseconds() {
    return GetNanoseconds() / 1000000;
}

inline double GetMillisecondsPrecise() {
    return static_cast<double>(GetNanoseconds()) / 1e6;
}

enum TimeLimitType { TIME_LIMIT_NONE, TIME_LIMIT_DURATION, TIME_LIMIT_POINT };

struct TimePoint {
    explicit constexpr TimePoint(uint64_t value) : myValue(value) {
    }
    constexpr bool operator<=(const TimePoint &other) const {
        return myValue <= other.myValue;
    }

    uint64_t myValue;
};

static constexpr TimePoint theTimePointInf{MG_TIME_INFINITE};

/* A negative duration counts as 0. */
struct TimeDuration {
    explicit constexpr TimeDuration(int32_t value)
        : myValue(value < 0 ? 0 : static_cast<uint64_t>(value)) {
    }
    explicit constexpr TimeDuration(uint32_t value) : myValue(value) {
    }
    explicit constexpr TimeDuration(int64_t value)
        : myValue(value < 0 ? 0 : static_cast<uint64_t>(value)) {
    }
    explicit constexpr TimeDuration(uint64_t value) : myValue(value) {
    }

    TimePoint ToPointFromNow() const {
        uint64_t now = GetMilliseconds();
        return myValue < MG_TIME_INFINITE - now ? TimePoint(now + myValue) : theTimePointInf;
    }

    uint64_t myValue;
};

static constexpr TimeDuration theTimeDurationInf{uint64_t(MG_TIME_INFINITE)};

struct TimeLimit {
    constexpr TimeLimit() : myType(TIME_LIMIT_NONE), myPoint(0) {
    }
    constexpr TimeLimit(const TimePoint &point) : myType(TIME_LIMIT_POINT), myPoint(point) {
    }
    constexpr TimeLimit(const TimeDuration &duration)
        : myType(TIME_LIMIT_DURATION), myDuration(duration) {
    }

    TimePoint ToPointFromNow() const {
        MG_DEV_ASSERT(myType != TIME_LIMIT_NONE);
        return myType == TIME_LIMIT_POINT ? myPoint : myDuration.ToPointFromNow();
    }
    TimeDuration ToDurationFromNow() const {
        MG_DEV_ASSERT(myType != TIME_LIMIT_NONE);
        if (myType == TIME_LIMIT_DURATION) {
            return myDuration;
        }
        if (myPoint.myValue == MG_TIME_INFINITE) {
            return theTimeDurationInf;
        }
        uint64_t now = GetMilliseconds();
        return TimeDuration(now < myPoint.myValue ? myPoint.myValue - now : uint64_t(0));
    }
    void Reset() {
        *this = TimeLimit();
    }

    TimeLimitType myType;
    union {
        TimePoint myPoint;
        TimeDuration myDuration;
    };
};

namespace detail {

/* A point in milliseconds as a deadline of thrum. A late one stays short of the infinite one. */
inline thrum_time ToThrum(uint64_t milliseconds) {
    if (milliseconds == MG_TIME_INFINITE) {
        return THRUM_FOREVER;
    }
    const uint64_t latest = static_cast<uint64_t>(THRUM_FOREVER) / 1000000;
    return milliseconds < latest ? static_cast<thrum_time>(milliseconds * 1000000)
                                 : THRUM_FOREVER - 1;
}

} // namespace detail
} // namespace box
} // namespace mg

#endif
