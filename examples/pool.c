/*
 * pool.c: a few expensive objects, lent to many tasks; some need two at a time.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <thrum.h>

enum { CONNECTIONS = 4, CLIENTS = 200 };

typedef struct connection {
    int number;
    int queries; /* only the borrower touches it */
} connection;

static atomic_int opened, closed, answered;

static int open_connection(void *item, void *ctx) {
    (void)ctx;
    connection *c = item;
    c->number = atomic_fetch_add(&opened, 1);
    c->queries = 0;
    return 0; /* a negative code would make the borrow fail with it */
}

static void close_connection(void *item, void *ctx) {
    connection *c = item;
    int *queries = ctx;
    *queries += c->queries;
    atomic_fetch_add(&closed, 1);
}

static int client(void *arg) {
    thrum_pool *pool = arg;
    void *both[2];
    size_t n = atomic_fetch_add(&answered, 1) % 5 == 0 ? 2 : 1;
    int err = thrum_pool_borrow_n(pool, both, n); /* both at once, or it waits: never with one */
    if (err != 0) {
        return err;
    }
    for (size_t i = 0; i < n; i++) {
        ((connection *)both[i])->queries++;
    }
    thrum_yield(); /* the answer takes its time; the others wait for a connection */
    for (size_t i = 0; i < n; i++) {
        thrum_pool_give_back(pool, both[i]);
    }
    return 0;
}

static int run(void *arg) {
    for (int i = 0; i < CLIENTS; i++) {
        int err = thrum_go(client, arg);
        if (err != 0) {
            return err;
        }
    }
    return 0;
}

int main(void) {
    int queries = 0;
    thrum_pool *pool;
    thrum_pool_config config = THRUM_POOL_CONFIG_INIT;
    config.item_size = sizeof(connection);
    config.capacity = CONNECTIONS;
    config.construct = open_connection;
    config.destruct = close_connection;
    config.ctx = &queries;
    config.preserve = true; /* they stay open between two clients */
    int err = thrum_pool_create(&pool, &config);
    if (err == 0) {
        err = thrum_run(NULL, run, pool);
    }
    if (err == 0) {
        err = thrum_pool_destroy(pool);
    }
    if (err != 0) {
        fprintf(stderr, "pool: %s\n", thrum_strerror(err));
        return 1;
    }
    printf("%d queries over %d connections\n", queries, atomic_load(&opened));
    return queries == CLIENTS + CLIENTS / 5 && atomic_load(&opened) == CONNECTIONS &&
                   atomic_load(&closed) == CONNECTIONS
               ? 0
               : 1;
}
