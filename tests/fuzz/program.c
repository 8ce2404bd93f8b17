/*
 * program.c: programs from seeds, bytes and files.
 */
#include "fuzz.h"

#include <stdio.h>
#include <string.h>

const char *const fuzz_op_names[OP_COUNT] = {
#define FUZZ_OP_NAME(name, who) #name,
    FUZZ_OPS(FUZZ_OP_NAME)
#undef FUZZ_OP_NAME
};

const int fuzz_op_who[OP_COUNT] = {
#define FUZZ_OP_WHO(name, who) who,
    FUZZ_OPS(FUZZ_OP_WHO)
#undef FUZZ_OP_WHO
};

uint64_t fuzz_random(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Operations that belong together: a program takes some of the groups, so that queues get long. */
static const struct {
    op first, last;
} groups[] = {
    {OP_mutex_lock, OP_mutex_unlock},
    {OP_mutex_lock, OP_cond_broadcast},
    {OP_rw_read, OP_rw_unlock},
    {OP_sem_wait, OP_sem_post},
    {OP_group_add, OP_group_wait},
    {OP_event_signal, OP_event_any},
    {OP_once_run, OP_once_destroy},
    {OP_barrier_wait, OP_barrier_wait},
    {OP_ticket_take, OP_ticket_on_call},
    {OP_pool_borrow, OP_pool_give},
    {OP_chan_send, OP_select},
    {OP_chan_send, OP_chan_try_recv},
    {OP_select, OP_select},
    {OP_io_write, OP_io_renew},
    {OP_io_write, OP_io_on},
    {OP_sleep, OP_yield},
    {OP_spawn, OP_end},
    {OP_scope_open, OP_scope_join},
    {OP_shield_begin, OP_shield_end},
    {OP_key_set, OP_parallel},
    {OP_blocking, OP_blocking_end},
    {OP_task_post, OP_task_cancel},
    {OP_cancel, OP_cancel},
    {OP_stop, OP_restart},
};

enum { GROUPS_OF_OPS = sizeof(groups) / sizeof(groups[0]) };

void program_from_seed(program *p, uint64_t seed, int steps) {
    uint64_t state = seed * 2 + 1;
    int chosen[6];
    int count = 2 + (int)(fuzz_random(&state) % 5);
    for (int i = 0; i < count; i++) {
        chosen[i] = (int)(fuzz_random(&state) % GROUPS_OF_OPS);
    }
    int actors = fuzz_random(&state) % 2 == 0 ? ACTORS : FIBERS + 1; /* faster without threads */
    p->count = steps < STEPS_MAX ? steps : STEPS_MAX;
    for (int i = 0; i < p->count; i++) {
        uint64_t r = fuzz_random(&state);
        int which = (int)(r % 16);
        r >>= 4;
        op o;
        if (which == 0) {
            o = OP_advance;
        } else if (which == 1) { /* the other operations keep things going */
            o = (op)(r % OP_COUNT);
        } else if (which == 2) {
            o = (op)(OP_spawn + r % (OP_scope_join - OP_spawn + 1));
        } else {
            int g = chosen[r % (uint64_t)count];
            o = (op)(groups[g].first + (r >> 8) % (uint64_t)(groups[g].last - groups[g].first + 1));
        }
        r = fuzz_random(&state);
        uint8_t who = (uint8_t)((r & 255) % (uint64_t)actors);
        p->steps[i] = (step){who, (uint8_t)o, (uint8_t)(r >> 8), (uint8_t)(r >> 16)};
    }
}

void program_from_bytes(program *p, const uint8_t *bytes, size_t size) {
    p->count = 0;
    for (size_t at = 0; at + 4 <= size && p->count < STEPS_MAX; at += 4) {
        step s = {bytes[at], bytes[at + 1] % OP_COUNT, bytes[at + 2], bytes[at + 3]};
        p->steps[p->count++] = s;
    }
}

void program_print(const program *p, void *file) {
    for (int i = 0; i < p->count; i++) {
        const step *s = &p->steps[i];
        fprintf(file, "%u %s %u %u\n", s->who % ACTORS, fuzz_op_names[s->op], s->a, s->b);
    }
}

static bool read_text(program *p, FILE *file) {
    char name[40];
    unsigned who, a, b;
    p->count = 0;
    while (p->count < STEPS_MAX && fscanf(file, "%u %39s %u %u", &who, name, &a, &b) == 4) {
        int o = 0;
        while (o < OP_COUNT && strcmp(name, fuzz_op_names[o]) != 0) {
            o++;
        }
        if (o == OP_COUNT) {
            return false;
        }
        p->steps[p->count++] = (step){(uint8_t)who, (uint8_t)o, (uint8_t)a, (uint8_t)b};
    }
    return feof(file) != 0;
}

bool program_read(program *p, const char *path) {
    static uint8_t bytes[4 * STEPS_MAX];
    FILE *file = fopen(path, "r");
    if (!file) {
        return false;
    }
    if (!read_text(p, file)) {
        rewind(file);
        program_from_bytes(p, bytes, fread(bytes, 1, sizeof(bytes), file));
    }
    fclose(file);
    return true;
}
