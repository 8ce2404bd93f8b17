/*
 * print.h: reports to a stderr that may be a pipe that nobody reads.
 */
#ifndef TH_PRINT_H
#define TH_PRINT_H

#include <stdint.h>

/*
 * Writes the report page by page, as stderr takes them. While it takes none, it looks some fifty
 * times a second whether the instant in `xpatience` has passed, which a stop may lower to its
 * deadline: then the rest is left out. It is called by watchers; where there is none for deadlocks,
 * by the thread that goes to sleep last.
 */
void th_print_until(const char *report, const int64_t *xpatience);

#endif
