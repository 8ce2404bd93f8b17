/*
 * net_names.c: names of hosts: who asks, how often, and who may give up. What the C library would
 * say is said here.
 */
/* matrix: policy workers */
/* wrap: getaddrinfo freeaddrinfo */
#include "support/io/nets.h"
#include "support/times.h"

#include <netdb.h>

#include "net/resolver.h"

/* ---- what the C library says ---- */

static atomic_int calls; /* of getaddrinfo */
static atomic_bool slow; /* names wait until this is over */

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **out);
void __wrap_freeaddrinfo(struct addrinfo *list);

/* Adds an address to the list. */
static void say(struct addrinfo **list, int family, const char *address) {
    struct addrinfo *a = calloc(1, sizeof *a + sizeof(struct sockaddr_in6));
    thrum_address parsed;
    char text[64];
    CHECK(a != NULL);
    snprintf(text, sizeof text, family == AF_INET6 ? "[%s]:0" : "%s:0", address);
    CHECK_EQ(thrum_address_parse(&parsed, text), 0);
    a->ai_family = family;
    a->ai_addrlen = parsed.reserved_size;
    a->ai_addr = (struct sockaddr *)(void *)(a + 1);
    memcpy(a->ai_addr, parsed.reserved_words, parsed.reserved_size);
    while (*list) {
        list = &(*list)->ai_next;
    }
    *list = a;
}

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **out) {
    CHECK(service == NULL);
    *out = NULL;
    atomic_fetch_add(&calls, 1);
    while (atomic_load(&slow)) {
        sched_yield();
    }
    if (strcmp(host, "again.test") == 0) {
        return EAI_AGAIN;
    }
    if (strcmp(host, "broken.test") == 0) {
        return EAI_FAIL;
    }
    if (strcmp(host, "full.test") == 0) {
        return EAI_MEMORY;
    }
    if (strcmp(host, "six.test") != 0 && strcmp(host, "four.test") != 0 &&
        strcmp(host, "both.test") != 0 && strcmp(host, "far.test") != 0 &&
        strcmp(host, "mute.test") != 0) {
        return EAI_NONAME;
    }
    /* At the first two nothing answers, or there is no way to them. */
    if (strcmp(host, "far.test") == 0 || strcmp(host, "mute.test") == 0) {
        say(out, AF_INET, "127.0.0.2");
        say(out, AF_INET, "127.0.0.3");
        if (strcmp(host, "far.test") == 0) {
            say(out, AF_INET, "127.0.0.1");
        }
        return 0;
    }
    if (strcmp(host, "four.test") != 0 && hints->ai_family != AF_INET) {
        say(out, AF_INET6, "::1");
        say(out, AF_INET6, "fd00::1");
    }
    if (strcmp(host, "six.test") != 0 && hints->ai_family != AF_INET6) {
        say(out, AF_INET, "127.0.0.1");
    }
    return *out ? 0 : EAI_NONAME;
}

void __wrap_freeaddrinfo(struct addrinfo *list) {
    while (list) {
        struct addrinfo *next = list->ai_next;
        free(list);
        list = next;
    }
}

/* ---- one name ---- */

static int resolve_body(void *arg) {
    thrum_address found[8];
    char text[THRUM_ADDRESS_TEXT];
    (void)arg;
    CHECK_EQ(thrum_resolve("both.test", 80, 0, found, 8, THRUM_FOREVER), 3);
    CHECK_EQ(thrum_address_text(&found[0], text, sizeof text), 0);
    CHECK_STR(text, "[::1]:80");
    CHECK_EQ(thrum_address_text(&found[2], text, sizeof text), 0);
    CHECK_STR(text, "127.0.0.1:80");
    CHECK_EQ(thrum_resolve("both.test", 80, 0, found, 2, THRUM_FOREVER), 2);
    CHECK_EQ(thrum_resolve("both.test", 80, THRUM_IPV4, found, 8, THRUM_FOREVER), 1);
    CHECK_EQ(thrum_address_text(&found[0], text, sizeof text), 0);
    CHECK_STR(text, "127.0.0.1:80");
    CHECK_EQ(thrum_resolve("both.test", 80, THRUM_IPV6, found, 8, THRUM_FOREVER), 2);
    CHECK_EQ(thrum_resolve("four.test", 80, THRUM_IPV6, found, 8, THRUM_FOREVER), -ENOENT);
    CHECK_EQ(thrum_resolve("none.test", 80, 0, found, 8, THRUM_FOREVER), -ENOENT);
    CHECK_EQ(thrum_resolve("again.test", 80, 0, found, 8, THRUM_FOREVER), -EAGAIN);
    CHECK_EQ(thrum_resolve("broken.test", 80, 0, found, 8, THRUM_FOREVER), -EIO);
    CHECK_EQ(thrum_resolve("full.test", 80, 0, found, 8, THRUM_FOREVER), -ENOMEM);
    CHECK_EQ(thrum_resolve("both.test", 80, 0, found, 8, 0), -ETIMEDOUT);
    thrum_io io;
    CHECK_EQ(thrum_dial(&io, "tcp:none.test:80", THRUM_FOREVER), -ENOENT);
    CHECK_EQ(thrum_listen(&io, "tcp:none.test:80", NULL), -ENOENT);
    return 0;
}

TEST(names_have_addresses_or_codes) {
    /* In the system's order, of one family or of both. */
    both(resolve_body);
}

TEST(numbers_are_not_looked_up) {
    /* And what makes no sense is refused. */
    thrum_address found[2];
    thrum_io io;
    char name[300];
    char text[THRUM_ADDRESS_TEXT];
    atomic_store(&calls, 0);
    CHECK_EQ(thrum_resolve("127.0.0.1", 80, 0, found, 2, THRUM_FOREVER), 1);
    CHECK_EQ(thrum_address_text(&found[0], text, sizeof text), 0);
    CHECK_STR(text, "127.0.0.1:80");
    CHECK_EQ(thrum_resolve("::1", 80, THRUM_IPV6, found, 2, THRUM_FOREVER), 1);
    CHECK_EQ(thrum_resolve("::1", 80, THRUM_IPV4, found, 2, THRUM_FOREVER), -ENOENT);
    CHECK_EQ(thrum_resolve("", 80, 0, found, 2, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_resolve(NULL, 80, 0, found, 2, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_resolve("both.test", 80, 5, found, 2, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_resolve("both.test", 80, 0, found, 0, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_resolve("both.test", 80, 0, NULL, 2, THRUM_FOREVER), -EINVAL);
    memset(name, 'x', sizeof name);
    name[299] = 0;
    CHECK_EQ(thrum_resolve(name, 80, 0, found, 2, THRUM_FOREVER), -ENAMETOOLONG);
    own_address(text, "tcp"); /* by numbers, at which nobody listens any more */
    thrum_io listener = listen_at(text, name);
    CHECK_EQ(thrum_io_close(listener), 0);
    CHECK_EQ(thrum_dial(&io, name, THRUM_FOREVER), -ECONNREFUSED);
    CHECK_EQ(atomic_load(&calls), 0);
}

/* ---- many ---- */

static uint32_t waiting(void) {
    th_jobs_figures figures;
    th_jobs_read(&th_resolver_jobs, &figures);
    return figures.waiting;
}

static uint32_t askers(void) {
    th_jobs_figures figures;
    th_jobs_read(&th_resolver_jobs, &figures);
    return figures.threads;
}

static int ask_both(void *arg) {
    thrum_address found[8];
    (void)arg;
    CHECK_EQ(thrum_resolve("both.test", 1, 0, found, 8, THRUM_FOREVER), 3);
    return 0;
}

static int ask_for_a_moment(void *arg) {
    thrum_address found[8];
    (void)arg;
    CHECK_EQ(thrum_resolve("both.test", 1, 0, found, 8, soon()), -ETIMEDOUT);
    return 0;
}

static int ask_result(void *arg) {
    thrum_address found[8];
    (void)arg;
    return thrum_resolve("both.test", 1, 0, found, 8, THRUM_FOREVER);
}

/* Begins a lookup that somebody else gives up, by a cancel, when it is in the system. */
static thrum_handle *begin_lookup(const rig *r) {
    thrum_handle *handle;
    const thrum_attr attr = rig_attr(r);
    atomic_store(&calls, 0);
    atomic_store(&slow, true);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, ask_result, NULL), 0);
    SPIN_UNTIL(atomic_load(&calls) == 1);
    return handle;
}

static void give_up(thrum_handle *handle) {
    int result = 0;
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, -ECANCELED);
}

TEST(a_name_is_asked_once_for_many) {
    /* Some give up, by their deadline or a cancel, and the others get the answer all the same. */
    rig r;
    rig_begin(&r, 0);
    thrum_handle *first = begin_lookup(&r);
    cast *brief = cast_new(&r);
    cast *c = cast_new(&r);
    cast_add_mixed(c, 10, 5, ask_both, NULL);
    cast_add_mixed(brief, 2, 2, ask_for_a_moment, NULL);
    cast_join(brief);
    SPIN_UNTIL(waiting() == 16);
    give_up(first);
    CHECK_EQ(waiting(), 15);
    atomic_store(&slow, false);
    cast_join(c);
    CHECK_EQ(atomic_load(&calls), 1);
    CHECK_EQ(ask_both(NULL), 0);
    CHECK_EQ(atomic_load(&calls), 2); /* nothing is kept */
    rig_stop(&r);
    SPIN_UNTIL(askers() == 0);
}

TEST(a_lookup_outlives_its_scheduler) {
    /* The caller gives up, the scheduler stops, and the call is still in the system. */
    rig r;
    rig_begin(&r, 0);
    give_up(begin_lookup(&r));
    rig_stop(&r);
    CHECK_EQ(askers(), 1);
    atomic_store(&slow, false);
    SPIN_UNTIL(askers() == 0);
}

static int ask_other(void *arg) {
    const actor *a = arg;
    thrum_address found[8];
    char name[32];
    snprintf(name, sizeof name, "%d.test", a->index);
    CHECK_EQ(thrum_resolve(name, 1, 0, found, 8, THRUM_FOREVER), -ENOENT);
    return 0;
}

TEST(few_threads_ask_for_many_names) {
    /* No more than their limit; what nobody waits for any more is not begun. */
    rig r;
    thrum_address found[1];
    rig_begin(&r, 0);
    atomic_store(&calls, 0);
    atomic_store(&slow, true);
    th_resolver_jobs.patience = THRUM_S(3600); /* else one more is started while all hang */
    cast *c = cast_new(&r);
    cast_add_mixed(c, 30, 0, ask_other, NULL);
    SPIN_UNTIL(waiting() == 30 && atomic_load(&calls) == TH_ASKERS_MAX);
    CHECK_EQ(thrum_resolve("late.test", 1, 0, found, 1, soon()), -ETIMEDOUT);
    CHECK_EQ(askers(), TH_ASKERS_MAX);
    atomic_store(&slow, false);
    cast_join(c);
    CHECK_EQ(atomic_load(&calls), 30);
    rig_stop(&r);
    SPIN_UNTIL(askers() == 0);
}

static int ask_in_child(void *arg) {
    (void)arg;
    return ask_both(NULL);
}

TEST(a_child_asks_anew) {
    /* The parent's threads and their questions are not the child's. */
    rig r;
    if (UNDER_TSAN) {
        CHECK_SKIP("the sanitizer takes no threads after a fork of threads");
    }
    if (UNDER_ASAN) {
        CHECK_SKIP("the sanitizer's allocator may be locked in the child, by a thread not there");
    }
    rig_begin(&r, 1);
    give_up(begin_lookup(&r));
    pid_t child = fork();
    if (child == 0) {
        atomic_store(&slow, false);
        rig_do(1, ask_in_child, NULL);
        _exit(ask_both(NULL));
    }
    int status = 1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    atomic_store(&slow, false);
    rig_stop(&r);
    SPIN_UNTIL(askers() == 0);
}

/* ---- dialing by name ---- */

static int dial_body(void *arg) {
    char where[THRUM_ADDRESS_TEXT], to[THRUM_ADDRESS_TEXT], text[THRUM_ADDRESS_TEXT];
    thrum_io near, far;
    (void)arg;
    thrum_io listener = listen_at("tcp:four.test:0", where);
    CHECK(strncmp(where, "tcp:127.0.0.1:", 14) == 0);
    static const char *const names[] = {"four.test", "both.test", "far.test"};
    for (unsigned i = 0; i < 3; i++) {
        snprintf(to, sizeof to, "tcp:%s%s", names[i], strrchr(where, ':'));
        CHECK_EQ(thrum_dial(&near, to, far_off()), 0);
        CHECK_EQ(thrum_io_peer(near, text, sizeof text), 0);
        CHECK_STR(text, where);
        CHECK_EQ(thrum_accept(listener, &far), 0);
        check_talks(near, far);
        CHECK_EQ(thrum_io_close(near), 0);
        CHECK_EQ(thrum_io_close(far), 0);
    }
    CHECK_EQ(thrum_io_close(listener), 0);
    /* A port that is taken, and where nobody listens. */
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    const int taken = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(bind(taken, (void *)&at, size), 0);
    CHECK_EQ(getsockname(taken, (void *)&at, &size), 0);
    snprintf(to, sizeof to, "tcp:far.test:%u", ntohs(at.sin_port));
    CHECK_EQ(thrum_dial(&near, to, far_off()), -ECONNREFUSED);
    CHECK_EQ(close(taken), 0);
    return 0;
}

TEST(the_address_that_answers_is_dialed) {
    /* Whichever it is; the others leave nothing behind. If none answers, the first one's code. */
    both(dial_body);
    const int before = open_count();
    CHECK_EQ(dial_body(NULL), 0);
    CHECK_EQ(open_count(), before);
}

/* A listener that answers nobody, at an address of this machine, and at a port given or chosen. */
static int silent_at(uint32_t host, uint16_t *port, int fds[], int n) {
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(host), .sin_port = htons(*port)};
    socklen_t size = sizeof at;
    fds[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fds[0], (void *)&at, size) < 0) {
        return -1;
    }
    CHECK_EQ(listen(fds[0], 0), 0);
    CHECK_EQ(getsockname(fds[0], (void *)&at, &size), 0);
    *port = ntohs(at.sin_port);
    for (int i = 1; i < n; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(fds[i], (void *)&at, size);
        await_readable(fds[0]); /* it is silent only once a connection stands in its queue */
    }
    return 0;
}

/* When the third address is tried while none has answered, and a time before that. */
enum { THIRD_NS = 500000000, SECOND_NS = 300000000 };

static int dial_beside_body(void *arg) {
    const uint16_t *port = arg;
    thrum_io near;
    char to[THRUM_ADDRESS_TEXT], text[THRUM_ADDRESS_TEXT];
    const thrum_time third = thrum_after(THIRD_NS);
    snprintf(to, sizeof to, "tcp:far.test:%u", *port);
    CHECK_EQ(thrum_dial(&near, to, far_off()), 0);
    CHECK_PASSED(third);
    CHECK_EQ(thrum_io_peer(near, text, sizeof text), 0);
    CHECK(strncmp(text, "tcp:127.0.0.1:", 14) == 0);
    CHECK_EQ(thrum_io_close(near), 0);
    snprintf(to, sizeof to, "tcp:mute.test:%u", *port);
    CHECK_EQ(thrum_dial(&near, to, thrum_after(SECOND_NS)), -ETIMEDOUT);
    return 0;
}

TEST(silent_addresses_are_left_behind) {
    /* Each 250 ms the next one is tried beside them; at the deadline all are given up. */
    int two[5], three[5];
    char where[THRUM_ADDRESS_TEXT];
    thrum_io listener = listen_at("tcp:127.0.0.1:0", where);
    uint16_t port = (uint16_t)atoi(where + 14);
    if (silent_at(INADDR_LOOPBACK + 1, &port, two, 5) < 0 ||
        silent_at(INADDR_LOOPBACK + 2, &port, three, 5) < 0) {
        CHECK_SKIP("the port is taken");
    }
    const int before = open_count();
    rig_do(0, dial_beside_body, &port);
    CHECK_EQ(dial_beside_body(&port), 0);
    CHECK_EQ(open_count(), before);
    CHECK_EQ(thrum_io_close(listener), 0);
    for (int i = 0; i < 5; i++) {
        close(two[i]);
        close(three[i]);
    }
}
