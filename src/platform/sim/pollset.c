/*
 * pollset.c: sets of descriptors and wake-ups of the simulator, as linux/pollset.c has them by
 * epoll and eventfd; waiting for one descriptor.
 *
 * A descriptor is pending from an edge on until a wait fetches it: edges merge. The event has the
 * file's readiness at the fetch; if it is not ready, there is no event. The event of a wake-up or
 * of a set in a set is there as long as they are ready. An edge wakes one waiter, and each that
 * leaves something behind wakes the next.
 */
#include "platform/sim/files.h"

#include <errno.h>

#include "platform/faults.h"

/* 0, or the code with which the system refuses this time. */
static int refused(th_os_fault kind) {
    if (th_os_fails(kind)) {
        return kind == TH_OS_FAULT_POLLSET_ADD ? -ENOMEM : -EMFILE;
    }
    switch (sim_choose(SIM_REFUSAL, 3)) {
    case 1:
        return kind == TH_OS_FAULT_POLLSET_ADD ? -ENOSPC : -EMFILE;
    case 2:
        return -ENOMEM;
    default:
        return 0;
    }
}

/* The number of a new file; nothing is left of it when there is none. */
static int number_of_new(sim_file *file) {
    sim_file_hold(file);
    int fd = sim_number_give(file);
    sim_file_drop(file);
    return fd;
}

/* Gives the number back; the file closes with its last one. */
static void number_close(int fd) {
    th_os_io_close(fd);
}

/* ---- wake-ups ---- */

int th_os_wakeup_open(void) {
    sim_call();
    int code = refused(TH_OS_FAULT_EVENTFD);
    if (code) {
        return code;
    }
    sim_file *file = sim_file_new(SIM_WAKEUP, TH_OS_OTHER);
    file->nonblocking = true;
    return number_of_new(file);
}

/* A number that names something else by now would have eight bytes written into it. */
static sim_file *wakeup_file(int wakeup) {
    sim_file *file = sim_number_file(wakeup);
    if (!file || file->kind != SIM_WAKEUP) {
        sim_misused("closed", "a call on a wake-up that is closed");
    }
    return file;
}

void th_os_wakeup_close(int wakeup) {
    number_close(wakeup);
}

void th_os_wakeup_set(int wakeup) {
    sim_call();
    sim_file *file = wakeup_file(wakeup);
    sim_trace("sets wake-up %d", wakeup);
    file->count++;
    sim_release(&file->order);
    sim_file_edge(file);
}

void th_os_wakeup_take(int wakeup) {
    sim_call();
    sim_file *file = wakeup_file(wakeup);
    sim_trace("takes wake-up %d back: %s", wakeup, file->count ? "it was set" : "it was not set");
    if (file->count) {
        sim_acquire(&file->order);
        file->count = 0;
    }
}

/* ---- sets ---- */

static sim_set *set_new(void) {
    sim_files *all = sim_files_here();
    for (unsigned i = 0; i < SIM_SETS; i++) {
        if (!all->sets[i].used) {
            all->sets[i].used = true;
            all->sets[i].items = all->items[i];
            return &all->sets[i];
        }
    }
    sim_misused("limit", "too many sets");
}

/* Adds an item that is reported at once if it is ready. */
static int item_add(sim_file *file, int fd, uint64_t key, bool level, sim_file *of) {
    sim_set *set = of->set;
    sim_item *free = NULL;
    for (unsigned i = set->high; i-- > 0;) {
        sim_item *item = &set->items[i];
        if (item->file == file && item->fd == fd) {
            return -EEXIST;
        }
        free = item->file ? free : item;
    }
    if (!free && set->high == SIM_ITEMS) {
        sim_misused("limit", "too many descriptors in a set");
    }
    free = free ? free : &set->items[set->high++];
    *free = (sim_item){.file = file, .fd = fd, .key = key, .level = level, .turn = ++set->turns};
    sim_release(&free->added);
    free->pending = sim_file_ready(file) != 0;
    sim_trace("adds %d%s", fd, free->pending ? ", which is ready" : "");
    if (free->pending) {
        sim_wake_one(&set->word);
        sim_file_edge(of);
    }
    return 0;
}

static bool item_ready(sim_item *item) {
    return item->file && (item->level || item->pending) &&
           (item->lies ||
            sim_file_bits(sim_file_ready(item->file)) & ~(item->level ? TH_OS_OUT : 0));
}

bool sim_set_ready(sim_file *file) {
    bool ready = false;
    for (unsigned i = 0; i < file->set->high; i++) {
        ready = ready || item_ready(&file->set->items[i]);
    }
    return ready;
}

static void set_seen(const sim_file *file) {
    for (unsigned i = 0; i < file->set->high; i++) {
        sim_item *item = &file->set->items[i];
        if (item_ready(item)) {
            sim_acquire(&item->added);
            sim_file_seen(item->file, sim_file_ready(item->file));
        }
    }
}

int th_os_pollset_open(th_os_pollset *out) {
    sim_call();
    *out = (th_os_pollset){.set = -1, .wake = -1};
    sim_wrote(out, sizeof *out);
    int code = refused(TH_OS_FAULT_POLLSET);
    if (code) {
        return code;
    }
    sim_file *file = sim_file_new(SIM_SET, TH_OS_OTHER);
    file->set = set_new();
    file->ready = sim_set_ready;
    file->seen = set_seen;
    out->set = number_of_new(file);
    if (out->set < 0) {
        code = out->set;
        *out = (th_os_pollset){.set = -1, .wake = -1};
        return code;
    }
    out->wake = th_os_wakeup_open();
    if (out->wake < 0) {
        code = out->wake;
        th_os_pollset_close(out);
        return code;
    }
    return item_add(sim_number_file(out->wake), out->wake, TH_OS_WAKE, true, file);
}

void th_os_pollset_close(th_os_pollset *set) {
    if (set->wake >= 0) {
        number_close(set->wake);
    }
    if (set->set >= 0) {
        number_close(set->set);
    }
    *set = (th_os_pollset){.set = -1, .wake = -1};
    sim_wrote(set, sizeof *set);
}

sim_file *sim_set_file(const th_os_pollset *set) {
    sim_reads(set, sizeof *set);
    sim_file *file = sim_number_file(set->set);
    if (!file || file->kind != SIM_SET) {
        sim_misused("closed", "a call on a set that is closed");
    }
    return file;
}

int th_os_pollset_add(const th_os_pollset *set, int fd, uint64_t key) {
    sim_call();
    sim_file *of = sim_set_file(set);
    int code = refused(TH_OS_FAULT_POLLSET_ADD);
    sim_file *file = sim_number_file(fd);
    if (code || !file) {
        return code ? code : -EBADF;
    }
    return file->kind == SIM_REGULAR ? -EPERM : item_add(file, fd, key, false, of);
}

/* Whether `file` is the set `inner`, or within it. */
static bool within(const sim_file *file, const sim_file *inner) {
    bool found = file == inner;
    for (unsigned i = 0; i < inner->set->high && !found; i++) {
        const sim_file *one = inner->set->items[i].file;
        found = one && one->kind == SIM_SET && within(file, one);
    }
    return found;
}

int th_os_pollset_add_set(const th_os_pollset *set, const th_os_pollset *other, uint64_t key) {
    sim_call();
    sim_file *of = sim_set_file(set);
    sim_file *file = sim_set_file(other);
    if (within(of, file)) {
        return -ELOOP;
    }
    if (sim_choose(SIM_REFUSAL, 2)) {
        return -ENOMEM;
    }
    return item_add(file, other->set, key, true, of);
}

int th_os_pollset_remove(const th_os_pollset *set, int fd) {
    sim_call();
    sim_file *of = sim_set_file(set);
    sim_file *file = sim_number_file(fd);
    if (!file) {
        return -EBADF;
    }
    for (unsigned i = 0; i < of->set->high; i++) {
        sim_item *item = &of->set->items[i];
        if (item->file == file && item->fd == fd) {
            item->file = NULL;
            return 0;
        }
    }
    return -ENOENT;
}

/* ---- alarms ---- */

int th_os_alarm_open(void) {
    sim_call();
    int code = refused(TH_OS_FAULT_EVENTFD);
    if (code) {
        return code;
    }
    sim_file *file = sim_file_new(SIM_ALARM, TH_OS_OTHER);
    file->nonblocking = true;
    file->at = INT64_MAX;
    return number_of_new(file);
}

void th_os_alarm_close(int alarm) {
    number_close(alarm);
}

static sim_file *alarm_file(int alarm) {
    sim_file *file = sim_number_file(alarm);
    if (!file || file->kind != SIM_ALARM) {
        sim_misused("closed", "a call on an alarm that is closed");
    }
    return file;
}

/* Sleepers in a set with it compute their deadline anew. */
void th_os_alarm_set(int alarm, int64_t at) {
    sim_call();
    sim_file *file = alarm_file(alarm);
    sim_trace("sets alarm %d", alarm);
    file->at = at;
    sim_release(&file->order);
    sim_file_edge(file);
}

int th_os_pollset_add_alarm(const th_os_pollset *set, int alarm) {
    sim_call();
    sim_file *of = sim_set_file(set);
    int code = refused(TH_OS_FAULT_POLLSET_ADD);
    return code ? code : item_add(alarm_file(alarm), alarm, TH_OS_ALARM, true, of);
}

/* Until when a wait for the set sleeps at most: an alarm, or a ring, in it may have an event. */
static int64_t until(const sim_file *file, int64_t deadline) {
    for (unsigned i = 0; i < file->set->high; i++) {
        const sim_file *one = file->set->items[i].file;
        const int64_t at = !one                     ? INT64_MAX
                           : one->kind == SIM_ALARM ? one->at
                           : one->kind == SIM_RING  ? sim_ring_next(one)
                                                    : INT64_MAX;
        deadline = at < deadline ? at : deadline;
    }
    return deadline;
}

/* The rings in it give their events. */
static void tell_rings(const sim_file *file) {
    for (unsigned i = 0; i < file->set->high; i++) {
        sim_file *one = file->set->items[i].file;
        if (one && one->kind == SIM_RING) {
            sim_ring_tell(one);
        }
    }
}

/* ---- waiting for a set ---- */

/* The first item that came before a turn. */
static sim_item *first_item(sim_set *set, uint64_t before) {
    sim_item *first = NULL;
    for (unsigned i = 0; i < set->high; i++) {
        sim_item *item = &set->items[i];
        if (item->file && (item->level || item->pending) && item->turn <= before &&
            (!first || item->turn < first->turn)) {
            first = item;
        }
    }
    return first;
}

static unsigned fetch(sim_file *file, th_os_event events[], unsigned max) {
    sim_set *set = file->set;
    uint64_t before = set->turns;
    unsigned n = 0;
    sim_item *item;
    while (n < max && (item = first_item(set, before))) {
        uint32_t ready = sim_file_ready(item->file);
        if (item->level) { /* these ask for input alone */
            ready &= SIM_READY_IN;
            item->turn = ++set->turns;
        }
        uint32_t bits = sim_file_bits(ready) | (item->lies ? TH_OS_IN | TH_OS_OUT : 0);
        item->pending = item->lies = false;
        if (!bits) {
            continue;
        }
        sim_acquire(&item->added);
        sim_file_seen(item->file, ready);
        sim_trace("event for %d: bits %u", item->fd, bits);
        events[n++] = (th_os_event){item->key, bits};
    }
    if (n) {
        sim_wrote(events, n * sizeof *events);
        if (sim_set_ready(file)) {
            sim_wake_one(&set->word);
        }
    }
    return n;
}

/* One of the descriptors gets an event for no reason. */
static void lie(sim_set *set) {
    sim_item *able[SIM_ITEMS];
    unsigned n = 0;
    for (unsigned i = 0; i < set->high; i++) {
        if (set->items[i].file && !set->items[i].level) {
            able[n++] = &set->items[i];
        }
    }
    if (n) {
        sim_item *item = able[sim_choose(SIM_EVENT, n)];
        item->turn = item->pending ? item->turn : ++set->turns;
        item->pending = item->lies = true;
    }
}

int th_os_pollset_wait(const th_os_pollset *set, th_os_event events[], unsigned max,
                       int64_t deadline) {
    sim_call();
    sim_file *file = sim_set_file(set);
    switch (sim_choose(SIM_SPURIOUS, 3)) {
    case 1:
        return -EINTR;
    case 2:
        lie(file->set);
        break;
    default:
        break;
    }
    sim_file_hold(file);
    bool late = false;
    unsigned n;
    tell_rings(file);
    while ((n = fetch(file, events, max)) == 0 && !late && deadline > sim_now()) {
        (void)sim_sleep(&file->set->word, until(file, deadline));
        late = deadline <= sim_now();
        tell_rings(file);
    }
    sim_file_drop(file);
    return (int)n;
}

bool th_os_pollset_is_ready(const th_os_pollset *set) {
    sim_point();
    sim_reads(set, sizeof *set);
    tell_rings(sim_number_file(set->set));
    return sim_set_ready(sim_number_file(set->set));
}

int th_os_pollset_wake(const th_os_pollset *set) {
    sim_reads(set, sizeof *set);
    th_os_wakeup_set(set->wake);
    return 0;
}

void th_os_pollset_wake_take(const th_os_pollset *set) {
    sim_reads(set, sizeof *set);
    th_os_wakeup_take(set->wake);
}

/* ---- waiting for several sets ---- */

static sim_poll *poll_new(sim_file *file, sim_file *wakeup) {
    sim_files *all = sim_files_here();
    for (unsigned i = 0; i < SIM_POLLS; i++) {
        if (!all->polls[i].file) {
            all->polls[i].file = file;
            all->polls[i].wakeup = wakeup;
            all->polls[i].at = &all->polls[i].word;
            return &all->polls[i];
        }
    }
    sim_misused("limit", "too many threads poll");
}

/* Until `end` is called, edges in the other sets wake the thread that sleeps in the first. */
static void others_begin(const th_os_pollset *const sets[], unsigned n, sim_poll *polls[]) {
    uint32_t *at = &sim_set_file(sets[0])->set->word;
    for (unsigned i = 1; i < n; i++) {
        polls[i] = poll_new(sim_set_file(sets[i]), NULL);
        polls[i]->at = at;
    }
}

static void others_end(unsigned n, sim_poll *polls[]) {
    for (unsigned i = 1; i < n; i++) {
        polls[i]->file = NULL;
    }
}

static int any_ready(const th_os_pollset *const sets[], unsigned n) {
    int ready = 0;
    for (unsigned i = 0; i < n; i++) {
        tell_rings(sim_set_file(sets[i]));
        ready |= sim_set_ready(sim_set_file(sets[i])) ? 1 << i : 0;
    }
    return ready;
}

int th_os_pollset_wait_any(const th_os_pollset *const sets[], unsigned n, int64_t deadline) {
    sim_poll *polls[TH_OS_SETS_MAX];
    sim_call();
    if (sim_choose(SIM_SPURIOUS, 2)) {
        return -EINTR;
    }
    bool late = false;
    while (!any_ready(sets, n) && !late) {
        others_begin(sets, n, polls);
        late = deadline <= sim_now();
        if (!late) {
            int64_t at = deadline;
            for (unsigned i = 0; i < n; i++) {
                at = until(sim_set_file(sets[i]), at);
            }
            (void)sim_sleep(&sim_set_file(sets[0])->set->word, at);
        }
        others_end(n, polls);
    }
    return any_ready(sets, n);
}

/* ---- waiting for one descriptor ---- */

/* Bits that are polled for, and bits that are reported anyway. */
static uint32_t asked(unsigned bits, uint32_t ready) {
    uint32_t in = SIM_READY_IN | SIM_READY_ENDED;
    return ready & (SIM_READY_GONE | SIM_READY_ERROR | (bits & TH_OS_IN ? in : 0) |
                    (bits & TH_OS_OUT ? SIM_READY_OUT : 0));
}

uint32_t sim_file_poll(sim_file *file, unsigned bits, sim_file *wakeup, int64_t deadline) {
    sim_files *all = sim_files_here();
    sim_file_hold(file);
    if (wakeup) {
        sim_file_hold(wakeup);
    }
    bool late = false;
    uint32_t ready;
    while ((ready = asked(bits, sim_file_ready(file))) == 0 && !(wakeup && wakeup->count) &&
           !late && deadline > sim_now()) {
        sim_poll *poll = poll_new(file, wakeup);
        bool outside = all->outside;
        all->outside = false; /* meanwhile others call */
        late = sim_sleep(&poll->word, deadline) == SIM_TIMEOUT;
        all->outside = outside;
        poll->file = poll->wakeup = NULL;
    }
    if (ready) {
        sim_file_seen(file, ready);
    } else if (wakeup && wakeup->count) {
        sim_acquire(&wakeup->order);
    }
    if (wakeup) {
        sim_file_drop(wakeup);
    }
    sim_file_drop(file);
    return sim_file_bits(ready);
}

int th_os_io_poll(int fd, unsigned bits, int wakeup, int64_t deadline) {
    sim_call();
    sim_file *file = sim_number_file(fd);
    if (!file) {
        return -EBADF;
    }
    if (sim_choose(SIM_SPURIOUS, 2)) {
        return -EINTR;
    }
    return (int)sim_file_poll(file, bits, wakeup >= 0 ? wakeup_file(wakeup) : NULL, deadline);
}

int th_os_io_poll_any(th_os_polled polled[], unsigned n, int wakeup, int64_t deadline) {
    if (n != 1) {
        sim_misused("limit", "a wait for several descriptors"); /* no world has one */
    }
    int ready = th_os_io_poll(polled->fd, polled->bits, wakeup, deadline);
    polled->ready = ready > 0         ? (uint32_t)ready
                    : ready == -EBADF ? TH_OS_IN | TH_OS_OUT | TH_OS_ODD
                                      : 0;
    return polled->ready ? 1 : ready;
}

bool th_os_pollset_shows(void) {
    return true;
}
