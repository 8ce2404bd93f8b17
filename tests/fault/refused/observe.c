/*
 * observe.c: looking at a process from outside where something is refused, changes meanwhile, or
 * the one who looks behaves badly.
 */
/* matrix: policy workers */
#include "support/report/observed.h"

#include "platform/faults.h"

static thrum_sem never = THRUM_SEM_INIT(0);

static int waits(void *arg) {
    (void)arg;
    return thrum_sem_wait(&never);
}

/* Asks for everything once; the answers are whole. */
static void ask_all(int fd) {
    static const char *const requests[] = {"hello\n", "metrics\n", "top\n", "waits\n", "dump\n"};
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        CHECK(asked(fd, requests[i])[0] == '[');
    }
}

TEST(without_memory_for_samples_the_rest_is_told) {
    /* The Nth block that a start takes is refused, each in turn: it is refused, or works. */
    bool refused = true;
    set_folder();
    for (long n = 1; refused; n++) {
        rig r;
        rig_init(&r);
        r.config.name = "poor";
        r.config.observe = true;
        atomic_store(&r.fail_at, n);
        const int code = thrum_sched_start(&r.sched, &r.config);
        refused = atomic_load(&r.refused) > 0;
        CHECK(code == 0 || (code == -ENOMEM && refused));
        if (code == 0) {
            const int fd = connected();
            ask_all(fd);
            close(fd);
            CHECK_EQ(thrum_sched_stop(r.sched), 0);
        }
        CHECK_EQ(atomic_load(&r.live), 0);
    }
    remove_folder();
}

TEST(answers_need_no_memory_of_the_scheduler) {
    /* Its allocator gives nothing any more: calls and names are missing, and the rest is whole. */
    rig r;
    set_folder();
    observed_begin(&r, "empty");
    rig_go(&r, waits, NULL);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    const int fd = connected();
    atomic_store(&r.fail_all, true);
    ask_all(fd);
    CHECK(strstr(asked(fd, "waits\n"), "\"on\": \"semaphore\"") != NULL);
    atomic_store(&r.fail_all, false);
    close(fd);
    thrum_sem_post(&never);
    rig_stop(&r);
    remove_folder();
}

TEST(without_a_thread_there_is_nothing_to_look_at) {
    /* The last thread that a start makes is that for answers. */
    rig r;
    set_folder();
    rig_init(&r);
    r.config.observe = true;
    r.config.workers = 1;
    r.config.workers_spare = 0;
    th_os_fail(TH_OS_FAULT_THREAD, 1, UINT32_MAX);
    rig_start(&r);
    CHECK_EQ(try_connect(), -ENOENT);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 0);
    rig_stop(&r);
    remove_folder();
}

static atomic_bool over;

/* Asks whoever is there, again and again. */
static void *ask_on(void *arg) {
    (void)arg;
    while (!atomic_load(&over)) {
        const int fd = try_connect();
        if (fd >= 0) {
            static const char requests[] = "top\nwaits\nmetrics\n";
            char byte[4096];
            (void)send(fd, requests, sizeof(requests) - 1, MSG_NOSIGNAL);
            for (int zeroes = 0; zeroes < 3;) {
                const ssize_t n = recv(fd, byte, sizeof(byte), 0);
                if (n <= 0) {
                    break;
                }
                for (ssize_t i = 0; i < n; i++) {
                    zeroes += byte[i] == '\0';
                }
            }
            close(fd);
        }
    }
    return NULL;
}

TEST(starts_and_stops_while_peers_ask) {
    /* Schedulers come and go, one at a time and two at once. */
    pthread_t threads[2];
    set_folder();
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, ask_on, NULL), 0);
    }
    for (int i = 0; i < check_scaled(30); i++) {
        rig a;
        rig b;
        observed_begin(&a, "one");
        if (i % 2) {
            observed_begin(&b, "two");
        }
        rig_stop(&a);
        if (i % 2) {
            rig_stop(&b);
        }
    }
    atomic_store(&over, true);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    remove_folder();
}

TEST(a_peer_that_reads_no_top_holds_up_no_stop) {
    /* Its answers fill all buffers while workers are looked at. */
    check_deaf_peer("top\n");
}
