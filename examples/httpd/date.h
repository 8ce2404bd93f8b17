/*
 * date.h: dates as HTTP writes them: "Sun, 06 Nov 1994 08:49:37 GMT".
 */
#ifndef HTTPD_DATE_H
#define HTTPD_DATE_H

#include <time.h>

#include "text.h"

enum { DATE_SIZE = 30 }; /* with a 0 at its end */

void date_write(time_t time, char text[DATE_SIZE]);

/* Reads one of the three forms of RFC 9110. Returns -1 for anything else. */
time_t date_read(struct text text);

/* The date that it is, written anew once a second. All zero to begin with. */
struct date_now {
    time_t time;
    char text[DATE_SIZE];
};

/* Returns now->text. */
const char *date_now(struct date_now *now);

#endif
