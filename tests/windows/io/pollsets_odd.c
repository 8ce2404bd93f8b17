/*
 * pollsets_odd.c: sets of descriptors where the system refuses a question, or is late or early.
 */
/* wrap: th_afd_ask th_afd_take th_poll_take_all th_os_now SetThreadpoolTimer */
#include "windows/watched.h"

static SOCKET refused; /* for which nothing can be asked */

int __real_th_afd_ask(const th_afd *afd, th_afd_request *request, SOCKET base, ULONG events);
int __wrap_th_afd_ask(const th_afd *afd, th_afd_request *request, SOCKET base, ULONG events);

int __wrap_th_afd_ask(const th_afd *afd, th_afd_request *request, SOCKET base, ULONG events) {
    return base == refused ? -ENOMEM : __real_th_afd_ask(afd, request, base, events);
}

static bool late; /* what was sent has not come yet */

unsigned __real_th_poll_take_all(int end);
unsigned __wrap_th_poll_take_all(int end);

unsigned __wrap_th_poll_take_all(int end) {
    return late ? 0 : __real_th_poll_take_all(end);
}

TEST(what_cannot_be_asked_holds_up_nobody) {
    /* It is asked for later; what comes on other descriptors is told meanwhile. */
    watched w;
    th_os_event event;
    watched_open(&w);
    refused = (SOCKET)w.fds[1];
    CHECK_EQ(th_os_pollset_add(&w.set, w.fds[1], 8), 0);
    CHECK_EQ(read_byte(&w), -EAGAIN);
    CHECK_EQ(next_bits(&w, 0), 0);
    put(w.fds[1], "x");
    CHECK_EQ(next_bits(&w, far_off()), TH_OS_IN);
    refused = 0;
    CHECK_EQ(th_os_pollset_wait(&w.set, &event, 1, far_off()), 1);
    CHECK_EQ(event.key, 8);
    CHECK_EQ(event.bits, TH_OS_OUT);
    watched_close(&w);
}

static bool unwritten; /* packets come, but requests stay as they were asked */

unsigned __real_th_afd_take(HANDLE port, th_afd_request *requests[], unsigned max,
                            int64_t deadline);
unsigned __wrap_th_afd_take(HANDLE port, th_afd_request *requests[], unsigned max,
                            int64_t deadline);

unsigned __wrap_th_afd_take(HANDLE port, th_afd_request *requests[], unsigned max,
                            int64_t deadline) {
    const unsigned n = __real_th_afd_take(port, requests, max, deadline);
    for (unsigned i = 0; unwritten && i < n; i++) {
        if (requests[i]) {
            requests[i]->status.Status = STATUS_PENDING;
            requests[i]->poll.count = 1;
            requests[i]->poll.events = TH_AFD_RECEIVE | TH_AFD_CLOSED;
            unwritten = false;
        }
    }
    return n;
}

TEST(an_answer_that_nobody_has_written_is_asked_for_again) {
    /* So it is under wine if the thread that asked ends as the answer comes. */
    watched w;
    watched_open(&w);
    CHECK_EQ(read_byte(&w), -EAGAIN);
    CHECK_EQ(next_bits(&w, 0), 0);
    unwritten = true;
    put(w.fds[1], "x");
    CHECK_EQ(next_bits(&w, far_off()), TH_OS_IN);
    CHECK(!unwritten);
    watched_close(&w);
}

TEST(a_wake_up_that_comes_late_does_not_stay) {
    /* Its byte came behind the look that has taken the wake-up; the next look takes it. */
    th_os_pollset set;
    th_os_event event;
    CHECK_EQ(th_os_pollset_open(&set), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(th_os_pollset_wake(&set), 0);
        CHECK_EQ(th_os_io_poll(set.set, TH_OS_IN, -1, far_off()), TH_OS_IN);
        CHECK_EQ(th_os_pollset_wait(&set, &event, 1, 0), 1);
        late = true;
        th_os_pollset_wake_take(&set);
        late = false;
        CHECK_EQ(th_os_io_poll(set.set, TH_OS_IN, -1, 0), TH_OS_IN);
        CHECK_EQ(th_os_pollset_wait(&set, &event, 1, 0), 0);
        CHECK_EQ(th_os_io_poll(set.set, TH_OS_IN, -1, 0), 0);
    }
    late = true;
    CHECK_EQ(th_os_pollset_wake(&set), 0);
    th_os_pollset_wake_take(&set);
    CHECK_EQ(th_os_pollset_wake(&set), 0); /* this one is told although the other is on its way */
    late = false;
    th_os_pollset_wake_take(&set);
    CHECK_EQ(th_os_io_poll(set.set, TH_OS_IN, -1, 0), 0);
    th_os_pollset_close(&set);
}

/* ---- an alarm whose clock is ahead of ours ---- */

static DWORD main_thread; /* not 0: its clock is right, and the timers' is a second ahead */
static atomic_int early;  /* how often they have asked for the time */
static atomic_bool armed; /* as a timer was set last */

int64_t __real_th_os_now(void);
int64_t __wrap_th_os_now(void);
extern __typeof__(&SetThreadpoolTimer) __real___imp_SetThreadpoolTimer;
extern __typeof__(&SetThreadpoolTimer) __wrap___imp_SetThreadpoolTimer;

int64_t __wrap_th_os_now(void) {
    if (!main_thread || GetCurrentThreadId() == main_thread) {
        return __real_th_os_now();
    }
    if (atomic_fetch_add(&early, 1) == 0) {
        Sleep(100); /* the close comes meanwhile */
    }
    return __real_th_os_now() - THRUM_S(1);
}

static VOID WINAPI set_timer(PTP_TIMER timer, PFILETIME due, DWORD period, DWORD window) {
    atomic_store(&armed, due != NULL);
    __real___imp_SetThreadpoolTimer(timer, due, period, window);
}

__typeof__(&SetThreadpoolTimer) __wrap___imp_SetThreadpoolTimer = set_timer;

TEST(an_alarm_that_is_closed_as_it_goes_off_is_not_set_again) {
    /* It has gone off too early, and would be set once more: for memory that is free. */
    main_thread = GetCurrentThreadId();
    const int alarm = th_os_alarm_open();
    CHECK(alarm >= 0);
    th_os_alarm_set(alarm, past());
    while (!atomic_load(&early)) {
        sched_yield();
    }
    th_os_alarm_close(alarm);
    CHECK(atomic_load(&early) > 1); /* it has been set once more before the close */
    CHECK(!atomic_load(&armed));
}
