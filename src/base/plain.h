/*
 * plain.h: text that is made without the C library's means, so that signal handlers may make it: it
 * takes no memory and no lock, and reads no locale.
 *
 * Words:      a *plain text* is a buffer from its user, and a function that takes the buffer's
 *             contents whenever it is full.
 */
#ifndef TH_PLAIN_H
#define TH_PLAIN_H

#include "base/cc.h"

typedef struct th_plain {
    void (*take)(void *ctx, const char *bytes, size_t length);
    void *ctx;
    char *bytes;   /* the user's buffer */
    size_t room;   /* its size */
    size_t length; /* how much of it is full */
} th_plain;

/* Adds bytes as they are. */
void th_plain_bytes(th_plain *text, const char *bytes, size_t length);

/* As printf, with %s, %d, %u and %x of int, long and long long, and a
 * width with zeroes ("%03d"). */
TH_PRINTF(2, 3) void th_plain_put(th_plain *text, const char *format, ...);

/* Adds a string in quotes, as people and JSON read it (text.h). */
void th_plain_quoted(th_plain *text, const char *string);

/* Hands over the buffer's contents. */
void th_plain_flush(th_plain *text);

#endif
