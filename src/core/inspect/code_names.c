/*
 * code_names.c: see code_names.h.
 */
#include "core/inspect/code_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/state/driver.h"

/* 256 places. */
#define SETS 32u
#define PLACES 8u

/* The most that a report may read of files, so that its time has a bound. */
#define READ_MAX ((uint64_t)1 << 30)

/* A place's key is its address, and which of the three questions was asked; 0: none yet. */
typedef struct set {
    uint64_t keys[PLACES];
    unsigned next; /* the place that goes next */
} set;

struct th_code_memory {
    set sets[SETS];
    th_known_call known[SETS][PLACES]; /* of functions only `text` is used */
    th_os_symbols symbols;
};

void th_code_names_begin(th_code_names *names, thrum_sched *sched) {
    *names = (th_code_names){.sched = sched};
}

void th_code_names_end(th_code_names *names) {
    th_sched_free(names->sched, names->memory);
    names->memory = NULL;
}

static struct th_code_memory *memory_of(th_code_names *names) {
    if (!names->memory && !names->refused) {
        names->memory = th_sched_alloc(names->sched, sizeof *names->memory);
        names->refused = !names->memory;
        if (names->memory) {
            names->memory->symbols.left = READ_MAX;
        }
    }
    return names->memory;
}

/* The place of this key; `*is_new`: nothing is known of it yet. */
static th_known_call *place_of(struct th_code_memory *memory, uint64_t key, bool *is_new) {
    const unsigned number = (unsigned)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) % SETS;
    set *s = &memory->sets[number];
    unsigned i = 0;
    while (i < PLACES && s->keys[i] != key) {
        i++;
    }
    *is_new = i == PLACES;
    if (*is_new) {
        i = s->next;
        s->next = (s->next + 1) % PLACES;
        s->keys[i] = key;
    }
    return &memory->known[number][i];
}

/* ---- functions ---- */

const char *th_code_names_function(th_code_names *names, uintptr_t address,
                                   char text[TH_CALL_TEXT]) {
    struct th_code_memory *memory = memory_of(names);
    bool is_new;
    if (!memory) {
        th_os_code_name(address, text, TH_CALL_TEXT, NULL);
        return text;
    }
    th_known_call *known = place_of(memory, (uint64_t)address << 2 | 1, &is_new);
    if (is_new) {
        th_os_code_name(address, known->text, sizeof known->text, &memory->symbols);
    }
    return known->text;
}

/* ---- calls ---- */

/*
 * Whether the code is the C library's or the like, which does not call the program's code. If it is
 * found before a call of the program's, it is left over from calls that have ended.
 */
static bool is_system(const char *file) {
    static const char *const names[] = {"libc.",       "libc-",     "libpthread", "ld-",
                                        "ld.",         "libasan",   "libtsan",    "linux-vdso",
                                        "ntdll.",      "kernel32.", "KERNEL32.",  "kernelbase.",
                                        "KERNELBASE.", "msvcrt.",   "ucrtbase."};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!strncmp(file, names[i], strlen(names[i]))) {
            return true;
        }
    }
    return false;
}

static void word(th_known_call *known, const th_os_place *place) {
    known->of_system = is_system(place->file);
    known->function = place->symbol[0] ? place->at - place->past : 0;
    known->leads = place->leads;
    if (known->is_call && place->symbol[0]) {
        snprintf(known->text, sizeof known->text, "%.56s+0x%" PRIxPTR " (%.80s+0x%" PRIxPTR ")",
                 place->file, place->offset, place->symbol, place->past);
    } else if (known->is_call) {
        snprintf(known->text, sizeof known->text, "%s+0x%" PRIxPTR, place->file, place->offset);
    }
}

const th_known_call *th_code_names_known(th_code_names *names, uintptr_t address, bool call) {
    struct th_code_memory *memory = memory_of(names);
    th_os_place place;
    bool is_new;
    if (!memory) {
        return NULL;
    }
    th_known_call *known = place_of(memory, (uint64_t)address << 2 | 2 | call, &is_new);
    if (is_new) {
        known->is_call = call ? th_os_code_call(address, &place, &memory->symbols)
                              : th_os_code_place(address, &place, &memory->symbols);
        word(known, &place);
    }
    return known;
}
