/*
 * text.h: names that a program gave, as text for people and for other programs. A name may hold
 * anything; what is printed of it is UTF-8 without controls, so that it can neither end a line or a
 * string early nor tell a terminal anything.
 */
#ifndef TH_TEXT_H
#define TH_TEXT_H

#include "base/cc.h"

#define TH_TEXT_CHAR 4u /* bytes of a character, at most */

/*
 * The next character of *string, which does not end here, as it may be printed; *string moves on
 * behind it. Returns how many bytes of `out` it takes. A control, and a byte that is part of no
 * character, become '?'. With `quoted` a quote and a backslash get a backslash, as JSON and
 * Prometheus read strings. No library, no allocation: handlers of signals may call it.
 */
unsigned th_text_char(const char **string, bool quoted, char out[TH_TEXT_CHAR]);

/* How many of a string's bytes may be kept where there is room for `most`: it is cut between two
 * characters. */
size_t th_text_cut(const char *string, size_t most);

#endif
