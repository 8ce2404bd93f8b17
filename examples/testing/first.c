/*
 * first.c: the smallest test: an hour of virtual time, in a thousand orders.
 */
#include <thrum.h>
#include <thrum/test.h>

static int sleeps_an_hour(void *arg) {
    const thrum_time began = thrum_now();
    (void)arg;
    THRUM_TEST(thrum_sleep(THRUM_S(3600)) == 0);
    THRUM_TEST(thrum_now() - began == THRUM_S(3600));
    return 0;
}

int main(int argc, char **argv) {
    return thrum_test_main(argc, argv, sleeps_an_hour, NULL);
}
