/*
 * hello.c: the smallest program. thrum_run starts a scheduler, runs one function as its first
 * fiber, waits for everything that this starts, and returns the function's result.
 */
#include <stdio.h>
#include <thrum.h>

static int hello(void *arg) {
    printf("hello, %s\n", (const char *)arg);
    return 0;
}

int main(void) {
    return thrum_run(NULL, hello, "world");
}
