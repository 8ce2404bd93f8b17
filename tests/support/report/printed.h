/*
 * printed.h: the output to a stream, as one text. Not every system has open_memstream.
 */
#ifndef PRINTED_H
#define PRINTED_H

#include "check.h"

/* Reads all of a stream that tmpfile has made, and closes it. The caller frees the text. */
CHECK_UNUSED static char *printed_end(FILE *out, size_t *length) {
    CHECK_EQ(fflush(out), 0);
    const long size = ftell(out);
    char *text = size < 0 ? NULL : (char *)malloc((size_t)size + 1);
    CHECK(text != NULL);
    rewind(out);
    *length = fread(text, 1, (size_t)size, out);
    CHECK_EQ(*length, size);
    text[*length] = '\0';
    CHECK_EQ(fclose(out), 0);
    return text;
}

#endif
