/*
 * report.c: the report of a failing run: the fault and its place, the calls, the tasks and threads
 * that wait, and the memory that was not freed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/state/handle.h"
#include "hosts/hosts.h"
#include "kit.h"

/* ---- the fault ---- */

typedef struct explained {
    const char *fault, *text;
} explained;
static const explained sentences[] = {
    {"deadlock",
     "None of them can go on: each waits for something that only another one could do."},
    {"livelock",
     "No task began in the second half of these steps: tasks may be waiting in loops for each "
     "other. If they just have much to do, raise the limit (--steps)."},
    {"steps",
     "If this is no endless loop, make the test smaller, or raise the limit of steps (--steps)."},
    {"leak", "At its end, the test has left something that it should have joined or freed."},
    {"held", "A task must unlock its locks before it ends, and before their memory is freed."},
    {"use-after-free",
     "Memory was used after it had been freed, by free or by a call of the library."},
    {"double-free", "Memory was freed twice."},
    {"race", "Both may happen at once: a lock, a channel, a join or atomics must order them."},
    {"out-of-bounds", "The access is before or behind a block or a stack."},
    {"exit", "To end a test, return from its function: this call would end all schedules."},
    {"hang", "A task or thread made no call of the library for more than ten seconds."},
    {"exception", "No code catches this exception, so it would end the program."},
    {"mistake", "The call is legal, but hardly ever meant. --mistakes no accepts such calls."},
    {"abort", "The library has found a mistake in a call."},
};

static void print_spots(FILE *out) {
    for (unsigned i = 0; i < E->spots_count; i++) {
        const sim_spot *s = &E->spots[i];
        const uintptr_t address = kit_outward(s->after) - 1;
        kit_place its = {"", "", false};
        if (s->after) {
            kit_find_places(&its, &address, 1);
            fprintf(out, "    %s at %s\n", s->label, kit_place_text(&its));
        }
    }
}

static void print_who(FILE *out, uint64_t run) {
    char name[80];
    const sim_step *step = kit_last_step(run);
    if (!step) {
        fprintf(out, run >> 63 ? "a thread" : "a task");
        return;
    }
    kit_name_task(step, name);
    fprintf(out, "task %s", name);
}

/* The call by which the task got the lock: its last call with it that is no unlock. */
static void print_locked(FILE *out, const void *lock, uint64_t run, const char *how) {
    for (uint32_t i = E->words_count; i > 0; i--) {
        const sim_step *step = &E->words[i - 1];
        if (step->object == lock && (!run || step->run == run) && !strstr(step->what, "unlock")) {
            const uintptr_t address = step->after - 1;
            kit_place its = {"", "", false};
            kit_find_places(&its, &address, 1);
            fprintf(out, ", %s at %s", how, kit_place_text(&its));
            return;
        }
    }
}

static void print_held(FILE *out) {
    char name[80];
    const bool named = kit_name_object(E->held, name);
    fprintf(out, "    %s: ", named ? name : "the lock");
    if (E->held_by) {
        fprintf(out, "its owner is ");
        print_who(out, E->held_by);
    } else {
        fprintf(out, "it has readers");
    }
    print_locked(out, E->held, E->held_by, "locked");
    fprintf(out, "\n");
}

static void print_crash(FILE *out) {
    char name[80];
    if (E->crash_addr == NO_ADDRESS) {
        return;
    }
    if (E->crash_addr == WILD_ADDRESS) {
        fprintf(out,
                "    no memory has this address: perhaps the pointer was read from freed memory, "
                "which is filled with 0xdd\n");
    } else if (E->crash_addr < 65536) {
        fprintf(out, "    the address is %#zx: NULL, or a field at NULL\n", (size_t)E->crash_addr);
    } else if (kit_name_object((const void *)E->crash_addr, name)) {
        fprintf(out, "    the address is that of %s\n", name);
    } else {
        fprintf(out, "    the address is neither NULL nor that of a known object\n");
    }
}

/* ---- lines with names ---- */

/* "task reader" for "fiber 4.1" or for the address of a handle, "mutex m" for "mutex 0x...". */
static int print_word(FILE *out, const char *text) {
    char name[80];
    unsigned number, run;
    unsigned long long at;
    int used = 0;
    char program[80];
    const int length = snprintf(program, sizeof program, "%.70s+0x", program_invocation_short_name);
    if (strncmp(text, program, (size_t)length) == 0 &&
        sscanf(text + length, "%llx%n", &at, &used) == 1) {
        const uintptr_t address = kit_load_base() + (uintptr_t)at;
        kit_place its = {"", "", false};
        kit_find_places(&its, &address, 1);
        fprintf(out, "%s", its.function);
        return length + used;
    }
    if (sscanf(text, "fiber %u.%u%n", &number, &run, &used) == 2 && used) {
        const sim_step *step = kit_last_step((uint64_t)number << 32 | run);
        if (!step) {
            used = 0;
            return 0;
        }
        kit_name_task(step, name);
        fprintf(out, "task %s", name);
        /* The task's own name follows. */
        char quoted[52];
        const int more = snprintf(quoted, sizeof quoted, " \"%.40s\"", step->name);
        return used + (strncmp(text + used, quoted, (size_t)more) == 0 ? more : 0);
    }
    if (sscanf(text, "task 0x%llx%n", &at, &used) == 1 && used) {
        const thrum_handle *handle = (const void *)(uintptr_t)at;
        const uintptr_t fn = (uintptr_t)handle->fn;
        kit_place its = {"", "", false};
        kit_find_places(&its, &fn, 1);
        fprintf(out, "task %s", handle->name[0] ? handle->name : its.function);
        return used;
    }
    if (sscanf(text, "0x%llx%n", &at, &used) == 1 && used) {
        const bool named = kit_name_object((const void *)(uintptr_t)at, name);
        const char *of_kind = strchr(name, '#'); /* the object's kind is before the address */
        fprintf(out, "%s", !named ? "(no name)" : of_kind ? of_kind : name);
        return used;
    }
    return 0;
}

static void print_named(FILE *out, const char *text) {
    while (*text) {
        const int used = print_word(out, text);
        if (!used) {
            fputc(*text, out);
        }
        text += used ? used : 1;
    }
}

static void print_fault(FILE *out) {
    fprintf(out, "  %s: ", E->fault);
    if (strcmp(E->fault, "abort") == 0 || strcmp(E->fault, "mistake") == 0) {
        print_named(out, E->message); /* the library's line has the address of an object */
    } else {
        fputs(E->message, out);
    }
    fprintf(out, "\n");
    print_spots(out);
    if (strcmp(E->fault, "held") == 0 && E->held) {
        print_held(out);
    } else if (strcmp(E->fault, "crash") == 0) {
        print_crash(out);
    }
    for (unsigned i = 0; i < sizeof sentences / sizeof *sentences; i++) {
        if (strcmp(E->fault, sentences[i].fault) == 0) {
            fprintf(out, "  %s\n", sentences[i].text);
        }
    }
    if (E->said[0] && !strstr(E->message, E->said)) {
        fprintf(out, "  The library printed: %s\n", E->said);
    }
}

/* ---- tasks and threads that wait ---- */

static void print_host(FILE *out, unsigned host) {
    fprintf(out, host ? "    %s: " : "    ", hosts_name(host));
}

/*
 * "task one waits at a.c:4 for mutex m, held by task two, which locked it at a.c:9", for the line
 * "fiber 4.1 waits for mutex 0x..., held by fiber 5.1". The place is that of the task's last call.
 */
static void print_wait(FILE *out, const char *line) {
    static const char waits[] = " waits for ";
    unsigned number, run;
    unsigned long long lock;
    const char *rest = strstr(line, waits);
    const char *object = strstr(line, " 0x");
    const sim_step *step = sscanf(line, "fiber %u.%u", &number, &run) == 2
                               ? kit_last_step((uint64_t)number << 32 | run)
                               : NULL;
    print_host(out, step ? 0 : H->placed); /* a task's name has its host */
    if (!rest || !step) {
        print_named(out, line);
    } else {
        const uintptr_t address = step->after - 1;
        char who[128];
        kit_place its = {"", "", false};
        kit_find_places(&its, &address, 1);
        snprintf(who, sizeof who, "%.*s", (int)(rest - line), line);
        print_named(out, who);
        rest += strlen(waits);
        snprintf(who, sizeof who, "%s", rest);
        char *const no_name = strstr(who, " 0x"); /* a scope, or a call that blocks */
        char name[80];
        if (no_name && !strchr(no_name, ',') &&
            !kit_name_object((const void *)strtoull(no_name, NULL, 16), name)) {
            *no_name = '\0';
        }
        fprintf(out, " waits at %s for ", kit_place_text(&its));
        print_named(out, who);
    }
    if (object && sscanf(object, " 0x%llx, held by fiber %u.%u", &lock, &number, &run) == 3) {
        print_locked(out, (const void *)(uintptr_t)lock, (uint64_t)number << 32 | run,
                     "which locked it");
    }
    fprintf(out, "\n");
}

/* A task may wait in a call of the C library: then its worker waits as well. */
static bool is_in_library(const sim_thread *t) {
    return t->what && strncmp(t->what, "pthread_", 8) == 0;
}

/* Threads of thrum_test_thread_start and waits in the C library, by their last calls. */
static void print_threads(FILE *out) {
    for (unsigned i = 0; i < E->thread_count; i++) {
        const sim_thread *t = &E->threads[i];
        const sim_step *last = NULL;
        for (uint32_t k = 0; k < E->words_count; k++) {
            const sim_step *step = &E->words[k];
            last = step->thread == i && (!step->run || is_in_library(t)) ? step : last;
        }
        if ((t->started || is_in_library(t)) && last &&
            (t->state == T_ASLEEP || t->state == T_JOINING)) {
            const uintptr_t address = last->after - 1;
            char object[80];
            kit_place its = {"", "", false};
            kit_find_places(&its, &address, 1);
            print_host(out, t->host);
            if (last->run) {
                kit_name_task(last, object);
                fprintf(out, "task %s waits in %s", object, last->what);
            } else {
                fprintf(out, "thread %u waits in %s", i, last->what);
            }
            if (kit_name_object(last->object, object)) {
                fprintf(out, " (%s)", object);
            }
            fprintf(out, ", at %s\n", kit_place_text(&its));
        }
    }
}

/* From the library's dump: the deadlock cycles, and the tasks that wait. */
static void print_waits_here(FILE *out) {
    char *text = NULL;
    size_t size = 0;
    FILE *dump = open_memstream(&text, &size);
    kit_dump(dump);
    fclose(dump);
    bool cycle = false;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char *tail;
        cycle = strncmp(line, "  deadlock:", 11) == 0 || (cycle && strncmp(line, "  worker", 8));
        if (strncmp(line, "  deadlock:", 11) == 0) {
            fprintf(out, "  %s\n", line);
        } else if (!cycle && strncmp(line, "  fiber", 7) == 0) {
            if ((tail = strstr(line, ", for ")) || (tail = strstr(line, ", since tick "))) {
                *tail = '\0';
            }
            print_wait(out, line + 2);
        }
    }
    free(text);
}

static void print_waits(FILE *out) {
    fprintf(out, "\n  Waiting tasks and threads:\n");
    for (unsigned i = 0; i < H->count; i++) {
        if (i == 0 || H->host[i].sched) {
            image_place(i);
            print_waits_here(out);
        }
    }
    print_threads(out);
}

/* ---- what is left ---- */

#define LEFT_MAX 10u /* lines */

typedef struct listing {
    FILE *out;
    unsigned lines;
} listing;

static void print_handle(void *ctx, const thrum_handle *handle) {
    listing *l = ctx;
    if (l->lines++ >= LEFT_MAX) {
        return;
    }
    const sim_step *step = kit_spawn_of(handle);
    const uintptr_t addresses[2] = {(uintptr_t)handle->fn, step ? step->after - 1 : 0};
    kit_place places[2] = {{"", "", false}, {"", "", false}};
    kit_find_places(places, addresses, step ? 2 : 1);
    fprintf(l->out, "    task %s", handle->name[0] ? handle->name : places[0].function);
    if (step) {
        fprintf(l->out, ", spawned at %s", kit_place_text(&places[1]));
    }
    fprintf(l->out, "\n");
}

static void print_blocks(FILE *out) {
    const struct block *b = NULL;
    arena_block block;
    fprintf(out, "\n  Not freed:\n");
    for (unsigned n = 0; n < LEFT_MAX && (b = arena_next(b, &block)); n++) {
        kit_place its = {"", "", false};
        const uintptr_t address = block.after - 1;
        const char *what = block.what;
        if (!what) {
            fprintf(out,
                    "    a block of the scheduler (%zu bytes), which is kept while the handle of a "
                    "task is neither joined nor detached\n",
                    block.size);
            continue;
        }
        const char *kind = strstr(what, "chan")    ? "channel"
                           : strstr(what, "spawn") ? "handle of a task, neither joined nor detached"
                           : strstr(what, "timer") || strstr(what, "after") ? "timer"
                           : strstr(what, "dag")                            ? "graph"
                           : strstr(what, "pool")                           ? "pool"
                                                                            : "block";
        kit_find_places(&its, &address, 1);
        fprintf(out, "    %s (%zu bytes), allocated by %s at %s\n", kind, block.size, what,
                kit_place_text(&its));
    }
}

void kit_print_run(FILE *out, bool whole) {
    const bool left = strcmp(E->fault, "leak") == 0;
    const bool handles = left && strstr(E->message, " spawned task");
    const bool tasks = left && strstr(E->message, " left at ");
    E->inspecting = true; /* the library looks at the memory of the run */
    E->current = &E->threads[0];
    image_place(H->failed);
    kit_find_callers();
    if (E->failed) {
        print_fault(out);
    }
    if (E->race_cell) {
        kit_print_race(out);
    }
    kit_print_steps(out, whole);
    if (handles) {
        fprintf(out, "\n  Neither joined nor detached:\n");
        kit_handles_left(print_handle, &(listing){out, 0});
    } else if (left && strstr(E->message, " the test, ")) {
        kit_print_leaks(out);
    } else if (left && !tasks && !strstr(E->message, "thread")) {
        print_blocks(out);
    } else if (tasks || strcmp(E->fault, "deadlock") == 0) {
        print_waits(out);
    }
    kit_print_lines_missing(out);
    image_place(0);
    E->current = NULL;
    E->inspecting = false;
}

void note(const char *format, ...) {
    (void)format;
}
