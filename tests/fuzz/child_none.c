/*
 * child_none.c: child.h where no process forks. CTest ends what hangs.
 */
#include "child.h"

/* Of the system's, for rand_s. */
#define _CRT_RAND_S
#include <stdlib.h>
#include <string.h>

const bool child_can_fail = false;

void *child_memory(size_t size) {
    return calloc(1, size);
}

bool child_random(void *to, size_t size) {
    unsigned word = 0;
    for (size_t at = 0; at < size; at += sizeof(word)) {
        if (rand_s(&word) != 0) {
            return false;
        }
        memcpy((char *)to + at, &word, size - at < sizeof(word) ? size - at : sizeof(word));
    }
    return true;
}

const char *child_run(child_fn run, void *arg, int seconds, bool quiet) {
    (void)seconds;
    (void)quiet;
    (void)run(arg);
    return NULL;
}
