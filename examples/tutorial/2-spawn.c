/*
 * 2-spawn.c: a task for each guest's message; the first task joins them and gets their results.
 */
#include <stdio.h>
#include <thrum.h>

enum { GUESTS = 3 };

typedef struct message {
    const char *from;
    const char *text;
} message;

static int count_words(void *arg) {
    const message *m = arg;
    int words = 1;
    for (const char *c = m->text; *c != 0; c++) {
        words += *c == ' ';
    }
    return words;
}

static int chat(void *arg) {
    message messages[GUESTS] = {{"Ann", "is anybody here"}, {"Bob", "yes"}, {"Cleo", "me too"}};
    thrum_handle *tasks[GUESTS];
    int started = 0;
    int err = 0;
    (void)arg;
    while (started < GUESTS && err == 0) {
        err = thrum_spawn(&tasks[started], count_words, &messages[started]);
        started += err == 0;
    }
    for (int i = 0; i < started; i++) {
        int words;
        if (thrum_join(tasks[i], &words) == 0) { /* waits, and frees the handle */
            printf("%s: %s (%d)\n", messages[i].from, messages[i].text, words);
        }
    }
    return err;
}

int main(void) {
    return thrum_run(NULL, chat, NULL) != 0;
}
