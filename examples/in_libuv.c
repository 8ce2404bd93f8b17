/*
 * in_libuv.c: fibers inside a libuv loop. The first half is all that this takes, in any program:
 * three handles. uv_prepare comes right before the loop waits, and lets the fibers run; uv_poll and
 * uv_timer only end that wait, when there is something for them to do.
 *
 * In the second half callbacks of libuv and fibers work together: a timer's callback starts fibers,
 * these pass a number on, also by way of libuv's thread pool, and a callback ends the loop.
 */
#include <stdio.h>
#include <stdlib.h>
#include <thrum.h>
#include <thrum/poll.h>
#include <uv.h>

/* ---- fibers in a loop ---- */

struct fibers {
    uv_prepare_t turn;
    uv_poll_t ready;
    uv_timer_t next;
    int turns;
};

static void is_ready(uv_poll_t *handle, int status, int events) {
    (void)handle, (void)status, (void)events;
}

static void has_come(uv_timer_t *handle) {
    (void)handle;
}

static void turn(uv_prepare_t *handle) {
    struct fibers *fibers = handle->data;
    thrum_time next;
    if (thrum_poll_run(&next) != 0) {
        abort(); /* it cannot fail once it is begun on this thread */
    }
    fibers->turns++;
    uv_timer_stop(&fibers->next);
    int ms = thrum_poll_ms(next);
    if (ms >= 0) {
        uv_update_time(handle->loop); /* the timer counts from the loop's present time, */
        uv_timer_start(&fibers->next, has_come, ms ? (uint64_t)ms + 1 : 0, 0); /* rounded down */
    }
}

/* Has this thread's loop run the fibers of a scheduler of its own. 0, or an error of libuv. */
static int fibers_begin(struct fibers *fibers, uv_loop_t *loop, thrum_sched **sched) {
    thrum_config config;
    thrum_config_init(&config);
    config.workers = 0;
    int err = thrum_sched_start(sched, &config);
    err = err ? err : thrum_sched_bind(*sched);
    int fd = err ? err : thrum_poll_fd();
    err = fd < 0 ? fd : uv_poll_init(loop, &fibers->ready, fd);
    err = err ? err : uv_poll_start(&fibers->ready, UV_READABLE, is_ready);
    err = err ? err : uv_timer_init(loop, &fibers->next);
    err = err ? err : uv_prepare_init(loop, &fibers->turn);
    fibers->turn.data = fibers;
    return err ? err : uv_prepare_start(&fibers->turn, turn);
}

/* By a callback or a fiber: takes them out of the loop. After that the scheduler may be stopped. */
static void fibers_end(struct fibers *fibers) {
    uv_close((uv_handle_t *)&fibers->turn, NULL);
    uv_close((uv_handle_t *)&fibers->ready, NULL);
    uv_close((uv_handle_t *)&fibers->next, NULL);
}

/* ---- a program ---- */

enum { NUMBERS = 20 };

static struct fibers fibers;
static uv_timer_t clock_of_ours;
static thrum_chan *numbers;
static int sent, sum;

/* A request of libuv's, as a call that suspends the fiber: its callback signals an event. */
struct squared {
    uv_work_t work;
    thrum_event done;
    int number;
};

static void square(uv_work_t *work) { /* on a thread of libuv's pool */
    struct squared *it = work->data;
    it->number *= it->number;
}

static void is_squared(uv_work_t *work, int status) { /* a callback of the loop */
    struct squared *it = work->data;
    (void)status;
    thrum_event_signal(&it->done);
}

static int square_of(int number) {
    struct squared it = {.done = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false), .number = number};
    it.work.data = &it;
    if (uv_queue_work(uv_default_loop(), &it.work, square, is_squared) != 0 ||
        thrum_event_wait(&it.done) != 0) {
        abort(); /* the loop has `it` still */
    }
    return it.number;
}

static int send_one(void *arg) {
    int number = square_of((int)(intptr_t)arg);
    int err = thrum_sleep(THRUM_MS(1));
    return err ? err : thrum_chan_send(numbers, &number);
}

static int add_up(void *arg) {
    int number;
    (void)arg;
    for (int i = 0; i < NUMBERS && thrum_chan_recv(numbers, &number) == 0; i++) {
        sum += number;
    }
    fibers_end(&fibers); /* nothing is left in the loop, so it ends */
    return 0;
}

static void tick(uv_timer_t *handle) {
    if (thrum_go(send_one, (void *)(intptr_t)++sent) != 0 || sent == NUMBERS) {
        uv_close((uv_handle_t *)handle, NULL);
    }
}

int main(void) {
    uv_loop_t *loop = uv_default_loop();
    thrum_sched *sched;
    int err = fibers_begin(&fibers, loop, &sched);
    err = err ? err : thrum_chan_create(&numbers, sizeof(int), 0);
    err = err ? err : thrum_go(add_up, NULL);
    err = err ? err : uv_timer_init(loop, &clock_of_ours);
    err = err ? err : uv_timer_start(&clock_of_ours, tick, 1, 1);
    if (err) {
        fprintf(stderr, "in_libuv: %s\n", uv_strerror(err));
        return 1;
    }
    err = uv_run(loop, UV_RUN_DEFAULT);
    err = err ? err : thrum_sched_stop(sched);
    thrum_chan_destroy(numbers);
    printf("%d numbers, the sum of their squares is %d, in %d turns\n", sent, sum, fibers.turns);
    /* Each number has a tick, a call on the pool and a sleep: three turns, and some to spare. */
    return err == 0 && uv_loop_close(loop) == 0 &&
                   sum == NUMBERS * (NUMBERS + 1) * (2 * NUMBERS + 1) / 6 &&
                   fibers.turns <= 4 * NUMBERS + 10
               ? 0
               : 1;
}
