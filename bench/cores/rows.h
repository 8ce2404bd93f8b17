/*
 * rows.h: the measurements on the simulated machine, and their results.
 */
#ifndef CORES_ROWS_H
#define CORES_ROWS_H

#include <stdint.h>

enum { CORES_MAX = 128 };

typedef struct result {
    double ns;    /* simulated, of the whole measurement */
    uint64_t ops; /* in it */
    double ideal; /* ops a ns with so many processors, if nothing but the tasks' own work took time;
                     0: there is no such bound */
} result;

typedef struct row {
    const char *name, *what;
    void (*run)(unsigned workers, result *out); /* on a simulated thread that is no worker */
} row;

extern const row the_rows[];
extern const unsigned the_rows_count;

/* The config's; 0: the default. */
extern unsigned cores_searchers_max;

/* Work of a task's own, which touches no memory. */
void cores_work(double ns);
/* The caller's clock, in ns. */
double cores_clock(void);
/* From now on misses are counted. */
void cores_count(void);

#endif
