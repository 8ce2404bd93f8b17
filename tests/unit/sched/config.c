/*
 * config.c: thrum_config: its defaults, what the environment changes, which values start refuses.
 */
#include "support/support.h"

static const char *const variables[] = {
    "THRUM_WORKERS",
    "THRUM_WORKERS_SPARE",
    "THRUM_STALL_RESCUE_MS",
    "THRUM_POLICY",
    "THRUM_STACK_SIZE",
    "THRUM_LOCAL_CAPACITY",
    "THRUM_LIFO_LIMIT",
    "THRUM_GLOBAL_INTERVAL",
    "THRUM_HIGH_LIMIT",
    "THRUM_LOW_INTERVAL",
    "THRUM_SEARCHERS_MAX",
    "THRUM_SPIN_NS",
    "THRUM_RESCUE_NS",
    "THRUM_FIFO_BLOCK",
    "THRUM_AFFINITY",
    "THRUM_PIN_ALL",
    "THRUM_WAKE_HINT",
    "THRUM_GUARD",
    "THRUM_CATCH_OVERFLOW",
    "THRUM_DEADLOCK",
    "THRUM_BLOCKING_THREADS_MAX",
    "THRUM_BLOCKING_KEEPALIVE_MS",
    "THRUM_STALL_MS",
    "THRUM_STALL_SIGNAL",
    "THRUM_DUMP",
    "THRUM_TRACE",
    "THRUM_TRACE_FILE",
    "THRUM_OBSERVE",
};

static void clear_environment(void) {
    for (size_t i = 0; i < COUNT_OF(variables); i++) {
        unsetenv(variables[i]);
    }
}

static thrum_config with(const char *name, const char *value) {
    thrum_config c;
    clear_environment();
    setenv(name, value, 1);
    memset(&c, 0x5a, sizeof(c));
    thrum_config_init(&c);
    clear_environment();
    return c;
}

static thrum_config defaults(void) {
    thrum_config c;
    clear_environment();
    memset(&c, 0x5a, sizeof(c));
    thrum_config_init(&c);
    return c;
}

static void check_same(const thrum_config *a, const thrum_config *b) {
    CHECK_EQ(a->size, b->size);
    CHECK(a->name == b->name);
    CHECK_EQ(a->workers, b->workers);
    CHECK_EQ(a->workers_spare, b->workers_spare);
    CHECK_EQ(a->stall_rescue_ms, b->stall_rescue_ms);
    CHECK_EQ(a->policy, b->policy);
    CHECK_EQ(a->stack_size, b->stack_size);
    CHECK_EQ(a->local_capacity, b->local_capacity);
    CHECK_EQ(a->lifo_limit, b->lifo_limit);
    CHECK_EQ(a->global_interval, b->global_interval);
    CHECK_EQ(a->high_limit, b->high_limit);
    CHECK_EQ(a->low_interval, b->low_interval);
    CHECK_EQ(a->searchers_max, b->searchers_max);
    CHECK_EQ(a->spin_ns, b->spin_ns);
    CHECK_EQ(a->rescue_ns, b->rescue_ns);
    CHECK_EQ(a->fifo_block, b->fifo_block);
    CHECK_EQ(a->affinity, b->affinity);
    CHECK(a->cpus == b->cpus);
    CHECK_EQ(a->cpus_count, b->cpus_count);
    CHECK_EQ(a->pin_all, b->pin_all);
    CHECK_EQ(a->wake_hint, b->wake_hint);
    CHECK_EQ(a->help_when_bound, b->help_when_bound);
    CHECK_EQ(a->guard, b->guard);
    CHECK_EQ(a->catch_overflow, b->catch_overflow);
    CHECK_EQ(a->on_deadlock, b->on_deadlock);
    CHECK_EQ(a->blocking_threads_max, b->blocking_threads_max);
    CHECK_EQ(a->blocking_keepalive, b->blocking_keepalive);
    CHECK_EQ(a->stall_ms, b->stall_ms);
    CHECK_EQ(a->stall_signal, b->stall_signal);
    CHECK_EQ(a->dump_signal, b->dump_signal);
    CHECK_EQ(a->trace, b->trace);
    CHECK(a->trace_file == b->trace_file);
    CHECK_EQ(a->observe, b->observe);
}

TEST(defaults_are_those_of_the_header) {
    /* They are those that the header states, whatever the memory held before. */
    const thrum_config c = defaults();
    CHECK_EQ(c.size, sizeof(thrum_config));
    CHECK(!c.name || strcmp(c.name, "thrum") == 0);
    CHECK_EQ(c.workers, THRUM_WORKERS_AUTO);
    CHECK_EQ(c.workers_spare, THRUM_SPARE_AUTO);
    CHECK_EQ(c.stall_rescue_ms, 10);
    CHECK_EQ(c.policy, THRUM_SHARDED);
    CHECK_EQ(c.stack_size, 128u << 10);
    CHECK_EQ(c.local_capacity, 1024);
    CHECK_EQ(c.lifo_limit, 3);
    CHECK_EQ(c.global_interval, 61);
    CHECK_EQ(c.high_limit, 61);
    CHECK_EQ(c.low_interval, 256);
    CHECK_EQ(c.searchers_max, 0);
    CHECK_EQ(c.spin_ns, 0);
    CHECK_EQ(c.rescue_ns, 500000);
    CHECK_EQ(c.fifo_block, 1024);
    CHECK_EQ(c.affinity, THRUM_AFFINITY_NONE);
    CHECK(c.cpus == NULL);
    CHECK(!c.pin_all);
    CHECK(c.wake_hint);
    CHECK(!c.help_when_bound);
    CHECK_EQ(c.guard, THRUM_GUARD_AUTO);
    CHECK(c.catch_overflow);
    CHECK_EQ(c.on_deadlock, THRUM_DEADLOCK_OFF);
    CHECK_EQ(c.blocking_threads_max, 256);
    CHECK_EQ(c.blocking_keepalive, 10000000000);
    CHECK(c.hook_ctx == NULL);
    CHECK(!c.worker_start && !c.worker_stop);
    CHECK(!c.alloc && !c.free);
    CHECK(!c.panic && !c.deadlock);
    CHECK_EQ(c.stall_ms, 0);
    CHECK_EQ(c.stall_signal, THRUM_SIGNAL_AUTO);
    CHECK(c.stall == NULL);
    CHECK_EQ(c.dump_signal, 0);
    CHECK(!c.trace && !c.trace_file && !c.observe);
    CHECK(c.data == NULL);
}

TEST(environment_overrides_each_field) {
    /* Each variable changes its field. */
    CHECK_EQ(with("THRUM_WORKERS", "7").workers, 7);
    CHECK_EQ(with("THRUM_WORKERS_SPARE", "0").workers_spare, 0);
    CHECK_EQ(with("THRUM_WORKERS_SPARE", "1024").workers_spare, 1024);
    CHECK_EQ(with("THRUM_STALL_RESCUE_MS", "0").stall_rescue_ms, 0);
    CHECK_EQ(with("THRUM_STALL_RESCUE_MS", "1000000").stall_rescue_ms, 1000000);
    CHECK_EQ(with("THRUM_POLICY", "sharded").policy, THRUM_SHARDED);
    CHECK_EQ(with("THRUM_POLICY", "fifo").policy, THRUM_FIFO);
    CHECK_EQ(with("THRUM_POLICY", "global").policy, THRUM_GLOBAL);
    CHECK_EQ(with("THRUM_STACK_SIZE", "65536").stack_size, 65536);
    CHECK_EQ(with("THRUM_LOCAL_CAPACITY", "2").local_capacity, 2);
    CHECK_EQ(with("THRUM_LOCAL_CAPACITY", "32768").local_capacity, 32768);
    CHECK_EQ(with("THRUM_LIFO_LIMIT", "0").lifo_limit, 0);
    CHECK_EQ(with("THRUM_GLOBAL_INTERVAL", "1").global_interval, 1);
    CHECK_EQ(with("THRUM_HIGH_LIMIT", "7").high_limit, 7);
    CHECK_EQ(with("THRUM_LOW_INTERVAL", "9").low_interval, 9);
    CHECK_EQ(with("THRUM_SEARCHERS_MAX", "5").searchers_max, 5);
    CHECK_EQ(with("THRUM_SPIN_NS", "1234").spin_ns, 1234);
    CHECK_EQ(with("THRUM_RESCUE_NS", "1000").rescue_ns, 1000);
    CHECK_EQ(with("THRUM_RESCUE_NS", "999").rescue_ns, 500000);
    CHECK_EQ(with("THRUM_FIFO_BLOCK", "32").fifo_block, 32);
    CHECK_EQ(with("THRUM_AFFINITY", "1").affinity, THRUM_AFFINITY_ONE);
    CHECK_EQ(with("THRUM_AFFINITY", "one").affinity, THRUM_AFFINITY_ONE);
    CHECK_EQ(with("THRUM_AFFINITY", "any").affinity, THRUM_AFFINITY_ANY);
    CHECK_EQ(with("THRUM_AFFINITY", "cache").affinity, THRUM_AFFINITY_CACHE);
    CHECK(with("THRUM_PIN_ALL", "1").pin_all);
    CHECK(!with("THRUM_WAKE_HINT", "0").wake_hint);
    CHECK_EQ(with("THRUM_GUARD", "auto").guard, THRUM_GUARD_AUTO);
    CHECK_EQ(with("THRUM_GUARD", "madvise").guard, THRUM_GUARD_MADVISE);
    CHECK_EQ(with("THRUM_GUARD", "mprotect").guard, THRUM_GUARD_MPROTECT);
    CHECK_EQ(with("THRUM_GUARD", "canary").guard, THRUM_GUARD_CANARY);
    CHECK(!with("THRUM_CATCH_OVERFLOW", "0").catch_overflow);
    CHECK_EQ(with("THRUM_DEADLOCK", "report").on_deadlock, THRUM_DEADLOCK_REPORT);
    CHECK_EQ(with("THRUM_DEADLOCK", "abort").on_deadlock, THRUM_DEADLOCK_ABORT);
    CHECK_EQ(with("THRUM_BLOCKING_THREADS_MAX", "9").blocking_threads_max, 9);
    CHECK_EQ(with("THRUM_BLOCKING_KEEPALIVE_MS", "250").blocking_keepalive, 250000000);
    CHECK_EQ(with("THRUM_STALL_MS", "100").stall_ms, 100);
    CHECK_EQ(with("THRUM_STALL_MS", "1000000").stall_ms, 1000000);
    CHECK_EQ(with("THRUM_STALL_SIGNAL", "0").stall_signal, 0);
    CHECK_EQ(with("THRUM_STALL_SIGNAL", "64").stall_signal, 64);
}

TEST(environment_names_the_signal_for_dumps) {
    /* It does so by a name, with or without SIG, or by a number. */
    CHECK_EQ(with("THRUM_DUMP", "TERM").dump_signal, SIGTERM);
    CHECK_EQ(with("THRUM_DUMP", "SIGINT").dump_signal, SIGINT);
    CHECK_EQ(with("THRUM_DUMP", "15").dump_signal, 15);
    CHECK_EQ(with("THRUM_DUMP", "0").dump_signal, 0);
    CHECK_EQ(with("THRUM_DUMP", "off").dump_signal, 0);
    CHECK(with("THRUM_TRACE", "on").trace && !with("THRUM_TRACE", "off").trace);
    CHECK(with("THRUM_OBSERVE", "1").observe && !with("THRUM_OBSERVE", "yes").observe);
}

TEST(environment_leaves_the_other_fields) {
    /* A variable changes nothing but its field. */
    const thrum_config plain = defaults();
    thrum_config c = with("THRUM_WORKERS", "3");
    CHECK_EQ(c.workers, 3);
    c.workers = plain.workers;
    check_same(&c, &plain);
    c = with("THRUM_GUARD", "canary");
    c.guard = plain.guard;
    check_same(&c, &plain);
}

static const struct {
    const char *name, *value;
} garbage[] = {
    {"THRUM_WORKERS", ""},
    {"THRUM_WORKERS", "0"}, /* only a program can be written for no workers */
    {"THRUM_WORKERS", "many"},
    {"THRUM_WORKERS", "-1"},
    {"THRUM_WORKERS", "4x"},
    {"THRUM_WORKERS", "1025"},
    {"THRUM_WORKERS", "4294967297"},
    {"THRUM_WORKERS", "99999999999999999999999"},
    {"THRUM_WORKERS_SPARE", "1025"},
    {"THRUM_WORKERS_SPARE", "auto"},
    {"THRUM_STALL_RESCUE_MS", "1000001"},
    {"THRUM_STALL_RESCUE_MS", "-1"},
    {"THRUM_STALL_MS", "1000001"},
    {"THRUM_STALL_MS", "-1"},
    {"THRUM_STALL_SIGNAL", "65"},
    {"THRUM_STALL_SIGNAL", "auto"},
    {"THRUM_POLICY", ""},
    {"THRUM_POLICY", "best"},
    {"THRUM_POLICY", "global2"},
    {"THRUM_STACK_SIZE", "lots"},
    {"THRUM_STACK_SIZE", "-65536"},
    {"THRUM_STACK_SIZE", "99999999999999999999999"},
    {"THRUM_LOCAL_CAPACITY", "0"},
    {"THRUM_LOCAL_CAPACITY", "1"},
    {"THRUM_LOCAL_CAPACITY", "100"},
    {"THRUM_LOCAL_CAPACITY", "65536"},
    {"THRUM_LOCAL_CAPACITY", "4294967298"},
    {"THRUM_LIFO_LIMIT", "x"},
    {"THRUM_LIFO_LIMIT", "-3"},
    {"THRUM_GLOBAL_INTERVAL", "0"},
    {"THRUM_GLOBAL_INTERVAL", "never"},
    {"THRUM_HIGH_LIMIT", "0"},
    {"THRUM_LOW_INTERVAL", "0"},
    {"THRUM_SEARCHERS_MAX", "half"},
    {"THRUM_SPIN_NS", "-5"},
    {"THRUM_SPIN_NS", "18446744073709551616"},
    {"THRUM_SPIN_NS", "18446744073709551619"},
    {"THRUM_SPIN_NS", "5us"},
    {"THRUM_AFFINITY", "2"},
    {"THRUM_PIN_ALL", "maybe"},
    {"THRUM_WAKE_HINT", "7"},
    {"THRUM_GUARD", "none"},
    {"THRUM_CATCH_OVERFLOW", ""},
    {"THRUM_DEADLOCK", "1"},
    {"THRUM_BLOCKING_THREADS_MAX", "0"},
    {"THRUM_BLOCKING_THREADS_MAX", "-4"},
    {"THRUM_BLOCKING_KEEPALIVE_MS", "-1"},
    {"THRUM_BLOCKING_KEEPALIVE_MS", "soon"},
    {"THRUM_BLOCKING_KEEPALIVE_MS", "9223372036854775807"}, /* past the end of time */
    {"THRUM_DUMP", ""},
    {"THRUM_DUMP", "quits"},
    {"THRUM_TRACE", "1"},
    {"THRUM_TRACE_FILE", ""},
    {"THRUM_DUMP", "65"},
    {"THRUM_DUMP", "-3"},
    {"THRUM_DUMP", "9"}, /* it cannot be caught */
    {"THRUM_DUMP", "SEGV"},
    {"THRUM_DUMP", "PIPE"},
    {"THRUM_DUMP", "signal 11"},
};

TEST(environment_garbage_is_ignored) {
    /* Values that make no sense are ignored: the default stays. */
    const thrum_config plain = defaults();
    for (size_t i = 0; i < COUNT_OF(garbage); i++) {
        thrum_config c = with(garbage[i].name, garbage[i].value);
        /* a keepalive that saturates makes sense, too */
        if (c.blocking_keepalive == THRUM_FOREVER) {
            c.blocking_keepalive = plain.blocking_keepalive;
        }
        check_same(&c, &plain);
    }
}

TEST(program_wins_over_environment) {
    /* What the program sets after the init wins over the environment. */
    thrum_config c = with("THRUM_WORKERS", "5");
    thrum_sched *sched = NULL;
    setenv("THRUM_WORKERS", "5", 1);
    c.workers = 2;
    CHECK_EQ(thrum_sched_start(&sched, &c), 0);
    CHECK_EQ(thrum_sched_parallelism(sched), 2);
    CHECK_EQ(thrum_sched_stop(sched), 0);
}

TEST(null_config_reads_the_environment) {
    /* A NULL config means defaults and environment. */
    thrum_sched *sched = NULL;
    clear_environment();
    setenv("THRUM_WORKERS", "3", 1);
    CHECK_EQ(thrum_sched_start(&sched, NULL), 0);
    CHECK_EQ(thrum_sched_parallelism(sched), 3);
    CHECK_EQ(thrum_sched_stop(sched), 0);
}

static void check_refused(const rig *r, int error) {
    thrum_sched *sched = NULL;
    CHECK_EQ(thrum_sched_start(&sched, &r->config), error);
    CHECK_EQ(atomic_load(&r->live), 0);
}

/* Demands that it is refused, in words that begin with the field's name. */
static void check_told(const thrum_config *config, const char *field, int error) {
    char text[160];
    memset(text, 'x', sizeof(text));
    CHECK_EQ(thrum_config_check(config, text, sizeof(text)), error);
    if (strncmp(text, field, strlen(field)) != 0) {
        check_failed(__FILE__, __LINE__, "%s is told so: %s", field, text);
    }
    char cut[6] = "yyyyy";
    CHECK_EQ(thrum_config_check(config, cut, 5), error);
    CHECK(strlen(cut) == 4 && strncmp(cut, text, 4) == 0);
    CHECK_EQ(thrum_config_check(config, NULL, 0), error);
}

#define CHECK_FIELD(field, value, error)                                                           \
    do {                                                                                           \
        rig r_;                                                                                    \
        rig_init(&r_);                                                                             \
        r_.config.workers = 1;                                                                     \
        r_.config.field = (value);                                                                 \
        check_refused(&r_, (error));                                                               \
        check_told(&r_.config, #field, (error));                                                   \
    } while (0)

TEST(start_refuses_each_field_out_of_range) {
    /* Every field out of its range keeps the scheduler from starting, with nothing left behind. */
    clear_environment();
    CHECK_FIELD(size, 0, -EINVAL);
    CHECK_FIELD(size, sizeof(thrum_config) + 4096, -EINVAL);
    CHECK_FIELD(size, SIZE_MAX, -EINVAL);
    CHECK_FIELD(workers, THRUM_WORKERS_MAX + 1, -EINVAL);
    CHECK_FIELD(workers, (unsigned)-2, -EINVAL);
    CHECK_FIELD(workers_spare, THRUM_WORKERS_MAX + 1, -EINVAL);
    CHECK_FIELD(stall_rescue_ms, 1000001, -EINVAL);
    CHECK_FIELD(stall_ms, 1000001, -EINVAL);
    CHECK_FIELD(stall_signal, 65, -EINVAL);
    CHECK_FIELD(policy, (thrum_policy)17, -EINVAL);
    CHECK_FIELD(stack_size, (64u << 20) + 1, -EINVAL);
    CHECK_FIELD(stack_size, SIZE_MAX, -EINVAL);
    CHECK_FIELD(local_capacity, 0, -EINVAL);
    CHECK_FIELD(local_capacity, 1, -EINVAL);
    CHECK_FIELD(local_capacity, 3, -EINVAL);
    CHECK_FIELD(local_capacity, 255, -EINVAL);
    CHECK_FIELD(local_capacity, 65536, -EINVAL);
    CHECK_FIELD(global_interval, 0, -EINVAL);
    CHECK_FIELD(high_limit, 0, -EINVAL);
    CHECK_FIELD(low_interval, 0, -EINVAL);
    CHECK_FIELD(searchers_max, THRUM_WORKERS_MAX + 1, -EINVAL);
    CHECK_FIELD(fifo_block, 0, -EINVAL);
    CHECK_FIELD(stack_size, 0, -EINVAL);
    CHECK_FIELD(spin_ns, -1, -EINVAL);
    CHECK_FIELD(rescue_ns, 999, -EINVAL);
    CHECK_FIELD(guard, (thrum_guard)17, -EINVAL);
    CHECK_FIELD(blocking_threads_max, 0, -EINVAL);
    CHECK_FIELD(blocking_keepalive, -1, -EINVAL);
    CHECK_FIELD(affinity, 4, -EINVAL);
    CHECK_FIELD(on_deadlock, (thrum_on_deadlock)17, -EINVAL);
    CHECK_FIELD(cpus_count, 1, -EINVAL);
    CHECK_FIELD(dump_signal, -1, -EINVAL);
    CHECK_FIELD(dump_signal, SIGKILL, -EINVAL);
    CHECK_FIELD(dump_signal, 65, -EINVAL);
}

static void check_words(const thrum_config *config, const char *words) {
    char text[160];
    CHECK_EQ(thrum_config_check(config, text, sizeof(text)), words[0] == '\0' ? 0 : -EINVAL);
    CHECK_STR(text, words);
    thrum_sched *sched = NULL;
    CHECK_EQ(thrum_sched_start(&sched, config), words[0] == '\0' ? 0 : -EINVAL);
    if (sched) {
        CHECK_EQ(thrum_sched_stop(sched), 0);
    }
}

TEST(what_a_start_refuses_is_said_in_words) {
    /* The words name the field, its value, and what it may be; a config that is taken has none. */
    const unsigned cpus[] = {0, 9000};
    rig r;
    clear_environment();
    check_words(NULL, "");
    thrum_config c = defaults();
    check_words(&c, "");
    c.workers = 5000;
    check_words(&c, "workers is 5000: it must be 0 to 1024, or THRUM_WORKERS_AUTO");
    c = defaults();
    c.workers_spare = 1025;
    check_words(&c, "workers_spare is 1025: it must be 0 to 1024, or THRUM_SPARE_AUTO");
    c = defaults();
    c.stall_rescue_ms = 1000001;
    check_words(&c, "stall_rescue_ms is 1000001: it must be 0 to 1000000");
    c = defaults();
    c.spin_ns = -7;
    check_words(&c, "spin_ns is -7: it must not be negative");
    c = defaults();
    c.local_capacity = 100;
    check_words(&c, "local_capacity is 100: it must be a power of two from 2 to 32768");
    c = defaults();
    c.policy = (thrum_policy)17;
    check_words(&c, "policy is 17: it must be a thrum_policy");
    c = defaults();
    c.dump_signal = SIGKILL;
    check_words(&c, "dump_signal is 9: it must be 0, or a signal that can request a dump");
    c = defaults();
    c.cpus = cpus;
    check_words(&c, "cpus is set, and affinity is THRUM_AFFINITY_NONE");
    c.affinity = THRUM_AFFINITY_ANY;
    check_words(&c, "cpus is set, and cpus_count is 0");
    c.cpus_count = 2;
    check_words(&c, "cpus[1] is 9000: it must be less than 8192");
    rig_init(&r);
    r.config.free = NULL;
    check_words(&r.config, "alloc is set, and free is NULL: set both or neither");
    rig_init(&r);
    r.config.alloc = NULL;
    check_words(&r.config, "free is set, and alloc is NULL: set both or neither");
}

TEST(start_without_workers_is_no_mistake) {
    /* Bound threads run the tasks then. */
    rig r;
    clear_environment();
    rig_init(&r);
    r.config.workers = 0;
    rig_start(&r);
    CHECK_EQ(thrum_sched_parallelism(r.sched), 0);
    rig_stop(&r);
}

TEST(start_without_out_is_invalid) {
    /* A missing place for the handle is a bad argument. */
    thrum_config c = defaults();
    CHECK_EQ(thrum_sched_start(NULL, &c), -EINVAL);
}

static int answer(void *arg) {
    return *(int *)arg;
}

static void check_runs(rig *r) {
    int number = 42;
    rig_start(r);
    CHECK_EQ(rig_run(r, answer, &number), 42);
    rig_stop(r);
}

#define CHECK_ACCEPTED(field, value)                                                               \
    do {                                                                                           \
        rig r_;                                                                                    \
        rig_init(&r_);                                                                             \
        r_.config.workers = 2;                                                                     \
        r_.config.field = (value);                                                                 \
        check_runs(&r_);                                                                           \
    } while (0)

TEST(start_accepts_the_ends_of_each_range) {
    /* The ends of every range work. */
    NOT_BY_POSIX("sets of CPUs");
    clear_environment();
    CHECK_ACCEPTED(workers, 1);
    CHECK_ACCEPTED(workers, 64);
    CHECK_ACCEPTED(workers_spare, 0);
    CHECK_ACCEPTED(workers_spare, THRUM_WORKERS_MAX);
    CHECK_ACCEPTED(stall_rescue_ms, 1);
    CHECK_ACCEPTED(stall_rescue_ms, 1000000);
    CHECK_ACCEPTED(policy, THRUM_GLOBAL);
    CHECK_ACCEPTED(policy, THRUM_FIFO);
    CHECK_ACCEPTED(fifo_block, 1);
    CHECK_ACCEPTED(fifo_block, UINT32_MAX);
    CHECK_ACCEPTED(stack_size, 1); /* this is rounded up */
    CHECK_ACCEPTED(stack_size, 16u << 10);
    CHECK_ACCEPTED(stack_size, 100000);
    CHECK_ACCEPTED(stack_size, 64u << 20);
    CHECK_ACCEPTED(local_capacity, 2);
    CHECK_ACCEPTED(local_capacity, 32768);
    CHECK_ACCEPTED(lifo_limit, 0);
    CHECK_ACCEPTED(lifo_limit, UINT32_MAX);
    CHECK_ACCEPTED(global_interval, 1);
    CHECK_ACCEPTED(global_interval, UINT32_MAX);
    CHECK_ACCEPTED(high_limit, 1);
    CHECK_ACCEPTED(low_interval, 1);
    CHECK_ACCEPTED(searchers_max, 1);
    CHECK_ACCEPTED(searchers_max, THRUM_WORKERS_MAX);
    CHECK_ACCEPTED(spin_ns, 20000);
    CHECK_ACCEPTED(rescue_ns, 1000);
    CHECK_ACCEPTED(rescue_ns, INT64_MAX);
    CHECK_ACCEPTED(affinity, true);
    CHECK_ACCEPTED(affinity, THRUM_AFFINITY_ANY);
    CHECK_ACCEPTED(affinity, THRUM_AFFINITY_CACHE);
    CHECK_ACCEPTED(pin_all, true);
    CHECK_ACCEPTED(wake_hint, false);
    CHECK_ACCEPTED(catch_overflow, false);
    CHECK_ACCEPTED(on_deadlock, THRUM_DEADLOCK_ABORT);
    CHECK_ACCEPTED(guard, THRUM_GUARD_MPROTECT);
    CHECK_ACCEPTED(guard, THRUM_GUARD_CANARY);
    CHECK_ACCEPTED(blocking_threads_max, 1);
    CHECK_ACCEPTED(blocking_keepalive, 0);
    CHECK_ACCEPTED(blocking_keepalive, THRUM_FOREVER);
    CHECK_ACCEPTED(name, "");
    CHECK_ACCEPTED(name, "a name that is far longer than what the system keeps for a thread");
}

TEST(config_and_name_are_not_kept) {
    /* The config may change or go as soon as start has returned; the name is copied. */
    char name[16] = "short-lived";
    rig r;
    int number = 7;
    thrum_config c;
    rig_init(&r);
    r.config.workers = 2;
    r.config.name = name;
    c = r.config;
    CHECK_EQ(thrum_sched_start(&r.sched, &c), 0);
    memset(name, 0, sizeof(name));
    memset(&c, 0xff, sizeof(c));
    CHECK_EQ(rig_run(&r, answer, &number), 7);
    CHECK_EQ(thrum_sched_stop(r.sched), 0);
    rig_check_freed(&r);
}

TEST(automatic_worker_count_is_never_zero) {
    /* With workers left at automatic a scheduler has at least one. */
    rig r;
    clear_environment();
    rig_init(&r);
    r.config.workers = THRUM_WORKERS_AUTO;
    rig_start(&r);
    CHECK(thrum_sched_parallelism(r.sched) >= 1);
    CHECK(thrum_sched_parallelism(r.sched) <= THRUM_WORKERS_MAX);
    rig_stop(&r);
}
