/*
 * fiber_local.c: values that belong to the running task, on any thread. A value that a task leaves
 * under a key goes to the key's destructor when the task ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <thrum.h>

enum { TASKS = 50 };

static thrum_key request; /* each task's own int */
static thrum_waitgroup destroyed = THRUM_WAITGROUP_INIT(TASKS);

static void drop(void *value) {
    free(value);
    thrum_waitgroup_done(&destroyed);
}

/* Called deep in a program: the request of the running task, which no caller passed down. */
static int current_request(void) {
    const int *number = thrum_key_get(request);
    return !number ? -1 : *number;
}

static int serve(void *arg) {
    int *number = malloc(sizeof *number);
    if (!number || current_request() != -1) { /* every task begins without a value */
        abort();
    }
    *number = *(int *)arg;
    if (thrum_key_set(request, number) != 0) {
        abort();
    }
    thrum_yield(); /* the others set theirs; this task may go on elsewhere */
    return current_request() == *(int *)arg ? 0 : 1;
}

static int run(void *arg) {
    (void)arg;
    int numbers[TASKS];
    thrum_handle *tasks[TASKS];
    for (int i = 0; i < TASKS; i++) {
        numbers[i] = i;
        if (thrum_spawn(&tasks[i], serve, &numbers[i]) != 0) {
            abort();
        }
    }
    int wrong = 0;
    for (int i = 0; i < TASKS; i++) {
        int result;
        wrong += thrum_join(tasks[i], &result) != 0 || result != 0;
    }
    wrong += thrum_waitgroup_wait(&destroyed) != 0;
    printf("%d requests, %d mixed up\n", TASKS, wrong);
    return wrong;
}

int main(void) {
    if (thrum_key_create(&request, drop) != 0) {
        return 1;
    }
    int wrong = thrum_run(NULL, run, NULL);
    return thrum_key_delete(request) == 0 && wrong == 0 ? 0 : 1;
}
