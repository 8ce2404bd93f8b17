/*
 * base.c: times, codes, the version, and the line in which the library says that it is wrong.
 */
#include "support/support.h"

#include "base/check.h"

TEST(times_saturate) {
    /* What lies past the end of time is for ever; what lies far back is long past. */
    CHECK_EQ(thrum_after(INT64_MAX), THRUM_FOREVER);
    CHECK_EQ(thrum_after_us(INT64_MAX), THRUM_FOREVER);
    CHECK_EQ(thrum_after_ms(INT64_MAX), THRUM_FOREVER);
    CHECK_EQ(thrum_after_s(INT64_MAX), THRUM_FOREVER);
    CHECK_EQ(thrum_after_s(INT64_MAX / 1000000000), THRUM_FOREVER); /* with what now is */
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

TEST(every_code_has_its_words) {
    /* All the codes that calls return, and words for whatever else comes. */
    const int codes[] = {0,        -EINVAL,    -ENOMEM,    -EAGAIN,    -EBUSY,
                         -EDEADLK, -ESHUTDOWN, -ETIMEDOUT, -ECANCELED, -ENOTSUP,
                         -EPIPE,   -ELOOP,     -EIO,       -EALREADY,  -ENODATA};
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        const char *text = thrum_strerror(codes[i]);
        CHECK(text != NULL && text[0] != '\0');
        CHECK(strcmp(text, thrum_strerror(-9999)) != 0);
        for (size_t j = 0; j < i; j++) {
            CHECK(strcmp(text, thrum_strerror(codes[j])) != 0);
        }
    }
    CHECK_STR(thrum_strerror(0), "success");
    CHECK_STR(thrum_strerror(-9999), "unknown error");
    CHECK_STR(thrum_strerror(7), "not an error");
}

TEST(version_is_the_headers) {
    /* What the library calls itself and what it was compiled with are one. */
    char text[64];
    snprintf(text, sizeof(text), "%d.%d.%d", THRUM_VERSION_MAJOR, THRUM_VERSION_MINOR,
             THRUM_VERSION_PATCH);
    CHECK_STR(thrum_version(), text);
}

static void find_it_broken(void *arg) {
    th_check(arg != NULL);
}

TEST(broken_inside_says_where) {
    /* The library's own assertions, in release builds too: file, line and condition, and abort. */
    check_dies(find_it_broken, NULL, "thrum: broken inside at ");
    check_dies(find_it_broken, NULL, "unit/base.c:");
    check_dies(find_it_broken, NULL, "arg != NULL");
}
