/*
 * date.c: see date.h.
 */
#define _GNU_SOURCE 1
#define _POSIX_C_SOURCE 200809L
#include "date.h"

#include <stdint.h>
#include <stdio.h>

static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

void date_write(time_t time, char text[DATE_SIZE]) {
    struct tm tm;
    char room[160]; /* for years that no file has */
    if (!gmtime_r(&time, &tm)) {
        tm = (struct tm){.tm_mday = 1};
    }
    snprintf(room, sizeof room, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[tm.tm_wday % 7],
             tm.tm_mday, months[tm.tm_mon % 12], tm.tm_year + 1900, tm.tm_hour, tm.tm_min,
             tm.tm_sec);
    room[DATE_SIZE - 1] = '\0';
    memcpy(text, room, DATE_SIZE);
}

/* ---- reading ---- */

struct parts {
    char weekday[10], month[4];
    int day, year, hour, minute, second;
};

/* Whether it is all of the text, in one of the three forms. */
static bool take_parts(const char *text, struct parts *p) {
    int end = 0;
    sscanf(text, "%3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d GMT%n", p->weekday, &p->day, p->month,
           &p->year, &p->hour, &p->minute, &p->second, &end);
    if (end > 0) {
        return text[end] == '\0';
    }
    sscanf(text, "%9[A-Za-z], %2d-%3[A-Za-z]-%2d %2d:%2d:%2d GMT%n", p->weekday, &p->day, p->month,
           &p->year, &p->hour, &p->minute, &p->second, &end);
    if (end > 0) {
        p->year += p->year < 69 ? 2000 : 1900;
        return text[end] == '\0';
    }
    sscanf(text, "%3[A-Za-z] %3[A-Za-z] %2d %2d:%2d:%2d %4d%n", p->weekday, p->month, &p->day,
           &p->hour, &p->minute, &p->second, &p->year, &end);
    return end > 0 && text[end] == '\0';
}

static bool is_within(int value, int min, int max) {
    return value >= min && value <= max;
}

/* From 1970 on, of a month from 0 on; years begin in March here, so that a leap day is their last.
 */
static int64_t days_of(int year, int month, int day) {
    const int64_t from = year - (month < 2);
    const int64_t in_year = (153 * ((month + 10) % 12) + 2) / 5 + day - 1;
    return from * 365 + from / 4 - from / 100 + from / 400 + in_year - 719468;
}

time_t date_read(struct text text) {
    struct parts p = {.year = -1};
    char copy[48];
    int month = 0;
    if (text.length >= sizeof copy) {
        return -1;
    }
    memcpy(copy, text.at, text.length);
    copy[text.length] = '\0';
    if (!take_parts(copy, &p)) {
        return -1;
    }
    const struct text name = {.at = p.month, .length = strlen(p.month)};
    while (month < 12 && !text_is(name, months[month])) {
        month++;
    }
    if (month == 12 || !is_within(p.year, 1, 9999) || !is_within(p.day, 1, 31) ||
        !is_within(p.hour, 0, 23) || !is_within(p.minute, 0, 59) || !is_within(p.second, 0, 60)) {
        return -1;
    }
    return (time_t)(days_of(p.year, month, p.day) * 86400 + p.hour * 3600 + p.minute * 60 +
                    p.second);
}

const char *date_now(struct date_now *now) {
    const time_t present = time(NULL);
    if (present != now->time) {
        now->time = present;
        date_write(present, now->text);
    }
    return now->text;
}
