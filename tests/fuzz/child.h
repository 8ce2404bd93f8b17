/*
 * child.h: a process of its own for what may fail (child.c); where no process forks, this one
 * (child_none.c).
 */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <stddef.h>

/* Whether there are such processes: else what fails ends this one. */
extern const bool child_can_fail;

/* Memory that is shared with these processes, zeroed; NULL: there is none. */
void *child_memory(size_t size);
/* A number that nobody knows. False: there is none. */
bool child_random(void *to, size_t size);

/* What a child does; true: it looks for leaks at its end, too. */
typedef bool (*child_fn)(void *arg);

/*
 * Runs it for at most `seconds`, with no word on stderr if it is to be quiet. Returns NULL if it
 * ended well, else how it did: "it hangs", "it exits with 3", or the signal's text.
 */
#define CHILD_HANGS "it hangs"
const char *child_run(child_fn run, void *arg, int seconds, bool quiet);

#endif
