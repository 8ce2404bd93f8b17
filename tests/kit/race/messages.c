/*
 * messages.c: kernels as those of orders.c, about messages, atomics and memory that is used in
 * turns.
 */
#include "orders.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- channels ---- */

static thrum_chan *chan;

static void sends(void) {
    int n = 1;
    MUST(thrum_chan_send(chan, &n));
}

static int by_message(size_t room, bool selects) {
    int n = 0;
    MUST(thrum_chan_create(&chan, sizeof n, room));
    begin(sends);
    if (selects) {
        thrum_case cases[] = {THRUM_RECV_CASE(chan, &n)};
        MUST(thrum_select(cases, 1, THRUM_FOREVER));
    } else {
        MUST(thrum_chan_recv(chan, &n));
    }
    read_and_join();
    return thrum_chan_destroy(chan);
}

KERNEL(by_message, "race") {
    return by_message(0, false);
}

KERNEL(by_message_in_a_buffer, "race") {
    return by_message(2, false);
}

KERNEL(by_select, "race") {
    return by_message(0, true);
}

static void closes(void) {
    (void)thrum_chan_close(chan);
}

KERNEL(by_close, "race") {
    int n;
    MUST(thrum_chan_create(&chan, sizeof n, 1));
    begin(closes);
    THRUM_TEST(thrum_chan_recv(chan, &n) == -EPIPE);
    read_and_join();
    return thrum_chan_destroy(chan);
}

/* What a message points to is the receiver's. */
static int consumes(void *arg) {
    int *box = NULL;
    (void)arg;
    while (thrum_chan_recv(chan, (void *)&box) == 0) {
        box[0]++;
        free(box);
    }
    return 0;
}

KERNEL(by_message_with_memory, "use-after-free") {
    MUST(thrum_chan_create(&chan, sizeof(int *), 1));
    go(consumes, NULL);
    go(consumes, NULL);
    for (int i = 0; i < 6; i++) {
        int *box = malloc(sizeof *box);
        THRUM_TEST(box);
        *box = i;
        MUST(thrum_chan_send(chan, (void *)&box));
        if (!fixed) {
            THRUM_TEST(*box >= 0); /* it is no longer the sender's */
        }
    }
    (void)thrum_chan_close(chan);
    join_all();
    return thrum_chan_destroy(chan);
}

/* ---- sockets ---- */

static char address[100];

static void dials_and_writes(void) {
    thrum_io io;
    MUST(thrum_dial(&io, address, thrum_after(THRUM_S(9))));
    THRUM_TEST(thrum_write(io, "now", 3) == 3);
    MUST(thrum_io_close(io));
}

static int by_socket(const char *at) {
    thrum_io listener, io;
    char text[8];
    MUST(thrum_listen(&listener, at, NULL));
    MUST(thrum_io_local(listener, address, sizeof address));
    begin(dials_and_writes);
    MUST(thrum_accept(listener, &io));
    THRUM_TEST(thrum_read(io, text, sizeof text) == 3 && !memcmp(text, "now", 3));
    read_and_join();
    MUST(thrum_io_close(io));
    return thrum_io_close(listener);
}

KERNEL(by_tcp, "race") {
    return by_socket("tcp:127.0.0.1:0");
}

#define FILE_OF_SOCKET "/tmp/thrum-race-of-a-test"

KERNEL(by_unix, "race") {
    (void)unlink(FILE_OF_SOCKET); /* of the real system, where another run may have left it */
    return by_socket("unix:" FILE_OF_SOCKET);
}

/* ---- atomics ---- */

static atomic_int flag;
static _Atomic uint8_t byte;

static void stores(void) {
    atomic_store_explicit(&flag, 1, memory_order_release);
}

KERNEL(by_release, "race") {
    begin(stores);
    if (atomic_load_explicit(&flag, memory_order_acquire)) {
        reads();
    }
    join_all();
    return 0;
}

static void fences_and_stores(void) {
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&byte, 1, memory_order_relaxed);
}

KERNEL(by_fences, "race") {
    begin(fences_and_stores);
    if (atomic_load_explicit(&byte, memory_order_relaxed)) {
        atomic_thread_fence(memory_order_acquire);
        reads();
    }
    join_all();
    return 0;
}

static void swaps(void) {
    int none = 0;
    (void)atomic_compare_exchange_strong(&flag, &none, 1);
}

KERNEL(by_compare_and_swap, "race") {
    begin(swaps);
    if (atomic_fetch_add(&flag, 0) == 1) {
        reads();
    }
    join_all();
    return 0;
}

/* A lock of the program's own, which waits in a loop. */
static atomic_flag busy = ATOMIC_FLAG_INIT;

static int spins(void *arg) {
    (void)arg;
    while (fixed && atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) {
        thrum_yield();
    }
    total++;
    if (fixed) {
        atomic_flag_clear_explicit(&busy, memory_order_release);
    }
    return 0;
}

KERNEL(by_spin_lock, "race") {
    go(spins, NULL);
    go(spins, NULL);
    go(spins, NULL);
    join_all();
    return 0;
}

/* ---- memory that is used in turns ---- */

static int uses_memory(void *arg) {
    char text[256];
    memset(text, (int)(intptr_t)arg, sizeof text);
    for (int i = 0; i < 4; i++) {
        char *block = malloc(sizeof text);
        THRUM_TEST(block);
        memcpy(block, text, sizeof text);
        block = realloc(block, 2 * sizeof text);
        THRUM_TEST(block && block[255] == (char)(intptr_t)arg);
        memmove(block + 1, block, sizeof text);
        free(block);
    }
    if (!fixed) {
        total++;
    }
    return 0;
}

KERNEL(in_turns, "race") {
    for (int round = 0; round < 3; round++) {
        thrum_scope scope;
        MUST(thrum_scope_open(&scope, THRUM_FOREVER));
        for (intptr_t i = 1; i <= 3; i++) {
            MUST(thrum_scope_go(&scope, uses_memory, (void *)i));
        }
        MUST(thrum_scope_join(&scope));
    }
    return 0;
}
