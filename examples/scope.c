/*
 * scope.c: three mirrors are asked for the same thing; the first error ends the others' waiting.
 */
#include <stdio.h>
#include <thrum.h>

typedef struct mirror {
    const char *name;
    thrum_time answers_after;
    int answer; /* 0, or the code of the failure */
    int got;    /* the result that the caller of fetch saw */
} mirror;

static int fetch(void *arg) {
    mirror *m = arg;
    m->got = thrum_sleep(m->answers_after); /* in place of waiting for the network */
    if (m->got == 0) {
        m->got = m->answer;
    }
    return m->got; /* below 0: a failure, which cancels the scope */
}

static int entry(void *arg) {
    mirror mirrors[] = {
        {"near", 1000000, 0, 1},
        {"broken", 5000000, -EPIPE, 1},
        {"far", 60000000000, 0, 1}, /* a minute */
    };
    thrum_scope scope;
    (void)arg;
    int err = thrum_scope_open(&scope, thrum_after_s(30));
    if (err) {
        return err;
    }
    for (size_t i = 0; i < sizeof mirrors / sizeof mirrors[0]; i++) {
        /* the join returns the error if it could not start */
        thrum_scope_go(&scope, fetch, &mirrors[i]);
    }
    err = thrum_scope_join(&scope); /* waits for all; the far one does not take a minute */
    printf("the scope: %s\n", thrum_strerror(err));
    for (size_t i = 0; i < sizeof mirrors / sizeof mirrors[0]; i++) {
        printf("%s: %s\n", mirrors[i].name, thrum_strerror(mirrors[i].got));
    }
    return err == -EPIPE ? 0 : 1;
}

int main(void) {
    return thrum_run(NULL, entry, NULL);
}
