/*
 * target.c: libFuzzer's entry: bytes become a program, done a step at a time without workers. A
 * program that fails is printed for --replay, and aborts.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool begun;
    static program p;
    outcome out;
    if (!begun) {
        stepped_begin(0, false);
        begun = true;
    }
    program_from_bytes(&p, data, size);
    stepped_run(&p, &out, false);
    if (out.what[0] != '\0') {
        fprintf(stderr, "fuzz: %s\nfuzz: a program that shows it (--replay):\n", out.what);
        program_print(&p, stderr);
        abort();
    }
    return 0;
}
