/*
 * builds.c: a test with three mistakes, for builds.py: two tasks that write, a read of freed
 * memory, a write past a block. The first argument names one.
 */
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <thrum/test.h>

static int shared;
static const char *mistake = "";

static int writes(void *arg) {
    (void)arg;
    shared++;
    return 0;
}

static int test(void *arg) {
    thrum_handle *handle;
    char *block = malloc(16);
    (void)arg;
    THRUM_TEST(block);
    memset(block, 1, 16);
    if (!strcmp(mistake, "past")) {
        memset(block, 1, 17);
    }
    THRUM_TEST(thrum_spawn(&handle, writes, NULL) == 0);
    if (!strcmp(mistake, "race")) {
        shared++;
    }
    THRUM_TEST(thrum_join(handle, NULL) == 0);
    free(block);
    return strcmp(mistake, "freed") == 0 && block[3] == 1;
}

int main(int argc, char **argv) {
    if (argc > 1 && argv[1][0] != '-') {
        mistake = argv[1];
        argv++;
        argc--;
    }
    return thrum_test_main(argc, argv, test, NULL);
}
