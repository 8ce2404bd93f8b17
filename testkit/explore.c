/*
 * explore.c: runs of a world, one after another, each from the same memory; the handling of a
 * failing one: its decisions are reduced to the necessary ones, written into a file, and shown as a
 * trace.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "engine.h"

#define WARM_UPS 4

engine *E;

extern char __data_start[] __attribute__((weak)); /* musl has none */
extern char _end[];
#if TH_KIT
extern TH_FOREIGN void *__cxa_get_globals(void) __attribute__((weak));
#endif

/* ---- start ---- */

/*
 * The beginning of the simulator's memory: at the same address in each process, so that a run is
 * the same even if an address has slipped into a decision. None may: the program that is linked at
 * another address (CMakeLists.txt) also maps its memory elsewhere, and must do the same. The
 * distance is an odd number in pages, and no multiple of 3, 5 or 7 pages.
 */
#define PLACE ((uintptr_t)0x200000000000)
#define PLACE_ELSEWHERE ((uintptr_t)0x2b674a1d5000)
#define LINKED_ELSEWHERE ((uintptr_t)0x30000000) /* sim-elsewhere lies above this */

/* The program's writable data begins behind what is protected once it has been relocated. */
static int find_data(struct dl_phdr_info *program, size_t size, void *first) {
    uintptr_t at = 0;
    (void)size;
    for (unsigned i = 0; i < program->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &program->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && part->p_flags & PF_W) {
            at = part->p_vaddr > at ? part->p_vaddr : at;
        } else if (part->p_type == PT_GNU_RELRO) {
            const uintptr_t end = part->p_vaddr + part->p_memsz;
            at = end > at ? end : at;
        }
    }
    *(uintptr_t *)first = program->dlpi_addr + at;
    return 1; /* the program is the first */
}

static char *data_first(void) {
    uintptr_t first = (uintptr_t)__data_start;
    if (!first) {
        dl_iterate_phdr(find_data, &first);
    }
    return (char *)first;
}

static uintptr_t place_first(void) {
    return (uintptr_t)data_first() < LINKED_ELSEWHERE ? PLACE : PLACE_ELSEWHERE;
}

static void *map_at(uintptr_t place, size_t size) {
    void *p = mmap((void *)place, size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (p == MAP_FAILED) {
        fprintf(stderr, "the simulated system cannot reserve %zu MiB of addresses: %s%s\n",
                size >> 20, strerror(errno), errno == ENOMEM ? " (see ulimit -v)" : "");
        exit(2);
    }
    return p;
}

/* The next place behind it; a page between two mappings stays free. */
static uintptr_t place_behind(uintptr_t place, size_t size) {
    return place + ((size + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1)) + PAGE_BYTES;
}

static void *map(size_t size) {
    void *p = map_at(E->place, size);
    E->place = place_behind(E->place, size);
    return p;
}

/* The address of the instruction, for the report of a test. */
static uintptr_t instruction(const void *context) {
    const ucontext_t *c = context;
#if defined(__x86_64__)
    return (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)c->uc_mcontext.pc;
#else
    return (uintptr_t)(c ? 0 : 0);
#endif
}

static void crashed(int signal, siginfo_t *info, void *context) {
    if (E->is_foreign_signal && E->is_foreign_signal(signal, context, instruction(context))) {
        return;
    }
    if (!E->current) {
        const char *text = TH_KIT ? "the program crashed outside of a run of its test\n"
                                  : "the simulator itself crashed\n";
        (void)!write(E->is_mute ? E->outputs[2] : 2, text, strlen(text));
        sigaction(SIGABRT, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        abort();
    }
    E->failed = true;
    snprintf(E->fault, sizeof E->fault, "crash");
    snprintf(E->message, sizeof E->message, "signal %d in thread %u", signal, me());
    if (E->still) {
        const bool access = signal == SIGSEGV || signal == SIGBUS;
        E->crash_addr = !access                      ? NO_ADDRESS
                        : info->si_code == SI_KERNEL ? WILD_ADDRESS
                                                     : (uintptr_t)info->si_addr;
        snprintf(E->message, sizeof E->message, "signal %d (%s)", signal, strsignal(signal));
        spot(instruction(context) + 1, "crashed");
        spot(E->current->after, "after the call of %s", E->current->what);
    }
    E->current = NULL;
    siglongjmp(E->out, 1);
}

static void tick(int signal, siginfo_t *info, void *context) {
    (void)info;
    if (E->is_foreign_signal && E->is_foreign_signal(signal, context, instruction(context))) {
        return;
    }
    if (E->in_heap) {
        return; /* the next tick finds it elsewhere */
    }
    if (E->current && E->started == E->ticked && E->steps == E->ticked_steps) {
        E->failed = true;
        snprintf(E->fault, sizeof E->fault, "hang");
        snprintf(E->message, sizeof E->message, "thread %u computes for ever", me());
        if (E->still) {
            snprintf(E->message, sizeof E->message, "a task or thread computes for ever");
            spot(instruction(context) + 1, "it computes");
            spot(E->current->after, "after the call of %s", E->current->what);
        }
        E->current = NULL;
        siglongjmp(E->out, 1);
    }
    E->ticked = E->started;
    E->ticked_steps = E->steps;
}

#define SIGNAL_STACK ((size_t)65536)
static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGVTALRM};
#define SIGNALS (sizeof signals / sizeof *signals)

void engine_signals_take(void) {
    struct sigaction action = {.sa_sigaction = crashed,
                               .sa_flags = SA_ONSTACK | SA_NODEFER | SA_SIGINFO};
    const stack_t stack = {.ss_sp = E->signal_stack, .ss_size = SIGNAL_STACK};
    sigaltstack(&stack, &E->stack_before);
    for (unsigned i = 0; i < SIGNALS; i++) {
        if (signals[i] == SIGVTALRM) {
            action.sa_sigaction = tick;
        }
        sigaction(signals[i], &action, &E->before[i]);
    }
    /* A run takes much less; a user's test may compute for a while. */
    const struct itimerval every = TH_KIT ? (struct itimerval){{10, 0}, {10, 0}}
                                          : (struct itimerval){{0, 400000}, {0, 400000}};
    setitimer(ITIMER_VIRTUAL, &every, &E->every_before);
}

void engine_signals_give_back(void) {
    setitimer(ITIMER_VIRTUAL, &E->every_before, NULL);
    for (unsigned i = 0; i < SIGNALS; i++) {
        sigaction(signals[i], &E->before[i], NULL);
    }
    sigaltstack(&E->stack_before, NULL);
}

void engine_start(void) {
    E = map_at(place_first(), sizeof *E);
    E->place = place_behind(place_first(), sizeof *E);
    E->locs = map(LOCS_MAX * sizeof *E->locs);
    E->cells = map((ARENA_BYTES + DATA_BYTES) / 8 * sizeof *E->cells);
    E->pages = map(ARENA_BYTES / PAGE_BYTES * sizeof *E->pages);
    E->words = map(WORDS_MAX * sizeof *E->words);
    E->labels = map(LABELS * sizeof *E->labels);
    E->known = map(KNOWN * sizeof *E->known);
    E->log = map(LOG_MAX);
    E->log_options = map(LOG_MAX);
    E->log_what = map(LOG_MAX);
    E->given = map(LOG_MAX);
    E->sites = map(SITES * sizeof *E->sites);
    E->arena = map(ARENA_BYTES);
    E->kernel = map(SIM_KERNEL_BYTES);
    for (unsigned i = 0; i < SIM_THREADS; i++) {
        E->threads[i].stack = E->arena + i * STACK_BYTES;
    }
    E->signal_stack = map(SIGNAL_STACK);
    engine_signals_take();

#if TH_KIT
    E->exceptions = __cxa_get_globals ? __cxa_get_globals() : NULL;
    E->disk = map(DISK_BYTES);
#endif
    E->data = data_first();
    E->data_size = (size_t)(_end - E->data);
    if (E->data_size > DATA_BYTES) {
        fprintf(stderr, "the static data of the program takes more than %zu MiB\n",
                DATA_BYTES >> 20);
        exit(2);
    }
    E->data_copy = map(E->data_size);
    engine_data_copy();
}

void engine_data_copy(void) {
    memcpy(E->data_copy, E->data, E->data_size);
}

void engine_data_put_back(void) {
    memcpy(E->data, E->data_copy, E->data_size);
}

/* ---- a run ---- */

static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static void prepare(const sim_world *world, strategy s, memory_mode mode) {
    E->started++;
    E->world = world;
    E->strategy = s;
    E->mode = mode;
    if (++E->stamp == 0) {
        madvise(E->cells, (ARENA_BYTES + DATA_BYTES) / 8 * sizeof *E->cells, MADV_DONTNEED);
        madvise(E->pages, ARENA_BYTES / PAGE_BYTES * sizeof *E->pages, MADV_DONTNEED);
        E->stamp = 1;
    }
    if (E->data_dirty || E->still) {
        engine_data_put_back();
        E->data_dirty = false;
    }
    E->failed = false;
    E->fault[0] = E->message[0] = E->outcome[0] = E->said[0] = 0;
    E->mutant_hit = false;
    E->spots_count = E->locks_used = 0;
    strategy_begin();
    arena_begin();
    model_begin();
    controller_begin();
}

static bool go(void) {
    const th_os_exceptions before = E->exceptions ? *E->exceptions : (th_os_exceptions){0};
    if (E->run_begins) {
        E->run_begins();
    }
    if (E->exceptions) {
        *E->exceptions = (th_os_exceptions){0};
    }
    if (sigsetjmp(E->out, 0) == 0) {
        thread_enter();
    }
    E->current = NULL;
    if (E->exceptions) {
        *E->exceptions = before;
    }
    if (!E->failed && E->live && !E->world->keeps_memory) {
        E->failed = true;
        snprintf(E->fault, sizeof E->fault, "leak");
        snprintf(E->message, sizeof E->message,
                 TH_KIT ? "%u block%s of the library, %llu bytes, not freed"
                        : "%u block%s, %llu bytes",
                 E->live, E->live == 1 ? "" : "s", (unsigned long long)E->live_bytes);
    }
    if (E->run_ended) {
        E->run_ended();
    }
    return E->failed;
}

bool run_once(const sim_world *world, strategy s, memory_mode mode, uint64_t seed, uint64_t run) {
    E->random = mix(seed * 0x9e3779b97f4a7c15ull + run + 1) | 1;
    prepare(world, s, mode);
    return go();
}

bool replay(const sim_world *world, memory_mode mode, const uint8_t *given, uint32_t count) {
    if (given != E->given) {
        memcpy(E->given, given, count);
    }
    E->given_count = count;
    E->random = 1;
    prepare(world, S_REPLAY, mode);
    return go();
}

/* ---- distinct schedules ---- */

void distinct_begin(uint64_t runs) {
    if (E->seen_hashes) {
        munmap(E->seen_hashes, E->seen_size * sizeof *E->seen_hashes);
    }
    if (runs > 1u << 25) {
        runs = 1u << 25;
    }
    E->seen_size = 1024;
    while (E->seen_size < 2 * runs) {
        E->seen_size *= 2;
    }
    E->seen_hashes = map(E->seen_size * sizeof *E->seen_hashes);
    E->seen_count = 0;
}

bool distinct_add(uint64_t hash) {
    if (hash == 0) {
        hash = 1;
    }
    if (E->seen_count > E->seen_size / 4 * 3) {
        return false; /* it is full: later states are not counted */
    }
    uint64_t at = hash & (E->seen_size - 1);
    while (E->seen_hashes[at]) {
        if (E->seen_hashes[at] == hash) {
            return false;
        }
        at = (at + 1) & (E->seen_size - 1);
    }
    E->seen_hashes[at] = hash;
    E->seen_count++;
    return true;
}

uint64_t distinct_count(void) {
    return E->seen_count;
}

/* ---- many runs ---- */

double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/*
 * The rough length of a run: it determines where pct and bounded act. It is measured by a few runs
 * of its own, so that any run of a seed can be repeated without those before it. True if one of
 * them fails, as run 0.
 */
bool warm_up(const sim_world *world, memory_mode mode, uint64_t seed) {
    uint64_t sum = 0;
    E->steps_typical = 0;
    for (uint64_t run = 0; run < WARM_UPS; run++) {
        if (run_once(world, S_RANDOM, mode, seed, run)) {
            return true;
        }
        sum += E->steps;
    }
    E->steps_typical = sum / WARM_UPS;
    return false;
}

static void count_run(tally *t) {
    t->runs++;
    t->steps_sum += E->steps;
    t->steps_max = E->steps > t->steps_max ? E->steps : t->steps_max;
    distinct_add(E->hash);
    t->digest = (t->digest ^ E->hash ^ E->steps) * 0x9fb21c651e98df25ull;
    if (E->outcome[0] && E->on_outcome) {
        E->on_outcome(E->outcome);
    }
}

static bool late(const plan *p, const tally *t, double began) {
    return p->seconds_max > 0 && (t->runs & 63) == 0 && seconds_now() - began > p->seconds_max;
}

/*
 * All decisions with a given number of old values, in a given number of runs: true when the search
 * came to its end.
 */
static bool search(const plan *p, tally *t, double began, unsigned old, uint64_t runs) {
    E->old_max = old;
    E->old_spared = false;
    E->given_count = 0;
    for (uint64_t end = t->runs + runs; t->runs < end && !late(p, t, began);) {
        run_once(p->world, S_EXHAUSTIVE, p->mode, p->seed, t->runs);
        count_run(t);
        if (E->failed) {
            return false;
        }
        if (!exhaustive_next()) {
            t->complete = true;
            t->old = E->old_spared ? old : OLD_ALL;
            return true;
        }
    }
    return false;
}

/*
 * The whole search, in half the runs; otherwise with no old value, one, two, and so on (they
 * multiply as preemptions do) until the next search would not come to its end.
 */
static void search_all(const plan *p, tally *t, double began) {
    bool divisible = p->mode != M_SEQ && !p->world->outcomes;
    if (search(p, t, began, OLD_ALL, divisible ? p->runs / 2 : p->runs) || !divisible) {
        return;
    }
    double before = 0;
    for (unsigned old = 0; !E->failed; old++) {
        uint64_t first = t->runs;
        if (!search(p, t, began, old, p->runs - first)) {
            return;
        }
        double took = (double)(t->runs - first);
        if (old && took * took / before > (double)(p->runs - t->runs)) {
            return;
        }
        before = took;
    }
}

bool explore(const plan *p, tally *t) {
    double began = seconds_now();
    if (p->strategy == S_PCT || p->strategy == S_BOUNDED) {
        warm_up(p->world, p->mode, p->seed); /* S_RANDOM has found the failure there */
    }
    E->given_count = 0;
    E->failed = false;
    if (p->strategy == S_EXHAUSTIVE) {
        search_all(p, t, began);
    } else {
        for (uint64_t run = p->first; run < p->first + p->runs && !E->failed; run++) {
            run_once(p->world, p->strategy, p->mode, p->seed, run);
            count_run(t);
            if (late(p, t, began)) {
                break;
            }
        }
    }
    t->seconds += seconds_now() - began;
    t->distinct = distinct_count();
    return E->failed;
}

/* ---- minimising ---- */

/* Minimising: decisions become quiet ones as long as the same fault is found. */
uint32_t minimise(const sim_world *world, memory_mode mode, uint8_t *log, uint32_t count) {
    char fault[sizeof E->fault];
    memcpy(fault, E->fault, sizeof fault);
    uint8_t *trial = malloc(LOG_MAX);
    double until = seconds_now() + 20;
    bool changed = true;
    while (changed && seconds_now() < until) {
        changed = false;
        for (uint32_t chunk = count ? count : 1; chunk >= 1 && seconds_now() < until; chunk /= 2) {
            for (uint32_t from = 0; from < count && seconds_now() < until; from += chunk) {
                uint32_t to = from + chunk < count ? from + chunk : count;
                bool any = false;
                memcpy(trial, log, count);
                for (uint32_t i = from; i < to; i++) {
                    any = any || trial[i];
                    trial[i] = 0;
                }
                if (any && replay(world, mode, trial, count) && strcmp(E->fault, fault) == 0) {
                    memcpy(log, trial, count);
                    changed = true;
                }
            }
        }
        while (count && !log[count - 1]) {
            count--;
        }
    }
    free(trial);
    return count;
}
