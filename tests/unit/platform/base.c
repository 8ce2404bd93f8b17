/*
 * base.c: times, codes, the version, and the line in which the library says that it is wrong.
 */
#include "support/support.h"

#include <limits.h>

#include "base/check.h"

TEST(times_saturate) {
    /* What lies past the end of time is for ever; what lies far back is long past. */
    CHECK_EQ(thrum_after(INT64_MAX), THRUM_FOREVER);
    CHECK_EQ(thrum_after_us(INT64_MAX), THRUM_FOREVER);
    CHECK_EQ(thrum_after_ms(INT64_MAX), THRUM_FOREVER);
    CHECK_EQ(thrum_after_s(INT64_MAX), THRUM_FOREVER);
    CHECK_EQ(thrum_after_s(INT64_MAX / 1000000000), THRUM_FOREVER); /* now is added to it */
    CHECK(thrum_after(INT64_MIN) < 0);
    CHECK(thrum_after_us(INT64_MIN) < 0);
    CHECK(thrum_after_ms(INT64_MIN) < 0);
    CHECK(thrum_after_s(INT64_MIN) < 0);
}

TEST(units_of_time_agree) {
    /* Each unit is a thousand of the one below, and now lies between two of its readings. */
    const thrum_time before = thrum_now();
    const thrum_time times[] = {thrum_after_s(2), thrum_after_ms(2000), thrum_after_us(2000000),
                                thrum_after(2000000000)};
    const thrum_time end = thrum_now();
    for (size_t i = 0; i < COUNT_OF(times); i++) {
        CHECK(times[i] >= before + 2000000000 && times[i] <= end + 2000000000);
    }
}

TEST(units_are_constants) {
    /*
     * They may stand where a constant is needed, are wide before they multiply, and are one factor
     * in an expression.
     */
    static const thrum_time table[] = {THRUM_US(5), THRUM_MS(5), THRUM_S(5), THRUM_S(1 + 1)};
    _Static_assert(THRUM_S(1) == THRUM_MS(1000) && THRUM_MS(1) == THRUM_US(1000), "units");
    CHECK_EQ(table[0], 5000);
    CHECK_EQ(table[1], 5000000);
    CHECK_EQ(table[2], 5000000000);
    CHECK_EQ(table[3], 2000000000);
    CHECK_EQ(THRUM_S(86400), 86400000000000);
    CHECK_EQ(-THRUM_MS(3), -3000000);
}

TEST(every_code_has_its_words) {
    /* All codes that calls return have words, and so has every other number. */
    const int codes[] = {0,
                         -EINVAL,
                         -ENOMEM,
                         -EAGAIN,
                         -EBUSY,
                         -EDEADLK,
                         -ESHUTDOWN,
                         -ESRCH,
                         -ETIMEDOUT,
                         -ECANCELED,
                         -EPIPE,
                         -ELOOP,
                         -EIO,
                         -EALREADY,
                         -ENODATA,
                         -EADDRNOTAVAIL,
                         -EAFNOSUPPORT,
                         -EBADMSG,
                         -EDESTADDRREQ,
                         -EHOSTUNREACH,
                         -ENETUNREACH,
                         -ENOBUFS,
                         -ENOPROTOOPT,
                         -EPROTO,
                         -EADDRINUSE,
                         -ECONNRESET,
                         -ECONNREFUSED,
                         -EMSGSIZE,
                         -ENOTSOCK,
                         -ENOTCONN,
                         -EINPROGRESS,
                         -EOVERFLOW,
                         -EOPNOTSUPP,
                         -EOWNERDEAD,
                         -EILSEQ,
                         -ENOSYS,
                         -ENOEXEC,
                         -E2BIG,
                         -ENOTDIR};
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        const char *text = thrum_strerror(codes[i]);
        CHECK(text && text[0] != '\0');
        CHECK(strcmp(text, thrum_strerror(-9999)) != 0);
        for (size_t j = 0; j < i; j++) {
            CHECK(strcmp(text, thrum_strerror(codes[j])) != 0);
        }
    }
    CHECK_STR(thrum_strerror(0), "success");
    /* What the system returns as well, of files and processes, has words for both. */
    CHECK(strstr(thrum_strerror(-ELOOP), "symbolic links") != NULL);
    CHECK(strstr(thrum_strerror(-ESRCH), "no such process") != NULL);
    /* A log of a server has this one when it drains. */
    CHECK_STR(thrum_strerror(-ESHUTDOWN), "the server or scheduler is stopping, or has stopped");
    CHECK_STR(thrum_strerror(-9999), "unknown error");
    CHECK_STR(thrum_strerror(7), "not an error");
}

TEST(other_codes_have_the_words_of_the_system) {
    /* What a call in a task returns (-errno) has words too; a read that failed was no write. */
    const int codes[] = {ENOENT, EACCES, EMFILE, ENOSPC, EIO, EPERM, EINTR};
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        CHECK_STR(thrum_strerror(-codes[i]), strerror(codes[i]));
    }
    CHECK_STR(thrum_strerror(-ECONNREFUSED), "Connection refused"); /* not every C library's */
    CHECK_STR(thrum_strerror(INT_MIN), "unknown error");
    CHECK_STR(thrum_strerror(INT_MIN + 1), "unknown error");
    CHECK_STR(thrum_strerror(-141), "unknown error"); /* beyond Linux's and Windows' last ones */
    errno = 77;
    (void)thrum_strerror(-ENOENT);
    (void)thrum_strerror(-9999);
    CHECK_EQ(errno, 77);
}

TEST(version_is_the_headers) {
    /* The library's name for itself is the one that it was compiled with. */
    char text[64];
    snprintf(text, sizeof(text), "%d.%d.%d", THRUM_VERSION_MAJOR, THRUM_VERSION_MINOR,
             THRUM_VERSION_PATCH);
    CHECK_STR(thrum_version(), text);
}

static void find_it_broken(void *arg) {
    th_check(arg != NULL);
}

TEST(broken_inside_says_where) {
    /*
     * The library's own assertions say file, line and condition, and abort, in release builds too.
     */
    check_dies(find_it_broken, NULL, "thrum: broken inside at ");
    check_dies(find_it_broken, NULL, "unit/platform/base.c:");
    check_dies(find_it_broken, NULL, "arg != NULL");
}
