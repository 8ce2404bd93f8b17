/*
 * config_check.c: the allowed values of a config, and a text that names the wrong one.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/basis/config.h"
#include "core/basis/stack_state.h"
#include "platform/platform.h"
#include "thrum/config.h"

/* A field that is a number, and its allowed values. */
typedef struct field {
    const char *name;
    uint32_t offset;
    uint32_t width; /* bytes */
    uint64_t min;
    uint64_t max;
    const char *rule; /* the same in words */
} field;

/* clang-format off */
#define FIELD(name, ...)                                                                           \
    { #name, offsetof(thrum_config, name), sizeof(((thrum_config *)0)->name), __VA_ARGS__ }
/* clang-format on */

#define NO_NEGATIVE 0, INT64_MAX, "it must not be negative"
#define NO_ZERO 1, UINT32_MAX, "it must be at least 1"

static const field fields[] = {
    FIELD(policy, 0, THRUM_GLOBAL, "it must be a thrum_policy"),
    FIELD(stall_rescue_ms, 0, 1000000, "it must be 0 to 1000000"),
    FIELD(stack_size, 1, TH_STACK_SIZE_MAX, "it must be 1 to 64 MiB"),
    FIELD(local_capacity, 2, 32768, "it must be a power of two from 2 to 32768"),
    FIELD(global_interval, NO_ZERO),
    FIELD(high_limit, NO_ZERO),
    FIELD(low_interval, NO_ZERO),
    FIELD(searchers_max, 0, THRUM_WORKERS_MAX, "it must be 0 to 1024"),
    FIELD(spin_ns, NO_NEGATIVE),
    FIELD(rescue_ns, 1000, INT64_MAX, "it must be at least 1000"),
    FIELD(fifo_block, NO_ZERO),
    FIELD(affinity, 0, THRUM_AFFINITY_CACHE, "it must be a thrum_affinity"),
    FIELD(guard, 0, THRUM_GUARD_CANARY, "it must be a thrum_guard"),
    FIELD(on_deadlock, 0, THRUM_DEADLOCK_ABORT, "it must be a thrum_on_deadlock"),
    FIELD(blocking_threads_max, NO_ZERO),
    FIELD(blocking_keepalive, NO_NEGATIVE),
    FIELD(stall_ms, 0, 1000000, "it must be 0 to 1000000"),
};

/* The value as it is shown: a negative time stays negative, it is not a large number. */
static int64_t value_of(const thrum_config *c, const field *f) {
    if (f->width == sizeof(uint64_t)) {
        uint64_t value;
        memcpy(&value, (const char *)c + f->offset, sizeof value);
        return (int64_t)value;
    }
    uint32_t value;
    memcpy(&value, (const char *)c + f->offset, sizeof value);
    return value;
}

static bool is_allowed(const field *f, int64_t value) {
    return (uint64_t)value >= f->min && (uint64_t)value <= f->max;
}

/* Writes the reason of the refusal. */
TH_PRINTF(3, 4) static int refuse(char *text, size_t size, const char *format, ...) {
    if (size) {
        va_list args;
        va_start(args, format);
        vsnprintf(text, size, format, args);
        va_end(args);
    }
    return -EINVAL;
}

static int check_numbers(const thrum_config *c, char *text, size_t size) {
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const field *f = &fields[i];
        int64_t value = value_of(c, f);
        if (!is_allowed(f, value)) {
            return refuse(text, size, "%s is %" PRId64 ": %s", f->name, value, f->rule);
        }
    }
    if (c->workers != THRUM_WORKERS_AUTO && c->workers > THRUM_WORKERS_MAX) {
        return refuse(text, size, "workers is %u: it must be 0 to %u, or THRUM_WORKERS_AUTO",
                      c->workers, THRUM_WORKERS_MAX);
    }
    if (c->workers_spare != THRUM_SPARE_AUTO && c->workers_spare > THRUM_WORKERS_MAX) {
        return refuse(text, size, "workers_spare is %u: it must be 0 to %u, or THRUM_SPARE_AUTO",
                      c->workers_spare, THRUM_WORKERS_MAX);
    }
    if (c->stall_signal != THRUM_SIGNAL_AUTO && c->stall_signal >= TH_OS_SIGNALS) {
        return refuse(text, size, "stall_signal is %u: it must be 0 to 64, or THRUM_SIGNAL_AUTO",
                      c->stall_signal);
    }
    if (c->dump_signal && !th_os_signal_asks(c->dump_signal)) {
        return refuse(text, size,
                      "dump_signal is %d: it must be 0, or a signal that can request a dump",
                      c->dump_signal);
    }
    if (c->trace_file && strnlen(c->trace_file, TH_TRACE_FILE_MAX + 1) > TH_TRACE_FILE_MAX) {
        return refuse(text, size, "trace_file is longer than %u bytes", TH_TRACE_FILE_MAX);
    }
    if (c->local_capacity & (c->local_capacity - 1)) {
        return refuse(text, size, "local_capacity is %u: it must be a power of two from 2 to 32768",
                      c->local_capacity);
    }
    return 0;
}

static int check_cpus(const thrum_config *c, char *text, size_t size) {
    if (!c->cpus) {
        return !c->cpus_count
                   ? 0
                   : refuse(text, size, "cpus_count is %zu, and cpus is NULL", c->cpus_count);
    }
    if (c->affinity == THRUM_AFFINITY_NONE) {
        return refuse(text, size, "cpus is set, and affinity is THRUM_AFFINITY_NONE");
    }
    if (!c->cpus_count) {
        return refuse(text, size, "cpus is set, and cpus_count is 0");
    }
    for (size_t i = 0; i < c->cpus_count; i++) {
        if (c->cpus[i] >= THRUM_CPUS_MAX) {
            return refuse(text, size, "cpus[%zu] is %u: it must be less than %u", i, c->cpus[i],
                          THRUM_CPUS_MAX);
        }
    }
    return 0;
}

int thrum_config_check(const thrum_config *config, char *text, size_t size) {
    if (size) {
        text[0] = '\0';
    }
    if (!config) {
        return 0;
    }
    if (config->size != sizeof *config) {
        return refuse(text, size,
                      "size is %zu and not %zu: fill in the config by thrum_config_init",
                      config->size, sizeof *config);
    }
    if (!config->alloc != !config->free) {
        return refuse(text, size, "%s is set, and %s is NULL: set both or neither",
                      config->alloc ? "alloc" : "free", config->alloc ? "free" : "alloc");
    }
    int result = check_numbers(config, text, size);
    return result ? result : check_cpus(config, text, size);
}
