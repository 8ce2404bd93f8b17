/*
 * spawn_join.c: a spawned task gives its result to the task that joins it.
 */
#include <stdint.h>
#include <stdio.h>
#include <thrum.h>

enum { N = 18, EXPECTED = 2584 };

/* Returns a Fibonacci number, on purpose with a task for each addition. */
static int fib(void *arg) {
    intptr_t n = (intptr_t)arg;
    if (n < 2) {
        return (int)n;
    }
    thrum_handle *child;
    int err = thrum_spawn(&child, fib, (void *)(n - 1));
    if (err != 0) {
        return err;
    }
    int right = fib((void *)(n - 2));
    int left;
    err = thrum_join(child, &left); /* also frees the handle: join each exactly once */
    if (err != 0 || left < 0 || right < 0) {
        return err != 0 ? err : left < 0 ? left : right;
    }
    return left + right;
}

int main(void) {
    int result = thrum_run(NULL, fib, (void *)(intptr_t)N);
    if (result < 0) {
        fprintf(stderr, "spawn_join: %s\n", thrum_strerror(result));
        return 1;
    }
    printf("fib(%d) = %d\n", N, result);
    return result == EXPECTED ? 0 : 1;
}
