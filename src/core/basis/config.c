/*
 * config.c: defaults and the environment. config_check.c has the allowed values.
 */
#include "core/basis/config.h"

#include <string.h>

#include "base/atomic.h"
#include "base/plain.h"
#include "core/basis/affinity.h"
#include "core/basis/stack_state.h"
#include "platform/platform.h"

void *th_alloc_default(void *ctx, size_t size) {
    (void)ctx;
    return th_os_alloc(size);
}

void th_free_default(void *ctx, void *ptr) {
    (void)ctx;
    th_os_free(ptr);
}

/* ---- the environment: a value that makes no sense is ignored ---- */

static bool env_number(const char *name, uint64_t min, uint64_t max, uint64_t *out) {
    const char *text = th_os_env(name);
    uint64_t value = 0;
    if (!text || !*text) {
        return false;
    }
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value)) {
            return false;
        }
    }
    if (value < min || value > max) {
        return false;
    }
    *out = value;
    return true;
}

static void env_unsigned(const char *name, uint64_t min, uint64_t max, unsigned *field) {
    uint64_t value;
    if (env_number(name, min, max, &value)) {
        *field = (unsigned)value;
    }
}

static void env_bool(const char *name, bool *field) {
    uint64_t value;
    if (env_number(name, 0, 1, &value)) {
        *field = value != 0;
    }
}

static void env_time(const char *name, uint64_t min, int64_t unit_ns, thrum_time *field) {
    uint64_t value;
    if (env_number(name, min, (uint64_t)(INT64_MAX / unit_ns), &value)) {
        *field = (thrum_time)value * unit_ns;
    }
}

/* The number of the word that the variable holds, as its enumerator; else the present value. */
static unsigned env_word(const char *name, const char *const words[], unsigned count,
                         unsigned present) {
    const char *text = th_os_env(name);
    for (unsigned i = 0; text && i < count; i++) {
        if (strcmp(text, words[i]) == 0) {
            return i;
        }
    }
    return present;
}

/* Whether two texts are equal except for the case of letters; `length` of the first one. */
static bool is_word(const char *text, size_t length, const char *word) {
    size_t i = 0;
    for (; i < length && word[i]; i++) {
        const char upper = text[i] >= 'a' && text[i] <= 'z' ? (char)(text[i] - 32) : text[i];
        if (upper != word[i]) {
            return false;
        }
    }
    return i == length && !word[i];
}

/* "+3" or "-3" from the first or the last real-time signal; 0: there is no such signal. */
static int real_time_signal(const char *text, bool from_last) {
    char known[TH_OS_SIGNAL_TEXT];
    int first = 0;
    int last = 0;
    int offset = 0;
    for (int i = 1; i < TH_OS_SIGNALS; i++) {
        th_os_signal_name(i, known);
        if (strncmp(known, "SIGRTMIN", 8) == 0) {
            first = first ? first : i;
            last = i;
        }
    }
    if (*text && *text++ != (from_last ? '-' : '+')) {
        return 0;
    }
    for (; *text >= '0' && *text <= '9' && offset < TH_OS_SIGNALS; text++) {
        offset = 10 * offset + (*text - '0');
    }
    const int number = from_last ? last - offset : first + offset;
    return !*text && first && number >= first && number <= last ? number : 0;
}

/* A signal by its name, "QUIT" or "SIGQUIT", "RTMIN+3", "RTMAX-1", in any case; 0: none. */
static int signal_named(const char *text) {
    char known[TH_OS_SIGNAL_TEXT];
    const size_t all = strnlen(text, TH_OS_SIGNAL_TEXT);
    text += all > 3 && is_word(text, 3, "SIG") ? 3 : 0;
    const size_t length = strnlen(text, TH_OS_SIGNAL_TEXT);
    if (length >= 5 && (is_word(text, 5, "RTMIN") || is_word(text, 5, "RTMAX"))) {
        return real_time_signal(text + 5, is_word(text, 5, "RTMAX"));
    }
    for (int i = 1; i < TH_OS_SIGNALS; i++) {
        th_os_signal_name(i, known);
        if (strncmp(known, "SIG", 3) == 0 && is_word(text, length, known + 3)) {
            return i;
        }
    }
    return 0;
}

static void to_stderr(void *ctx, const char *piece, size_t length) {
    (void)ctx;
    th_os_stderr(piece, length);
}

/*
 * Prints one line, once: otherwise the failed wish would only be noticed when it is too late.
 */
static void tell_unknown(const char *name, const char *text) {
    static uint32_t xtold;
    char line[256];
    th_plain out = {.take = to_stderr, .bytes = line, .room = sizeof line};
    /* relaxed: only the first caller counts */
    if (!th_xchg_relaxed(&xtold, 1u)) {
        th_plain_put(&out, "thrum: %s names no signal that can request a dump: ", name);
        th_plain_quoted(&out, text);
        th_plain_put(&out, "\n");
        th_plain_flush(&out);
    }
}

/* A signal by its number or its name; "off": none. */
static void env_signal(const char *name, int *field) {
    const char *text = th_os_env(name);
    uint64_t number = 0;
    if (!text || !text[0]) {
        return;
    }
    const bool none = is_word(text, strnlen(text, 8), "OFF");
    const bool told = none || env_number(name, 0, TH_OS_SIGNALS - 1, &number);
    const int found = told ? (int)number : signal_named(text);
    if (found ? th_os_signal_asks(found) : told) {
        *field = found;
    } else {
        tell_unknown(name, text);
    }
}

int th_config_env_dump(void) {
    int number = -1;
    env_signal("THRUM_DUMP", &number);
    return number;
}

bool th_config_env_trace(void) {
    const char *text = th_os_env("THRUM_TRACE");
    return text && strcmp(text, "on") == 0;
}

static void env_text(const char *name, size_t max, const char **field) {
    const char *text = th_os_env(name);
    if (text && text[0] && strnlen(text, max + 1) <= max) {
        *field = text;
    }
}

static void from_environment(thrum_config *c) {
    static const char *const policies[] = {"sharded", "fifo", "global"};
    static const char *const deadlocks[] = {"off", "report", "abort"};
    static const char *const affinities[] = {"none", "one", "any", "cache"};
    static const char *const switches[] = {"off", "on"};
    static const char *const guards[] = {"auto", "madvise", "mprotect", "canary"};
    /* 0 is refused: a program that joins, and was not written for 0 workers, would never end */
    env_unsigned("THRUM_WORKERS", 1, THRUM_WORKERS_MAX, &c->workers);
    env_unsigned("THRUM_WORKERS_SPARE", 0, THRUM_WORKERS_MAX, &c->workers_spare);
    env_unsigned("THRUM_STALL_RESCUE_MS", 0, 1000000, &c->stall_rescue_ms);
    c->policy = (thrum_policy)env_word("THRUM_POLICY", policies, 3, c->policy);
    uint64_t stack_size;
    if (env_number("THRUM_STACK_SIZE", 1, TH_STACK_SIZE_MAX, &stack_size)) {
        c->stack_size = (size_t)stack_size;
    }
    uint64_t capacity;
    if (env_number("THRUM_LOCAL_CAPACITY", 2, 32768, &capacity) && !(capacity & (capacity - 1))) {
        c->local_capacity = (unsigned)capacity;
    }
    env_unsigned("THRUM_LIFO_LIMIT", 0, UINT32_MAX, &c->lifo_limit);
    env_unsigned("THRUM_GLOBAL_INTERVAL", 1, UINT32_MAX, &c->global_interval);
    env_unsigned("THRUM_HIGH_LIMIT", 1, UINT32_MAX, &c->high_limit);
    env_unsigned("THRUM_LOW_INTERVAL", 1, UINT32_MAX, &c->low_interval);
    env_unsigned("THRUM_SEARCHERS_MAX", 0, THRUM_WORKERS_MAX, &c->searchers_max);
    env_time("THRUM_SPIN_NS", 0, 1, &c->spin_ns);
    env_time("THRUM_RESCUE_NS", 1000, 1, &c->rescue_ns);
    env_unsigned("THRUM_FIFO_BLOCK", 1, UINT32_MAX, &c->fifo_block);
    c->affinity = env_word("THRUM_AFFINITY", affinities, 4, c->affinity);
    env_unsigned("THRUM_AFFINITY", 0, 1, &c->affinity);
    env_bool("THRUM_PIN_ALL", &c->pin_all);
    env_bool("THRUM_WAKE_HINT", &c->wake_hint);
    c->guard = (thrum_guard)env_word("THRUM_GUARD", guards, 4, c->guard);
    env_bool("THRUM_CATCH_OVERFLOW", &c->catch_overflow);
    c->on_deadlock = (thrum_on_deadlock)env_word("THRUM_DEADLOCK", deadlocks, 3, c->on_deadlock);
    env_unsigned("THRUM_BLOCKING_THREADS_MAX", 1, UINT32_MAX, &c->blocking_threads_max);
    env_unsigned("THRUM_STALL_MS", 0, 1000000, &c->stall_ms);
    env_unsigned("THRUM_STALL_SIGNAL", 0, 64, &c->stall_signal);
    env_time("THRUM_BLOCKING_KEEPALIVE_MS", 0, 1000000, &c->blocking_keepalive);
    env_signal("THRUM_DUMP", &c->dump_signal);
    c->trace = env_word("THRUM_TRACE", switches, 2, c->trace) != 0;
    env_text("THRUM_TRACE_FILE", TH_TRACE_FILE_MAX, &c->trace_file);
    env_bool("THRUM_OBSERVE", &c->observe);
}

void thrum_config_init(thrum_config *config) {
    *config = (thrum_config){
        .size = sizeof *config,
        .workers = THRUM_WORKERS_AUTO,
        .workers_spare = TH_LIMIT(THRUM_SPARE_AUTO, 0), /* simulated worlds ask for them */
        .stall_rescue_ms = 10,
        .policy = THRUM_SHARDED,
        .stack_size = (size_t)128 << 10,
        .local_capacity = 1024,
        .lifo_limit = 3,
        .global_interval = 61,
        .high_limit = 61,
        .low_interval = 256,
        .rescue_ns = 500000,
        .fifo_block = 1024,
        .wake_hint = true,
        .guard = THRUM_GUARD_AUTO,
        .catch_overflow = true,
        .blocking_threads_max = 256,
        .blocking_keepalive = (thrum_time)10 * 1000000000,
        .stall_signal = THRUM_SIGNAL_AUTO,
    };
    from_environment(config);
}

/* ---- the settled config that a scheduler uses ---- */

unsigned thrum_cpus_granted(void) {
    return th_os_cpus();
}

/* The number of CPUs that the workers may use. */
static unsigned cpus_of(const thrum_config *c) {
    th_os_cpuset set;
    if (!c->cpus || th_affinity_set(c, &set)) {
        return th_os_cpus();
    }
    return th_os_cpus_at("", th_affinity_count(&set));
}

int th_config_settle(thrum_config *out, const thrum_config *in) {
    if (in) {
        if (thrum_config_check(in, NULL, 0)) {
            return -EINVAL;
        }
        *out = *in;
    } else {
        thrum_config_init(out);
    }
    if (out->workers == 0) {
        out->pin_all = true; /* fibers stay on the thread that ran their task */
    }
    if (out->workers == THRUM_WORKERS_AUTO) {
        unsigned cpus = cpus_of(out);
        out->workers = cpus < THRUM_WORKERS_MAX ? cpus : THRUM_WORKERS_MAX;
    }
    if (!out->alloc) {
        out->alloc = th_alloc_default;
        out->free = th_free_default;
    }
    if (!out->name) {
        out->name = "thrum";
    }
    return 0;
}

unsigned th_config_spares(const thrum_config *c) {
    if (c->workers == 0 || c->pin_all || c->stall_rescue_ms == 0) {
        return 0;
    }
    unsigned most = THRUM_WORKERS_MAX - c->workers;
    unsigned spares = c->workers_spare;
    if (spares == THRUM_SPARE_AUTO) {
        spares = c->workers > 1 ? c->workers : 0;
    }
    return spares < most ? spares : most;
}
