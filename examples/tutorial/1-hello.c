/*
 * 1-hello.c: starts a scheduler, runs one function as its first task, and stops.
 */
#include <stdio.h>
#include <thrum.h>

static int chat(void *arg) {
    printf("welcome to %s\n", (const char *)arg);
    return 0;
}

int main(void) {
    return thrum_run(NULL, chat, "the chat");
}
