/*
 * memory.c: planted faults of memory: freed twice, too early, never, refused; ABA.
 */
#include "planted.h"
#include "platform/platform.h"

static unsigned flag;
static unsigned *shared;

/* ---- ABA ---- */

typedef struct node {
    struct node *next;
    unsigned value;
} node;

static node *top;

static void push(node *n) {
    node *old = th_load_relaxed(&top);
    do {
        th_store_relaxed(&n->next, old);
    } while (!th_cas_release(&top, &old, n));
}

static node *pop(void) {
    node *old = th_load_acquire(&top);
    while (old && !th_cas_acq_rel_acquire_both(&top, &old, th_load_relaxed(&old->next))) {
    }
    return old;
}

static unsigned popped[4];
static node *kept;

static void put(unsigned value) {
    node *n = sim_alloc(sizeof *n);
    n->value = value;
    push(n);
}

static void take(node *n) {
    sim_check(popped[n->value]++ == 0);
}

THREAD(pops_and_returns) {
    if (!th_load_acquire(&flag)) {
        return;
    }
    node *a = pop();
    kept = pop();
    if (a) {
        take(a);
        sim_free(a);
        put(2); /* this gets the same address if memory is handed out at once */
    }
}
/*
 * The compare-exchange succeeds for an address that left and came back, and puts a node on top that
 * was taken meanwhile. Where freed memory does not come back it fails, as it should.
 */
PLANTED(aba, "check") {
    put(1);
    put(0);
    int t = sim_spawn(pops_and_returns, NULL);
    node *old = th_load_acquire(&top);
    node *next = th_load_relaxed(&old->next);
    th_store_release(&flag, 1u); /* from here on it is compared, and not touched */
    bool mine = th_cas_acq_rel(&top, &old, next);
    sim_join(t);
    node *all[4] = {mine ? old : NULL, kept, pop(), pop()};
    for (unsigned i = 0; i < 4; i++) {
        if (all[i]) {
            take(all[i]);
        }
    }
    for (unsigned i = 0; i < 4; i++) {
        if (all[i]) {
            sim_free(all[i]);
        }
    }
}

THREAD(frees_top) {
    node *n = pop();
    if (n) {
        sim_free(n);
    }
}
/* A thread that is about to pop looks at a node that another one has popped and freed. */
PLANTED(reads_freed_node, "race use-after-free") {
    put(1);
    int t = sim_spawn(frees_top, NULL);
    frees_top(NULL);
    sim_join(t);
}

/* A block that was freed comes back at once, in the runs that hand memory out again. */
PLANTED(memory_comes_back, "check") {
    node *first = sim_alloc(sizeof *first);
    sim_free(first);
    node *second = sim_alloc(sizeof *second);
    sim_free(second);
    sim_check(first != second);
}

/* ---- freed twice, too early, never ---- */

static void drop(void *arg) {
    unsigned *count = arg;
    th_sub_acq_rel(count, 1u);
    if (th_load_acquire(count) == 0) { /* the step and the look are two operations */
        sim_free(count);
    }
}
/* The last reference is seen as the last by two: one finds it gone. */
PLANTED(double_free, "race use-after-free") {
    unsigned *count = sim_alloc(sizeof *count);
    *count = 2;
    int t = sim_spawn(drop, count);
    drop(count);
    sim_join(t);
}

static void frees(void *arg) {
    sim_free(arg);
}
/* The same block is freed twice, with nothing in between. */
PLANTED(double_free_plain, "use-after-free") {
    unsigned *block = sim_alloc(sizeof *block);
    int t = sim_spawn(frees, block);
    sim_join(t);
    sim_free(block);
}

THREAD(frees_and_tells) {
    sim_free(th_load_relaxed(&shared));
    th_store_release(&flag, 1u);
}
/* A thread touches it that knows that it is freed: no race, only a use after free. */
PLANTED(touched_after_free, "use-after-free") {
    th_store_relaxed(&shared, sim_alloc(sizeof *shared));
    int t = sim_spawn(frees_and_tells, NULL);
    while (!th_load_acquire(&flag)) {
        th_os_relax();
    }
    *th_load_relaxed(&shared) = 1;
    sim_join(t);
}

THREAD(sleeps_on_shared) {
    th_os_futex_wait(th_load_relaxed(&shared), 0, th_os_now() + 1000);
}
/* A thread waits on a word that is gone: the kernel would read it. */
PLANTED(sleeps_on_freed, "use-after-free") {
    th_store_relaxed(&shared, sim_alloc(sizeof *shared));
    sim_free(th_load_relaxed(&shared));
    int t = sim_spawn(sleeps_on_shared, NULL);
    sim_join(t);
}

static void reads(void *arg) {
    sim_check(*(unsigned *)arg == 1);
    th_store_relaxed(&flag, 1u); /* not a release: the read may come after it */
}
/* The block is freed although the other thread's read is not known to be done. */
PLANTED(freed_unordered, "race") {
    unsigned *block = sim_alloc(sizeof *block);
    *block = 1;
    int t = sim_spawn(reads, block);
    while (!th_load_acquire(&flag)) {
        th_os_relax();
    }
    sim_free(block);
    sim_join(t);
}

THREAD(takes_shared) {
    unsigned *p = th_xchg_acq_rel(&shared, NULL);
    if (p) {
        sim_free(p);
    }
}
/* A thread that comes too early leaves the block behind. */
PLANTED(leak, "leak") {
    int t = sim_spawn(takes_shared, NULL);
    unsigned *block = sim_alloc(sizeof *block);
    th_store_release(&shared, block);
    sim_join(t);
}

/* A byte behind the block is touched. */
PLANTED(overrun, "use-after-free") {
    char *block = sim_alloc(24);
    volatile unsigned n = 32;
    block[n] = 1;
    sim_free(block);
}

/* ---- refused ---- */

/* The caller does not look for NULL. */
PLANTED(refused_not_handled, "crash", .refusals = 1) {
    unsigned *block = th_os_alloc(sizeof *block);
    *block = 1;
    th_os_free(block);
}

/* The second allocation is refused, and the first is forgotten. */
PLANTED(refused_leaks, "leak", .refusals = 1) {
    unsigned *a = th_os_alloc(sizeof *a);
    if (!a) {
        return;
    }
    unsigned *b = th_os_alloc(sizeof *b);
    if (!b) {
        return;
    }
    th_os_free(b);
    th_os_free(a);
}

static void nothing(void *arg) {
    (void)arg;
}
/* A thread whose start was refused is joined. */
PLANTED(refused_thread, "check", .refusals = 1) {
    th_os_thread t;
    int code = th_os_thread_start(&t, "one", nothing, NULL);
    sim_check(code == 0);
    th_os_thread_join(t);
}

/* ---- the end of the program ---- */

static unsigned entered;

THREAD(enters) {
    if (th_add_relaxed(&entered, 1u) != 0) {
        th_os_stderr("two are inside\n", 15);
        th_os_abort();
    }
    th_sub_relaxed(&entered, 1u);
}
/* An abort of the library ends the run. */
PLANTED(aborts, "abort") {
    int t = sim_spawn(enters, NULL);
    enters(NULL);
    sim_join(t);
}

/* A loop neither waits nor looks at an atomic. */
static volatile unsigned never;
PLANTED(hang, "hang") {
    while (!never) {
    }
}
