/*
 * faults.c: faults that the kit finds by itself, waits in loops that it must not take for faults,
 * and orders that can be counted by hand. faults.py has the expected reports.
 *   faults NAME [OPTION...]
 */
#undef NDEBUG
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"

static thrum_mutex lock = THRUM_MUTEX_INIT;
static thrum_rwlock rwlock = THRUM_RWLOCK_INIT;
static volatile int flag;
static const char *wanted; /* an order */

static void both(thrum_fn a, thrum_fn b) {
    thrum_handle *h[2];
    MUST(thrum_spawn(&h[0], a, NULL));
    MUST(thrum_spawn(&h[1], b, NULL));
    MUST(thrum_join(h[0], NULL));
    MUST(thrum_join(h[1], NULL));
}

/* ---- waits in loops ---- */

static int sets(void *arg) {
    (void)arg;
    thrum_mutex_lock(&lock);
    flag = 1;
    thrum_mutex_unlock(&lock);
    return 0;
}

static int sets_later(void *arg) {
    MUST(thrum_sleep(THRUM_S(5)));
    return sets(arg);
}

static int yields(void *arg) {
    (void)arg;
    while (!flag) {
        thrum_yield();
    }
    return 0;
}

static int locks_and_unlocks(void *arg) {
    (void)arg;
    for (bool over = false; !over;) {
        thrum_mutex_lock(&lock);
        over = flag;
        thrum_mutex_unlock(&lock);
    }
    return 0;
}

static int yield_loop(void *arg) {
    (void)arg;
    both(yields, sets);
    return 0;
}

static int yield_loop_over_time(void *arg) {
    (void)arg;
    const thrum_time before = thrum_now();
    both(yields, sets_later);
    THRUM_TEST(thrum_now() - before < THRUM_MS(5001));
    return 0;
}

static int lock_loop(void *arg) {
    (void)arg;
    both(locks_and_unlocks, sets);
    return 0;
}

static int holds(void *arg) {
    (void)arg;
    thrum_mutex_lock(&lock);
    MUST(thrum_sleep(THRUM_S(1)));
    thrum_mutex_unlock(&lock);
    return 0;
}

static int tries(void *arg) {
    (void)arg;
    while (thrum_mutex_try_lock(&lock) != 0) {
        thrum_yield();
    }
    thrum_mutex_unlock(&lock);
    return 0;
}

static int try_loop(void *arg) {
    (void)arg;
    both(holds, tries);
    return 0;
}

static int for_ever(void *arg) {
    (void)arg;
    both(yields, yields);
    return 0;
}

static void joins_sleeper(void *arg) {
    thrum_handle *h = arg;
    MUST(thrum_join(h, NULL));
}

static int thread_joins(void *arg) {
    thrum_test_thread thread;
    thrum_handle *h;
    (void)arg;
    MUST(thrum_spawn(&h, sets_later, NULL));
    MUST(thrum_test_thread_start(&thread, joins_sleeper, h));
    MUST(thrum_sleep(THRUM_S(6)));
    thrum_test_thread_join(&thread);
    return 0;
}

static void sleeps_for_an_hour(void *arg) {
    (void)arg;
    MUST(thrum_sleep(THRUM_S(3600)));
}

static int thread_sleeps(void *arg) {
    const thrum_time before = thrum_now();
    thrum_test_thread thread;
    (void)arg;
    MUST(thrum_test_thread_start(&thread, sleeps_for_an_hour, NULL));
    thrum_test_thread_join(&thread);
    THRUM_TEST(thrum_now() - before == THRUM_S(3600));
    return 0;
}

/* ---- memory ---- */

static char *volatile block; /* the compiler does not see that it is freed */

static void make(void) {
    block = malloc(24);
}

static int double_free(void *arg) {
    (void)arg;
    make();
    free(block);
    free(block);
    return 0;
}

static int foreign_free(void *arg) {
    (void)arg;
    block = (char *)&lock;
    free(block);
    return 0;
}

static int inner_free(void *arg) {
    (void)arg;
    make();
    block += 8;
    free(block);
    return 0;
}

static int write_after_free(void *arg) {
    (void)arg;
    make();
    free(block);
    block[3] = 1;
    return 0;
}

static int freed_channel(void *arg) {
    thrum_chan *c;
    int value = 1;
    (void)arg;
    MUST(thrum_chan_create(&c, sizeof value, 1));
    MUST(thrum_chan_destroy(c));
    MUST(thrum_chan_send(c, &value));
    return 0;
}

static int freed_channel_selected(void *arg) {
    thrum_chan *c;
    int value = 1;
    (void)arg;
    MUST(thrum_chan_create(&c, sizeof value, 1));
    MUST(thrum_chan_destroy(c));
    thrum_case cases[1] = {THRUM_RECV_CASE(c, &value)};
    MUST(thrum_select(cases, 1, THRUM_FOREVER));
    return 0;
}

typedef struct owned {
    int value;
    thrum_mutex lock;
} owned;

static int freed_mutex(void *arg) {
    owned *volatile o = calloc(1, sizeof *o);
    (void)arg;
    thrum_mutex_init(&o->lock);
    free(o);
    thrum_mutex_lock(&o->lock);
    return 0;
}

static int freed_while_held(void *arg) {
    owned *o = calloc(1, sizeof *o);
    (void)arg;
    thrum_mutex_init(&o->lock);
    thrum_mutex_lock(&o->lock);
    free(o);
    return 0;
}

static int null_pointer(void *arg) {
    volatile int *volatile p = NULL;
    (void)arg;
    MUST(thrum_sleep(1));
    *p = 1;
    return 0;
}

static int freed_pointer(void *arg) {
    (void)arg;
    make();
    char **volatile pointer = (char **)block;
    free(block);
    **pointer = 1;
    return 0;
}

/* A block from before the first run, in each run as if that were the only one. */
void *early;
static int frees_early(void *arg) {
    (void)arg;
    free(early);
    return 0;
}

/* ---- ends ---- */

static int keeps_lock(void *arg) {
    (void)arg;
    thrum_mutex_lock(&lock);
    return 0;
}

static int held_at_the_end(void *arg) {
    thrum_handle *h;
    (void)arg;
    MUST(thrum_spawn(&h, keeps_lock, NULL));
    MUST(thrum_join(h, NULL));
    return 0;
}

static int read_at_the_end(void *arg) {
    (void)arg;
    thrum_rwlock_rdlock(&rwlock);
    return 0;
}

static void nothing(void *arg) {
    (void)arg;
}

static int thread_not_joined(void *arg) {
    thrum_test_thread thread;
    (void)arg;
    MUST(thrum_test_thread_start(&thread, nothing, NULL));
    MUST(thrum_sleep(1));
    return 0;
}

static int sleeps_long(void *arg) {
    (void)arg;
    MUST(thrum_sleep(THRUM_S(1000)));
    return 0;
}

static int task_left(void *arg) {
    (void)arg;
    MUST(thrum_go(sleeps_long, NULL));
    return 0;
}

static int handle_left(void *arg) {
    thrum_handle *h;
    (void)arg;
    MUST(thrum_spawn(&h, sets, NULL));
    MUST(thrum_sleep(1));
    return 0;
}

static int exits(void *arg) {
    (void)arg;
    exit(0);
}

static int exits_quickly(void *arg) {
    (void)arg;
    quick_exit(0);
}

static int exits_as_a_thread(void *arg) {
    (void)arg;
    pthread_exit(NULL);
}

static int asserts(void *arg) {
    (void)arg;
    assert(flag == 7);
    return 0;
}

/* ---- a deadlock ---- */

static struct { thrum_mutex a, b; } first_lock;

static int one(void *arg) {
    (void)arg;
    thrum_mutex_lock(&first_lock.a);
    thrum_mutex_lock(&first_lock.b);
    thrum_mutex_unlock(&first_lock.b);
    thrum_mutex_unlock(&first_lock.a);
    return 0;
}

static int two(void *arg) {
    (void)arg;
    thrum_mutex_lock(&first_lock.b);
    thrum_mutex_lock(&first_lock.a);
    thrum_mutex_unlock(&first_lock.a);
    thrum_mutex_unlock(&first_lock.b);
    return 0;
}

static int two_locks(void *arg) {
    (void)arg;
    both(one, two);
    return 0;
}

static void thread_one(void *arg) {
    (void)one(arg);
}

static void thread_two(void *arg) {
    (void)two(arg);
}

static int two_threads(void *arg) {
    thrum_test_thread threads[2];
    (void)arg;
    MUST(thrum_test_thread_start(&threads[0], thread_one, NULL));
    MUST(thrum_test_thread_start(&threads[1], thread_two, NULL));
    thrum_test_thread_join(&threads[0]);
    thrum_test_thread_join(&threads[1]);
    return 0;
}

static int unlocks(void *arg) {
    (void)arg;
    thrum_mutex_unlock(&lock);
    return 0;
}

/* ---- orders ---- */

static char order[16];
static void put(char c) {
    order[strlen(order)] = c;
}

static int puts_a(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        thrum_test_point("a");
        put('a');
    }
    return 0;
}

static int puts_b(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        thrum_test_point("b");
        put('b');
    }
    return 0;
}

static int order_of_two(void *arg) {
    (void)arg;
    both(puts_a, puts_b);
    THRUM_TEST(strcmp(order, wanted) != 0);
    return 0;
}

static int puts_number(void *arg) {
    put(*(char *)arg);
    return 0;
}

static int order_of_four(void *arg) {
    static char numbers[] = "1234";
    thrum_handle *h[4];
    (void)arg;
    for (int i = 0; i < 4; i++) {
        MUST(thrum_spawn(&h[i], puts_number, &numbers[i]));
    }
    for (int i = 0; i < 4; i++) {
        MUST(thrum_join(h[i], NULL));
    }
    THRUM_TEST(strcmp(order, wanted) != 0);
    return 0;
}

/* ---- what differs between runs ---- */

static _Thread_local int local = 5;
static int thread_local_is_new(void *arg) {
    (void)arg;
    THRUM_TEST(local++ == 5);
    return 0;
}

static int prints(void *arg) {
    (void)arg;
    printf("a line\n");
    fprintf(stderr, "a line\n");
    return 0;
}

static int prints_and_fails(void *arg) {
    prints(arg);
    THRUM_TEST(thrum_test_random() % 4 != 0);
    return 0;
}

static int advances(void *arg) {
    (void)arg;
    thrum_test_advance(THRUM_S(2));
    return 0;
}

static int settles(void *arg) {
    (void)arg;
    thrum_test_settle();
    THRUM_TEST(flag == 1);
    return 0;
}

static int several_at_once(void *arg) {
    const thrum_time before = thrum_now();
    (void)arg;
    both(advances, advances);
    THRUM_TEST(thrum_now() - before == THRUM_S(4));
    thrum_handle *h;
    MUST(thrum_spawn(&h, sets, NULL));
    both(settles, settles);
    MUST(thrum_join(h, NULL));
    THRUM_TEST(thrum_now() - before == THRUM_S(4));
    return 0;
}

static int advanced(void *arg) {
    (void)arg;
    thrum_test_advance(THRUM_S(2));
    MUST(thrum_sleep(THRUM_S(3)));
    THRUM_TEST(thrum_now() > 0);
    return 0;
}

#define CASE(name)                                                                                 \
    { #name, name }
static const struct {
    const char *name;
    thrum_fn fn;
} cases[] = {CASE(yield_loop),
             CASE(yield_loop_over_time),
             CASE(lock_loop),
             CASE(try_loop),
             CASE(for_ever),
             CASE(thread_joins),
             CASE(double_free),
             CASE(foreign_free),
             CASE(inner_free),
             CASE(write_after_free),
             CASE(freed_channel),
             CASE(freed_channel_selected),
             CASE(freed_mutex),
             CASE(freed_while_held),
             CASE(null_pointer),
             CASE(frees_early),
             CASE(held_at_the_end),
             CASE(read_at_the_end),
             CASE(thread_not_joined),
             CASE(task_left),
             CASE(handle_left),
             CASE(exits),
             CASE(exits_quickly),
             CASE(exits_as_a_thread),
             CASE(asserts),
             CASE(order_of_two),
             CASE(order_of_four),
             CASE(thread_local_is_new),
             CASE(prints),
             CASE(prints_and_fails),
             CASE(several_at_once),
             CASE(advanced),
             CASE(two_locks),
             CASE(freed_pointer),
             CASE(thread_sleeps),
             CASE(two_threads),
             CASE(unlocks),
             CASE(many_tasks),
             CASE(waits_for_duration),
             CASE(sleeps_for_number),
             CASE(forgets_list),
             CASE(forgets_cycle),
             CASE(keeps_memory),
             CASE(writes_past_end),
             CASE(writes_past_kept),
             CASE(lock_waits),
             CASES_BESIDE};

int main(int argc, char **argv) {
    early = malloc(100);
    wanted = getenv("WANTED") ? getenv("WANTED") : "";
    if (setjmp(jump_beside) != 0) { /* jumps_beside */
        return 0;
    }
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(argv[1], cases[i].name) == 0) {
            argv[1] = argv[0];
            return thrum_test_main(argc - 1, argv + 1, cases[i].fn, NULL);
        }
    }
    return 2;
}
