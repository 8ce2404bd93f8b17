/*
 * range.h: which part of a file a request asks for.
 */
#ifndef HTTPD_RANGE_H
#define HTTPD_RANGE_H

#include <stdint.h>

#include "text.h"

enum ranged {
    RANGE_WHOLE, /* the field is not understood, or has several ranges: all of it */
    RANGE_PART,
    RANGE_NONE /* there is no such part */
};

/* Reads the value of a Range field, for `size` bytes; sets the part only for RANGE_PART. */
enum ranged range_read(struct text field, uint64_t size, uint64_t *offset, uint64_t *length);

#endif
