/*
 * dump_io.c: what dumps say of tasks and threads that wait for the world outside.
 */
/* matrix: policy workers */
/* wrap: getaddrinfo freeaddrinfo */
#include "support/io/io.h"
#include "support/report/printed.h"
#include "support/times.h"
#include "support/report/told.h"

#include <netdb.h>
#include <signal.h>
#include <sys/un.h>
#include <thrum/net.h>
#include <thrum/signal.h>

#include "core/inspect/world.h"
#include "io/told.h"

/* ---- names, as the C library would look them up ---- */

static atomic_bool slow; /* names wait until this is over */

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **out);
void __wrap_freeaddrinfo(struct addrinfo *list);

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **out) {
    (void)host;
    (void)service;
    (void)hints;
    *out = NULL;
    SPIN_UNTIL(!atomic_load(&slow));
    return EAI_NONAME;
}

void __wrap_freeaddrinfo(struct addrinfo *list) {
    CHECK(list == NULL);
}

/* ---- what was dumped ---- */

static char *dump(const thrum_sched *sched, thrum_format format) {
    size_t length;
    FILE *out = tmpfile();
    CHECK(out != NULL);
    CHECK_EQ(thrum_dump(sched, out, format), 0);
    return printed_end(out, &length);
}

/* Dumps until this is told: what waits is about to. */
static void check_told(const rig *r, thrum_format format, const char *part) {
    for (bool told = false; !told; sched_yield()) {
        char *text = dump(r->sched, format);
        told = strstr(text, part) != NULL;
        free(text);
    }
}

static void check_not_told(const rig *r, const char *part) {
    char *text = dump(r->sched, THRUM_TEXT);
    CHECK(strstr(text, part) == NULL);
    free(text);
}

/* ---- what may wait ---- */

typedef struct scene {
    rig r;
    ends e;
    unsigned bits;
    thrum_time deadline;
    const char *where;
    int code;
} scene;

static int reads(void *arg) {
    scene *s = arg;
    char bytes[8]; /* as an eventfd wants it */
    s->code = (int)thrum_read_until(s->e.io[0], bytes, sizeof bytes, s->deadline);
    return 0;
}

static int writes(void *arg) {
    scene *s = arg;
    s->code = (int)thrum_write(s->e.io[0], "x", 1);
    return 0;
}

static int watches(void *arg) {
    scene *s = arg;
    s->code = thrum_io_wait(s->e.io[0], s->bits, s->deadline);
    return 0;
}

static int accepts(void *arg) {
    scene *s = arg;
    thrum_io io;
    s->code = thrum_accept(s->e.io[0], &io);
    return 0;
}

static void scene_begin(scene *s) {
    *s = (scene){.deadline = THRUM_FOREVER};
    rig_begin(&s->r, 0);
}

/* The line of the descriptor's socket, with the verb before it and the word between. */
static void tcp_line(char *line, const char *verb, int fd, const char *between) {
    struct sockaddr_in here, there;
    socklen_t size = sizeof here;
    char a[32], b[32];
    CHECK_EQ(getsockname(fd, (void *)&here, &size), 0);
    CHECK_EQ(getpeername(fd, (void *)&there, &size), 0);
    snprintf(line, 200, " %s fd %d, tcp %s %s %s, since tick ", verb, fd, text_of(&here, a),
             between, text_of(&there, b));
}

TEST(tasks_on_a_connection_are_told) {
    /* Both addresses are, for who reads and for who writes, and what closes it ends both. */
    char line[200];
    scene s;
    scene_begin(&s);
    ends_open_half(&s.e, TCP);
    rig_go(&s.r, reads, &s);
    tcp_line(line, "reads", s.e.fds[0], "from");
    check_told(&s.r, THRUM_TEXT, line);
    put(s.e.fds[1], "x");
    rig_wait_done(&s.r);
    check_not_told(&s.r, "fd ");
    (void)fill(s.e.fds[0]);
    rig_go(&s.r, writes, &s);
    tcp_line(line, "writes", s.e.fds[0], "to");
    check_told(&s.r, THRUM_TEXT, line);
    (void)drain(s.e.fds[1], SIZE_MAX);
    CHECK_EQ(thrum_io_close(s.e.io[0]), 0);
    rig_wait_done(&s.r);
    check_not_told(&s.r, "fd ");
    CHECK_EQ(close(s.e.fds[1]), 0);
    rig_stop(&s.r);
}

static void check_accepts_told(int fd, const char *what) {
    char line[200];
    scene s;
    scene_begin(&s);
    s.e.io[0] = adopted(fd);
    rig_go(&s.r, accepts, &s);
    snprintf(line, sizeof line, " accepts on fd %d, %s, since tick ", fd, what);
    check_told(&s.r, THRUM_TEXT, line);
    CHECK_EQ(thrum_io_close(s.e.io[0]), 0);
    rig_stop(&s.r);
    CHECK_EQ(s.code, -EBADF);
}

TEST(whoever_accepts_is_told) {
    /* The listener's address is. */
    char what[64], text[32];
    struct sockaddr_in at;
    const int fd = listen_tcp(&at);
    snprintf(what, sizeof what, "tcp %s", text_of(&at, text));
    check_accepts_told(fd, what);
}

TEST(whoever_accepts_at_a_path_is_told) {
    /* The path is, of which no byte ends the line. */
    char what[64];
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    const int n = snprintf(un.sun_path + 1, sizeof un.sun_path - 1, "thrum\n%d", getpid());
    CHECK_EQ(
        bind(fd, (void *)&un, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)),
        0);
    CHECK_EQ(listen(fd, 1), 0);
    snprintf(what, sizeof what, "unix @thrum?%d", getpid());
    check_accepts_told(fd, what);
}

TEST(what_is_no_socket_is_told_as_the_system_says) {
    /* It has a word for pipes, terminals and eventfds; a pair of sockets has no addresses. */
    static const struct {
        end_kind kind;
        const char *word;
    } kinds[] = {{PIPE, ", pipe:["}, {PTY, ", /dev/pts/"}, {UNIX, ", unix, since"}};
    char line[100];
    scene s;
    for (size_t i = 0; i <= COUNT_OF(kinds); i++) {
        scene_begin(&s);
        if (i < COUNT_OF(kinds)) {
            ends_open_half(&s.e, kinds[i].kind);
        } else {
            s.e.io[0] = adopted(eventfd(0, 0));
        }
        rig_go(&s.r, reads, &s);
        snprintf(line, sizeof line, " reads fd %d%s", s.e.io[0].fd,
                 i < COUNT_OF(kinds) ? kinds[i].word : ", anon_inode:[eventfd], since");
        check_told(&s.r, THRUM_TEXT, line);
        CHECK_EQ(thrum_io_close(s.e.io[0]), 0);
        rig_stop(&s.r);
        if (i < COUNT_OF(kinds)) {
            CHECK_EQ(close(s.e.fds[1]), 0);
        }
    }
}

TEST(waits_for_readiness_are_told) {
    /* For what is, and the deadline. */
    static const char *const words[] = {"", "readable", "writable", "ready"};
    char line[200];
    scene s;
    for (unsigned bits = 1; bits <= 3; bits++) {
        scene_begin(&s);
        s.bits = bits;
        s.deadline = far_off(); /* 1000 h are 41 days and 16 h */
        ends_open_half(&s.e, UNIX);
        (void)fill(s.e.fds[0]);
        rig_go(&s.r, watches, &s);
        snprintf(line, sizeof line, " waits for fd %d to be %s, %s, due in 41 d ", s.e.fds[0],
                 words[bits], pair_told(s.e.fds[0], bits & THRUM_IO_READ ? "from" : "to"));
        check_told(&s.r, THRUM_TEXT, line);
        CHECK_EQ(thrum_io_close(s.e.io[0]), 0);
        rig_stop(&s.r);
        CHECK_EQ(s.code, -EBADF);
        CHECK_EQ(close(s.e.fds[1]), 0);
    }
}

static int dials(void *arg) {
    scene *s = arg;
    thrum_io io;
    s->code = thrum_dial(&io, s->where, THRUM_FOREVER);
    return 0;
}

static void check_dial(const char *where, const char *line, const char *json) {
    scene s;
    thrum_handle *handle;
    scene_begin(&s);
    s.where = where;
    const thrum_attr attr = rig_attr(&s.r);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, dials, &s), 0);
    check_told(&s.r, THRUM_TEXT, line);
    check_told(&s.r, THRUM_JSON, json);
    thrum_cancel(handle);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    CHECK_EQ(s.code, -ECANCELED);
    rig_stop(&s.r);
}

TEST(dials_and_names_are_told) {
    /* They are, by the address and by the name that was asked for. */
    enum { MANY = 4 };
    char where[64], line[100], json[100];
    struct sockaddr_in at;
    int fds[MANY];
    int listener = listen_tcp(&at);
    CHECK_EQ(listen(listener, 0), 0); /* one connection waits; the system ignores who dials then */
    for (int i = 0; i < MANY; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(fds[i], (void *)&at, sizeof at);
        await_readable(listener);
    }
    snprintf(where, sizeof where, "tcp:127.0.0.1:%u", ntohs(at.sin_port));
    snprintf(line, sizeof line, " dials %s, since tick ", where);
    snprintf(json, sizeof json, "\"on\": \"connection\", \"address\": \"%s\"", where);
    check_dial(where, line, json);
    for (int i = 0; i < MANY; i++) {
        close(fds[i]);
    }
    close(listener);
    atomic_store(&slow, true);
    check_dial("tcp:slow.test:80", " resolves slow.test, since tick ",
               "\"on\": \"name of a host\", \"host\": \"slow.test\"");
    atomic_store(&slow, false);
}

static int waits_for_signals(void *arg) {
    scene *s = arg;
    static const int wanted[] = {SIGTERM, SIGINT, SIGUSR1};
    s->code = thrum_signal_wait(wanted, 3, THRUM_FOREVER);
    return 0;
}

TEST(signals_are_told) {
    /* They are, all that the wait is for. */
    scene s;
    scene_begin(&s);
    rig_go(&s.r, waits_for_signals, &s);
    const bool first = SIGUSR1 < SIGTERM; /* they are told in the order of their numbers */
    check_told(&s.r, THRUM_TEXT,
               first ? " waits for SIGINT, SIGUSR1, SIGTERM, since tick "
                     : " waits for SIGINT, SIGTERM, SIGBREAK, since tick ");
    check_told(&s.r, THRUM_JSON,
               first
                   ? "\"on\": \"signal\", \"signals\": [\"SIGINT\", \"SIGUSR1\", \"SIGTERM\"], "
                   : "\"on\": \"signal\", \"signals\": [\"SIGINT\", \"SIGTERM\", \"SIGBREAK\"], ");
    CHECK_EQ(kill(getpid(), SIGUSR1), 0);
    rig_wait_done(&s.r);
    CHECK_EQ(s.code, SIGUSR1);
    rig_stop(&s.r);
}

/* ---- threads ---- */

static int nothing(void *arg) {
    (void)arg;
    return 0;
}

static void *is_external(void *arg) {
    scene *s = arg;
    rig_run(&s->r, nothing, NULL); /* now the scheduler knows the thread */
    (s->bits ? watches : reads)(s);
    return NULL;
}

TEST(external_threads_are_told) {
    /* They are, as far as they have used the scheduler, until they no longer wait. */
    char line[200], json[200];
    pthread_t thread;
    scene s;
    for (unsigned bits = 0; bits < 3; bits++) {
        scene_begin(&s);
        s.bits = bits;
        ends_open_half(&s.e, UNIX);
        (void)fill(s.e.fds[0]);
        const char *told = pair_told(s.e.fds[0], bits == THRUM_IO_WRITE ? "to" : "from");
        snprintf(line, sizeof line, "  an external thread %s fd %d%s, %s\n",
                 bits ? "waits for" : "reads", s.e.fds[0], bits ? " to be ready" : "", told);
        snprintf(json, sizeof json, "\"fd\": %d, \"descriptor\": \"%s\"}]", s.e.fds[0], told);
        CHECK_EQ(pthread_create(&thread, NULL, is_external, &s), 0);
        check_told(&s.r, THRUM_TEXT, line);
        check_told(&s.r, THRUM_JSON, json);
        CHECK_EQ(thrum_io_close(s.e.io[0]), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        check_not_told(&s.r, "external");
        CHECK_EQ(s.code, -EBADF);
        CHECK_EQ(close(s.e.fds[1]), 0);
        rig_stop(&s.r);
    }
}

static void *puts_when_told(void *arg) {
    const scene *s = arg;
    check_told(&s->r, THRUM_TEXT, s->where);
    put(s->e.fds[1], "x");
    return NULL;
}

TEST(bound_threads_are_told) {
    /* They are, like tasks. */
    char line[200];
    scene s;
    pthread_t thread;
    rig_init(&s.r);
    s.r.config.workers = 0;
    rig_start(&s.r);
    s.deadline = THRUM_FOREVER;
    s.bits = 0;
    ends_open_half(&s.e, PIPE);
    snprintf(line, sizeof line, "  bound thread 0 reads fd %d, %s", s.e.fds[0],
             pair_told(s.e.fds[0], "from"));
    CHECK_EQ(thrum_sched_bind(s.r.sched), 0);
    s.where = line;
    CHECK_EQ(pthread_create(&thread, NULL, puts_when_told, &s), 0);
    CHECK_EQ(reads(&s), 0);
    CHECK_EQ(s.code, 1);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    ends_close(&s.e);
    rig_stop(&s.r);
}

/* ---- tasks that are listed ---- */

enum { TASKS = 100 };

static atomic_int runs;

static void counts(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    atomic_fetch_add(&runs, 1);
}

typedef struct hall {
    ends e[TASKS];
    thrum_task tasks[TASKS];
    thrum_time deadline;
} hall;

static int lists_tasks(void *arg) {
    hall *h = arg;
    for (int i = 0; i < TASKS; i++) {
        thrum_task_init(&h->tasks[i], counts, NULL);
        ends_open_half(&h->e[i], UNIX);
        CHECK_EQ(thrum_io_on_until(h->e[i].io[0], THRUM_IO_READ, &h->tasks[i],
                                   i ? THRUM_FOREVER : h->deadline),
                 0);
    }
    return 0;
}

TEST(tasks_that_are_listed_are_told) {
    /* Each is, with its descriptor and its deadline, until it is posted. */
    static hall h;
    char line[200];
    rig r;
    h.deadline = far_off();
    atomic_store(&runs, 0);
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, lists_tasks, &h), 0);
    char *text = dump(r.sched, THRUM_TEXT);
    char *json = dump(r.sched, THRUM_JSON);
    for (int i = 0; i < TASKS; i++) {
        snprintf(line, sizeof line, "\n  task 0x%" PRIxPTR " (", (uintptr_t)&h.tasks[i]);
        char *at = strstr(text, line);
        CHECK(at != NULL);
        snprintf(line, sizeof line, ") is posted when fd %d is readable, %s", h.e[i].fds[0],
                 pair_told(h.e[i].fds[0], "from"));
        if (i == 0) {
            strcat(line, ", due in 41 d ");
        } else {
            strcat(line, "\n");
        }
        CHECK(strncmp(strchr(at, ')'), line, strlen(line)) == 0);
        snprintf(line, sizeof line, "{\"task\": \"0x%" PRIxPTR "\", \"function\": \"",
                 (uintptr_t)&h.tasks[i]);
        CHECK(strstr(json, line) != NULL);
        snprintf(line, sizeof line, "\"on\": \"descriptor to read\", \"fd\": %d, ", h.e[i].fds[0]);
        CHECK(strstr(json, line) != NULL);
    }
    free(text);
    free(json);
    put(h.e[0].fds[1], "x");
    for (int i = 1; i < TASKS; i++) {
        CHECK_EQ(thrum_io_close(h.e[i].io[0]) | close(h.e[i].fds[1]), 0);
    }
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&runs), TASKS);
    check_not_told(&r, "is posted when");
    ends_close(&h.e[0]);
    rig_stop(&r);
}

/* ---- numbers that come again ---- */

TEST(nothing_is_told_of_a_number_that_is_another_ones) {
    /* What stood there before is not asked for by the number that it had. */
    th_told told;
    ends e;
    for (int i = 0; i < 4; i++) {
        ends_open_half(&e, i % 2 ? PIPE : UNIX);
        const th_direction *direction = direction_of(e.io[0], THRUM_IO_READ);
        const uint32_t turn = e.io[0].turn;
        CHECK_EQ(th_world_known()->number(direction), e.fds[0]);
        CHECK_EQ(th_told_turn(direction), turn);
        CHECK(th_world_known()->tell(direction, turn, &told));
        CHECK(strncmp(told.text, pair_told(e.fds[0], ""), 4) == 0);
        CHECK(!th_world_known()->tell(direction, turn + 2, &told));
        CHECK(!th_world_known()->tell(direction, turn - 2, &told));
        CHECK(!th_world_known()->tell(direction, 0, &told));
        ends_close(&e);
        CHECK(!th_world_known()->tell(direction, turn, &told));
        CHECK(!th_world_known()->tell(direction, turn + 1, &told)); /* it is nobody's */
    }
}

typedef struct traffic {
    rig r;
    atomic_bool over;
    atomic_int dumps;
} traffic;

typedef struct passer {
    ends e;
    const char *name;
} passer;

static int reads_by_name(void *arg) {
    passer *p = arg;
    char byte;
    CHECK_EQ(thrum_set_name(p->name), 0);
    CHECK_EQ(thrum_read(p->e.io[0], &byte, 1), -EBADF);
    return 0;
}

/* Each line of a fiber that has a name tells what that one reads, or nothing. */
static void check_lines(char *text) {
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        const char *name = strchr(line, '"');
        const char *fd = strstr(line, "reads fd ");
        if (!fd || !name) {
            continue;
        }
        const char *what = strchr(fd, ',') + 2;
        const char kind = name[1]; /* of "unix", "pipe", "tcp" */
        if (strncmp(what, "since", 5) != 0 && *what != kind) {
            check_failed(__FILE__, __LINE__, "%s", line);
        }
    }
}

static void *dumps_on(void *arg) {
    traffic *t = arg;
    while (!atomic_load(&t->over)) {
        char *text = dump(t->r.sched, THRUM_TEXT);
        check_lines(text);
        free(text);
        atomic_fetch_add(&t->dumps, 1);
    }
    return NULL;
}

TEST(numbers_come_again_while_it_is_dumped) {
    /* Descriptors are closed under those that read, and others get the numbers. */
    static const end_kind kinds[] = {UNIX, PIPE, TCP};
    enum { PASSERS = 6 };
    traffic t;
    pthread_t thread;
    memset(&t, 0, sizeof t);
    rig_begin(&t.r, 0);
    CHECK_EQ(pthread_create(&thread, NULL, dumps_on, &t), 0);
    const int rounds = SCALED(60);
    for (int round = 0; round < rounds || atomic_load(&t.dumps) < 5; round++) {
        passer p[PASSERS];
        for (int i = 0; i < PASSERS; i++) {
            const int which = (i + round) % (int)COUNT_OF(kinds);
            ends_open_half(&p[i].e, kinds[which]);
            const char kind = *pair_told(p[i].e.fds[0], "");
            p[i].name = kind == 'u' ? "unix" : kind == 'p' ? "pipe" : "tcp";
            rig_go(&t.r, reads_by_name, &p[i]);
        }
        for (int i = 0; i < PASSERS; i++) {
            if (round % 2) {
                SPIN_UNTIL(io_awaits(p[i].e.io[0], THRUM_IO_READ));
            }
            ends_close(&p[i].e);
        }
        rig_wait_done(&t.r);
    }
    atomic_store(&t.over, true);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    rig_stop(&t.r);
}
