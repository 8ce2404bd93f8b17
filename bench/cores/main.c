/*
 * main.c: runs one row on the simulated machine, and prints one line of JSON (README.md).
 *
 *     thrum-cores --row NAME --workers N [--seed N] [--set COST=NS]... [--scale COST=FACTOR]...
 *     thrum-cores --list
 *
 * A run is a process: the machine begins as new each time. report.py makes them all.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#include "machine.h"
#include "rows.h"

static const struct {
    const char *name;
    size_t at;
} fields[] = {
#define FIELD(name)                                                                                \
    { #name, offsetof(costs, name) }
    FIELD(block),   FIELD(hit),     FIELD(rmw),     FIELD(fence), FIELD(near),    FIELD(package),
    FIELD(far),     FIELD(cold),    FIELD(overlap), FIELD(fault), FIELD(heap),    FIELD(clock),
    FIELD(ticks),   FIELD(syscall), FIELD(sleep),   FIELD(wake),  FIELD(latency), FIELD(spread),
    FIELD(barrier), FIELD(pause),   FIELD(start)};
enum { FIELDS = sizeof(fields) / sizeof(fields[0]), SITES_SHOWN = 12 };

static const row *wanted;
static unsigned workers = 1;
static result out;

static double *cost_named(const char *name, size_t length) {
    for (unsigned i = 0; i < FIELDS; i++) {
        if (strlen(fields[i].name) == length && strncmp(fields[i].name, name, length) == 0) {
            return (double *)(void *)((char *)&the_costs + fields[i].at);
        }
    }
    fprintf(stderr, "cores: no cost is called %s\n", name);
    exit(2);
}

static void setting(const char *text, bool scales) {
    const char *equals = strchr(text, '=');
    if (!equals) {
        exit(2);
    }
    double *cost = cost_named(text, (size_t)(equals - text));
    *cost = (scales ? *cost : 1) * atof(equals + 1);
}

static void entry(void *arg) {
    (void)arg;
    wanted->run(workers, &out);
}

void cores_work(double ns) {
    machine_charge(ns);
    machine_point();
}

double cores_clock(void) {
    return (double)machine_now() / 1000;
}

void cores_count(void) {
    machine_count_begin();
}

static void print(void) {
    site_count sites[SITES_SHOWN];
    const unsigned n = machine_sites(sites, SITES_SHOWN);
    const totals *t = &the_totals;
    printf("{\"row\":\"%s\",\"workers\":%u,\"ns\":%.0f,\"ops\":%lu,\"ideal\":%g,", wanted->name,
           workers, out.ns, (unsigned long)out.ops, out.ideal);
    printf("\"blocks\":%lu,\"accesses\":%lu,\"misses\":%lu,\"rmws\":%lu,\"fences\":%lu,"
           "\"wakes\":%lu,\"sleeps\":%lu,\"faults\":%lu,\"switches\":%lu,\"stalled\":%.0f,"
           "\"queued\":%.0f,\"sites\":[",
           (unsigned long)t->blocks, (unsigned long)t->accesses, (unsigned long)t->misses,
           (unsigned long)t->rmws, (unsigned long)t->fences, (unsigned long)t->wakes,
           (unsigned long)t->sleeps, (unsigned long)t->faults, (unsigned long)t->switches,
           (double)t->stalled / 1000, (double)t->queued / 1000);
    for (unsigned i = 0; i < n; i++) {
        printf("%s[\"%p\",%lu,%.0f,%.0f]", i ? "," : "", sites[i].site,
               (unsigned long)sites[i].misses, (double)sites[i].stalled / 1000,
               (double)sites[i].queued / 1000);
    }
    printf("]}\n");
}

static void options(int argc, char **argv) {
    static const struct option all[] = {{"row", 1, NULL, 'r'},       {"workers", 1, NULL, 'w'},
                                        {"seed", 1, NULL, 's'},      {"set", 1, NULL, 'c'},
                                        {"scale", 1, NULL, 'x'},     {"list", 0, NULL, 'l'},
                                        {"searchers", 1, NULL, 'm'}, {NULL, 0, NULL, 0}};
    uint64_t seed = 1;
    for (int c; (c = getopt_long(argc, argv, "", all, NULL)) != -1;) {
        if (c == 'r') {
            for (unsigned i = 0; i < the_rows_count; i++) {
                wanted = strcmp(the_rows[i].name, optarg) == 0 ? &the_rows[i] : wanted;
            }
        } else if (c == 'w') {
            workers = (unsigned)strtoul(optarg, NULL, 0);
        } else if (c == 's') {
            seed = strtoull(optarg, NULL, 0);
        } else if (c == 'c' || c == 'x') {
            setting(optarg, c == 'x');
        } else if (c == 'm') {
            cores_searchers_max = (unsigned)strtoul(optarg, NULL, 0);
        } else if (c == 'l') {
            for (unsigned i = 0; i < the_rows_count; i++) {
                printf("%s\t%s\n", the_rows[i].name, the_rows[i].what);
            }
            exit(0);
        } else {
            exit(2);
        }
    }
    if (!wanted || workers < 1 || workers > CORES_MAX) {
        exit(2);
    }
    machine_begin(seed);
}

/* The same addresses each time: they choose lines, and the library's dice. */
static void same_addresses(char **argv) {
    const int now = personality(0xffffffff);
    if (now >= 0 && (now & ADDR_NO_RANDOMIZE) == 0 &&
        personality((unsigned long)now | ADDR_NO_RANDOMIZE) >= 0) {
        execv("/proc/self/exe", argv);
    }
}

int main(int argc, char **argv) {
    same_addresses(argv);
    the_costs = (costs){.block = 0.09,
                        .hit = 0.09,
                        .rmw = 5.6,
                        .fence = 5.2,
                        .near = 30,
                        .package = 90,
                        .far = 200,
                        .cold = 60,
                        .overlap = 3,
                        .fault = 800,
                        .heap = 8,
                        .clock = 22,
                        .ticks = 9,
                        .syscall = 128,
                        .sleep = 1500,
                        .wake = 2000,
                        .latency = 6000,
                        .spread = 6,
                        .barrier = 1500,
                        .pause = 30,
                        .start = 15000};
    options(argc, argv);
    machine_run(entry, NULL);
    print();
    return 0;
}
