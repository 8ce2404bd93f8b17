/*
 * tasks.c: trees, churn, pairs that wake each other, forks and graphs.
 */
#include "storm.h"

/* ---- trees: each node starts three, and adds up what they return ---- */

static int tree(void *arg) {
    const int depth = (int)(intptr_t)arg;
    thrum_handle *handles[3];
    int sum = 1;
    if (depth == 0) {
        return 1;
    }
    for (int i = 0; i < 3; i++) {
        REQUIRE_EQ(thrum_spawn(&handles[i], tree, (void *)(intptr_t)(depth - 1)), 0);
    }
    for (int i = 2; i >= 0; i--) {
        int result = 0, code = -ETIMEDOUT;
        if (i == 1) {
            code = thrum_join_until(handles[i], &result, thrum_after_us(20));
        }
        if (code == -ETIMEDOUT) {
            code = thrum_join(handles[i], &result);
        }
        REQUIRE_EQ(code, 0);
        sum += result;
    }
    return sum;
}

void round_trees(lane *l) {
    const int depth = SLOWNESS > 3 ? 3 : 5, nodes = SLOWNESS > 3 ? 40 : 364;
    int result = 0;
    REQUIRE_EQ(thrum_join(world_spawn(l->w, tree, (void *)(intptr_t)depth), &result), 0);
    REQUIRE_EQ(result, nodes);
    storm_did(l, nodes);
}

/* ---- churn: many that come and go, each with something of its own ---- */

enum { CHURN = SLOWNESS > 3 ? 40 : 200 };

typedef struct churn {
    lane *l;
    thrum_waitgroup ends;
    thrum_key key;
    atomic_int ran, dropped;
} churn;

typedef struct churned {
    churn *c;
    int index;
} churned;

static void churn_dropped(void *value) {
    atomic_fetch_add(&((churned *)value)->c->dropped, 1);
}

static int churn_one(void *arg) {
    churned *one = arg;
    churn *c = one->c;
    if (one->index < MARKS - 1) {
        mark_runs(c->l, one->index + 1);
    }
    REQUIRE(thrum_key_get(c->key) == NULL);
    REQUIRE_EQ(thrum_key_set(c->key, one), 0);
    if (one->index % 3 == 0) {
        thrum_yield();
    }
    REQUIRE(thrum_key_get(c->key) == one);
    REQUIRE(one->index % 4 != 0 || strcmp(thrum_name(), "churned") == 0);
    atomic_fetch_add(&c->ran, 1);
    if (one->index % 2 != 0) {
        thrum_waitgroup_done(&c->ends);
    }
    return one->index;
}

void round_churn(lane *l) {
    churn *c = calloc(1, sizeof(*c));
    churned *all = calloc(CHURN, sizeof(*all));
    thrum_handle *handles[CHURN];
    REQUIRE(c && all);
    c->l = l;
    thrum_waitgroup_init(&c->ends, CHURN / 2);
    REQUIRE_EQ(thrum_key_create(&c->key, churn_dropped), 0);
    for (int i = 0; i < CHURN; i++) {
        thrum_attr attr = world_attr(l->w);
        all[i] = (churned){c, i};
        attr.name = i % 4 == 0 ? "churned" : NULL;
        attr.stack_size = i % 16 == 0 ? 256 * 1024 : 0;
        attr.flags = i % 8 == 1 ? THRUM_PINNED : i % 8 == 2 ? THRUM_NEXT : 0;
        if (i < MARKS - 1 && attr.flags == 0) {
            mark_ready(l, i + 1);
        }
        REQUIRE_EQ(thrum_spawn_with(&handles[i], &attr, churn_one, &all[i]), 0);
        if (i % 2 != 0) {
            REQUIRE_EQ(thrum_detach(handles[i]), 0);
        }
    }
    REQUIRE_EQ(thrum_waitgroup_wait(&c->ends), 0);
    for (int i = 0; i < CHURN; i += 2) {
        int result = -1;
        REQUIRE_EQ(thrum_join(handles[i], &result), 0);
        REQUIRE_EQ(result, i);
    }
    REQUIRE_EQ(atomic_load(&c->ran), CHURN);
    while (atomic_load(&c->dropped) < CHURN) { /* a detached one drops it after its count */
        thrum_yield();
    }
    REQUIRE_EQ(thrum_key_delete(c->key), 0);
    REQUIRE_EQ(thrum_waitgroup_destroy(&c->ends), 0);
    storm_did(l, CHURN);
    free(all);
    free(c);
}

/* ---- ping-pong: wakes that are marked ---- */

enum { PAIRS = 6, TURNS = 200 };

typedef struct table {
    lane *l;
    int index;
    thrum_sem ball[2];
} table;

static int player(table *t, int side) {
    for (int i = 0; i < FEWER(TURNS); i++) {
        REQUIRE_EQ(thrum_sem_wait(&t->ball[side]), 0);
        mark_runs(t->l, 1 + t->index * 2 + side);
        if (side == 0 || i + 1 < FEWER(TURNS)) { /* no player waits for the last ball */
            mark_ready(t->l, 1 + t->index * 2 + (1 - side));
        }
        thrum_sem_post(&t->ball[1 - side]);
    }
    return 0;
}

static int ping(void *arg) {
    return player(arg, 0);
}

static int pong(void *arg) {
    return player(arg, 1);
}

void round_pingpong(lane *l) {
    table tables[PAIRS];
    thrum_handle *handles[PAIRS * 2];
    for (int i = 0; i < PAIRS; i++) {
        table *t = &tables[i];
        t->l = l;
        t->index = i;
        thrum_sem_init(&t->ball[0], 1);
        thrum_sem_init(&t->ball[1], 0);
        handles[i * 2] = world_spawn(l->w, ping, t);
        handles[i * 2 + 1] = world_spawn(l->w, pong, t);
    }
    for (int i = 0; i < PAIRS * 2; i++) {
        world_join(handles[i]);
    }
    for (int i = 0; i < PAIRS; i++) {
        REQUIRE_EQ(thrum_sem_try_wait(&tables[i].ball[0]), 0);
        REQUIRE_EQ(thrum_sem_destroy(&tables[i].ball[0]), 0);
        REQUIRE_EQ(thrum_sem_destroy(&tables[i].ball[1]), 0);
    }
    storm_did(l, PAIRS * 2 * FEWER(TURNS));
}

/* ---- forks ---- */

static int forks(void *arg) {
    const int depth = (int)(intptr_t)arg;
    thrum_fork left;
    if (depth == 0) {
        return 1;
    }
    thrum_fork_start(&left, forks, (void *)(intptr_t)(depth - 1));
    const int right = forks((void *)(intptr_t)(depth - 1));
    if (depth == 3) {
        thrum_yield();
    }
    return right + thrum_fork_join(&left);
}

static void adds(size_t begin, size_t end, void *ctx) {
    long sum = 0;
    for (size_t i = begin; i < end; i++) {
        sum += (long)i;
    }
    if (begin % 64 == 0) {
        thrum_yield();
    }
    atomic_fetch_add((atomic_long *)ctx, sum);
}

void round_forks(lane *l) {
    const thrum_fn both[] = {forks, forks, forks};
    void *depths[] = {(void *)(intptr_t)0, (void *)(intptr_t)0, (void *)(intptr_t)0};
    atomic_long sum = 0;
    REQUIRE_EQ(forks((void *)(intptr_t)(SLOWNESS > 3 ? 6 : 10)), SLOWNESS > 3 ? 64 : 1024);
    REQUIRE_EQ(thrum_parallel_for(0, 10000, storm_random(&l->seed) % 300, adds, &sum), 0);
    REQUIRE_EQ(atomic_load(&sum), 10000L * 9999 / 2);
    REQUIRE_EQ(thrum_invoke(3, both, depths), 1);
    storm_did(l, (SLOWNESS > 3 ? 64 : 1024) + 3);
}

/* ---- graphs ---- */

enum { NODES = 40 };

typedef struct node {
    struct graph *g;
    int index;
    int fails; /* what it returns */
} node;

typedef struct graph {
    atomic_int clock;
    int at[NODES]; /* when each node was called; 0: not yet */
    node nodes[NODES];
} graph;

static int node_called(void *arg) {
    node *n = arg;
    n->g->at[n->index] = atomic_fetch_add(&n->g->clock, 1) + 1;
    if (n->index % 5 == 0) {
        thrum_yield();
    }
    return n->fails;
}

void round_graphs(lane *l) {
    graph *g = calloc(1, sizeof(*g));
    int from[NODES * 2], to[NODES * 2], edges = 0;
    thrum_dag *dag;
    REQUIRE(g != NULL);
    REQUIRE_EQ(thrum_dag_create(&dag), 0);
    for (int i = 0; i < NODES; i++) {
        g->nodes[i] = (node){g, i, 0};
        REQUIRE_EQ(thrum_dag_node(dag, node_called, &g->nodes[i]), i);
        for (int e = 0; i > 0 && e < 2; e++, edges++) {
            from[edges] = (int)(storm_random(&l->seed) % (uint32_t)i);
            to[edges] = i;
            REQUIRE_EQ(thrum_dag_edge(dag, from[edges], i), 0);
        }
    }
    for (int run = 0; run < 3; run++) {
        const int bad = run == 2 ? 1 + (int)(storm_random(&l->seed) % (NODES - 1)) : -1;
        atomic_store(&g->clock, 0);
        memset(g->at, 0, sizeof(g->at));
        if (bad >= 0) {
            g->nodes[bad].fails = -EIO;
        }
        REQUIRE_EQ(thrum_dag_run(dag), bad >= 0 ? -EIO : 0);
        for (int e = 0; e < edges; e++) {
            const int before = g->at[from[e]], after = g->at[to[e]];
            REQUIRE(after == 0 || (before != 0 && before < after && from[e] != bad));
        }
        REQUIRE(bad >= 0 || atomic_load(&g->clock) == NODES);
    }
    REQUIRE_EQ(thrum_dag_destroy(dag), 0);
    storm_did(l, NODES * 3);
    free(g);
}
