/*
 * text.h: some bytes that belong to somebody else, and numbers in them.
 */
#ifndef KV_TEXT_H
#define KV_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    const char *at;
    size_t size;
};

/* The most digits of a number, its sign included. */
#define NUMBER_MAX 20

/*
 * Reads a number that is written as this server would write it: no spaces, no plus sign, no zeros
 * in front. Returns whether it is a number that fits.
 */
bool number_parse(int64_t *out, struct text from);

/* Writes a number, at most NUMBER_MAX bytes and no zero at the end. Returns how many. */
size_t number_write(char *to, int64_t number);

/* Whether a text is this word, small and capital letters alike. */
bool text_is(struct text text, const char *word);

#endif
