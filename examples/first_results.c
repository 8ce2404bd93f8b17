/*
 * first_results.c: asks five mirrors, and takes the first two good answers.
 */
#include <stdio.h>
#include <thrum.h>

typedef struct mirror {
    const char *name;
    thrum_time answers_after;
    int answer; /* what it returns: negative is a failure */
} mirror;

static int fetch(void *arg) {
    const mirror *m = arg;
    const int err = thrum_sleep(m->answers_after); /* in place of waiting for the network */
    return err ? err : m->answer;
}

static int entry(void *arg) {
    mirror mirrors[] = {
        {"far", THRUM_S(60), 1},       {"near", THRUM_MS(50), 1},   {"broken", THRUM_MS(1), -EPIPE},
        {"further", THRUM_S(3600), 1}, {"close", THRUM_MS(200), 1},
    };
    thrum_scope scope;
    int good = 0;
    (void)arg;
    int err = thrum_scope_open(&scope, thrum_after_s(30));
    if (err) {
        return err;
    }
    for (size_t i = 0; i < sizeof mirrors / sizeof mirrors[0] && err == 0; i++) {
        err = thrum_scope_spawn(&scope, NULL, fetch, &mirrors[i]);
    }
    while (err == 0 && good < 2) {
        void *which;
        int answer;
        err = thrum_scope_next(&scope, &which, &answer); /* in the order in which they end */
        if (err == 0) {
            printf("%s: %s\n", ((mirror *)which)->name, answer < 0 ? thrum_strerror(answer) : "ok");
            good += answer > 0;
        }
    }
    thrum_scope_cancel(&scope); /* the others need not go on */
    const int reason = thrum_scope_join(&scope);
    return err == 0 && reason == -ECANCELED ? 0 : 1;
}

int main(void) {
    return thrum_run(NULL, entry, NULL);
}
