/*
 * test.c: a test of the replicated server. Three clients read and write two keys, while replicas
 * crash and restart, and the network between them fails. Then the history must be linearizable.
 * "--planted NAME" plants a bug.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/test.h>

#include "client.h"

enum { CLIENTS = 3, CALLS = 8, ROUNDS = 8 };

static const char *const names[REPLICAS] = {"a", "b", "c"};
static const char *const planted_names[] = {"nothing", "early-answer", "local-read",
                                            "unsynced-vote", "uncut-log"};
static enum planted planted;

static unsigned any(unsigned n) {
    return thrum_test_random() % n;
}

/* ---- clients ---- */

static int client_runs(void *arg) {
    struct client c = {.number = (unsigned)(uintptr_t)arg};
    c.replica = c.number % REPLICAS;
    for (unsigned i = 0; i < CALLS; i++) {
        struct call call = {.key = any(KEYS)};
        call.operation.kind = any(3);
        call.operation.argument = (c.number * CALLS + i + 1) * 1000;
        (void)client_call(&c, &call, THRUM_MS(150));
        THRUM_TEST(thrum_sleep(THRUM_MS(any(60))) == 0);
    }
    client_close(&c);
    return 0;
}

/* Each key can be read when all faults are over. */
static void read_all(void) {
    struct client c = {.number = CLIENTS};
    for (unsigned key = 0; key < KEYS; key++) {
        struct call call = {.key = key};
        bool done = false;
        for (unsigned i = 0; i < 20 && !done; i++) {
            done = client_call(&c, &call, THRUM_MS(300));
            THRUM_TEST(done || thrum_sleep(THRUM_MS(50)) == 0);
        }
        THRUM_TEST(done);
    }
    client_close(&c);
}

/* ---- faults ---- */

static void crash_and_restart(unsigned victim) {
    THRUM_TEST(thrum_test_host_crash(names[victim]) == 0);
    THRUM_TEST(thrum_sleep(THRUM_MS(any(100))) == 0);
    THRUM_TEST(thrum_test_host_restart(names[victim]) == 0);
}

static void fault(void) {
    const unsigned victim = any(REPLICAS);
    const char *name = names[victim], *other = names[(victim + 1 + any(2)) % REPLICAS];
    thrum_test_link link = THRUM_TEST_LINK_INIT;
    switch (any(8)) {
    case 0: /* no replica reaches it, but clients do */
        THRUM_TEST(thrum_test_partition(name, names[(victim + 1) % REPLICAS]) == 0);
        THRUM_TEST(thrum_test_partition(name, names[(victim + 2) % REPLICAS]) == 0);
        break;
    case 1:
        THRUM_TEST(thrum_test_partition(name, NULL) == 0);
        break;
    case 2:
        THRUM_TEST(thrum_test_partition(name, other) == 0);
        break;
    case 3:
        THRUM_TEST(thrum_test_link_cut(name, other) == 0);
        break;
    case 4:
        THRUM_TEST(thrum_test_link_hold(name, other, true) == 0);
        break;
    case 5:
        link.loss = 300;
        link.latency_max = THRUM_MS(any(60) + 1);
        THRUM_TEST(thrum_test_link_set(name, NULL, &link) == 0);
        break;
    case 6:
        THRUM_TEST(thrum_test_host_clock(name, THRUM_MS(any(200)), (int64_t)any(400000) - 200000) ==
                   0);
        break;
    case 7:
        crash_and_restart(victim);
        break;
    }
}

static void end_faults(void) {
    const thrum_test_link link = THRUM_TEST_LINK_INIT;
    THRUM_TEST(thrum_test_heal(NULL, NULL) == 0);
    THRUM_TEST(thrum_test_link_hold(NULL, NULL, false) == 0);
    THRUM_TEST(thrum_test_link_set(NULL, NULL, &link) == 0);
}

/* The first election, half of the time with faults: two candidates, and a voter that crashes. */
static void elect(void) {
    thrum_time rest = THRUM_MS(250);
    if (any(2)) {
        const unsigned victim = any(REPLICAS);
        const thrum_time pause = THRUM_MS(100 + any(80));
        rest -= pause;
        THRUM_TEST(thrum_test_partition(names[(victim + 1) % REPLICAS],
                                        names[(victim + 2) % REPLICAS]) == 0);
        THRUM_TEST(thrum_sleep(pause) == 0);
        THRUM_TEST(thrum_test_host_crash(names[victim]) == 0);
        THRUM_TEST(thrum_test_host_restart(names[victim]) == 0);
    }
    THRUM_TEST(thrum_sleep(rest) == 0);
}

/* ---- the test ---- */

static int stays_linearizable(void *arg) {
    thrum_scope clients;
    struct replica_options *options = calloc(REPLICAS, sizeof *options);
    (void)arg;
    THRUM_TEST(options != NULL);
    for (unsigned i = 0; i < REPLICAS; i++) {
        options[i] = (struct replica_options){
            {"a:7000", "b:7000", "c:7000"}, .me = i, .log = "log", .planted = planted};
        THRUM_TEST(thrum_test_host(names[i], replica_run, &options[i]) == 0);
    }
    clients_begin(names);
    elect();
    THRUM_TEST(thrum_scope_open(&clients, THRUM_FOREVER) == 0);
    for (uintptr_t i = 0; i < CLIENTS; i++) {
        THRUM_TEST(thrum_scope_go(&clients, client_runs, (void *)i) == 0);
    }
    for (int i = 0; i < ROUNDS; i++) {
        THRUM_TEST(thrum_sleep(THRUM_MS(any(100))) == 0);
        if (any(3) == 0) {
            end_faults();
        } else {
            fault();
        }
    }
    THRUM_TEST(thrum_scope_join(&clients) == 0);
    end_faults();
    read_all();
    THRUM_TEST(history_is_linearizable());
    free(options);
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "--planted") == 0) {
        unsigned i = 0;
        while (i < sizeof planted_names / sizeof planted_names[0] &&
               strcmp(argv[2], planted_names[i]) != 0) {
            i++;
        }
        if (i == sizeof planted_names / sizeof planted_names[0]) {
            fprintf(stderr, "there is no bug %s\n", argv[2]);
            return 2;
        }
        planted = (enum planted)i;
        argv[2] = argv[0];
        argc -= 2;
        argv += 2;
    }
    return thrum_test_main(argc, argv, stays_linearizable, NULL);
}
