/*
 * key.c: values of a task's own (src/core/state/key.c): keys that are made and deleted while
 * others are used, destructors at the end of a run, once each.
 *
 * The small worlds play the end of a run by th_key_values_end; those on a scheduler are marked.
 */
#include <thrum/mutex.h>
#include <thrum/spawn.h>

#include "base/atomic.h"
#include "core/state/handle.h"
#include "core/state/key.h"
#include "core/state/thread.h"
#include "core/state/worker.h"
#include "crew.h"

static uint32_t xindex; /* a key's index, passed without ordering anything */
static thrum_key keys[5];
static unsigned destroyed[5];
static int values[5];

static void nothing(void) {
}

static void count(void *value) {
    unsigned i = (unsigned)((int *)value - values);
    sim_check(i < 5);
    destroyed[i]++;
}

/* Acts like a task's end. */
static void end_of_run(void) {
    th_key_values_end(&th_thread_self()->key_values, true);
}

/* ---- keys ---- */

static void make_and_tell(void *unused) {
    (void)unused;
    thrum_key key;
    sim_check(thrum_key_create(&key, count) == 0);
    th_store_relaxed(&xindex, key.index);
}

static void use_told(void *unused) {
    (void)unused;
    crew_until(th_load_relaxed(&xindex) != 0);
    thrum_key key = {th_load_relaxed(&xindex)};
    sim_check(thrum_key_get(key) == NULL);
    int code = thrum_key_set(key, &values[0]);
    sim_check(code == 0 || code == -EINVAL); /* the key may not be seen to exist yet */
    end_of_run();
    sim_check(destroyed[0] == (code == 0));
}

/* A key is only a number: a thread that sees that it exists sees its destructor. */
SIM_WORLD(key_told, .exhaustive = true) {
    int t = sim_spawn(use_told, NULL);
    make_and_tell(NULL);
    sim_join(t);
}

static void make_use_delete(void *unused) {
    (void)unused;
    thrum_key mine;
    thrum_key other;
    sim_check(thrum_key_create(&mine, count) == 0);
    sim_check(thrum_key_create(&other, NULL) == 0);
    int i = (int)sim_thread_number();
    sim_check(mine.index != other.index);
    sim_check(thrum_key_set(mine, &values[i]) == 0);
    sim_check(thrum_key_set(other, &values[4]) == 0);
    sim_check(thrum_key_get(mine) == &values[i]);
    sim_check(thrum_key_delete(other) == 0);
    sim_check(thrum_key_get(other) == NULL); /* also when another key has its place by now */
    end_of_run();
    sim_check(destroyed[i] == 1);
    sim_check(thrum_key_delete(mine) == 0);
}

static void none_left(void) {
    thrum_key key;
    sim_check(thrum_key_create(&key, NULL) == 0);
    sim_check(key.index == 1); /* all are free again */
}

/*
 * Three threads make keys, use them and delete them: never the same one, whatever is free
 * meanwhile.
 */
static const crew_play made = {
    nothing, none_left, 3, {make_use_delete, make_use_delete, make_use_delete}};
SIM_WORLD(key_made) {
    crew_threads(&made);
}

static void make_keys(void (*destructor)(void *)) {
    for (int i = 0; i < 5; i++) {
        sim_check(thrum_key_create(&keys[i], destructor) == 0);
    }
}

/* More keys are used than lie in the fiber itself; refused memory is reported. */
static int use_five(void *unused) {
    (void)unused;
    for (int i = 0; i < 5; i++) {
        sim_check(thrum_key_get(keys[i]) == NULL); /* nothing of the run before */
        int code = thrum_key_set(keys[i], &values[i]);
        sim_check(code == 0 || (code == -ENOMEM && i >= TH_KEY_VALUES_INLINE));
    }
    thrum_yield();
    sim_check(thrum_key_get(keys[0]) == &values[0]);
    return 0;
}

static void use_five_in_thread(void *unused) {
    (void)use_five(unused);
    end_of_run();
}

static void make_five(void) {
    make_keys(NULL);
}

/* Two threads have more values than room; the memory for the rest may be refused. */
static const crew_play many = {make_five, NULL, 2, {use_five_in_thread, use_five_in_thread}};
SIM_WORLD(key_many, .exhaustive = true, .refusals = 2) {
    crew_threads(&many);
}

/* ---- on a scheduler ---- */

static int pair[2];
static thrum_mutex lock = THRUM_MUTEX_INIT;

/* A destructor that waits, and sets the value once more. */
static void count_and_set(void *value) {
    thrum_mutex_lock(&lock);
    int *seen = value;
    bool first = (*seen)++ % 2 == 0;
    thrum_mutex_unlock(&lock);
    if (first) {
        sim_check(thrum_key_set(keys[0], value) == 0);
    }
}

static int use_one(void *arg) {
    sim_check(thrum_key_set(keys[0], arg) == 0);
    return 0;
}

static thrum_handle *spawn_at(thrum_sched *sched, thrum_fn fn, void *arg) {
    thrum_handle *spawned = NULL;
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    sim_check(thrum_spawn_with(&spawned, &attr, fn, arg) == 0);
    return spawned;
}

/* Two runs on the same fiber or on two: each value is destroyed once, before the join. */
SIM_WORLD(key_destroyed_sched, .heavy = true) {
    make_keys(count);
    thrum_sched *sched = crew_sched_start();
    sim_check(thrum_join(spawn_at(sched, use_five, NULL), NULL) == 0);
    for (int i = 0; i < 5; i++) {
        sim_check(destroyed[i] == 1);
    }
    sim_check(thrum_join(spawn_at(sched, use_five, NULL), NULL) == 0);
    sim_check(thrum_sched_stop(sched) == 0);
    for (int i = 0; i < 5; i++) {
        sim_check(destroyed[i] == 2);
    }
}

/* Destructors wait for each other and set the value again, so that another round comes. */
SIM_WORLD(key_rounds_sched, .heavy = true) {
    sim_check(thrum_key_create(&keys[0], count_and_set) == 0);
    thrum_sched *sched = crew_sched_start();
    thrum_handle *one = spawn_at(sched, use_one, &pair[0]);
    thrum_handle *two = spawn_at(sched, use_one, &pair[1]);
    sim_check(thrum_join(one, NULL) == 0);
    sim_check(thrum_join(two, NULL) == 0);
    sim_check(pair[0] == 2 && pair[1] == 2);
    sim_check(thrum_sched_stop(sched) == 0);
}
