/*
 * text.h: names that a program gave, as text for people and for other programs. A name may hold
 * anything; it is printed as UTF-8 without controls, so that it can neither end a line or a string
 * early nor control a terminal.
 */
#ifndef TH_TEXT_H
#define TH_TEXT_H

#include "base/cc.h"

#define TH_TEXT_CHAR 4u /* the most bytes that a character has */

/*
 * Writes the next character of *string, which is not empty, to `out` as it may be printed, and
 * moves *string behind it. Returns how many bytes of `out` it takes. A control character, and a
 * byte that is not part of a character, become '?'. With `quoted` a quote and a backslash get a
 * backslash, as JSON and Prometheus read strings. It uses no library and allocates nothing, so
 * signal handlers may call it.
 */
unsigned th_text_char(const char **string, bool quoted, char out[TH_TEXT_CHAR]);

/* How many of a string's bytes to keep where there is room for `most`, cut between characters. */
size_t th_text_cut(const char *string, size_t most);

#endif
