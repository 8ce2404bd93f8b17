/*
 * net_names_hung.c: names whose lookups hang, as when a server of names is gone, and other names
 * that are asked for meanwhile. What the C library would say is said here.
 */
/* matrix: policy workers */
/* wrap: getaddrinfo freeaddrinfo th_os_hosts_path */
#include "support/io/nets.h"
#include "support/times.h"

#include <netdb.h>

#include "net/hosts.h"
#include "net/resolver.h"
#include "platform/faults.h"

#define HUNG (TH_ASKERS_MAX + 8) /* more than would be asked for at a time */

/* ---- what the C library says ---- */

static atomic_int inside; /* lookups that hang */
static atomic_bool over;  /* they do, until this */

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **out);
void __wrap_freeaddrinfo(struct addrinfo *list);
void __wrap_th_os_hosts_path(char *path, size_t size);

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **out) {
    (void)service;
    (void)hints;
    *out = NULL;
    if (strncmp(host, "hang", 4) == 0) {
        atomic_fetch_add(&inside, 1);
        while (!atomic_load(&over)) {
            sched_yield();
        }
        atomic_fetch_sub(&inside, 1);
        return EAI_AGAIN;
    }
    return EAI_NONAME;
}

void __wrap_freeaddrinfo(struct addrinfo *list) {
    CHECK(list == NULL);
}

static char hosts_path[64];

void __wrap_th_os_hosts_path(char *path, size_t size) {
    snprintf(path, size, "%s", hosts_path);
}

/* ---- hanging lookups ---- */

static void begin(rig *r, const char *hosts) {
    snprintf(hosts_path, sizeof hosts_path, "thrum-hosts-%d", (int)getpid());
    FILE *file = fopen(hosts_path, "wb");
    CHECK(file && fputs(hosts, file) >= 0 && fclose(file) == 0);
    atomic_store(&over, false);
    rig_begin(r, 0);
}

static void end(rig *r) {
    th_jobs_figures figures;
    rig_stop(r);
    atomic_store(&over, true);
    do {
        th_jobs_read(&th_resolver_jobs, &figures);
    } while (figures.threads > 0);
    CHECK_EQ(atomic_load(&inside), 0);
    CHECK_EQ(unlink(hosts_path), 0);
}

static int ask(void *arg) {
    thrum_address found[4];
    return thrum_resolve(arg, 80, 0, found, 4, THRUM_FOREVER);
}

static char names[HUNG][24];

static thrum_handle *start(const rig *r, thrum_fn fn, void *arg) {
    thrum_handle *handle;
    const thrum_attr attr = rig_attr(r);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, fn, arg), 0);
    return handle;
}

/* The lookups of so many names are in the system, one after the other. */
static void hang(const rig *r, thrum_handle *handles[], int n) {
    for (int i = 0; i < n; i++) {
        snprintf(names[i], sizeof names[i], "hang%d.test", i);
        handles[i] = start(r, ask, names[i]);
        SPIN_UNTIL(atomic_load(&inside) == i + 1);
    }
}

static int result_of(thrum_handle *handle) {
    int result = 0;
    CHECK_EQ(thrum_join(handle, &result), 0);
    return result;
}

static void give_up(thrum_handle *handle) {
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(result_of(handle), -ECANCELED);
}

static void no_patience_ends(void) {
    th_resolver_jobs.patience = THRUM_S(3600);
}

static uint32_t waiting(void) {
    th_jobs_figures figures;
    th_jobs_read(&th_resolver_jobs, &figures);
    return figures.waiting;
}

TEST(lookups_that_were_given_up_do_not_count) {
    /* More of them hang than are asked for at a time; the next name is asked for all the same. */
    rig r;
    thrum_handle *handle;
    begin(&r, "");
    no_patience_ends();
    for (int i = 0; i < (int)HUNG; i++) {
        snprintf(names[i], sizeof names[i], "hang%d.test", i);
        handle = start(&r, ask, names[i]);
        SPIN_UNTIL(atomic_load(&inside) == i + 1);
        give_up(handle);
    }
    CHECK_EQ(rig_run(&r, ask, "none.test"), -ENOENT);
    CHECK_EQ(ask("none.test"), -ENOENT); /* a plain thread */
    CHECK_EQ(atomic_load(&inside), HUNG);
    end(&r);
}

TEST(a_lookup_that_is_given_up_lets_the_next_one_begin) {
    /* One that was queued behind it, as its callers leave. */
    rig r;
    thrum_handle *handles[TH_ASKERS_MAX];
    begin(&r, "");
    no_patience_ends();
    hang(&r, handles, TH_ASKERS_MAX);
    thrum_handle *next = start(&r, ask, "none.test");
    SPIN_UNTIL(waiting() == TH_ASKERS_MAX + 1);
    give_up(handles[0]);
    CHECK_EQ(result_of(next), -ENOENT);
    atomic_store(&over, true);
    for (unsigned i = 1; i < TH_ASKERS_MAX; i++) {
        CHECK_EQ(result_of(handles[i]), -EAGAIN);
    }
    end(&r);
}

TEST(lookups_that_hang_do_not_count) {
    /* Their callers still wait. */
    rig r;
    thrum_handle *handles[HUNG];
    begin(&r, "");
    hang(&r, handles, HUNG);
    CHECK_EQ(rig_run(&r, ask, "none.test"), -ENOENT);
    CHECK_EQ(ask("none.test"), -ENOENT);
    CHECK_EQ(atomic_load(&inside), HUNG);
    atomic_store(&over, true);
    for (unsigned i = 0; i < HUNG; i++) {
        CHECK_EQ(result_of(handles[i]), -EAGAIN);
    }
    end(&r);
}

TEST(a_name_that_no_thread_will_ask_for_fails) {
    /* The only one hangs, and no other is granted: -EAGAIN; later there is one. */
    rig r;
    thrum_handle *handle;
    begin(&r, "");
    hang(&r, &handle, 1);
    th_os_fail(TH_OS_FAULT_THREAD, 0, UINT32_MAX);
    CHECK_EQ(rig_run(&r, ask, "none.test"), -EAGAIN);
    CHECK_EQ(ask("none.test"), -EAGAIN);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 0);
    CHECK_EQ(rig_run(&r, ask, "none.test"), -ENOENT);
    atomic_store(&over, true);
    CHECK_EQ(result_of(handle), -EAGAIN);
    end(&r);
}

static int dial_itself(void *arg) {
    char where[THRUM_ADDRESS_TEXT], to[THRUM_ADDRESS_TEXT];
    thrum_io near, far;
    thrum_io listener = listen_at("tcp:127.0.0.1:0", where);
    snprintf(to, sizeof to, "tcp:%s%s", (const char *)arg, strrchr(where, ':'));
    CHECK_EQ(thrum_dial(&near, to, far_off()), 0);
    CHECK_EQ(thrum_accept(listener, &far), 0);
    CHECK_EQ(thrum_io_close(near), 0);
    CHECK_EQ(thrum_io_close(far), 0);
    CHECK_EQ(thrum_io_close(listener), 0);
    return 0;
}

TEST(names_of_this_machine_wait_for_no_others) {
    /* Numbers, localhost, and names in the file of hosts, while nothing else can be asked for. */
    rig r;
    thrum_handle *handles[TH_ASKERS_MAX];
    begin(&r, "127.0.0.1 here.test\n");
    no_patience_ends();
    hang(&r, handles, TH_ASKERS_MAX);
    thrum_handle *other = start(&r, ask, "none.test");
    SPIN_UNTIL(waiting() == TH_ASKERS_MAX + 1);
    CHECK_EQ(rig_run(&r, ask, "localhost"), 2);
    CHECK_EQ(rig_run(&r, ask, "here.test"), 1);
    CHECK_EQ(rig_run(&r, ask, "127.0.0.1"), 1);
    CHECK_EQ(ask("localhost"), 2);
    CHECK_EQ(rig_run(&r, dial_itself, "localhost"), 0);
    CHECK_EQ(rig_run(&r, dial_itself, "here.test"), 0);
    CHECK_EQ(rig_run(&r, dial_itself, "127.0.0.1"), 0);
    atomic_store(&over, true);
    CHECK_EQ(result_of(other), -ENOENT);
    for (unsigned i = 0; i < TH_ASKERS_MAX; i++) {
        CHECK_EQ(result_of(handles[i]), -EAGAIN);
    }
    end(&r);
}

/* ---- the file of hosts ---- */

/* The addresses of the host, each followed by a blank. */
static const char *found(const char *host, th_os_family family, unsigned max) {
    static char text[256];
    th_os_address out[8];
    const int n = th_hosts_find(host, family, out, max);
    size_t length = 0;
    text[0] = 0;
    for (int i = 0; i < n; i++) {
        CHECK_EQ(th_os_address_text(&out[i], text + length, sizeof text - length - 1), 0);
        strcat(text, " ");
        length = strlen(text);
    }
    CHECK(n > 0 || n == -ENOENT);
    return text;
}

TEST(the_file_of_hosts_is_read_as_the_system_reads_it) {
    /* Several names a line and lines a name, comments, any case, blanks of all kinds. */
    rig r;
    char hosts[2000];
    int n = snprintf(hosts, sizeof hosts,
                     "# 10.0.0.1 remark.test\n"
                     "10.0.0.2\tone.test Alias.Test one.test #two.test\r\n"
                     "  fd00::1  one.test\n"
                     "10.0.0.3 one.test.more\n\n"
                     "one.test 10.0.0.4\n"
                     "10.0.0.5 ");
    memset(hosts + n, 'x', 600); /* no host has such a name */
    snprintf(hosts + n + 600, sizeof hosts - (size_t)n - 600, " far.test\n10.0.0.6 one.test");
    begin(&r, hosts);
    CHECK_STR(found("one.test", TH_OS_UNNAMED, 8), "[fd00::1]:0 10.0.0.2:0 10.0.0.6:0 ");
    CHECK_STR(found("ONE.test", TH_OS_UNNAMED, 2), "[fd00::1]:0 10.0.0.2:0 ");
    CHECK_STR(found("one.test", TH_OS_IPV6, 8), "[fd00::1]:0 ");
    CHECK_STR(found("one.test", TH_OS_IPV4, 8), "10.0.0.2:0 10.0.0.6:0 ");
    CHECK_STR(found("alias.test", TH_OS_UNNAMED, 8), "10.0.0.2:0 ");
    CHECK_STR(found("alias.test", TH_OS_IPV6, 8), "");
    CHECK_STR(found("far.test", TH_OS_UNNAMED, 8), "10.0.0.5:0 ");
    CHECK_STR(found("two.test", TH_OS_UNNAMED, 8), "");
    CHECK_STR(found("remark.test", TH_OS_UNNAMED, 8), "");
    CHECK_STR(found("localhost", TH_OS_UNNAMED, 8), "[::1]:0 127.0.0.1:0 ");
    CHECK_STR(found("localhost", TH_OS_IPV4, 8), "127.0.0.1:0 ");
    end(&r);
    CHECK_STR(found("one.test", TH_OS_UNNAMED, 8), ""); /* there is no file */
}
