/*
 * hosts.c: see hosts.h. A line of the file has an address, and then the names of a host.
 */
#include "net/hosts.h"

#include <errno.h>
#include <string.h>

#include "net/target.h"

#define PATH_MAX_BYTES 512
#define CHUNK 4096

typedef struct scan {
    const char *host; /* the query: a name, and a family */
    th_os_family family;
    th_os_address *out;
    unsigned max;
    unsigned n; /* of addresses found */

    char word[TH_HOST_MAX + 2]; /* the beginning of a word; a word that does not fit is no host */
    unsigned length;
    unsigned words; /* before it in the line */
    bool comment;
    bool usable; /* the line's address is of the family, and not taken yet */
    th_os_address address;
} scan;

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Names of hosts are compared without regard to case. */
static bool is_same(const char *a, const char *b) {
    while (*a && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return *a == *b;
}

static void end_word(scan *s) {
    if (!s->length) {
        return;
    }
    s->word[s->length] = 0;
    s->length = 0;
    if (s->words++ == 0) {
        s->usable = th_os_address_numeric(&s->address, s->word, 0) == 0 &&
                    th_os_address_family(&s->address) == s->family;
    } else if (s->usable && s->n < s->max && is_same(s->word, s->host)) {
        s->out[s->n++] = s->address;
        s->usable = false;
    }
}

static void scan_byte(scan *s, char c) {
    if (c == '\n') {
        end_word(s);
        s->words = 0;
        s->comment = s->usable = false;
    } else if (s->comment || c == '#') {
        end_word(s);
        s->comment = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
        end_word(s);
    } else if (s->length < sizeof s->word - 1) {
        s->word[s->length++] = c;
    }
}

/* How many addresses of one family the file has for the host. */
static unsigned scan_file(const char *host, th_os_family family, th_os_address out[],
                          unsigned max) {
    scan s = {.host = host, .family = family, .out = out, .max = max};
    char path[PATH_MAX_BYTES];
    char bytes[CHUNK];
    th_os_hosts_path(path, sizeof path);
    th_os_file_request open = {
        .call = TH_OS_FILE_OPEN, .path = path, .flags = TH_OS_FILE_FOR_READING};
    const int fd = (int)th_os_file_do(&open);
    if (fd < 0) {
        return 0;
    }
    th_os_file_request read = {
        .call = TH_OS_FILE_READ, .fd = fd, .bytes = bytes, .size = sizeof bytes};
    for (int64_t n; (n = th_os_file_do(&read)) > 0; read.offset += n) {
        for (int64_t i = 0; i < n; i++) {
            scan_byte(&s, bytes[i]);
        }
    }
    end_word(&s);
    (void)th_os_io_close(fd);
    return s.n;
}

int th_hosts_find(const char *host, th_os_family family, th_os_address out[], unsigned max) {
    const bool six = family != TH_OS_IPV4;
    const bool four = family != TH_OS_IPV6;
    unsigned n = six ? scan_file(host, TH_OS_IPV6, out, max) : 0;
    n += four ? scan_file(host, TH_OS_IPV4, out + n, max - n) : 0;
    if (!n && is_same(host, "localhost")) {
        n += six && n < max && !th_os_address_numeric(&out[n], "::1", 0);
        n += four && n < max && !th_os_address_numeric(&out[n], "127.0.0.1", 0);
    }
    return n ? (int)n : -ENOENT;
}
