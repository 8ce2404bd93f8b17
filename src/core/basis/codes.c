/*
 * codes.c: time, codes and the version (thrum/base.h).
 */
#include "thrum/base.h"

#include <limits.h>

#include "platform/platform.h"

thrum_time thrum_now(void) {
    return th_os_now();
}

thrum_time thrum_after(thrum_time ns) {
    thrum_time when;
    if (!__builtin_add_overflow(th_os_now(), ns, &when)) {
        return when;
    }
    return THRUM_FOREVER; /* now is positive, so only an overflow at the top is possible */
}

static thrum_time after(int64_t count, int64_t unit_ns) {
    thrum_time ns;
    if (__builtin_mul_overflow(count, unit_ns, &ns)) {
        ns = count > 0 ? THRUM_FOREVER : INT64_MIN;
    }
    return thrum_after(ns);
}

thrum_time thrum_after_us(int64_t us) {
    return after(us, 1000);
}

thrum_time thrum_after_ms(int64_t ms) {
    return after(ms, 1000000);
}

thrum_time thrum_after_s(int64_t s) {
    return after(s, 1000000000);
}

/* The text for a code that is not the library's, such as -errno from a user's function. */
static const char *text_of_system(int err) {
    const char *text = err == INT_MIN ? NULL : th_os_error_text(-err);
    return text ? text : "unknown error";
}

static const struct {
    int code;
    const char *text;
} texts[] = {
    {0, "success"},
    {-EINVAL, "invalid argument"},
    {-ENOMEM, "out of memory"},
    {-EAGAIN, "not available now"},
    {-EBUSY, "in use"},
    {-EDEADLK, "the caller would wait for itself"},
    {-ESRCH, "not in a task, or no such process"},
    {-ESHUTDOWN, "the server or scheduler is stopping, or has stopped"},
    {-ETIMEDOUT, "the deadline has passed"},
    {-ECANCELED, "cancelled"},
    {-EPIPE, "the channel is closed, or the peer no longer reads"},
    {-ELOOP, "a cycle, or too many symbolic links"},
    {-EALREADY, "already done, or under way"},
    {-ENODATA, "no data, or the end of the data"},
    {-ECHILD, "no child is left"},
};

const char *thrum_strerror(int err) {
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].code == err) {
            return texts[i].text;
        }
    }
    return err > 0 ? "not an error" : text_of_system(err);
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *thrum_version(void) {
    return TEXT(THRUM_VERSION_MAJOR) "." TEXT(THRUM_VERSION_MINOR) "." TEXT(THRUM_VERSION_PATCH);
}
