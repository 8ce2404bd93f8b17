/*
 * hosts.c: the calls of thrum/test.h about hosts: they start, end, crash and start again.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/state/worker.h"
#include "disk/disk.h"
#include "hosts/hosts.h"
#include "platform/platform.h"

#define FIRST_NAME "test"

hosts *H;

void hosts_session(void) {
    if (!H) {
        const size_t pages = E->data_size / PAGE_BYTES + 1;
        H = calloc(1, sizeof *H);
        H->differs = calloc(pages, sizeof *H->differs);
        H->pages = calloc(pages, sizeof *H->pages);
    }
    for (unsigned i = 0; i < SIM_HOSTS; i++) {
        if (!H->host[i].image) {
            H->host[i].image = malloc(E->data_size);
        }
        free(H->host[i].locals);
        H->host[i].locals = malloc(E->locals_size + 1);
    }
    memset(H->differs, 0, E->data_size / PAGE_BYTES + 1);
    H->pages_count = 0;
    E->change_host = image_place;
    E->network_next = network_next;
    E->network_arrive = network_arrive;
}

static void name_host(sim_host *h, const char *name) {
    *h = (sim_host){.image = h->image, .locals = h->locals};
    memcpy(h->name, name, strlen(name) + 1);
}

void hosts_begin(void) {
    H->count = 1;
    H->placed = 0;
    H->texts_size = 0;
    name_host(&H->host[0], FIRST_NAME);
    H->host[0].state = HOST_RUNS;
    network_begin();
}

unsigned hosts_count(void) {
    return H->count;
}

const char *hosts_name(unsigned number) {
    return H->host[number].name;
}

int hosts_find(const char *name) {
    for (unsigned i = 0; i < H->count; i++) {
        if (strcmp(H->host[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -ENOENT;
}

int kit_host_named(const char *name) {
    return name ? hosts_find(name) : (int)sim_host_here();
}

void hosts_scheduler(thrum_sched *sched) {
    H->host[sim_host_here()].sched = sched;
}

/* ---- a host's beginning and end ---- */

/* It has ended; those that wait for that go on. */
static void over(sim_host *h, host_state state) {
    h->state = state;
    h->sched = NULL;
    h->xover = 1;
    while (sim_wake_one(&h->xover)) {
    }
}

static void host_main(void *arg) {
    const unsigned number = (unsigned)(uintptr_t)arg;
    sim_host *h = &H->host[number];
    h->result = kit_run_host(h->fn, h->arg, h->name, kit_test_now());
    sim_thread_ends();
    over(h, HOST_ENDED);
    network_host_off(number);
    threads_drop(number);
    thread_over();
}

static int begin(unsigned number) {
    sim_host *h = &H->host[number];
    const int code = thread_new(number, h->name, host_main, (void *)(uintptr_t)number);
    if (code < 0) {
        return code;
    }
    image_fresh(number);
    h->state = HOST_RUNS;
    h->asked = false;
    h->xover = 0;
    return 0;
}

static void forget_locks(unsigned number) {
    unsigned n = 0;
    for (unsigned i = 0; i < E->locks_used; i++) {
        if (E->locks[i].host != number) {
            E->locks[n++] = E->locks[i];
        }
    }
    E->locks_used = n;
}

/* All that it has is gone; nothing on it goes on. */
static void crash(unsigned number) {
    E->hosts_paused &= ~(1u << number);
    threads_drop(number);
    network_host_off(number);
    disk_crash(number);
    arena_host_off(number);
    forget_locks(number);
    over(&H->host[number], HOST_CRASHED);
}

void hosts_switch_off(void) {
    for (unsigned i = 1; i < H->count; i++) {
        const sim_host *h = &H->host[i];
        if (h->state == HOST_RUNS) {
            crash(i);
        } else if (h->state == HOST_ENDED && !h->asked && h->result != 0) {
            kit_fail_result("the function of host ", h->name, h->result);
        }
    }
}

/* ---- calls ---- */

#define CALLER ((uintptr_t)__builtin_return_address(0))

/* "a" or "a, b"; the same text has the same address. */
static const char *text_of(const char *a, const char *b) {
    char text[2 * HOST_NAME + 2];
    snprintf(text, sizeof text, b ? "%.31s, %.31s" : "%.31s", a, b);
    const size_t size = strlen(text) + 1;
    size_t at = 0;
    while (at < H->texts_size && strcmp(&H->texts[at], text) != 0) {
        at += strlen(&H->texts[at]) + 1;
    }
    if (at == H->texts_size) {
        if (size > sizeof H->texts - at) {
            return NULL;
        }
        memcpy(&H->texts[at], text, size);
        H->texts_size += size;
    }
    return &H->texts[at];
}

bool hosts_is_text(const void *object) {
    return (const char *)object >= H->texts && (const char *)object < H->texts + sizeof H->texts;
}

void hosts_point(const char *call, const char *a, const char *b, uintptr_t after) {
    kit_point_on(call, E->tracing && a ? text_of(a, b) : NULL, after);
}

static bool is_name(const char *name) {
    size_t n = 0;
    while (isalnum((unsigned char)name[n]) || name[n] == '-' || name[n] == '_') {
        n++;
    }
    return n > 0 && n < HOST_NAME && !name[n] && isalpha((unsigned char)name[0]) &&
           strcmp(name, "localhost") != 0;
}

int thrum_test_host(const char *name, thrum_fn fn, void *arg) {
    if (kit_is_outside()) {
        return -EPERM;
    }
    hosts_point("thrum_test_host", name, NULL, CALLER);
    if (!fn || !name || !is_name(name)) {
        return -EINVAL;
    }
    if (hosts_find(name) >= 0) {
        return -EEXIST;
    }
    if (H->count == SIM_HOSTS) {
        return -EAGAIN;
    }
    sim_host *h = &H->host[H->count];
    name_host(h, name);
    h->fn = fn;
    h->arg = arg;
    H->count++;
    const int code = begin(H->count - 1);
    H->count -= code != 0;
    return code;
}

/* The number of a host beside the first one, or a code. */
static int other_host(const char *name, const char *call, uintptr_t after) {
    if (kit_is_outside()) {
        return -EPERM;
    }
    hosts_point(call, name, NULL, after);
    const int number = name ? hosts_find(name) : -EINVAL;
    return number ? number : -EINVAL;
}

static int wait_until_over(void *arg) {
    sim_host *h = arg;
    while (h->state == HOST_RUNS) {
        (void)th_os_futex_wait(&h->xover, 0, INT64_MAX);
    }
    return 0;
}

int thrum_test_host_wait(const char *name) {
    const int number = other_host(name, "thrum_test_host_wait", CALLER);
    if (number < 0 || (unsigned)number == sim_host_here()) {
        return number < 0 ? number : -EDEADLK;
    }
    sim_host *h = &H->host[number];
    if (!th_fiber_self()) {
        (void)wait_until_over(h);
    } else if (h->state == HOST_RUNS && INNER(thrum_blocking)(wait_until_over, h, NULL) != 0) {
        fail("limit", "thrum_test_host_wait cannot wait here");
    }
    h->asked = true;
    return h->state == HOST_ENDED ? h->result : -EPIPE;
}

int thrum_test_host_crash(const char *name) {
    const int number = other_host(name, "thrum_test_host_crash", CALLER);
    if (number < 0) {
        return number;
    }
    if (H->host[number].state != HOST_RUNS) {
        return -EALREADY;
    }
    const bool own = (unsigned)number == sim_host_here();
    crash((unsigned)number);
    if (own) {
        thread_over();
    }
    return 0;
}

int thrum_test_host_restart(const char *name) {
    const int number = other_host(name, "thrum_test_host_restart", CALLER);
    if (number < 0) {
        return number;
    }
    return H->host[number].state == HOST_RUNS ? -EBUSY : begin((unsigned)number);
}

int thrum_test_host_pause(const char *name, bool pause) {
    const int number = other_host(name, "thrum_test_host_pause", CALLER);
    if (number < 0 || (unsigned)number == sim_host_here()) {
        return number < 0 ? number : -EDEADLK;
    }
    if (H->host[number].state == HOST_RUNS) {
        threads_pause((unsigned)number, pause);
    }
    return 0;
}
