/*
 * date.c: see date.h.
 */
#define _GNU_SOURCE 1
#include "date.h"

#include <stdio.h>

void date_write(time_t time, char text[DATE_SIZE]) {
    static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct tm tm = {.tm_mday = 1};
    char room[96]; /* for years that no file has */
    gmtime_r(&time, &tm);
    snprintf(room, sizeof room, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[tm.tm_wday % 7],
             tm.tm_mday, months[tm.tm_mon % 12], tm.tm_year + 1900, tm.tm_hour, tm.tm_min,
             tm.tm_sec);
    room[DATE_SIZE - 1] = '\0';
    memcpy(text, room, DATE_SIZE);
}

time_t date_read(struct text text) {
    static const char *const forms[] = {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
                                        "%a %b %e %H:%M:%S %Y"};
    char copy[48];
    if (text.length >= sizeof copy) {
        return -1;
    }
    memcpy(copy, text.at, text.length);
    copy[text.length] = '\0';
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct tm tm = {0};
        const char *end = strptime(copy, forms[i], &tm);
        if (end != NULL && *end == '\0') {
            return timegm(&tm);
        }
    }
    return -1;
}

const char *date_now(struct date_now *now) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME_COARSE, &time);
    if (time.tv_sec != now->time) {
        now->time = time.tv_sec;
        date_write(time.tv_sec, now->text);
    }
    return now->text;
}
