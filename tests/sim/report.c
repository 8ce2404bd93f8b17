/*
 * report.c: the worlds; a fault as a trace, and as a file of its decisions.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine.h"

static sim_world *worlds;

/* ---- worlds ---- */

void sim_register(sim_world *world) {
    sim_world **link = &worlds;
    while (*link && strcmp((*link)->name, world->name) < 0) {
        link = &(*link)->next;
    }
    world->next = *link;
    *link = world;
    if (!world->steps_max) {
        world->steps_max = 20000;
    }
}

sim_world *world_first(void) {
    return worlds;
}

/* ---- traces ---- */

const char *site_name(const void *site) {
    static char text[4][32];
    static unsigned next;
    char *s = text[next++ % 4];
    snprintf(s, sizeof text[0], "@%p", site);
    return s;
}

const char *order_name(int order) {
    static const char *const names[] = {"relaxed", "consume", "acquire",
                                        "release", "acq_rel", "seq_cst"};
    return order >= 0 && order < 6 ? names[order] : "?";
}

void note(const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (E->current) {
        fprintf(E->trace, "%6llu  %u %-10s ", (unsigned long long)E->steps, me(), E->current->name);
    }
    vfprintf(E->trace, format, args);
    fputc('\n', E->trace);
    va_end(args);
}

static void write_choices(const char *path, const sim_world *world, memory_mode mode,
                          const uint8_t *log, uint32_t count) {
    FILE *f = fopen(path, "w");
    if (!f) {
        perror(path);
        return;
    }
    fprintf(f, "world %s\nmode %s\nlimits %u %u %u %d %d %d\nchoices", world->name,
            mode_names[mode], E->limits.refusals, E->limits.timers, E->limits.spurious,
            E->limits.inserts, E->limits.reuse, E->limits.fair);
    for (uint32_t i = 0; i < count; i++) {
        if (log[i]) {
            fprintf(f, " %u:%u", i, log[i]);
        }
    }
    fprintf(f, "\n");
    fclose(f);
}

/* Finds the names of the places in a trace, by one call of addr2line. */
static void print_named(char *text) {
    char command[128];
    snprintf(command, sizeof command, "tools/run/sim-trace %s", program_invocation_name);
    FILE *named = popen(command, "w");
    if (!named) {
        fputs(text, stdout);
        return;
    }
    fputs(text, named);
    pclose(named);
}

void trace_given(const sim_world *world, memory_mode mode, uint32_t count) {
    char *text = NULL;
    size_t size = 0;
    E->trace = open_memstream(&text, &size);
    E->tracing = true;
    replay(world, mode, E->given, count);
    E->tracing = false;
    if (E->failed) {
        fprintf(E->trace, "%s: %s\n", E->fault, E->message);
    }
    fclose(E->trace);
    fflush(stdout);
    print_named(text);
    free(text);
}

void report_fault(const plan *p, uint64_t run) {
    uint8_t *log = malloc(LOG_MAX);
    uint32_t count = E->log_count;
    memcpy(log, E->log, count);
    printf("\n%s: %s: %s\n", p->world->name, E->fault, E->message);
    printf("  found by %s, mode %s, seed %llu, run %llu, after %llu steps\n",
           strategy_names[p->strategy], mode_names[p->mode], (unsigned long long)p->seed,
           (unsigned long long)run, (unsigned long long)E->steps);
    char fault[sizeof E->fault];
    memcpy(fault, E->fault, sizeof fault);
    bool same = replay(p->world, p->mode, log, count) && strcmp(E->fault, fault) == 0;
    if (!same) {
        printf("  the replay does not show it: %s %s\n", E->fault, E->message);
    } else {
        count = minimise(p->world, p->mode, log, count);
    }
    mkdir("build", 0777);
    mkdir("build/sim-faults", 0777);
    char path[256];
    snprintf(path, sizeof path, "build/sim-faults/%s-%s.choices", p->world->name,
             mode_names[p->mode]);
    write_choices(path, p->world, p->mode, log, count);
    memcpy(E->given, log, count);
    trace_given(p->world, p->mode, count);
    printf("  again: make sim WORLD=%s MODE=%s REPLAY=%s\n\n", p->world->name, mode_names[p->mode],
           path);
    free(log);
}
