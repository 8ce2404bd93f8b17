/*
 * retry.c: a payment that is tried again after growing pauses, and its test. Unless the file is
 * compiled with -DFIXED, an answer that comes too late makes the bank pay twice.
 */
#include <errno.h>
#include <thrum.h>
#include <thrum/test.h>

#define ATTEMPTS 4
#define PATIENCE THRUM_MS(100) /* how long an attempt waits */

typedef struct request {
    unsigned id; /* the same in each attempt */
    int amount;
} request;

static thrum_chan *requests, *answers;
static int balance;
static unsigned last_paid;

#ifdef FIXED
static bool is_new(const request *r) {
    return r->id != last_paid;
}
#else
static bool is_new(const request *r) {
    return r->amount > 0;
}
#endif

/* The bank: each answer is on its way for up to a quarter of a second. */
static int bank(void *arg) {
    request r;
    (void)arg;
    while (thrum_chan_recv(requests, &r) == 0) {
        if (is_new(&r)) {
            balance += r.amount;
            last_paid = r.id;
        }
        THRUM_TEST(thrum_sleep(THRUM_MS(thrum_test_random() % 250)) == 0);
        THRUM_TEST(thrum_chan_send(answers, &r.id) == 0);
    }
    return 0;
}

static int pay(const request *r) {
    thrum_time pause = THRUM_MS(100);
    for (int i = 0; i < ATTEMPTS; i++, pause *= 2) {
        unsigned answered;
        int err = thrum_chan_send(requests, r);
        if (err == 0) {
            err = thrum_chan_recv_until(answers, &answered, thrum_after(PATIENCE));
        }
        if (err != -ETIMEDOUT || (err = thrum_sleep(pause)) != 0) {
            return err;
        }
    }
    return -ETIMEDOUT;
}

/* ---- its test ---- */

static int pays_once(void *arg) {
    const request r = {.id = 7, .amount = 10};
    thrum_handle *server;
    (void)arg;
    THRUM_TEST(thrum_chan_create(&requests, sizeof r, ATTEMPTS) == 0);
    THRUM_TEST(thrum_chan_create(&answers, sizeof r.id, ATTEMPTS) == 0);
    THRUM_TEST(thrum_spawn(&server, bank, NULL) == 0);
    const thrum_time began = thrum_now();
    THRUM_TEST(pay(&r) == 0);
    THRUM_TEST(thrum_now() - began < THRUM_MS(250)); /* the answer to the first attempt */
    THRUM_TEST(thrum_chan_close(requests) == 0);
    THRUM_TEST(thrum_join(server, NULL) == 0);
    THRUM_TEST(balance == 10);
    THRUM_TEST(thrum_chan_destroy(requests) == 0 && thrum_chan_destroy(answers) == 0);
    return 0;
}

int main(int argc, char **argv) {
    return thrum_test_main(argc, argv, pays_once, NULL);
}
