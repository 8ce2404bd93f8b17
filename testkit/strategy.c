/*
 * strategy.c: how decisions are taken. Each is written down; a run can be done again from that.
 *
 *   random      at each point another thread goes on, with a chance that is drawn for the run
 *   pct         threads have priorities; at a few random steps the running one becomes the lowest
 *   bounded     another thread goes on only at a few random steps, or where the running one waits
 *   exhaustive  all decisions, up to so many preemptions and so many old values
 *   replay      those given; beyond them the quiet ones
 *
 * 0 is always the quiet decision: go on, the newest value, no accident.
 */
#include <string.h>

#include "engine.h"

const char *const strategy_names[S_COUNT] = {"random", "pct", "bounded", "exhaustive", "replay"};
const char *const mode_names[M_COUNT] = {"seq", "tso", "c11"};

uint64_t rng(void) {
    uint64_t x = E->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    E->random = x;
    return x * 0x2545f4914f6cdd1dull >> 16;
}

static unsigned preemptions_max(void) {
    return E->world->preemptions || E->still ? E->world->preemptions : 2;
}

void strategy_begin(void) {
    const sim_world *w = E->world;
    E->log_count = 0;
    E->hash = 0x9e3779b97f4a7c15ull;
    E->preempted = 0;
    E->old_left = E->old_max;
    E->lowest = 1000000;
    if (E->strategy != S_REPLAY) { /* a replay has the limits of its run */
        bool some = E->strategy != S_EXHAUSTIVE;
        unsigned timers = w->timers_max ? w->timers_max : 2;
        unsigned spurious = w->spurious ? w->spurious : 2;
        E->limits = (limits){
            .refusals = some ? (uint8_t)(rng() % (w->refusals + 1)) : 0,
            .timers = some ? (uint8_t)(rng() % (timers + 1)) : 0,
            .spurious = some && rng() % 4 == 0 ? (uint8_t)spurious : 0,
            .inserts = E->mode == M_C11 && (some ? rng() % 4 == 0 : w->inserts),
            .reuse = some && rng() % 2, /* a search needs the same in each run */
            .fair = !some,
        };
    }
    if (E->still) { /* a test's time and memory are exact; what fails there, the test asks for */
        E->limits = (limits){0};
    }
    E->refuses = true;
    E->refusals_left = E->limits.refusals;
    E->timers_left = E->limits.timers;
    E->spurious_left = E->limits.spurious;
    E->switch_mask = (1u << (rng() % 6)) - 1;
    E->stale_mask = (1u << (1 + rng() % 4)) - 1;
    E->refusal_mask = w->refusals ? (1u << (rng() % 4)) - 1 : 0;
    if (E->strategy == S_BOUNDED) {
        E->switch_mask = ~0u;
    }
    E->changes_count = 1 + (unsigned)(rng() % 3);
    uint64_t typical = E->steps_typical ? E->steps_typical : 100;
    for (unsigned i = 0; i < E->changes_count; i++) {
        E->changes[i] = 1 + rng() % typical;
    }
}

void steps_begin(void) {
    E->steps = 0;
    E->steps_next = E->world->steps_max / (E->tasks_begun ? 2 : 1);
}

/* A run in which tasks begin up to its end may just be long. */
void steps_over(void) {
    const unsigned most = E->world->steps_max;
    const uint64_t begun = E->tasks_begun ? E->tasks_begun() : 0;
    if (E->steps_next < most) {
        E->steps_next = most;
        E->tasks_half = begun;
    } else if (begun > E->tasks_half) {
        fail("steps", "more than %u steps; %llu task%s began in the second half of them", most,
             (unsigned long long)(begun - E->tasks_half), begun - E->tasks_half == 1 ? "" : "s");
    } else {
        fail("livelock", "more than %u steps", most);
    }
}

/* Whether this is one of the run's special steps. */
static bool change_at(uint64_t step) {
    for (unsigned i = 0; i < E->changes_count; i++) {
        if (unlikely(E->changes[i] == step)) {
            E->changes[i] = 0;
            return true;
        }
    }
    return false;
}

static bool change_here(void) {
    return change_at(E->steps);
}

static unsigned log_choice(sim_what what, unsigned n, unsigned choice) {
    if (unlikely(E->log_count >= LOG_MAX)) {
        fail(TH_KIT ? "steps" : "livelock", "more than %u decisions", LOG_MAX);
    }
    E->log[E->log_count] = (uint8_t)choice;
    E->log_options[E->log_count] = (uint8_t)n;
    E->log_what[E->log_count] = (uint8_t)what;
    E->log_count++;
    if (choice) {
        E->hash = (E->hash ^ ((uint64_t)E->log_count << 8 | choice)) * 0x9fb21c651e98df25ull;
        E->hash ^= E->hash >> 29;
    }
    return choice;
}

static unsigned given(unsigned n) {
    if (E->log_count >= E->given_count) {
        return 0;
    }
    unsigned choice = E->given[E->log_count];
    return choice < n ? choice : 0;
}

static unsigned highest(uint32_t others, bool stay) {
    uint32_t best = stay ? E->current->priority : 0;
    unsigned choice = 0;
    unsigned at = stay ? 1 : 0;
    for (uint32_t bits = others; bits; bits &= bits - 1, at++) {
        uint32_t p = E->threads[__builtin_ctz(bits)].priority;
        if (p > best) {
            best = p;
            choice = at;
        }
    }
    return choice;
}

/* The options: to stay (if that is allowed), then the others, then the extras. */
unsigned strategy_thread(uint32_t others, bool stay, unsigned extras) {
    unsigned threads = (stay ? 1u : 0u) + (unsigned)__builtin_popcount(others);
    unsigned n = threads + extras;
    unsigned choice = 0;
    switch (E->strategy) {
    case S_RANDOM:
        if (!stay) {
            choice = threads > 1 ? (unsigned)(rng() % threads) : 0;
        } else if (threads > 1 && !(rng() & E->switch_mask)) {
            choice = (unsigned)(rng() % threads);
        }
        break;
    case S_PCT:
        if (unlikely(change_here())) {
            E->current->priority = --E->lowest;
        }
        choice = highest(others, stay);
        break;
    case S_BOUNDED:
        if (!stay) {
            choice = threads > 1 ? (unsigned)(rng() % threads) : 0;
        } else if (threads > 1 && change_here()) {
            choice = 1 + (unsigned)(rng() % (threads - 1));
        }
        break;
    case S_EXHAUSTIVE: {
        bool spent = stay && E->preempted >= preemptions_max();
        if (extras && !E->old_left) { /* no deadline passes early in a search: stores that go */
            E->old_spared = true;
            n = threads;
        }
        choice = given(n);
        if (spent && choice > 0 && choice < threads) {
            choice = threads; /* extras are no preemptions */
        }
        E->old_left -= choice >= threads;
        return log_choice(SIM_THREAD, spent && n == threads ? 1 : n, choice);
    }
    case S_REPLAY:
    default:
        choice = given(n);
        break;
    }
    if (extras && E->strategy != S_REPLAY && rng() % (E->buffers ? 4 : 64) == 0) {
        choice = threads + (unsigned)(rng() % extras);
    }
    return log_choice(SIM_THREAD, n, choice);
}

static bool allowed(sim_what what) {
    switch (what) {
    case SIM_REFUSAL:
        return E->refusals_left > 0 && E->refuses;
    case SIM_SPURIOUS:
        return E->spurious_left > 0;
    default:
        return true;
    }
}

unsigned sim_choose(sim_what what, unsigned n) {
    if (n <= 1 || !allowed(what)) {
        return 0;
    }
    unsigned choice = 0;
    if (E->strategy == S_REPLAY) {
        choice = given(n);
    } else if (E->strategy == S_EXHAUSTIVE) {
        if (what == SIM_VALUE && !E->old_left) {
            E->old_spared = true;
            return log_choice(what, 1, 0);
        }
        if (what == SIM_TASK && E->preempted >= preemptions_max()) {
            return log_choice(what, 1, 0);
        }
        choice = given(n);
        E->preempted += what == SIM_TASK && choice;
        E->old_left -= what == SIM_VALUE && choice;
    } else {
        switch (what) {
        case SIM_VALUE:
            if (!(rng() & E->stale_mask)) {
                choice = (unsigned)(rng() % n);
            }
            break;
        case SIM_WORLD:
            choice = (unsigned)(rng() % n);
            break;
        case SIM_TASK:
            /* Every second change of the next step is one within the worker. */
            choice = E->strategy == S_RANDOM ? !(rng() & E->switch_mask)
                                             : (rng() & 1) && change_at(E->steps + 1);
            break;
        case SIM_PICK:
            choice = (unsigned)(rng() % n);
            break;
        case SIM_REFUSAL:
            choice = !(rng() & E->refusal_mask);
            break;
        case SIM_SPURIOUS:
            choice = rng() % 4 == 0 ? (unsigned)(rng() % n) : 0;
            break;
        default:
            choice = rng() % 4 == 0 ? (unsigned)(rng() % n) : 0;
            break;
        }
    }
    if (choice) {
        E->refusals_left -= what == SIM_REFUSAL;
        E->spurious_left -= what == SIM_SPURIOUS;
    }
    return log_choice(what, n, choice);
}

/*
 * Prepares the next run of the exhaustive search: it changes the last decision that has another
 * option left.
 */
bool exhaustive_next(void) {
    uint32_t n = E->log_count;
    while (n > 0 && E->log[n - 1] + 1u >= E->log_options[n - 1]) {
        n--;
    }
    if (n == 0) {
        return false;
    }
    memcpy(E->given, E->log, n);
    E->given[n - 1]++;
    E->given_count = n;
    return true;
}
