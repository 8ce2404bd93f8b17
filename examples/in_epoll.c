/*
 * in_epoll.c: fibers in a program that has a loop already, here around epoll. One thread does all:
 * it waits for the program's descriptors as before, and for one more, which is the scheduler's; in
 * each turn it lets the fibers run until all of them wait.
 *
 * Questions come to the loop. It starts a fiber for each, which thinks for a millisecond and hands
 * its answer to another fiber by a channel; that one writes all answers to a pipe.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <thrum.h>
#include <thrum/io.h>
#include <thrum/poll.h>
#include <unistd.h>

enum { QUESTIONS = 50, READ = 0, WRITE = 1 };

static int questions[2], answers[2]; /* pipes */
static thrum_event opened = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
static thrum_chan *desk;
static int turns, thought; /* of one thread: neither locked nor atomic */
static bool over;

/* ---- the fibers ---- */

static int think(void *arg) {
    unsigned char answer = (unsigned char)(2 * (intptr_t)arg);
    int err = thrum_sleep(THRUM_MS(1));
    thought++;
    return err ? err : thrum_chan_send(desk, &answer);
}

static int tell(void *arg) {
    thrum_io to = {0, 0};
    unsigned char answer;
    (void)arg;
    int err = thrum_io_adopt(&to, answers[WRITE]);
    err = err ? err : thrum_event_wait(&opened);
    while (err == 0 && thrum_chan_recv(desk, &answer) == 0) {
        err = thrum_write(to, &answer, 1) == 1 ? 0 : -EIO;
    }
    over = true;
    return thrum_io_close(to);
}

/* ---- the loop ---- */

/* The program's existing reaction to its ready descriptor; now it starts fibers, too. */
static int question_came(void) {
    unsigned char question;
    if (read(questions[READ], &question, 1) == 1) {
        return thrum_go(think, (void *)(intptr_t)question);
    }
    close(questions[READ]);
    return thrum_chan_close(desk);
}

static int loop(int set) {
    struct epoll_event events[8];
    thrum_time next;
    int err;
    while ((err = thrum_poll_run(&next)) == 0 && !over) {
        int n = epoll_wait(set, events, 8, thrum_poll_ms(next));
        turns++;
        for (int i = 0; i < n && err == 0; i++) {
            if (events[i].data.fd == questions[READ]) {
                err = question_came();
            } /* the scheduler's: it only ends the wait */
        }
        if (err) {
            break;
        }
    }
    return err;
}

static int watch(int set, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return fd < 0 ? fd : epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
}

/* ---- the world: a thread that asks ---- */

static void *customer(void *arg) {
    int *right = arg;
    thrum_event_signal(&opened); /* it wakes a fiber of a loop that sleeps */
    for (unsigned char q = 1; q <= QUESTIONS; q++) {
        unsigned char answer;
        *right += write(questions[WRITE], &q, 1) == 1 && read(answers[READ], &answer, 1) == 1 &&
                  answer == 2 * q;
    }
    close(questions[WRITE]);
    return NULL;
}

int main(void) {
    thrum_config config;
    thrum_sched *sched;
    pthread_t thread;
    int right = 0;
    thrum_config_init(&config);
    config.workers = 0;
    int set = epoll_create1(EPOLL_CLOEXEC);
    int err = set < 0 || pipe(questions) != 0 || pipe(answers) != 0;
    err = err ? err : thrum_sched_start(&sched, &config);
    err = err ? err : thrum_sched_bind(sched);
    err = err ? err : thrum_chan_create(&desk, 1, 0);
    err = err ? err : thrum_go(tell, NULL);
    err = err ? err : watch(set, questions[READ]);
    err = err ? err : watch(set, thrum_poll_fd());
    err = err ? err : pthread_create(&thread, NULL, customer, &right);
    if (err) {
        fprintf(stderr, "in_epoll: %s\n", err < 0 ? thrum_strerror(err) : "it cannot begin");
        return 1;
    }
    err = loop(set);
    close(set); /* before the scheduler's descriptor goes */
    pthread_join(thread, NULL);
    int stopped = thrum_sched_stop(sched);
    thrum_chan_destroy(desk);
    printf("%d answers, %d of them right, in %d turns\n", thought, right, turns);
    /* A question takes two turns, when it comes and when it has been thought about. */
    return err == 0 && stopped == 0 && right == QUESTIONS && turns <= 3 * QUESTIONS + 10 ? 0 : 1;
}
