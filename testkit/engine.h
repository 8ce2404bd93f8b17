/*
 * engine.h: the simulator's own state. All of it lies in one mapping, so that the program's data
 * and bss, which belong to the library and the worlds, can be put back after each run.
 *
 * Files: controller.c  threads, the choice of the next one, sleeping
 *        world.c       what worlds and tests call
 *        strategy.c    how decisions are taken, and the log of them
 *        model.c       the values that an atomic access sees and publishes
 *        seqcst.c      the order of seq_cst accesses and fences
 *        shadow.c      races of plain accesses, memory that is not allocated
 *        arena.c       memory of a run
 *        kernel.c      the parts of a simulated system: its memory, order between its callers
 *        tsan.c        the callbacks that the compilers insert
 *        explore.c     runs, reports, minimising, replay
 *        mutate.c      weakened orders
 */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/types.h>

#include "hosts/clock.h"
#include "platform/context/context.h"
#include "platform/platform.h"
#include "platform/sim/controller.h"
#include "sim.h"

#ifndef SIM_THREADS
#define SIM_THREADS 8
#endif
#define HISTORY 8u     /* stores of one word that a load can still see */
#define STALE_MAX 3u   /* how often in a row a thread sees an old value, at most */
#define BUFFER 16u     /* stores that a store buffer holds */
#define LOCS_MAX 8192u /* words that are used atomically, at a time in one run */
#if TH_KIT
#define LOG_MAX (1u << 24) /* decisions of a run */
#define ARENA_BYTES ((size_t)1 << 30)
#define DATA_BYTES ((size_t)64 << 20) /* room for data and bss of the program */
#define STACK_BYTES ((size_t)256 << 10)
#define DISK_BYTES ((size_t)1 << 30) /* the files of all hosts (disk/) */
#else
#define LOG_MAX 131072u
#define ARENA_BYTES ((size_t)64 << 20)
#define DATA_BYTES ((size_t)4 << 20)
#define STACK_BYTES ((size_t)64 << 10)
#endif
#define PAGE_BYTES ((size_t)4096)
/* A test begins a day after the start of the system, so that a duration is no deadline. */
#define STILL_BEGIN_NS 86400000000000

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* ---- clocks ---- */

typedef uint32_t clock_vec __attribute__((vector_size(4 * SIM_THREADS)));

typedef struct view {
    clock_vec order; /* happens-before, by which races are judged */
    /* stores that the thread may not miss: the same, and those known from fences in S */
    clock_vec seen;
    uint64_t fence; /* label of the newest seq_cst fence that comes before */
    uint64_t label; /* label of the newest seq_cst access or fence that comes before */
    uint64_t lower; /* label that a fence must come behind, because of earlier stores */
} view;

static inline clock_vec vec_max(clock_vec a, clock_vec b) {
    clock_vec m = (clock_vec)(a > b);
    return (a & m) | (b & ~m);
}

static inline void view_join(view *to, const view *from) {
    to->order = vec_max(to->order, from->order);
    to->seen = vec_max(to->seen, from->seen);
    to->fence = to->fence > from->fence ? to->fence : from->fence;
    to->label = to->label > from->label ? to->label : from->label;
    to->lower = to->lower > from->lower ? to->lower : from->lower;
}

/* ---- words ---- */

typedef struct store {
    uint64_t value;
    uint64_t seq;  /* its label, the place in the order of seq_cst accesses; 0: none */
    uint32_t time; /* the time of its thread */
    uint8_t thread;
    uint8_t at;   /* its place in the history */
    bool glued;   /* a read-modify-write: nothing comes between it and the one before */
    bool initial; /* a plain store, or the initial value */
    view publishes;
} store;

typedef struct read_mark {
    uint32_t time;
    uint8_t slot; /* the store that was read */
    uint8_t stale;
    uint16_t generation; /* the generation of that slot */
} read_mark;

#define MARKS 4

typedef struct loc {
    uintptr_t addr;
    uint8_t size;
    uint8_t count;          /* stores in the history */
    uint16_t next;          /* another one in the same half of the cell: its index and 1; 0: none */
    uint64_t label;         /* a store at the end comes behind this label in S */
    uint8_t order[HISTORY]; /* slots, the oldest store first */
    uint16_t generation[HISTORY];
    uint8_t stale[SIM_THREADS];
    uint8_t marks_count[SIM_THREADS];
    read_mark marks[SIM_THREADS][MARKS];
    store slots[HISTORY];
} loc;

/* ---- seq_cst ---- */

#define LABELS 16384u
#define KNOWN 4096u

typedef struct fence_known {
    clock_vec seen;
    uint64_t label;
} fence_known;

/* ---- threads ---- */

typedef enum { T_NONE, T_RUNNABLE, T_ASLEEP, T_JOINING, T_SETTLING, T_ENDED } thread_state;

typedef struct pending_store {
    uintptr_t addr;
    uint64_t value;
    uint8_t size;
    bool seq;
    uint32_t time;
    const void *site;
    view publishes;
} pending_store;

typedef struct sim_thread {
    th_context context;
    thread_state state;
    sim_reason reason;
    const void *word; /* the word that it sleeps on */
    int64_t deadline;
    unsigned joins;
    int64_t slept_at;
    uint64_t slept;    /* the order in which sleepers came */
    uint32_t priority; /* PCT: the higher one goes first */
    char name[16];
    void (*entry)(void *);
    void *arg;
    char *stack;
    sim_local local;
    th_os_exceptions exceptions; /* while it does not run */
    unsigned loops;              /* turns of waiting loops since its last step (sim_yield_point) */
    const char *what;            /* its last call, and where that returns to (points.c) */
    uintptr_t after;
    uintptr_t started; /* of a test's own thread: where it was started */
    bool joined;
    uint8_t host;  /* its number; 0 in worlds (hosts/) */
    bool gone;     /* its host is off */
    bool detached; /* nobody joins it */

    view now;
    view released;   /* the view published by the last release fence */
    view to_acquire; /* the view seen by relaxed loads; an acquire fence takes it */
    pending_store buffer[BUFFER];
    unsigned buffered;
} sim_thread;

/* ---- strategies and modes ---- */

typedef enum { S_RANDOM, S_PCT, S_BOUNDED, S_EXHAUSTIVE, S_REPLAY, S_COUNT } strategy;
typedef enum { M_SEQ, M_TSO, M_C11, M_COUNT } memory_mode;
extern const char *const strategy_names[S_COUNT];
extern const char *const mode_names[M_COUNT];

/* The limits of a run; its log is meaningful only together with them. */
typedef struct limits {
    uint8_t refusals, timers, spurious;
    bool inserts; /* stores may go before newer ones */
    bool reuse;   /* freed memory is handed out at once */
    bool fair;    /* a thread that waits in a loop goes on only when all others had a turn */
} limits;

#define CELL_SLOTS 7u
typedef struct cell {
    uint64_t slots[CELL_SLOTS];
    uint32_t loc[2]; /* stamp << 16 | index */
} cell;
_Static_assert(sizeof(cell) == 64, "one line of the cache");

/* ---- everything ---- */

typedef struct site_entry {
    const void *addr;
    uint16_t ops;    /* a bit for each operation that was seen */
    uint8_t order;   /* the strongest order it was called with */
    uint8_t failure; /* the strongest failure order it was called with */
    uint64_t hits;
} site_entry;
#define SITES 4096u
#define MUTANT_SITES 256u

/* A step of a traced run, for its account in words (words.c). */
#define CALLERS_MAX 6u
typedef struct sim_step {
    const char *what;               /* the call, or the point's name */
    const void *object;             /* its first argument */
    uintptr_t after;                /* where it returns to */
    uintptr_t callers[CALLERS_MAX]; /* in C++: that, and where its callers return to */
    int64_t now;
    uintptr_t fn; /* the function of the task, or 0 */
    uint64_t run; /* the task's number, or 0 */
    uint32_t thread;
    uint32_t host;
    char name[32];                                    /* of the task, or of the thread */
    enum { STEP_CALL, STEP_WAITS, STEP_GOES_ON } how; /* of a lock: whether it blocks */
    const void *out;  /* of a spawn: where the handle is once the call has returned, */
    uintptr_t handle; /* or the object of the handle */
} sim_step;
#define WORDS_MAX 65536u

/* A place in the program that a fault names beside its message. */
typedef struct sim_spot {
    char label[80];
    uintptr_t after; /* the address behind the call */
} sim_spot;
#define SPOTS_MAX 4u

/* A lock that the run has used. */
#define LOCKS_MAX 256u
typedef struct sim_lock {
    const void *lock;
    bool is_mutex; /* or a rwlock */
    uint8_t host;
} sim_lock;

/* A fault that a test has ordered (faults/fault.c). */
#define SIM_PLANS 32u
typedef struct sim_plan {
    uint8_t kind; /* a sim_fault_kind */
    uint8_t host;
    unsigned left;   /* this one of the coming calls fails */
    unsigned one_in; /* or one in so many of them; 0: not by chance */
    int code;
} sim_plan;

/* The simulator keeps nothing in static variables: they are put back after each run. */
typedef struct engine {
    /* The run. */
    sim_thread *current; /* NULL between runs */
    sim_thread threads[SIM_THREADS];
    unsigned thread_count;
    uint32_t runnable; /* a bit for each thread */
    uint32_t asleep;   /* a bit for each thread that sleeps with a deadline */
    uint32_t tired;    /* a bit for each thread that has yielded since the others had their turn */
    unsigned stretch;  /* steps of the running thread since it got its turn */
    int64_t pause;     /* the last step of the time that passed while all waited in loops */
    unsigned idle;     /* jumps of the clock since the last call of a test */
    bool other_scheds; /* the test has schedulers of its own */
    uint64_t looping;  /* the step at which all began to wait in loops, or 0 */
    uint64_t paused;   /* the step of that */
    unsigned buffers;  /* threads with something in their store buffers */
    uint64_t steps;
    uint64_t steps_next; /* where steps_over looks at the run; and the tasks begun by then */
    uint64_t tasks_half;
    uint64_t sleeps;
    int64_t now;
    uint16_t stamp;
    const sim_world *world;
    memory_mode mode;
    limits limits;

    /* Decisions. */
    strategy strategy;
    uint64_t random;
    uint32_t switch_mask;  /* random: one point in so many switches */
    uint32_t stale_mask;   /* one load in so many sees an old value */
    uint32_t refusal_mask; /* one request in so many is refused */
    uint64_t changes[8];   /* PCT, bounded: the steps */
    unsigned changes_count;
    uint64_t steps_typical;
    uint32_t lowest; /* PCT: priorities go down from here */
    unsigned preempted;
    unsigned old_max; /* a search's bound on old values, or on stores that reach memory early */
    unsigned old_left;
    bool old_spared; /* whether it left some out */
    unsigned refusals_left, timers_left, spurious_left;
    bool refuses; /* the world's own wish, by sim_may_refuse */
    uint8_t *log;
    uint8_t *log_options; /* how many options there were; exhaustive and replay */
    uint8_t *log_what;
    uint32_t log_count;
    uint8_t *given; /* decisions to follow */
    uint32_t given_count;
    uint64_t hash;

    /* Memory. */
    uintptr_t place;                  /* where the next mapping goes (explore.c) */
    clock_vec fences;                 /* the joint knowledge of all seq_cst fences */
    uint64_t label_last, label_fence; /* the last label, the last fence's label */
    /* of the newest access that saw, or was put before, a value that is not newest */
    uint64_t label_old;
    uint64_t *labels; /* labels in ascending order */
    unsigned labels_count, known_count;
    fence_known *known; /* the knowledge of each fence and the earlier ones */
    loc *locs;
    uint32_t locs_count, locs_free; /* a list by `next` */
    cell *cells;
    uint16_t *pages; /* stamp of the last run in which each page was allocated */
    char *arena;
    size_t arena_used;
    char *data; /* the program's own data */
    size_t data_size;
    char *data_copy;
    bool data_dirty;
    struct block *free_blocks[32];
    /* Of the test kit: blocks of the library, of the program; and all that were freed. */
    struct block *live_blocks, *user_blocks, *freed_blocks;
    uint64_t allocations;
    size_t pages_low; /* the test kit's pages lie above this part of the arena */
    unsigned live;
    uint64_t live_bytes;
    char *kernel; /* the simulated system's own */
    char *disk;   /* its files (disk/disk.h) */
    uint64_t kernel_run;

    /* The end. */
    th_context explorer;
    sigjmp_buf out;
    bool failed;
    char fault[32];
    char message[512];
    char outcome[32];
    char said[512];

    /* Mutants. */
    const void *mutant_sites[MUTANT_SITES];
    unsigned mutant_count;
    uint8_t mutant_map[65536]; /* by a hash of the place: whether it may be one of the mutant's */
    int mutant_kind;
    bool mutant_hit;
    site_entry *sites;
    bool note_sites;

    /* All runs. */
    uint64_t *seen_hashes;
    uint64_t seen_size, seen_count;
    uint64_t started;              /* the number of runs */
    uint64_t ticked, ticked_steps; /* at the last tick: the run, and its steps */
    void (*on_outcome)(const char *outcome);
    uint64_t scratch[512]; /* main.c's */

    /* The test kit's (kit.h). */
    bool still;      /* the clock moves only when nothing else can happen */
    bool inspecting; /* the run is over, and the library prints what its memory holds */
    bool quiet; /* the last atomic access was the library's, and the test takes calls as steps */
    sim_step *words; /* the steps of a traced run, in words */
    uint32_t words_count;
    sim_spot spots[SPOTS_MAX]; /* of the fault */
    unsigned spots_count;
    uintptr_t crash_addr; /* the address of the access that crashed */
#define NO_ADDRESS ((uintptr_t)1)
#define WILD_ADDRESS ((uintptr_t)2) /* one that no memory can have */
    sim_lock locks[LOCKS_MAX];
    unsigned locks_used;
    const void *held; /* the lock of a fault, and its owner */
    uint64_t held_by;
    char *locals, *locals_copy; /* the program's thread-locals */
    size_t locals_size;
    sim_plan plans[SIM_PLANS];
    unsigned plans_count;
    uint64_t plans_run;       /* the run that they are for */
    const sim_thread *spared; /* its call does not fail */
    int outputs[3];           /* the program's stdout and stderr while it is mute */
    bool is_mute;
    th_os_exceptions *exceptions; /* the C++ run time's, which knows one thread; or NULL */
    pid_t process;
    const void *real_thread; /* that all simulated threads run on, as kit_is_outside knows it */
    const char *stack_begin, *stack_end; /* of that thread, before it came to the kit */
    void *leaks;                         /* faults/leaks.c's memory */
    size_t leaks_bytes;
    bool crashed_beside;            /* another real thread has crashed */
    void (*terminate_before)(void); /* the program's handler of std::terminate */
    bool in_heap; /* that thread is in the heap outside of runs: no signal may leave it */
    struct sigaction before[6]; /* what the program's signals did before the session */
    void *signal_stack;
    stack_t stack_before;
    struct itimerval every_before;
    int64_t (*first_timer)(void);  /* the first deadline of a task */
    uint64_t (*tasks_begun)(void); /* so far */
    /* Whether a signal, at this address, is not the run's. */
    bool (*is_foreign_signal)(int signal, void *context, uintptr_t at);
    void (*mistake)(const char *text); /* the library has found one; NULL: it does not look */
    void (*run_begins)(void);
    void (*run_ended)(void); /* called after each run, outside of it */
    bool unwatched; /* the scheduler starts or stops: its accesses to memory are as in one thread */
    const struct cell *race_cell; /* where the last race was, and the earlier access there */
    uintptr_t race_addr;
    uint64_t race_slot;
    sim_step race_steps[2]; /* the two accesses, if a traced run came there again */

    /* Hosts of a test (hosts/); zero in worlds. */
    sim_clock clocks[SIM_HOSTS];
    uint32_t hosts_paused; /* a bit for each host */
    uint32_t frozen;       /* a bit for each thread of theirs that could go on */
    void (*change_host)(unsigned to);
    int64_t (*network_next)(void); /* when something arrives; INT64_MAX: nothing is on its way */
    void (*network_arrive)(void);  /* what is due arrives */

    /* Trace. */
    bool tracing;
    FILE *trace;
} engine;

extern engine *E;

/* ---- controller.c ---- */
void controller_begin(void);
void thread_enter(void); /* runs until the run is over; for the explorer */
void run_over(void) __attribute__((noreturn));
void sim_settle(void); /* waits until all other threads are blocked */
void sim_advance(int64_t ns);
void sim_turn(void); /* all other threads that can go on do so first */
void thread_wake(sim_thread *t, sim_reason reason);
/* A thread of that host; -EAGAIN: there are too many. */
int thread_new(unsigned host, const char *name, void (*entry)(void *), void *arg);
void thread_over(void) __attribute__((noreturn)); /* the caller has been dropped (hosts/) */
void fail(const char *fault, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));
/* A place that the report of the fault names; before the call of fail. */
void spot(uintptr_t after, const char *label, ...) __attribute__((format(printf, 2, 3)));
#if TH_KIT
extern _Thread_local char kit_here; /* its address tells a real thread from others (heap.c) */
#endif
/* Whether the caller is in a run, in which its accesses count. */
static inline bool is_watched(void) {
#if TH_KIT
    return likely(E && E->current && !E->inspecting && !E->unwatched &&
                  E->real_thread == &kit_here);
#else
    return likely(E && E->current && !E->inspecting);
#endif
}
static inline unsigned me(void) {
    return (unsigned)(E->current - E->threads);
}

/* ---- strategy.c ---- */
void strategy_begin(void);
unsigned strategy_thread(uint32_t others, bool may_stay, unsigned extras);
bool exhaustive_next(void);
void steps_begin(void);
void steps_over(void); /* more steps than steps_next; fails the run if that is its limit */
uint64_t rng(void);

/* ---- locs.c ---- */
/* The word's history, begun with its value; NULL if memory is not watched. */
loc *loc_find(void *addr, unsigned size);

/* ---- model.c ---- */
void model_begin(void);
uint64_t model_load(void *addr, unsigned size, int order, const void *site);
void model_store(void *addr, unsigned size, uint64_t value, int order, const void *site);
typedef enum { RMW_XCHG, RMW_ADD, RMW_SUB, RMW_AND, RMW_OR, RMW_XOR, RMW_NAND } rmw_op;
uint64_t model_rmw(void *addr, unsigned size, rmw_op op, uint64_t operand, int order,
                   const void *site);
/* Returns the old value. */
uint64_t model_cas(void *addr, unsigned size, uint64_t expected, uint64_t want, int order,
                   int failure, const void *site);
void model_fence(int order, const void *site);
void model_fence_thread(sim_thread *t);
void model_drain_one(sim_thread *t);
void model_drain(sim_thread *t);
/* Lets the thread's stores there go, up to the last one: it is about to write there plainly. */
void model_drain_at(sim_thread *t, uintptr_t addr, size_t size);

/* ---- seqcst.c ---- */
void seq_begin(void);
/* The place of a store in S, whether or not it is the newest of its word. */
uint64_t seq_store_label(const loc *l, const sim_thread *t, bool newest);
void seq_fence(sim_thread *t);
void seq_old(uint64_t label);
/* The knowledge of the fences up to the label. */
clock_vec seq_known(uint64_t label);

/* ---- shadow.c ---- */
void shadow_access(uintptr_t addr, size_t size, bool write, bool atomic, const void *site);
void shadow_fresh(uintptr_t addr, size_t size); /* no thread has touched it */
void shadow_unmapped(uintptr_t addr, size_t size, const void *site);
void shadow_freed(uintptr_t addr, size_t size, const void *site);
cell *cell_of(uintptr_t addr); /* NULL if the word is not watched */

/* ---- race.c, of the test kit ---- */
/* Whether an atomic access there is no step of its own. */
bool kit_is_quiet(const void *site);
/* A step of a traced run: the place that it returns to. */
void kit_step(const char *what, const void *object, uintptr_t after);
/* Fails the run: the access is to memory that is not, or no longer, allocated. */
void kit_gone(uintptr_t addr, const void *site) __attribute__((noreturn));
/* Keeps an access of the running task, for the report. */
void kit_access(sim_step *step, bool write, bool atomic, const void *site);
extern const memory_mode kit_mode; /* how tests run; without a model: one memory */

/* ---- arena.c ---- */
void arena_begin(void);
void arena_end(void);
void arena_host_off(unsigned host); /* its blocks are gone: they are no leaks */

/* For the test kit. A block, and the places in the program that allocated and freed it. */
typedef struct arena_block {
    const char *at, *end; /* with the head of heap.c */
    size_t size;          /* of the program's part */
    uint64_t number;
    const char *what;
    uintptr_t after, freed_after;
} arena_block;
#define ARENA_FREED 0xddddddddddddddddull /* each word of a freed block */
/* The blocks that are left at a run's end, one after another; NULL: no more. */
const struct block *arena_next(const struct block *b, arena_block *out);
/* The block is the program's, not the library's. The bytes behind its end are filled. */
void arena_of_user(void *ptr, char *end, size_t asked);
#define ARENA_BEHIND 0xfb
bool arena_end_written(const void *ptr); /* whether some of these have changed */
/* The program's blocks that are left, the newest first. */
const struct block *arena_next_user(const struct block *b, arena_block *out);
void arena_tell(const void *ptr, arena_block *out);
void arena_came_from(void *ptr, const char *what, uintptr_t after);
/* Whether the address is in a freed block. */
bool arena_freed(const void *addr, arena_block *out);
/* A freed block that was written since, and where; NULL: none. */
const void *arena_overwritten(arena_block *out);
bool arena_is_stack(const void *addr);

#include "explore.h"

#endif
