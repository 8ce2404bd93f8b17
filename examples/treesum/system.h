/*
 * system.h: the differences between systems, beside files (disk.h, beneath.h) and signals (quit.h).
 */
#ifndef TREESUM_SYSTEM_H
#define TREESUM_SYSTEM_H

#include <errno.h>
#include <stddef.h>

#ifndef ESTALE
#define ESTALE 10070 /* as Windows has it for sockets */
#endif

/*
 * First call in main: a reader that has gone is a write error from now on; and the arguments are in
 * UTF-8 where the system has them in anything else.
 */
void system_begin(int *argc, char ***argv);

/* How many files this process may have open. */
unsigned system_files_max(void);
/* The most memory that it has had so far. */
unsigned long long system_peak_kib(void);

/* Writes all to stdout or stderr (STDERR_FILENO): 0 or an errno. May block the thread. */
int system_write(int fd, const char *text, size_t size);
/* An errno in words. */
const char *system_words(int err);

void system_sort(void *base, size_t n, size_t size,
                 int (*compare)(const void *, const void *, void *), void *arg);

#endif
