/*
 * explore.h: searches through the schedules of a world, and the mutants of the library. A part of
 * engine.h.
 */
#ifndef SIM_EXPLORE_H
#define SIM_EXPLORE_H

/* ---- explore.c ---- */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define TRACE(...)                                                                                 \
    do {                                                                                           \
        if (unlikely(E->tracing)) {                                                                \
            note(__VA_ARGS__);                                                                     \
        }                                                                                          \
    } while (0)
const char *site_name(const void *site);
const char *order_name(int order);

typedef struct tally {
    uint64_t runs, distinct, steps_sum, steps_max;
    uint64_t digest; /* digest of all schedules: the same seed gives the same */
    double seconds;
    bool complete; /* exhaustive: complete, up to a number of old values */
    unsigned old;  /* that number; OLD_ALL: any number */
} tally;

#define OLD_ALL 1000000u

typedef struct plan {
    const sim_world *world;
    strategy strategy;
    memory_mode mode;
    uint64_t runs;
    uint64_t first; /* the number of the first run */
    uint64_t seed;
    double seconds_max; /* 0: none */
} plan;

/* Runs until a fault (true) or the end of the plan. */
bool explore(const plan *p, tally *t);
/* Makes one run; true when it failed. The decisions are in E->log. */
bool run_once(const sim_world *world, strategy s, memory_mode mode, uint64_t seed, uint64_t run);
/* Follows the decisions of `given` under the limits in E->limits. */
bool replay(const sim_world *world, memory_mode mode, const uint8_t *given, uint32_t count);
double seconds_now(void);
bool warm_up(const sim_world *world, memory_mode mode, uint64_t seed);
void report_fault(const plan *p, uint64_t run);
/* Returns how many decisions are left; E->given and the log are then of some trial. */
uint32_t minimise(const sim_world *world, memory_mode mode, uint8_t *log, uint32_t count);
void trace_given(const sim_world *world, memory_mode mode, uint32_t count);
void engine_start(void);
void engine_data_copy(void); /* the program's data are as now before each run */
/* Crashes and ticks are the engine's from now on; or again the program's own. engine_start takes
   them. */
void engine_signals_take(void);
void engine_signals_give_back(void);
void engine_data_put_back(void);
void distinct_begin(uint64_t runs);
bool distinct_add(uint64_t hash);
uint64_t distinct_count(void);

/* ---- mutate.c ---- */
int mutated_order(int order, const void *site, unsigned op);
enum { OP_LOAD = 1, OP_STORE = 2, OP_RMW = 4, OP_CAS = 8, OP_FENCE = 16, OP_CAS_FAILURE = 32 };
enum {
    MUT_NONE,
    MUT_WEAKEN_ACQUIRE, /* it loses its acquire half (seq_cst first loses its order) */
    MUT_WEAKEN_RELEASE,
    MUT_WEAKEN_SEQ,
    MUT_DELETE
};
const char *mutant_name(int kind);
int mutate_main(int argc, char **argv);
sim_world *world_first(void);

#endif
