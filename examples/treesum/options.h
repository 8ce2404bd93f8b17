/*
 * options.h: what the command line asks for.
 */
#ifndef TREESUM_OPTIONS_H
#define TREESUM_OPTIONS_H

#include <stdbool.h>
#include <thrum.h>

struct options {
    bool follow, serial, stats;
    thrum_config config; /* workers and policy; the rest as thrum_config_init left it */
    char **paths;
    int path_count;
};

#endif
