/*
 * study.c: reads the variant from THRUM_STUDY before main: words of study.h, separated by commas.
 */
#include "core/policy/local_queue.h"
#include "core/state/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

th_study th_study_variant;
th_study_lock th_study_locks[THRUM_WORKERS_MAX];
th_study_turn th_study_turns[THRUM_WORKERS_MAX];

static bool *field_of(const char *word, size_t length) {
    static const struct {
        const char *word;
        bool *field;
    } words[] = {
        {"mutex", &th_study_variant.mutex},
        {"steal-one", &th_study_variant.steal_one},
        {"overflow-one", &th_study_variant.overflow_one},
        {"grab-one", &th_study_variant.grab_one},
        {"unbounded", &th_study_variant.unbounded},
        {"take-all", &th_study_variant.take_all},
        {"alternate", &th_study_variant.alternate},
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
    th_study_variant.mutex = th_study_variant.mutex || th_study_variant.unbounded;
}

/* All who read the slots have the lock, so the old ones are freed at once. */
void th_study_grow(th_worker *worker, uint64_t more) {
    th_ring *ring = &worker->ring;
    const uint64_t head = th_ring_head(ring);
    const uint64_t tail = th_ring_tail(ring);
    uint64_t capacity = th_ring_capacity(ring);
    while (capacity < tail - head + more) {
        capacity *= 2;
    }
    th_work **slots = th_sched_alloc(worker->sched, capacity * sizeof *slots);
    if (!slots) {
        return;
    }
    for (uint64_t at = head; at != tail; at++) {
        slots[at & (capacity - 1)] = th_load_relaxed(th_ring_slot(ring, at)); /* relaxed: locked */
    }
    th_sched_free(worker->sched, ring->xslots);
    ring->xslots = slots;
    ring->mask = capacity - 1;
}
