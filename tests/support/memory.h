/*
 * memory.h: whether the machine has as much memory as a crowd of stacks takes.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include "check.h"

/* The number after a label at the start of a line of a file; -1: there is none, so no limit. */
CHECK_UNUSED static long long memory_number(const char *path, const char *label) {
    char line[256];
    long long number = -1;
    const size_t length = strlen(label);
    FILE *in = fopen(path, "r");
    while (in && number < 0 && fgets(line, sizeof line, in)) {
        if (strncmp(line, label, length) == 0 && sscanf(line + length, "%lld", &number) != 1) {
            number = -1;
        }
    }
    if (in) {
        fclose(in);
    }
    return number;
}

CHECK_UNUSED static void memory_check(const char *of, long long limit, long long wanted) {
    if (limit >= 0 && limit < wanted) {
        CHECK_SKIP("%s: %lld MB, but %lld MB are needed", of, limit >> 20, wanted >> 20);
    }
}

/*
 * Skips a test that cannot have so many stacks of so many bytes, each with a page that is used:
 * memory that is free or allowed is not enough, or address space is limited or counts as used.
 */
CHECK_UNUSED static void needs_stacks(int count, size_t stack_size, size_t page) {
    const char meminfo[] = "/proc/meminfo";
    const long long used = count * (long long)(page + 100); /* with the other parts of a fiber */
    const long long mapped = count * (long long)(stack_size + page + 600); /* with its guard */
    memory_check("free memory", memory_number(meminfo, "MemAvailable:") * 1024, used);
    memory_check("the container's memory", memory_number("/sys/fs/cgroup/memory.max", ""), used);
    memory_check("the address space", memory_number("/proc/self/limits", "Max address space"),
                 mapped);
    if (memory_number("/proc/sys/vm/overcommit_memory", "") == 2) {
        const long long left =
            memory_number(meminfo, "CommitLimit:") - memory_number(meminfo, "Committed_AS:");
        memory_check("memory that may be mapped", left > 0 ? left * 1024 : 0, mapped);
    }
}

#endif
