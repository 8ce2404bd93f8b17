/*
 * leaks.c: memory of the test that is not freed, or written past its end.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"

typedef struct node {
    struct node *next;
    char text[24];
} node;

/* Volatile, so that the compiler leaves no access out. */
static node *volatile kept;
static _Thread_local void *volatile local;

static node *new_node(node *next) {
    node *n = malloc(sizeof *n);
    n->next = next;
    return n;
}

int forgets_list(void *arg) {
    (void)arg;
    node *list = NULL;
    for (int i = 0; i < 3; i++) {
        list = new_node(list);
    }
    THRUM_TEST(list->next->next->next == NULL);
    return 0;
}

int forgets_cycle(void *arg) {
    (void)arg;
    kept = new_node(new_node(NULL));
    kept->next->next = kept;
    kept = NULL;
    return 0;
}

/* Static data, a thread-local, a block that these point to, its middle and the C library do. */
int keeps_memory(void *arg) {
    pthread_key_t key;
    static char *volatile inner;
    kept = new_node(new_node(NULL));
    local = malloc(10);
    *(void **)early = malloc(100);
    (void)arg;
    inner = (char *)aligned_alloc(64, 640) + 100;
    THRUM_TEST(pthread_key_create(&key, NULL) == 0);
    THRUM_TEST(pthread_setspecific(key, malloc(5)) == 0);
    THRUM_TEST(putenv(strdup("LEAKS=none")) == 0);
    THRUM_TEST(inner != NULL);
    MUST(pthread_key_delete(key));
    return 0;
}

int writes_past_end(void *arg) {
    volatile char *volatile block = malloc(21);
    (void)arg;
    block[21] = 'x';
    free((char *)(uintptr_t)block);
    return 0;
}

int writes_past_kept(void *arg) {
    kept = new_node(NULL);
    (void)arg;
    ((volatile char *)kept)[sizeof *kept] = 'x';
    return 0;
}
