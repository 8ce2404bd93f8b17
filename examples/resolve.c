/*
 * resolve.c: tasks that make calls which block their thread: getaddrinfo, read, a system mutex.
 *
 * A client library keeps one connection and locks it by a pthread mutex, as many do. The first task
 * that needs it opens it: it resolves a name and reads the server's greeting, with the mutex
 * locked, and the others wait for the mutex. All workers are held up then. Spare workers take over
 * for them, so that the server goes on, which is a task, too: it ticks a while before it sends its
 * greeting. Without spares this program would wait for ever.
 */
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <thrum.h>
#include <unistd.h>

enum { WORKERS = 4, TICKS = 50 };

/* ---- the library, which knows nothing of tasks ---- */

static struct connection {
    pthread_mutex_t mutex;
    int ends[2]; /* the client's, the server's */
    bool open;
    int answered;
} connection = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool open_connection(void) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char greeting;
    /* Elsewhere this may take seconds. Whether the name is known does not matter here. */
    if (getaddrinfo("localhost", NULL, &hints, &found) == 0) {
        freeaddrinfo(found);
    }
    return read(connection.ends[0], &greeting, 1) == 1;
}

static bool query(void) {
    pthread_mutex_lock(&connection.mutex);
    if (!connection.open) {
        connection.open = open_connection(); /* it blocks, with the mutex locked */
    }
    bool answered = connection.open;
    connection.answered += answered;
    pthread_mutex_unlock(&connection.mutex);
    return answered;
}

/* ---- the program ---- */

static thrum_waitgroup asking = THRUM_WAITGROUP_INIT(WORKERS); /* tasks that do not ask yet */
static atomic_int ticks;

static int client(void *arg) {
    (void)arg;
    thrum_waitgroup_done(&asking);
    return query() ? 0 : 1;
}

static int tick(void *arg) {
    (void)arg;
    atomic_fetch_add(&ticks, 1);
    return 0;
}

/* Small tasks and deadlines, while each of the workers is in a task that waits. */
static int serve(void *arg) {
    (void)arg;
    int err = thrum_waitgroup_wait(&asking);
    for (int i = 0; i < TICKS && err == 0; i++) {
        thrum_handle *handle;
        err = thrum_sleep(THRUM_MS(1));
        if (err == 0) {
            err = thrum_spawn(&handle, tick, NULL);
        }
        if (err == 0) {
            err = thrum_join(handle, NULL);
        }
    }
    if (write(connection.ends[1], "!", 1) != 1) {
        return 1;
    }
    return err;
}

static int run(void *arg) {
    (void)arg;
    thrum_handle *tasks[WORKERS + 1];
    int failed = 0;
    for (int i = 0; i <= WORKERS; i++) {
        int err = thrum_spawn(&tasks[i], i == 0 ? serve : client, NULL);
        if (err != 0) {
            fprintf(stderr, "resolve: %s\n", thrum_strerror(err));
            return 1;
        }
    }
    for (int i = 0; i <= WORKERS; i++) {
        int result;
        failed |= thrum_join(tasks[i], &result) | result;
    }
    thrum_metrics all = THRUM_METRICS_INIT;
    failed |= thrum_metrics_read(thrum_sched_current(), THRUM_ALL_WORKERS, &all);
    return failed || all.spare_activations == 0 ? 1 : 0;
}

int main(void) {
    thrum_config config;
    thrum_config_init(&config);
    config.workers = WORKERS;
    config.workers_spare = WORKERS; /* as it is by default; here it must not be less */
    config.stall_rescue_ms = 10;
    config.pin_all = false;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, connection.ends) != 0) {
        perror("resolve");
        return 1;
    }
    int err = thrum_run(&config, run, NULL);
    printf("%d queries answered; %d ticks while all %d workers were held up\n", connection.answered,
           atomic_load(&ticks), WORKERS);
    close(connection.ends[0]);
    close(connection.ends[1]);
    return err == 0 && connection.answered == WORKERS && atomic_load(&ticks) == TICKS ? 0 : 1;
}
