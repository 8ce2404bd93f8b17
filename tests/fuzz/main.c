/*
 * main.c: runs programs from seeds and files in processes that may fail; a program that fails is
 * made shorter and printed.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "fuzz.h"

static struct {
    uint64_t seed;
    long ops;    /* steps in all */
    int length;  /* steps a program */
    int workers; /* stepped: 0 or 1; free: any number */
    bool lifo;   /* stepped: a woken fiber runs next */
    bool all_at_once;
    int policy;
    bool trace;
    bool prints; /* only prints the programs as text */
    int limit;   /* seconds for a process */
} want = {.ops = 20000, .length = 200, .limit = 100};

/* Shared with the process that runs programs. */
static struct shared {
    uint64_t seed;
    long calls;
    outcome out;
} * shared;

static void run_one(const program *p, outcome *out) {
    if (want.all_at_once) {
        free_run(p, out);
    } else {
        stepped_run(p, out, want.trace);
    }
}

static void begin(void) {
    if (want.all_at_once) {
        free_begin((unsigned)want.workers, want.policy);
    } else {
        stepped_begin((unsigned)want.workers, want.lifo);
    }
}

static void end(outcome *out) {
    if (want.all_at_once) {
        free_end(out);
    } else {
        stepped_end(out);
    }
}

/* Runs it in a process of its own; true: it ended well, and so did the programs in it. */
static bool is_fine(child_fn run, void *arg, bool quiet) {
    memset(&shared->out, 0, sizeof(shared->out));
    const char *how = child_run(run, arg, want.limit, quiet);
    if (how && shared->out.what[0] == '\0') {
        snprintf(shared->out.what, sizeof(shared->out.what), "%s", how);
    }
    return shared->out.what[0] == '\0';
}

static bool run_alone(void *arg) {
    begin();
    run_one(arg, &shared->out);
    if (shared->out.what[0] == '\0') {
        end(&shared->out);
    }
    return false;
}

/* Runs one program in a process of its own; true: it holds. */
static bool holds(program *p, bool quiet) {
    return is_fine(run_alone, p, quiet);
}

/* Drops steps as long as it still fails, for half a minute, or three times as long if it hangs. */
static void shrink(program *p, bool hangs) {
    program *less = malloc(sizeof(*less));
    const thrum_time end = thrum_after_s(hangs ? 90 : 30);
    want.limit = hangs ? 2 : 5;
    for (int size = p->count / 2; less && size > 0; size = size > 1 ? size / 2 : 0) {
        for (int at = 0; at < p->count && thrum_now() < end;) {
            int n = size < p->count - at ? size : p->count - at;
            less->count = p->count - n;
            memcpy(less->steps, p->steps, sizeof(step) * (size_t)at);
            memcpy(less->steps + at, p->steps + at + n, sizeof(step) * (size_t)(less->count - at));
            bool fails = !holds(less, true);
            for (int i = 0; want.all_at_once && !fails && i < 20; i++) {
                fails = !holds(less, true);
            }
            if (fails) {
                *p = *less;
            } else {
                at += n;
            }
        }
    }
    free(less);
}

static int report(program *p) {
    char what[sizeof(shared->out.what)];
    if (!child_can_fail) {
        fprintf(stderr, "fuzz: seed %llu: %s\n", (unsigned long long)shared->seed,
                shared->out.what);
        return 1;
    }
    memcpy(what, shared->out.what, sizeof(what));
    fprintf(stderr, "fuzz: seed %llu: %s\nfuzz: making it shorter\n",
            (unsigned long long)shared->seed, what);
    shrink(p, strcmp(what, CHILD_HANGS) == 0);
    want.trace = true;
    bool fine = holds(p, false);
    fprintf(stderr, "fuzz: %s\nfuzz: a program that shows it (--replay):\n",
            fine ? what : shared->out.what);
    program_print(p, stderr);
    return 1;
}

/* Runs so many programs one after the other, until one fails. */
static bool run_all(void *arg) {
    static program p;
    const long programs = *(const long *)arg;
    begin();
    for (long i = 0; i < programs; i++) {
        shared->seed = want.seed + (uint64_t)i;
        program_from_seed(&p, shared->seed, want.length);
        run_one(&p, &shared->out);
        shared->calls += shared->out.calls;
        if (shared->out.what[0] != '\0') {
            return false;
        }
    }
    end(&shared->out);
    return true;
}

static int usage(void) {
    fprintf(stderr, "usage: fuzz [--seed N|fresh] [--ops N] [--length N] [--workers N] [--lifo]\n"
                    "            [--free] [--policy 0-2] [--limit SECONDS] [--trace] [--print]\n"
                    "            [--replay FILE...]\n");
    return 2;
}

static int replay(int argc, char **argv) {
    static program p;
    for (int i = 0; i < argc; i++) {
        if (!program_read(&p, argv[i])) {
            fprintf(stderr, "fuzz: %s can't be read\n", argv[i]);
            return 2;
        }
        if (want.prints) {
            program_print(&p, stdout);
            continue;
        }
        if (!holds(&p, false)) {
            fprintf(stderr, "fuzz: %s: step %d: %s\n", argv[i], shared->out.at, shared->out.what);
            return 1;
        }
    }
    if (!want.prints) {
        printf("fuzz: %d programs replayed\n", argc);
    }
    return 0;
}

int main(int argc, char **argv) {
    static program p;
    static const struct option options[] = {
        {"seed", 1, NULL, 's'},    {"ops", 1, NULL, 'o'},   {"length", 1, NULL, 'l'},
        {"workers", 1, NULL, 'w'}, {"lifo", 0, NULL, 'L'},  {"free", 0, NULL, 'f'},
        {"policy", 1, NULL, 'p'},  {"limit", 1, NULL, 't'}, {"trace", 0, NULL, 'T'},
        {"replay", 0, NULL, 'r'},  {"print", 0, NULL, 'P'}, {NULL, 0, NULL, 0}};
    bool replays = false;
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (o) {
        case 's':
            want.seed = strtoull(optarg, NULL, 0);
            if (strcmp(optarg, "fresh") == 0 && !child_random(&want.seed, sizeof(want.seed))) {
                return 2;
            }
            break;
        case 'o':
            want.ops = atol(optarg);
            break;
        case 'l':
            want.length = atoi(optarg);
            break;
        case 'w':
            want.workers = atoi(optarg);
            break;
        case 'L':
            want.lifo = true;
            break;
        case 'f':
            want.all_at_once = true;
            break;
        case 'p':
            want.policy = atoi(optarg);
            break;
        case 't':
            want.limit = atoi(optarg);
            break;
        case 'T':
            want.trace = true;
            break;
        case 'P':
            want.prints = true;
            break;
        case 'r':
            replays = true;
            break;
        default:
            return usage();
        }
    }
    shared = child_memory(sizeof(*shared));
    if (!shared || want.length < 1) {
        return usage();
    }
    if (replays) {
        return replay(argc - optind, argv + optind);
    }
    long programs = (want.ops + want.length - 1) / want.length;
    printf("fuzz: seed %llu, %ld programs of %d steps\n", (unsigned long long)want.seed, programs,
           want.length);
    if (!is_fine(run_all, &programs, false)) {
        program_from_seed(&p, shared->seed, want.length);
        return report(&p);
    }
    printf("fuzz: %ld calls made\n", shared->calls);
    return 0;
}
