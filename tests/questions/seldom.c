/* seldom.c: "One request in a thousand takes 100 ms." One of them has a large table to sort. */
#include <stdlib.h>
#include <thrum.h>

enum { REQUESTS = 1000, LARGE = 30000 };

static int table[LARGE];
static thrum_waitgroup done;

__attribute__((noinline)) static void sort_slowly(int *numbers, int count) {
    for (int i = 1; i < count; i++) {
        for (int k = i; k > 0 && numbers[k - 1] > numbers[k]; k--) {
            int moved = numbers[k];
            numbers[k] = numbers[k - 1];
            numbers[k - 1] = moved;
        }
    }
}

__attribute__((noinline)) static int report_of(int count) {
    for (int i = 0; i < count; i++) {
        table[i] = count - i;
    }
    sort_slowly(table, count);
    return table[0];
}

static int answers(void *arg) {
    int count = *(int *)arg;
    int first = report_of(count);
    thrum_waitgroup_done(&done);
    return first;
}

static int start(void *arg) {
    static int counts[REQUESTS];
    int err = 0;
    (void)arg;
    thrum_waitgroup_init(&done, 0);
    thrum_waitgroup_add(&done, REQUESTS);
    for (int i = 0; i < REQUESTS && err == 0; i++) {
        counts[i] = i == 500 ? LARGE : 10;
        thrum_attr attr = THRUM_ATTR_INIT;
        attr.name = i == 500 ? "request 500" : NULL;
        err = thrum_go_with(&attr, answers, &counts[i]);
    }
    return err != 0 ? err : thrum_waitgroup_wait(&done);
}

int main(void) {
    return thrum_run(NULL, start, NULL);
}
