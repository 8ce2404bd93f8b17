/*
 * study.c: reads the variant from THRUM_STUDY before main: words of study.h, separated by commas.
 */
#include "core/policy/local_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

th_study th_study_variant;
th_study_lock th_study_locks[THRUM_WORKERS_MAX];

static bool *field_of(const char *word, size_t length) {
    static const struct {
        const char *word;
        bool *field;
    } words[] = {
        {"mutex", &th_study_variant.mutex},
        {"steal-one", &th_study_variant.steal_one},
        {"overflow-one", &th_study_variant.overflow_one},
        {"grab-one", &th_study_variant.grab_one},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i].word) == length && memcmp(words[i].word, word, length) == 0) {
            return words[i].field;
        }
    }
    return NULL;
}

/* A wrong word ends the program: its figures would be those of another variant. */
__attribute__((constructor)) static void read_variant(void) {
    const char *text = getenv("THRUM_STUDY");
    while (text && *text) {
        const size_t length = strcspn(text, ",");
        bool *field = field_of(text, length);
        if (!field) {
            fprintf(stderr, "thrum: THRUM_STUDY has no word '%.*s'\n", (int)length, text);
            exit(2);
        }
        *field = true;
        text += length + (text[length] == ',');
    }
}
