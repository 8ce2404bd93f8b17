/*
 * with_curl.c: libcurl in fibers: very many transfers at a time, each of them a plain call that
 * returns when it is over.
 *
 * curl reports the descriptors that it wants to wait for (CURLMOPT_SOCKETFUNCTION), and until when
 * (CURLMOPT_TIMERFUNCTION). Both go into an epoll set, and one fiber waits for the set, which is a
 * descriptor like any other. So curl may open, close and replace its own as it likes.
 *
 * The program has a small server, so that it needs no network.
 */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <thrum.h>
#include <thrum/io.h>
#include <thrum/net.h>
#include <thrum/serve.h>
#include <thrum/stream.h>
#include <unistd.h>

/* ---- curl in fibers: from here to perform() it is the same in every program ---- */

static thrum_mutex lock = THRUM_MUTEX_INIT; /* one call at a time under `multi` */
static CURLM *multi;
static int set, timer; /* the set that curl waits for; its timer */
static thrum_io io;    /* the set, as fibers wait for it */
static thrum_handle *driver;

struct transfer {
    thrum_event done;
    CURLcode result;
};

/* Called by curl, with the lock held: the descriptor, and the purpose. */
static int watch(CURL *easy, curl_socket_t fd, int what, void *arg, void *known) {
    struct epoll_event event = {.data.fd = fd};
    (void)easy, (void)arg;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(set, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    event.events = (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0);
    curl_multi_assign(multi, fd, &lock); /* anything: the next time it is known */
    return epoll_ctl(set, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
}

/* Likewise: how long at most. */
static int set_timer(CURLM *of, long ms, void *arg) {
    struct itimerspec in = {.it_value = {ms / 1000, ms % 1000 * 1000000}};
    (void)of, (void)arg;
    if (ms <= 0) { /* at once, or never */
        in.it_value = (struct timespec){.tv_nsec = ms == 0};
    }
    return timerfd_settime(timer, 0, &in, NULL);
}

/* With the lock: notifies the fibers whose transfers are over. */
static void tell_ended(void) {
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(multi, &left))) {
        struct transfer *transfer;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
        transfer->result = message->data.result;
        thrum_event_signal(&transfer->done);
    }
}

/* With the lock: has curl go on. */
static void is_ready(int fd, uint32_t events) {
    const int bits = (events & ~(uint32_t)EPOLLOUT ? CURL_CSELECT_IN : 0) |
                     (events & EPOLLOUT ? CURL_CSELECT_OUT : 0);
    uint64_t times;
    int running;
    if (fd != timer) {
        curl_multi_socket_action(multi, fd, bits, &running);
    } else if (read(timer, &times, sizeof times) > 0) {
        curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
}

/* The fiber that waits for curl, until the set is given back. */
static int drive(void *arg) {
    struct epoll_event events[64];
    int code;
    (void)arg;
    while ((code = thrum_io_wait(io, THRUM_IO_READ, THRUM_FOREVER)) == THRUM_IO_READ) {
        thrum_mutex_lock(&lock);
        int n = epoll_wait(set, events, 64, 0);
        for (int i = 0; i < n; i++) {
            is_ready(events[i].data.fd, events[i].events);
        }
        tell_ended();
        thrum_mutex_unlock(&lock);
    }
    return code == -EBADF ? 0 : code;
}

/* As curl_easy_perform; only the fiber waits. Cancelled, it gives the transfer up. */
static CURLcode perform(CURL *easy) {
    struct transfer transfer = {.done = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false)};
    curl_easy_setopt(easy, CURLOPT_PRIVATE, (char *)&transfer);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    thrum_mutex_lock(&lock);
    CURLMcode refused = curl_multi_add_handle(multi, easy);
    thrum_mutex_unlock(&lock);
    if (refused) {
        return CURLE_FAILED_INIT;
    }
    int err = thrum_event_wait(&transfer.done);
    thrum_mutex_lock(&lock); /* afterwards curl knows nothing of it any longer */
    curl_multi_remove_handle(multi, easy);
    thrum_mutex_unlock(&lock);
    return err ? CURLE_ABORTED_BY_CALLBACK : transfer.result;
}

static int curl_begin(void) {
    struct epoll_event event = {.events = EPOLLIN};
    multi = curl_multi_init();
    set = epoll_create1(EPOLL_CLOEXEC);
    timer = event.data.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (!multi || set < 0 || timer < 0 || epoll_ctl(set, EPOLL_CTL_ADD, timer, &event)) {
        return -ENOMEM;
    }
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timer);
    int err = thrum_io_adopt(&io, set);
    return err ? err : thrum_spawn(&driver, drive, NULL);
}

static int curl_end(void) {
    int fd = thrum_io_release(io); /* which ends the driver's wait */
    int err = thrum_join(driver, NULL);
    curl_multi_cleanup(multi); /* it closes the connections that it has kept open */
    close(timer);
    close(set);
    return fd == set ? err : -EBADF;
}

/* ---- a server: it answers with the path, and does not answer at all for /never ---- */

static int answer(thrum_io guest, void *arg) {
    thrum_stream stream;
    thrum_stream_options options = THRUM_STREAM_OPTIONS_INIT;
    char path[64], line[256];
    (void)arg;
    options.keep_io = true;
    int err = thrum_stream_open(&stream, guest, &options);
    while (err == 0 && thrum_stream_read_line(&stream, line, sizeof line) > 0 &&
           sscanf(line, "GET %63s HTTP/1.1", path) == 1) {
        while (thrum_stream_read_line(&stream, line, sizeof line) > 0) { /* up to the empty one */
        }
        if (strcmp(path, "/never") == 0) {
            err = thrum_io_wait(guest, THRUM_IO_READ, THRUM_FOREVER) < 0; /* the end */
            break;
        }
        /* Every now and then it hangs up, and curl has to open another connection. */
        bool ends = path[strlen(path) - 1] == '7';
        thrum_stream_printf(&stream, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n%s\r\n%s",
                            strlen(path), ends ? "Connection: close\r\n" : "", path);
        err = thrum_stream_flush(&stream) || ends;
    }
    return thrum_stream_close(&stream);
}

static int serve(void *arg) {
    return thrum_serve(*(thrum_io *)arg, answer, NULL, NULL);
}

/* ---- a program that asks it ---- */

enum { TRANSFERS = 200 };

static char where[THRUM_ADDRESS_TEXT];
static int right[TRANSFERS];

/* The received bytes, as a text. */
static size_t keep(char *from, size_t size, size_t n, void *arg) {
    char *to = arg;
    size_t had = strlen(to);
    snprintf(to + had, 64 - had, "%.*s", (int)(size * n), from);
    return size * n;
}

static CURLcode get(const char *path, char *body, long timeout_ms) {
    char url[THRUM_ADDRESS_TEXT + 64];
    CURL *easy = curl_easy_init();
    if (!easy) {
        return CURLE_OUT_OF_MEMORY;
    }
    snprintf(url, sizeof url, "http://%s%s", where + strlen("tcp:"), path);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, keep);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, body);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, timeout_ms);
    CURLcode result = perform(easy);
    curl_easy_cleanup(easy);
    return result;
}

static int get_one(void *arg) {
    char path[64], body[64] = "";
    snprintf(path, sizeof path, "/%d", (int)((int *)arg - right));
    *(int *)arg = get(path, body, 0) == CURLE_OK && strcmp(path, body) == 0;
    return 0;
}

static int get_never(void *arg) {
    char body[64] = "";
    (void)arg;
    return (int)get("/never", body, 0);
}

static int run(void *arg) {
    thrum_io listener;
    thrum_handle *server;
    thrum_scope scope;
    int *sum = arg, result = 0;
    char body[64] = "";
    int err = thrum_listen(&listener, "tcp:127.0.0.1:0", NULL);
    err = err ? err : thrum_io_local(listener, where, sizeof where);
    err = err ? err : thrum_spawn(&server, serve, &listener);
    err = err ? err : curl_begin();
    err = err ? err : thrum_scope_open(&scope, THRUM_FOREVER);
    if (err) {
        return err;
    }
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 20L); /* the others wait for them */
    for (int i = 0; i < TRANSFERS && err == 0; i++) {
        err = thrum_scope_go(&scope, get_one, &right[i]);
    }
    int joined = thrum_scope_join(&scope);
    for (int i = 0; i < TRANSFERS; i++) {
        *sum += right[i];
    }
    /* curl's own time limit; a cancel by ours. */
    bool limits = get("/never", body, 20) == CURLE_OPERATION_TIMEDOUT;
    int code = thrum_with_deadline(thrum_after_ms(20), get_never, NULL, &result);
    limits = limits && code == -ETIMEDOUT && result == CURLE_ABORTED_BY_CALLBACK;
    int ended = curl_end();
    thrum_io_close(listener);
    int served = thrum_join(server, NULL);
    return err || joined || ended || served || !limits;
}

int main(void) {
    int sum = 0;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0) {
        return 1;
    }
    int err = thrum_run(NULL, run, &sum);
    curl_global_cleanup();
    printf("%d of %d transfers right\n", sum, TRANSFERS);
    return err == 0 && sum == TRANSFERS ? 0 : 1;
}
