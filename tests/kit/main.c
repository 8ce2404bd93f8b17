/*
 * main.c: runs one kernel: kernels NAME [fixed] [OPTION...]; without a name, it lists them.
 */
#include <stdio.h>

#include "kernels.h"

kernel *kernels;
bool fixed;

static thrum_handle *handles[8];
static unsigned started;

void go(thrum_fn fn, void *arg) {
    MUST(thrum_spawn(&handles[started++], fn, arg));
}

void join_all(void) {
    for (unsigned i = 0; i < started; i++) {
        MUST(thrum_join(handles[i], NULL));
    }
}

int main(int argc, char **argv) {
    for (kernel *k = kernels; k; k = k->next) {
        if (argc < 2) {
            printf("%s %s\n", k->name, k->fault);
        } else if (!strcmp(argv[1], k->name)) {
            int skip = 1;
            if (argc > 2 && !strcmp(argv[2], "fixed")) {
                fixed = true;
                skip = 2;
            }
            argv[skip] = argv[0];
            return thrum_test_main(argc - skip, argv + skip, k->run, NULL);
        }
    }
    return argc < 2 ? 0 : 2;
}
