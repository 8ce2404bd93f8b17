/*
 * main.c: one program of about seventy tests of several files: the switch, the stacks, waits,
 * deadlines, descriptors, a fault, storms. Each foreign processor, C library, system and way to
 * build the library runs it for every commit (tools/run/portable): nothing else has to be built
 * there. On the platform of POSIX alone it has the tests of forks and signals as well.
 */
#define CHECK_PARTS
#include "check.h"
