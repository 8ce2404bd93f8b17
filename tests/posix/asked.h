/*
 * asked.h: a part of support/report/asked.h: threads by their names, as /proc has them.
 */
#ifndef POSIX_ASKED_H
#define POSIX_ASKED_H

#include <dirent.h>

/* Counts the threads that print dumps. */
static inline int printers(void) {
    char path[300];
    int n = 0;
    DIR *all = opendir("/proc/self/task");
    CHECK(all != NULL);
    for (const struct dirent *e; (e = readdir(all)) != NULL;) {
        char name[32] = "";
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
        FILE *f = fopen(path, "r");
        if (f) {
            n += fgets(name, sizeof(name), f) && strcmp(name, "thrum/dump\n") == 0;
            fclose(f);
        }
    }
    closedir(all);
    return n;
}

#endif
