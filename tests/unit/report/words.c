/*
 * words.c: durations and names as reports have them.
 */
#include "core/report/words.h"

#include "check.h"
#include "support/times.h"

typedef struct said {
    char text[256];
    size_t length;
    int pieces;
} said;

static void say(th_text *text, const char *piece, size_t length) {
    said *s = text->ctx;
    CHECK(s->length + length < sizeof s->text);
    memcpy(s->text + s->length, piece, length);
    s->length += length;
    s->text[s->length] = '\0';
    s->pieces++;
}

static void check_duration(uint64_t ns, const char *expected) {
    said s = {{0}, 0, 0};
    th_text text = {.put = say, .ctx = &s};
    th_text_add_duration(&text, ns);
    CHECK_STR(s.text, expected);
}

TEST(durations_are_in_words) {
    /* Each unit is used from one of it on, seconds with a place below ten; all are rounded down. */
    const uint64_t s = 1000000000;
    check_duration(0, "0 us");
    check_duration(999999, "999 us");
    check_duration(1000000, "1 ms");
    check_duration(s - 1, "999 ms");
    check_duration(s, "1.0 s");
    check_duration(3 * s + 299999999, "3.2 s");
    check_duration(10 * s - 1, "9.9 s");
    check_duration(10 * s, "10 s");
    check_duration(80 * s, "80 s");
    check_duration(120 * s - 1, "119 s");
    check_duration(120 * s, "2 min 0 s");
    check_duration(3600 * s - 1, "59 min 59 s");
    check_duration(3600 * s, "1 h 0 min");
    check_duration(48 * 3600 * s - 1, "47 h 59 min");
    check_duration(50 * 3600 * s, "2 d 2 h");
    check_duration(UINT64_MAX, "213503 d 23 h");
}

static void check_deadline(int64_t deadline, const char *begin, const char *end) {
    said s = {{0}, 0, 0};
    th_text text = {.put = say, .ctx = &s};
    th_text_add_deadline(&text, deadline);
    CHECK(strncmp(s.text, begin, strlen(begin)) == 0);
    CHECK(s.length >= strlen(end) && strcmp(s.text + s.length - strlen(end), end) == 0);
}

TEST(deadlines_are_told_from_now) {
    /* They are ahead or over; none is not told; the earliest and the latest do not overflow. */
    check_deadline(past() + INT64_C(100000000000000), ", due in 27 h ", " min");
    check_deadline(past() - INT64_C(500000000000000), ", due 5 d ", " h ago");
    check_deadline(INT64_MIN, ", due 1", " h ago");
    check_deadline(INT64_MAX - 1, ", due in ", " h");
    check_deadline(TH_FOREVER, "", "");
}

TEST(strings_of_any_length_are_whole) {
    /* Characters of several bytes and such with a backslash are kept together. */
    static const char euro[] = "\xe2\x82\xac";
    for (int before = 0; before < 70; before++) {
        char string[128] = "";
        char expected[256] = "\"";
        said s = {{0}, 0, 0};
        th_text text = {.put = say, .ctx = &s};
        for (int i = 0; i < before; i++) {
            strcat(string, "x");
            strcat(expected, "x");
        }
        strcat(strcat(string, euro), "\\\n\xffz");
        strcat(strcat(expected, euro), "\\\\??z\"");
        th_text_add_quoted(&text, "", string);
        CHECK_STR(s.text, expected);
        CHECK(s.pieces <= 4);
    }
}
