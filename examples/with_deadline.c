/*
 * with_deadline.c: three questions are asked one after the other, all within 50 ms: the deadline is
 * for the caller's own waits. (A scope's deadline is its children's.)
 */
#include <stdio.h>
#include <thrum.h>

typedef struct question {
    const char *text;
    thrum_time answered_after;
    bool answered;
} question;

typedef struct talk {
    question questions[3];
} talk;

static int ask_all(void *arg) {
    talk *t = arg;
    for (size_t i = 0; i < sizeof t->questions / sizeof t->questions[0]; i++) {
        question *q = &t->questions[i];
        int err = thrum_sleep(q->answered_after); /* in place of waiting for the network */
        if (err) {
            return err; /* -ECANCELED: past the deadline no wait takes any time */
        }
        q->answered = true;
    }
    return 0;
}

static int entry(void *arg) {
    talk t = {{{"your name?", 1000000, false},
               {"your age?", 1000000, false},
               {"the meaning of it all?", 60000000000, false}}}; /* a minute */
    int result = 0;
    (void)arg;
    int err = thrum_with_deadline(thrum_after_ms(50), ask_all, &t, &result);
    printf("the talk: %s; it returned: %s\n", thrum_strerror(err), thrum_strerror(result));
    for (size_t i = 0; i < sizeof t.questions / sizeof t.questions[0]; i++) {
        printf("%s %s\n", t.questions[i].text,
               t.questions[i].answered ? "answered" : "not in time");
    }
    /* The caller goes on as before. */
    return thrum_cancelled() || err != -ETIMEDOUT || result != -ECANCELED;
}

int main(void) {
    return thrum_run(NULL, entry, NULL);
}
